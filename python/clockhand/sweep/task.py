"""Computing a task of a sweep: what a scheduler may call, in this process or another."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from clockhand import _engine
from clockhand.study.errors import ClockhandError
from clockhand.study.progress import Watch
from clockhand.study.remote import fetched, is_address
from clockhand.study.run import Options, trace_facts
from clockhand.study.windows import predicted_windows
from clockhand.sweep.layout import LAYOUTS, Cell, Layout, sha256_of
from clockhand.sweep.reading import LastTrace
from clockhand.traces import Reading, Trace, Traces, reading_notes, sources

Key = tuple[Any, ...]
"""The values of a layout's key columns."""


RECIPE = "recipe:"
"""Prefix of the recipe of a synthetic trace, which takes the place of a file's name."""


def trace_source(
    trace: str,
    trace_format: str | None = None,
    view: str | None = None,
    scratch: str | None = None,
    memory_limit: str | None = None,
    only: str | None = None,
) -> _engine.TraceSource:
    """Return the engine's source of a trace of an experiment: a file, at an address too, or a
    recipe."""
    reading: Reading = {
        "view": view, "scratch": scratch, "memory_limit": memory_limit, "only": only,
    }  # fmt: skip
    given: Traces = trace
    if trace.startswith(RECIPE):
        given = Trace.from_recipe(trace.removeprefix(RECIPE), memory_limit=memory_limit)
    else:
        reading["trace_format"] = trace_format
        if is_address(trace):
            given = Trace(
                trace, format=trace_format, view=view, only=only, memory_limit=memory_limit
            )
    [source] = sources(given, **reading)
    return source


def trace_sha256(trace: str, watch: Watch | None = None) -> str:
    """Return the digest of a file's stored bytes, or of the requests that a recipe makes.

    Args:
        trace: A file, at an address too, or a recipe.
        watch: Called now and then while it is downloaded.

    Raises:
        ClockhandError: the file cannot be read.
    """
    if trace.startswith(RECIPE):
        return str(_engine.read_trace(trace_source(trace))["sha256"])
    return sha256_of(os.fspath(fetched(trace, watch)) if is_address(trace) else trace)


@dataclass(frozen=True)
class Part:
    """A share of what a task lacks: its cells in the order of its rows are cut into equal parts.

    Attributes:
        number: Which part, from 0.
        parts: How many there are.
    """

    number: int
    parts: int

    def of(self, cells: list[Cell]) -> list[Cell]:
        """Return the part of these cells."""
        first, last = (len(cells) * place // self.parts for place in (self.number, self.number + 1))
        return cells[first:last]


@dataclass(frozen=True)
class Task:
    """Cells of one trace that one reading serves. It can be pickled, and holds all that it needs.

    Attributes:
        study: The study's name.

        trace: The trace file.

        trace_sha256: The digest of its stored bytes.

        trace_format: Its format; found by content if ``None``.

        key_format: What its cells' keys call the format.

        view: What store-miss fills count as; the trace's own if ``None``.

        only: What is taken alone of the trace; all of it if ``None``.

        key_view: What its cells' keys call the view, and what is taken alone.

        settings: The options of each setting.

        kept: The keys of cells that need not be computed.

        scratch: The folder for files of references; ``None`` for memory.

        read_for: The options of all settings that are computed of the trace, so that it is read
            once for them; those of the task if empty.

        part: Which of the cells that are not kept; all if ``None``.

        memory_limit: How much memory what is made of the trace may take; half of the machine's if
            ``None``.
    """

    study: str
    trace: str
    trace_sha256: str
    trace_format: str | None
    key_format: str
    view: str | None
    only: str | None
    key_view: str
    settings: tuple[Options, ...]
    kept: frozenset[Key] = frozenset()
    scratch: str | None = None
    read_for: tuple[Options, ...] = ()
    part: Part | None = None
    memory_limit: str | None = None

    @property
    def layout(self) -> Layout:
        """The layout of its cells."""
        return LAYOUTS[self.study]

    def source(self, scratch: str | None) -> _engine.TraceSource:
        """Return its trace; what is made of it is kept in files in ``scratch``, if given."""
        return trace_source(
            self.trace, self.trace_format, self.view, scratch, self.memory_limit, self.only
        )

    def key(self, cell: Cell) -> dict[str, Any]:
        """Return the key columns of a cell."""
        return {
            **cell.key,
            "trace_sha256": self.trace_sha256,
            "trace_format": self.key_format,
            "view": self.key_view,
            "interval": None,
            "numbers_version": _engine.NUMBERS_VERSION,
        }

    def place(self, cell: Cell) -> Key:
        """Return the key of a cell."""
        key = self.key(cell)
        return tuple(key[name] for name in self.layout.key)

    def missing(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells that are not kept, each key once."""
        found: dict[Key, Cell] = {}
        for cell in cells:
            place = self.place(cell)
            if place not in self.kept:
                found.setdefault(place, cell)
        lacking = list(found.values())
        return lacking if self.part is None else self.part.of(lacking)


@dataclass(frozen=True)
class _Reading:
    """Options of the one reading of a trace for all settings of a task but those with samples."""

    trace: tuple[str | None, ...]
    policies: tuple[str, ...]
    devices: tuple[str, ...]
    page_sizes: tuple[int, ...]
    has_intervals: bool

    @classmethod
    def of(cls, task: Task) -> "_Reading":
        settings = [it for it in task.read_for or task.settings if it.get("sample") is None]
        if not task.layout.depends_on_footprint:
            settings = []
        return cls(
            (task.trace, task.trace_sha256, task.trace_format, task.key_view),
            tuple(dict.fromkeys(name for setting in settings for name in setting["policy"])),
            tuple(dict.fromkeys(setting["device"] for setting in settings)),
            tuple(dict.fromkeys(int(setting["page_size"]) for setting in settings)),
            any(setting["every"] or setting["warm_up"] for setting in settings),
        )

    def read(self, source: _engine.TraceSource, watch: Watch) -> _engine.PreparedTrace:
        """Read the trace."""
        return _engine.PreparedTrace.read(source, self._wanted(), watch)

    def read_beside(
        self, present: _engine.PreparedTrace, source: _engine.TraceSource, watch: Watch
    ) -> _engine.PreparedTrace | None:
        """Read the trace beside the cells of another; none if there is no memory for both."""
        return present.read_beside(source, self._wanted(), watch)

    def _wanted(self) -> tuple[list[str], list[str], list[int], bool]:
        sizes = list(self.page_sizes)
        return list(self.policies), list(self.devices), sizes, self.has_intervals


@dataclass
class Computed:
    """What a task gave.

    Attributes:
        rows: A row per cell, with the columns of the study's dataset, and one per interval.

        facts: What a report needs to know, by setting.

        notes: What the readers passed over or assumed, one sentence each.

        numbers: The version of the numbers.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    facts: list[Mapping[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    numbers: int = _engine.NUMBERS_VERSION


_LAST_TRACE = LastTrace()


OnCells = Callable[[Sequence[tuple[Cell, dict[str, Any]]]], None]
"""Is given cells with their rows as they are finished."""

Known = Callable[[Mapping[str, Any]], None]
"""Is given the facts of a setting, its traces, devices and contenders, once they are known."""


def compute(task: Task, *, jobs: int | None = 1) -> Computed:
    """Compute the cells of a task that are not kept.

    The result depends on nothing but the task and the files that it names, so that a scheduler such
    as Dask may call it anywhere: ``client.map(compute, tasks)``. A process keeps the trace that it
    read last, for further tasks of it.

    Args:
        task: What is to be computed; see :func:`clockhand.sweep.tasks_of`.
        jobs: Threads, from 1 to 1024; all cores if ``None``.

    Raises:
        UsageError: an option is unusable on this trace.
        ClockhandError: the trace cannot be read, or is another one than the task's.
    """
    computed = Computed()
    run = Run(task, jobs, lambda *_: None, _LAST_TRACE)
    for setting in range(len(task.settings)):
        run.setting(setting, lambda done: _keep(computed, done), computed.facts.append)
    computed.notes += run.notes
    return computed


def _keep(computed: Computed, done: Sequence[tuple[Cell, dict[str, Any]]]) -> None:
    computed.rows += [row for _, row in done]


class Run:
    """A task at work: it runs its settings one by one and hands over rows as they are finished."""

    def __init__(
        self, task: Task, jobs: int | None, watch: Watch, last: LastTrace | None = None
    ) -> None:
        self._task = task
        self._last = last or LastTrace()
        self._jobs = jobs
        self._watch = watch
        self.notes: list[str] = []
        self._source = task.source(task.scratch)
        self._prepared: _engine.PreparedTrace | None = None
        self._counted: dict[int, Mapping[str, Any]] = {}

    def read_beside(self, task: Task) -> None:
        """Begin to read the trace of the next task, if there is memory for two."""
        reading = _Reading.of(task)
        if task.layout.depends_on_footprint and reading.policies:
            source = task.source(task.scratch)
            self._last.read_beside(
                reading, lambda present, watch: reading.read_beside(present, source, watch)
            )

    def with_kept(self, more: Iterable[Key]) -> Task:
        """Go on with a task that has more cells; the task."""
        self._task = replace(self._task, kept=self._task.kept | frozenset(more))
        return self._task

    def cells(self, setting: int) -> list[Cell]:
        """Return all cells of a setting; the trace is read if they depend on it."""
        layout, options = self._task.layout, self._task.settings[setting]
        if not layout.depends_on_footprint:
            return layout.cells(options, None)
        read = self._read(options)
        return layout.cells(options, read["footprint_pages"])

    def setting(self, setting: int, on_cells: OnCells, known: Known) -> None:
        """Compute the cells of a setting that are not kept."""
        options = self._task.settings[setting]
        missing = self._task.missing(self.cells(setting))
        keep = partial(self._keep, missing, on_cells)
        if self._task.layout.depends_on_footprint:
            self._simulate(options, missing, keep, known)
            return
        study = self._task.layout.study
        rows: list[dict[str, Any]] = []

        def keep_and_remember(finished: Iterable[tuple[int, dict[str, Any]]]) -> None:
            finished = list(finished)
            rows.extend(row for _, row in finished)
            keep(finished)

        result = study.engine(
            [self._source],
            options,
            jobs=self._jobs,
            watch=self._watch,
            cells=[cell.place for cell in missing],
            on_rows=keep_and_remember,
        )
        (read,) = result["traces"]
        self._check(read)
        known(
            {
                "traces": [self._facts(read, _page_bytes(options, result))],
                study.devices: result[study.devices],
                study.contenders: result[study.contenders],
                **self._windows(options, {row["frames"] for row in rows if "frames" in row}),
            }
        )

    def _keep(
        self,
        missing: Sequence[Cell],
        on_cells: OnCells,
        finished: Iterable[tuple[int, dict[str, Any]]],
    ) -> None:
        """The engine tells of cells by position, of all or of the missing ones."""
        task = self._task
        by_place = {cell.place: cell for cell in missing}
        done = []
        for position, row in finished:
            is_of_all = not task.layout.depends_on_footprint
            cell = by_place[position] if is_of_all else missing[position]
            own = {"trace": task.trace, "version": _engine.__version__}
            planned = cell.key.get("policy_resolved")
            if planned is not None and row.get("policy_resolved", planned) != planned:
                raise ClockhandError(
                    f"{planned}: its source changed while it ran; run the command again"
                )
            interval = {"interval": row.get("interval")}
            done.append((cell, {**row, **task.key(cell), **interval, **own}))
        on_cells(done)

    def _simulate(
        self,
        options: Options,
        missing: Sequence[Cell],
        keep: Callable[..., None],
        known: Known,
    ) -> None:
        read = self._read(options)
        plan = _engine.plan_cells(options, footprint_pages=read["footprint_pages"])
        # Facts that are known before the cells run are kept with the first of them.
        known(
            {
                "traces": [self._facts(read, int(options["page_size"]))],
                "devices": [plan["device"]],
                "policies": plan["policies"],
                **self._windows(options, {cell.key["frames"] for cell in missing}),
            }
        )
        if not missing:
            return
        places = [cell.place for cell in missing]
        if options["sample"] is not None:
            # Samples are small: they are kept in memory, whatever there is for whole traces.
            _engine.simulate_sampled(
                self._task.source(None),
                places,
                options,
                jobs=self._jobs,
                on_rows=keep,
                watch=self._watch,
            )
        else:
            assert self._prepared is not None
            self._prepared.simulate(
                places, options, jobs=self._jobs, on_rows=keep, watch=self._watch
            )

    def _windows(self, options: Options, frames: Collection[int]) -> dict[str, Any]:
        """The windows of CFLRU that are predicted for memory sizes, if the study wants them."""
        # A prediction reads the references into memory.
        is_in_memory = self._task.scratch is None and options.get("sample") is None
        if not self._task.layout.study.predicts_windows or not is_in_memory:
            return {}
        cells = [
            {"trace": self._source.name, "policy": policy, "frames": size}
            for size in sorted(frames)
            for policy in options["policy"]
        ]
        page_bytes = _engine.parse_page_bytes(str(options["page_size"]))
        windows = predicted_windows([self._source], cells, page_bytes, options["device"])
        named = [{**window, "trace": self._task.trace} for window in windows]
        return {"predicted_windows": named} if named else {}

    def _read(self, options: Options) -> Mapping[str, Any]:
        """The trace at a setting's page size. It is read once for all settings; for samples its
        pages are only counted."""
        if options["sample"] is not None:
            return self._count(int(options["page_size"]))
        if self._prepared is None:
            reading = _Reading.of(self._task)
            self._prepared = self._last.get(
                reading, lambda: reading.read(self._source, self._watch), self._watch
            )
            self._check(self._prepared.traces[0])
        at = {facts["page_bytes"]: facts for facts in self._prepared.traces}
        return at[int(options["page_size"])]

    def _count(self, page_bytes: int) -> Mapping[str, Any]:
        if page_bytes not in self._counted:
            counted = _engine.count_trace(self._task.source(None), page_bytes, self._watch)
            self._check(counted)
            self._counted[page_bytes] = counted
        return self._counted[page_bytes]

    def _check(self, read: Mapping[str, Any]) -> None:
        """Refuse a trace that is not the task's any more; report its notes once."""
        task = self._task
        if read["sha256"] != task.trace_sha256:
            raise ClockhandError(f"{task.trace} changed while it was read; run the command again")
        if not self.notes:
            self.notes += [f"{task.trace}: {note}" for note in reading_notes(read)]

    def _facts(self, read: Mapping[str, Any], page_bytes: int) -> dict[str, Any]:
        return {**trace_facts(read, page_bytes), "name": self._task.trace}


def _page_bytes(options: Options, result: Mapping[str, Any]) -> int:
    """The bytes of the pages that facts about a trace count: those of the first size or drive."""
    size = options.get("page_size")
    if size is None:
        return int(result["ssds"][0]["page_bytes"])
    return _engine.parse_page_bytes(size if isinstance(size, str) else size[0])
