"""``clockhand trace synthesize``: traces that a recipe describes and a seed fixes."""

from typing import Annotated

import typer

from clockhand.command.options import OutputFormat
from clockhand.command.output import Format, write_rows
from clockhand.command.progress import shown_progress
from clockhand.command.saying import say
from clockhand.command.tables import print_table
from clockhand.completion.values import values_of
from clockhand.study.errors import UsageError, option
from clockhand.traces.synthetic import recipes, synthesize


def register(trace: typer.Typer) -> None:
    """Add the command to those about traces."""
    trace.command(
        name="synthesize", epilog="trace synthesize zipf:skew=0.9,footprint=1GiB --out zipf.parquet"
    )(_synthesize)


def _synthesize(
    recipe: Annotated[
        str | None,
        typer.Argument(
            help="Patterns such as zipf:skew=0.9,footprint=1GiB,reads=70%, joined by + into mixes "
            "and by then into phases (uniform, zipf, hot-cold, sequential, loop); "
            "or a recipe of --list; or FILE.toml.",
            autocompletion=values_of("recipes"),
        ),
    ] = None,
    old_out: Annotated[
        str | None, typer.Argument(metavar="[OUT]", help="The same as --out.", hidden=True)
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="The file to write; its ending tells the format.")
    ] = None,
    requests: Annotated[
        str | None, typer.Option(help="Number of requests, such as 20M; the recipe's if not given.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of all random choices; the recipe's, else 0.")
    ] = None,
    arrivals: Annotated[
        str | None,
        typer.Option(
            help="constant:RATE or poisson:RATE, in requests per second; none: without times."
        ),
    ] = None,
    list_recipes: Annotated[
        bool, typer.Option("--list", help="List the recipes that come with the package.")
    ] = False,
    format: OutputFormat = None,
) -> None:
    """Make a trace; the same recipe and seed give the same file on every machine."""
    if list_recipes:
        columns = ["name", "requests", "seed", "summary", "stands_for"]
        listed = recipes().select(columns)
        title = "recipes of synthetic traces"
        write_rows(
            listed, format or Format.TABLE, lambda console: print_table(title, listed, console)
        )
        return
    if format is not None:
        raise UsageError(
            option("format") + " is for " + option("list"),
            "the ending of the file tells a trace's format",
        )
    if old_out is not None and out is not None:
        raise UsageError(
            f"{old_out} and " + option("out") + f" {out} both name the file to write",
            "leave one out",
        )
    out = out or old_out
    if recipe is None or out is None:
        raise UsageError(
            "a synthetic trace needs a recipe and the file to write",
            "give both: clockhand trace synthesize zipf:skew=0.9,footprint=1GiB --requests 20M "
            "--out out.parquet",
        )
    with shown_progress() as watch:
        synthesize(recipe, out, requests=requests, seed=seed, arrivals=arrivals, watch=watch)
    say(f"{out}: written")
    if old_out is not None:
        say(f"{out}: other commands take it as {option('out')} {out}, and so does this one")
