"""What every command of rows writes: rows, report, figures, and tables and a theme for papers."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clockhand._engine import __version__
from clockhand.command.options import Highlight, Out, OutputFormat, Plots, Report
from clockhand.command.output import (
    NONE_UNTABLED,
    Format,
    Rows,
    Untabled,
    check_highlight,
    check_outputs,
    deliver,
)
from clockhand.command.saying import command_line
from clockhand.study.errors import UsageError, option
from clockhand.study.files import Content, check_places
from clockhand.study.records import Fields, Record

if TYPE_CHECKING:
    from rich.console import Console

    from clockhand.command.keeping import TableKeeper
    from clockhand.report.paper import Paper
    from clockhand.report.paper_tables import PaperTable
    from clockhand.report.reported import Reported


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
class Outputs:
    """Where the rows of a command go, and what else is written of them.

    Attributes:
        format: The format of the rows.
        out: Their file.
        report: The file of the report.
        plots: The folder of figures.
        highlight: What figures emphasise, as it is given.
        tables: The folder of tables, if they are wanted.
        form: How they are written.
        theme: How figures look for a paper, if not as pictures.
    """

    format: Format | None = None
    out: Path | None = None
    report: Path | None = None
    plots: Path | None = None
    highlight: list[str] | None = None
    tables: Path | None = None
    form: TableForm = TableForm.CSV
    theme: "Paper | None" = None

    @property
    def has_figures(self) -> bool:
        """Whether a report or figures are wanted."""
        return self.report is not None or self.plots is not None

    @property
    def show_facts(self) -> bool:
        """Whether anything is written that shows the facts."""
        return self.has_figures or self.tables is not None

    def check(self, *others: Path | None) -> None:
        """Find out before the work that everything can be written, other files too.

        Raises:
            UsageError: two are one file, or figures are of no known format.
            OSError: a place cannot be written to.
        """
        check_outputs(self.out, self.report, self.plots, *others)

    def marked(self, given: Sequence[str]) -> list[str]:
        """Return what figures emphasise, which is among what is run.

        Raises:
            UsageError: no figure is written, or an entry matches nothing that is run.
        """
        return check_highlight(self.highlight, given, self.report, self.plots)

    def figures(self, made: "Reported", highlight: Sequence[str] = ()) -> dict[Path, bytes]:
        """Return the files of the report and the figures of a result."""
        return made.report_files(self.report, self.plots, highlight, self.theme)

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

    def deliver(
        self,
        rows: Rows,
        print_for_people: "Callable[[Console], None]",
        files: Mapping[Path, Content],
        *,
        stderr: bool = False,
        untabled: Untabled = NONE_UNTABLED,
    ) -> None:
        """Publish files, and the rows to their file or to standard output."""
        folders = (self.plots, self.tables)
        deliver(
            rows, self.format, self.out, print_for_people, files, *folders,
            stderr=stderr, untabled=untabled,
        )  # fmt: skip


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


OUTPUTS: Mapping[str, object] = {
    "format": OutputFormat,
    "out": Out,
    "report": Report,
    "plots": Plots,
    "highlight": Highlight,
    "tables": TablesFolder,
    "tables_as": TablesAs,
    "theme": ThemeText,
}
"""The options that every command of rows has."""


def with_outputs(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of :data:`OUTPUTS`, but for some, in the place of ``outputs``."""
    options = {name: kind for name, kind in OUTPUTS.items() if name not in without}

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        kind = inspect.Parameter.KEYWORD_ONLY
        added = [
            inspect.Parameter(name, kind, default=None, annotation=it)
            for name, it in options.items()
        ]
        own = [it for name, it in signature.parameters.items() if name != "outputs"]
        before = [it for it in own if it.kind is not kind]
        behind = [it for it in own if it.kind is kind]

        @wraps(command)
        def with_given(**given: Any) -> None:
            outputs = _outputs(**{name: given.pop(name) for name in options})
            check_places([], folder=outputs.tables)
            command(**given, outputs=outputs)

        vars(with_given)["__signature__"] = signature.replace(parameters=[*before, *added, *behind])
        return with_given

    return decorated


def _outputs(tables_as: TableForm | None = None, theme: str | None = None, **given: Any) -> Outputs:
    """Return what options ask for.

    Raises:
        UsageError: the theme is unknown or without figures, or a form is given without a folder.
    """
    if theme is not None and given.get("plots") is None:
        raise UsageError(
            option("theme") + " is about figures", "add " + option("plots") + " FOLDER"
        )
    if tables_as is not None and given.get("tables") is None:
        raise UsageError(
            option("as") + f" {tables_as} is about tables", "add " + option("tables") + " FOLDER"
        )
    made = None
    if theme is not None:
        from clockhand.report.paper import paper_of

        made = paper_of(theme)
    return Outputs(**given, form=tables_as or TableForm.CSV, theme=made)
