"""What a simulation gives: rows, and the values inside policies that were sampled."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from clockhand.report.canvas import Spec
from clockhand.studies.result import StudyResult
from clockhand.study.columns import kinds, schema
from clockhand.study.records import Record

if TYPE_CHECKING:
    import polars as pl


class Simulation(StudyResult):
    """The result of :func:`run_simulation`, with the attributes of :class:`~.result.StudyResult`.

    Rows are in the order trace, memory size, policy. All I/Os and evictions are counted in pages,
    times in microseconds.

    Attributes:
        gauges: The values inside the policies that were sampled; no rows if none were asked for.
    """

    compared_by = "policy"
    leading = (
        "trace", "policy", "frames", "memory_share", "hit_ratio", "read_ios", "write_ios",
        "io_time_us",
    )  # fmt: skip

    @cached_property
    def gauges(self) -> "pl.DataFrame":
        return _gauges(self._ran.result["gauges"], self.cells)

    def _answer(self) -> list[str]:
        from clockhand.studies.pages.findings import finding
        from clockhand.studies.pages.sections import sections

        return [finding(section).lead for section in sections(self.cells, self.facts)]

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.pages.charts import OVER_TIME, specifications

        figures = specifications(self.cells, self.facts, highlight)
        return figures | OVER_TIME.charts(self.intervals, self.facts)


def without_gauges(_: "pl.DataFrame") -> Record:
    """Return the engine's gauges of rows that nobody sampled."""
    return {"gauges": {name: [] for name in ("row", *list(kinds("pages gauges"))[5:])}}


def _gauges(columns: Record, rows: "pl.DataFrame") -> "pl.DataFrame":
    """Join samples, whose column ``row`` counts result rows from 0, with what their rows are."""
    import polars as pl

    samples = pl.DataFrame(columns, schema_overrides={"row": pl.UInt32})
    gauges = schema("pages gauges")
    about = rows.with_row_index("row").select("row", *list(gauges)[:5])
    joined = samples.join(about, on="row", how="left", maintain_order="left")
    return joined.select(pl.col(name).cast(kind) for name, kind in gauges.items())
