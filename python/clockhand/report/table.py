"""The table of all rows, with every number printed for reading."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from clockhand.report.words import SHARE_DECIMALS, UNKNOWN, decimals_of, number_text, time_unit
from clockhand.study.facts import Facts, SsdRunFacts, trace_label

# More rows than this are laid out when they are asked for; until then they are packed data.
SHOWN_ROWS = 100


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
    laid_out = [
        cells(rows[name], headings.get(name, name.replace("_", " "))) for name in rows.columns
    ]
    columns = [
        Column(name, heading, rows[name].dtype.is_numeric())
        for name, (heading, _) in zip(rows.columns, laid_out, strict=True)
    ]
    return Table(
        columns=columns,
        rows=list(zip(*(texts for _, texts in laid_out), strict=True)),
        constants=[],
        traces=[],
        policies=[],
        has_filter=False,
        shown_rows=SHOWN_ROWS,
    )


SHARES = ("_share", "hit_ratio", "fault_ratio", "hit_rate")
"""Ends of the names of columns in percent."""

TIMES_US = "_us"
"""End of the names of times in µs, which are written in a unit that suits all of them."""


def cells(column: pl.Series, heading: str | None = None) -> tuple[str, list[str]]:
    """Return a column as a page shows it: its heading, with the unit, and its texts.

    All numbers have the same number of decimals, so that they align. Shares are percentages. Times
    are in the unit that gives the longest one to three digits before the point. A column without a
    heading stays in microseconds, as its name says.
    """
    if not column.dtype.is_numeric():
        return heading or column.name, [number_text(value) for value in column]
    known = [value for value in column if value is not None and math.isfinite(value)]
    factor, behind = 1.0, ""
    if column.name.endswith(SHARES):
        factor, behind, places = 100.0, "\u00a0%", SHARE_DECIMALS
    elif column.name.endswith(TIMES_US) and heading is not None:
        unit, unit_us = time_unit(known)
        factor = 1 / unit_us
        heading = f"{heading.removesuffix(' (µs)').removesuffix(' us')} ({unit})"
        places = decimals_of(value * factor for value in known)
    else:
        places = 0 if all(value == int(value) for value in known) else decimals_of(known)
    return heading or column.name, [
        UNKNOWN
        if value is None or not math.isfinite(value)
        else f"{value * factor if factor != 1 else value:,.{places}f}{behind}"
        for value in column
    ]
