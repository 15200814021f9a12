"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from clockhand.command.output import Format
from clockhand.completion.values import values_of
from clockhand.study.options import options_of

Traces = Annotated[
    list[str], typer.Argument(help="Trace files, compressed or not; - is standard input.")
]
_OF_PAGES = options_of("pages")
Frames = Annotated[str | None, typer.Option(help=_OF_PAGES["frames"].help)]
Memory = Annotated[str | None, typer.Option(help=_OF_PAGES["memory"].help)]
PageSize = Annotated[str, typer.Option(help=_OF_PAGES["page_size"].help)]
Device = Annotated[
    str, typer.Option(help=_OF_PAGES["device"].help, autocompletion=values_of("devices"))
]
Jobs = Annotated[int | None, typer.Option(help="Threads, from 1 to 1024; all cores if not given.")]
OutputFormat = Annotated[
    Format | None,
    typer.Option(
        "--format", help="Format of the rows; table, or by the ending of the file's name."
    ),
]
Out = Annotated[Path | None, typer.Option(help="Write the rows to this file.")]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        "--html",
        "--figure",
        help="Write a self-contained HTML report, or the leading figure alone: .svg, .png or .pdf.",
    ),
]
Highlight = Annotated[
    list[str] | None,
    typer.Option(
        "--highlight",
        help="Emphasise these in figures with many lines, besides the best and the baseline: names "
        "with commas, or a pattern; at most six.",
    ),
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help=options_of("reading")["scratch"].help,
    ),
]
Plots = Annotated[Path | None, typer.Option(help="Write the figures as SVG and PNG.")]


def given_options(context: typer.Context) -> dict[str, str]:
    """Return the options and arguments that stand on the command line: flags by their names."""
    return {
        str(parameter.name): parameter.opts[0]
        for parameter in context.command.params
        if (source := context.get_parameter_source(parameter.name or "")) is not None
        and source.name == "COMMANDLINE"
    }


TraceFile = Annotated[str, typer.Argument(help="A trace, compressed or not; - is standard input.")]
