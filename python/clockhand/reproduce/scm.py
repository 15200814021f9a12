"""The SCM paper: its experiment, its tables, and what became of its claims."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from clockhand.reproduce.claims import Claim
from clockhand.reproduce.craw import claim_table
from clockhand.reproduce.parts import Judged, sweep_parts
from clockhand.reproduce.scm_caching_claims import judge_caching
from clockhand.reproduce.scm_claims import BEST_FOR_FAULTS, best_pages, judge_paging
from clockhand.reproduce.scm_experiment import (
    DESKTOP,
    DESKTOP_WORKLOADS,
    MOBILE,
    MOBILE_TLB,
    MOBILE_WORKLOADS,
    READINGS_JUDGED,
    SERVERS,
    Measured,
    ScmExperiment,
)
from clockhand.reproduce.scm_mobile_claims import judge_mobile
from clockhand.studies.filecache.run import break_even
from clockhand.study.facts import Facts
from clockhand.sweep.run import SweepWatch
from clockhand.sweep.tables import Table


@dataclass(frozen=True)
class ScmRows:
    """What the claims are judged by.

    Attributes:
        measured: The times of one machine (Figure 1).
        required_hits: After how many hits a cached block pays, a row per device and reading of what
            inserting a block takes (Figure 2).
        servers: Rows of ``filecache`` (Figures 3 to 5).
        desktop: Rows of ``translate`` (Figures 6 to 9).
        mobile: The same of mobile programs (Figures 11 to 13).
        mobile_tlb: The same for sizes of TLB (Figure 10). The rows of every study have the column
            ``workload``, the paper's workload that the trace stands for.
    """

    measured: Measured
    required_hits: pl.DataFrame
    servers: pl.DataFrame
    desktop: pl.DataFrame
    mobile: pl.DataFrame
    mobile_tlb: pl.DataFrame


@dataclass(frozen=True)
class ScmReproduction(Judged[ScmRows, Facts]):
    """What became of the SCM paper's claims."""


def reproduce_scm(
    experiment: ScmExperiment,
    *,
    dataset: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    watch: SweepWatch | None = None,
    command: str | None = None,
) -> ScmReproduction:
    """Compute the cells of the SCM paper's experiment, and judge its claims.

    Args:
        experiment: ``experiments/scm.toml``, or one with the same workloads.
        dataset: The folder to keep the cells in; the experiment's own if not given.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress.
        command: The command line for the facts; the equivalent one if not given.

    Raises:
        UsageError: ``jobs`` is out of range.
        ClockhandError: a trace cannot be read, or the sweep was interrupted.
    """
    swept = sweep_parts(
        experiment.parts,
        experiment.dataset if dataset is None else dataset,
        jobs=jobs,
        watch=watch,
        command=command or "clockhand reproduce scm",
    )
    found = swept.rows
    rows = ScmRows(
        measured=experiment.measured,
        required_hits=break_even(experiment.break_even, insert=READINGS_JUDGED),
        servers=found[SERVERS],
        desktop=found[DESKTOP],
        mobile=found[MOBILE],
        mobile_tlb=found[MOBILE_TLB],
    )
    claims = judge(rows)
    best = _best(rows.desktop)
    return ScmReproduction(
        claims=claims,
        paper_tables={
            "Table 1: characteristics of desktop workloads": _workloads(
                DESKTOP_WORKLOADS, rows.desktop
            ),
            "Figure 7: page size with the fewest faults": _fewest_faults(rows.desktop),
            "Figures 8 and 9: fastest page size": best,
            "Table 2: characteristics of mobile workloads": _workloads(
                MOBILE_WORKLOADS, rows.mobile
            ),
        },
        rows=rows,
        tables=[
            Table("Claims of the SCM paper", "claims", claim_table(claims)),
            Table("Figure 2", "required-hits", rows.required_hits),
            Table("Figures 3 to 5", "servers", rows.servers),
            Table("Fastest page size in bytes", "fastest-page-size", best),
            Table("Figures 6 to 9", "rows", rows.desktop),
            Table("Figure 10", "mobile-tlb", rows.mobile_tlb),
            Table("Figures 11 to 13", "mobile", rows.mobile),
        ],
        facts=swept.facts,
        warnings=swept.warnings,
    )


def judge(rows: ScmRows) -> list[Claim]:
    """Return every claim in the paper's order."""
    return [
        *judge_caching(rows.servers, rows.required_hits, rows.measured),
        *judge_paging(rows.desktop),
        *judge_mobile(rows.mobile, rows.mobile_tlb),
    ]


def _workloads(papers: Iterable[tuple[str, float, int, int]], rows: pl.DataFrame) -> pl.DataFrame:
    paper = [
        {
            "workload": f"{name} (paper)",
            "footprint (MB)": footprint,
            "writes": writes,
            "reads": reads,
        }
        for name, footprint, writes, reads in papers
    ]
    ours = [
        {
            "workload": f"{row['trace']}, for {row['workload']}",
            "footprint (MB)": round(row["footprint_pages"] * row["page_bytes"] / 1e6, 2),
            "writes": row["write_references"],
            "reads": row["read_references"],
        }
        for row in rows.filter(pl.col("page_bytes") == 4096)
        .unique("trace", keep="first", maintain_order=True)
        .to_dicts()
    ]
    return pl.DataFrame([*paper, *ours])


def _fewest_faults(rows: pl.DataFrame) -> pl.DataFrame:
    best = best_pages(rows, "page_fault_ratio", 1.0).pivot("memory", values="page_bytes")
    paper = {name: 1024 * kib for name, kib in BEST_FOR_FAULTS}
    return best.select(
        "workload",
        pl.col("workload").replace_strict(paper).alias("paper (bytes)"),
        *(pl.col(name).alias(f"{name} (bytes)") for name in best.columns[1:]),
    )


def _best(rows: pl.DataFrame) -> pl.DataFrame:
    ratios = rows["storage_ratio"].unique(maintain_order=True)
    tables = [
        best_pages(rows, "amat_ns", ratio)
        .pivot("memory", values="page_bytes")
        .insert_column(1, pl.Series("storage ratio", [ratio]).new_from_index(0, len(_names(rows))))
        for ratio in ratios
    ]
    return pl.concat(tables)


def _names(rows: pl.DataFrame) -> pl.Series:
    return rows["workload"].unique(maintain_order=True)
