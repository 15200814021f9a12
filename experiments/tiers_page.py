"""Runs tiers.toml, keeps its tables and puts them into tiers.md, between its markers.

    .venv/bin/python experiments/tiers_page.py

Cells that were computed before are taken from ``experiments/datasets``. A test holds that the page
is what the kept tables make of it.
"""

from collections.abc import Iterable
from pathlib import Path

import polars as pl
from credit_clock_page import Row, between, made_by, markdown, rows_of
from kept import keep

from clockhand.studies.tier.findings import (
    SLOWDOWNS,
    fast_alone_ns,
    groups,
    offline_lines,
    replaceable,
    still_and_moving,
    with_lines,
)
from clockhand.sweep import read_experiment, run_sweep

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments/results/tiers"
PAGE = ROOT / "experiments/tiers.md"
SIZES = (10, 25, 50, 75)
"""Fast memory of the experiment, in percent of the footprint."""

CXL = "cxl"
ALL_SIZES = 0
"""The size of a row that is of all sizes."""


def main() -> None:
    """Run what is missing, keep the tables and write the page."""
    sweep = run_sweep(read_experiment(ROOT / "experiments/tiers.toml"))
    rows = pl.concat([_with_sizes(with_lines(group)) for group in groups(sweep.rows)])
    traces = {Path(trace["name"]).stem: trace["sha256"] for trace in sweep.facts["traces"]}
    tables = {"slowdown": slowdown(rows), "replaced": replaced(rows), "migration": migration(rows)}
    for name, table in tables.items():
        command = "python experiments/tiers_page.py"
        keep(RESULTS / f"{name}.csv", table, command, traces=traces, digits=4)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def _with_sizes(group: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a group with the nominal size of fast memory and their slowdowns."""
    alone = fast_alone_ns(group)
    sizes = [
        min(SIZES, key=lambda size: abs(size - 100 * share)) for share in group["fast_memory_share"]
    ]
    return group.with_columns(
        pl.Series("size", sizes, pl.Int64),
        (pl.col("mean_ns") / alone).alias("slowdown"),
        (pl.col("mean_access_ns") / alone).alias("access_slowdown"),
    )


def slowdown(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the time over that of fast memory alone, by tiers, size and policy, of all traces."""
    measured = [
        pl.col("slowdown").log().mean().exp().alias("time"),
        pl.col("slowdown").max().alias("worst"),
        pl.col("access_slowdown").log().mean().exp().alias("access"),
    ]
    keys = ["tiers", "size", "line"]
    each = rows.group_by(keys, maintain_order=True).agg(measured)
    whole = rows.group_by("tiers", "line", maintain_order=True).agg(measured)
    whole = whole.with_columns(pl.lit(ALL_SIZES, pl.Int64).alias("size"))
    return pl.concat([each, whole.select(each.columns)])


def replaced(rows: pl.DataFrame) -> pl.DataFrame:
    """Return how much of the footprint slow memory can replace at each slowdown, and under what."""
    found = []
    for (tiers, trace), group in rows.group_by("tiers", "trace", maintain_order=True):
        offline = offline_lines(group)
        table = replaceable(group.drop("slowdown")).filter(~pl.col("policy").is_in(offline))
        for limit in SLOWDOWNS:
            at = table.filter(pl.col("slowdown") == limit).drop_nulls().sort("fast_memory_share")
            best = at.row(0, named=True) if at.height else None
            found.append(
                {
                    "tiers": tiers,
                    "trace": Path(str(trace)).stem,
                    "slowdown": limit,
                    "replaced": 0.0 if best is None else 1 - best["fast_memory_share"],
                    "policy": None if best is None else best["policy"],
                }
            )
    return pl.DataFrame(found)


def migration(rows: pl.DataFrame) -> pl.DataFrame:
    """Return on how many traces the best policy that moves pages beats the best that does not."""
    found = []
    for (tiers, size), at_size in rows.group_by("tiers", "size", maintain_order=True):
        split = at_size.partition_by("trace", maintain_order=True)
        pairs = [still_and_moving(cells) for cells in split]
        ratios = [moving[0]["mean_ns"] / still[0]["mean_ns"] for still, moving in pairs]
        best = [min(still[0], moving[0], key=lambda row: row["mean_ns"]) for still, moving in pairs]
        found.append(
            {
                "tiers": tiers,
                "size": size,
                "traces": len(split),
                "pays": sum(ratio < 1 for ratio in ratios),
                "least": min(ratios),
                "greatest": max(ratios),
                "fastest": "; ".join(dict.fromkeys(row["line"] for row in best)),
            }
        )
    return pl.DataFrame(found)


def page(text: str) -> str:
    """Return the page with the kept tables."""
    lines: dict[str, Iterable[str]] = {
        "made-by": made_by(RESULTS / "slowdown.csv"),
        "slowdown": _slowdown_lines(),
        "cxl": _cxl_lines(),
        "replaced": _replaced_lines(),
        "migration": _migration_lines(),
    }
    for marker, content in lines.items():
        text = between(text, marker, "\n".join(content))
    return text


def _slowdown_lines() -> list[str]:
    rows = [row for row in rows_of(RESULTS / "slowdown.csv") if row["size"] == ALL_SIZES]
    tiers = list(dict.fromkeys(row["tiers"] for row in rows))
    cells = {(row["line"], row["tiers"]): row for row in rows}
    body = [
        [f"`{line}`", *(f"{cells[line, name]['time']:.2f} ({cells[line, name]['access']:.2f})"
                        for name in tiers)]
        for line in dict.fromkeys(row["line"] for row in rows)
    ]  # fmt: skip
    return markdown(["policy", *(f"`{name}`" for name in tiers)], body)


def _cxl_lines() -> list[str]:
    rows = [row for row in rows_of(RESULTS / "slowdown.csv") if row["tiers"] == CXL]
    cells = {(row["line"], row["size"]): row["time"] for row in rows}
    body = [
        [f"`{line}`", *(f"{cells[line, size]:.2f}" for size in SIZES)]
        for line in dict.fromkeys(row["line"] for row in rows)
    ]
    return markdown(["policy", *(f"{size} %" for size in SIZES)], body)


def _replaced_lines() -> list[str]:
    rows = rows_of(RESULTS / "replaced.csv")
    traces = list(dict.fromkeys(row["trace"] for row in rows))
    cells = {(row["tiers"], row["slowdown"], row["trace"]): row for row in rows}
    body = []
    for tiers, slow in dict.fromkeys((row["tiers"], row["slowdown"]) for row in rows):
        shares = (cells[tiers, slow, trace]["replaced"] for trace in traces)
        told = [f"{100 * share:.0f}" for share in shares]
        body.append([f"`{tiers}`", f"{100 * slow:.0f}", *told])
    return markdown(["tiers", "slowdown", *(f"`{trace}`" for trace in traces)], body)


def _migration_lines() -> list[str]:
    rows = rows_of(RESULTS / "migration.csv")
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    cells = {(row["tiers"], row["size"]): row for row in rows}
    body = [
        [f"`{tiers}`", *(_pays(cells[tiers, size]) for size in sizes)]
        for tiers in dict.fromkeys(row["tiers"] for row in rows)
    ]
    return markdown(["tiers", *(f"{size} % fast" for size in sizes)], body)


def _pays(row: Row) -> str:
    return f"{row['pays']} of {row['traces']}, {row['least']:.2f}–{row['greatest']:.2f}"


if __name__ == "__main__":
    main()
