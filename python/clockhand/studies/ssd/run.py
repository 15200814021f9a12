"""Write buffers on flash drives: what traces turn into, at the traces' own addresses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.studies.ssd.findings import FAMILY
from clockhand.study.calls import asks
from clockhand.study.columns import schema
from clockhand.study.facts import SsdRunFacts
from clockhand.study.run import Ran, Study, called
from clockhand.traces import Traces

SSD_SCHEMA = schema("ssd")
"""Names, order and types of the columns of a result; the first sixteen are the contract."""

WEAR_SCHEMA: Mapping[str, type[pl.DataType]] = {
    "trace": pl.String,
    "buffer": pl.String,
    "buffer_pages": pl.UInt64,
    "ssd": pl.String,
    "erases": pl.UInt64,
    "blocks": pl.UInt64,
}


@dataclass(frozen=True)
class SsdRun(ReportedRows):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, drive, buffer, with the columns of
            :data:`SSD_SCHEMA`. Counts are of pages, but for batches and erases (blocks).
        wear: How many blocks of each cell's drive were erased how often.
        facts: Command, version, trace hashes, drives and buffers, for a report.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    rows: pl.DataFrame
    wear: pl.DataFrame
    facts: SsdRunFacts
    warnings: list[str]

    compared_by = "buffer"
    leading = (
        "trace", "buffer", "buffer_pages", "ssd", "host_writes", "flash_programs", "erases", "waf",
    )  # fmt: skip

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.ssd.report import render

        return render(self.rows, self.wear, self.facts, highlight)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.ssd.report import specifications

        return specifications(self.rows, self.wear, self.facts, highlight)


def _made(ran: Ran) -> SsdRun:
    return SsdRun(ran.rows, _wear(ran.result["wear"], ran.rows), ran.facts, ran.warnings)


def _worn(rows: pl.DataFrame) -> Mapping[str, Any]:
    """The wear of rows that have it in columns of their own, as the engine's result has it."""
    wear = rows.with_row_index("row").select(
        "row", pl.col("wear_erases").alias("erases"), pl.col("wear_blocks").alias("blocks")
    )
    return {"wear": wear.explode("erases", "blocks").to_dict(as_series=False)}


SSD = Study(
    name="ssd",
    command="ssd",
    made=_made,
    grid=("ssd", "buffer"),
    contender="buffer",
    devices="ssds",
    label=lambda: FAMILY,
    beside=lambda: {"wear_erases": pl.List(pl.UInt32()), "wear_blocks": pl.List(pl.UInt32())},
    result_of=_worn,
)


@asks("ssd")
def run_ssd(traces: Traces, **options: Any) -> SsdRun:
    """Put write buffers in front of flash drives and count what traces turn into.

    Addresses are the trace's own; its streams get ranges of their own that begin with a block.
    """
    return called(SSD, traces, options)


def _wear(columns: Mapping[str, Any], rows: pl.DataFrame) -> pl.DataFrame:
    """Join erase counts, whose column ``row`` counts result rows from 0, with their rows."""
    wear = pl.DataFrame(
        columns, schema={"row": pl.UInt32, "erases": pl.UInt64, "blocks": pl.UInt64}
    )
    about = rows.with_row_index("row").select("row", "trace", "buffer", "buffer_pages", "ssd")
    return wear.join(about, on="row", how="left", maintain_order="left").select(list(WEAR_SCHEMA))
