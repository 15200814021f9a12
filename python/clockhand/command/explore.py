"""``clockhand explore``: a local page to turn the knobs."""

import os
import sys
import webbrowser
from contextlib import suppress
from typing import Annotated

import typer

from clockhand.command.reading import with_reading
from clockhand.command.saying import tell
from clockhand.study.drawing import check_drawing
from clockhand.study.errors import UsageError
from clockhand.study.limits import check_range
from clockhand.traces import Reading

Place = Annotated[
    str,
    typer.Argument(metavar="TRACE|DATASET", help="A trace, or the folder of a dataset."),
]
Port = Annotated[int | None, typer.Option(help="The port of the page; a free one if not given.")]
Browser = Annotated[
    bool,
    typer.Option("--browser/--no-browser", help="Open the page in a browser."),
]
HIGHEST_PORT = 65535


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="explore", epilog="explore app.trace")(_explore)


@with_reading
def _explore(place: Place, port: Port = None, browser: Browser = True, *, reading: Reading) -> None:
    """Turn the knobs of a trace or a dataset on a local page: memory, cost ratio, policies, page
    size and device, with a heat map, curves and the hand step by step."""
    from clockhand.explore.serving import check_marimo, served
    from clockhand.explore.sources import source_of

    if port is not None:
        check_range("port", port, 1, HIGHEST_PORT)
    if not os.path.exists(place):
        raise UsageError(f"{place} is no file and no folder", "name a trace or a dataset")
    check_drawing()
    check_marimo()
    given = {name: value for name, value in reading.items() if value is not None}
    # An error in a dataset is shown here, not on a page.
    source_of(place, given)
    with served(os.path.abspath(place), given, port) as (address, process):
        tell(f"{address} shows it, to everyone who has this address; Ctrl-C ends it")
        if browser and sys.stderr.isatty():
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            process.wait()
