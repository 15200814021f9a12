"""``clockhand tier``: fast and slow memory, both loaded from in place."""

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.study import add_study
from clockhand.command.tables import print_table, share_text
from clockhand.studies.tier.findings import findings, group_label, groups
from clockhand.studies.tier.result import Tiering
from clockhand.studies.tier.run import STUDY
from clockhand.study.facts import printable


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_study(
        app,
        "tier",
        STUDY,
        print_tables,
        summary="Run traces on fast and slow memory: which pages are fast, what moves, how long it "
        "takes.",
        example="tier app.trace --fast 10%,25%,50% --policy lru,tpp,memtis --tiers cxl",
    )


def print_tables(run: Tiering, console: Console) -> None:
    """Print one table per trace, page size and pair of tiers, and which policy is best."""
    for rows in groups(run.rows):
        first = rows.row(0, named=True)
        title = (
            f"{group_label(run.rows, rows, run.facts)}: {first['references']:,} references to "
            f"{first['footprint_pages']:,} pages; tiers {printable(first['tiers'])}, times are ns "
            "per reference"
        )
        print_table(title, for_people(rows), console)
    for sentence in findings(run.rows, run.facts):
        console.print(Text(sentence), soft_wrap=True)


def for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what people compare of the rows of one group."""
    shown = rows.select(
        "policy",
        "promote",
        pl.col("fast_frames").alias("fast pages"),
        share_text("fast_memory_share").alias("of footprint"),
        (100 * pl.col("fast_share")).alias("in fast %"),
        "promotions",
        "demotions",
        pl.col("ping_pongs").alias("ping-pong"),
        pl.col("storage_faults").alias("storage faults"),
        pl.col("mean_access_ns").alias("access"),
        pl.col("mean_ns").alias("time"),
    )
    dropped = [name for name in ("storage faults",) if shown[name].sum() == 0]
    kept = shown.drop(dropped)
    return kept.select(column for column in kept if column.null_count() < len(column))
