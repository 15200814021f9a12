"""``clockhand pagecache``: one page cache for processes and files."""

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.study import add_study
from clockhand.command.tables import print_table, share_text
from clockhand.studies.pagecache.findings import findings
from clockhand.studies.pagecache.run import STUDY, PageCacheRun
from clockhand.study.facts import printable, trace_label


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_study(
        app,
        "pagecache",
        STUDY,
        print_tables,
        summary="Run one page cache for processes and files, with calls, syncs, a flusher and "
        "read-ahead.",
        example="pagecache calls.events --policy clock,lru --memory 5%,20%",
        highlights=True,
    )


def print_tables(run: PageCacheRun, console: Console) -> None:
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
        share_text("memory_share").alias("memory"),
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
