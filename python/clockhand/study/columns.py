"""The columns of studies' rows, as the engine declares them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from clockhand import _engine

if TYPE_CHECKING:
    import polars as pl

Schema = Mapping[str, "type[pl.DataType]"]
"""Names, order and types of the columns of a table."""

Kinds = Mapping[str, str]
"""Names, order and kinds of the columns of a table, in the engine's words."""

Part = Mapping[str, Any]
"""Some rows: for each column an array of NumPy or a list, or the value that all these rows have."""

TYPES = {"text": "String", "u64": "UInt64", "f64": "Float64", "bool": "Boolean"}
"""The types of Polars, which is imported when there are rows to keep."""


def kinds(study: str) -> Kinds:
    """Return the columns of a study's rows.

    Raises:
        KeyError: the engine has no such study.
    """
    return {column["name"]: column["kind"] for column in _engine.columns()[study]}


def types(kinds: Kinds) -> Schema:
    """Return columns with their types in Polars."""
    import polars as pl

    return {name: getattr(pl, TYPES[kind]) for name, kind in kinds.items()}


def schema(study: str) -> Schema:
    """Return the columns of a study's rows, with their types.

    Raises:
        KeyError: the engine has no such study.
    """
    return types(kinds(study))


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


def rows_as_columns(kinds: Kinds, rows: Sequence[Mapping[str, Any]]) -> ColumnParts:
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
    studies = _engine.columns()
    lines = {study: [_line(column) for column in columns] for study, columns in studies.items()}
    times = Counter(line for of_study in lines.values() for line in of_study)
    shared = [line for line, count in times.items() if count > 1]
    parts = [_HEAD, _section("In several studies", shared)]
    for study, columns in studies.items():
        both = zip(columns, lines[study], strict=True)
        also = ", ".join(f"`{column['name']}`" for column, line in both if times[line] > 1)
        parts.append(_section(study, [line for line in lines[study] if times[line] == 1], also))
    return "".join(parts)


_HEAD = """# Columns

The columns of result rows, in JSON, CSV, Parquet and Python alike. Names and order are stable.
`make columns` writes this page from what the engine declares.

A column holds text, a whole number (`u64`), a number (`f64`) or yes or no (`bool`). With a question
mark it may be empty.
"""


def _section(title: str, lines: Sequence[str], also: str = "") -> str:
    also_text = f"\nAlso, from above: {also}.\n" if also else ""
    table = "".join(["\n| column | holds | meaning |\n|---|---|---|\n", *lines]) if lines else ""
    return f"\n## {title}\n{also_text}{table}"


def _line(column: Mapping[str, Any]) -> str:
    holds = column["kind"] + ("?" if column["nullable"] else "")
    return f"| `{column['name']}` | `{holds}` | {' '.join(column['doc'].split())} |\n"
