"""The tables of a run of write buffers on drives: rows, and what stands beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from clockhand.studies.ssd.waits import WAITS
from clockhand.study.facts import SsdRunFacts

Columns = Mapping[str, Any]

CELL: Columns = {
    "trace": pl.String, "buffer": pl.String, "buffer_pages": pl.UInt64, "ssd": pl.String,
}  # fmt: skip
"""The columns by which tables beside the rows know their cell."""

WEAR: Columns = {"erases": pl.UInt64, "blocks": pl.UInt64}

_SUMS: Columns = {
    "op": pl.String,
    "requests": pl.UInt64,
    **{f"{wait}_us": pl.Float64() for wait in WAITS},
    "longest_us": pl.Float64,
}
DETAILS: Mapping[str, Columns] = {
    "classes": {"most_us": pl.Float64, **_SUMS},
    "moments": {
        "begins_us": pl.Float64, "host_writes": pl.UInt64, "relocations": pl.UInt64,
        "erases": pl.UInt64, **_SUMS,
    },
    "parts": {"part": pl.String, "utilisation": pl.Float64},
}  # fmt: skip
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
