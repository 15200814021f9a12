"""The CLOCK-DNV paper: its experiment, its tables and figures, and what became of its claims."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from clockhand import _engine
from clockhand.reproduce.claims import Claim
from clockhand.reproduce.clock_dnv_claims import judge, per_run
from clockhand.reproduce.craw import claim_table
from clockhand.reproduce.experiment_file import read_experiment_file, texts
from clockhand.reproduce.parts import Judged, joined_lists, none_taken, short_name
from clockhand.studies.ssd.findings import FAMILY
from clockhand.studies.ssd.run import SSD_SCHEMA
from clockhand.study.facts import SsdRunFacts
from clockhand.sweep import Experiment, Sweep, run_sweep
from clockhand.sweep.experiment import experiment_of
from clockhand.sweep.run import SweepWatch
from clockhand.sweep.tables import Table
from clockhand.sweep.task import RECIPE

PAPERS_DRIVE = "dnv-paper"
DEFAULT = "clock-dnv"

# Table III: workload, reads : writes, trace size.
PAPERS_WORKLOADS = (
    ("Financial", "8.2 : 1.8", "1.8 GB"),
    ("CAMWEBDEV", "0.8 : 9.2", "0.52 GB"),
    ("Filebench", "5 : 5", "2.81 GB"),
)
# Table I: property, DRAM, NAND, NVM.
PAPERS_MEDIA = (
    ("read latency", "~50 ns", "~30 µs", "~50 ns"),
    ("write latency", "~50 ns", "~300 µs", "~250 ns"),
    ("endurance", "N/A", "10^4", "10^8"),
)
# Table II: parameter, value, and the fact of our profile that stands for it.
PAPERS_PARAMETERS = (
    ("capacity", "32 GB", "raw"),
    ("page size, block size", "4 KB, 256 KB (64 pages)", "geometry"),
    ("page read, page write, block erase", "25 µs, 200 µs, 1.5 ms", "times"),
    ("overprovisioning ratio", "15 %", "reserve"),
)
ABLATION = ("hit_ratio", "host_writes", "batches", "nvm_writes", "erases")


@dataclass(frozen=True)
class RealTraces:
    """Traces that are also run if they are available: file names with their formats."""

    files: tuple[tuple[str, str], ...]
    totals: tuple[str, ...]
    ssd: str
    map: str
    repeat: str


@dataclass(frozen=True)
class ClockDnvExperiment:
    """A checked experiment; ``stand_ins`` are pairs of the paper's workload and our recipe."""

    path: Path
    question: str
    expected: str
    totals: tuple[str, ...]
    buffers: tuple[str, ...]
    ablation: tuple[str, ...]
    ssd: str
    precondition: str
    repeat: str
    seed: int
    stand_ins: tuple[tuple[str, str], ...]
    real: RealTraces


@dataclass(frozen=True)
class ClockDnvReproduction(Judged[pl.DataFrame, SsdRunFacts]):
    """What became of the CLOCK-DNV paper's claims.

    ``rows`` are those of all runs, with the column ``workload``: the paper's name of what a
    stand-in stands in for, null for a real trace.

    Attributes:
        ablation: What each mode changes, against CLOCK-DNV's defaults.
    """

    ablation: pl.DataFrame


KEYS = {
    "question", "expected", "totals", "buffers", "ablation", "ssd", "precondition", "repeat",
    "seed", "stand_in", "real",
}  # fmt: skip


def read_clock_dnv_experiment(path: str | os.PathLike[str]) -> ClockDnvExperiment:
    """Read ``experiments/clock-dnv.toml`` or a file like it; no trace is opened.

    Raises:
        UsageError: it is not TOML, or a key is unknown, missing or of another kind.
        OSError: the file cannot be read.
    """
    return read_experiment_file(path, KEYS, _experiment, "experiments/clock-dnv.toml")


def _experiment(file: Path, content: Mapping[str, Any]) -> ClockDnvExperiment:
    real = content["real"]
    known = {workload for workload, _, _ in PAPERS_WORKLOADS}
    stand_ins = tuple(
        (entry["workload"], _recipe(file, entry["recipe"])) for entry in content["stand_in"]
    )
    if {workload for workload, _ in stand_ins} != known:
        raise ValueError(f"the workloads are {', '.join(sorted(known))}")
    return ClockDnvExperiment(
        path=file,
        question=str(content["question"]),
        expected=str(content["expected"]),
        totals=texts(content["totals"], "totals"),
        buffers=texts(content["buffers"], "buffers"),
        ablation=texts(content["ablation"], "ablation"),
        ssd=str(content["ssd"]),
        precondition=str(content["precondition"]),
        repeat=str(content["repeat"]),
        seed=int(content["seed"]),
        stand_ins=stand_ins,
        real=RealTraces(
            files=tuple((entry["name"], entry["format"]) for entry in real["file"]),
            totals=texts(real["totals"], "totals of real"),
            ssd=str(real["ssd"]),
            map=str(real["map"]),
            repeat=str(real["repeat"]),
        ),
    )


def _recipe(file: Path, recipe: str) -> str:
    """The recipe that an experiment names; a file is relative to the experiment's folder."""
    return os.path.abspath(file.parent / recipe) if recipe.endswith(".toml") else recipe


def reproduce_clock_dnv(
    experiment: ClockDnvExperiment,
    *,
    traces: str | os.PathLike[str] | None = None,
    dataset: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    watch: SweepWatch | None = None,
    command: str | None = None,
) -> ClockDnvReproduction:
    """Run the CLOCK-DNV paper's experiment and judge the paper's claims.

    Args:
        experiment: ``experiments/clock-dnv.toml``, or one with the same buffers.
        traces: A folder with the real traces that the experiment names; those that are there are
            also run.
        dataset: The folder to keep the cells in; the experiment's own if not given.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress.
        command: The command line for the facts; the equivalent one if not given.

    Raises:
        UsageError: the experiment names an unknown buffer, drive or recipe, or the folder holds
            none of its real traces.
        ClockhandError: a trace cannot be read, or the sweep was interrupted.
    """
    sweeps = [
        run_sweep(
            sweep,
            dataset=dataset,
            jobs=jobs,
            watch=watch,
            command=command or "clockhand reproduce clock-dnv",
        )
        for sweep in _sweeps(experiment, traces)
    ]
    facts = _joined_facts(sweeps)
    rows = _rows(experiment, sweeps)
    claims = judge(rows.filter(pl.col("workload").is_not_null()))
    return _made(claims, rows, facts, [warning for sweep in sweeps for warning in sweep.warnings])


def _sweeps(
    experiment: ClockDnvExperiment, traces: str | os.PathLike[str] | None
) -> Iterator[Experiment]:
    """The paper's grid on stand-ins, and that of each real trace that is there."""
    shared = {
        "question": experiment.question,
        "expected": experiment.expected,
        "seed": experiment.seed,
    }

    def sweep(totals: Sequence[str], table: Mapping[str, Any], **own: Any) -> Experiment:
        ssd = {
            "buffers": _with_totals(experiment, totals),
            "precondition": experiment.precondition,
            "repeat": experiment.repeat,
            **table,
        }
        return experiment_of(experiment.path, {**shared, **own, "ssd": ssd})

    recipes = [f"{RECIPE}{recipe}" for _, recipe in experiment.stand_ins]
    yield sweep(experiment.totals, {"ssds": experiment.ssd}, traces=recipes)
    real = experiment.real
    for path, format in _present(real, traces):
        table = {"ssds": real.ssd, "map": real.map, "repeat": real.repeat}
        yield sweep(real.totals, table, traces=os.path.abspath(path), trace_format=format)


def _made(
    claims: list[Claim], rows: pl.DataFrame, facts: SsdRunFacts, warnings: list[str]
) -> ClockDnvReproduction:
    ablation = ablation_rows(rows)
    is_stand_in = pl.col("workload").is_not_null()
    tables = [
        Table("Claims of the CLOCK-DNV paper", "claims", claim_table(claims)),
        Table("Figures 5 to 8 on stand-ins", "rows", rows.filter(is_stand_in).drop("policy")),
        Table("What each mode changes, relative to clock-dnv", "ablation", ablation),
    ]
    real = rows.filter(~is_stand_in)
    if not real.is_empty():
        tables.append(Table("Real traces, not the paper's", "real-traces", real.drop("policy")))
    return ClockDnvReproduction(
        claims=claims,
        paper_tables={
            "Table I: memory media": _media(),
            "Table II: parameters of the simulator": _parameters(),
            "Table III: workloads": _workloads(rows),
        },
        rows=rows,
        ablation=ablation,
        tables=tables,
        facts=facts,
        warnings=warnings,
    )


def _with_totals(experiment: ClockDnvExperiment, totals: Sequence[str]) -> list[str]:
    """The paper's buffers at every size, and the others at one: the second, if there are two."""
    ablated = totals[:2][-1]
    buffers = []
    for total in totals:
        others = experiment.ablation if total == ablated else ()
        for buffer in (*experiment.buffers, *others):
            buffers.append(_engine.buffer_with_total(buffer, total))
    return buffers


def _present(real: RealTraces, folder: str | os.PathLike[str] | None) -> list[tuple[Path, str]]:
    if folder is None:
        return []
    found = [(Path(folder) / name, format) for name, format in real.files]
    present = [(path, format) for path, format in found if path.exists()]
    if not present:
        raise none_taken(folder, (name for name, _ in real.files))
    return present


def _rows(experiment: ClockDnvExperiment, sweeps: Sequence[Sweep]) -> pl.DataFrame:
    workloads = {_short(recipe): workload for workload, recipe in experiment.stand_ins}
    rows = pl.concat([sweep.rows.select(*SSD_SCHEMA) for sweep in sweeps])
    names = {name: _short(name) for name in rows["trace"].unique()}
    short = pl.col("trace").replace_strict(names, return_dtype=pl.String)
    return rows.with_columns(
        short,
        FAMILY,
        short.replace_strict(workloads, default=None).alias("workload"),
    )


def _short(trace: str) -> str:
    """The recipe's name, or that of the file without endings."""
    return short_name(trace.removeprefix(RECIPE))


def _joined_facts(sweeps: Sequence[Sweep]) -> SsdRunFacts:
    """Facts of all sweeps as those of one; traces are called as in the rows."""
    made: list[Any] = [sweep.facts for sweep in sweeps]
    lists = joined_lists(made, _short, ("ssds", "buffers"))
    return cast(SsdRunFacts, {**made[0], **lists})


def ablation_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return how many percent each measure changes against CLOCK-DNV's defaults of that size.

    Counts are those of a run of the trace: cells may have repeated it differently often.
    """
    key = ["trace", "buffer_pages"]
    rows = rows.with_columns(per_run(name) for name in ABLATION)
    base = rows.filter(pl.col("policy") == DEFAULT).select(
        *key, *(pl.col(name).alias(f"{name} of {DEFAULT}") for name in ABLATION)
    )
    joined = rows.join(base.unique(key), on=key, how="left", maintain_order="left")
    changes = [
        pl.when(pl.col(f"{name} of {DEFAULT}") > 0)
        .then((100 * (pl.col(name) / pl.col(f"{name} of {DEFAULT}") - 1)).round(2) + 0.0)
        .alias(f"{name} change %")
        for name in ABLATION
    ]
    others = joined.filter(pl.col("policy") != DEFAULT)
    return others.select("trace", "buffer_pages", pl.col("policy").alias("buffer"), *changes)


def _media() -> pl.DataFrame:
    facts = _engine.ssd_facts(PAPERS_DRIVE)
    rows = [
        {"property": name, "DRAM, paper": dram, "NAND, paper": nand, "NVM, paper": nvm}
        for name, dram, nand, nvm in PAPERS_MEDIA
    ]
    ours = f"{facts['times']}; {facts['endurance']}"
    rows.append(
        {
            "property": f"our profile {PAPERS_DRIVE}",
            "DRAM, paper": "not timed",
            "NAND, paper": ours,
            "NVM, paper": facts["NVM"],
        }
    )
    return pl.DataFrame(rows).rename(lambda name: name.replace(", paper", ""))


def _parameters() -> pl.DataFrame:
    facts = _engine.ssd_facts(PAPERS_DRIVE)
    return pl.DataFrame(
        [
            {"parameter": name, "paper": value, f"our profile {PAPERS_DRIVE}": facts[fact]}
            for name, value, fact in PAPERS_PARAMETERS
        ]
    )


def _workloads(rows: pl.DataFrame) -> pl.DataFrame:
    papers = [
        {"workload": f"{name} (paper)", "reads : writes": ratio, "size": size}
        for name, ratio, size in PAPERS_WORKLOADS
    ]
    columns = (
        "read_references", "write_references", "page_bytes", "references", "footprint_pages",
        "repetitions",
    )  # fmt: skip
    ours = [
        {
            "workload": _told(row),
            "reads : writes": _ratio(row["read_references"], row["write_references"]),
            "size": f"{row['references'] / row['repetitions'] * row['page_bytes'] / 1e9:.2f} GB",
            "footprint": f"{row['footprint_pages'] * row['page_bytes'] / (1 << 20):,.0f} MiB",
        }
        for row in rows.select("trace", "workload", *columns)
        .unique("trace", maintain_order=True)
        .iter_rows(named=True)
    ]
    return pl.DataFrame([{**row, "footprint": "not stated"} for row in papers] + ours)


def _told(row: Mapping[str, Any]) -> str:
    if row["workload"] is None:
        return f"{row['trace']} (real, not the paper's)"
    return f"{row['trace']} (stand-in for {row['workload']})"


def _ratio(reads: int, writes: int) -> str:
    share = 10 * reads / (reads + writes)
    return f"{share:.1f} : {10 - share:.1f}"
