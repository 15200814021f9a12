"""A console that keeps the tables that are printed on it, with their values, and nothing else."""

import io
from collections.abc import Mapping, Sequence

from rich.console import Console

KeptTable = tuple[str, Mapping[str, Sequence[object]]]
"""A title, and the values by headings."""


class TableKeeper(Console):
    """What a command prints for people, as tables of values.

    Attributes:
        tables: The tables, in the order of printing.
    """

    def __init__(self) -> None:
        super().__init__(file=io.StringIO())
        self.tables: list[KeptTable] = []

    def keep(self, title: str, columns: Mapping[str, Sequence[object]]) -> None:
        """Keep a table; its headings are on one line each."""
        in_line = {", ".join(name.split("\n")): values for name, values in columns.items()}
        self.tables.append((title, in_line))
