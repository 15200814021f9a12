"""Simulation: traces are replayed against policies, and every step is priced by a device."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.studies.result import StudyResult
from clockhand.study.calls import asks
from clockhand.study.columns import Schema, kinds, schema
from clockhand.study.records import Fields, Record
from clockhand.study.run import Options as EngineOptions
from clockhand.study.run import Study, called
from clockhand.study.sampling import estimate_note
from clockhand.traces import Traces

if TYPE_CHECKING:
    import polars as pl

    SCHEMA: Schema
    """Names, order and types of the columns of a result; the first eighteen are the contract."""

    GAUGE_SCHEMA: Schema
    """Names, order and types of the columns of gauges: a row per sample of one value."""


def __getattr__(name: str) -> Schema:
    """Return a schema; what is printed by a command needs none, nor the import of its types."""
    if name == "SCHEMA":
        return schema("pages")
    if name == "GAUGE_SCHEMA":
        return schema("pages gauges")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


GAUGES_FILE = "gauges.parquet"
"""File of gauges in the command of the facts; the library gives them as a table."""


class Simulation(StudyResult):
    """The result of :func:`run_simulation`, with the attributes of :class:`~.result.StudyResult`.

    Rows are in the order trace, memory size, policy, with the columns of :data:`SCHEMA`.

    Attributes:
        gauges: The values inside the policies that were sampled, with the columns of
            :data:`GAUGE_SCHEMA`; no rows if none were asked for.
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


def _simulated(
    sources: list[_engine.TraceSource], options: EngineOptions, **running: Any
) -> Fields:
    """Run the engine, and note on traces that their rows are estimates."""
    result = _engine.run("pages", sources, options, **running)
    if options["sample"] is None:
        return result
    notes = [
        estimate_note([row for row in result["rows"] if row["trace"] == trace["name"]])
        for trace in result["traces"]
    ]
    traces = [
        {**trace, "study_notes": [note] if note else []}
        for trace, note in zip(result["traces"], notes, strict=True)
    ]
    return {**result, "traces": traces}


def _ungauged(_: "pl.DataFrame") -> Record:
    return {"gauges": {name: [] for name in ("row", *list(kinds("pages gauges"))[5:])}}


PAGES = Study(
    name="pages",
    command="simulate",
    own_engine=_simulated,
    made=Simulation,
    predicts_windows=True,
    result_of=_ungauged,
)


@asks("pages")
def run_simulation(traces: Traces, **options: object) -> Simulation:
    """Replay traces against policies and keep the facts for a report."""
    is_gauged = options.get("gauge_every") is not None
    return called(PAGES, traces, options, {"gauges": GAUGES_FILE} if is_gauged else None)


@asks("pages")
def simulate(traces: Traces, **options: object) -> "pl.DataFrame":
    """Replay traces against policies; only the rows of :func:`run_simulation`.

    Returns:
        One row per cell, in the order trace, memory size, policy, with the columns of
        :data:`SCHEMA`. All I/Os and evictions are counted in pages, times in microseconds.
    """
    return run_simulation(traces, **options).rows


def _gauges(columns: Record, rows: "pl.DataFrame") -> "pl.DataFrame":
    """Join samples, whose column ``row`` counts result rows from 0, with what their rows are."""
    import polars as pl

    samples = pl.DataFrame(columns, schema_overrides={"row": pl.UInt32})
    gauges = schema("pages gauges")
    about = rows.with_row_index("row").select("row", *list(gauges)[:5])
    joined = samples.join(about, on="row", how="left", maintain_order="left")
    return joined.select(pl.col(name).cast(kind) for name, kind in gauges.items())
