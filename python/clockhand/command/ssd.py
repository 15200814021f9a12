"""``clockhand ssd``: write buffers on flash drives."""

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.study import add_study
from clockhand.command.tables import print_table
from clockhand.studies.ssd.findings import findings, geometry_line
from clockhand.studies.ssd.result import SsdRun
from clockhand.studies.ssd.run import STUDY
from clockhand.study.facts import printable, trace_label


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_study(
        app,
        "ssd",
        STUDY,
        print_tables,
        summary="Put write buffers in front of flash drives: hits, pages to flash, erases, "
        "amplification.",
        example="ssd disk.trace --buffer fab:total=16MiB --buffer "
        "clock-dnv:total=16MiB,dram_share=0.1",
        highlights=True,
    )


def print_tables(run: SsdRun, console: Console) -> None:
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
    for sentence in findings(run.rows, run.facts, run.classes):
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
        "arrivals",
        (pl.col("window_us") / 1000).alias("from ms"),
        "iops",
        pl.col("read_p50_us").alias("read p50 µs"),
        pl.col("read_p99_us").alias("read p99 µs"),
        pl.col("write_p50_us").alias("write p50 µs"),
        pl.col("write_p99_us").alias("write p99 µs"),
        (100 * pl.col("die_utilisation")).alias("dies busy %"),
        "bottleneck",
    )
    if shown["arrivals"].n_unique() == 1:
        shown = shown.drop("arrivals")
    return shown.select(column for column in shown if column.null_count() < len(shown))
