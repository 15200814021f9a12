"""Page caches: policies under traces of calls, syncs, truncations, a flusher and reading ahead."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Required, Unpack

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.study.calls import in_python
from clockhand.study.columns import schema
from clockhand.study.facts import Facts
from clockhand.study.progress import Watching
from clockhand.study.run import Study, run_study
from clockhand.traces import READING, Reading, Traces

SCHEMA = schema("pagecache")
"""Names, order and types of the columns of a result."""


@dataclass(frozen=True)
class PageCacheRun(ReportedRows):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, memory size, policy, with the columns of
            :data:`SCHEMA`.
        facts: Command, version, trace hashes, devices and policies, for a report.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    rows: pl.DataFrame
    facts: Facts
    warnings: list[str]

    compared_by = "policy"
    leading = (
        "trace", "policy", "frames", "memory_share", "hit_ratio", "read_ios", "write_ios",
        "io_time_us",
    )  # fmt: skip

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.pagecache.report import render

        return render(self.rows, self.facts, highlight)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.pagecache.report import specifications

        return specifications(self.rows, self.facts, highlight)


PAGE_CACHE = Study(
    name="pagecache",
    command="pagecache",
    engine=_engine.run_pagecache,
    made=lambda ran: PageCacheRun(ran.rows, ran.facts, ran.warnings),
    grid=("frames|memory", "policy"),
    predicts_windows=True,
)


class Options(Reading, total=False):
    """What :func:`run_pagecache` takes besides traces, and means by it."""

    policies: Required[str | Sequence[str]]
    frames: int | str | Iterable[int] | None
    memory: str | float | Iterable[str | float] | None
    page_size: int | str
    device: str | os.PathLike[str]
    file_device: str | os.PathLike[str] | None
    first_touch: str
    zero_clean: str
    flush_every: str | None
    flush_age: str | None
    dirty_limit: str | float | None
    read_ahead: str
    flush_at_end: bool
    seed: int
    jobs: int | None
    watch: Watching
    command: str | None


@in_python(*READING)
def run_pagecache(
    traces: Traces,
    *,
    policies: str | Sequence[str],
    frames: int | str | Iterable[int] | None = None,
    memory: str | float | Iterable[str | float] | None = None,
    page_size: int | str = 4096,
    device: str | os.PathLike[str] = "slc-nand",
    file_device: str | os.PathLike[str] | None = None,
    first_touch: str = "zero",
    zero_clean: str = "drop",
    flush_every: str | None = None,
    flush_age: str | None = None,
    dirty_limit: str | float | None = None,
    read_ahead: str = "none",
    flush_at_end: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> PageCacheRun:
    """Run policies under traces of events and keep the facts for a report.

    A trace that knows of nothing but reads and writes is taken as accesses of memory; with
    ``first_touch="read"`` it gives the counts of :func:`clockhand.simulate`.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        policies: Names with parameters, such as ``"cflru:window_share=1/4"``.
        frames: Memory sizes in page frames, at least 1.
        memory: Memory sizes as shares of the footprint or in bytes; give this or ``frames``.
        page_size: Bytes, a power of two, or text such as ``"4KiB"``.
        device: What anonymous pages stand on: a name with options, or a TOML file.
        file_device: What files stand on; ``device`` if not given.
        first_touch: ``"zero"``, or ``"read"`` if every miss on anonymous memory reads.
        zero_clean: ``"drop"``: an anonymous page that was never written is zero again when it
            comes back; ``"read"``: it is read.
        flush_every: When the flusher runs: ``"5s"`` of trace time or ``"1000r"`` references; there
            is none if not given.
        flush_age: How long a page of a file must have been dirty to be written, in the same unit;
            0 if not given.
        dirty_limit: The share of the frames that dirty pages of files may have after a run of the
            flusher, such as ``"1/4"``; no limit if not given.
        read_ahead: ``"none"``, or ``"file:MIN-MAX"`` and ``"swap:N"`` with a comma between.
        flush_at_end: Whether dirty pages, of files and of memory, are written when the trace ends.
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
        "policy": policies,
        "frames": frames,
        "memory": memory,
        "page_size": page_size,
        "device": device,
        "file_device": file_device,
        "first_touch": first_touch,
        "zero_clean": zero_clean,
        "flush_every": flush_every,
        "flush_age": flush_age,
        "dirty_limit": dirty_limit,
        "read_ahead": read_ahead,
        "flush_at_end": flush_at_end,
        "seed": seed,
    }
    return run_study(
        PAGE_CACHE, traces, given, jobs=jobs, watch=watch, command=command, reading=reading
    )


@in_python(Options, like=run_pagecache)
def pagecache(traces: Traces, **options: Unpack[Options]) -> pl.DataFrame:
    """Run one page cache for processes and files, as :func:`run_pagecache` does; only the rows.

    Returns:
        One row per cell, in the order trace, memory size, policy, with the columns of
        :data:`SCHEMA`. All I/Os and evictions are counted in pages, times in microseconds.
    """
    return run_pagecache(traces, **options).rows
