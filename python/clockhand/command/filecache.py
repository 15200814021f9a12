"""``clockhand filecache``: whether a file cache pays on a device."""

from functools import partial
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.options import Jobs
from clockhand.command.papers import Outputs, facts_without_traces, with_outputs
from clockhand.command.reading import with_reading
from clockhand.command.study import GIVEN, compared, print_intervals, run_shown, with_options
from clockhand.command.tables import print_table, share_text
from clockhand.studies.filecache.findings import BOUND, by_device, findings, group_label, groups
from clockhand.studies.filecache.run import STUDY, FileCacheRun, break_even_of
from clockhand.study.errors import UsageError, option
from clockhand.study.options import options_of
from clockhand.study.records import Fields
from clockhand.traces import Reading

Traces = Annotated[
    list[str] | None,
    typer.Argument(
        help="Trace files, compressed or not; - is standard input. None with --break-even."
    ),
]
BreakEven = Annotated[
    bool,
    typer.Option(
        "--break-even",
        help="Also show the hits after which a block has paid, for each device; needs no trace.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="filecache", epilog="filecache app.trace --capacity 5%,20% --device hdd,slc-nand"
    )(_filecache)


@with_reading
@with_outputs()
@with_options("filecache", needed=False)
def _filecache(
    traces: Traces = None,
    options: Fields = GIVEN,
    only_break_even: BreakEven = False,
    jobs: Jobs = None,
    *,
    reading: Reading,
    outputs: Outputs,
) -> None:
    """Put a file cache in front of devices: does it pay, with which admission, after which hit?"""
    if not options["device"]:
        what, remedy = "no device is given", f"add {option('device')} NAME"
        if traces and options["capacity"] is None:
            what, remedy = f"{what}, and no capacity", f"{remedy} {option('capacity')} 5%,20%"
        raise UsageError(what, remedy)
    outputs.check()
    even = break_even_of(options)
    if not traces:
        if not only_break_even:
            raise UsageError(
                "no trace is given", "add a file, or " + option("break-even") + ", which needs none"
            )
        if outputs.has_figures:
            raise UsageError(
                option("report") + " and " + option("plots") + " show a trace", "add a file"
            )
        shown = partial(_print_break_even, even)
        outputs.deliver(even, shown, outputs.files(shown, facts_without_traces()))
        return
    marked = outputs.marked(_lines(options))
    run = run_shown(STUDY, traces, options, jobs, reading, outputs)
    files = outputs.figures(run, marked)
    shown = partial(print_tables, run, even=even if only_break_even else None)
    if options["every"] is not None:
        shown = partial(print_intervals, run)
    outputs.deliver(run.rows, shown, files | outputs.files(shown, run.facts))


def _lines(options: Fields) -> list[str]:
    """Return what figures have a line for: each admission, with its policy if there are several."""
    policies = compared(STUDY, options)
    admissions: list[str] = options_of("filecache")["admission"].checked(options["admission"])
    bounds = [BOUND] if BOUND in policies else []
    policies = [policy for policy in policies if policy != BOUND]
    if len(set(policies)) == 1:
        return admissions + bounds
    return [f"{policy}, {admission}" for policy in policies for admission in admissions] + bounds


def print_tables(run: FileCacheRun, console: Console, even: pl.DataFrame | None = None) -> None:
    """Print one table per trace, block size and device, and whether a cache pays."""
    for group in groups(run.rows):
        label = group_label(run.rows, group, run.facts)
        for device, rows in by_device(group):
            first = rows.row(0, named=True)
            title = (
                f"{label}: {first['references']:,} references to {first['footprint_blocks']:,} "
                f"blocks of {first['block_bytes']:,} bytes; device {device}, "
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
        pl.col("admission").fill_null("-"),
        pl.col("capacity").alias("blocks"),
        share_text("capacity_share").alias("of footprint"),
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
        pl.col("insert").alias("insertion"),
        pl.col("block_bytes").alias("block (bytes)"),
        pl.col("required_hits").cast(pl.String).fill_null("never").alias("hits that pay"),
        pl.col("hit_time_us").alias("t, a hit (µs)"),
        pl.col("bypass_time_us").alias("T, past the cache (µs)"),
        pl.col("admit_time_us").alias("T_m, a miss that enters (µs)"),
    )
    print_table("After how many hits caching a block pays", shown, console)
