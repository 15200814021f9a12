"""Simulation: traces are replayed against policies, and every step is priced by a device."""

from typing import TYPE_CHECKING, Any

from clockhand import _engine
from clockhand.studies.pages.result import Simulation, without_gauges
from clockhand.study.calls import asks
from clockhand.study.columns import Schema, schema
from clockhand.study.records import Fields
from clockhand.study.run import Options as EngineOptions
from clockhand.study.run import Study, called
from clockhand.study.sampling import estimate_note
from clockhand.traces import Traces

if TYPE_CHECKING:
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


PAGES = Study(
    name="pages",
    command="simulate",
    own_engine=_simulated,
    made=Simulation,
    predicts_windows=True,
    result_of=without_gauges,
)


@asks("pages")
def run_simulation(traces: Traces, **options: object) -> Simulation:
    """Replay traces against policies and keep the facts for a report."""
    is_gauged = options.get("gauge_every") is not None
    return called(PAGES, traces, options, {"gauges": GAUGES_FILE} if is_gauged else None)
