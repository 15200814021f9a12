"""``clockhand filecache``: whether a file cache pays on a device."""

from functools import partial
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand import UsageError
from clockhand.command.options import Jobs, Out, OutputFormat, Plots, Report, Seed
from clockhand.command.output import check_outputs, command_line, deliver, print_table, say
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.studies.filecache.findings import findings, group_label, groups
from clockhand.studies.filecache.run import (
    CACHE_DEVICE,
    STACK_SHARE,
    FileCacheRun,
    break_even,
    filecache,
)
from clockhand.study.facts import printable
from clockhand.traces import Reading

Traces = Annotated[
    list[str] | None,
    typer.Argument(
        help="Trace files, compressed or not; - is standard input. None with --break-even."
    ),
]
Capacity = Annotated[
    str | None,
    typer.Option(
        help="Blocks, shares of the footprint or sizes, such as 64, 5%,20%, 5%..100% or 64MiB; 0 "
        "admits nothing."
    ),
]
Admission = Annotated[
    list[str],
    typer.Option(help="List of always, second-touch, tinylfu, write-around; or all."),
]
Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        help="List of NAME or NAME:parameter=value,...; all, and patterns such as c*. "
        "See: clockhand policies.",
    ),
]
Devices = Annotated[
    list[str],
    typer.Option(
        "--device",
        help="List of NAME[:option=value,...] or FILE.toml; all, and patterns. "
        "See: clockhand devices.",
    ),
]
PageSizes = Annotated[
    str, typer.Option("--page-size", help="List of block sizes in bytes, powers of two.")
]
AdmitAfter = Annotated[
    int, typer.Option(help="second-touch: earlier references that a block needs.")
]
History = Annotated[
    int | None,
    typer.Option(help="second-touch: blocks that are remembered; all if not given."),
]
ForgetOnAdmit = Annotated[
    bool, typer.Option("--forget-on-admit", help="second-touch: forget a block that enters.")
]
InsertNs = Annotated[
    int | None,
    typer.Option(help="What inserting a block takes, in ns; half the time of a hit if not given."),
]
StackShare = Annotated[
    str, typer.Option(help="What software adds to a reference to the device, in times of a hit.")
]
CacheDevice = Annotated[
    str, typer.Option(help="Where cached blocks are; its read cost is the time of a hit.")
]
Writes = Annotated[
    str,
    typer.Option(
        help="free: writes cost what reads do, dirty blocks leave for nothing; cost: the device's "
        "write cost where a block is written to it."
    ),
]
FlushAtEnd = Annotated[
    bool, typer.Option("--flush-at-end", help="Write dirty blocks when the trace ends.")
]
BreakEven = Annotated[
    bool,
    typer.Option(
        "--break-even",
        help="Also tell after how many hits a block has paid on each device; needs no trace.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="filecache")(_filecache)


@with_reading
def _filecache(
    traces: Traces = None,
    capacity: Capacity = None,
    admission: Admission = ["always"],  # noqa: B006 - Typer copies it.
    policy: Policies = ["lru"],  # noqa: B006
    device: Devices = [],  # noqa: B006
    page_size: PageSizes = "4KiB",
    admit_after: AdmitAfter = 1,
    history: History = None,
    forget_on_admit: ForgetOnAdmit = False,
    insert_ns: InsertNs = None,
    stack_share: StackShare = STACK_SHARE,
    cache_device: CacheDevice = CACHE_DEVICE,
    writes: Writes = "free",
    flush_at_end: FlushAtEnd = False,
    only_break_even: BreakEven = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    format: OutputFormat = None,
    out: Out = None,
    report: Report = None,
    plots: Plots = None,
    *,
    reading: Reading,
) -> None:
    """Put a file cache in front of devices: does it pay, with which admission, after which hit?"""
    if not device:
        raise UsageError("no device is given; add --device NAME")
    check_outputs(out, report, plots)
    even = break_even(
        device,
        page_size=page_size,
        insert_ns=insert_ns,
        stack_share=stack_share,
        cache_device=cache_device,
    )
    if not traces:
        if not only_break_even:
            raise UsageError("no trace is given; add a file, or --break-even, which needs none")
        if report or plots:
            raise UsageError("--report and --plots show a trace; add a file")
        deliver(even, format, out, partial(_print_break_even, even), {})
        return
    if capacity is None:
        raise UsageError("no capacity is given; add --capacity, such as --capacity 5%,20%")
    with shown_progress() as watch:
        run = filecache(
            traces,
            capacity=capacity,
            admissions=admission,
            policies=policy,
            devices=device,
            page_size=page_size,
            admit_after=admit_after,
            history=history,
            forget_on_admit=forget_on_admit,
            insert_ns=insert_ns,
            stack_share=stack_share,
            cache_device=cache_device,
            writes=writes,
            flush_at_end=flush_at_end,
            seed=seed,
            jobs=jobs,
            **reading,
            watch=watch,
            command=command_line(),
        )
    for warning in run.warnings:
        say(warning)
    files = run.report_files(report, plots)
    shown = partial(_print_tables, run, even if only_break_even else None)
    deliver(run.rows, format, out, shown, files, plots)


def _print_tables(run: FileCacheRun, even: pl.DataFrame | None, console: Console) -> None:
    """Print one table per trace, block size and device, and whether a cache pays."""
    for group in groups(run.rows):
        label = group_label(run.rows, group, run.facts)
        for rows in group.partition_by("device", maintain_order=True):
            first = rows.row(0, named=True)
            title = (
                f"{label}: {first['references']:,} references to {first['footprint_blocks']:,} "
                f"blocks of {first['block_bytes']:,} bytes; device {printable(first['device'])}, "
                f"{first['time_without_cache_us'] / 1e3:,.3f} ms without a cache"
            )
            print_table(title, for_people(rows), console)
    if even is not None:
        _print_break_even(even, console)
    for sentence in findings(run.rows, run.facts):
        console.print(Text(sentence), soft_wrap=True)


def for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of rows of one trace, block size and device that people compare.

    ``saved %`` is of the time without a cache; it is negative where the cache costs time.
    """
    return rows.select(
        "policy",
        "admission",
        pl.col("capacity").alias("blocks"),
        (100 * pl.col("capacity_share")).alias("of footprint %"),
        (100 * pl.col("hit_ratio")).alias("hits %"),
        "admitted",
        "bypassed",
        pl.col("dirty_evictions").alias("dirty out"),
        (pl.col("time_us") / 1e3).alias("time (ms)"),
        (100 * (1 - pl.col("time_us") / pl.col("time_without_cache_us"))).alias("saved %"),
    )


def _print_break_even(even: pl.DataFrame, console: Console) -> None:
    shown = even.select(
        "device",
        pl.col("block_bytes").alias("block (bytes)"),
        pl.col("required_hits").cast(pl.String).fill_null("never").alias("hits that pay"),
        pl.col("hit_time_us").alias("t, a hit (µs)"),
        pl.col("bypass_time_us").alias("T, past the cache (µs)"),
        pl.col("admit_time_us").alias("T_m, a miss that enters (µs)"),
    )
    print_table("After how many hits caching a block pays", shown, console)
