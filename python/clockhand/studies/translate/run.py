"""Address translation and paging: traces under TLBs, page sizes and memory sizes."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, cast

import polars as pl

from clockhand import _engine
from clockhand.study.columns import schema
from clockhand.study.facts import Facts, equivalent_command
from clockhand.study.limits import MAXIMUM_JOBS, MAXIMUM_SEED, check_range
from clockhand.study.reported import Reported
from clockhand.study.run import reading_warnings, run_facts, trace_facts
from clockhand.study.selections import expanded
from clockhand.traces import Reading, Traces, Watch, reading_options, sources

TRANSLATE_SCHEMA = schema("translate")
"""Names, order and types of the columns of a result."""

PAGE_SIZES = ("512", "1KiB", "2KiB", "4KiB", "8KiB", "16KiB", "32KiB", "64KiB")
"""The SCM paper's page sizes."""
RATIOS = ("1", "10", "100", "1000")
"""How many times slower than memory the SCM paper's storage is."""
MAXIMUM_PREFETCH = 128
MAXIMUM_WALK_LEVELS = 8
MAXIMUM_ENTRIES = 2**20

Listed = int | float | str | Iterable[int] | Iterable[float] | Iterable[str]
"""One value, several, or a text of several with commas between them."""


@dataclass(frozen=True)
class Translation(Reported):
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

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.translate.report import render

        return render(self.rows, self.facts)

    def _pictures(self, folder: Path, highlight: Sequence[str]) -> dict[Path, bytes]:
        from clockhand.studies.translate.report import pictures

        return pictures(self.rows, folder, self.facts)


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
    watch: Watch | None = None,
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
        watch: Called now and then with the progress.
        command: The command line for the facts; the equivalent one if not given.
        reading: How traces that are given as paths are read, and which requests of each trace are
            wanted; see :class:`clockhand.traces.Reading`.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    check_range("--seed", seed, 0, MAXIMUM_SEED)
    check_range("--walk-levels", walk_levels, 1, MAXIMUM_WALK_LEVELS)
    check_range("--walk-cache", walk_cache, 0, MAXIMUM_ENTRIES)
    check_range("--prefetch", prefetch, 0, MAXIMUM_PREFETCH)
    if jobs is not None:
        check_range("--jobs", jobs, 1, MAXIMUM_JOBS)
    if ratio is not None and device is not None:
        raise _engine.UsageError("--ratio and --device both say what storage is; give one of them")
    builtin = [entry["name"] for entry in _engine.devices()]
    devices = [] if device is None else expanded("--device", device, builtin)
    ratios = [] if devices else _items(RATIOS if ratio is None else ratio)
    page_sizes = [_engine.parse_page_bytes(text) for text in _items(page_size)]
    names = [entry["name"] for entry in _engine.policies() if entry["kind"] != "bound"]
    policies = expanded("--policy", policies, names)
    frames, memory = _joined(frames), _joined(memory)
    options: dict[str, Any] = {
        "walk_levels": walk_levels,
        "walk_cache": walk_cache,
        "huge": huge,
        "prefetch": prefetch,
        "no_swap": no_swap,
        "split": split,
        "flush_on_switch": flush_on_switch,
        "t_tlb": str(t_tlb),
        "t_tlb2": str(t_tlb2),
        "t_mem": str(t_mem),
        "fixed_ns": str(fixed_ns),
        "charge_write_back": charge_write_back,
    }
    tlbs, second_tlbs = _items(tlb), _items(tlb2)
    trace_sources = sources(traces, **reading)
    result = _engine.translate(
        trace_sources, policies, page_sizes_bytes=page_sizes, tlb=tlbs, tlb2=second_tlbs,
        frames=frames, memory=memory, ratios=ratios, devices=devices, seed=seed, jobs=jobs,
        watch=watch, **options,
    )  # fmt: skip
    if command is None:
        sizes = {"frames": frames, "memory": memory}
        grid = {"page_size": _joined(page_sizes), "tlb": _joined(tlb), "tlb2": _joined(tlb2)}
        storage = {"ratio": ",".join(ratios) or None, "device": devices, "policy": policies}
        command = equivalent_command(
            "translate",
            [source.name for source in trace_sources],
            {**grid, **sizes, **storage, **options, "seed": seed, **reading_options(reading)},
        )
    rows = pl.DataFrame(result["rows"], schema=TRANSLATE_SCHEMA)
    facts = _facts(result, rows, command, seed, {**options, "jobs": jobs})
    return Translation(rows, facts, reading_warnings(result["traces"]))


def _items(value: Listed | None) -> list[str]:
    """Return the items of a list, also of one that is a text with commas."""
    if value is None:
        return []
    if isinstance(value, str):
        return [item.strip() for item in value.split(",")]
    if isinstance(value, Iterable):
        return [item for part in value for item in _items(str(part))]
    return [str(value)]


def _joined(value: Listed | None) -> str | None:
    return ",".join(_items(value)) or None


def _facts(
    result: Mapping[str, Any],
    rows: pl.DataFrame,
    command: str,
    seed: int,
    options: Mapping[str, Any],
) -> Facts:
    resolved = dict(rows.select("policy", "policy_resolved").unique(keep="first").iter_rows())
    page_bytes = int(rows["page_bytes"][0])
    policies = [{**policy, "resolved": resolved[policy["name"]]} for policy in result["policies"]]
    facts = run_facts(
        command=command,
        seed=seed,
        options=options,
        traces=(trace_facts(trace, page_bytes) for trace in result["traces"]),
        devices=result["devices"],
        policies=policies,
    )
    return cast(Facts, facts)
