"""Write buffers on flash drives: what traces turn into, at the traces' own addresses."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.studies.ssd.findings import FAMILY
from clockhand.study.calls import in_python
from clockhand.study.columns import schema
from clockhand.study.facts import SsdRunFacts
from clockhand.study.progress import Watching
from clockhand.study.run import Ran, Study, run_study
from clockhand.traces import READING, Reading, Traces

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
    engine=_engine.run_ssd,
    made=_made,
    grid=("ssd", "buffer"),
    contender="buffer",
    devices="ssds",
    label=lambda: FAMILY,
    beside=lambda: {"wear_erases": pl.List(pl.UInt32()), "wear_blocks": pl.List(pl.UInt32())},
    result_of=_worn,
)


@in_python(*READING)
def run_ssd(
    traces: Traces,
    *,
    buffers: str | Sequence[str],
    ssds: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = "dnv-textbook",
    precondition: str = "fill",
    map: str = "original",
    drain: bool = False,
    repeat: int | str = 1,
    endurance: int | None = None,
    seed: int = 0,
    timed: bool = False,
    arrivals: str = "trace",
    clamp_times: bool = False,
    latencies: str | os.PathLike[str] | None = None,
    every: str | None = None,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> SsdRun:
    """Put write buffers in front of flash drives and count what traces turn into.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths. Addresses are the trace's own;
            its streams get ranges of their own that begin with a block.
        buffers: Names with their size and parameters, such as
            ``"clock-dnv:total=16MiB,dram_share=0.1"``. ``total`` is in pages, bytes with a unit or
            a share of the trace's footprint (``"10%"``).
        ssds: Drives with options, such as ``"dnv-textbook:size=8GiB"``, or TOML files.
        precondition: How drives are aged: ``"fill"``, ``"random:N"`` (filled, then N drive writes),
            ``"random"`` (until steady) or ``"none"``.
        map: Where addresses beyond a drive's end go: ``"original"`` refuses them, ``"wrap"`` takes
            blocks modulo the drive's, ``"compact"`` numbers the touched blocks.
        drain: Whether dirty pages are written when the trace ends.
        repeat: How often each trace is run, one time after the other; or ``"until-steady"``: until
            the write amplification of a drive write differs by less than 1 % from that of the one
            before, for at most 100 of them. Counts are of all repetitions together.
        endurance: Erases that a block endures; the profile's if not given.
        seed: Seed of ageing and of victim rules with random choices, from 0.
        timed: Whether every operation is timed: latencies, throughput and utilisation beside the
            counts. The drive's read, program and erase times are needed; ``buffers="none"`` is
            possible. The four arguments below are of timed runs only.
        arrivals: How requests arrive: ``"trace"`` (when it says), ``"trace:SPEED"`` (so many times
            as fast), ``"rate:X"`` (X a second) or ``"closed:Q"`` (Q on their way at any time).
        clamp_times: Whether a time below the one before becomes that, instead of an error.
        latencies: A file, ``.parquet`` or ``.csv``, that gets a row per request with what it waited
            for.
        every: A span such as ``"10ms"``: a row per window of time instead of one per run.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        reading: How traces that are given as paths are read, and which requests of each trace are
            wanted; see :class:`clockhand.traces.Reading`.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace or a drive's file cannot be read.
    """
    given = {
        "buffer": buffers,
        "ssd": ssds,
        "precondition": precondition,
        "map": map,
        "drain": drain,
        "repeat": repeat,
        "endurance": endurance,
        "seed": seed,
        "timed": timed,
        "arrivals": arrivals,
        "clamp_times": clamp_times,
        "latencies": None if latencies is None else os.fspath(latencies),
        "every": every,
    }
    return run_study(SSD, traces, given, jobs=jobs, watch=watch, command=command, reading=reading)


def _wear(columns: Mapping[str, Any], rows: pl.DataFrame) -> pl.DataFrame:
    """Join erase counts, whose column ``row`` counts result rows from 0, with their rows."""
    wear = pl.DataFrame(
        columns, schema={"row": pl.UInt32, "erases": pl.UInt64, "blocks": pl.UInt64}
    )
    about = rows.with_row_index("row").select("row", "trace", "buffer", "buffer_pages", "ssd")
    return wear.join(about, on="row", how="left", maintain_order="left").select(list(WEAR_SCHEMA))
