"""What the command writes: rows in the formats of programs, reports and figures, in files."""

import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Union, cast

from clockhand.command.saying import WIDE, console, say
from clockhand.study.columns import ColumnParts
from clockhand.study.drawing import check_drawing
from clockhand.study.errors import UsageError, option
from clockhand.study.files import Content, check_places, publish
from clockhand.study.records import Record
from clockhand.study.selections import highlighted

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console


class Format(StrEnum):
    """The format of printed rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


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
