"""Traces: sequences of reads and writes, in files or in memory."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from clockhand import _engine

Watch = Callable[[str, int, int], None]
"""Called now and then with the phase (``reading``, ``replaying``), the units done and the total
(0 where it is unknown)."""


class Trace:
    """A trace in a file; see :meth:`from_arrays` for one in memory.

    Args:
        path: The file, compressed or not; ``-`` is standard input, which can be read once.
        format: The name of the format (see :func:`clockhand.formats`); found by content if not
            given.

    Nothing is read before the trace is used.
    """

    def __init__(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        self._source = _engine.TraceSource.file(os.fspath(path), format)

    @classmethod
    def from_arrays(
        cls,
        op: npt.ArrayLike,
        address: npt.ArrayLike,
        size: npt.ArrayLike | None = None,
        *,
        stream: npt.ArrayLike | None = None,
        time_ns: npt.ArrayLike | None = None,
        name: str = "arrays",
    ) -> "Trace":
        """Make a trace of columns of one length; row ``i`` of each belongs to request ``i``.

        Args:
            op: Whether each request writes, as booleans, or ``"R"`` and ``"W"``.
            address: First byte of each request, from 0.
            size: Bytes of each request; 1 if not given.
            stream: Device, volume or address space of each request; 0 if not given. Equal
                addresses of two streams are different places.
            time_ns: Time of each request in nanoseconds.
            name: What the rows of a result call the trace.

        Raises:
            UsageError: a column has another length, or values that do not fit.
        """
        trace = cls.__new__(cls)
        optional = {
            "sizes_bytes": _column("size", size, np.uint32),
            "streams": _column("stream", stream, np.uint32),
            "times_ns": _column("time_ns", time_ns, np.uint64),
        }
        addresses = _column("address", address, np.uint64)
        assert addresses is not None
        is_write = _is_write(op)
        for column, values in {"op": is_write, **optional}.items():
            if values is not None and len(values) != len(addresses):
                raise _engine.UsageError(
                    f"column {column} has {len(values)} rows and address has {len(addresses)}; "
                    "give all columns the same length"
                )
        trace._source = _engine.TraceSource.table(name, is_write, addresses, **optional)
        return trace

    @property
    def name(self) -> str:
        """What the rows of a result call the trace."""
        return self._source.name

    def info(self, *, page_bytes: int = 4096, watch: Watch | None = None) -> dict[str, Any]:
        """Read the trace to its end and tell what it is like.

        Args:
            page_bytes: Page size in bytes, a power of two, for the counts of references and pages.
            watch: Called now and then with the progress.

        Returns:
            Format, hash, requests, sizes in bytes, page references, footprint in pages, streams,
            span in nanoseconds, skipped records with the first three reasons, notes and labels.

        Raises:
            ClockhandError: the trace cannot be read.
        """
        return _engine.trace_info(self._source, page_bytes, watch)


def sources(traces: "Trace | str | os.PathLike[str] | Iterable[Trace | str | os.PathLike[str]]",
            format: str | None = None) -> list[_engine.TraceSource]:
    """Return the engine's sources for one trace or several, given as traces or as paths."""
    if isinstance(traces, Trace | str | os.PathLike):
        traces = [traces]
    return [
        (trace if isinstance(trace, Trace) else Trace(trace, format=format))._source
        for trace in traces
    ]


def _is_write(op: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    values = np.asarray(op)
    if values.dtype == np.bool_:
        return np.ascontiguousarray(values)
    letters = values.astype(np.str_)
    is_write = np.isin(letters, ["W", "w"])
    is_known = is_write | np.isin(letters, ["R", "r"])
    if not is_known.all():
        row = int(np.argmin(is_known))
        raise _engine.UsageError(
            f"column op, row {row}: {letters[row]!r} is neither R nor W; "
            "give these letters, or booleans that say whether the request writes"
        )
    return np.ascontiguousarray(is_write)


def _column(
    name: str, values: npt.ArrayLike | None, dtype: type[np.unsignedinteger[Any]]
) -> npt.NDArray[Any] | None:
    if values is None:
        return None
    given = np.asarray(values)
    if given.ndim != 1 or not (given.dtype.kind in "iu" or given.size == 0):
        raise _engine.UsageError(
            f"column {name} is not a one-dimensional array of whole numbers; convert it first"
        )
    limits = np.iinfo(dtype)
    if given.size and (int(given.min()) < 0 or int(given.max()) > int(limits.max)):
        raise _engine.UsageError(
            f"column {name} has values outside 0 to {limits.max}; correct or drop these requests"
        )
    return np.ascontiguousarray(given, dtype=dtype)
