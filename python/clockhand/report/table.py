"""The table of all rows, with every number printed for reading."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from clockhand.report.words import UNKNOWN, number_text
from clockhand.study.facts import Facts, SsdRunFacts, trace_label

# More rows than this are laid out when they are asked for; until then they are packed data.
SHOWN_ROWS = 200


@dataclass(frozen=True)
class Column:
    """One column: its name in the result rows, its heading, and whether it holds numbers."""

    name: str
    heading: str
    numeric: bool


@dataclass(frozen=True)
class Table:
    """All rows as text, in the order given; ``constants`` are settings that all rows share."""

    columns: list[Column]
    rows: list[tuple[str, ...]]
    constants: list[tuple[str, str]]
    traces: list[str]
    policies: list[str]
    has_filter: bool
    shown_rows: int

    @property
    def frozen(self) -> int:
        """How many columns stay in place while the others scroll: the names of a row, at most 2."""
        names = itertools.takewhile(lambda column: not column.numeric, self.columns)
        return len(list(names)[:2])

    @property
    def page_rows(self) -> list[tuple[str, ...]]:
        """The rows that stand in the page, for readers without scripts too."""
        return self.rows[: self.shown_rows]

    @property
    def more_rows(self) -> list[tuple[str, ...]]:
        """The rows that the page's script adds when they are asked for."""
        return self.rows[self.shown_rows :]


def table_without_filter(
    rows: pl.DataFrame, facts: Facts | SsdRunFacts, headings: Mapping[str, str]
) -> Table:
    """Lay out rows as they are, under these headings or the columns' own names."""
    labels = {name: trace_label(name, facts) for name in rows["trace"].unique()}
    shown = rows.with_columns(
        pl.col("trace").replace_strict(labels, return_dtype=pl.String),
    )
    return plain_table(shown, headings)


def plain_table(rows: pl.DataFrame, headings: Mapping[str, str]) -> Table:
    """Lay out rows of anything, under these headings or the columns' own names."""
    columns = [
        Column(name, headings.get(name, name.replace("_", " ")), dtype.is_numeric())
        for name, dtype in rows.schema.items()
    ]
    texts = [cells(rows[name]) for name in rows.columns]
    return Table(
        columns=columns,
        rows=list(zip(*texts, strict=True)),
        constants=[],
        traces=[],
        policies=[],
        has_filter=False,
        shown_rows=SHOWN_ROWS,
    )


def cells(column: pl.Series) -> list[str]:
    """Return the texts of a column: its numbers have as many decimals each, so that they align."""
    if not column.dtype.is_numeric():
        return [number_text(value) for value in column]
    known = [value for value in column if value is not None and math.isfinite(value)]
    if column.name.endswith(("_ratio", "_share", "_over_bound")):
        decimals = 4
    else:
        decimals = 0 if all(value == int(value) for value in known) else 3
    return [
        UNKNOWN if value is None or not math.isfinite(value) else f"{value:,.{decimals}f}"
        for value in column
    ]
