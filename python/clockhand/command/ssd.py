"""``clockhand ssd``: write buffers on flash drives."""

from functools import partial
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.options import Highlight, Jobs, Out, OutputFormat, Plots, Report, Traces
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
from clockhand.studies.ssd.findings import findings, geometry_line
from clockhand.studies.ssd.run import SsdRun, run_ssd
from clockhand.study.catalogs import write_buffers
from clockhand.study.facts import printable, trace_label
from clockhand.study.selections import expanded
from clockhand.traces import Reading

Buffers = Annotated[
    list[str],
    typer.Option(
        "--buffer",
        help="NAME:total=SIZE[,parameter=value,...], the size in pages (4096), bytes (16MiB) or a "
        "share of the footprint (10%); give the option once per buffer. See: clockhand policies.",
    ),
]
Ssds = Annotated[
    list[str],
    typer.Option(
        "--ssd",
        help="NAME[:option=value,...] or FILE.toml; give the option once per drive. "
        "See: clockhand devices.",
    ),
]
Precondition = Annotated[
    str,
    typer.Option(
        help="How drives are aged: fill (written once, in order), random:N (and N drive writes of "
        "random overwrites), random (until steady), none."
    ),
]
Map = Annotated[
    str,
    typer.Option(
        help="original: a trace beyond the drive's end is refused; wrap: blocks modulo the "
        "drive's; compact: the blocks that the trace touches, one after the other."
    ),
]
Drain = Annotated[bool, typer.Option("--drain", help="Write dirty pages when the trace ends.")]
Repeat = Annotated[
    str,
    typer.Option(
        metavar="N|until-steady",
        help="Run each trace so often, or until its write amplification no longer changes.",
    ),
]
Endurance = Annotated[
    int | None,
    typer.Option(help="Erases that a block endures, such as 3000; the profile's if not given."),
]
Seed = Annotated[int, typer.Option(help="Seed of ageing and of random victims, from 0.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="ssd")(_ssd)


@with_reading
def _ssd(
    traces: Traces,
    buffer: Buffers,
    ssd: Ssds = ["dnv-textbook"],  # noqa: B006 - Typer copies it.
    precondition: Precondition = "fill",
    map: Map = "original",
    drain: Drain = False,
    repeat: Repeat = "1",
    endurance: Endurance = None,
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
    """Put write buffers in front of flash drives: hits, pages to flash, erases, amplification."""
    check_outputs(out, report, plots)
    given = expanded("--buffer", buffer, write_buffers()["name"].to_list())
    marked = check_highlight(highlight, given, report, plots)
    with shown_progress() as watch:
        run = run_ssd(
            traces,
            buffers=buffer,
            ssds=ssd,
            precondition=precondition,
            map=map,
            drain=drain,
            repeat=repeat,
            endurance=endurance,
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


def _print_tables(run: SsdRun, console: Console) -> None:
    """Print the drives, one table per trace and drive, and what stands out."""
    for ssd in {ssd["name"]: ssd for ssd in run.facts["ssds"]}.values():
        console.print(Text(geometry_line(ssd)), soft_wrap=True)
    console.print()
    traces = {trace["name"]: trace for trace in run.facts["traces"]}
    for rows in run.rows.partition_by("trace", "ssd", maintain_order=True):
        trace = traces[rows["trace"][0]]
        label = trace_label(trace["name"], run.facts)
        title = (
            f"{label}: {trace['references']:,} references to {trace['footprint_pages']:,} pages, "
            f"{trace['write_references']:,} writes; drive {printable(rows['ssd'][0])}"
        )
        print_table(title, for_people(rows), console)
    for sentence in findings(run.rows, run.facts):
        console.print(Text(sentence), soft_wrap=True)


def for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of rows of one trace and drive that people compare.

    ``to flash`` are all pages that the buffer wrote, ``clean`` those of them that were no newer
    than on flash.
    """
    shown = rows.select(
        "buffer",
        pl.col("buffer_pages").alias("pages"),
        (100 * pl.col("hit_ratio")).alias("hits %"),
        (100 * pl.col("write_hit_ratio")).alias("write hits %"),
        pl.col("host_writes").alias("to flash"),
        pl.col("clean_pages_flushed").alias("clean"),
        "batches",
        pl.col("nvm_writes").alias("NVM writes"),
        pl.col("residual_dirty").alias("left dirty"),
        "erases",
        pl.col("waf").alias("WAF"),
        pl.col("drive_writes").alias("drive writes"),
        pl.col("steady_waf").alias("steady WAF"),
        pl.col("life_years").alias("years"),
        pl.col("nvm_life_years").alias("NVM years"),
    )
    return shown.select(column for column in shown if column.null_count() < len(shown))
