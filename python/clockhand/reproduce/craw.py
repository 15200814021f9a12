"""The CRAW paper: its experiment is run, its tables and figures are made, its claims judged."""

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clockhand import _engine
from clockhand.report.words import percent
from clockhand.reproduce.bands import band_rows
from clockhand.reproduce.claims import Claim
from clockhand.reproduce.craw_claims import policy_claims
from clockhand.reproduce.craw_consistency import consistency_claims
from clockhand.reproduce.craw_inside_claims import SMALL_MEMORY, area_rows
from clockhand.reproduce.craw_overheads import overhead_claims, overhead_rows
from clockhand.reproduce.evidence import Evidence
from clockhand.reproduce.locality_claims import (
    REPEATS,
    VIEWS,
    Reading,
    locality_claims,
    locality_rows,
)
from clockhand.studies.locality.run import locality
from clockhand.studies.locality.tables import TABLES
from clockhand.studies.pages.run import GAUGE_SCHEMA, run_simulation
from clockhand.study.facts import Facts
from clockhand.study.policies import BASELINE
from clockhand.sweep import Experiment, analyse, run_sweep
from clockhand.sweep.run import SweepWatch
from clockhand.sweep.tables import Table

DEFAULT_VIEW = "paper"
AS_IT_IS = "as it is"

KEPT_COLUMNS = (
    "trace", "policy", "frames", "memory_share", "read_references", "write_references", "read_ios",
    "write_ios", "io_time_us", "clean_evictions", "dirty_evictions", "hand_movements",
)  # fmt: skip
"""Columns of the rows that claims and bands are made from."""

GAUGE_SAMPLES = 400
"""Samples of a gauge that a figure can show."""

PAPERS_DEVICES = (
    # Table 1: column, our profile, read, write, ratio.
    ("NAND flash, SLC (2 kB page)", "slc-nand", 2048, "25 μs", "200 μs", "1:8"),
    ("NAND flash, MLC (4 kB page)", "mlc-nand", 4096, "60 μs", "800 μs", "1:13.3"),
    ("NAND-based SSD, random (4 kB)", "x25m-ssd", 4096, "35,000 IOPS", "3,300 IOPS", "1:10.6"),
    (
        "NAND-based SSD, sequential",
        "x25m-ssd-sequential",
        4096,
        "250 MB/s",
        "70 MB/s",
        "1:3.6",
    ),
)
PAPERS_WORKLOADS = (
    # Table 2: workload, memory footprint in kB, reads : writes, references.
    ("xmms", "8,050", "1 : 5.13", 1_168_939),
    ("gqview", "7,430", "1 : 1.30", 610_685),
    ("gedit", "14,460", "12.05 : 1", 1_733_763),
    ("freecell", "10,080", "7.16 : 1", 490_175),
    ("kghostview", "17,390", "13.93 : 1", 1_546_135),
    ("tar_gzip", "752", "5.23 : 1", 4_535),
)


@dataclass(frozen=True)
class Reproduction:
    """What became of the CRAW paper's claims.

    Attributes:
        claims: Every claim with our number and a verdict, in the paper's order.
        devices: The paper's Table 1 beside our profiles.
        workloads: The paper's Table 2, then our traces in the same columns.
        bands: I/O time over CLOCK's by bands of memory, as :func:`band_rows` returns it.
        recency: Median inter-reference recency of reads and writes, which the paper's conclusion
            leaves to the future.
        rows: The rows of the sweep.
        gauges: CRAW's gauges at a fifth of memory.
        localities: The tables of the locality analysis, by name.
        tables: The tables of the experiment's analyses, and one of the claims.
        facts: How all of it was made.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    claims: list[Claim]
    devices: pl.DataFrame
    workloads: pl.DataFrame
    bands: pl.DataFrame
    recency: pl.DataFrame
    rows: pl.DataFrame
    gauges: pl.DataFrame
    localities: Mapping[str, pl.DataFrame]
    tables: list[Table]
    facts: Facts
    warnings: list[str]


def reproduce_craw(
    experiment: Experiment,
    *,
    dataset: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    watch: SweepWatch | None = None,
    command: str | None = None,
) -> Reproduction:
    """Run the CRAW paper's experiment and judge the paper's claims.

    Args:
        experiment: ``experiments/craw.toml``, or one with the same policies.
        dataset: The folder to keep the cells in; the experiment's own if not given.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress.
        command: The command line for the facts; the equivalent one if not given.

    Raises:
        ClockhandError: a trace cannot be read, or the sweep was interrupted.
    """
    sweep = run_sweep(experiment, dataset=dataset, jobs=jobs, watch=watch, command=command)
    setting = experiment.settings[0].options
    found = locality(
        list(experiment.traces), page_size=setting["page_size"], device=setting["device"]
    )
    names = _short_names(experiment.traces)
    rows = _renamed(sweep.rows, names)
    gauges = _renamed(_gauges(experiment, sweep.rows), names)
    localities = {name: _renamed(found.table(name), names) for name in TABLES}
    for trace in sweep.facts["traces"]:
        trace["name"] = names[trace["name"]]
    view = found.facts["traces"][0]["view"] or AS_IT_IS
    has_views = all(trace["view"] for trace in found.facts["traces"])
    readings = {(view, REPEATS[0]): localities}
    readings |= _other_readings(experiment, names, [*VIEWS] if has_views else [view])
    evidence = Evidence(rows)
    overheads = overhead_rows(
        names, page_size=setting["page_size"], device=setting["device"], jobs=jobs
    )
    areas = area_rows(gauges)
    orders = locality_rows(readings)
    claims = judged_claims(rows, orders, areas, overheads)
    policies = rows["policy"].unique(maintain_order=True).to_list()
    recency = _inter_reference(localities, rows)
    bands = band_rows(evidence, [policy for policy in policies if policy != BASELINE])
    tables = [Table(item.title, item.slug, analyse(rows, item)) for item in experiment.analyses]
    return Reproduction(
        claims=claims,
        devices=_devices(),
        workloads=_workloads(sweep.facts),
        bands=bands,
        recency=recency,
        rows=rows,
        gauges=gauges,
        localities=localities,
        tables=[
            *tables,
            Table("Counts of each cell", "rows", rows.select(KEPT_COLUMNS)),
            Table("Rankings, their order, and what chance makes of it", "locality", orders),
            Table("CRAW's read area at a fifth of memory", "areas", areas),
            Table("I/O time over CLOCK's by bands of memory", "bands", bands),
            Table("Software overheads, priced", "overheads", overheads),
            Table("Inter-reference recency", "inter-reference-recency", recency),
            Table("Claims of the CRAW paper", "claims", claim_table(claims)),
        ],
        facts=sweep.facts,
        warnings=sweep.warnings,
    )


def judged_claims(
    rows: pl.DataFrame, orders: pl.DataFrame, areas: pl.DataFrame, overheads: pl.DataFrame
) -> list[Claim]:
    """Judge all claims by four tables that are kept.

    Args:
        rows: The rows of the experiment, with the columns ``KEPT_COLUMNS`` at least.
        orders: What :func:`locality_rows` returns.
        areas: What :func:`area_rows` returns.
        overheads: What :func:`overhead_rows` returns.
    """
    evidence = Evidence(rows)
    return [
        *locality_claims(orders),
        *policy_claims(evidence, areas),
        *consistency_claims(evidence),
        *overhead_claims(overheads),
    ]


def _other_readings(
    experiment: Experiment, names: Mapping[str, str], views: Sequence[str]
) -> dict[Reading, dict[str, pl.DataFrame]]:
    """The rankings in the views, and with the counting of repeats, that the figures do not have."""
    setting = experiment.settings[0]
    tables = {}
    for view, repeats in itertools.product(views, REPEATS):
        if view in (DEFAULT_VIEW, AS_IT_IS) and repeats == REPEATS[0]:
            continue
        found = locality(
            list(experiment.traces),
            page_size=setting.options["page_size"],
            device=setting.options["device"],
            repeats=repeats,
            view=None if view == AS_IT_IS else view,
        )
        tables[view, repeats] = {
            name: _renamed(found.table(name), names) for name in ("summary", "ranks")
        }
    return tables


def _inter_reference(localities: Mapping[str, pl.DataFrame], rows: pl.DataFrame) -> pl.DataFrame:
    """The median of the other pages between two references to one, by what the later one does."""
    footprints = dict(rows.select("trace", "footprint_pages").unique().rows())
    table = localities["recency"].sort("recency_pages", maintain_order=True)
    found = []
    for trace in rows["trace"].unique(maintain_order=True):
        of_trace = table.filter(pl.col("trace") == trace)
        row = {"trace": trace, "footprint (pages)": footprints[trace]}
        for op in ("read", "write"):
            counts = of_trace[f"{op}_references"]
            total = max(1, int(counts.sum()))
            median = of_trace.filter(2 * counts.cum_sum() >= total)["recency_pages"]
            near = of_trace.filter(pl.col("recency_pages") <= 0.1 * footprints[trace])
            row[f"median of {op}s (pages)"] = median[0] if len(median) else None
            row[f"{op}s within a tenth of the footprint"] = percent(
                int(near[f"{op}_references"].sum()) / total
            )
        found.append(row)
    return pl.DataFrame(found)


def _short_names(traces: Sequence[str]) -> dict[str, str]:
    """Names for a page that names traces often: file names without endings, where they differ."""
    stems = [Path(trace).name.partition(".")[0] for trace in traces]
    if len(set(stems)) < len(stems):
        return {trace: trace for trace in traces}
    return dict(zip(traces, stems, strict=True))


def _renamed(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    return table.with_columns(pl.col("trace").replace_strict(names, return_dtype=pl.String))


def claim_table(claims: list[Claim]) -> pl.DataFrame:
    """Return claims as a table, a row each."""
    columns: Mapping[str, Callable[[Claim], str]] = {
        "claim": lambda claim: claim.key,
        "place": lambda claim: claim.place,
        "reading": lambda claim: claim.reading,
        "verdict": lambda claim: str(claim.verdict),
        "counted": lambda claim: "no, true by construction" if claim.by_construction else "yes",
        "paper": lambda claim: claim.paper,
        "found": lambda claim: claim.found,
        "quote": lambda claim: claim.quote,
    }
    return pl.DataFrame(
        {name: [text(claim).replace("\u00a0", " ") for claim in claims]
         for name, text in columns.items()}
    )  # fmt: skip


def _gauges(experiment: Experiment, rows: pl.DataFrame) -> pl.DataFrame:
    """Sample CRAW's gauges on each trace at a small memory; the paper's Figure 15 is of xmms."""
    setting = experiment.settings[0].options
    memory = f"{100 * SMALL_MEMORY:g}%"
    frames = [pl.DataFrame(schema=GAUGE_SCHEMA)]
    for trace in experiment.traces:
        of_trace = rows.filter((pl.col("trace") == trace) & (pl.col("policy") == "craw"))
        nearest = of_trace.sort((pl.col("memory_share") - SMALL_MEMORY).abs()).row(0, named=True)
        frames.append(
            run_simulation(
                trace,
                policies="craw",
                memory=memory,
                page_size=setting["page_size"],
                device=setting["device"],
                gauge_every=max(1, nearest["misses"] // GAUGE_SAMPLES),
            ).gauges
        )
    return pl.concat(frames)


def _devices() -> pl.DataFrame:
    rows = []
    for column, device, page_bytes, read, write, ratio in PAPERS_DEVICES:
        plan = _engine.plan_cells(
            {"policy": ["clock"], "frames": "1", "page_size": str(page_bytes), "device": device},
            footprint_pages=None,
        )
        ours = plan["device"]
        rows.append(
            {
                "Table 1": column,
                "read, paper": read,
                "write, paper": write,
                "ratio, paper": ratio,
                "our profile": device,
                "read µs": round(ours["read_time_us"], 2),
                "write µs": round(ours["write_time_us"], 2),
                "ratio": f"1:{ours['write_time_us'] / ours['read_time_us']:.1f}",
            }
        )
    return pl.DataFrame(rows)


def _workloads(facts: Facts) -> pl.DataFrame:
    paper = [
        {
            "workload": f"{name} (paper)",
            "memory footprint (kB)": footprint,
            "reads : writes": ratio,
            "references": references,
        }
        for name, footprint, ratio, references in PAPERS_WORKLOADS
    ]
    ours = [
        {
            "workload": trace["name"],
            "memory footprint (kB)": f"{trace['footprint_pages'] * trace['page_bytes'] / 1e3:,.0f}",
            "reads : writes": _ratio(trace["read_references"], trace["write_references"]),
            "references": trace["references"],
        }
        for trace in facts["traces"]
    ]
    return pl.DataFrame([*paper, *ours])


def _ratio(reads: int, writes: int) -> str:
    if reads == 0 or writes == 0:
        return f"{reads} : {writes}"
    return f"{reads / writes:.2f} : 1" if reads >= writes else f"1 : {writes / reads:.2f}"
