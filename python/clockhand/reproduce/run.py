"""Reproductions: a paper's experiment is run, its claims are judged, its tables are made."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from clockhand.measure.measured import Measured
from clockhand.report.paper_tables import PaperTable
from clockhand.report.words import unique
from clockhand.reproduce import tables as making
from clockhand.reproduce.experiment import MAIN, PaperExperiment, Part
from clockhand.reproduce.judge import Claim, judge
from clockhand.reproduce.measures.cflru import prediction_row
from clockhand.reproduce.measures.locality import Ranked, locality_rows
from clockhand.reproduce.measures.noise import BLOCKS
from clockhand.reproduce.packaged import packaged_content
from clockhand.reproduce.printed import check_printed
from clockhand.reproduce.statements import claim_table, rule_thresholds, statements, thresholds
from clockhand.studies.filecache.run import break_even
from clockhand.studies.locality.result import Locality
from clockhand.studies.locality.run import locality_with
from clockhand.studies.locality.tables import TABLES
from clockhand.studies.locality.window import predict_window
from clockhand.studies.pages.run import run_simulation
from clockhand.studies.ssd.findings import FAMILY
from clockhand.study.columns import schema
from clockhand.study.errors import UsageError
from clockhand.study.records import Fields, Record
from clockhand.study.run import called as run_study
from clockhand.sweep import Sweep, analyse, run_sweep
from clockhand.sweep.run import SweepWatch

WORKLOAD = "workload"
"""The column of rows that names the paper's workload for which a trace stands."""

AS_IT_IS = "as it is"
"""The view of traces that have no views."""

GAUGE_SAMPLES = 400
"""Samples of a gauge that a figure can show."""


@dataclass(frozen=True)
class Reproduction:
    """What became of a paper's claims.

    Attributes:
        paper: The paper's short name.

        claims: Every claim with our number and a verdict, in the paper's order.

        paper_tables: The paper's tables beside ours, and figures as tables, by title.

        results: What the claims were judged by: what the parts of the experiment gave, by name.

        tables: The tables that are kept.

        facts: How all of it was made.

        warnings: What the readers passed over or assumed, one sentence each.
    """

    paper: str
    claims: list[Claim]
    paper_tables: Mapping[str, pl.DataFrame]
    results: Record
    tables: list[PaperTable]
    facts: Record
    warnings: list[str]


def reproduce(
    experiment: PaperExperiment,
    *,
    dataset: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    watch: SweepWatch | None = None,
    command: str | None = None,
) -> Reproduction:
    """Run a paper's experiment and judge the paper's claims.

    Args:
        experiment: The paper's, or one with what the claims need.

        dataset: The folder to keep the cells in; the experiment's own if not given.

        jobs: Threads, from 1 to 1024; all cores if not given.

        watch: Called now and then with the progress.

        command: The command line for the facts; the equivalent one if not given.

    Raises:
        UsageError: ``jobs`` is out of range, or a number of the paper's figures cannot be drawn.
        ClockhandError: a trace cannot be read, or the sweep was interrupted.
    """
    check_printed(experiment.paper)
    needs = packaged_content(experiment.paper, "claims.toml")["needs"]
    parts: list[tuple[str, Part]] = []
    swept: list[Sweep] = []
    warnings: list[str] = []
    for name, part in experiment.parts:
        try:
            sweep = run_sweep(
                part.sweep,
                dataset=part.dataset(dataset),
                jobs=jobs,
                watch=watch,
                command=command or f"clockhand reproduce {experiment.paper}",
            )
        except UsageError as refusal:
            if not needs[name].get("of_no_claim", False):
                raise
            warnings.append(f"the part {name} is left out: {refusal}")
        else:
            parts.append((name, part))
            swept.append(sweep)
    results: Fields = {}
    for (name, part), sweep in zip(parts, swept, strict=True):
        before = [results[name]] if name in results else []
        results[name] = pl.concat([*before, _rows_of(part, sweep)])
    by_name = dict(parts)
    for name, (kind, asked) in experiment.beside.items():
        own = {key: value for key, value in asked.items() if key != "traces_of"}
        beside = _Beside(by_name.get(asked.get("traces_of", MAIN)), results, jobs)
        results |= getattr(beside, kind)(name, **own)
    results["facts"] = _joined_facts(parts, swept)
    claims = judge(experiment.paper, results)
    results |= {
        "claims": claim_table(claims),
        "statements": statements(claims),
        "thresholds": thresholds(experiment.paper, results),
        "rules": rule_thresholds(experiment.paper, results),
    }
    analyses = [
        PaperTable(it.title, it.slug, analyse(results[name], it))
        for name, part in parts
        for it in part.sweep.analyses
    ]
    kept = _reported(experiment.paper, "kept", results)
    shown = _reported(experiment.paper, "table", results)
    return Reproduction(
        paper=experiment.paper,
        claims=claims,
        paper_tables={entry["title"]: table for entry, table in shown},
        results=results,
        tables=[*analyses, *(PaperTable(it["title"], it["slug"], table) for it, table in kept)],
        facts=results["facts"],
        warnings=[
            *warnings,
            *unique(warning for sweep in swept for warning in sweep.warnings),
        ],
    )


def _reported(paper: str, kind: str, results: Record) -> list[tuple[Fields, pl.DataFrame]]:
    """Return the tables of a kind that ``report.toml`` names, each with what it says of them.

    There may be no results for a table: traces that are taken along may be missing.
    """
    return [
        (entry, making.made(entry, results))
        for entry in packaged_content(paper, "report.toml")[kind]
        if not entry["of"] or any(name in results for name in entry["of"])
    ]


def _rows_of(part: Part, sweep: Sweep) -> pl.DataFrame:
    """Return the rows with short names of traces, and the workloads they stand for."""
    rows = _renamed(sweep.rows, dict(zip(part.sweep.traces, part.names, strict=True)))
    if not part.workloads:
        return rows
    workloads = dict(zip(part.names, part.workloads, strict=True))
    workload = pl.col("trace").replace_strict(workloads, return_dtype=pl.String).alias(WORKLOAD)
    family = [FAMILY] if "buffer" in rows else []
    return rows.select(*sweep.layout.study.schema, *family, workload)


def _renamed(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    return table.with_columns(pl.col("trace").replace_strict(names, return_dtype=pl.String))


def _joined_facts(parts: Iterable[tuple[str, Part]], swept: Iterable[Sweep]) -> Fields:
    """Return the facts of all sweeps as those of one run; traces are called as in the rows."""
    pairs = list(zip(parts, swept, strict=True))
    made: list[Fields] = []
    for (_, part), sweep in pairs:
        names = dict(zip(part.sweep.traces, part.names, strict=True))
        traces = [{**trace, "name": names[trace["name"]]} for trace in sweep.facts["traces"]]
        made.append({**sweep.facts, "traces": traces})
    lists: Fields = {
        kind: list({it["name"]: it for facts in made for it in facts[kind]}.values())
        for kind in ("traces", "devices", "policies", "ssds", "buffers")
        if kind in made[0]
    }
    if all(part.folder == "" for (_, part), _ in pairs):
        return {**made[0], **lists}
    options = {
        f"{name}: {option}": value
        for ((name, _), _), facts in zip(pairs, made, strict=True)
        for option, value in facts["options"].items()
        if option != "jobs"
    }
    last = made[-1]
    return {**last, "options": {**options, "jobs": last["options"]["jobs"]}, **lists}


class _Beside:
    """What is asked beside sweeps, a function for each table of a part that asks it.

    Each takes the part's name and the keys of the table, and says what it adds to the results.
    """

    def __init__(self, part: Part | None, results: Record, jobs: int | None) -> None:
        self._results = results
        self._jobs = jobs
        if part is not None:
            self._part = part
            self._names = dict(zip(part.sweep.traces, part.names, strict=True))
            setting = part.sweep.settings[0].options
            self._setting: Fields = {
                key: setting[key] for key in ("page_size", "device") if key in setting
            }

    def locality(self, name: str, *, views: list[str], repeats: list[str]) -> Fields:
        """The rankings of the sweep's traces, in each view and counting of repeats."""

        def found(**reading: object) -> Locality:
            tables = ("summary",) if reading else TABLES
            study = locality_with(tables, blocks=BLOCKS)
            return run_study(study, list(self._names), {**self._setting, **reading})

        def ranked(of: Locality) -> Ranked:
            blocks = of.rank_blocks().items()
            ended = {(self._names[trace], name, op): it for (trace, name, op), it in blocks}
            return Ranked(_renamed(of.summary, self._names), ended)

        first = found()
        shown = {table: _renamed(first.table(table), self._names) for table in TABLES}
        facts = first.facts["traces"]
        has_views = all(trace["view"] for trace in facts)
        readings = {(facts[0]["view"] or AS_IT_IS, repeats[0]): ranked(first)}
        for view in views if has_views else [facts[0]["view"] or AS_IT_IS]:
            for counting in repeats:
                if (view, counting) in ((views[0], repeats[0]), (AS_IT_IS, repeats[0])):
                    continue
                given = None if view == AS_IT_IS else view
                readings[view, counting] = ranked(found(repeats=counting, view=given))
        return {name: locality_rows(readings), "localities": shown}

    def gauges(self, name: str, *, policies: str, memory: str) -> Fields:
        """Samples of a policy's gauges on each trace; the paper's Figure 15 is of xmms."""
        away = (pl.col("memory_share") - float(memory.removesuffix("%")) / 100).abs()
        frames = [pl.DataFrame(schema=schema("pages gauges"))]
        for trace, called in self._names.items():
            of_policy = (pl.col("trace") == called) & (pl.col("policy") == policies)
            misses = self._results[MAIN].filter(of_policy).sort(away)["misses"][0]
            run = run_simulation(
                trace, policies=policies, memory=memory, **self._setting,
                gauge_every=max(1, misses // GAUGE_SAMPLES),
            )  # fmt: skip
            frames.append(run.gauges.with_columns(trace=pl.lit(called)))
        gauges = pl.concat(frames)
        return {"gauges": gauges, name: making.area_rows(gauges)}

    def simulate(self, name: str, **options: object) -> Fields:
        """What software costs beside the I/O, of a simulation of the sweep's traces."""
        rows = [
            run_simulation(
                trace, **self._setting, jobs=self._jobs, watch=False, **options
            ).rows.with_columns(trace=pl.lit(called))
            for trace, called in self._names.items()
        ]
        return {name: making.overhead_rows(pl.concat(rows), options)}

    def window(self, name: str, **options: Any) -> Fields:
        """A row for each position of each program's LRU list (CFLRU's Figure 2)."""
        rows = [
            predict_window(trace, **options).rows.with_columns(
                trace=pl.lit(called), workload=pl.lit(workload)
            )
            for (trace, called), workload in zip(
                self._names.items(), self._part.workloads, strict=True
            )
        ]
        return {name: pl.concat(rows)}

    def prediction(self, name: str, *, memory: str, device: str, windows: list[str]) -> Fields:
        """The cost of the window that formula (1) of CFLRU predicts, beside LRU's and the best."""
        rows = []
        for (trace, called), workload in zip(
            self._names.items(), self._part.workloads, strict=True
        ):
            found = predict_window(trace, memory=memory, device=device).rows
            pages = int(found["predicted_window"][0])
            predicted = f"cflru:window_pages={pages}"
            for flush in (False, True):
                costs = run_simulation(
                    trace, policies=["lru", predicted, *windows], memory=memory, device=device,
                    flush_at_end=flush, watch=False,
                ).rows  # fmt: skip
                at = {"workload": workload, "trace": called, "flush_at_end": flush}
                rows.append(prediction_row(at, pages, predicted, costs))
        return {name: pl.DataFrame(rows)}

    def measurement(self, name: str, *, file: Measured | pl.DataFrame) -> Fields:
        """What one machine found, as it is kept."""
        return {name: file}

    def break_even(self, name: str, *, devices: list[str], insert: list[str]) -> Fields:
        """After how many hits a cached block pays."""
        return {name: break_even(devices, insert=insert)}
