"""Makes the tables of credit-clock.md and docs/method.md: traces, sweeps, statistics.

Run it from the project's folder: ``.venv/bin/python experiments/credit_clock.py [FOLDER]``. Cells
that were computed before are taken from ``experiments/datasets``. FOLDER has public traces that are
not in the repository (``PUBLIC``); without it their tables stay as they are.
"""

import datetime
import random
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import polars as pl
from credit_clock_page import write_tables
from kept import keep

from clockhand import Trace, run_ssd, synthesize
from clockhand.study.facts import Facts, SsdRunFacts
from clockhand.sweep import Experiment, read_experiment, run_sweep

FOLDER = Path(__file__).parent
SYNTHETIC = {
    "zipf": "zipf:skew=0.9,footprint=64MiB,reads=70%",
    "phases": "zipf:skew=0.8,footprint=32MiB,reads=60% for 100k then loop:footprint=8MiB,reads=80% "
    "for 50k",
}
PUBLIC = {
    "alibaba_replay_52k.log.xz": "heimdall-replay",
    "cloudPhysicsIO.vscsi.xz": "vscsi",
    "hplajw_1week.srt.xz": "hp-srt",
    "msr_cut_rw_20_80.105.trace.xz": "heimdall-raw",
    "os_gcc.trace.xz": "os-course",
    "os_swim.trace.xz": "os-course",
}
BLOCK_TRACES = tuple(PUBLIC)[:4]
STAND_INS = ("financial-stand-in", "camwebdev-stand-in", "filebench-random-rw-stand-in")
BUFFERS = (
    "lru", "clock", "cflru", "lru-wsr", "craw", "credit-clock", "clock-dnv", "fab", "bplru",
    "pud-lru", "bpac", "block-min",
)  # fmt: skip
RESAMPLES = 2000
SEED = 18
BOOTSTRAP_SEEDS = range(SEED, SEED + 5)
BASELINE = "clock"
AT_ONCE = 8
"""Pages that a drive writes in the time of one, and what ACE writes at once."""
UNIT_WRITE = 8
"""The price of a write on the device ``unit``, where a read is 1."""
ENDS = ("bound", "bound:effort=0", "opt-feasible")


def main() -> None:
    """Make everything that is missing, then write the tables."""
    make_synthetic_traces()
    results = Results()
    names = ("credit-clock", "credit-clock-unflushed")
    rows = pl.concat([results.of(experiment(name)) for name in names])
    unit = rows.filter(pl.col("device") == "unit")
    keys = ["flush_at_end", "device", "policy"]
    results.add("relative-to-clock", relative_to_clock(rows, keys))
    results.add("against", against(rows, keys))
    results.add("by-trace", by_trace(unit))
    results.add("counts", counts(unit))
    results.add("bracket", brackets(rows, ["flush_at_end", "device"]))
    results.add("bracket-by-trace", brackets(unit, ["flush_at_end", "trace"]))
    results.add("bracket-widths", widths(results.of(experiment("bracket"))))
    ablation = results.of(experiment("credit-clock-ablation"))
    results.add("ablation", relative_to_clock(ablation, ["policy"]))
    readings = results.of(experiment("credit-clock-readings"))
    results.add("readings", relative_to_clock(readings, ["flush_at_end", "policy"]))
    ace = results.of(experiment("credit-clock-ace"))
    results.add("ace", one_and_several_at_once(ace))
    mapped = results.of(experiment("credit-clock-mapped"))
    results.add("mapped-bits", relative_to_clock(mapped, ["device", "policy"]))
    results.add("mapped-bits-counts", counts(mapped.filter(pl.col("device") == "unit")))
    results.add("write-buffer", write_buffers(results))
    if len(sys.argv) > 1:
        add_public(results, Path(sys.argv[1]))
    write_tables(FOLDER.parent, FOLDER / "results" / "credit-clock")


class Results:
    """Runs experiments, remembers what they were run on, and writes tables that say so."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def of(self, experiment: Experiment) -> pl.DataFrame:
        """Return the rows of an experiment with their ratios to CLOCK and to the bracket."""
        print(f"{experiment.path.stem} …", file=sys.stderr)
        sweep = run_sweep(experiment)
        self.know(sweep.facts)
        return with_ratios(sweep.rows)

    def know(self, facts: Facts | SsdRunFacts) -> None:
        """Remember the traces that were read."""
        for trace in facts["traces"]:
            self._digests[short_name(trace["name"])] = trace["sha256"][:12]

    def add(self, name: str, table: pl.DataFrame) -> None:
        """Write a table with what made it, to four digits."""
        path = FOLDER / "results" / "credit-clock" / f"{name}.csv"
        keep(
            path,
            table,
            "python experiments/credit_clock.py",
            f"date: {datetime.datetime.now(datetime.UTC).date()}",
            f"seeds: synthetic traces {SEED}, bootstrap {SEED} (of rivals to "
            f"{BOOTSTRAP_SEEDS[-1]}), policies 0, drives 1",
            traces=self._digests,
            digits=4,
        )
        print(path)


def experiment(name: str) -> Experiment:
    """Return the experiment of this name."""
    return read_experiment(FOLDER / f"{name}.toml")


def short_name(trace: str) -> str:
    """Return the name of a trace's file without its endings."""
    return Path(trace).name.partition(".")[0]


def make_synthetic_traces() -> None:
    """Write the synthetic traces that are not there."""
    folder = FOLDER / "datasets" / "synthetic"
    folder.mkdir(parents=True, exist_ok=True)
    for name, recipe in SYNTHETIC.items():
        path = folder / f"{name}.parquet"
        if not path.exists():
            synthesize(recipe, path, requests=500_000, seed=SEED)


def with_ratios(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with their I/O time over CLOCK's, and the times of both ends."""
    rows = rows.with_columns(
        pl.col("trace").map_elements(short_name, return_dtype=pl.String),
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


def interval(by_trace: Sequence[float], seed: int = SEED) -> tuple[float, float]:
    """Return where 95 % of the means of resampled traces are: a bootstrap over traces."""
    numbers = random.Random(seed)
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


def against(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return credit-clock's I/O time over that of each other policy, with the widest interval.

    The interval reaches from the lowest to the highest end that the bootstrap gives with any seed.
    """
    place = ["trace", "frames", "device", "flush_at_end"]
    own = rows.filter(pl.col("policy") == "credit-clock")
    own = own.select(*place, pl.col("io_time_us").alias("own_us"))
    rivals = rows.filter(~pl.col("policy").is_in(["credit-clock", *ENDS]))
    joined = rivals.join(own, on=place, how="left", maintain_order="left")
    ratios = joined.with_columns(ratio=pl.col("own_us") / pl.col("io_time_us"))
    known = ratios.filter(pl.col("ratio").is_finite() & (pl.col("ratio") > 0))
    table: list[dict[str, Any]] = []
    for key, group in known.group_by(keys, maintain_order=True):
        traces = group.partition_by("trace", maintain_order=True)
        means = [geometric_mean(trace["ratio"]) for trace in traces]
        lows, highs = zip(*(interval(means, seed) for seed in BOOTSTRAP_SEEDS), strict=True)
        table.append({
            **dict(zip(keys, key, strict=True)),
            "geometric_mean": geometric_mean(group["ratio"]),
            "from": min(lows),
            "to": max(highs),
            "traces_ahead": sum(mean < 1 for mean in means),
            "traces": len(means),
        })  # fmt: skip
    return pl.DataFrame(table)


def one_and_several_at_once(rows: pl.DataFrame) -> pl.DataFrame:
    """Return times over CLOCK's where a drive writes one page at a time, and where it writes more.

    A batch of ACE is a dirty victim and what is written with it. The other policies wait for each
    write, and all write what is dirty at the end in full batches.
    """
    place = ["trace", "frames", "flush_at_end"]
    at_the_end = pl.col("write_ios") - pl.col("dirty_evictions") - pl.col("write_backs")
    batches = pl.col("dirty_evictions") + (at_the_end / AT_ONCE).ceil()
    timed = rows.with_columns(at_once=pl.col("read_ios") + UNIT_WRITE * batches)
    clock = timed.filter(pl.col("policy") == BASELINE)
    clock = clock.select(*place, pl.col("at_once").alias("clock_at_once"))
    timed = timed.join(clock, on=place, how="left", maintain_order="left")
    several = timed.with_columns(ratio=pl.col("at_once") / pl.col("clock_at_once"))
    keys = ["flush_at_end", "policy"]
    tables = [relative_to_clock(one, keys) for one in (rows, several)]
    return pl.concat(
        table.with_columns(pages_at_once=pl.lit(pages))
        for pages, table in zip((1, AT_ONCE), tables, strict=True)
    )


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


def brackets(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return how wide the bracket is, and how far below it the bound without prices."""
    table: list[dict[str, Any]] = []
    for key, group in rows.group_by(keys, maintain_order=True):
        feasible = group.filter((pl.col("policy") == "opt-feasible") & (pl.col("bound_us") > 0))
        plain = group.filter((pl.col("policy") == "bound:effort=0") & (pl.col("io_time_us") > 0))
        gaps = (100 * (feasible["io_time_us"] / feasible["bound_us"] - 1)).to_list()
        rise = geometric_mean((plain["bound_us"] / plain["io_time_us"]).to_list()) - 1
        table.append({
            **dict(zip(keys, key, strict=True)),
            "cells": len(gaps),
            "closed": sum(gap == 0 for gap in gaps),
            "median_gap_percent": statistics.median(gaps),
            "mean_gap_percent": statistics.fmean(gaps),
            "widest_gap_percent": max(gaps),
            "above_the_bound_without_prices_percent": 100 * rise,
        })  # fmt: skip
    return pl.DataFrame(table)


def widths(rows: pl.DataFrame) -> pl.DataFrame:
    """Return by how many percent both ends differ, a row per trace and a column per memory size."""
    percent = (100 * pl.col("memory_share")).round(0).cast(pl.Int64).cast(pl.String)
    feasible = rows.filter(pl.col("policy") == "opt-feasible").select(
        "trace",
        (percent + " %").alias("memory"),
        (100 * (pl.col("io_time_us") / pl.col("bound_us") - 1)).alias("gap_percent"),
    )
    return feasible.pivot("memory", index="trace", values="gap_percent")


def write_buffers(results: Results) -> pl.DataFrame:
    """Return what write buffers make of the stand-ins of the CLOCK-DNV paper's traces."""
    rows = []
    for recipe in STAND_INS:
        print(f"{recipe} …", file=sys.stderr)
        run = run_ssd(
            synthesize(recipe),
            buffers=sized(("16MiB", "32MiB", "64MiB", "128MiB")),
            ssds="dnv-textbook:size=1GiB",
            precondition="random",
            drain=True,
            seed=1,
        )
        results.know(run.facts)
        rows.append(run.rows)
    return over_lru(pl.concat(rows))


def sized(totals: Sequence[str]) -> list[str]:
    """Return the buffers in all sizes."""
    return [f"{buffer}:total={total}" for total in totals for buffer in BUFFERS]


def over_lru(rows: pl.DataFrame) -> pl.DataFrame:
    """Return hit ratios and geometric means over LRU's of what the drive was written and erased."""
    rows = rows.with_columns(pl.col("buffer").str.split(":").list.first())
    place = ["trace", "buffer_pages"]
    counted = ("host_writes", "flash_reads", "flash_programs", "erases")
    lru = rows.filter(pl.col("buffer") == "lru")
    lru = lru.select(*place, *(pl.col(name).alias(f"lru_{name}") for name in counted))
    rows = rows.join(lru, on=place, how="left", maintain_order="left")
    rows = rows.with_columns(
        pl.col("trace").map_elements(short_name, return_dtype=pl.String),
        *((pl.col(name) / pl.col(f"lru_{name}")).alias(f"{name}_over_lru") for name in counted),
    )
    every = rows.with_columns(pl.lit("all").alias("trace"))
    return (
        pl.concat([rows, every])
        .group_by("trace", "buffer", maintain_order=True)
        .agg(
            pl.len().alias("cells"),
            pl.col("hit_ratio").mean(),
            *(
                ratio_of.filter(ratio_of.is_finite()).mean().exp().alias(f"{name}_over_lru")
                for name in counted
                for ratio_of in [pl.col(f"{name}_over_lru").log()]
            ),
            pl.col("host_writes_over_lru").max().alias("worst_host_writes_over_lru"),
        )
    )


def add_public(results: Results, folder: Path) -> None:
    """Write tables about public traces that are not in the repository."""
    template = experiment("credit-clock")
    unit = [it for it in template.settings if it.options["device"] == "unit"]
    rows = []
    for name, form in PUBLIC.items():
        if (path := folder / name).exists():
            settings = tuple(replace(it, trace_format=form) for it in unit)
            rows.append(results.of(replace(template, traces=(str(path),), settings=settings)))
    results.add("public-traces", by_trace(pl.concat(rows)))
    results.add("public-traces-relative-to-clock", relative_to_clock(pl.concat(rows), ["policy"]))
    runs = []
    for name in BLOCK_TRACES:
        print(f"{name} …", file=sys.stderr)
        run = run_ssd(
            Trace(folder / name, format=PUBLIC[name]),
            buffers=sized(("1%", "2%", "5%", "10%")),
            ssds="dnv-textbook:size=4GiB",
            precondition="random",
            map="compact",
            drain=True,
            seed=1,
        )
        results.know(run.facts)
        runs.append(run.rows)
    results.add("write-buffer-public-traces", over_lru(pl.concat(runs)))


if __name__ == "__main__":
    main()
