"""Runs of file caches: traces before caches of every policy, capacity and admission."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.study.calls import arguments, asks, in_python
from clockhand.study.columns import schema
from clockhand.study.facts import Facts
from clockhand.study.options import Names
from clockhand.study.records import Record
from clockhand.study.run import Study, called
from clockhand.traces import Traces

SCHEMA = schema("filecache")
"""Names, order and types of the columns of a result; the first eight are the contract."""

BREAK_EVEN_SCHEMA = schema("break-even")
"""Names, order and types of the columns of :func:`break_even`."""


@dataclass(frozen=True, repr=False)
class FileCacheRun(ReportedRows):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, block size, capacity, policy, admission, device,
            insertion, with the columns of :data:`SCHEMA`; the bound has one for all admissions.
            Counts are of blocks, times in microseconds.

        facts: Command, version, trace hashes, devices and policies, for a report.

        warnings: What the readers passed over or assumed, one sentence each.

        cells: The same as ``rows``; with ``every`` these are of intervals, and the cells are here.
    """

    rows: pl.DataFrame
    facts: Facts
    warnings: list[str]
    cells: pl.DataFrame

    leading = (
        "trace", "policy", "admission", "capacity", "device", "hit_ratio", "admitted", "time_us",
        "time_without_cache_us",
    )  # fmt: skip

    def _answer(self) -> list[str]:
        from clockhand.studies.filecache.findings import findings

        return findings(self.cells, self.facts)

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.filecache.report import render

        return render(self.cells, self.facts, highlight, intervals=self.intervals)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.filecache.charts import OVER_TIME
        from clockhand.studies.filecache.report import specifications

        figures = specifications(self.cells, self.facts, highlight)
        return figures | OVER_TIME.charts(self.intervals, self.facts)


FILE_CACHE = Study(
    name="filecache",
    command="filecache",
    made=lambda ran: FileCacheRun(ran.rows, ran.facts, ran.warnings, ran.cells),
    page_column="block_bytes",
)


@asks("filecache")
def filecache(traces: Traces, **options: object) -> FileCacheRun:
    """Put file caches in front of devices, and return the time of all references with and without.

    Names may be lists with commas, ``all`` or patterns.
    """
    return called(FILE_CACHE, traces, options)


PRICES = ("page_size", "insert", "insert_ns", "stack_share", "cache_device")
"""The options that say after how many hits a block has paid, beside the devices."""


@in_python(*arguments("filecache", PRICES))
def break_even(devices: Names, **options: object) -> pl.DataFrame:
    """Return after how many hits caching a block pays on devices, whatever the trace.

    Args:
        devices: Names with options, such as ``"scm:ratio=100"``, or TOML files.
        options: Block sizes, and what is charged.

    Returns:
        One row per block size, device and insertion, as given, with the columns of
        :data:`BREAK_EVEN_SCHEMA`.

    Raises:
        UsageError: something is unknown or out of range.
    """
    return break_even_of({"device": devices, **options})


def break_even_of(given: Record) -> pl.DataFrame:
    """Return the same for options by the names of the command's; others do not matter."""
    rows = _engine.break_even(FILE_CACHE.options(given))
    return pl.DataFrame(rows, schema=BREAK_EVEN_SCHEMA)
