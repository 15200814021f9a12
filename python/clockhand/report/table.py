"""The table of all rows, with every number printed for reading."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from clockhand.comparison import SETTING_COLUMNS, io_time_over_bound
from clockhand.facts import Facts, SsdRunFacts, printable, trace_label
from clockhand.report.sections import unique

UNKNOWN = "–"
# What the reader came for stands first; any other column follows in the order of the rows.
LEADING_COLUMNS = (
    "trace", "policy", "frames", "memory_share", "io_time_us", "io_time_over_bound",
    "read_ios", "write_ios", "hit_ratio", "misses", "read_misses", "write_misses",
    "clean_evictions", "dirty_evictions", "energy_uj",
)  # fmt: skip
HEADINGS = {
    "frames": "memory (frames)",
    "memory_share": "share of footprint",
    "io_time_us": "I/O time (µs)",
    "io_time_over_bound": "I/O time over the bound",
    "read_ios": "read I/Os",
    "write_ios": "write I/Os",
    "energy_uj": "energy (µJ)",
    "policy_resolved": "policy with defaults",
    "page_bytes": "page (bytes)",
    "footprint_pages": "footprint (pages)",
    "bits": "reference bits",
    "reserve": "reserve (frames)",
}
# Columns that are left out where no row has a value: most results know nothing of them.
OPTIONAL_COLUMNS = ("hand_movements", "hand_ns")
# Fewer rows than this can be read at a glance, and need no filter.
FILTERED_ROWS = 20
# More rows than this are in the page but not laid out until they are asked for.
SHOWN_ROWS = 400


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


def table(rows: pl.DataFrame, facts: Facts | None) -> Table:
    """Lay out result rows as a table, with the distance to the lower bound where there is one."""
    over_bound = io_time_over_bound(rows)
    if over_bound.null_count() < rows.height:
        rows = rows.with_columns(over_bound)
    constants = []
    for name in SETTING_COLUMNS:
        if name in rows.columns and len(values := rows[name].drop_nulls().unique()) == 1:
            constants.append((name, values[0]))
    shared = {name for name, _ in constants}
    names = [
        name
        for name in unique([*LEADING_COLUMNS, *rows.columns])
        if name in rows.columns and name not in shared
        if name not in OPTIONAL_COLUMNS or rows[name].null_count() < rows.height
    ]
    labels = {name: trace_label(name, facts) for name in rows["trace"].unique()}
    shown = rows.select(names).with_columns(
        pl.col("trace").cast(pl.String).replace_strict(labels, return_dtype=pl.String)
    )
    columns = [
        Column(name, _heading(name), dtype.is_numeric()) for name, dtype in shown.schema.items()
    ]
    return Table(
        columns=columns,
        rows=list(zip(*(cells(shown[name]) for name in names), strict=True)),
        constants=[(_heading(name), number_text(value)) for name, value in constants],
        traces=unique(labels[name] for name in rows["trace"]),
        policies=unique(printable(policy) for policy in rows["policy"]),
        has_filter=rows.height > FILTERED_ROWS,
        shown_rows=SHOWN_ROWS,
    )


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


def _heading(name: str) -> str:
    return HEADINGS.get(name, name.replace("_", " "))


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


def number_text(value: Any) -> str:
    """Return a value for reading: thousands separators, at most three decimals, – for null."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return printable(str(value))
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.3f}".rstrip("0").rstrip(".")
