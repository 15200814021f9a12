"""``clockhand pagecache``: one page cache for processes and files."""

from functools import partial
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.options import (
    Device,
    Frames,
    Highlight,
    Jobs,
    Memory,
    Out,
    OutputFormat,
    PageSize,
    Plots,
    Report,
    Seed,
    Traces,
)
from clockhand.command.output import (
    check_highlight,
    check_outputs,
    command_line,
    deliver,
    print_table,
    say,
)
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.studies.pagecache.findings import findings
from clockhand.studies.pagecache.run import PageCacheRun, run_pagecache
from clockhand.study.catalogs import policies
from clockhand.study.facts import printable, trace_label
from clockhand.study.selections import expanded
from clockhand.traces import Reading

Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        help="NAME or NAME:parameter=value,...; several with commas, all, or a pattern such as "
        "'clock*'. See: clockhand policies.",
    ),
]
FileDevice = Annotated[
    str | None,
    typer.Option(
        help="What files stand on; as --device, which is for anonymous pages, if not given."
    ),
]
FirstTouch = Annotated[
    str,
    typer.Option(
        help="zero: the first reference to anonymous memory reads nothing; read: every miss on it "
        "reads, as in simulate."
    ),
]
ZeroClean = Annotated[
    str,
    typer.Option(
        help="drop: an anonymous page that was never written is zero again when it comes back; "
        "read: it is read."
    ),
]
FlushEvery = Annotated[
    str | None,
    typer.Option(
        metavar="SPAN",
        help="Run a flusher at multiples of this many seconds of trace time (5s) or references "
        "(1000r).",
    ),
]
FlushAge = Annotated[
    str | None,
    typer.Option(
        metavar="SPAN", help="The flusher writes pages of files that became dirty so long ago; 0."
    ),
]
DirtyLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="The flusher leaves at most this share of the frames dirty, such as 1/4 or 20%.",
    ),
]
ReadAhead = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="none; file:MIN-MAX pages behind what calls read; swap:N slots around what comes "
        "back; both with a comma. Linux 2.4: file:3-31,swap:8.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="pagecache")(_pagecache)


@with_reading
def _pagecache(
    traces: Traces,
    policy: Policies,
    frames: Frames = None,
    memory: Memory = None,
    page_size: PageSize = "4KiB",
    device: Device = "slc-nand",
    file_device: FileDevice = None,
    first_touch: FirstTouch = "zero",
    zero_clean: ZeroClean = "drop",
    flush_every: FlushEvery = None,
    flush_age: FlushAge = None,
    dirty_limit: DirtyLimit = None,
    read_ahead: ReadAhead = "none",
    seed: Seed = 0,
    jobs: Jobs = None,
    format: OutputFormat = None,
    out: Out = None,
    report: Report = None,
    plots: Plots = None,
    highlight: Highlight = None,
    *,
    reading: Reading,
) -> None:
    """Run one page cache for processes and files, with calls, syncs, a flusher and read-ahead."""
    check_outputs(out, report, plots)
    given = expanded("--policy", policy, policies()["name"].to_list())
    marked = check_highlight(highlight, given, report, plots)
    with shown_progress() as watch:
        run = run_pagecache(
            traces,
            policies=policy,
            frames=frames,
            memory=memory,
            page_size=page_size,
            device=device,
            file_device=file_device,
            first_touch=first_touch,
            zero_clean=zero_clean,
            flush_every=flush_every,
            flush_age=flush_age,
            dirty_limit=dirty_limit,
            read_ahead=read_ahead,
            seed=seed,
            jobs=jobs,
            **reading,
            watch=watch,
            command=command_line(),
        )
    for warning in run.warnings:
        say(warning)
    files = run.report_files(report, plots, marked)
    deliver(run.rows, format, out, partial(_print_tables, run), files, plots)


def _print_tables(run: PageCacheRun, console: Console) -> None:
    """Print one table per trace, and what stands out."""
    traces = {trace["name"]: trace for trace in run.facts["traces"]}
    for rows in run.rows.partition_by("trace", maintain_order=True):
        trace = traces[rows["trace"][0]]
        first = rows.row(0, named=True)
        device = printable(first["device_resolved"])
        if first["file_device_resolved"] != first["device_resolved"]:
            device += f", files on {printable(first['file_device_resolved'])}"
        title = (
            f"{trace_label(trace['name'], run.facts)}: {trace['references']:,} references to "
            f"{trace['footprint_pages']:,} pages, {trace['write_references']:,} writes; "
            f"device {device}"
        )
        print_table(title, for_people(rows), console)
    for sentence in findings(run.rows, run.facts):
        console.print(Text(sentence), soft_wrap=True)


def for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of rows of one trace that people compare, with I/O time in seconds.

    Columns of what did not happen at all are left out.
    """
    shown = rows.select(
        "frames",
        (pl.col("memory_share") * 100).round(1).cast(pl.String).add(" %").alias("memory"),
        "policy",
        (pl.col("hit_ratio") * 100).round(3).alias("hits %"),
        pl.col("read_ios").alias("read I/Os"),
        pl.col("write_ios").alias("write I/Os"),
        (pl.col("io_time_us") / 1e6).alias("I/O time s"),
        (pl.col("energy_uj") / 1e6).alias("energy J"),
        pl.col("file_write_ios").alias("of files"),
        pl.col("sync_writes").alias("by syncs"),
        pl.col("flusher_writes").alias("by flusher"),
        pl.col("dropped_dirty").alias("dropped dirty"),
        pl.col("readahead_ios").alias("read ahead"),
        pl.col("dirty_pages_peak").alias("dirty at most"),
    )
    always = ("frames", "memory", "policy", "hits %", "read I/Os", "write I/Os", "I/O time s")
    return shown.select(
        column
        for column in shown
        if column.name in always or (column.null_count() < len(shown) and column.max() != 0)
    )
