"""What the command prints and writes: tables for people, files for programs."""

import io
import json
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import polars as pl
from rich import box
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from clockhand._engine import UsageError
from clockhand.files import publish

WIDE = 200
"""Columns of a table that does not go to a terminal."""


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def console(*, stderr: bool = False) -> Console:
    """Return a console that does not break lines in a pipe or a file."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if terminal else WIDE, highlight=False)


def print_markdown(page: str) -> None:
    """Print a documentation page; plain Markdown where there is no terminal."""
    if sys.stdout.isatty():
        console().print(Markdown(page))
    else:
        sys.stdout.write(page)


def print_table(title: str, rows: pl.DataFrame, into: Console | None = None) -> None:
    """Print rows as a table; numbers stand right."""
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, dtype in rows.schema.items():
        table.add_column(
            name, justify="right" if dtype.is_numeric() else "left", no_wrap=dtype.is_numeric(),
            overflow="fold",
        )
    for row in rows.iter_rows():
        table.add_row(*(Text(_shown(value)) for value in row))
    (into or console()).print(table)


def format_for(format: Format | None, out: Path | None) -> Format:
    """Return the format that was asked for, or the one that the file's name ends in, or a table."""
    if format is not None:
        return format
    endings = {f".{known}": known for known in Format if known is not Format.TABLE}
    return Format.TABLE if out is None else endings.get(out.suffix.lower(), Format.TABLE)


def write_rows(
    rows: pl.DataFrame,
    format: Format,
    out: Path | None,
    print_for_people: Callable[[Console], None],
) -> None:
    """Write rows to a file, whole or not at all, or to standard output.

    Raises:
        UsageError: Parquet is asked for on a terminal.
        OSError: the file cannot be written.
    """
    if format is Format.TABLE:
        if out is None:
            print_for_people(console())
            return
        text = io.StringIO()
        print_for_people(Console(file=text, width=WIDE, highlight=False))
        content = text.getvalue().encode()
    else:
        content = _encoded(rows, format)
    if out is not None:
        publish({out: content})
    elif format is Format.PARQUET and sys.stdout.isatty():
        raise UsageError("Parquet is binary and standard output is a terminal; add --out FILE")
    else:
        sys.stdout.buffer.write(content)


def _encoded(rows: pl.DataFrame, format: Format) -> bytes:
    if format is Format.JSON:
        return (json.dumps(rows.to_dicts(), indent=1, ensure_ascii=False) + "\n").encode(
            "utf-8", "backslashreplace"
        )
    buffer = io.BytesIO()
    if format is Format.CSV:
        rows.write_csv(buffer)
    else:
        rows.write_parquet(buffer)
    return buffer.getvalue()


def _shown(value: object) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
        case _:
            return str(value)
