"""``clockhand reproduce``: a paper's evaluation, every claim with our number and a verdict."""

from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from clockhand.command.options import Jobs, Out, OutputFormat
from clockhand.command.output import check_figures, deliver
from clockhand.command.saying import command_line, say
from clockhand.command.sweeps import DatasetFolder, sweep_progress
from clockhand.command.tables import print_table
from clockhand.completion.values import words_of
from clockhand.report.paper_tables import table_files
from clockhand.report.reported import PICTURES
from clockhand.reproduce import read_paper_experiment, reproduce
from clockhand.reproduce.packaged import packaged, packaged_dataset
from clockhand.study.errors import UsageError, option
from clockhand.study.files import check_places

PAPERS = ("craw", "cflru", "clock-dnv", "scm")

Paper = Annotated[
    str,
    typer.Argument(
        help=f"What to reproduce: {', '.join(PAPERS)}.", autocompletion=words_of(PAPERS)
    ),
]
ExperimentFile = Annotated[
    Path | None,
    typer.Option("--experiment", help="Experiment file; the package's if not given."),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", "--html", "--figure", help="Write all claims and figures as one HTML page."
    ),
]
Tables = Annotated[Path | None, typer.Option(help="Write the tables as CSV into this folder.")]

RealTraces = Annotated[
    Path | None,
    typer.Option(
        "--traces",
        help="A folder with other traces. craw: they replace all of the experiment's. cflru, scm: "
        "they replace those of the same names, and those that the experiment names are added. "
        "clock-dnv: those that the experiment names are added.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="reproduce", epilog="reproduce craw --report craw.html")(_reproduce)


def _reproduce(
    paper: Paper,
    experiment: ExperimentFile = None,
    dataset: DatasetFolder = None,
    real_traces: RealTraces = None,
    jobs: Jobs = None,
    report: Report = None,
    tables: Tables = None,
    format: OutputFormat = None,
    out: Out = None,
) -> None:
    """Run a paper's experiment and judge each of its claims."""
    if paper not in PAPERS:
        raise UsageError(f"there is no reproduction of {paper!r}", f"there is: {', '.join(PAPERS)}")
    file = experiment
    if file is None:
        file = packaged(paper, "experiment.toml")
        dataset = dataset or str(packaged_dataset(paper))
    if not file.exists():
        raise UsageError(f"{file} is not here", "name another file with " + option("experiment"))
    if report is not None and report.suffix.lower() in PICTURES:
        raise UsageError(
            option("report") + f" {report} is a picture, and claims make a page",
            "end it in .html",
        )
    check_figures(report)
    check_places([path for path in (out, report) if path is not None], folder=tables)
    asked = read_paper_experiment(paper, file, traces=real_traces)
    with sweep_progress() as watch:
        made = reproduce(asked, dataset=dataset, jobs=jobs, watch=watch, command=command_line())
    for warning in made.warnings:
        say(warning)
    claims = made.results["claims"]
    files = {} if tables is None else table_files(tables, made.tables, made.facts)
    if report is not None:
        from clockhand.report import render_reproduction  # Altair takes a while to import.

        files[report] = render_reproduction(made).encode()
    printing = partial(_print_claims, claims, made.results["statements"])
    deliver(claims, format, out, printing, files, tables)


def _print_claims(claims: pl.DataFrame, statements: pl.DataFrame, to: Console) -> None:
    print_table("claims", claims.select("claim", "place", "verdict", "paper", "found"), to)
    print_table(
        "statements, over their readings",
        statements.select("statement", "paper", "holds", "as_written", "best", "worst"),
        to,
    )
