"""Measures of the CRAW paper's conjecture: programs behind write-back caches of several sizes.

Rows are those of ``traces/data_cache.py``: a program, a view and a cache each, the smallest first.
"""

import polars as pl

from clockhand.report.words import byte_text, percent
from clockhand.reproduce.judge import Found

PROGRAM = ["session", "command"]
SIZES = pl.col("data_cache").str
CACHE_BYTES = SIZES.extract(r"(\d+)").cast(pl.Int64) * (1 + 1023 * SIZES.ends_with("KiB"))


def disperses(rows: pl.DataFrame, *, view: str, column: str, more: bool) -> Found:
    """Ask of each program and larger cache whether a column is less than behind the smallest one,
    or more: the share of the top tenth, or the share out of order beyond what chance makes
    (``beyond_chance``)."""
    beyond = (pl.col("out_of_order_share") - pl.col("by_chance_at_most")).alias("beyond_chance")
    values = rows.filter(view=view).with_columns(beyond, CACHE_BYTES.alias("cache"))
    held, lines = [], []
    for _, of_program in values.group_by(PROGRAM, maintain_order=True):
        first, *others = of_program.sort("cache")[column]
        held += [(it > first) if more else (it < first) for it in others]
        lines.append((" ".join(of_program.row(0)[:2]), *map(percent, (first, *others))))
    sizes = [byte_text(size) for size in values["cache"].unique().sort()]
    return Found(held, (("program", *sizes), *lines))


def saved(rows: pl.DataFrame, *, final_flush: bool, data_cache: int) -> Found:
    """Measure by which share CRAW takes less I/O time than CLOCK behind a cache, by program."""
    ratio = pl.col("craw_over_clock_flushed" if final_flush else "craw_over_clock")
    of_view = rows.filter(view="paper")
    table = of_view.select(*PROGRAM, CACHE_BYTES.alias("cache"), (1 - ratio).alias("saved"))
    means = table.group_by("cache").agg(pl.col("saved").mean()).sort("cache")
    told = ", ".join(f"{byte_text(size)} {percent(mean)}" for size, mean in means.iter_rows())
    lines = ((byte_text(size), percent(mean)) for size, mean in means.iter_rows())
    words = {"cache": byte_text(data_cache), "by_cache": told}
    ours = table.filter(cache=data_cache)["saved"].to_list()
    return Found(ours, (("cache", "mean reduction"), *lines), words)
