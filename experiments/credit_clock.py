"""Makes the tables of docs/credit-clock.md: synthetic traces, three sweeps, statistics.

Run it from the project's folder: ``.venv/bin/python experiments/credit_clock.py``. Cells that were
computed before are taken from ``experiments/datasets``.
"""

import random
import statistics
import sys
from collections.abc import Iterable, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

import polars as pl

from clockhand import _engine, synthesize
from clockhand.sweep import read_experiment, run_sweep

FOLDER = Path(__file__).parent
SYNTHETIC = {
    "zipf": "zipf:skew=0.9,footprint=64MiB,reads=70%",
    "phases": "zipf:skew=0.8,footprint=32MiB,reads=60% for 100k then loop:footprint=8MiB,reads=80% "
    "for 50k",
}
RESAMPLES = 2000
SEED = 18
BASELINE = "clock"
ENDS = ("bound", "bound:effort=0", "opt-feasible")


def main() -> None:
    """Make everything that is missing, then write the tables."""
    make_synthetic_traces()
    flushed = [with_ratios(name) for name in ("credit-clock", "credit-clock-unflushed")]
    rows = pl.concat(flushed)
    write("relative-to-clock", relative_to_clock(rows, ["flush_at_end", "device", "policy"]))
    unit = rows.filter(pl.col("device") == "unit")
    write("by-trace", by_trace(unit))
    write("counts", counts(unit))
    write("bracket", brackets(rows))
    ablation = with_ratios("credit-clock-ablation")
    write("ablation", relative_to_clock(ablation, ["policy"]))


def make_synthetic_traces() -> None:
    """Write the synthetic traces that are not there."""
    folder = FOLDER / "datasets" / "synthetic"
    folder.mkdir(parents=True, exist_ok=True)
    for name, recipe in SYNTHETIC.items():
        path = folder / f"{name}.parquet"
        if not path.exists():
            synthesize(recipe, path, requests=500_000, seed=SEED)


def with_ratios(name: str) -> pl.DataFrame:
    """Return the rows of an experiment with their I/O time and write I/Os over those of CLOCK."""
    print(f"{name} …", file=sys.stderr)
    rows = run_sweep(read_experiment(FOLDER / f"{name}.toml")).rows
    rows = rows.with_columns(
        pl.col("trace").str.split("/").list.last().str.strip_suffix(".parquet"),
        pl.col("device").str.split("/").list.last().str.strip_suffix(".toml"),
    )
    place = ["trace", "frames", "device", "flush_at_end"]
    rows = rows.unique([*place, "policy"], keep="first", maintain_order=True)
    for policy, prefix in ((BASELINE, "clock"), ("bound", "bound"), ("opt-feasible", "feasible")):
        of_policy = rows.filter(pl.col("policy") == policy).select(
            *place,
            pl.col("io_time_us").alias(f"{prefix}_us"),
            pl.col("write_ios").alias(f"{prefix}_write_ios"),
        )
        rows = rows.join(of_policy, on=place, how="left", maintain_order="left")
    return rows.with_columns(ratio=pl.col("io_time_us") / pl.col("clock_us"))


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers."""
    logarithms = [log(value) for value in values]
    return exp(sum(logarithms) / len(logarithms))


def interval(by_trace: Sequence[float]) -> tuple[float, float]:
    """Return where 95 % of the means of resampled traces are: a bootstrap over traces."""
    numbers = random.Random(SEED)
    means = sorted(
        geometric_mean(numbers.choices(by_trace, k=len(by_trace))) for _ in range(RESAMPLES)
    )
    return means[RESAMPLES // 40], means[RESAMPLES - 1 - RESAMPLES // 40]


def relative_to_clock(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return geometric mean, worst cell and interval of the I/O time over CLOCK's."""
    table: list[dict[str, Any]] = []
    known = rows.filter(pl.col("ratio").is_finite() & (pl.col("ratio") > 0))
    for key, group in known.group_by(keys, maintain_order=True):
        traces = group.partition_by("trace", maintain_order=True)
        means = [geometric_mean(trace["ratio"]) for trace in traces]
        low, high = interval(means)
        worst = group.sort("ratio").row(-1, named=True)
        table.append({
            **dict(zip(keys, key, strict=True)),
            "cells": group.height,
            "geometric_mean": geometric_mean(group["ratio"]),
            "from": low,
            "to": high,
            "worst": worst["ratio"],
            "worst_trace": worst["trace"],
            "worst_memory": f"{100 * worst['memory_share']:.0f} %",
        })  # fmt: skip
    return pl.DataFrame(table)


def by_trace(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the geometric mean over memory sizes for each trace."""
    known = rows.filter(pl.col("ratio").is_finite() & (pl.col("ratio") > 0))
    means = known.group_by("flush_at_end", "policy", "trace", maintain_order=True).agg(
        pl.col("ratio").log().mean().exp()
    )
    return means.pivot("trace", index=["flush_at_end", "policy"], values="ratio")


def counts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what explains the times: hits, writes, hand work, distance to the optimum."""
    rows = rows.filter(~pl.col("policy").is_in(["bound", "bound:effort=0"]))
    over = (pl.col("io_time_us") / pl.col("bound_us")).log()
    below = (pl.col("io_time_us") / pl.col("feasible_us")).log()
    writes = (pl.col("write_ios") / pl.col("clock_write_ios")).log()
    return rows.group_by("flush_at_end", "policy", maintain_order=True).agg(
        pl.col("hit_ratio").mean(),
        writes.filter(writes.is_finite()).mean().exp().alias("write_ios_over_clock"),
        (pl.col("hand_movements") / pl.col("misses")).mean().alias("hand_per_miss"),
        over.filter(over.is_finite()).mean().exp().alias("io_time_over_bound"),
        below.filter(below.is_finite()).mean().exp().alias("io_time_over_feasible"),
    )


def brackets(rows: pl.DataFrame) -> pl.DataFrame:
    """Return how wide the bracket is, and how far below it the bound without prices."""
    table: list[dict[str, Any]] = []
    for key, group in rows.group_by("flush_at_end", "device", maintain_order=True):
        feasible = group.filter((pl.col("policy") == "opt-feasible") & (pl.col("bound_us") > 0))
        plain = group.filter((pl.col("policy") == "bound:effort=0") & (pl.col("io_time_us") > 0))
        gaps = (100 * (feasible["io_time_us"] / feasible["bound_us"] - 1)).to_list()
        rise = geometric_mean((plain["bound_us"] / plain["io_time_us"]).to_list()) - 1
        table.append({
            "flush_at_end": key[0],
            "device": key[1],
            "cells": len(gaps),
            "closed": sum(gap == 0 for gap in gaps),
            "median_gap_percent": statistics.median(gaps),
            "mean_gap_percent": statistics.fmean(gaps),
            "widest_gap_percent": max(gaps),
            "above_the_bound_without_prices_percent": 100 * rise,
        })  # fmt: skip
    return pl.DataFrame(table)


def write(name: str, table: pl.DataFrame) -> None:
    """Write a table with what made it, to four digits."""
    rounded = table.with_columns(pl.selectors.float().round_sig_figs(4))
    head = (
        f"# Made by: python experiments/credit_clock.py\n# Version: {_engine.__version__}, "
        f"numbers {_engine.NUMBERS_VERSION}\n"
    )
    path = FOLDER / "results" / "credit-clock" / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + rounded.write_csv(), encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
