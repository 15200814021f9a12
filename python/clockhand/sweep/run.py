"""Running an experiment: what its dataset lacks is computed, trace by trace, and kept at once."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from clockhand import _engine
from clockhand.datasets.dataset import Dataset
from clockhand.datasets.facts import collected, distinct
from clockhand.datasets.layout import Plan, files_of
from clockhand.datasets.result import Sweep
from clockhand.study.calls import in_python
from clockhand.study.errors import ClockhandError, UsageError, option
from clockhand.study.progress import described
from clockhand.study.records import Fields, Record
from clockhand.study.run import check_jobs, run_facts
from clockhand.sweep.cluster import check_address, run_tasks
from clockhand.sweep.experiment import Experiment, check_memory_budget, in_keys
from clockhand.sweep.task import Computed, Key, Row, Task, TaskRun, cells_among, trace_sha256
from clockhand.sweep.tasks import task_of

SECONDS_BETWEEN_PARTS = 2.0
"""How much finished work may be lost at most, beside the cells in flight, to ``kill -9``."""

SweepWatch = Callable[[str, int, int], None]
"""Called now and then with the trace that is worked on, the cells that are kept, and all cells."""


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
    if memory_budget is not None:
        check_memory_budget(memory_budget)
        experiment = replace(experiment, memory_budget=memory_budget)
    if scratch is not None:
        experiment = replace(experiment, scratch=os.fspath(scratch))
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
            run.forget_watch()
            run.flush()
            raise ClockhandError(
                f"interrupted; {run.done:,} of {run.total:,} cells are kept in {kept.name}; "
                "run the command again for the rest"
            ) from None


@dataclass(frozen=True)
class _Group:
    """The cells of one trace under one setting, with the task that knows their keys."""

    task: Task
    cells: Sequence[Record]


class _SweepRun:
    """One run of an experiment."""

    def __init__(
        self,
        experiment: Experiment,
        dataset: Dataset,
        jobs: int | None,
        watch: SweepWatch | None,
        command: str,
    ) -> None:
        self.experiment = experiment
        self.layout = experiment.layout
        self.dataset = dataset
        self.done = 0
        plans = [self.layout.plan(dict(setting.options)) for setting in experiment.settings]
        self._known_facts = [plan.facts for plan in plans]
        self.total = len(experiment.traces) * sum(len(plan.cells) for plan in plans)
        self._jobs = jobs
        self._watch = watch
        self._command = command
        self._trace = ""
        self._computed = 0
        self._warnings: list[str] = []
        self._unwritten: list[Row] = []
        self._unwritten_cells = 0
        self._facts: Fields = {}
        self._has_new_facts = False
        self._last_write_s = time.monotonic()
        self._held = _engine.HeldTraces()
        self._digests: dict[str, str] = {}

    def fill(self, cluster: str) -> None:
        """Have a cluster compute what is missing; then :meth:`run` finds everything kept."""
        tasks = [task for trace in self.experiment.traces for task in self._tasks(trace)]
        if tasks:
            self.dataset.check_writable()
            taken: set[Key] = set()
            run_tasks(cluster, tasks, lambda task, computed: self._take(taken, task, computed))
        self.done = 0

    def _tasks(self, trace: str) -> Iterator[tuple[Task, int]]:
        """Give what a trace lacks, a task per setting, with about how many cells it has."""
        digest = trace_sha256(trace, self._show_download)
        settings = self.experiment.settings
        for task, known, is_whole in self._looked_at(trace, digest):
            planned = (known or self.layout.plan(task.settings[0])).cells
            lacking = len(task.missing(planned))
            self.done += len(planned) - lacking
            if not is_whole:
                # Kept cells of a setting have its cells' keys.
                kept = task.kept.intersection(map(task.key, known.cells if known else ()))
                alike = (it for it in settings if it.view == task.view)
                read_for = tuple(dict(it.options) for it in alike)
                yield replace(task, kept=kept, read_for=read_for), lacking

    def _take(self, taken: set[Key], task: Task, computed: Computed) -> None:
        """Keep what a worker computed, each cell once: settings may have cells in common."""
        key_of = self.layout.key_of
        rows = [row for row in computed.rows if key_of(row) not in taken]
        taken.update(map(key_of, rows))
        self._trace = task.trace
        for facts in computed.facts:
            self._know(facts)
        self._unwritten, self._unwritten_cells = rows, cells_among(computed.rows)
        self._warnings += [note for note in computed.notes if note not in self._warnings]
        self.flush()

    def run(self) -> Sweep:
        """Compute what is missing, trace by trace, and collect all rows."""
        groups: list[_Group] = []
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
        if self._unwritten or self._has_new_facts:
            self.dataset.append(self._unwritten, self._facts)
            self.done += self._unwritten_cells
            self._computed += cells_among(self._unwritten)
            self._unwritten, self._unwritten_cells, self._has_new_facts = [], 0, False
        self._last_write_s = time.monotonic()
        self._show()

    def forget_watch(self) -> None:
        """Show no more progress."""
        self._watch = None

    def _show(self, doing: str = "") -> None:
        if self._watch is not None:
            self._watch(f"{self._trace}{doing}", self.done + self._unwritten_cells, self.total)

    def _show_download(self, phase: str, done: int, total: int) -> None:
        self._show(f", {described(phase, done, total)}")

    def _run_trace(self, trace: str, following: str | None) -> list[_Group]:
        """Compute a trace's missing cells, and read the following trace at the same time."""
        digest = self._digests.pop(trace, None) or trace_sha256(trace, self._show_download)
        groups, tasks = self._divided(trace, digest)
        self.done += sum(len(group.cells) for group in groups.values())
        self._show()
        for task, positions in tasks:
            is_last = task is tasks[-1][0]
            done = self._run_task(task, positions, following if is_last else None)
            groups |= zip(positions, done, strict=True)
        return [group for _, group in sorted(groups.items())]

    def _divided(
        self, trace: str, digest: str
    ) -> tuple[dict[int, _Group], list[tuple[Task, list[int]]]]:
        """The settings that are complete, by position, and a task per view for the others."""
        groups: dict[int, _Group] = {}
        of_views: dict[str, tuple[Task, list[int]]] = {}
        for position, (task, plan, is_whole) in enumerate(self._looked_at(trace, digest)):
            if plan is not None and is_whole:
                groups[position] = _Group(task, plan.cells)
                continue
            first, positions = of_views.get(task.view, (None, []))
            settings = (*first.settings, *task.settings) if first else task.settings
            of_views[task.view] = replace(task, settings=settings), [*positions, position]
        return groups, list(of_views.values())

    def _looked_at(self, trace: str, digest: str) -> Iterator[tuple[Task, Plan | None, bool]]:
        """Give the task of each setting, its cells if they are known before the trace is read, and
        whether the dataset has everything of it."""
        known = self.dataset.cells(lists=False).filter(
            (pl.col("trace_sha256") == digest)
            & (pl.col("trace_format") == self.experiment.trace_format)
        )
        kept = frozenset(known.select(self.layout.key).iter_rows())
        for position in range(len(self.experiment.settings)):
            task = task_of(self.experiment, trace, digest, position, kept)
            plan = self._plan_before_reading(position, known)
            is_kept = plan is not None and not task.missing(plan.cells)
            yield task, plan, is_kept and self._has_facts(position, digest)

    def _read_ahead(self, run: TaskRun, trace: str | None) -> None:
        """Begin to read the following trace, if it is a file of this machine."""
        if trace is None or self._jobs == 1 or not os.path.isfile(trace):
            return
        try:
            digest = self._digests[trace] = trace_sha256(trace)
        except ClockhandError:
            # The error is raised again at this trace's turn.
            return
        _, tasks = self._divided(trace, digest)
        if tasks:
            run.read_ahead(tasks[0][0])

    def _plan_before_reading(self, position: int, known: pl.DataFrame) -> Plan | None:
        """The cells of a setting, if they are known while the trace has not been read."""
        setting = self.experiment.settings[position]
        options = dict(setting.options)
        if not self.layout.depends_on_footprint:
            return self.layout.plan(options)
        alike = known.filter(
            (pl.col("view") == setting.view) & (pl.col("page_bytes") == int(options["page_size"]))
        )
        if alike.is_empty():
            return None
        return self._of_file(lambda: self.layout.plan(options, alike["footprint_pages"][0]))

    def _of_file(self, planned: Callable[[], Plan]) -> Plan:
        """Plan cells; an error of options names the experiment's file and keys."""
        try:
            return planned()
        except ClockhandError as error:
            if not self.layout.depends_on_footprint or self._trace in str(error):
                raise
            problem, remedy = in_keys(error)
            raise type(error)(f"{self.experiment.path}: {problem}", remedy) from error

    def _has_facts(self, position: int, digest: str) -> bool:
        """Whether the dataset tells of a trace and of everything that a setting names."""
        if self.layout.depends_on_footprint:
            return True
        facts, options = self.dataset.facts(), self.experiment.settings[position].options
        study = self.layout.study
        known = {kind: {entry["name"] for entry in distinct(facts, kind, ("name",))}
                for kind in (study.devices, study.contenders)}  # fmt: skip
        is_read = any(trace["sha256"] == digest for fact in facts for trace in fact["traces"])
        compared = [] if study.contender is None else options[study.contender]
        return (
            is_read
            and known[study.devices].issuperset(files_of(options))
            and known[study.contenders].issuperset(compared)
        )

    def _run_task(
        self, task: Task, positions: Sequence[int], following: str | None
    ) -> list[_Group]:
        self.dataset.check_writable()
        run = TaskRun(task, self._jobs, lambda *_: self._show(), self._held)
        groups = []
        shown = 0
        for setting in range(len(positions)):
            self._facts = self._facts_of({})
            plan = self._of_file(lambda setting=setting: run.plan(setting))  # type: ignore[misc]
            # Several sizes may be the same cell: one that is computed stands for all.
            planned = Counter(map(task.key, plan.cells))
            self.done += sum(count for key, count in planned.items() if key in task.kept)

            def keep(rows: list[Row], planned: Counter[Key] = planned) -> None:
                self._unwritten += rows
                whole = (row for row in rows if row["interval"] is None)
                self._unwritten_cells += sum(planned[self.layout.key_of(row)] for row in whole)
                if time.monotonic() - self._last_write_s >= SECONDS_BETWEEN_PARTS:
                    self.flush()

            if setting == 0:
                self._read_ahead(run, following)
            run.setting(setting, plan, keep, self._know)
            self.flush()
            self._warnings += run.notes[shown:]
            shown = len(run.notes)
            task = run.with_kept(planned)
            groups.append(_Group(task, plan.cells))
        return groups

    def _know(self, facts: Record) -> None:
        self._facts = self._facts_of(facts)
        # If cells are known before the trace, only facts may be new.
        self._has_new_facts = not self.layout.depends_on_footprint

    def _facts_of(self, known: Record) -> Fields:
        study = self.layout.study
        options = dict(self.experiment.settings[0].options)
        varying = {
            name
            for setting in self.experiment.settings
            for name, value in setting.options.items()
            if value != options[name]
        }
        stated = study.fact_options(options, self._jobs)
        lists: Fields = {"traces": [], study.devices: [], study.contenders: [], **known}
        return run_facts(
            command=self._command,
            seed=options["seed"],
            options={name: value for name, value in stated.items() if name not in varying},
            **lists,
        )

    def _collect(self, groups: Sequence[_Group]) -> Sweep:
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

    def _collected(self, groups: Sequence[_Group], rows: pl.DataFrame) -> Fields:
        """The facts of the experiment's cells, as far as the dataset and the plan tell."""
        digests = {group.task.trace: group.task.trace_sha256 for group in groups}
        named = {file for setting in self.experiment.settings for file in files_of(setting.options)}
        kept = self.dataset.facts()
        return self._facts_of(collected(kept, self._known_facts, rows, digests, named, self.layout))
