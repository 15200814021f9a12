"""The CRAW paper's claim of consistently good performance: every cell counts."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.bands import BANDS, in_band
from clockhand.reproduce.claims import CASES_RULE, Claim, Table, judged_cases
from clockhand.reproduce.craw_claims import CLEARING_RULES
from clockhand.reproduce.evidence import Evidence

GOOD = 0.1
"""The I/O time beyond that of the best policy up to which a cell is good."""

CONTENDERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cleared": (
        "against the paper's policies; " + CLEARING_RULES["cfclock"][1],
        ("clock", "car", "cfclock"),
    ),
    "literal": (
        "against the paper's policies; " + CLEARING_RULES["cfclock:clear_passed=false"][1],
        ("clock", "car", "cfclock:clear_passed=false"),
    ),
    "beyond": (
        "against those and CFLRU, LRU-WSR and ARC, which are told of every hit",
        ("clock", "car", "cfclock", "cfclock:clear_passed=false", "cflru", "lru-wsr", "arc"),
    ),
}
"""Whom CRAW is held against: readings, and the policies of each."""


def consistency_claims(evidence: Evidence) -> Iterator[Claim]:
    """A statement about every cell, so that the worst one is shown and not only a mean."""
    for slug, (reading, others) in CONTENDERS.items():
        behind = _behind_the_best(evidence, others)
        held = (behind["behind"] <= GOOD).to_list()
        worst = behind.sort("behind", maintain_order=True).row(-1, named=True)
        yield Claim(
            f"consistently-good-{slug}",
            "section V.B, Figure 12",
            "CRAW dynamically adapts to the changes of workload pattern and memory capacity, "
            "resulting in consistently good performances.",
            f"Cells (trace, memory size below 100 %) in which CRAW needs at most {percent(GOOD)} "
            f"more I/O time than the best of the others. {CASES_RULE}",
            judged_cases(held),
            f"{percent(sum(held) / len(held))} of the cells; the worst cell "
            f"{percent(worst['behind'])} more than {worst['best']}, on {worst['trace']} with "
            f"{percent(worst['memory_share'])} of memory",
            reading=reading,
            evidence=_by_band(behind),
        )


def _behind_the_best(evidence: Evidence, others: Sequence[str]) -> pl.DataFrame:
    """How much more I/O time CRAW needs than the best of some others, in each cell."""
    key = ["trace", "memory_share"]
    against = [
        evidence.ratios("craw", other).with_columns(pl.lit(other).alias("best")) for other in others
    ]
    worst_first = pl.concat(against).sort("ratio", descending=True, maintain_order=True)
    return worst_first.unique(key, keep="first", maintain_order=True).select(
        *key, "best", (pl.col("ratio") - 1).alias("behind")
    )


def _by_band(behind: pl.DataFrame) -> Table:
    rows = []
    for band in BANDS:
        cells = behind.filter(in_band(pl.col("memory_share"), band))
        if cells.is_empty():
            continue
        worst = cells.sort("behind", maintain_order=True).row(-1, named=True)
        good = float((cells["behind"] <= GOOD).mean())  # type: ignore[arg-type]
        median = float(cells["behind"].median())  # type: ignore[arg-type]
        place = f"{worst['trace']}, {percent(worst['memory_share'])}, {worst['best']}"
        rows.append((band, percent(good), percent(median), percent(worst["behind"]), place))
    return (("memory", "cells that are good", "median", "worst cell", "which, behind whom"), *rows)
