"""``clockhand translate``: page sizes, TLBs and memory on fast storage."""

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.study import add_study
from clockhand.command.tables import print_table
from clockhand.studies.translate.findings import findings
from clockhand.studies.translate.run import STUDY, Translation
from clockhand.study.facts import printable, trace_label


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_study(
        app,
        "translate",
        STUDY,
        print_tables,
        summary="Translate addresses and page memory: TLB hits, faults, access times, the best "
        "page size.",
        example="translate app.trace --page-size 4KiB,64KiB --tlb 64,1536/12 --memory 20%",
    )


def print_tables(run: Translation, console: Console) -> None:
    """Print one table per trace and policy, and the best page sizes."""
    several_policies = run.rows["policy"].n_unique() > 1
    for rows in run.rows.partition_by("trace", "policy", maintain_order=True):
        first = rows.row(0, named=True)
        title = f"{trace_label(first['trace'], run.facts)}: {first['references']:,} references"
        if several_policies:
            title += f" under {printable(first['policy'])}"
        print_table(f"{title}; times are ns per reference", for_people(rows), console)
    for sentence in findings(run.rows, run.facts):
        console.print(Text(sentence), soft_wrap=True)


def for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what people compare of rows of one trace and policy: a row per page size, memory, TLB.

    ``address`` is T_ADDR; the access time, both parts together, has a column for each storage: a
    device, or how many times slower than memory it is.
    """
    storage = (
        pl.when(pl.col("storage_ratio").is_null())
        .then(pl.col("device"))
        .otherwise(pl.format("{} times", _plain(pl.col("storage_ratio"))))
    )
    names = rows.select(storage.alias("storage"))["storage"].unique(maintain_order=True).to_list()
    keys = ["page_bytes", "memory", "frames", "tlb", "tlb2"]
    labelled = rows.with_columns(storage.alias("storage"))
    cells = labelled.unique(keys, keep="first", maintain_order=True).select(
        *keys,
        (100 * pl.col("tlb_hit_ratio")).alias("TLB hits %"),
        (100 * pl.col("page_fault_ratio")).alias("faults %"),
        pl.col("t_addr_ns").alias("address"),
        *(pl.col(name) for name in ("promotions", "prefetched", "kills")),
    )
    for name in names:
        times = labelled.filter(pl.col("storage") == name).unique(
            keys, keep="first", maintain_order=True
        )
        column = times.select(*keys, pl.col("amat_ns").alias(name))
        cells = cells.join(column, on=keys, how="left", nulls_equal=True, maintain_order="left")
    shown = cells.rename({"page_bytes": "page", "tlb": "TLB", "tlb2": "TLB 2"})
    dropped = [name for name in ("promotions", "prefetched", "kills") if shown[name].sum() == 0]
    kept = shown.drop(dropped)
    return kept.select(column for column in kept if column.null_count() < len(column))


def _plain(number: pl.Expr) -> pl.Expr:
    """Return a number as text, without the decimals that a whole one does not have."""
    return number.cast(pl.String).str.replace(r"\.0$", "")
