"""The tables of a run of write buffers on drives: rows, and what stands beside them."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from clockhand.study.columns import Schema, schema
from clockhand.study.facts import SsdRunFacts

CELL = ("trace", "buffer", "buffer_pages", "ssd")
"""The columns by which tables beside the rows know their cell."""


def _own(table: str) -> Schema:
    """Return the columns of a table that are not those of its cell."""
    return {name: kind for name, kind in schema(table).items() if name not in (*CELL, "arrivals")}


WEAR = _own("ssd wear")

DETAILS: Mapping[str, Schema] = {
    name: _own(f"ssd {name}") for name in ("classes", "moments", "parts")
}
"""Tables of timed runs beside the rows."""


@dataclass(frozen=True, repr=False)
class SsdTables:
    """Contents of a run's report; :class:`SsdRun` describes the tables."""

    rows: pl.DataFrame
    wear: pl.DataFrame
    classes: pl.DataFrame
    moments: pl.DataFrame
    parts: pl.DataFrame
    facts: SsdRunFacts
