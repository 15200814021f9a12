"""What the command says: sentences on standard error, and the consoles that it prints on."""

import sys
from typing import TYPE_CHECKING

import typer

from clockhand.study.facts import printable, printable_lines
from clockhand.study.shell import shell_line

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 200
"""Columns of a table that does not go to a terminal."""


def console(*, stderr: bool = False) -> "Console":
    """Return a console that does not break lines in a pipe or a file."""
    from rich.console import Console

    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if terminal else WIDE, highlight=False)


_quiet = False


def be_quiet(quiet: bool) -> None:
    """Print neither progress nor notes from now on, only results and errors; or do again."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Tell whether neither progress nor notes are printed."""
    return _quiet


def say(sentence: str) -> None:
    """Print a note on standard error, unless the command is quiet."""
    if not _quiet:
        tell(sentence)


def tell(sentence: str) -> None:
    """Print a sentence on standard error, whatever characters file names have put into it."""
    typer.echo(printable(sentence), err=True)


def command_line() -> str:
    """Return the command as the user wrote it, for the facts of what it makes."""
    return printable_lines(shell_line(["clockhand", *sys.argv[1:]]))


def print_markdown(page: str) -> None:
    """Print a documentation page; plain Markdown without a terminal."""
    if sys.stdout.isatty():
        from rich.markdown import Markdown  # It takes a while to import.

        console().print(Markdown(page))
    else:
        sys.stdout.write(page)
