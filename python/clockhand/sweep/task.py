"""Computing a task of a sweep: what a scheduler may call, in this process or another."""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from clockhand import _engine
from clockhand.datasets.layout import LAYOUTS, OWN_VIEW, Layout, Plan
from clockhand.study.errors import ClockhandError
from clockhand.study.progress import Watch
from clockhand.study.records import Fields, Record
from clockhand.study.remote import fetched, is_address
from clockhand.study.run import Options, trace_facts
from clockhand.study.windows import predicted_windows
from clockhand.traces import Part, Trace, reading_notes, sources

Key = tuple[object, ...]
"""The values of a layout's key columns."""

RECIPE = "recipe:"
"""Prefix of the recipe of a synthetic trace, which takes the place of a file's name."""

DETECTED = "detected"
"""What keys call a trace format that is found by a trace's content."""


_ONLY = ", only "


def view_text(view: str, only: str | None) -> str:
    """Return how cells name a view of which some references may be taken alone."""
    return view if only is None else f"{view}{_ONLY}{only}"


def trace_sha256(trace: str, watch: Watch | None = None) -> str:
    """Return the digest of a file's stored bytes, or of the requests that a recipe makes.

    Args:
        trace: A file, at an address too, or a recipe.
        watch: Called now and then while it is downloaded.

    Raises:
        ClockhandError: the file cannot be read.
    """
    if trace.startswith(RECIPE):
        return str(Trace.from_recipe(trace.removeprefix(RECIPE)).check(watch=False)["sha256"])
    path = os.fspath(fetched(trace, watch)) if is_address(trace) else trace
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ClockhandError(
            f"{path}: cannot be read ({error.strerror}); correct the experiment's traces"
        ) from error


@dataclass(frozen=True)
class Task:
    """Cells of one trace under one setting. It can be pickled, and holds all that it needs.

    Attributes:
        study: The study's name.

        trace: The trace file.

        trace_sha256: The digest of its stored bytes.

        trace_format: What its cells' keys call the format.

        view: What they call the view: what store-miss fills count as, and what is taken alone.

        options: The options of the setting.

        kept: The keys of cells that need not be computed.

        scratch: The folder for files of references; ``None`` for memory.

        read_for: The options of all settings that are computed of the trace, so that it is read
            once for them; those of the task if empty.

        part: Which of the cells that are not kept, as one of how many equal parts in the order of
            rows; all if ``None``.

        memory_limit: How much memory what is made of the trace may take; half of the machine's if
            ``None``.
    """

    study: str
    trace: str
    trace_sha256: str
    trace_format: str
    view: str
    options: Options
    kept: frozenset[Key] = frozenset()
    scratch: str | None = None
    read_for: tuple[Options, ...] = ()
    part: tuple[int, int] | None = None
    memory_limit: str | None = None

    @property
    def layout(self) -> Layout:
        """The layout of its cells."""
        return LAYOUTS[self.study]

    def source(self) -> _engine.TraceSource:
        """Return its trace: a file, at an address too, or a recipe."""
        named, _, only = self.view.partition(_ONLY)
        part: Part = {"only": only} if only else {}
        if self.trace.startswith(RECIPE):
            recipe = self.trace.removeprefix(RECIPE)
            given = Trace.from_recipe(recipe, memory_limit=self.memory_limit).part(**part)
        else:
            given = Trace(
                self.trace,
                format=None if self.trace_format == DETECTED else self.trace_format,
                view=None if named == OWN_VIEW else named,
                memory_limit=self.memory_limit,
                **part,
            )
        [source] = sources(given, scratch=self.scratch)
        return source

    def reading(self) -> tuple[str, _engine.TraceSource, list[Options]]:
        """Return the trace, with what distinguishes it from others, and for what it is read."""
        known = (self.trace, self.trace_sha256, self.trace_format, self.view)
        return "\n".join(known), self.source(), list(self.read_for or [self.options])

    def page_bytes(self, ssds: Sequence[Record] = ()) -> int:
        """Return the bytes of its pages, of the first size; drives have pages of their own."""
        if "page_size" not in self.options:
            return int(ssds[0]["page_bytes"])
        size = self.options["page_size"]
        return _engine.parse_page_bytes(size if isinstance(size, str) else size[0])

    def columns(self, cell: Record) -> Fields:
        """Return the key columns of a cell with this key, those of the trace too."""
        return {
            **cell,
            "trace_sha256": self.trace_sha256,
            "trace_format": self.trace_format,
            "view": self.view,
            "interval": None,
            "numbers_version": _engine.NUMBERS_VERSION,
        }

    def key(self, cell: Record) -> Key:
        """Return the key of a planned cell."""
        return self.layout.key_of(self.columns(cell["key"]))

    def missing(self, cells: Iterable[Record]) -> list[Record]:
        """Return what cells are known by that are not kept, each once."""
        found: dict[Key, Record] = {}
        for cell in cells:
            key = self.key(cell)
            if key not in self.kept:
                found.setdefault(key, cell["key"])
        lacking = list(found.values())
        if self.part is None:
            return lacking
        number, parts = self.part
        return lacking[len(lacking) * number // parts : len(lacking) * (number + 1) // parts]


@dataclass
class Computed:
    """What a task gave.

    Attributes:
        rows: A row per cell, with the columns of the study's dataset, and one per interval.

        facts: What a report needs to know: traces, devices and contenders.

        notes: What the readers passed over or assumed, one sentence each.

        numbers: The version of the numbers.
    """

    rows: list[Fields] = field(default_factory=list)
    facts: Fields = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    numbers: int = _engine.NUMBERS_VERSION


_HELD = _engine.HeldTraces()


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
    run = TaskRun(task, jobs, lambda *_: None, _HELD)
    run.run(run.plan(), run.computed.rows.extend)
    return run.computed


class TaskRun:
    """A task at work.

    Attributes:
        task: What knows the keys of cells, and which of them are kept.
        cells: The cells; those of some studies are known only once the trace has been read.
        is_whole: Whether nothing has to be computed.
        computed: What it gives but for its rows, which are handed over as they are finished.
    """

    def __init__(
        self, task: Task, jobs: int | None, watch: Watch, held: _engine.HeldTraces
    ) -> None:
        self.task = task
        self.cells: Sequence[Record] = ()
        self.is_whole = False
        self.computed = Computed()
        self._jobs = jobs
        self._watch = watch
        self._held = held
        self._trace: _engine.HeldTrace | None = None

    def plan(self) -> Plan:
        """Find all cells of the setting; the trace is read if they depend on it."""
        layout, options, pages = self.task.layout, self.task.options, None
        if layout.depends_on_footprint:
            # It is read once for all settings; for samples its pages are only counted.
            self._trace = self._held.read(*self.task.reading(), self._watch)
            read = self._trace.facts(options, self._watch)
            self._know(read)
            pages = read["footprint_pages"]
        plan = layout.plan(options, pages)
        self.cells = plan.cells
        return plan

    def run(self, plan: Plan, on_rows: Callable[[list[Fields]], None]) -> None:
        """Compute the cells of the plan that are not kept, and give their rows as they are done."""
        task, study = self.task, self.task.layout.study
        missing = task.missing(plan.cells)
        sizes: set[int] = {cell["frames"] for cell in missing if "frames" in cell}

        def keep(finished: Iterable[tuple[Record, Fields]]) -> None:
            rows = [self._kept(key, row) for key, row in finished]
            sizes.update(row["frames"] for row in rows if "frames" in row)
            on_rows(rows)

        run = partial(study.engine, jobs=self._jobs, watch=self._watch, cells=missing, on_rows=keep)
        trace, self._trace = self._trace, None
        if trace is not None:
            # Facts that are known before the cells run are kept with the first of them.
            self.computed.facts |= {**plan.facts, **self._windows(sizes)}
            if missing:
                run([], task.options, held=trace)
            return
        result = run([task.source()], task.options)
        self._know(result["traces"][0], result.get("ssds", ()))
        named = {kind: result[kind] for kind in (study.devices, study.contenders)}
        self.computed.facts |= {**named, **self._windows(sizes)}

    def _kept(self, key: Record, row: Fields) -> Fields:
        """A row as a dataset has it."""
        planned = key.get("policy_resolved")
        if planned is not None and row.get("policy_resolved", planned) != planned:
            raise ClockhandError(
                f"{planned}: its source changed while it ran; run the command again"
            )
        own = {"interval": row.get("interval"), "version": _engine.__version__}
        return {**row, **self.task.columns(key), **own, "trace": self.task.trace}

    def _windows(self, frames: Collection[int]) -> Fields:
        """The windows of CFLRU that are predicted for memory sizes, if the study wants them."""
        task, options = self.task, self.task.options
        # A prediction reads the references into memory.
        is_in_memory = task.scratch is None and options.get("sample") is None
        if not task.layout.study.predicts_windows or not is_in_memory:
            return {}
        source = task.source()
        cells = [
            {"trace": source.name, "policy": policy, "frames": size}
            for size in frames
            for policy in options["policy"]
        ]
        windows = predicted_windows([source], cells, task.page_bytes(), options["device"])
        named = [{**window, "trace": task.trace} for window in windows]
        return {"predicted_windows": named} if named else {}

    def _know(self, read: Record, ssds: Sequence[Record] = ()) -> None:
        """Note what a report says of the trace, which is refused if it is another one now."""
        task = self.task
        if read["sha256"] != task.trace_sha256:
            raise ClockhandError(f"{task.trace} changed while it was read; run the command again")
        self.computed.notes = [f"{task.trace}: {note}" for note in reading_notes(read)]
        facts = trace_facts(read, task.page_bytes(ssds))
        self.computed.facts = {"traces": [{**facts, "name": task.trace}]}


def cells_among(rows: Iterable[Record]) -> int:
    """Return how many rows are of whole cells."""
    return sum(row["interval"] is None for row in rows)
