"""Page caches: policies under traces of calls, syncs, truncations, a flusher and reading ahead."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.study.calls import asks
from clockhand.study.columns import schema
from clockhand.study.facts import Facts
from clockhand.study.run import Study, called
from clockhand.traces import Traces

SCHEMA = schema("pagecache")
"""Names, order and types of the columns of a result."""


@dataclass(frozen=True, repr=False)
class PageCacheRun(ReportedRows):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, memory size, policy, with the columns of
            :data:`SCHEMA`.

        facts: Command, version, trace hashes, devices and policies, for a report.

        warnings: What the readers passed over or assumed, one sentence each.

        cells: The same as ``rows``; with ``every`` these are of intervals, and the cells are here.
    """

    rows: pl.DataFrame
    facts: Facts
    warnings: list[str]
    cells: pl.DataFrame

    compared_by = "policy"
    leading = (
        "trace", "policy", "frames", "memory_share", "hit_ratio", "read_ios", "write_ios",
        "io_time_us",
    )  # fmt: skip

    def _answer(self) -> list[str]:
        from clockhand.studies.pagecache.findings import findings

        return findings(self.cells, self.facts)

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.pagecache.report import render

        return render(self.cells, self.facts, highlight, intervals=self.intervals)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.pagecache.charts import OVER_TIME
        from clockhand.studies.pagecache.report import specifications

        figures = specifications(self.cells, self.facts, highlight)
        return figures | OVER_TIME.charts(self.intervals, self.facts)


PAGE_CACHE = Study(
    name="pagecache",
    command="pagecache",
    made=lambda ran: PageCacheRun(ran.rows, ran.facts, ran.warnings, ran.cells),
    predicts_windows=True,
)


@asks("pagecache")
def run_pagecache(traces: Traces, **options: object) -> PageCacheRun:
    """Run policies under traces of events and keep the facts for a report.

    A trace that knows of nothing but reads and writes is taken as accesses of memory; with
    ``first_touch="read"`` it gives the counts of :func:`clockhand.simulate`.
    """
    return called(PAGE_CACHE, traces, options)


@asks("pagecache")
def pagecache(traces: Traces, **options: object) -> pl.DataFrame:
    """Run one page cache for processes and files, as :func:`run_pagecache` does; only the rows.

    Returns:
        One row per cell, in the order trace, memory size, policy, with the columns of
        :data:`SCHEMA`. All I/Os and evictions are counted in pages, times in microseconds.
    """
    return run_pagecache(traces, **options).rows
