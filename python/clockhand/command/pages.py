"""``clockhand simulate``: traces against policies, memory sizes and a device."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand import UsageError
from clockhand.command.options import (
    Highlight,
    Jobs,
    Out,
    OutputFormat,
    Plots,
    Report,
    Scratch,
    Traces,
)
from clockhand.command.output import (
    Format,
    check_highlight,
    check_outputs,
    deliver,
    encoded,
    format_for,
    print_table,
    share_text,
)
from clockhand.command.own_policies import with_libraries
from clockhand.command.reading import with_reading
from clockhand.command.study import compared, run_shown, with_options
from clockhand.studies.pages.comparison import (
    SETTING_COLUMNS,
    bracket_sentence,
    io_time_over_bound,
)
from clockhand.studies.pages.run import PAGES
from clockhand.study.facts import Facts, trace_label
from clockhand.study.sampling import estimate_note
from clockhand.traces import Reading

Gauges = Annotated[
    Path | None,
    typer.Option(help="Write the values by which policies adapt to this Parquet or CSV file."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="simulate")(_simulate)


@with_libraries
@with_reading
@with_options("pages", required=("policy",))
def _simulate(
    traces: Traces,
    options: Any,
    gauges: Gauges = None,
    scratch: Scratch = None,
    jobs: Jobs = None,
    format: OutputFormat = None,
    out: Out = None,
    report: Report = None,
    plots: Plots = None,
    highlight: Highlight = None,
    *,
    reading: Reading,
) -> None:
    """Replay traces against policies and price every step with a device."""
    if gauges is None and options["gauge_every"] is not None:
        raise UsageError("--gauge-every needs a file to write to; add --gauges FILE.parquet")
    if gauges is not None and gauges in (out, report):
        raise UsageError(f"--gauges names {gauges}, as another option does; give another name")
    check_outputs(out, report, plots, gauges)
    marked = check_highlight(highlight, compared(PAGES, options), report, plots)
    if gauges is not None and options["gauge_every"] is None:
        options["gauge_every"] = 1
    reading = {**reading, "scratch": scratch}
    simulation = run_shown(PAGES, traces, options, jobs, reading)
    files = simulation.report_files(report, plots, marked)
    if gauges is not None:
        files[gauges] = encoded_gauges(simulation.gauges, gauges)
    print_for_people = partial(print_rows, simulation.rows, simulation.facts)
    deliver(simulation.rows, format, out, print_for_people, files, plots)


def encoded_gauges(gauges: pl.DataFrame, path: Path) -> bytes:
    """Return gauges as written to a file, in the format of its name; Parquet if it has none."""
    format = format_for(None, path)
    return encoded(gauges, Format.PARQUET if format is Format.TABLE else format, lambda _: None)


def print_rows(rows: pl.DataFrame, facts: Facts, console: Console) -> None:
    """Print one table per trace and setting with the columns that people compare."""
    traces = {(trace["name"], trace["page_bytes"]): trace for trace in facts["traces"]}
    settings = [name for name in SETTING_COLUMNS if name in rows.columns]
    varying = [name for name in settings if rows[name].n_unique() > 1]
    groups = rows.partition_by("trace", *settings, as_dict=True, maintain_order=True)
    for (name, *values), group in groups.items():
        trace = traces[name, group["page_bytes"][0]]
        told = [f"device {group['device_resolved'][0]}"]
        told += [
            f"{column} {value}"
            for column, value in zip(settings, values, strict=True)
            if column in varying and column != "device"
        ]
        estimate = estimate_note(group.to_dicts())
        told += [estimate] if estimate else []
        title = (
            f"{trace_label(name, facts)}: {trace['references']:,} references to "
            f"{trace['footprint_pages']:,} pages, {trace['write_references']:,} writes; "
            f"{', '.join(told)}"
        )
        print_table(title, for_people(group), console)
        bracket = bracket_sentence(group)
        if bracket is not None:
            console.print(Text(bracket))
        for heading, summary in summaries_for_people(group).items():
            print_table(f"{heading}, by frames and share of the footprint", summary, console)


def for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of rows of one trace that people compare, with I/O time in seconds.

    ``± s`` is the standard error where the I/O time is an estimate from samples.
    ``vs clock`` is the I/O time over that of CLOCK with the same memory, where CLOCK was run, and
    ``vs bound`` that over the lower bound.
    """
    clock = (
        rows.filter(pl.col("policy_resolved") == "clock:insert_ref=0")
        .unique("frames", keep="first")
        .select("frames", clock_time_us="io_time_us")
    )
    rows = rows.with_columns(io_time_over_bound(rows))
    shown = rows.join(clock, on="frames", how="left", maintain_order="left").select(
        "frames",
        share_text("memory_share").alias("memory"),
        "policy",
        (pl.col("hit_ratio") * 100).round(3).alias("hits %"),
        pl.col("read_ios").alias("read I/Os"),
        pl.col("write_ios").alias("write I/Os"),
        (pl.col("io_time_us") / 1e6).alias("I/O time s"),
        _standard_error(rows).alias("± s"),
        (pl.col("io_time_us") / pl.col("clock_time_us")).alias("vs clock"),
        pl.col("io_time_over_bound").alias("vs bound"),
        (pl.col("energy_uj") / 1e6).alias("energy J"),
    )
    return shown.select(column for column in shown if column.null_count() < len(shown))


def _standard_error(rows: pl.DataFrame) -> pl.Expr:
    """The standard error of the I/O time in seconds; rows of datasets have none."""
    if "io_time_us_standard_error" not in rows.columns:
        return pl.lit(None, pl.Float64)
    return pl.col("io_time_us_standard_error") / 1e6


SUMMARY_SIZES = 12
"""Memory sizes that fit side by side on a terminal."""


def summaries_for_people(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return tables by title, each with a line per policy and a column per memory size.

    They hold the I/O times of rows of one trace and, where the bound was computed, how many times
    its I/O time each policy takes. There are none where they would say nothing more than the rows,
    or not fit on a terminal.
    """
    cells = rows.with_columns(io_time_over_bound(rows)).unique(
        ["policy", "frames"], keep="first", maintain_order=True
    )
    if cells["policy"].n_unique() == 1 or not 2 <= cells["frames"].n_unique() <= SUMMARY_SIZES:
        return {}
    size = pl.format("{}\n{}", "frames", share_text("memory_share")).alias("size")

    def by_size(value: pl.Expr) -> pl.DataFrame:
        known = cells.select("policy", size, value.alias("value")).drop_nulls()
        return known.pivot("size", index="policy", values="value")

    summaries = {"I/O time s": by_size(pl.col("io_time_us") / 1e6)}
    if cells["io_time_over_bound"].null_count() < cells.height:
        summaries["I/O time over the lower bound"] = by_size(pl.col("io_time_over_bound"))
    return summaries
