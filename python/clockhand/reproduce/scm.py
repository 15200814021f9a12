"""The SCM paper: its experiment on desktop programs, its tables, and what became of its claims."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clockhand._engine import UsageError
from clockhand.reproduce.claims import Claim
from clockhand.reproduce.craw import claim_table
from clockhand.reproduce.scm_claims import BEST_FOR_FAULTS, best_pages, judge
from clockhand.studies.translate.run import translate
from clockhand.study.facts import Facts
from clockhand.sweep.experiment import read_content
from clockhand.sweep.tables import Table
from clockhand.traces import Watch

PAPERS_WORKLOADS = (
    # Table 1: workload, footprint in MB, writes, reads.
    ("freecell", 9.84, 60_040, 430_135),
    ("gedit", 14.12, 132_822, 1_600_941),
    ("gqview", 7.26, 645_399, 265_286),
    ("kghostview", 16.98, 103_540, 1_442_595),
    ("xmms", 7.86, 978_242, 190_697),
)
KEYS = {"question", "expected", "page_sizes", "tlb", "memory", "ratios", "desktop"}


@dataclass(frozen=True)
class ScmExperiment:
    """A checked experiment; ``desktop`` are pairs of the paper's workload and our trace."""

    path: Path
    question: str
    expected: str
    page_sizes: tuple[str, ...]
    tlb: str
    memory: tuple[str, ...]
    ratios: tuple[str, ...]
    desktop: tuple[tuple[str, Path], ...]


@dataclass(frozen=True)
class ScmReproduction:
    """What became of the SCM paper's claims.

    Attributes:
        claims: Every claim with a verdict, in the paper's order.
        paper_tables: The paper's Table 1 beside ours, and the best page sizes, by title.
        rows: The rows of all cells, with the column ``workload``: the paper's program that the
            trace stands for.
        tables: The tables that are kept.
        facts: How all of it was made.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    claims: list[Claim]
    paper_tables: Mapping[str, pl.DataFrame]
    rows: pl.DataFrame
    tables: list[Table]
    facts: Facts
    warnings: list[str]


def read_scm_experiment(path: str | os.PathLike[str]) -> ScmExperiment:
    """Read ``experiments/scm.toml`` or a file like it; no trace is opened.

    Raises:
        UsageError: it is not TOML, or a key is unknown, missing or of another kind.
        OSError: the file cannot be read.
    """
    file = Path(path)
    content = read_content(file)
    if wrong := sorted(KEYS ^ set(content)):
        kind = "unknown" if wrong[0] in content else "missing"
        raise UsageError(
            f"{file}: the key {wrong[0]!r} is {kind}; the keys are {', '.join(sorted(KEYS))}"
        )
    try:
        return _experiment(file, content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{file}: a value is missing or not of its kind ({error}); compare it with "
            "experiments/scm.toml"
        ) from error


def _experiment(file: Path, content: Mapping[str, Any]) -> ScmExperiment:
    desktop = tuple(
        (str(entry["workload"]), file.parent / entry["trace"]) for entry in content["desktop"]
    )
    known = {workload for workload, *_ in PAPERS_WORKLOADS}
    if {workload for workload, _ in desktop} != known or len(desktop) != len(known):
        raise ValueError(f"the workloads are {', '.join(sorted(known))}, each once")
    ratios = _texts(content["ratios"])
    if missing := {"1", "10", "100"} - set(ratios):
        raise ValueError(f"the ratios lack {', '.join(sorted(missing))}")
    return ScmExperiment(
        path=file,
        question=str(content["question"]),
        expected=str(content["expected"]),
        page_sizes=_texts(content["page_sizes"]),
        tlb=str(content["tlb"]),
        memory=_texts(content["memory"]),
        ratios=ratios,
        desktop=desktop,
    )


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{values!r} is not a list of texts")
    return tuple(values)


def reproduce_scm(
    experiment: ScmExperiment,
    *,
    jobs: int | None = None,
    watch: Watch | None = None,
    command: str | None = None,
) -> ScmReproduction:
    """Run what the traces at hand allow of the SCM paper, and judge its claims.

    Args:
        experiment: ``experiments/scm.toml``, or one with the same workloads.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress.
        command: The command line for the facts; the equivalent one if not given.

    Raises:
        UsageError: a page size, TLB, memory size or ratio is not valid.
        ClockhandError: a trace cannot be read.
    """
    run = translate(
        [trace for _, trace in experiment.desktop],
        page_size=experiment.page_sizes,
        tlb=experiment.tlb,
        memory=experiment.memory,
        ratio=experiment.ratios,
        jobs=jobs,
        watch=watch,
        command=command or "clockhand reproduce scm",
    )
    workloads = {str(trace): workload for workload, trace in experiment.desktop}
    rows = run.rows.with_columns(pl.col("trace").replace_strict(workloads).alias("workload"))
    names = {trace: Path(trace).name.partition(".")[0] for trace in workloads}
    rows = rows.with_columns(pl.col("trace").replace_strict(names, return_dtype=pl.String))
    for trace in run.facts["traces"]:
        trace["name"] = names[trace["name"]]
    claims = judge(rows)
    best = _best(rows)
    return ScmReproduction(
        claims=claims,
        paper_tables={
            "Table 1: characteristics of desktop workloads": _workloads(rows),
            "Figure 7: page size with the fewest faults": _fewest_faults(rows),
            "Figures 8 and 9: fastest page size": best,
        },
        rows=rows,
        tables=[
            Table("Claims of the SCM paper", "claims", claim_table(claims)),
            Table("Fastest page size in bytes", "fastest-page-size", best),
            Table("Figures 6 to 9", "rows", rows),
        ],
        facts=run.facts,
        warnings=run.warnings,
    )


def _workloads(rows: pl.DataFrame) -> pl.DataFrame:
    paper = [
        {
            "workload": f"{name} (paper)",
            "footprint (MB)": footprint,
            "writes": writes,
            "reads": reads,
        }
        for name, footprint, writes, reads in PAPERS_WORKLOADS
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
