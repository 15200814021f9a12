"""Rows of intervals and of whole cells, which a table holds together."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def cells_of(rows: "pl.DataFrame") -> "pl.DataFrame":
    """Return the rows that are of whole cells."""
    if "interval" not in rows.columns or rows["interval"].null_count() == len(rows):
        return rows
    return rows.filter(rows["interval"].is_null())


def intervals_or_cells(rows: "pl.DataFrame") -> "pl.DataFrame":
    """Return the rows of intervals if there are any, else those of cells."""
    if "interval" not in rows.columns or rows["interval"].null_count() == len(rows):
        return rows
    return rows.filter(rows["interval"].is_not_null())
