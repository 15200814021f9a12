"""The columns of tables, as the engine declares them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter
from textwrap import fill
from typing import TYPE_CHECKING, BinaryIO

from clockhand import _engine
from clockhand.study.records import Record

if TYPE_CHECKING:
    import polars as pl

Schema = Mapping[str, "type[pl.DataType]"]
"""Names, order and types of the columns of a table."""

Kinds = Mapping[str, str]
"""Names, order and kinds of the columns of a table, in the engine's words."""

Part = Record
"""Some rows: for each column an array of NumPy or a list, or the value that all these rows have."""

TYPES = {
    "text": "String", "u32": "UInt32", "u64": "UInt64", "i64": "Int64", "f64": "Float64",
    "bool": "Boolean",
}  # fmt: skip
"""The types of Polars, which is imported when there are rows to keep."""


@cache
def kinds(table: str) -> Kinds:
    """Return the columns of a table; that of a study's rows has the study's name.

    Raises:
        KeyError: the engine has no such table.
    """
    return {column["name"]: column["kind"] for column in _declared()[table]}


@cache
def _declared() -> Mapping[str, Sequence[Record]]:
    return _engine.columns()


def types(kinds: Kinds) -> Schema:
    """Return columns with their types in Polars."""
    import polars as pl

    return {name: getattr(pl, TYPES[kind]) for name, kind in kinds.items()}


def schema(table: str) -> Schema:
    """Return the columns of a table, with their types.

    Raises:
        KeyError: the engine has no such table.
    """
    return types(kinds(table))


@dataclass(frozen=True)
class ColumnParts:
    """A table as the engine's columns, which it can write without a library of tables.

    Attributes:
        kinds: The columns.
        parts: Their values; NaN in an array stands for no value.
    """

    kinds: Kinds
    parts: Sequence[Part]

    def write_parquet(self, file: BinaryIO) -> None:
        """Write the rows as Parquet, in groups that are few enough to be encoded in little memory.

        Raises:
            OSError: the file cannot be written to.
        """
        _engine.write_parquet(file, list(self.kinds.items()), list(self.parts))

    def write_json(self, file: BinaryIO) -> None:
        """Write the rows as JSON, an array of objects, row by row.

        Raises:
            OSError: the file cannot be written to.
        """
        _engine.write_json(file, list(self.kinds.items()), list(self.parts))

    def write_csv(self, file: BinaryIO) -> None:
        """Write the rows as CSV with a line of names, row by row.

        Raises:
            OSError: the file cannot be written to.
        """
        _engine.write_csv(file, list(self.kinds.items()), list(self.parts))

    def table(self) -> "pl.DataFrame":
        """Return the rows as a table of Polars."""
        import polars as pl

        schema = types(self.kinds)
        tables = [_table(part, schema) for part in self.parts]
        # One part is taken as it is: its constant columns take no memory.
        return tables[0] if len(tables) == 1 else pl.concat([pl.DataFrame(schema=schema), *tables])


def rows_as_columns(kinds: Kinds, rows: Sequence[Record]) -> ColumnParts:
    """Return rows that are mappings as columns."""
    return ColumnParts(kinds, [{name: [row[name] for row in rows] for name in kinds}])


def _table(part: Part, schema: Schema) -> "pl.DataFrame":
    import polars as pl

    several = {
        name: it for name, it in part.items() if isinstance(it, list) or hasattr(it, "dtype")
    }
    same = {name: pl.lit(part[name], kind) for name, kind in schema.items() if name not in several}
    table = pl.DataFrame(several, nan_to_null=True).with_columns(**same)
    return table.select(pl.col(name).cast(kind) for name, kind in schema.items())


def page() -> str:
    """Return the documentation of all columns, in Markdown: ``docs/columns.md``."""
    tables = {name: [_told(column) for column in columns] for name, columns in _declared().items()}
    holds: dict[tuple[str, str], list[str]] = {}
    for columns in tables.values():
        for name, kind, meaning in columns:
            holds.setdefault((name, meaning), []).append(kind)
    shared = {told: max(kinds, key=len) for told, kinds in holds.items() if len(kinds) > 1}
    parts = [_HEAD, _section("In several tables", [(*told, kind) for told, kind in shared.items()])]
    for table, columns in tables.items():
        also = ", ".join(f"`{name}`" for name, _, meaning in columns if (name, meaning) in shared)
        own = [(name, it, kind) for name, kind, it in columns if (name, it) not in shared]
        parts.append(_section(table, own, also))
    return "".join(parts)


_HEAD = """# Columns

The columns of results, in any form; names and order are stable. `make columns` writes this page.

A table has its study's name; a second word names what stands beside the rows. A column holds text,
whole numbers (`u32`, `u64`; `i64` with a sign), numbers (`f64`) or yes and no (`bool`); with `?`
also nothing. A unit ends the name: bytes, ns, us (microseconds), uj (microjoules).
"""


def _told(column: Record) -> tuple[str, str, str]:
    holds = column["kind"] + ("?" if column["nullable"] else "")
    return column["name"], holds, " ".join(column["doc"].split())


def _section(title: str, columns: Sequence[tuple[str, str, str]], also: str = "") -> str:
    lines = [f"\n{fill(f'Also, from above: {also}.', 140)}\n"] if also else []
    if columns:
        lines.append("\n| column | meaning |\n|---|---|\n")
    # Columns of one meaning that stand together share a line.
    for meaning, together in groupby(columns, key=itemgetter(1)):
        names = ", ".join(f"`{name}: {kind}`" for name, _, kind in together)
        lines.append(f"| {names} | {meaning} |\n")
    return f"\n## {title}\n{''.join(lines)}"
