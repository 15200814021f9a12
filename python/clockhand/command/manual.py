"""``clockhand man``: the manual pages, for ``man`` to show."""

from pathlib import Path
from typing import Annotated

import typer

from clockhand.command.man import SECTION, pages, write
from clockhand.command.saying import say
from clockhand.study.errors import UsageError, option

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[COMMAND]...", help="The command; clockhand itself if not given."),
]
Folder = Annotated[
    Path | None, typer.Option(help="Write the pages of all commands into this folder instead.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="man", epilog="man --folder ~/.local/share/man/man1")(_man)


def _man(words: Words = None, folder: Folder = None) -> None:
    """Print the manual page of a command, or write those of all into a folder that man searches."""
    made = pages()
    if folder is not None:
        if words:
            raise UsageError(
                option("folder") + " takes the pages of all commands", "leave the command out"
            )
        write(folder)
        say(f"{folder} has {len(made)} manual pages; try: man -M {folder.parent} clockhand")
        return
    name = f"{'-'.join(['clockhand', *(words or [])])}.{SECTION}"
    if name not in made:
        raise UsageError(f"there is no command {' '.join(words or [])}", "see: clockhand --help")
    typer.echo(made[name], nl=False)
