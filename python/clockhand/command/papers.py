"""What papers need of every study: its tables in the words of LaTeX or Markdown, and a theme."""

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clockhand._engine import __version__
from clockhand.command.saying import command_line
from clockhand.study.errors import UsageError, option
from clockhand.study.files import check_places
from clockhand.study.records import Fields, Record

if TYPE_CHECKING:
    from rich.console import Console

    from clockhand.command.keeping import TableKeeper
    from clockhand.report.paper import Paper
    from clockhand.report.paper_tables import PaperTable


class TableForm(StrEnum):
    """The formats of a folder's tables."""

    LATEX = "latex"
    MARKDOWN = "markdown"
    CSV = "csv"


TablesFolder = Annotated[
    Path | None,
    typer.Option("--tables", help="Write the tables that are printed into this folder."),
]
TablesAs = Annotated[
    TableForm | None,
    typer.Option(
        "--as", help="How tables are written: csv if not given, latex with booktabs and siunitx."
    ),
]
ThemeText = Annotated[
    str | None,
    typer.Option(
        "--theme",
        metavar="THEME",
        help="Figures of --plots for a paper, such as paper:width=84mm,font=serif (or sans): PDF "
        "and SVG with their fonts, legible in grey.",
    ),
]


@dataclass(frozen=True)
class Papers:
    """What is to be written for a paper.

    Attributes:
        tables: The folder of tables, if they are wanted.
        form: How they are written.
        theme: How figures look, if not as pictures.
    """

    tables: Path | None = None
    form: TableForm = TableForm.CSV
    theme: "Paper | None" = None

    def check(self) -> None:
        """Find out before the work that the folder can be written to.

        Raises:
            OSError: it cannot.
        """
        check_places([], folder=self.tables)

    def files(
        self, print_for_people: "Callable[[Console], None]", facts: Record
    ) -> dict[Path, bytes]:
        """Return the tables that a command prints as files of the folder, if it is asked for."""
        if self.tables is None:
            return {}
        from clockhand.command.keeping import TableKeeper

        keeper = TableKeeper()
        print_for_people(keeper)
        return table_files_of(self.tables, self.form, keeper, facts)

    def analyses(self, tables: "Iterable[PaperTable]", facts: Record) -> dict[Path, bytes]:
        """Return tables that are made already as files of the folder, if it is asked for."""
        if self.tables is None:
            return {}
        from clockhand.report.paper_tables import table_files

        return table_files(self.tables, tables, facts, self.form)


def papers_of(tables: Path | None, form: TableForm | None, theme: str | None) -> Papers:
    """Return what options ask for.

    Raises:
        UsageError: the theme is unknown, or a form is given without a folder.
    """
    if form is not None and tables is None:
        raise UsageError(
            option("as") + f" {form} is about tables", "add " + option("tables") + " FOLDER"
        )
    made = None
    if theme is not None:
        from clockhand.report.paper import paper_of

        made = paper_of(theme)
    return Papers(tables, form or TableForm.CSV, made)


def table_files_of(
    folder: Path, form: TableForm, keeper: "TableKeeper", facts: Record
) -> dict[Path, bytes]:
    """Return kept tables as files, which are named after their titles."""
    import polars as pl

    from clockhand.report.paper_tables import PaperTable, table_files
    from clockhand.report.words import free_slug

    tables: list[PaperTable] = []
    for title, columns in keeper.tables:
        stem = re.split("[:,;] ", title, maxsplit=1)[0]
        slug = free_slug(stem, [table.slug for table in tables])
        tables.append(PaperTable(title, slug, pl.DataFrame(columns, strict=False)))
    return table_files(folder, tables, facts, form)


def facts_without_traces() -> Fields:
    """Return how a table was made that needs no trace."""
    return {"command": command_line(), "version": __version__, "traces": []}


def for_papers(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for papers in the place of its parameter ``papers``."""
    signature = inspect.signature(command)
    options = {
        "tables": TablesFolder,
        "tables_as": TablesAs,
        "theme": ThemeText,
    }
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in options.items()
    ]
    own = [parameter for name, parameter in signature.parameters.items() if name != "papers"]

    @wraps(command)
    def with_papers(**given: Any) -> None:
        tables, form, theme = (given.pop(name) for name in options)
        if theme is not None and given.get("plots") is None:
            raise UsageError(
                option("theme") + " is about figures", "add " + option("plots") + " FOLDER"
            )
        papers = papers_of(tables, form, theme)
        papers.check()
        command(**given, papers=papers)

    vars(with_papers)["__signature__"] = signature.replace(parameters=[*own, *parameters])
    return with_papers
