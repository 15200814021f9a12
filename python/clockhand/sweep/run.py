"""Running an experiment: what its dataset lacks is computed, trace by trace, and kept at once."""

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import polars as pl

from clockhand import _engine
from clockhand._engine import ClockhandError
from clockhand.study.facts import Facts, TraceFacts
from clockhand.study.limits import MAXIMUM_JOBS, check_range
from clockhand.study.run import run_facts, trace_facts
from clockhand.sweep.dataset import BUILT_IN, CELL_SCHEMA, KEY, Dataset
from clockhand.sweep.experiment import DETECTED, OWN_VIEW, Experiment, Setting, cell_plan
from clockhand.traces import reading_notes, sources

SECONDS_BETWEEN_PARTS = 2.0
"""How much finished work may be lost at most, beside the cells in flight, to ``kill -9``."""

SweepWatch = Callable[[str, int, int], None]
"""Called now and then with the trace that is worked on, the cells that are kept, and all cells."""


@dataclass(frozen=True)
class Sweep:
    """What a sweep gave.

    Attributes:
        rows: One row per cell of the experiment, in the order trace, setting, memory size, policy,
            named as the experiment names them; the columns are those of the dataset.
        facts: How they were made, for a report.
        computed: How many cells were computed now; the others had been kept.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    rows: pl.DataFrame
    facts: Facts
    computed: int
    warnings: list[str]


def run_sweep(
    experiment: Experiment,
    *,
    dataset: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    watch: SweepWatch | None = None,
    command: str | None = None,
) -> Sweep:
    """Compute the cells of an experiment that its dataset lacks, and return all of them.

    Finished cells are written every few seconds; a sweep that was stopped in any way goes on where
    it was. Several sweeps may write into one dataset at the same time.

    Args:
        experiment: What to simulate.
        dataset: The folder to keep the cells in; the experiment's own if not given.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress.
        command: The command line for the facts; the equivalent one if not given.

    Raises:
        UsageError: ``jobs`` is out of range.
        ClockhandError: a trace cannot be read, a part of the dataset is damaged, or the sweep was
            interrupted; the sentence then says how much is kept.
        OSError: the dataset cannot be written.
    """
    if jobs is not None:
        check_range("--jobs", jobs, 1, MAXIMUM_JOBS)
    kept = Dataset(experiment.dataset if dataset is None else dataset)
    kept.remove_leftovers()
    run = _Run(experiment, kept, jobs, watch, command or f"clockhand sweep {experiment.path}")
    with kept.at_work():
        try:
            return run.run()
        except ClockhandError:
            run.flush()
            raise
        except KeyboardInterrupt:
            run.forget_watch()
            run.flush()
            raise ClockhandError(
                f"interrupted; {run.done:,} of {run.total:,} cells are kept in {kept.folder}; "
                "run the command again for the rest"
            ) from None


@dataclass(frozen=True)
class _Group:
    """The cells of one trace under one setting."""

    trace: str
    sha256: str
    setting: Setting
    device_sha256: str
    plan: Mapping[str, Any]

    def key(self, cell: Mapping[str, Any], experiment: Experiment) -> dict[str, Any]:
        setting = self.setting
        return {
            "trace_sha256": self.sha256,
            "trace_format": experiment.trace_format,
            "view": setting.view,
            "policy_resolved": cell["policy_resolved"],
            "frames": cell["frames"],
            "page_bytes": setting.page_bytes,
            "device_resolved": self.plan["device"]["resolved"],
            "device_sha256": self.device_sha256,
            "bits": setting.bits,
            "write_miss": setting.write_miss,
            "reserve": setting.reserve,
            "flush_at_end": experiment.flush_at_end,
            "hand_ns": experiment.hand_ns,
            "numbers_version": _engine.NUMBERS_VERSION,
        }


class _Run:
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
        self.dataset = dataset
        self.done = 0
        sizes_and_policies = cell_plan(experiment, experiment.settings[0])
        cells_of_trace = len(sizes_and_policies["cells"]) * len(experiment.settings)
        self.total = cells_of_trace * len(experiment.traces)
        self._jobs = jobs
        self._watch = watch
        self._command = command
        self._trace = ""
        self._computed = 0
        self._warnings: list[str] = []
        self._unwritten: list[dict[str, Any]] = []
        self._unwritten_cells = 0
        self._facts: Facts | None = None
        self._last_write_s = time.monotonic()
        self._device_digests: dict[str, str] = {}

    def run(self) -> Sweep:
        """Compute what is missing, trace by trace, and collect all rows."""
        groups: list[_Group] = []
        for trace in self.experiment.traces:
            self._trace = trace
            self._show()
            digest = _sha256(trace)
            groups += self._run_trace(trace, digest)
            self.flush()
        return self._collect(groups)

    def flush(self) -> None:
        """Write what has been finished."""
        if self._unwritten:
            assert self._facts is not None
            self.dataset.append(self._unwritten, self._facts)
            self.done += self._unwritten_cells
            self._computed += len(self._unwritten)
            self._unwritten, self._unwritten_cells = [], 0
        self._last_write_s = time.monotonic()
        self._show()

    def forget_watch(self) -> None:
        """Show no more progress."""
        self._watch = None

    def _show(self) -> None:
        if self._watch is not None:
            self._watch(self._trace, self.done + self._unwritten_cells, self.total)

    def _run_trace(self, trace: str, digest: str) -> list[_Group]:
        """Run the missing cells of one trace, which is read once per view, or not at all."""
        known = self.dataset.cells()
        footprints = _footprints(known, digest, self.experiment.trace_format)
        keys = set(known.select(KEY).iter_rows())
        groups: list[_Group] = []
        incomplete: list[Setting] = []
        for setting in self.experiment.settings:
            key = (setting.view, setting.page_bytes)
            if key in footprints:
                group = self._group(trace, digest, setting, footprints[key])
                if not _missing(group, self.experiment, keys):
                    self.done += len(group.plan["cells"])
                    groups.append(group)
                    continue
            incomplete.append(setting)
        self._show()
        if not incomplete:
            return groups
        for view in dict.fromkeys(setting.view for setting in incomplete):
            seen_so = [setting for setting in incomplete if setting.view == view]
            prepared = self._prepare(trace, view, seen_so)
            at = {facts["page_bytes"]: facts for facts in prepared.traces}
            for setting in seen_so:
                facts = at[setting.page_bytes]
                if facts["sha256"] != digest:
                    raise ClockhandError(
                        f"{trace} changed while it was read; run the command again"
                    )
                group = self._group(trace, digest, setting, facts["footprint_pages"])
                self._run_group(prepared, group, facts, keys)
                groups.append(group)
        place = {setting: position for position, setting in enumerate(self.experiment.settings)}
        return sorted(groups, key=lambda group: place[group.setting])

    def _group(self, trace: str, digest: str, setting: Setting, footprint_pages: int) -> _Group:
        device_sha256 = self._device_digests.setdefault(
            setting.device, _device_sha256(setting.device)
        )
        plan = cell_plan(self.experiment, setting, footprint_pages)
        return _Group(trace, digest, setting, device_sha256, plan)

    def _prepare(self, trace: str, view: str, settings: Sequence[Setting]) -> _engine.PreparedTrace:
        given = None if self.experiment.trace_format == DETECTED else self.experiment.trace_format
        [source] = sources(trace, trace_format=given, view=None if view == OWN_VIEW else view)
        prepared = _engine.PreparedTrace.read(
            source,
            list(self.experiment.policies),
            list(dict.fromkeys(setting.device for setting in settings)),
            list(dict.fromkeys(setting.page_bytes for setting in settings)),
            lambda *_: self._show(),
        )
        self._warnings += [f"{trace}: {note}" for note in reading_notes(prepared.traces[0])]
        return prepared

    def _run_group(
        self,
        prepared: _engine.PreparedTrace,
        group: _Group,
        read: Mapping[str, Any],
        known: set[tuple[Any, ...]],
    ) -> None:
        missing = _missing(group, self.experiment, known)
        planned = len(group.plan["cells"])
        # Several memory sizes may be the same number of frames: one computed cell stands for all.
        waiting = sum(map(len, missing.values()))
        self.done += planned - waiting
        cells = [places[0] for places in missing.values()]
        setting = group.setting
        options: dict[str, Any] = {
            "device": setting.device,
            "bits": setting.bits,
            "write_miss": setting.write_miss,
            "reserve": setting.reserve,
            "flush_at_end": self.experiment.flush_at_end,
            "hand_ns": self.experiment.hand_ns,
        }
        self._facts = self._part_facts(group, read)

        def keep(finished: list[tuple[int, dict[str, Any]]]) -> None:
            for position, row in finished:
                cell = cells[position]
                key = group.key(cell, self.experiment)
                self._unwritten.append({**row, **key, "version": _engine.__version__})
                self._unwritten_cells += len(missing[tuple(key[name] for name in KEY)])
            if time.monotonic() - self._last_write_s >= SECONDS_BETWEEN_PARTS:
                self.flush()

        if cells:
            prepared.simulate(
                [(cell["policy"], cell["frames"]) for cell in cells],
                page_bytes=setting.page_bytes,
                seed=self.experiment.seed,
                jobs=self._jobs,
                on_rows=keep,
                watch=lambda *_: self._show(),
                bound_effort=self.experiment.bound_effort,
                **options,
            )
            known |= missing.keys()
        self.flush()

    def _part_facts(self, group: _Group, read: Mapping[str, Any]) -> Facts:
        about = trace_facts(read, group.setting.page_bytes) | {"name": group.trace}
        return self._facts_of([cast(TraceFacts, about)], [group])

    def _facts_of(self, traces: Sequence[TraceFacts], groups: Sequence[_Group]) -> Facts:
        devices = {group.setting.device: group.plan["device"] for group in groups}
        resolved: dict[str, str] = {}
        for group in groups:
            for cell in group.plan["cells"]:
                resolved.setdefault(cell["policy"], cell["policy_resolved"])
        policies = {policy["name"]: policy for group in groups for policy in group.plan["policies"]}
        facts = run_facts(
            command=self._command,
            seed=self.experiment.seed,
            options={
                "flush_at_end": self.experiment.flush_at_end,
                "hand_ns": self.experiment.hand_ns,
                "jobs": self._jobs,
            },
            traces=traces,
            devices=list(devices.values()),
            policies=[{**policy, "resolved": resolved[name]} for name, policy in policies.items()],
        )
        return cast(Facts, facts)

    def _collect(self, groups: Sequence[_Group]) -> Sweep:
        """Return the rows of the experiment's cells, under the names that it gives them."""
        planned = [
            {
                **group.key(cell, self.experiment),
                "trace": group.trace,
                "device": group.setting.device,
                "policy": cell["policy"],
            }
            for group in groups
            for cell in group.plan["cells"]
        ]
        names = {name: CELL_SCHEMA[name] for name in (*KEY, "trace", "device", "policy")}
        cells = self.dataset.cells().drop("trace", "device", "policy")
        rows = pl.DataFrame(planned, schema=names).join(
            cells, on=KEY, how="left", nulls_equal=True, maintain_order="left"
        )
        if rows["references"].null_count():
            raise ClockhandError(
                f"{self.dataset.folder} lost cells while the sweep ran; run the command again"
            )
        return Sweep(
            rows=rows.select(*CELL_SCHEMA),
            facts=self._facts_of(self._trace_facts(groups), groups),
            computed=self._computed,
            warnings=self._warnings,
        )

    def _trace_facts(self, groups: Sequence[_Group]) -> list[TraceFacts]:
        kept = {(trace["sha256"], trace["page_bytes"]): trace for trace in self.dataset.traces()}
        wanted = {
            (group.trace, group.setting.page_bytes): kept[group.sha256, group.setting.page_bytes]
            for group in groups
        }
        return [cast(TraceFacts, {**facts, "name": name}) for (name, _), facts in wanted.items()]


def _missing(
    group: _Group, experiment: Experiment, known: set[tuple[Any, ...]]
) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """The planned cells whose key is not known, by key."""
    missing: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for cell in group.plan["cells"]:
        key = group.key(cell, experiment)
        place = tuple(key[name] for name in KEY)
        if place not in known:
            missing.setdefault(place, []).append(cell)
    return missing


def _footprints(known: pl.DataFrame, sha256: str, trace_format: str) -> dict[tuple[str, int], int]:
    """The pages of a trace by view and page size, as far as the kept cells say."""
    of_trace = known.filter(
        (pl.col("trace_sha256") == sha256) & (pl.col("trace_format") == trace_format)
    )
    facts = of_trace.select("view", "page_bytes", "footprint_pages").unique()
    return {(view, page_bytes): pages for view, page_bytes, pages in facts.iter_rows()}


def _sha256(path: str) -> str:
    """The digest of a file's stored bytes, as the engine gives it."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ClockhandError(
            f"{path}: cannot be read ({error.strerror}); correct the experiment's traces"
        ) from error


def _device_sha256(device: str) -> str:
    """What distinguishes two devices of the same name: the digest of the user's own profile."""
    path = device if os.path.isfile(device) else device.rpartition(":")[0]
    return _sha256(path) if os.path.isfile(path) else BUILT_IN
