"""Columns of a trace in memory, checked and in the types of the engine."""

from typing import Any

import numpy as np
import numpy.typing as npt

from clockhand.study.errors import UsageError
from clockhand.study.records import Fields


def checked_columns(
    op: npt.ArrayLike,
    address: npt.ArrayLike,
    size: npt.ArrayLike | None,
    stream: npt.ArrayLike | None,
    time_ns: npt.ArrayLike | None,
) -> list[Any]:
    """Return the five columns as arrays of one length; None where one is not given.

    Raises:
        UsageError: a column has another length, or values that do not fit.
    """
    columns: Fields = {
        "op": _is_write(op),
        "address": _column("address", address, np.uint64),
        "size": _column("size", size, np.uint32),
        "stream": _column("stream", _numbered(stream), np.uint32),
        "time_ns": _column("time_ns", time_ns, np.uint64),
    }
    for column, values in columns.items():
        if values is not None and len(values) != len(columns["address"]):
            raise UsageError(
                f"column {column} has {len(values)} rows and address has {len(columns['address'])}",
                "give all columns the same length",
            )
    return list(columns.values())


def _is_write(op: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    values = np.asarray(op)
    if values.ndim != 1:
        raise UsageError("column op is not a one-dimensional array", "convert it first")
    if values.dtype == np.bool_:
        return np.ascontiguousarray(values)
    letters = values.astype(np.str_)
    words = np.char.lower(letters)
    is_write = np.isin(words, ["w", "write"])
    is_known = is_write | np.isin(words, ["r", "read"])
    if not is_known.all():
        row = int(np.argmin(is_known))
        raise UsageError(
            f"column op, row {row}: {str(letters[row])!r} is neither R nor W",
            "give these letters, read and write, or booleans that say whether the request writes",
        )
    return np.ascontiguousarray(is_write)


def _numbered(stream: npt.ArrayLike | None) -> npt.ArrayLike | None:
    """Return streams by number; names are numbered in the order of their appearance."""
    if stream is None:
        return None
    values = np.asarray(stream)
    if values.ndim != 1 or values.dtype.kind not in "OSUT" or not values.size:
        return values
    _, first, numbers = np.unique(values.astype(np.str_), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]


def nanoseconds(times: npt.ArrayLike, unit_ns: int) -> npt.ArrayLike:
    """Return times in nanoseconds; whole numbers stay exact."""
    values = np.asarray(times)
    if unit_ns == 1 or values.ndim != 1:
        return values
    if values.dtype.kind == "f":
        values = np.round(values * unit_ns)
        if not np.isfinite(values).all() or (values < 0).any() or (values >= 2.0**64).any():
            raise UsageError(
                "column time has values that are not times", "correct or drop these requests"
            )
        return values.astype(np.uint64)
    limit = (2**64 - 1) // unit_ns
    if values.size and int(values.max()) > limit:
        raise UsageError(f"column time has values above {limit}", "correct or drop these requests")
    return values * unit_ns if values.dtype.kind == "i" else values * np.uint64(unit_ns)


def _column(
    name: str, values: npt.ArrayLike | None, dtype: type[np.unsignedinteger[Any]]
) -> npt.NDArray[Any] | None:
    if values is None:
        return None
    given = np.asarray(values)
    if given.ndim != 1 or not (given.dtype.kind in "iu" or given.size == 0):
        raise UsageError(
            f"column {name} is not a one-dimensional array of whole numbers", "convert it first"
        )
    limits = np.iinfo(dtype)
    if given.size and (int(given.min()) < 0 or int(given.max()) > int(limits.max)):
        raise UsageError(
            f"column {name} has values outside 0 to {limits.max}", "correct or drop these requests"
        )
    return np.ascontiguousarray(given, dtype=dtype)
