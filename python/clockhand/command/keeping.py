"""A console that keeps the tables that are printed on it, with their values, and nothing else."""

import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Console

KeptTable = tuple[str, Mapping[str, Sequence[Any]], Collection[str]]
"""A title, the values by headings, and the headings of numbers."""


class TableKeeper(Console):
    """What a command prints for people, as tables of values.

    Attributes:
        tables: The tables, in the order in which they were printed.
    """

    def __init__(self) -> None:
        super().__init__(file=io.StringIO())
        self.tables: list[KeptTable] = []

    def keep(
        self, title: str, columns: Mapping[str, Sequence[Any]], numeric: Collection[str]
    ) -> None:
        """Keep a table; its headings are on one line each."""
        in_line = {name: ", ".join(name.split("\n")) for name in columns}
        self.tables.append(
            (
                title,
                {in_line[name]: values for name, values in columns.items()},
                [in_line[name] for name in columns if name in numeric],
            )
        )
