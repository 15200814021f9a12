"""The log of a run in the simulator."""

from pathlib import Path

import polars as pl

from clockhand import _engine
from clockhand.studies.programs.options import PAGE_BYTES, ProgramSettings
from clockhand.studies.programs.rows import RUN_SCHEMA, SIMULATED
from clockhand.study.progress import Watch
from clockhand.study.records import Fields, Record
from clockhand.study.run import trace_facts
from clockhand.traces import Trace, sources

MOST_SIMULATED = 32
"""The most processes that are simulated, by references: each is a pass over the log."""


def replayed(
    rows: pl.DataFrame, log: Path, settings: ProgramSettings, is_kept: bool, watch: Watch | None
) -> tuple[pl.DataFrame, list[Record], list[str]]:
    """Add what the simulator counts on the log; facts about the log; and what was left out."""
    chosen = rows.filter(pl.col("references") > 0).top_k(MOST_SIMULATED, by="references")
    counts: list[Fields] = []
    traces: list[Record] = []
    for row in chosen.sort("stream").iter_rows(named=True):
        counted: Fields = {"stream": row["stream"]}
        of_process = sources(Trace(log, format="parquet", streams=[row["stream"]]))
        for bits in (row["bits"], "exact"):
            simulation = _engine.run(
                "pages",
                of_process,
                {"policy": [row["policy_resolved"]], "bits": bits, **settings.simulated(row)},
                jobs=None,
                watch=watch,
            )
            (result,) = simulation["rows"]
            counted |= {f"{bits}_{name}": result[name] for name in SIMULATED}
        place = f"{log.name}, stream {row['stream']}" if is_kept else "log"
        name = f"{place}: {row['name']} (process {row['process']})"
        traces.append({**trace_facts(simulation["traces"][0], PAGE_BYTES), "name": name})
        counts.append(counted)
    left_out = rows.filter(pl.col("references") > 0).height - chosen.height
    notes = []
    if left_out:
        notes.append(
            f"The simulator replayed the {MOST_SIMULATED} processes with the most references; "
            f"{left_out:,} others were left out."
        )
    if not counts:
        return rows, traces, notes
    simulated = pl.DataFrame(counts, schema_overrides={"stream": pl.UInt64})
    names = [name for name in simulated.columns if name != "stream"]
    joined = rows.drop(names).join(simulated, on="stream", how="left", maintain_order="left")
    return (
        joined.select(pl.col(name).cast(kind) for name, kind in RUN_SCHEMA.items()),
        traces,
        notes,
    )
