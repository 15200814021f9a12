"""Running an experiment: what its dataset lacks is computed, trace by trace, and kept at once."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from clockhand import _engine
from clockhand.datasets.dataset import Dataset
from clockhand.datasets.facts import collected, distinct
from clockhand.datasets.layout import files_of
from clockhand.datasets.result import Sweep
from clockhand.study.calls import in_python
from clockhand.study.errors import ClockhandError, UsageError, option
from clockhand.study.progress import described
from clockhand.study.records import Fields, Record
from clockhand.study.run import check_jobs, run_facts
from clockhand.sweep.cluster import check_address, run_tasks
from clockhand.sweep.experiment import Experiment, named_by
from clockhand.sweep.task import Computed, Key, Task, TaskRun, cells_among, trace_sha256

SECONDS_BETWEEN_PARTS = 2.0
"""How much finished work may be lost at most, beside the cells in flight, to ``kill -9``."""

SweepWatch = Callable[[str, int, int], None]
"""Called now and then with the trace that is worked on, the cells that are kept, and all cells."""


def tasks_of(
    experiment: Experiment, dataset: str | os.PathLike[str] | None = None
) -> Iterator[Task]:
    """Give what of an experiment is still to be computed, for a scheduler: a task per trace, view
    and setting.

    Args:
        experiment: What to run.
        dataset: The folder whose cells need not be computed; the experiment's own if not given.

    Raises:
        ClockhandError: a trace cannot be read, or a part of the dataset is damaged.
    """
    folder = experiment.dataset if dataset is None else dataset
    cells = Dataset(folder, experiment.layout).cells(lists=False)
    for trace in experiment.traces:
        yield from experiment.tasks(trace, trace_sha256(trace), cells)


@in_python()
def run_sweep(
    experiment: Experiment,
    *,
    dataset: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    watch: SweepWatch | None = None,
    command: str | None = None,
    scratch: str | os.PathLike[str] | None = None,
    memory_budget: str | None = None,
) -> Sweep:
    """Compute the cells of an experiment that its dataset lacks, and return all of them.

    Finished cells are written every few seconds; a sweep that was stopped in any way goes on where
    it was. Several sweeps may write into one dataset at the same time.

    Args:
        experiment: What to run.

        dataset: The folder to keep the cells in, or its address, such as ``s3://bucket/cells``; the
            experiment's own if not given.

        jobs: Threads, from 1 to 1024; all cores if not given.

        cluster: The address of a Dask scheduler, such as ``tcp://HOST:8786``, whose workers compute
            the cells, or ``local:N`` for N processes of this machine; this process if not given.

        watch: Called now and then with the progress.

        command: The command line for the facts; the equivalent one if not given.

        scratch: A folder for temporary files of references, so that traces may be larger than
            memory; for page policies.

        memory_budget: How much memory what is made of a trace may take, such as ``"4GiB"``; cells
            wait until there is room. The experiment's own if not given.

    Raises:
        UsageError: ``jobs`` or the budget is out of range, or ``cluster`` no address.
        ClockhandError: there is no such cluster, a trace cannot be read, a part of the dataset is
            damaged, or the sweep was interrupted; the sentence then says how much is kept.
        OSError: the dataset cannot be written.
    """
    check_jobs(jobs)
    if cluster is not None:
        check_address(cluster)
        if jobs is not None:
            raise UsageError(
                "a cluster's workers have threads of their own", "leave out " + option("jobs")
            )
    folder = experiment.dataset if dataset is None else dataset
    kept = Dataset(folder, experiment.layout)
    kept.remove_leftovers()
    own: Fields = {} if scratch is None else {"scratch": os.fspath(scratch)}
    if memory_budget is not None:
        _engine.check_memory_budget(memory_budget)
        own["memory_limit"] = memory_budget
    settings = tuple(replace(setting, **own) for setting in experiment.settings)
    experiment = replace(experiment, settings=settings)
    run = _SweepRun(experiment, kept, jobs, watch, command or f"clockhand sweep {experiment.path}")
    with kept.at_work():
        try:
            if cluster is not None:
                run.fill(cluster)
            return run.run()
        except ClockhandError:
            run.flush()
            raise
        except KeyboardInterrupt:
            run.watch = None
            run.flush()
            raise ClockhandError(
                f"interrupted; {run.done:,} of {run.total:,} cells are kept in {kept.name}; "
                "run the command again for the rest"
            ) from None


@dataclass
class _SweepRun:
    """One run of an experiment, and what it has computed and not written yet."""

    experiment: Experiment
    dataset: Dataset
    jobs: int | None
    watch: SweepWatch | None
    command: str
    done: int = 0
    _trace: str = ""
    _computed: int = 0
    _warnings: list[str] = field(default_factory=list)
    _rows: list[Fields] = field(default_factory=list)
    _cells: int = 0
    _facts: Record = field(default_factory=dict)
    _has_new_facts: bool = False
    _last_write_s: float = field(default_factory=time.monotonic)
    _held: _engine.HeldTraces = field(default_factory=lambda: _engine.HeldTraces())
    _digests: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layout = self.experiment.layout
        plans = [self.layout.plan(setting.options) for setting in self.experiment.settings]
        self._known_facts = [plan.facts for plan in plans]
        self.total = len(self.experiment.traces) * sum(len(plan.cells) for plan in plans)

    def fill(self, cluster: str) -> None:
        """Have a cluster compute what is missing; then :meth:`run` finds everything kept."""
        tasks: list[tuple[Task, int]] = []
        for trace in self.experiment.traces:
            for group in self._groups(trace, trace_sha256(trace, self._show_download)):
                cells = group.cells or self.layout.plan(group.task.options).cells
                lacking = len(group.task.missing(cells))
                self.done += len(cells) - lacking
                if not group.is_whole:
                    tasks.append((group.task, lacking))
        if tasks:
            self.dataset.check_writable()
            taken: set[Key] = set()
            run_tasks(cluster, tasks, lambda task, computed: self._take(taken, task, computed))
        self.done = 0

    def _take(self, taken: set[Key], task: Task, computed: Computed) -> None:
        """Keep what a worker computed, each cell once: settings may have cells in common."""
        key_of = self.layout.key_of
        self._rows = [row for row in computed.rows if key_of(row) not in taken]
        taken.update(map(key_of, self._rows))
        self._trace = task.trace
        self._cells = cells_among(computed.rows)
        self._know(computed)
        self.flush()

    def run(self) -> Sweep:
        """Compute what is missing, trace by trace, and collect all rows."""
        groups: list[TaskRun] = []
        traces = self.experiment.traces
        try:
            for trace, following in zip(traces, [*traces[1:], None], strict=True):
                self._trace = trace
                self._show()
                groups += self._run_trace(trace, following)
                self.flush()
        finally:
            self._held.forget()
        return self._collect(groups)

    def flush(self) -> None:
        """Write what has been finished."""
        if self._rows or self._has_new_facts:
            self.dataset.append(self._rows, self._facts_of(self._facts))
            self.done += self._cells
            self._computed += cells_among(self._rows)
            self._rows, self._cells, self._has_new_facts = [], 0, False
        self._last_write_s = time.monotonic()
        self._show()

    def _show(self, doing: str = "") -> None:
        if self.watch is not None:
            self.watch(f"{self._trace}{doing}", self.done + self._cells, self.total)

    def _show_download(self, phase: str, done: int, total: int) -> None:
        self._show(f", {described(phase, done, total)}")

    def _groups(self, trace: str, digest: str) -> list[TaskRun]:
        """Return the cells of a trace by setting, as far as they are known before it is read."""
        kept = self.dataset.cells(lists=False).filter(pl.col("trace_sha256") == digest)
        groups: list[TaskRun] = []
        for task in self.experiment.tasks(trace, digest, kept):
            cells = self._known_cells(task, kept)
            # Kept cells of a setting have its cells' keys.
            own = replace(task, kept=task.kept.intersection(map(task.key, cells or ())))
            group = TaskRun(own, self.jobs, lambda *_: self._show(), self._held)
            group.cells = cells or ()
            group.is_whole = cells is not None and not own.missing(cells) and self._has_facts(own)
            groups.append(group)
        lacking = [group.task for group in groups if not group.is_whole]
        for group in groups:
            alike = (task.options for task in lacking if task.view == group.task.view)
            group.task = replace(group.task, read_for=tuple(alike))
        return groups

    def _known_cells(self, task: Task, kept: pl.DataFrame) -> Sequence[Record] | None:
        """The cells of a setting, if they are known while the trace has not been read."""
        if not self.layout.depends_on_footprint:
            return self.layout.plan(task.options).cells
        known = {**task.columns({}), "page_bytes": task.page_bytes()}
        columns = ("trace_format", "view", "page_bytes")
        alike = kept.filter(pl.col(name) == known[name] for name in columns)
        if alike.is_empty():
            return None
        pages = alike["footprint_pages"][0]
        with named_by(f"{self.experiment.path}: ", but_for=self._trace):
            return self.layout.plan(task.options, pages).cells

    def _run_trace(self, trace: str, following: str | None) -> list[TaskRun]:
        """Compute a trace's missing cells, and read the following trace at the same time."""
        digest = self._digests.pop(trace, None) or trace_sha256(trace, self._show_download)
        groups = self._groups(trace, digest)
        self.done += sum(len(group.cells) for group in groups if group.is_whole)
        self._show()
        lacking = [group for group in groups if not group.is_whole]
        computed: set[Key] = set()
        last = next((it for it in lacking if it.task.view == lacking[-1].task.view), None)
        for group in lacking:
            group.task = replace(group.task, kept=group.task.kept | computed)
            computed |= self._run_group(group, following if group is last else None)
        return groups

    def _run_group(self, group: TaskRun, following: str | None) -> set[Key]:
        """Compute the missing cells of a setting, and return the keys of all of them."""
        self.dataset.check_writable()
        with named_by(f"{self.experiment.path}: ", but_for=self._trace):
            plan = group.plan()
        # Several sizes may be the same cell: one that is computed stands for all.
        planned = Counter(map(group.task.key, plan.cells))
        self.done += sum(count for key, count in planned.items() if key in group.task.kept)

        def keep(rows: list[Fields]) -> None:
            self._rows += rows
            self._facts = group.computed.facts
            whole = (row for row in rows if row["interval"] is None)
            self._cells += sum(planned[self.layout.key_of(row)] for row in whole)
            if time.monotonic() - self._last_write_s >= SECONDS_BETWEEN_PARTS:
                self.flush()

        self._read_ahead(following)
        group.run(plan, keep)
        self._know(group.computed)
        self.flush()
        return set(planned)

    def _know(self, computed: Computed) -> None:
        self._facts = computed.facts
        # If cells are known before the trace, only facts may be new.
        self._has_new_facts = not self.layout.depends_on_footprint
        self._warnings += [note for note in computed.notes if note not in self._warnings]

    def _read_ahead(self, trace: str | None) -> None:
        """Begin to read the following trace, if it is a file of this machine and there is memory
        for two."""
        if trace is None or self.jobs == 1 or not os.path.isfile(trace):
            return
        try:
            digest = self._digests[trace] = trace_sha256(trace)
        except ClockhandError:
            # The error is raised again at this trace's turn.
            return
        lacking = [group.task for group in self._groups(trace, digest) if not group.is_whole]
        if lacking and self.layout.depends_on_footprint:
            self._held.read_ahead(*lacking[0].reading())

    def _has_facts(self, task: Task) -> bool:
        """Whether the dataset tells of a trace and of everything that a setting names."""
        if self.layout.depends_on_footprint:
            return True
        facts, study = self.dataset.facts(), self.layout.study
        options = task.options
        wanted = {
            study.devices: files_of(options),
            study.contenders: options.get(study.contender or ""),
        }
        return any(
            it["sha256"] == task.trace_sha256 for fact in facts for it in fact["traces"]
        ) and all(
            {entry["name"] for entry in distinct(facts, kind, ("name",))}.issuperset(names or ())
            for kind, names in wanted.items()
        )

    def _facts_of(self, known: Record) -> Fields:
        study, settings = self.layout.study, self.experiment.settings
        stated = study.fact_options(settings[0].options, self.jobs)
        lists: Fields = {"traces": [], study.devices: [], study.contenders: [], **known}
        return run_facts(
            command=self.command,
            seed=settings[0].options["seed"],
            options={
                name: value
                for name, value in stated.items()
                if all(setting.options.get(name, value) == value for setting in settings)
            },
            **lists,
        )

    def _collect(self, groups: Sequence[TaskRun]) -> Sweep:
        """Return the rows of the experiment's cells, under the names that it gives them."""
        layout = self.layout
        planned = [
            {**group.task.columns(cell["key"]), "trace": group.task.trace, **cell["named"]}
            for group in groups
            for cell in group.cells
        ]
        named = sorted({name for group in groups for cell in group.cells for name in cell["named"]})
        columns = ("trace", *named)
        key = [name for name in layout.key if name != "interval"]
        names = {name: layout.schema[name] for name in (*key, *columns)}
        cells = self.dataset.cells().drop(columns)
        rows = pl.DataFrame(planned).select(pl.col(n).cast(k) for n, k in names.items()).join(
            cells.with_columns(is_kept=True), on=key, how="left", nulls_equal=True,
            maintain_order="left",
        )  # fmt: skip
        if rows["is_kept"].null_count():
            raise ClockhandError(
                f"{self.dataset.name} lost cells while the sweep ran; run the command again"
            )
        rows = rows.select(*layout.schema)
        return Sweep(rows, self._collected(groups, rows), self._computed, self._warnings, layout)

    def _collected(self, groups: Sequence[TaskRun], rows: pl.DataFrame) -> Fields:
        """The facts of the experiment's cells, as far as the dataset and the plan tell."""
        digests = {group.task.trace: group.task.trace_sha256 for group in groups}
        named = {file for setting in self.experiment.settings for file in files_of(setting.options)}
        kept = self.dataset.facts()
        return self._facts_of(collected(kept, self._known_facts, rows, digests, named, self.layout))
