"""``clockhand reproduce``: a paper's evaluation, every claim with our number and a verdict."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from clockhand import UsageError
from clockhand.command.options import Jobs, Out, OutputFormat
from clockhand.command.output import check_figures, command_line, deliver, print_table, say
from clockhand.command.sweeps import DatasetFolder, sweep_progress
from clockhand.reproduce import (
    CflruReproduction,
    ClockDnvReproduction,
    Reproduction,
    ScmReproduction,
    read_cflru_experiment,
    read_clock_dnv_experiment,
    read_scm_experiment,
    reproduce_cflru,
    reproduce_clock_dnv,
    reproduce_craw,
    reproduce_scm,
)
from clockhand.reproduce.bands import band_table
from clockhand.reproduce.craw import claim_table
from clockhand.reproduce.packaged import packaged_dataset, packaged_experiment
from clockhand.study.files import check_places
from clockhand.sweep import read_experiment
from clockhand.sweep.tables import table_files

CLOCK_DNV = "clock-dnv"
SCM = "scm"
CFLRU = "cflru"
PAPERS = ("craw", CFLRU, CLOCK_DNV, SCM)

Made = Reproduction | CflruReproduction | ClockDnvReproduction | ScmReproduction

Paper = Annotated[str, typer.Argument(help=f"What to reproduce: {', '.join(PAPERS)}.")]
ExperimentFile = Annotated[
    Path | None,
    typer.Option("--experiment", help="The paper's, which comes with Clockhand, if not given."),
]
Html = Annotated[Path | None, typer.Option(help="Write all claims and figures as one HTML page.")]
Tables = Annotated[Path | None, typer.Option(help="Write the tables as CSV into this folder.")]

RealTraces = Annotated[
    Path | None,
    typer.Option(
        "--traces",
        help="A folder with other captures. craw: all of them, such as whole sessions, are taken "
        "instead of the experiment's. cflru, scm: longer ones, taken instead of those of the same "
        "names. clock-dnv: the real traces that the experiment names, taken along.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="reproduce")(_reproduce)


def _reproduce(
    paper: Paper,
    experiment: ExperimentFile = None,
    dataset: DatasetFolder = None,
    real_traces: RealTraces = None,
    jobs: Jobs = None,
    html: Html = None,
    tables: Tables = None,
    format: OutputFormat = None,
    out: Out = None,
) -> None:
    """Run a paper's experiment and judge each of its claims."""
    if paper not in PAPERS:
        raise UsageError(f"there is no reproduction of {paper!r}; there is: {', '.join(PAPERS)}")
    file = experiment
    if file is None:
        file, dataset = packaged_experiment(paper), dataset or str(packaged_dataset(paper))
    if not file.exists():
        raise UsageError(f"{file} is not here; name another file with --experiment")
    check_figures(html)
    check_places([path for path in (out, html) if path is not None], folder=tables)
    made = _made(paper, file, dataset, real_traces, jobs)
    for warning in made.warnings:
        say(warning)
    claims = claim_table(made.claims)
    files = {} if tables is None else table_files(tables, made.tables, made.facts)
    if html is not None:
        files[html] = _page(made).encode()
    deliver(claims, format, out, partial(_print_claims, claims), files, tables)


def _made(
    paper: str, file: Path, dataset: str | Path | None, traces: Path | None, jobs: int | None
) -> Made:
    if paper == CFLRU:
        cflru = read_cflru_experiment(file, traces=traces)
        with sweep_progress() as watch:
            return reproduce_cflru(
                cflru, dataset=dataset, jobs=jobs, watch=watch, command=command_line()
            )
    if paper == CLOCK_DNV:
        clock_dnv = read_clock_dnv_experiment(file)
        with sweep_progress() as watch:
            return reproduce_clock_dnv(
                clock_dnv,
                traces=traces,
                dataset=dataset,
                jobs=jobs,
                watch=watch,
                command=command_line(),
            )
    if paper == SCM:
        scm = read_scm_experiment(file, traces=traces)
        with sweep_progress() as watch:
            return reproduce_scm(
                scm, dataset=dataset, jobs=jobs, watch=watch, command=command_line()
            )
    craw = read_experiment(file)
    if traces is not None:
        craw = replace(craw, traces=_captures(traces))
    with sweep_progress() as watch:
        return reproduce_craw(craw, dataset=dataset, jobs=jobs, watch=watch, command=command_line())


def _captures(folder: Path) -> tuple[str, ...]:
    """All captures in a folder.

    Raises:
        UsageError: there is none.
    """
    found = tuple(str(path) for path in sorted(folder.glob("*.parquet")))
    if not found:
        raise UsageError(f"there is no trace (*.parquet) in {folder}; `make traces` makes some")
    return found


def _page(made: Made) -> str:
    match made:
        case Reproduction():
            return _craw_page(made)
        case ClockDnvReproduction():
            return _clock_dnv_page(made)
        case CflruReproduction():
            from clockhand.reproduce.cflru_report import (
                render_cflru,  # Altair takes a while to import.
            )

            return render_cflru(
                claims=made.claims,
                paper_tables=made.paper_tables,
                rows=made.rows,
                facts=made.facts,
            )
        case ScmReproduction():
            from clockhand.reproduce.scm_report import render_scm  # Altair takes a while to import.

            return render_scm(
                claims=made.claims,
                paper_tables=made.paper_tables,
                rows=made.rows,
                facts=made.facts,
            )


def _clock_dnv_page(made: ClockDnvReproduction) -> str:
    from clockhand.reproduce.clock_dnv_report import (
        render_clock_dnv,  # Altair takes a while to import.
    )

    return render_clock_dnv(
        claims=made.claims,
        paper_tables=made.paper_tables,
        ablation=made.ablation,
        rows=made.rows,
        facts=made.facts,
    )


def _craw_page(made: Reproduction) -> str:
    from clockhand.report import render_reproduction  # Altair takes a while to import.

    return render_reproduction(
        paper="The CRAW paper",
        claims=made.claims,
        paper_tables={
            "Table 1: read and write performance of NAND flash memory": made.devices,
            "Table 2: memory usage and reference count for each workload": made.workloads,
            "I/O time over CLOCK's by share of memory: means": band_table(made.bands, "mean"),
            "I/O time over CLOCK's by share of memory: the worst cell": band_table(
                made.bands, "worst"
            ),
            "Inter-reference recency, which section VII leaves to the future": made.recency,
        },
        rows=made.rows,
        gauges=made.gauges,
        localities=made.localities,
        facts=made.facts,
    )


def _print_claims(claims: pl.DataFrame, to: Console) -> None:
    print_table("claims", claims.select("claim", "place", "verdict", "paper", "found"), to)
