"""The frame of every study: its options are checked, the engine runs, and the facts are kept."""

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from clockhand import _engine
from clockhand.study.calls import READING, RUN, arguments, in_python
from clockhand.study.columns import schema
from clockhand.study.facts import equivalent_command, origin_of
from clockhand.study.intervals import cells_of, intervals_or_cells
from clockhand.study.limits import MAXIMUM_JOBS, check_range
from clockhand.study.options import checked, options_of
from clockhand.study.progress import Watching, watched
from clockhand.study.records import Fields, Record
from clockhand.study.sampling import estimate_note
from clockhand.study.windows import predicted_windows
from clockhand.traces import Reading, Traces, reading_notes, reading_options, sources

if TYPE_CHECKING:
    import polars as pl

Options = Fields
"""Options as the engine takes them, by name."""

Records = Sequence[Record]
"""Rows as the engine gives them: values by the names of columns."""

Columns = Record
"""Names, order and types of columns, some of which may hold lists."""

Result_co = TypeVar("Result_co", covariant=True)
"""A study's result: its rows, its facts, and its report."""


@dataclass(frozen=True)
class Ran:
    """What the run of a study gave.

    Attributes:
        table: Makes the table of its rows, those of intervals too, which a command that only prints
            them does without: to import what makes it takes longer than a small trace. It can be
            pickled, as results are.
        facts: How they were made.
        warnings: What the readers passed over or assumed, one sentence each.
        result: The engine's result.
    """

    table: "Callable[[], pl.DataFrame]"
    facts: Any
    warnings: list[str]
    result: Record

    @cached_property
    def _all_rows(self) -> "pl.DataFrame":
        return self.table()

    @cached_property
    def cells(self) -> "pl.DataFrame":
        """A row per cell."""
        return cells_of(self._all_rows)

    @cached_property
    def rows(self) -> "pl.DataFrame":
        """The rows of its intervals if they were asked for, else those of its cells."""
        rows = intervals_or_cells(self._all_rows)
        return self.cells if rows is self._all_rows else rows

    @cached_property
    def records(self) -> Records:
        """The same, as the engine gave them."""
        records: Records | None = self.result.get("intervals") or self.result.get("rows")
        return self.rows.to_dicts() if records is None else records


def _nothing(_: object) -> Record:
    return {}


def _policy() -> "pl.Expr":
    import polars as pl

    return pl.col("policy")


def _unchanged(options: Options) -> Options:
    return options


@dataclass(frozen=True)
class Study(Generic[Result_co]):
    """A question: its name, its engine, and the layout of its rows.

    Attributes:
        name: What its options, its columns and its table in an experiment are called.

        made: Makes the study's result of a run.

        own_engine: Runs it, if the engine's ``run`` alone does not.

        contender: The column of what is compared; the facts tell of it, in the plural. ``None`` if
            nothing is.

        page_column: The column with the bytes of a page.

        devices: What the facts call the devices of the rows.

        completed: What is still to be settled once the options are checked.

        predicts_windows: Whether CFLRU's window is predicted where the rows vary it.

        label: Gives what is compared without its size, as the column ``policy``.

        beside: Gives the columns of lists that a dataset keeps beside those of the rows.

        result_of: What the engine's result holds beside rows, made of rows with these columns.

        own_schema: Gives the columns of its rows, if the engine does not declare them.

        written: Options of the equivalent command for files, where Python gives tables.
    """

    name: str
    made: Callable[[Ran], Result_co]
    own_engine: Callable[..., Fields] | None = None
    contender: str | None = "policy"
    page_column: str = "page_bytes"
    devices: str = "devices"
    completed: Callable[[Options], Options] = _unchanged
    predicts_windows: bool = False
    label: "Callable[[], pl.Expr]" = field(default=_policy, compare=False)
    beside: "Callable[[], Mapping[str, pl.DataType]]" = dict
    result_of: "Callable[[pl.DataFrame], Record]" = _nothing
    own_schema: Callable[[], Columns] | None = None
    written: Callable[[Record], Record] = _nothing

    @property
    def engine(self) -> Callable[..., Fields]:
        """Runs it."""
        return self.own_engine or partial(_engine.run, self.name)

    @property
    def contenders(self) -> str:
        """The facts' word for the contenders."""
        return "policies" if self.contender in (None, "policy") else f"{self.contender}s"

    @property
    def schema(self) -> Columns:
        """The columns of its rows."""
        return schema(self.name) if self.own_schema is None else self.own_schema()

    def options(self, given: Record) -> Options:
        """Return all options as the engine takes them.

        Raises:
            UsageError: one is out of range or unknown.
        """
        return self.completed(checked(self.name, given))

    def fact_options(self, options: Record, jobs: int | None) -> Fields:
        """Return the options that facts tell of beside what the rows name."""
        declared = options_of(self.name)
        shown = {
            name: value
            for name, value in options.items()
            if declared[name].kind not in ("list", "names", "sizes")
            and name not in ("seed", "page_size")
        }
        return {**shown, "jobs": jobs}

    def page_bytes(self, rows: Records) -> int:
        """Return the bytes of a page of rows; 0 if there are none."""
        return int(rows[0][self.page_column]) if rows else 0

    def facts(
        self,
        result: Record,
        options: Record,
        *,
        command: str,
        jobs: int | None,
    ) -> Fields:
        """Return everything a reader needs to repeat the run that gave ``result``.

        Args:
            result: What the engine gave, with its rows.
            options: The options that it was given.
            command: The command line that does it.
            jobs: The threads that were asked for.
        """
        resolved: Mapping[str, str] = result.get("resolved", {})
        rows, traces = result["rows"], result["traces"]
        page_bytes = self.page_bytes(rows)
        if options.get("sample") is not None:
            traces = [_estimated(trace, rows) for trace in traces]
        return run_facts(
            command=command,
            seed=options["seed"],
            options=self.fact_options(options, jobs),
            traces=(trace_facts(trace, page_bytes) for trace in traces),
            **{
                self.devices: _each_once(result[self.devices]),
                self.contenders: [
                    {**entry, "resolved": resolved[entry["name"]]}
                    for entry in _each_once(result[self.contenders])
                    if entry["name"] in resolved
                ],
            },
        )


def _estimated(trace: Record, rows: Records) -> Record:
    """Note on a trace that its rows are estimates."""
    note = estimate_note([row for row in rows if row["trace"] == trace["name"]])
    return trace if note is None else {**trace, "study_notes": [note]}


def _each_once(entries: Iterable[Record]) -> list[Record]:
    return list({entry["name"]: entry for entry in entries}.values())


def run_study(
    study: Study[Result_co],
    traces: Traces,
    given: Record,
    *,
    jobs: int | None,
    watch: Watching,
    command: str | None,
    reading: Reading,
    digested: bool = True,
) -> Result_co:
    """Run a study on traces.

    Args:
        study: The study.

        traces: One trace or several.

        given: Its options by name, as users give them.

        jobs: Threads, from 1 to 1024; all cores if not given.

        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.

        command: The command line for the facts; the equivalent one if not given.

        reading: How traces that are given as paths are read.

        digested: Whether facts have the SHA-256 of each trace, which takes a part of the time.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    options = study.options(given)
    check_jobs(jobs)
    with watched(watch) as on_progress:
        trace_sources = sources(traces, watch=on_progress, **reading)
        if not digested:
            trace_sources = [source.without_digest() for source in trace_sources]
        result = study.engine(trace_sources, options, jobs=jobs, watch=on_progress)
    if command is None:
        names = [source.name for source in trace_sources]
        command = _equivalent(study, names, given, reading_options(reading))
    facts = study.facts(result, options, command=command, jobs=jobs)
    # A prediction reads the references into memory.
    if study.predicts_windows and reading.get("scratch") is None:
        rows = result["rows"]
        windows = predicted_windows(trace_sources, rows, study.page_bytes(rows), options["device"])
        if windows:
            facts["predicted_windows"] = windows
    records = [*result["rows"], *result.get("intervals", ())]
    table = partial(_table, records, study.own_schema or partial(schema, study.name))
    return study.made(Ran(table, facts, reading_warnings(result["traces"]), result))


def call_of(study: Study[Result_co], name: str, about: str) -> Callable[..., Result_co]:
    """Return the function of the library that asks a study, with its options as keywords.

    Args:
        study: The study.
        name: The name of the function in ``run.py`` of the study.
        about: The first paragraphs of its docstring.
    """

    def call(traces: Traces, **options: object) -> Result_co:
        return called(study, traces, options)

    call.__name__ = call.__qualname__ = name
    call.__module__ = f"clockhand.studies.{study.name}.run"
    call.__doc__ = about
    call.__annotations__["return"] = study.made
    return in_python(*arguments(study.name), *RUN, *READING)(call)


def called(study: Study[Result_co], traces: Traces, keywords: Record) -> Result_co:
    """Run a study as a call of the library asks for it: by keywords.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    options, running, reading = parted(keywords)
    of_study = {option.keyword: name for name, option in options_of(study.name).items()}
    given = {of_study[word]: value for word, value in options.items()}
    return run_study(study, traces, given, **running, reading=reading)


def parted(keywords: Record) -> tuple[Fields, Fields, Reading]:
    """Return what the keywords of a call say of a study, of its run, and how traces are read."""
    running = {one.keyword: keywords.get(one.keyword) for one in RUN}
    reading = {one.keyword: keywords[one.keyword] for one in READING if one.keyword in keywords}
    others = running.keys() | reading.keys()
    options = {word: value for word, value in keywords.items() if word not in others}
    return options, running, cast(Reading, reading)


def _table(rows: Records, columns: Callable[[], Columns]) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame(rows, schema=columns())


def check_jobs(jobs: int | None) -> None:
    """Refuse a number of threads that is out of range."""
    if jobs is not None:
        check_range("jobs", jobs, 1, MAXIMUM_JOBS)


def _equivalent(
    study: Study[object], traces: Sequence[str], given: Record, reading: Mapping[str, object]
) -> str:
    declared = options_of(study.name)
    settings: dict[str, object] = {}
    for name, value in checked(study.name, given).items():
        is_list = declared[name].kind == "list"
        settings[name] = (",".join(value) or None) if is_list else value
    words = {**settings, **reading, **study.written(given)}
    return equivalent_command(dict(_engine.STUDIES)[study.name], traces, words)


def run_facts(
    *, command: str, seed: int | None, options: Record, traces: Iterable[Record], **own: object
) -> Fields:
    """Return everything a reader needs to repeat a run, made now with this version.

    Args:
        command: The command line that does it.

        seed: The seed of everything that is drawn at random.

        options: The options by name.

        traces: What a report says of each trace, from :func:`trace_facts`.

        own: What else the study keeps, such as devices and policies.
    """
    return {
        "command": command,
        "version": _engine.__version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "options": dict(options),
        "traces": list(traces),
        **own,
    }


def trace_facts(trace: Record, page_bytes: int) -> Fields:
    """Return what a report says about a trace, from what the engine met in it, and what the study
    notes of it."""
    return {
        **trace,
        "page_bytes": page_bytes,
        "notes": [
            *reading_notes(trace),
            *(f"{key}: {value}" for key, value in trace["labels"]),
            *trace.get("study_notes", ()),
        ],
        **origin_of(trace["labels"]),
    }


def reading_warnings(traces: Iterable[Record]) -> list[str]:
    """Return what the readers of traces passed over or assumed, one sentence each."""
    return [f"{trace['name']}: {note}" for trace in traces for note in reading_notes(trace)]
