"""The runs of a comparison: a program under each policy and the kernel's own swap, in turns."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import polars as pl

from clockhand.capture.programs import Program
from clockhand.studies.programs.findings import KERNEL, device_reads
from clockhand.studies.programs.kernel_swap import kernel_settings, kernel_swap
from clockhand.studies.programs.memory_group import (
    Charged,
    MemoryGroup,
    Swapped,
    memory_group,
)
from clockhand.studies.programs.options import PAGE_BYTES, ProgramSettings
from clockhand.studies.programs.outside_memory import OutsideMemory, library_memory
from clockhand.studies.programs.pager import paging, started_pager, swap_notes
from clockhand.studies.programs.plan import Planned
from clockhand.studies.programs.rows import failures, process_rows
from clockhand.studies.programs.samples import COUNTS, Live, Moments, Samples, opened
from clockhand.studies.programs.streams import Output, RepeatedInput
from clockhand.studies.programs.used import Used
from clockhand.studies.programs.watched_program import Ended, run_program
from clockhand.study.columns import schema
from clockhand.study.errors import ClockhandError, option
from clockhand.study.records import Fields, Record
from clockhand.study.sizes import bytes_text

COMPARISON_SCHEMA = schema("compare")
"""Names, order and types of the columns of a comparison: a row per contender and run."""

COMPARED_SAMPLE_SCHEMA = schema("compare samples")
"""The same of samples of each contender's first run; counts since its start."""

SPARE_SWAP_BYTES = 64 * 2**20
"""The kernel's swap file is larger than the pages that the pager met by this much."""


class Turns:
    """Runs in the making; the attributes without underscore are what they give."""

    def __init__(
        self,
        program: Program,
        settings: ProgramSettings,
        planned: Planned,
        given: RepeatedInput,
        live: Live | None,
    ) -> None:
        self._program = program
        self._settings = settings
        self._planned = planned
        self._standard_input = given
        self._live = live
        self.rows: list[Fields] = []
        self.samples: list[Fields] = []
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.ended: list[Ended] = []
        self._library = Charged(0, 0)
        self._outside = Charged(0, 0)
        self._most_resident_bytes = 0
        self._footprint_bytes = 0
        self._limit_bytes: int | None = None
        self._kernel_problem: str | None = None

    @property
    def interrupted(self) -> bool:
        """Whether a run was."""
        return any(ended.interrupted for ended in self.ended)

    def run(
        self,
        policies: Sequence[str],
        with_kernel: bool,
        repeat: int,
        tell: Callable[[str], None] | None,
    ) -> None:
        """Run everything, in turns."""
        measures = with_kernel and self._settings.swap is not None
        if measures:
            try:
                self._library = library_memory(policies[0], self._planned, self._settings)
            except ClockhandError as error:
                self._kernel_problem = str(error)
        turn = [*policies, KERNEL] if with_kernel else list(policies)
        turns = [(number, policy) for number in range(1, repeat + 1) for policy in turn]
        for place, (number, policy) in enumerate(turns, 1):
            if tell is not None and len(turns) > 1:
                tell(f"run {place} of {len(turns)}: {policy}")
            if policy == KERNEL:
                self._run_in_kernel(number, tell)
            else:
                measured = measures and number == 1
                self._run_paged(policy, number, measures=measured)
            if self.interrupted:
                return

    def _run_once(self, *, is_shown: bool, **options: Any) -> tuple[Ended, Fields]:
        """Run the program, and return how it ended and what rows of all contenders have."""
        output = Output(is_shown=is_shown)
        used = Used(self._settings.swap)
        ended = run_program(
            self._program.command,
            standard_input=self._standard_input.again(),
            take_output=output.take,
            **options,
        )
        self.ended.append(ended)
        return ended, {"output_sha256": output.sha256(), **used.since()}

    def _run_paged(self, policy: str, number: int, *, measures: bool) -> None:
        """Run the program under a policy, and measure its memory outside of paged memory."""
        with ExitStack() as stack:
            outside: OutsideMemory | None = None
            before: Callable[[], None] | None = None
            if measures and self._kernel_problem is None:
                try:
                    group = stack.enter_context(memory_group())
                    outside, before = OutsideMemory(group, self._library), group.join
                except ClockhandError as error:
                    self._kernel_problem = str(error)
            pager = started_pager(policy, self._planned, self._settings, record=None)
            samples = Samples(pager, stack.enter_context(opened(self._live)))

            def look(seconds: float) -> float:
                if outside is not None:
                    outside.look(seconds, pager.statistics)
                return samples.look(seconds)

            ended, common = self._run_once(
                is_shown=not self.rows,
                before=before,
                look=look,
                **paging(pager, self._program),
            )
            statistics = pager.finish()
        if outside is not None:
            self._outside = self._outside.or_more(outside.most)
        samples.take(ended.seconds, statistics)
        self.notes = self.notes or swap_notes(pager)
        rows = process_rows(statistics, policy, self._program)
        self.warnings += failures(rows)
        self._most_resident_bytes = max(
            self._most_resident_bytes, samples.most_resident_pages * PAGE_BYTES
        )
        self._footprint_bytes = max(
            self._footprint_bytes, int(rows["footprint_pages"].sum()) * PAGE_BYTES
        )
        self.rows.append({**self._row(policy, number, ended, common), **self._paged_counts(rows)})
        if number == 1:
            self.samples += summed_samples(samples.counts(), policy)

    def _paged_counts(self, rows: pl.DataFrame) -> Fields:
        """Return what a row says of the processes of a run under the pager."""
        sums = {name: int(rows[name].sum()) for name in ("misses", "bytes_read", "pages_written")}
        return {
            "policy_resolved": rows["policy_resolved"][0],
            "reserve": self._settings.reserve,
            "faults": sums["misses"],
            # As the kernel counts: with those that were read ahead.
            "pages_read": sums["bytes_read"] // PAGE_BYTES,
            "pages_written": sums["pages_written"],
            "bytes_read": sums["bytes_read"],
            "bytes_written": int(rows["bytes_written"].sum()),
            "zero_pages_not_written": int(rows["zero_pages_not_written"].sum()),
            "processes": rows.height,
            "device_reads": next(iter(device_reads(rows)), None),
            "unpaged_bytes": rows["unpaged_bytes"].max(),
        }

    def _run_in_kernel(self, number: int, tell: Callable[[str], None] | None) -> None:
        try:
            if self._kernel_problem is not None:
                raise ClockhandError(self._kernel_problem)
            if self._settings.swap is None:
                raise ClockhandError(
                    "the kernel needs a drive to swap to",
                    "give " + option("swap") + " FILE, not " + option("swap-in-ram"),
                )
            with (
                memory_group() as group,
                kernel_swap(self._settings.swap, self._swap_bytes(), tell),
            ):
                row = self._swap_in(group, number)
            self.rows.append(row)
        except ClockhandError as error:
            self._kernel_problem = str(error)
            sentence = f"{KERNEL}: {error}"
            if sentence not in self.warnings:
                self.warnings.append(sentence)
            unknown = dict.fromkeys(COMPARISON_SCHEMA)
            self.rows.append({**unknown, "policy": KERNEL, "run": number, "problem": str(error)})

    def _swap_bytes(self) -> int:
        """Return the bytes of the kernel's swap file: the limit, or all that the pager met."""
        limit = self._settings.swap_limit_bytes
        return limit if limit is not None else self._footprint_bytes + SPARE_SWAP_BYTES

    def _swap_in(self, group: MemoryGroup, number: int) -> Fields:
        """Run the program in a group that has the memory of the paged one; return its row."""
        if self._limit_bytes is None:
            paged_bytes = max(self._settings.memory_bytes, self._most_resident_bytes)
            self._limit_bytes = paged_bytes + self._outside.total_bytes
        group.set_limit(self._limit_bytes)
        before = group.swapped()
        moments: Moments[Swapped] = Moments()
        page_cache_bytes = 0

        def look(seconds: float) -> float:
            nonlocal page_cache_bytes
            # This also keeps the counts fresh by which the kernel reclaims, as `swapped` says.
            moments.add(seconds, group.swapped().since(before))
            page_cache_bytes = max(page_cache_bytes, group.page_cache_bytes())
            return moments.next_seconds - seconds

        ended, common = self._run_once(is_shown=False, before=group.join, look=look)
        group.wait_until_empty()
        swapped = group.swapped().since(before)
        moments.add(ended.seconds, swapped)
        if group.kills():
            # The time until the program was killed says nothing of the program.
            raise ClockhandError(
                f"in run {number} the kernel killed the program (out of memory), because "
                f"{bytes_text(self._limit_bytes)} were not enough for what cannot be swapped",
                "give more " + option("memory"),
            )
        if number == 1:
            self.samples += [
                {"policy": KERNEL, "seconds": seconds, **_swap_counts(seen)}
                for seconds, seen in moments.seen
            ]
            self.notes += kernel_notes(
                self._limit_bytes,
                self._outside,
                self._library,
                page_cache_bytes,
                group.version,
                swapped,
                kernel_settings(),
            )
        return {
            **self._row(KERNEL, number, ended, common),
            **_swap_counts(swapped),
            "bytes_read": swapped.pages_read * PAGE_BYTES,
            "bytes_written": swapped.pages_written * PAGE_BYTES,
            "zero_pages_not_written": swapped.zero_pages_written,
            "limit_bytes": self._limit_bytes,
        }

    def _row(self, policy: str, number: int, ended: Ended, common: Record) -> Fields:
        """Return what the rows of all contenders have."""
        return {
            **dict.fromkeys(COMPARISON_SCHEMA),
            "policy": policy,
            "run": number,
            "frames": self._settings.frames,
            "page_bytes": PAGE_BYTES,
            "seconds": ended.seconds,
            "exit_code": ended.exit_code,
            **common,
        }


def _swap_counts(swapped: Swapped) -> dict[str, int]:
    return {
        "faults": swapped.major_faults,
        "pages_read": swapped.pages_read,
        "pages_written": swapped.pages_written,
    }


def summed_samples(samples: pl.DataFrame, policy: str) -> list[Fields]:
    """Return samples of one run with the processes' counts added up, as records."""
    summed = samples.group_by("seconds", maintain_order=True).agg(pl.col(COUNTS).sum())
    return summed.select(
        pl.lit(policy).alias("policy"),
        "seconds",
        pl.col("misses").alias("faults"),
        "pages_read",
        "pages_written",
    ).to_dicts()


def kernel_notes(
    limit_bytes: int,
    outside: Charged,
    library: Charged,
    page_cache_bytes: int,
    version: int,
    swapped: Swapped,
    settings: Mapping[str, str],
) -> list[str]:
    """Return what the kernel's column rests on, a sentence each."""
    parts = (
        f"{bytes_text(outside.anonymous_bytes)} of stacks, data and small mappings, "
        f"{bytes_text(outside.kernel_bytes)} of page tables and other kernel memory"
    )
    notes = [
        f"The kernel's memory cgroup (version {version}) may have {bytes_text(limit_bytes)}: the "
        f"paged memory, {bytes_text(limit_bytes - outside.total_bytes)}, and "
        f"{bytes_text(outside.total_bytes)} for what the program had outside of it at its peak "
        f"under the pager ({parts}); the kernel charges all of these. What Clockhand's own library "
        f"adds to a program, {bytes_text(library.total_bytes)}, is not among it.",
        "Page cache of files that the program reads and writes first is charged to the cgroup too, "
        f"in its first run up to {bytes_text(page_cache_bytes)} at a time, and to no budget under "
        "the pager; program text and other files that earlier runs read are charged to neither.",
        f"The kernel's swap I/O is counted in pages by {swapped.source}.",
        "Its cgroup's counts were read all the time, which keeps those fresh by which it reclaims: "
        "in a small cgroup that nobody watches the same run may take several times as long, or be "
        "killed.",
    ]
    if swapped.zero_pages_written:
        notes.append(
            f"In its first run {swapped.zero_pages_written:,} pages of zeros left and "
            f"{swapped.zero_pages_read:,} came back without I/O, because the kernel remembers "
            "them; they are in neither its reads nor its writes."
        )
    if "vm.page-cluster" in settings:
        ahead = 2 ** int(settings["vm.page-cluster"])
        notes.append(
            f"The kernel reads up to {ahead} neighbouring pages of its swap file per fault "
            f"(vm.page-cluster {settings['vm.page-cluster']}, as found); the pager reads up to 16."
        )
    others = [f"{name} {value}" for name, value in settings.items() if name != "vm.page-cluster"]
    if others:
        notes.append(f"As found on this machine: {', '.join(others)}.")
    return notes
