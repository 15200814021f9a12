"""The CFLRU paper: its experiment, its tables, and what became of its claims."""

import os
from dataclasses import dataclass

import polars as pl

from clockhand.reproduce.cflru_claims import (
    AT_16_MIB,
    PAPERS_FRAMES,
    PAPERS_MB,
    CflruRows,
    costs,
    judge,
    judged_cells,
    replaced,
)
from clockhand.reproduce.cflru_experiment import (
    BUFFERS,
    KERNELS,
    LINUX,
    NO_READ_AHEAD,
    PAPERS_MEMORY,
    SWAP,
    CflruExperiment,
)
from clockhand.reproduce.craw import claim_table
from clockhand.reproduce.parts import Judged, Part, sweep_parts
from clockhand.studies.locality.window import predict_window
from clockhand.study.facts import Facts
from clockhand.sweep.run import SweepWatch
from clockhand.sweep.tables import Table

PAPERS_SCENARIOS = (
    # Table 2: workload, scenario.
    ("Gqview", "Performs a slide show of seven images and adjusts their sizes."),
    ("Kword", "Edits several lines and saves in a text document."),
    ("Kspread", "Calculates sum, avg., min., and max. of numerical data, and sorts them."),
    ("Acrobat reader", "Views a PDF document."),
    (
        "Mozilla",
        "Browses several web sites such as shopping mall, news center, mail server, etc.",
    ),
)
PAPERS_REFERENCES = {
    # Table 3: workload, reads, of instructions too, and writes.
    SWAP: {"Gqview": (12_334_123, 16_606_758), "Kword": (3_863_133, 916_253),
           "Kspread": (7_779_997, 3_586_264), "Acrobat reader": (4_318_893, 6_496_955),
           "Mozilla": (35_137_087, 6_396_285)},
    BUFFERS: {"Gqview": (82_792, 1_434), "Kword": (29_402, 4_212), "Kspread": (33_115, 1_604),
              "Acrobat reader": (36_244, 1_640), "Mozilla": (25_557, 13_584)},
}  # fmt: skip
PAPERS_NAND = (
    # Table 1: operation, µs and µJ for 4 KB.
    ("read", 284.2, 9.4),
    ("write", 1833.0, 59.6),
    ("erase", 499.2, 16.5),
)


@dataclass(frozen=True)
class CflruReproduction(Judged[CflruRows, Facts]):
    """What became of the CFLRU paper's claims."""


def reproduce_cflru(
    experiment: CflruExperiment,
    *,
    dataset: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    watch: SweepWatch | None = None,
    command: str | None = None,
) -> CflruReproduction:
    """Compute the cells of the CFLRU paper's experiment, and judge its claims.

    Args:
        experiment: ``experiments/cflru.toml``, or one with the same workloads.
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
        command=command or "clockhand reproduce cflru",
    )
    found = swept.rows
    rows = CflruRows(
        swap=found[SWAP],
        buffers=found[BUFFERS],
        kernels=found[KERNELS],
        windows=_windows(experiment.parts[SWAP]),
    )
    claims = judge(rows)
    tables = _figures(rows)
    return CflruReproduction(
        claims=claims,
        paper_tables={
            "Table 1: NAND flash, for 4 KB; the profile is cflru-nand": _flash(),
            "Table 2: scenarios": _scenarios(rows),
            "Table 3: workloads": _workloads(rows),
            **tables,
        },
        rows=rows,
        tables=[
            Table("Claims of the CFLRU paper", "claims", claim_table(claims)),
            Table("Figure 4(a)", "swap", rows.swap),
            Table("Figure 4(b)", "buffers", rows.buffers),
            Table("Figures 6 and 7", "kernels", rows.kernels),
        ],
        facts=swept.facts,
        warnings=swept.warnings,
    )


def _windows(part: Part) -> pl.DataFrame:
    """Figure 2, at the paper's memory: a row for each position of each program's LRU list."""
    frames = []
    for trace, workload, name in zip(part.sweep.traces, part.workloads, part.names, strict=True):
        predicted = predict_window(trace, memory=PAPERS_MEMORY, device="unit")
        frames.append(
            predicted.rows.with_columns(
                pl.lit(name).alias("trace"), pl.lit(workload).alias("workload")
            )
        )
    return pl.concat(frames)


def _flash() -> pl.DataFrame:
    return pl.DataFrame(PAPERS_NAND, schema=["operation", "time (µs)", "energy (µJ)"], orient="row")


def _scenarios(rows: CflruRows) -> pl.DataFrame:
    stand_ins = {
        part: dict(data.select("workload", "trace").unique().iter_rows())
        for part, data in ((SWAP, rows.swap), (BUFFERS, rows.buffers))
    }
    return pl.DataFrame(
        [
            {
                "workload": name,
                "the paper's scenario": scenario,
                "memory": stand_ins[SWAP][name],
                "files": stand_ins[BUFFERS][name],
            }
            for name, scenario in PAPERS_SCENARIOS
        ]
    )


def _workloads(rows: CflruRows) -> pl.DataFrame:
    lines = []
    for part, data in ((SWAP, rows.swap), (BUFFERS, rows.buffers)):
        for name, (reads, writes) in PAPERS_REFERENCES[part].items():
            ours = data.filter(pl.col("workload") == name).row(0, named=True)
            touched = ours["footprint_pages"] * ours["page_bytes"] / 1e6
            lines.append(
                {
                    "part": part,
                    "workload": name,
                    "MB (paper)": PAPERS_MB[part][name],
                    "reads (paper)": reads,
                    "writes (paper)": writes,
                    "our trace": ours["trace"],
                    "MB": round(touched, 2),
                    "reads": ours["read_references"],
                    "writes": ours["write_references"],
                }
            )
    return pl.DataFrame(lines)


def _figures(rows: CflruRows) -> dict[str, pl.DataFrame]:
    """Figures 4, 6 and 7 as tables."""
    figures = {
        f"Figure 4({letter}): weighted counts with 16 MiB, {what}": costs(
            judged_cells(part, data, AT_16_MIB)
        )
        for letter, what, part, data in (
            ("a", "swap", SWAP, rows.swap),
            ("b", "buffer cache", BUFFERS, rows.buffers),
        )
    }
    kernels = replaced(rows.kernels).filter(pl.col("frames") == PAPERS_FRAMES)
    is_judged = (pl.col("policy") == LINUX) | (pl.col("read_ahead") == NO_READ_AHEAD)
    kernels = kernels.filter(is_judged)
    counts = kernels.select(
        "workload",
        pl.col("policy").alias("kernel"),
        pl.col("read_ahead").alias("read-ahead"),
        pl.col("read_ios").alias("pages read"),
        pl.col("write_ios").alias("pages written"),
        pl.col("cost").alias("weighted count"),
        (pl.col("io_time_us") / 1e6).round(3).alias("device's time (s)"),
        (pl.col("energy_uj") / 1e3).round(2).alias("energy (mJ)"),
    )
    figures["Figures 6 and 7: Linux 2.4 and its changes with 16 MiB, files alone"] = counts
    return figures
