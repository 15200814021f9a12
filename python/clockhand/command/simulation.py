"""``clockhand simulate``: traces against policies, memory sizes and a device."""

from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from clockhand import UsageError
from clockhand.command.output import (
    Format,
    command_line,
    encoded,
    format_for,
    print_table,
    say,
    write_rows,
)
from clockhand.command.progress import shown_progress
from clockhand.facts import SETTING_COLUMNS, Facts
from clockhand.files import check_places, publish
from clockhand.simulation import run_simulation

Traces = Annotated[
    list[str], typer.Argument(help="Trace files, compressed or not; - is standard input.")
]
Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        help="NAME or NAME:parameter=value,...; give the option once per policy. "
        "See: clockhand policies.",
    ),
]
Frames = Annotated[str | None, typer.Option(help="Page frames, such as 64,128.")]
Memory = Annotated[
    str | None,
    typer.Option(help="Shares of the footprint or sizes, such as 5%,20%,64MiB or 1%..100%."),
]
PageSize = Annotated[str, typer.Option(help="Page size in bytes, a power of two.")]
Device = Annotated[
    str, typer.Option(help="NAME[:option=value,...] or FILE.toml. See: clockhand devices.")
]
Bits = Annotated[
    str, typer.Option(help="exact: every hit sets its bit; mapped: as real memory shows it.")
]
WriteMiss = Annotated[
    str, typer.Option(help="fetch: a write fault reads the page; blind: it reads nothing.")
]
FlushAtEnd = Annotated[
    bool, typer.Option("--flush-at-end", help="Write dirty pages when the trace ends.")
]
Seed = Annotated[int, typer.Option(help="Seed of policies with random choices, from 0.")]
Jobs = Annotated[int | None, typer.Option(help="Threads, from 1 to 1024; all cores if not given.")]
OutputFormat = Annotated[
    Format | None,
    typer.Option("--format", help="How rows are written; table, or as the file's name ends."),
]
Out = Annotated[Path | None, typer.Option(help="Write the rows to this file.")]
Report = Annotated[Path | None, typer.Option(help="Write a self-contained HTML report.")]
Plots = Annotated[Path | None, typer.Option(help="Write the figures as SVG and PNG.")]
TraceFormat = Annotated[
    str | None, typer.Option(help="Format of the traces. See: clockhand formats.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="simulate")(_simulate)


def _simulate(
    traces: Traces,
    policy: Policies,
    frames: Frames = None,
    memory: Memory = None,
    page_size: PageSize = "4KiB",
    device: Device = "slc-nand",
    bits: Bits = "exact",
    write_miss: WriteMiss = "fetch",
    flush_at_end: FlushAtEnd = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    format: OutputFormat = None,
    out: Out = None,
    report: Report = None,
    plots: Plots = None,
    trace_format: TraceFormat = None,
) -> None:
    """Replay traces against policies and price every step with a device."""
    if out is not None and out == report:
        raise UsageError(f"--out and --report both name {out}; give them different names")
    check_places([path for path in (out, report) if path is not None], folder=plots)
    with shown_progress() as watch:
        simulation = run_simulation(
            traces,
            policies=policy,
            frames=frames,
            memory=memory,
            page_size=page_size,
            device=device,
            bits=bits,
            write_miss=write_miss,
            flush_at_end=flush_at_end,
            seed=seed,
            jobs=jobs,
            trace_format=trace_format,
            watch=watch,
            command=command_line(),
        )
    for warning in simulation.warnings:
        say(warning)
    rows, written_as = simulation.rows, format_for(format, out)
    print_for_people = partial(print_rows, rows, simulation.facts)
    files = simulation.report_files(report, plots)
    if out is not None:
        files[out] = encoded(rows, written_as, print_for_people)
    publish(files, folder=plots)
    if out is None:
        write_rows(rows, written_as, print_for_people)


def print_rows(rows: pl.DataFrame, facts: Facts, console: Console) -> None:
    """Print one table per trace and setting with the columns that people compare."""
    traces = {(trace["name"], trace["page_bytes"]): trace for trace in facts["traces"]}
    settings = [name for name in SETTING_COLUMNS if name in rows.columns]
    varying = [name for name in settings if rows[name].n_unique() > 1]
    groups = rows.partition_by("trace", *settings, as_dict=True, maintain_order=True)
    for (name, *values), group in groups.items():
        trace = traces[name, group["page_bytes"][0]]
        label = " (synthetic)" if trace["synthetic"] else ""
        told = [f"device {group['device_resolved'][0]}"]
        told += [
            f"{column} {value}"
            for column, value in zip(settings, values, strict=True)
            if column in varying and column != "device"
        ]
        title = (
            f"{name}{label}: {trace['references']:,} references to "
            f"{trace['footprint_pages']:,} pages, {trace['write_references']:,} writes; "
            f"{', '.join(told)}"
        )
        print_table(title, for_people(group), console)
        summary = summary_for_people(group)
        if summary is not None:
            print_table("I/O time s, by frames and share of the footprint", summary, console)


def for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of rows of one trace that people compare, with I/O time in seconds.

    ``vs clock`` is the I/O time over that of CLOCK with the same memory, where CLOCK was run.
    """
    clock = (
        rows.filter(pl.col("policy_resolved") == "clock:insert_ref=0")
        .unique("frames", keep="first")
        .select("frames", clock_time_us="io_time_us")
    )
    shown = rows.join(clock, on="frames", how="left", maintain_order="left").select(
        "frames",
        (pl.col("memory_share") * 100).round(1).cast(pl.String).add(" %").alias("memory"),
        "policy",
        (pl.col("hit_ratio") * 100).round(3).alias("hits %"),
        pl.col("read_ios").alias("read I/Os"),
        pl.col("write_ios").alias("write I/Os"),
        (pl.col("io_time_us") / 1e6).alias("I/O time s"),
        (pl.col("io_time_us") / pl.col("clock_time_us")).alias("vs clock"),
        (pl.col("energy_uj") / 1e6).alias("energy J"),
    )
    return shown.select(column for column in shown if column.null_count() < len(shown))


SUMMARY_SIZES = 12
"""Memory sizes that fit beside each other on a terminal."""


def summary_for_people(rows: pl.DataFrame) -> pl.DataFrame | None:
    """Return the I/O times of rows of one trace, a line per policy and a column per memory size.

    There is none where it would say nothing more than the rows, or not fit on a terminal.
    """
    cells = rows.unique(["policy", "frames"], keep="first", maintain_order=True)
    if cells["policy"].n_unique() == 1 or not 2 <= cells["frames"].n_unique() <= SUMMARY_SIZES:
        return None
    share = (pl.col("memory_share") * 100).round(1).cast(pl.String)
    size = pl.format("{}\n{} %", "frames", share)
    return cells.select("policy", size.alias("size"), pl.col("io_time_us") / 1e6).pivot(
        "size", index="policy", values="io_time_us"
    )
