"""Traces as callers give them: patterns, folders, tables."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from clockhand.study.files import matching_files
from clockhand.study.remote import addresses, is_address, local_path


def in_folders(traces: Iterable[Any]) -> Iterable[Any]:
    """Return the files in folders, by name, and all else as it is."""
    for trace in traces:
        if isinstance(trace, str | os.PathLike) and os.path.isdir(trace):
            inside = sorted(path for path in Path(trace).rglob("*") if path.is_file())
            yield from (path for path in inside if not path.name.startswith((".", "_")))
        else:
            yield trace


def matching(trace: Any) -> Iterable[Any]:
    """Return the files that a pattern such as ``traces/*.parquet`` fits, and all else as it is."""
    if not isinstance(trace, str) or not set("*?[") & set(trace) or os.path.exists(trace):
        return [trace]
    if is_address(trace) and local_path(trace) is None:
        return addresses(trace) or [trace]
    trace = local_path(trace) or trace
    return matching_files(trace) or [trace]


class Eager(Protocol):
    """A table of columns in memory, such as a DataFrame."""

    @property
    def columns(self) -> Iterable[str]:
        """The names of the columns."""

    def __getitem__(self, name: Any, /) -> Any: ...


class Lazy(Protocol):
    """A table that is computed when it is wanted, such as a LazyFrame."""

    def collect(self) -> Any:
        """Compute it."""


Table = Eager | Lazy


def is_table(trace: object) -> bool:
    """Whether it is a table of columns, of polars, pandas or a library like them."""
    return hasattr(trace, "collect") or (
        hasattr(trace, "columns") and hasattr(trace, "__getitem__")
    )
