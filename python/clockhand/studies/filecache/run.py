"""Runs of file caches: traces before caches of every policy, capacity and admission."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.studies.filecache.findings import BOUND
from clockhand.study.calls import in_python
from clockhand.study.columns import schema
from clockhand.study.facts import Facts
from clockhand.study.options import options_of
from clockhand.study.progress import Watching
from clockhand.study.run import Study, run_study
from clockhand.traces import READING, Reading, Traces

SCHEMA = schema("filecache")
"""Names, order and types of the columns of a result; the first eight are the contract."""

BREAK_EVEN_SCHEMA = schema("break-even")
"""Names, order and types of the columns of :func:`break_even`."""

_DEFAULTS = options_of("filecache")
CACHE_DEVICE = str(_DEFAULTS["cache_device"].default)
"""DRAM as the paper takes it: 50 ns per 64 bytes."""
STACK_SHARE = str(_DEFAULTS["stack_share"].default)

Names = str | Sequence[str]


@dataclass(frozen=True)
class FileCacheRun(ReportedRows):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, block size, capacity, policy, admission, device,
            insertion, with the columns of :data:`SCHEMA`; the bound has one for all admissions.
            Counts are of blocks, times in microseconds.
        facts: Command, version, trace hashes, devices and policies, for a report.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    rows: pl.DataFrame
    facts: Facts
    warnings: list[str]

    leading = (
        "trace", "policy", "admission", "capacity", "device", "hit_ratio", "admitted", "time_us",
        "time_without_cache_us",
    )  # fmt: skip

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.filecache.report import render

        return render(self.rows, self.facts, highlight)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.filecache.report import specifications

        return specifications(self.rows, self.facts, highlight)


def _is_told_already(point: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """The bound has one cell for all admissions."""
    return bool(point["policy"] == BOUND and point["admission"] != options["admission"][0])


FILE_CACHE = Study(
    name="filecache",
    command="filecache",
    engine=_engine.filecache,
    made=lambda ran: FileCacheRun(ran.rows, ran.facts, ran.warnings),
    grid=("page_size", "capacity", "policy", "admission", "device", "insert"),
    page_column="block_bytes",
    repeats=_is_told_already,
)


@in_python(*READING)
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
    reuse: int | None = None,
    insert: Names | os.PathLike[str] | None = None,
    insert_ns: int | None = None,
    stack_share: float | str = STACK_SHARE,
    cache_device: str | os.PathLike[str] = CACHE_DEVICE,
    writes: str = "free",
    flush_at_end: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    watch: Watching = None,
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
            ``"write-around"``; ``"all"`` means these. ``"belady"`` knows the future, and needs
            policy ``"min"``.
        policies: Names with parameters, such as ``"cflru:window_pages=8"``; ``"bound"`` is what no
            cache can do better.
        page_size: Bytes of a block, a power of two, or text such as ``"4KiB"``; several if wanted.
        admit_after: Earlier references that second-touch wants of a block.
        history: Blocks that second-touch remembers, the oldest leave; all if not given.
        forget_on_admit: Whether second-touch forgets a block that enters.
        reuse: How often a block that belady admits is reused before it leaves; as often as caching
            must be hit to pay if not given.
        insert: What inserting a block takes: ``"copy"`` (a hit, the default), ``"half"`` (half a
            hit), ``"storage"`` (a read of storage as fast as memory), or the read of a device;
            several if wanted, ``"all"`` means the three.
        insert_ns: Nanoseconds that inserting a block takes, instead of ``insert``.
        stack_share: What software adds to a reference to the device, in times of a hit.
        cache_device: Where cached blocks are: a device whose read cost is the time of a hit.
        writes: ``"free"`` if writes cost what reads do and dirty blocks leave for nothing (the
            paper's rule), ``"cost"`` for the device's write cost where a block is written to it.
        flush_at_end: Whether dirty blocks are written when the trace ends.
        seed: Seed of policies with random choices, from 0; kept in the facts.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        reading: How traces that are given as paths are read, and which requests of each trace are
            wanted, as :class:`clockhand.traces.Reading` says.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    given = {
        "capacity": capacity,
        "admission": admissions,
        "policy": policies,
        "device": devices,
        "page_size": page_size,
        "admit_after": admit_after,
        "history": history,
        "forget_on_admit": forget_on_admit,
        "reuse": reuse,
        "insert": insert,
        "insert_ns": insert_ns,
        "stack_share": stack_share,
        "cache_device": cache_device,
        "writes": writes,
        "flush_at_end": flush_at_end,
        "seed": seed,
    }
    return run_study(
        FILE_CACHE, traces, given, jobs=jobs, watch=watch, command=command, reading=reading
    )


@in_python()
def break_even(
    devices: Names | os.PathLike[str],
    *,
    page_size: int | Names = 4096,
    insert: Names | os.PathLike[str] | None = None,
    insert_ns: int | None = None,
    stack_share: float | str = STACK_SHARE,
    cache_device: str | os.PathLike[str] = CACHE_DEVICE,
) -> pl.DataFrame:
    """Return after how many hits caching a block pays on devices, whatever the trace.

    Args:
        devices: Names with options, such as ``"scm:ratio=100"``, or TOML files.
        page_size: Bytes of a block, a power of two, or text such as ``"4KiB"``; several if wanted.
        insert: What inserting a block takes, as :func:`filecache` takes it.
        insert_ns: Nanoseconds that inserting a block takes, instead of ``insert``.
        stack_share: What software adds to a reference to the device, in times of a hit.
        cache_device: Where cached blocks are: a device whose read cost is the time of a hit.

    Returns:
        One row per block size, device and insertion, as given, with the columns of
        :data:`BREAK_EVEN_SCHEMA`.

    Raises:
        UsageError: something is unknown or out of range.
    """
    given = {
        "device": devices,
        "page_size": page_size,
        "insert": insert,
        "insert_ns": insert_ns,
        "stack_share": stack_share,
        "cache_device": cache_device,
    }
    return break_even_of(given)


def break_even_of(given: Mapping[str, Any]) -> pl.DataFrame:
    """Return the same for options by the names of the command's; others do not matter."""
    rows = _engine.break_even(FILE_CACHE.options(given))
    return pl.DataFrame(rows, schema=BREAK_EVEN_SCHEMA)
