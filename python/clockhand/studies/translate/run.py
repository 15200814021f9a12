"""Address translation and paging: traces under TLBs, page sizes and memory sizes."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Unpack

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.study.calls import in_python
from clockhand.study.columns import schema
from clockhand.study.facts import Facts
from clockhand.study.options import options_of
from clockhand.study.progress import Watching
from clockhand.study.run import Options, Study, run_study
from clockhand.traces import READING, Reading, Traces

PAGE_SIZES = tuple(str(options_of("translate")["page_size"].default).split(","))
"""The SCM paper's page sizes."""
RATIOS = ("1", "10", "100", "1000")
"""How many times slower than memory the SCM paper's storage is."""


def _with_storage(options: Options) -> Options:
    """Storage is the SCM paper's where none is given."""
    is_given = options["ratio"] or options["device"]
    return options if is_given else {**options, "ratio": list(RATIOS)}


TRANSLATE_SCHEMA = schema("translate")
"""Names, order and types of the columns of a result."""

Listed = int | float | str | Iterable[int] | Iterable[float] | Iterable[str]
"""One value, several, or a text of several with commas between them."""


@dataclass(frozen=True)
class Translation(ReportedRows):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, page size, memory size, policy, TLB, storage,
            with the columns of :data:`TRANSLATE_SCHEMA`. Times are means per reference in
            nanoseconds.
        facts: Command, version, trace hashes, devices and policies, for a report.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    rows: pl.DataFrame
    facts: Facts
    warnings: list[str]

    leading = (
        "trace", "page_bytes", "tlb_entries", "frames", "storage_ratio", "device", "tlb_misses",
        "page_faults", "amat_ns",
    )  # fmt: skip

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.translate.report import render

        return render(self.rows, self.facts)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.translate.report import specifications

        return specifications(self.rows, self.facts)


TRANSLATE = Study(
    name="translate",
    command="translate",
    engine=_engine.translate,
    made=lambda ran: Translation(ran.rows, ran.facts, ran.warnings),
    grid=("page_size", "frames|memory", "policy", "tlb", "tlb2", "ratio|device"),
    completed=_with_storage,
)


@in_python(*READING)
def translate(
    traces: Traces,
    *,
    page_size: Listed = PAGE_SIZES,
    tlb: Listed = "64",
    tlb2: Listed | None = None,
    frames: Listed | None = None,
    memory: Listed | None = None,
    ratio: Listed | None = None,
    device: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    policies: str | Sequence[str] = "clock",
    walk_levels: int = 1,
    walk_cache: int = 0,
    huge: str | None = None,
    prefetch: int = 0,
    no_swap: bool = False,
    split: bool = False,
    flush_on_switch: bool = False,
    t_tlb: float | str = 1,
    t_tlb2: float | str = 7,
    t_mem: float | str = 50,
    fixed_ns: float | str = 0,
    charge_write_back: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> Translation:
    """Translate every address of traces and page the memory behind, for a grid of cells.

    Every list is a dimension of the grid; one reading of each trace serves all cells.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths. A request is one reference, to
            the page of its first byte. Each stream is an address space of its own.
        page_size: Bytes, powers of two, such as ``"512,4KiB"``.
        tlb: Entries, ways and replacement: ``"64"`` (fully associative, LRU), ``"64/4:plru"``;
            also ``fifo`` and ``random``. Ways must divide the entries.
        tlb2: A second level, such as ``"1536/12"``, replaced as the first; none for 0.
        frames: Memory sizes in page frames, at least 1.
        memory: Memory sizes as shares of the footprint (``"5%"``) or in bytes (``"64MiB"``). Give
            either this or ``frames``.
        ratio: How many times slower than memory storage is, such as ``"1,10,100,1000"``, which it
            is if neither this nor ``device`` is given.
        device: Storage as devices, such as ``"slc-nand"``, instead of ``ratio``.
        policies: Policies of memory, such as ``"clock,craw:c=8"``.
        walk_levels: Levels of the page table, from 1 to 8; x86-64 has 4.
        walk_cache: Upper entries of page tables that are cached, least recently used first out.
        huge: Size of a huge page, and the share of its pages that must be in memory for it to
            become one: ``"2MiB"``, ``"2MiB:1/2"``.
        prefetch: How many pages behind one that faults come with it, from 0 to 128.
        no_swap: Nothing is evicted; the stream that was not referenced for longest is killed.
        split: A request is one reference to each page that it touches.
        flush_on_switch: A reference of another stream finds TLBs and walk cache empty.
        t_tlb: Nanoseconds of a look-up in the first level; decimals are exact as text.
        t_tlb2: The same of the second level.
        t_mem: Nanoseconds of a memory access of 64 bytes.
        fixed_ns: Nanoseconds of a page fault besides moving the page.
        charge_write_back: Whether pages that are written back cost time.
        seed: Seed of policies and TLBs with random choices, from 0.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        reading: How traces that are given as paths are read, and which requests of each trace are
            wanted; see :class:`clockhand.traces.Reading`.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    given = {
        "page_size": page_size,
        "tlb": tlb,
        "tlb2": tlb2,
        "frames": frames,
        "memory": memory,
        "ratio": ratio,
        "device": device,
        "policy": policies,
        "walk_levels": walk_levels,
        "walk_cache": walk_cache,
        "huge": huge,
        "prefetch": prefetch,
        "no_swap": no_swap,
        "split": split,
        "flush_on_switch": flush_on_switch,
        "t_tlb": t_tlb,
        "t_tlb2": t_tlb2,
        "t_mem": t_mem,
        "fixed_ns": fixed_ns,
        "charge_write_back": charge_write_back,
        "seed": seed,
    }
    return run_study(
        TRANSLATE, traces, given, jobs=jobs, watch=watch, command=command, reading=reading
    )
