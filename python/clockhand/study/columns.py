"""The columns of studies' rows, as the engine declares them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clockhand import _engine

if TYPE_CHECKING:
    import polars as pl

Schema = Mapping[str, "type[pl.DataType]"]
"""Names, order and types of the columns of a table."""

TYPES = {"text": "String", "u64": "UInt64", "f64": "Float64", "bool": "Boolean"}
"""The types of Polars, which is imported when there are rows to keep."""

WORDS = {"text": "text", "u64": "whole number", "f64": "number", "bool": "yes or no"}


def schema(study: str) -> Schema:
    """Return the columns of a study's rows.

    Raises:
        KeyError: the engine has no such study.
    """
    import polars as pl

    columns = _engine.columns()[study]
    return {column["name"]: getattr(pl, TYPES[column["kind"]]) for column in columns}


def page() -> str:
    """Return the documentation of all columns, in Markdown: ``docs/columns.md``."""
    parts = [
        "# Columns\n\nThe columns of result rows, in JSON, CSV, Parquet and Python alike. Names "
        "and order are stable.\n`make columns` writes this page from what the engine declares.\n"
    ]
    for study, columns in _engine.columns().items():
        parts.append(f"\n## {study}\n\n| column | holds | meaning |\n|---|---|---|\n")
        for column in columns:
            holds = WORDS[column["kind"]] + (", or nothing" if column["nullable"] else "")
            meaning = " ".join(column["doc"].split())
            parts.append(f"| `{column['name']}` | {holds} | {meaning} |\n")
    return "".join(parts)
