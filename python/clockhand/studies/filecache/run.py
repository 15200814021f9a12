"""Runs of file caches: traces before caches of every policy, capacity and admission."""

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

SCHEMA = schema("filecache")
"""Names, order and types of the columns of a result; the first eight are the contract."""

BREAK_EVEN_SCHEMA = schema("break-even")
"""Names, order and types of the columns of :func:`break_even`."""

ADMISSIONS = ("always", "second-touch", "tinylfu", "write-around")
CACHE_DEVICE = "scm:ratio=1"
"""DRAM as the paper takes it: 50 ns per 64 bytes."""
STACK_SHARE = "0.3"
MAXIMUM_ADMIT_AFTER = 2**32 - 1
MAXIMUM_HISTORY = 2**32 - 1
MAXIMUM_INSERT_NS = 10**12

Names = str | Sequence[str]


@dataclass(frozen=True)
class FileCacheRun(Reported):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, block size, capacity, policy, admission, device,
            with the columns of :data:`SCHEMA`. Counts are of blocks, times in microseconds.
        facts: Command, version, trace hashes, devices and policies, for a report.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    rows: pl.DataFrame
    facts: Facts
    warnings: list[str]

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.filecache.report import render

        return render(self.rows, self.facts, highlight)

    def _pictures(self, folder: Path, highlight: Sequence[str]) -> dict[Path, bytes]:
        from clockhand.studies.filecache.report import pictures

        return pictures(self.rows, folder, self.facts, highlight)


def filecache(
    traces: Traces,
    *,
    capacity: int | str | Iterable[int | str],
    devices: Names | os.PathLike[str],
    admissions: Names = "always",
    policies: Names = "lru",
    page_size: int | Names = 4096,
    admit_after: int = 1,
    history: int | None = None,
    forget_on_admit: bool = False,
    insert_ns: int | None = None,
    stack_share: float | str = STACK_SHARE,
    cache_device: str | os.PathLike[str] = CACHE_DEVICE,
    writes: str = "free",
    flush_at_end: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    watch: Watch | None = None,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> FileCacheRun:
    """Put file caches in front of devices, and return the time of all references with and without.

    Names may be lists with commas, ``all`` or patterns.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        capacity: How much the cache holds: blocks (``64``, also ``0``), shares of the footprint
            (``"5%"``, ``"5%..100%"``) or sizes (``"64MiB"``).
        devices: Names with options, such as ``"scm:ratio=100"``, or TOML files.
        admissions: Which misses enter the cache: ``"always"``, ``"second-touch"``, ``"tinylfu"``,
            ``"write-around"``.
        policies: Names with parameters, such as ``"cflru:window_pages=8"``.
        page_size: Bytes of a block, a power of two, or text such as ``"4KiB"``; several if wanted.
        admit_after: Earlier references that second-touch wants of a block.
        history: Blocks that second-touch remembers, the oldest leave; all if not given.
        forget_on_admit: Whether second-touch forgets a block that enters.
        insert_ns: Nanoseconds that inserting a block takes; half the time of a hit if not given.
        stack_share: What software adds to a reference to the device, in times of a hit.
        cache_device: Where cached blocks are: a device whose read cost is the time of a hit.
        writes: ``"free"`` if writes cost what reads do and dirty blocks leave for nothing (the
            paper's rule), ``"cost"`` for the device's write cost where a block is written to it.
        flush_at_end: Whether dirty blocks are written when the trace ends.
        seed: Seed of policies with random choices, from 0; kept in the facts.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress.
        command: The command line for the facts; the equivalent one if not given.
        reading: How traces that are given as paths are read, and which requests of each trace are
            wanted, as :class:`clockhand.traces.Reading` says.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    check_range("--seed", seed, 0, MAXIMUM_SEED)
    check_range("--admit-after", admit_after, 0, MAXIMUM_ADMIT_AFTER)
    if history is not None:
        check_range("--history", history, 1, MAXIMUM_HISTORY)
    if jobs is not None:
        check_range("--jobs", jobs, 1, MAXIMUM_JOBS)
    page_sizes = _page_sizes(page_size)
    names: dict[str, Any] = {
        "capacity": _capacity_text(capacity),
        "admission": expanded("--admission", admissions, ADMISSIONS),
        "policy": expanded("--policy", policies, _policy_names()),
        "device": _device_names(devices),
    }
    options: dict[str, Any] = {
        "admit_after": admit_after,
        "history": history,
        "forget_on_admit": forget_on_admit,
        **_costs(cache_device, stack_share, insert_ns),
        "writes": writes,
        "flush_at_end": flush_at_end,
    }
    trace_sources = sources(traces, **reading)
    result = _engine.filecache(
        trace_sources,
        names["policy"],
        capacity=names["capacity"],
        admissions=names["admission"],
        devices=names["device"],
        page_sizes_bytes=page_sizes,
        seed=seed,
        jobs=jobs,
        watch=watch,
        **options,
    )
    if command is None:
        settings = {**names, "page_size": page_sizes, **options, "seed": seed}
        paths = [source.name for source in trace_sources]
        command = equivalent_command("filecache", paths, {**settings, **reading_options(reading)})
    rows = pl.DataFrame(result["rows"], schema=SCHEMA)
    facts = _facts(result, rows, command, page_sizes[0], seed, {**options, "jobs": jobs})
    return FileCacheRun(rows, facts, reading_warnings(result["traces"]))


def break_even(
    devices: Names | os.PathLike[str],
    *,
    page_size: int | Names = 4096,
    insert_ns: int | None = None,
    stack_share: float | str = STACK_SHARE,
    cache_device: str | os.PathLike[str] = CACHE_DEVICE,
) -> pl.DataFrame:
    """Return after how many hits caching a block pays on devices, whatever the trace.

    The arguments are those of :func:`filecache`.

    Returns:
        One row per block size and device, as given, with the columns of :data:`BREAK_EVEN_SCHEMA`.

    Raises:
        UsageError: something is unknown or out of range.
    """
    costs = _costs(cache_device, stack_share, insert_ns)
    rows = _engine.break_even(_device_names(devices), _page_sizes(page_size), **costs)
    return pl.DataFrame(rows, schema=BREAK_EVEN_SCHEMA)


def _costs(
    cache_device: str | os.PathLike[str], stack_share: float | str, insert_ns: int | None
) -> dict[str, Any]:
    if insert_ns is not None:
        check_range("--insert-ns", insert_ns, 0, MAXIMUM_INSERT_NS)
    return {
        "cache_device": os.fspath(cache_device),
        "stack_share": str(stack_share),
        "insert_ns": insert_ns,
    }


def _page_sizes(page_size: int | Names) -> list[int]:
    texts = [str(page_size)] if isinstance(page_size, int | str) else page_size
    return [_engine.parse_page_bytes(size) for text in texts for size in text.split(",")]


def _capacity_text(capacity: int | str | Iterable[int | str]) -> str:
    if isinstance(capacity, int | str):
        return str(capacity)
    return ",".join(str(item) for item in capacity)


def _policy_names() -> list[str]:
    return [policy["name"] for policy in _engine.policies() if policy["kind"] != "bound"]


def _device_names(devices: Names | os.PathLike[str]) -> list[str]:
    return expanded("--device", devices, [device["name"] for device in _engine.devices()])


def _facts(
    result: Mapping[str, Any],
    rows: pl.DataFrame,
    command: str,
    page_bytes: int,
    seed: int,
    options: Mapping[str, Any],
) -> Facts:
    resolved = dict(rows.select("policy", "policy_resolved").unique(keep="first").iter_rows())
    facts = run_facts(
        command=command,
        seed=seed,
        options=options,
        traces=(trace_facts(trace, page_bytes) for trace in result["traces"]),
        devices=list({device["name"]: device for device in result["devices"]}.values()),
        policies=[
            {**policy, "resolved": resolved[policy["name"]]}
            for policy in {policy["name"]: policy for policy in result["policies"]}.values()
        ],
    )
    return cast(Facts, facts)
