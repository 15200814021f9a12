"""Do verdicts on the papers hold where several programs share the memory?

    .venv/bin/python experiments/mixes.py

Two, three and four neighbours of the committed programs are interleaved in turns (`--order
turns:N`), each program as often as another. `experiments/mixes.toml` is run on them and on the
programs alone. The table has each mean with its bootstrap over mixes. Verdicts follow the rules of
the reproductions. Cells that were computed before are taken from ``experiments/datasets``.
"""

from pathlib import Path

import polars as pl
from kept import keep

from clockhand import Trace, convert_traces
from clockhand.reproduce.rules import interval, judged_mean
from clockhand.sweep import read_experiment, run_sweep

ROOT = Path(__file__).resolve().parents[1]
MIXES = ROOT / "experiments/datasets/mixed"
TABLE = ROOT / "experiments/results/mixes/means.csv"
PROGRAMS = (2, 3, 4)
TURNS = (100, 10_000)
"""Requests that pass behind the programs' caches: 10,000 are a slice of some milliseconds."""

CLAIMS = {
    "CRAW over CLOCK": ("craw", "clock", -0.239),
    "CFLRU-static over LRU": ("cflru:", "lru", -0.284),
    "CFLRU-dynamic over LRU": ("cflru-dynamic", "lru", -0.231),
}
"""A policy or the best of those whose names begin so, another, and the paper's mean change."""


def make_mixes() -> None:
    """Write the mixes that are not there."""
    programs = sorted((ROOT / "traces").glob("*.parquet"))
    MIXES.mkdir(parents=True, exist_ok=True)
    for count in PROGRAMS:
        for first in range(len(programs)):
            chosen = [programs[(first + it) % len(programs)] for it in range(count)]
            for turn in TURNS:
                path = MIXES / f"{count}x{turn}-{'-'.join(it.stem for it in chosen)}.parquet"
                if not path.exists():
                    mix = Trace.joined(chosen, order=f"turns:{turn}", watch=False)
                    convert_traces(mix, path, watch=False)


def changes(rows: pl.DataFrame) -> pl.DataFrame:
    """Return by which share a policy needs more time than another: a row per mix and claim.

    The mean is over memory sizes; where the other writes nothing, nothing can be saved.
    """
    mix = pl.col("trace").str.split("/").list.last().str.strip_suffix(".parquet")
    named = rows.with_columns(
        mix.str.extract(r"^(\d)x\d+-").fill_null("1").cast(pl.Int64).alias("programs"),
        mix.str.extract(r"^\dx(\d+)-").cast(pl.Int64).alias("turn"),
        pl.col("policy").str.starts_with("cflru:").alias("has_window"),
    )
    place = ["programs", "turn", "flush_at_end", "trace", "frames"]
    found = []
    for claim, (of, other, paper) in CLAIMS.items():
        is_ours = pl.col("has_window") if of.endswith(":") else pl.col("policy") == of
        ours = named.filter(is_ours).group_by(place).agg(pl.col("io_time_us").min())
        others = named.filter((pl.col("policy") == other) & (pl.col("write_ios") > 0))
        both = ours.join(
            others.select(*place, pl.col("io_time_us").alias("of_other")),
            on=place,
            nulls_equal=True,
        )
        change = (pl.col("io_time_us") / pl.col("of_other") - 1).mean().alias("change")
        means = both.group_by(place[:-1]).agg(change, pl.len().alias("cells"))
        said = (pl.lit(claim).alias("claim"), pl.lit(paper).alias("paper"))
        found.append(means.sort(place[:-1]).select(*said, pl.all()))
    return pl.concat(found)


def means(changed: pl.DataFrame) -> pl.DataFrame:
    """Return the mean over mixes of each kind, between what it lies, and the verdict."""
    keys = ["claim", "paper", "programs", "turn", "flush_at_end"]
    found = []
    for key, group in changed.group_by(keys, maintain_order=True):
        own = dict(zip(keys, key, strict=True))
        values = group["change"].to_list()
        low, high = interval(values)
        told = {"mixes": len(values), "cells": group["cells"].sum()}
        mean = {"mean": sum(values) / len(values), "from": low, "to": high}
        verdict = judged_mean(values, own["paper"]).value
        found.append({**own, **told, **mean, "lower": sum(it < 0 for it in values),
                      "verdict": verdict})  # fmt: skip
    return pl.DataFrame(found, infer_schema_length=None)


def main() -> None:
    """Make what is missing, run it and write the table."""
    make_mixes()
    sweep = run_sweep(read_experiment(ROOT / "experiments/mixes.toml"))
    table = means(changes(sweep.rows))
    traces = {Path(it["name"]).stem: it["sha256"] for it in sweep.facts["traces"]}
    programs = {name: digest for name, digest in traces.items() if not name[0].isdigit()}
    keep(TABLE, table, ".venv/bin/python experiments/mixes.py", traces=programs, digits=4)
    print(TABLE)


if __name__ == "__main__":
    main()
