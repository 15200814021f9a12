"""What the command prints and writes: tables for people, files for programs."""

import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Union, cast

import typer

from clockhand.report.words import decimals_of
from clockhand.study.columns import ColumnParts
from clockhand.study.drawing import check_drawing
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import printable, printable_lines
from clockhand.study.files import Content, check_places, publish
from clockhand.study.policies import called
from clockhand.study.records import Record
from clockhand.study.selections import highlighted
from clockhand.study.shell import shell_line

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

UNKNOWN = "–"
"""What is printed for an unknown value."""

NEVER_FOLDED = 20
"""Characters of a table's cell that stay on one line, however narrow the terminal is."""

COLUMN_GAP = 3
"""Characters between two columns of a table."""

WIDE = 200
"""Columns of a table that does not go to a terminal."""


class Format(StrEnum):
    """The format of printed rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


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


_shows_all = False


def show_all_columns(shows_all: bool) -> None:
    """Print every column of tables from now on, however narrow the terminal is; or do not."""
    global _shows_all
    _shows_all = shows_all


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


def labels_of(texts: list[str] | None) -> list[tuple[str, str]]:
    """Return the pairs of ``--label KEY=VALUE``.

    Raises:
        UsageError: one is not of this form.
    """
    labels = []
    for text in texts or []:
        key, separator, value = text.partition("=")
        if not separator:
            raise UsageError(
                option("label") + f" {text!r} is not of the form KEY=VALUE", "add the ="
            )
        if not key.strip():
            raise UsageError(option("label") + f" {text!r} has no key", "write KEY=VALUE")
        labels.append((key, value))
    return labels


def print_markdown(page: str) -> None:
    """Print a documentation page; plain Markdown without a terminal."""
    if sys.stdout.isatty():
        from rich.markdown import Markdown  # It takes a while to import.

        console().print(Markdown(page))
    else:
        sys.stdout.write(page)


Columns = Mapping[str, Sequence[object]]
"""The values of columns of one length, by their names."""


def print_table(title: str, rows: "pl.DataFrame | Columns", into: "Console | None" = None) -> None:
    """Print rows as a table; numbers are right-aligned, and nothing is cut.

    On a narrow terminal columns are left out, with a word, unless all were asked for.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from clockhand.command.keeping import TableKeeper

    if isinstance(rows, Mapping):
        columns = rows
        numeric = {name for name, values in columns.items() if any(map(_is_number, values))}
    else:
        columns = rows.to_dict(as_series=False)
        numeric = {name for name, kind in rows.schema.items() if kind.is_numeric()}
    if POLICY in columns:
        names = called([text for text in columns[POLICY] if isinstance(text, str)])
        columns = {**columns, POLICY: [names.get(str(text), text) for text in columns[POLICY]]}
    if isinstance(into, TableKeeper):
        into.keep(title, columns)
        return
    to = into or console()
    shown = {name: _column(values) for name, values in columns.items()}
    fitting = shown if _shows_all or not to.is_terminal else _fitting(shown, to.width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, texts in fitting.items():
        table.add_column(
            name,
            justify="right" if name in numeric else "left",
            min_width=_least_width(name, texts),
            overflow="fold",
        )
    for row in zip(*fitting.values(), strict=True):
        table.add_row(*(Text(text) for text in row))
    to.print(Text(printable(title)), soft_wrap=True)
    to.print(table, width=max(to.width, _width(fitting)), crop=False)
    left_out = {name: texts for name, texts in shown.items() if name not in fitting}
    if left_out:
        to.print(Text(f"left out to fit: {_named(left_out)}; --wide shows all"), soft_wrap=True)


POLICY = "policy"
"""The column of policies, where one's own are called by their class."""

LEAST_COLUMNS = 2
"""The first columns, which name what a row is of, are never left out."""


def _fitting(shown: Mapping[str, list[str]], room: int) -> dict[str, list[str]]:
    """Return the columns that fit: those that are the same in all rows go first, then the last."""
    fitting = dict(shown)
    dispensable = list(shown)[: LEAST_COLUMNS - 1 : -1]
    for name in sorted(dispensable, key=lambda name: not _is_same(shown[name])):
        if _width_unfolded(fitting) <= room:
            break
        del fitting[name]
    return fitting


def _is_same(texts: Sequence[str]) -> bool:
    return len(texts) > 1 and len(set(texts)) == 1


def _least_width(name: str, texts: Sequence[str]) -> int:
    return min(max(map(len, [*name.split(), *texts])), NEVER_FOLDED)


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    return sum(_least_width(name, texts) + COLUMN_GAP for name, texts in columns.items())


def _width_unfolded(columns: Mapping[str, Sequence[str]]) -> int:
    """Return the width with headings in one line each, which a terminal does not fold evenly."""
    widths = (min(max(map(len, [name, *texts])), NEVER_FOLDED) for name, texts in columns.items())
    return sum(width + COLUMN_GAP for width in widths)


def _named(columns: Mapping[str, Sequence[str]]) -> str:
    """Name columns, with their value if all rows have the same."""
    return ", ".join(
        f"{name} {texts[0]}" if _is_same(texts) else name for name, texts in columns.items()
    )


def format_for(format: Format | None, out: Path | None) -> Format:
    """Return the format that was asked for, or the one that the file's name ends in, or a table."""
    if format is not None:
        return format
    endings = {f".{known}": known for known in Format if known is not Format.TABLE}
    return Format.TABLE if out is None else endings.get(out.suffix.lower(), Format.TABLE)


Records = Sequence[Record]
"""Rows as mappings from columns to values."""

Rows = Union["pl.DataFrame", "Callable[[], pl.DataFrame]"]
"""Rows, or what makes a table of them where more than their print is wanted."""


GROUP_ROWS = 1 << 16
"""Rows of a group of a Parquet file."""


@dataclass(frozen=True)
class Untabled:
    """Rows as they are there already: to import what makes a table takes as long as a small trace.

    Attributes:
        records: The rows as mappings, for JSON.
        columns: Gives them as columns, which the engine writes in each format.
    """

    records: Records | None = None
    columns: Callable[[], ColumnParts | None] = lambda: None


NONE_UNTABLED = Untabled()


def encoded(
    rows: Rows,
    format: Format,
    print_for_people: "Callable[[Console], None]",
    untabled: Untabled = NONE_UNTABLED,
) -> bytes:
    """Return rows in a format, as written to a file; ``print_for_people`` prints the table.

    Of what is ``untabled`` no table is made.
    """
    if format is Format.TABLE:
        from rich.console import Console

        text = io.StringIO()
        print_for_people(Console(file=text, width=WIDE, highlight=False))
        return text.getvalue().encode()
    buffer = io.BytesIO()
    _writing(rows, format, untabled)(buffer)
    return buffer.getvalue()


def _json(records: Records) -> bytes:
    return (json.dumps(records, indent=1, ensure_ascii=False) + "\n").encode()


class _Output(io.RawIOBase):
    """A file that remembers why it could not be written to, of which Polars tells only the text."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.failure: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        try:
            return self._file.write(data)
        except OSError as error:
            self.failure = error
            raise


def _write_parquet(table: "pl.DataFrame", file: BinaryIO) -> None:
    """Write a table in groups of rows that are few enough to be encoded in little memory.

    Raises:
        OSError: the file cannot be written to.
    """
    from polars.exceptions import PolarsError

    output = _Output(file)
    try:
        table.write_parquet(cast(IO[bytes], output), row_group_size=GROUP_ROWS)
        file.flush()
    except PolarsError:
        if output.failure is not None:
            raise output.failure from None
        raise


def _writing(rows: Rows, format: Format, untabled: Untabled) -> Callable[[BinaryIO], object]:
    """Return what writes rows for programs: the engine, if they are columns, else Polars."""
    if format is Format.JSON and untabled.records is not None:
        return partial(_write, _json(untabled.records))
    columns = untabled.columns()
    if columns is not None:
        return _BY_ENGINE[format](columns)
    table = rows() if callable(rows) else rows
    match format:
        case Format.PARQUET:
            return partial(_write_parquet, table)
        case Format.JSON:
            return partial(_write, _json(table.to_dicts()))
        case _:
            return partial(_write, table.write_csv().encode())


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)


_BY_ENGINE: Mapping[Format, Callable[[ColumnParts], Callable[[BinaryIO], None]]] = {
    Format.PARQUET: lambda columns: columns.write_parquet,
    Format.JSON: lambda columns: columns.write_json,
    Format.CSV: lambda columns: columns.write_csv,
}


def content(
    rows: Rows,
    format: Format,
    print_for_people: "Callable[[Console], None]",
    untabled: Untabled = NONE_UNTABLED,
) -> Content:
    """Return what writes a file of rows, which go to the file as they are encoded."""
    if format is Format.TABLE:
        return encoded(rows, format, print_for_people, untabled)
    return _writing(rows, format, untabled)


def write_rows(
    rows: Rows,
    format: Format,
    print_for_people: "Callable[[Console], None]",
    *,
    stderr: bool = False,
    untabled: Untabled = NONE_UNTABLED,
) -> None:
    """Write rows to standard output, or to standard error; ``untabled`` as in :func:`encoded`.

    Raises:
        UsageError: Parquet is asked for on a terminal.
    """
    stream = sys.stderr if stderr else sys.stdout
    if format is Format.TABLE:
        print_for_people(console(stderr=stderr))
    elif format is Format.PARQUET and stream.isatty():
        name = "standard error" if stderr else "standard output"
        raise UsageError(
            f"Parquet is binary and {name} is a terminal", "add " + option("out") + " FILE"
        )
    else:
        _writing(rows, format, untabled)(stream.buffer)
        stream.buffer.flush()


def check_outputs(
    out: Path | None, report: Path | None, plots: Path | None, *others: Path | None
) -> None:
    """Find out before the work that rows, report and figures have places of their own.

    Raises:
        UsageError: ``--out`` and ``--report`` name one file.
        ClockhandError: what draws is not installed.
        OSError: a place cannot be written.
    """
    if out is not None and out == report:
        raise UsageError(
            option("out") + " and " + option("report") + f" both name {out}",
            "give them different names",
        )
    check_figures(report, plots)
    check_places([path for path in (out, report, *others) if path is not None], folder=plots)


UNDRAWN = (".gif", ".jpg", ".jpeg", ".webp", ".bmp", ".tiff", ".eps", ".ps")


def check_figures(*places: Path | None) -> None:
    """Find out before the work that figures can be drawn, if there is a place for any.

    Raises:
        UsageError: a place is named after a kind of picture that is not drawn.
        ClockhandError: what draws is not installed.
    """
    for place in places:
        if place is not None and place.suffix.lower() in UNDRAWN:
            raise UsageError(
                f"{place}: {place.suffix} is not a format of pictures",
                "end it in .svg, .png or .pdf",
            )
    if any(places):
        check_drawing()


def check_highlight(
    highlight: Sequence[str] | None, given: Sequence[str], *figures: Path | None
) -> list[str]:
    """Return what figures emphasise, which is among what is run; there must be figures.

    Raises:
        UsageError: no figure is written, or an entry matches nothing that is run.
    """
    if highlight and not any(figures):
        raise UsageError(
            option("highlight") + " is about figures", "add " + option("report") + " FILE.html"
        )
    return highlighted(highlight, given)


def deliver(
    rows: Rows,
    format: Format | None,
    out: Path | None,
    print_for_people: "Callable[[Console], None]",
    files: Mapping[Path, Content],
    *folders: Path | None,
    stderr: bool = False,
    untabled: Untabled = NONE_UNTABLED,
) -> None:
    """Publish files, the rows among them if they have one; else write the rows to standard output.

    ``folders`` are those that some of the files stand in; they are made if absent. With ``stderr``
    rows without a file go to standard error: where standard output is another program's.
    ``untabled`` is that of :func:`encoded`.

    Raises:
        UsageError: Parquet is asked for on a terminal.
        OSError: a file cannot be written; then none is.
    """
    written_as = format_for(format, out)
    of_rows = {} if out is None else {out: content(rows, written_as, print_for_people, untabled)}
    within = [folder for folder in folders if folder is not None]
    publish({**files, **of_rows}, *within)
    _tell_written(files, within)
    if out is None:
        write_rows(rows, written_as, print_for_people, stderr=stderr, untabled=untabled)
    elif out.is_file():
        what = "the table" if written_as is Format.TABLE else f"the rows as {written_as}"
        say(f"{out}: {what}")


def write_files(files: Mapping[Path, Content]) -> None:
    """Publish files without rows, and say which they are.

    Raises:
        OSError: a file cannot be written; then none is.
    """
    publish(files)
    _tell_written(files, [])


def _tell_written(files: Iterable[Path], folders: Sequence[Path]) -> None:
    """Say what was written beside the rows; what went into a device or a pipe is seen there."""
    counts = dict.fromkeys(folders, 0)
    for path in files:
        folder = next((it for it in folders if path.is_relative_to(it)), None)
        if folder is not None:
            counts[folder] += 1
        elif path.is_file():
            is_page = path.suffix.lower() == ".html"
            say(f"{path}: {'the report; open it in a browser' if is_page else 'written'}")
    for folder, count in counts.items():
        if count:
            say(f"{folder}: {count:,} {'file' if count == 1 else 'files'}")


def share_in_words(share: float | None) -> str | None:
    """Return a share of the footprint as a percentage; above all of it, everything fits."""
    if share is None:
        return None
    return "fits" if share > 1 else f"{round(100 * share, 1)} %"


def share_text(column: str) -> "pl.Expr":
    """Return shares of the footprint as percentages; above all of it, everything fits."""
    import polars as pl

    share = (pl.col(column) * 100).round(1).cast(pl.String).add(" %")
    return pl.when(pl.col(column) > 1).then(pl.lit("fits")).otherwise(share)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _column(values: Sequence[object]) -> list[str]:
    """Return the texts of a column: its numbers have as many decimals each, so that they align."""
    places = decimals_of(values)
    return [_shown(value, places) for value in values]


def _shown(value: object, places: int) -> str:
    match value:
        case None:
            return UNKNOWN
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.{places}f}"
        case _:
            return printable(str(value))
