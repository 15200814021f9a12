"""``clockhand reproduce``: a paper's evaluation, every claim with our number and a verdict."""

from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from clockhand import UsageError
from clockhand.command.output import (
    command_line,
    encoded,
    format_for,
    print_table,
    say,
    write_rows,
)
from clockhand.command.simulation import Jobs, Out, OutputFormat
from clockhand.command.sweeps import DatasetFolder, sweep_progress
from clockhand.files import check_places, publish
from clockhand.reproduce import Reproduction, reproduce_craw
from clockhand.reproduce.craw import claim_table
from clockhand.sweep import read_experiment
from clockhand.sweep.tables import table_files

PAPERS = ("craw",)

Paper = Annotated[str, typer.Argument(help="What to reproduce: craw.")]
ExperimentFile = Annotated[
    Path | None,
    typer.Option("--experiment", help="experiments/PAPER.toml if not given."),
]
Html = Annotated[Path | None, typer.Option(help="Write all claims and figures as one HTML page.")]
Tables = Annotated[Path | None, typer.Option(help="Write the tables as CSV into this folder.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="reproduce")(_reproduce)


def _reproduce(
    paper: Paper,
    experiment: ExperimentFile = None,
    dataset: DatasetFolder = None,
    jobs: Jobs = None,
    html: Html = None,
    tables: Tables = None,
    format: OutputFormat = None,
    out: Out = None,
) -> None:
    """Run a paper's experiment on the committed traces and judge each of its claims."""
    if paper not in PAPERS:
        raise UsageError(f"there is no reproduction of {paper!r}; there is: {', '.join(PAPERS)}")
    file = Path("experiments") / f"{paper}.toml" if experiment is None else experiment
    if not file.exists():
        raise UsageError(
            f"{file} is not here; run this in a checkout of Clockhand, or name the file with "
            "--experiment"
        )
    check_places([path for path in (out, html) if path is not None], folder=tables)
    read = read_experiment(file)
    with sweep_progress() as watch:
        made = reproduce_craw(read, dataset=dataset, jobs=jobs, watch=watch, command=command_line())
    for warning in made.warnings:
        say(warning)
    claims = claim_table(made.claims)
    written_as = format_for(format, out)
    print_for_people = partial(_print_claims, claims)
    files = {} if tables is None else table_files(tables, made.tables, made.facts)
    if html is not None:
        files[html] = _page(made).encode()
    if out is not None:
        files[out] = encoded(claims, written_as, print_for_people)
    publish(files, folder=tables)
    if out is None:
        write_rows(claims, written_as, print_for_people)


def _page(made: Reproduction) -> str:
    from clockhand.report import render_reproduction  # Altair takes a while to import.

    return render_reproduction(
        paper="The CRAW paper",
        claims=made.claims,
        paper_tables={
            "Table 1: read and write performance of NAND flash memory": made.devices,
            "Table 2: memory usage and reference count for each workload": made.workloads,
        },
        rows=made.rows,
        gauges=made.gauges,
        localities=made.localities,
        facts=made.facts,
    )


def _print_claims(claims: pl.DataFrame, to: Console) -> None:
    print_table("claims", claims.select("claim", "place", "verdict", "found"), to)
