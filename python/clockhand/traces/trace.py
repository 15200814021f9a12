"""Traces: sequences of reads and writes, in files or in memory."""

import html
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Union, Unpack, cast

from clockhand import _engine
from clockhand.study.calls import (
    FILE_READING,
    PART,
    Argument,
    in_python,
    offered,
)
from clockhand.study.errors import UsageError, option
from clockhand.study.options import FormatOfText, checked
from clockhand.study.progress import Watching, watched
from clockhand.study.records import Fields, Record
from clockhand.study.remote import Fetched, fetched, is_address, local_path
from clockhand.traces.columns_of_text import UNITS_NS, format_text, found
from clockhand.traces.description import described
from clockhand.traces.given import Table
from clockhand.traces.reading import FileReading, Part, Reading

if TYPE_CHECKING:
    import numpy.typing as npt

MAXIMUM_REQUESTS = 2**64 - 1
STANDARD_INPUT = "-"

OneTrace = Union["Trace", str, os.PathLike[str], Table]
"""A trace, a file, or a table of polars, pandas or a library like them."""

Traces = OneTrace | Iterable[OneTrace]
"""One trace or several; a text may be an address such as ``s3://bucket/a.parquet``, or a pattern
such as ``traces/*.parquet``."""


OF_FILE = [one for one in FILE_READING if one not in PART]
"""Options of reading a file, apart from the choice of its requests."""

OF_TRACE = {
    "trace_format": "Trace(..., format=NAME)",
    "as_one": "Trace.joined(TRACES)",
    **{one.keyword: f"Trace(..., {one.keyword}=...)" for one in FILE_READING},
}
"""Calls that read a trace in another way, for messages of functions that take open traces."""


class Trace:
    """A trace in a file; see :meth:`from_arrays` for one in memory.

    Args:
        path: The file, compressed or not; ``-`` is standard input, which can be read once. What is
            at an address such as ``s3://bucket/a.parquet`` is downloaded now, unless there is a
            copy.

        format: The name of the format (see :func:`clockhand.formats`); found by content if not
            given. The columns of any table in text are named by ``csv:`` and what
            ``--trace-format`` takes, or by a mapping of the same keywords:
            ``{"sep": ";", "op": "cmd", "address": "lba*512", "time": "when_ms:ms"}``.

        cpu_cache: Whether a first-level cache (16 KiB + 16 KiB, 4 ways, 32-byte lines) stands
            between the processor accesses of the trace and memory.

        reading: How it is read, and which of its requests are wanted, as :class:`FileReading` says.

    No file is read before the trace is used. A trace can be copied and pickled: then its file is
    opened there, where it is used; arrays go along.

    Raises:
        UsageError: the part makes no sense.
        ClockhandError: what is at an address cannot be downloaded.
    """

    _source: _engine.TraceSource
    _recipe: tuple[Callable[..., "Trace"], tuple[object, ...]]

    @in_python(*FILE_READING)
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: FormatOfText = None,
        cpu_cache: bool = False,
        **reading: Unpack[FileReading],
    ) -> None:
        format = format_text(format)
        path = here(path)
        address = path.address if isinstance(path, Fetched) else None
        of_file = {"trace_format": format, **chosen(OF_FILE, reading)}
        source = _engine.TraceSource.file(
            os.fspath(path), checked("reading", of_file), cpu_cache=cpu_cache
        )
        if address is not None:
            source = source.named(address)
        self._source = _part_of(source, reading)
        # What makes it again, in another process for example.
        self._recipe = (_opened, (address or os.fspath(path), format, cpu_cache, dict(reading)))

    @classmethod
    def from_arrays(
        cls,
        op: "npt.ArrayLike",
        address: "npt.ArrayLike",
        size: "npt.ArrayLike | None" = None,
        *,
        stream: "npt.ArrayLike | None" = None,
        time_ns: "npt.ArrayLike | None" = None,
        name: str = "arrays",
    ) -> "Trace":
        """Make a trace of columns of one length; row ``i`` of each belongs to request ``i``.

        Args:
            op: Whether each request writes, as booleans, or the words ``R``, ``W``, ``read`` and
                ``write`` in any case.

            address: First byte of each request, from 0.

            size: Bytes of each request; 1 if not given.

            stream: Device, volume or address space of each request, by number or by name; 0 if not
                given. Equal addresses of two streams are different places.

            time_ns: Time of each request in nanoseconds.

            name: What the rows of a result call the trace.

        Raises:
            UsageError: a column has another length, or values that do not fit.
        """
        # NumPy takes 15 MB and a tenth of a second, and only arrays need it.
        from clockhand.traces.arrays import checked_columns

        trace = cls.__new__(cls)
        columns = checked_columns(op, address, size, stream, time_ns)
        trace._source = _engine.TraceSource.table(name, *columns)
        trace._recipe = (_of_columns, (name, columns))
        return trace

    @classmethod
    def from_table(cls, table: Any, *, name: str = "table") -> "Trace":
        """Make a trace of a polars or pandas table, or of any mapping of columns.

        Args:
            table: Its columns ``op`` and ``address``, and if there are ``size``, ``stream`` and
                ``time_ns`` to ``time_s``, are those of :meth:`from_arrays`; they may have all names
                that CSV accepts (``offset``, ``bytes``, ``disk``). A lazy table is computed.
            name: What the rows of a result call the trace.

        Raises:
            UsageError: a column is missing, or has values that do not fit.
        """
        if hasattr(table, "collect"):
            table = table.collect()
        names = [str(column) for column in getattr(table, "columns", table)]
        columns = found(names)
        for needed in ("op", "address"):
            if needed not in columns:
                raise UsageError(
                    f"the {type(table).__name__} has no column {needed!r}, only "
                    f"{', '.join(names) or 'none'}",
                    "name its columns op, address, size, stream, time_ns",
                )
        optional: Fields = {
            key: table[columns[key]] for key in ("size", "stream") if key in columns
        }
        if "time" in columns:
            from clockhand.traces.arrays import nanoseconds

            unit_ns = UNITS_NS[columns["time"].strip().lower()]
            optional["time_ns"] = nanoseconds(table[columns["time"]], unit_ns)
        op, address = table[columns["op"]], table[columns["address"]]
        return cls.from_arrays(op, address, name=name, **optional)

    @classmethod
    def joined(
        cls,
        traces: Traces,
        *,
        order: str = "time",
        watch: Watching = None,
        **file: Unpack[FileReading],
    ) -> "Trace":
        """Make one trace of several: the days of a recording, what each processor recorded, or
        programs that share a memory, in turns.

        Streams of equal names are one, and where there are no names those of equal numbers, but
        for turns.

        Args:
            traces: The traces; a folder stands for the files in it, by name.

            order: ``"time"``, where all have times; ``"files"``, one after the other; or
                ``"turns:1000"``, 1000 requests of each in turn, each with pages of its own.

            watch: Called now and then with the progress of downloads.

            file: How paths are read, and which requests of the whole are wanted, as
                :class:`FileReading` says.

        Raises:
            UsageError: no trace is given, or the order is unknown.
        """
        reading = cast(Reading, {**file, "as_one": True, "order": order})
        with watched(watch) as on_progress:
            from clockhand.traces.opening import as_traces

            [trace] = as_traces(traces, watch=on_progress, **reading)
        return trace

    def __repr__(self) -> str:
        made, said = self._recipe
        options = {"format": said[1], **cast(Fields, said[3])} if made is _opened else {}
        given = "".join(f", {key}={value!r}" for key, value in options.items() if value is not None)
        return f"Trace({self.name!r}{given})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what the trace is like. It is read to its end for that,
        unless it is standard input, which can be read but once."""
        if self.name == STANDARD_INPUT:
            return f"<p>{html.escape(repr(self))}</p>"
        cells = "<tr><th style='text-align:left'>{}</th><td>{}</td></tr>"
        rows = "".join(
            cells.format(html.escape(fact), html.escape(text))
            for fact, text in described(self.info(watch=False)).items()
        )
        return f"<p><strong>{html.escape(self.name)}</strong></p><table>{rows}</table>"

    def __dir__(self) -> list[str]:
        """Return what is of use to who has a trace, for completion."""
        return offered(super().__dir__())

    def __reduce__(self) -> tuple[Callable[..., "Trace"], tuple[object, ...]]:
        """Copies and other processes get a trace that is opened in the same way."""
        return self._recipe

    @classmethod
    def from_recipe(
        cls,
        recipe: str,
        *,
        requests: str | None = None,
        seed: str | None = None,
        arrivals: str | None = None,
        memory_limit: str | None = None,
    ) -> "Trace":
        """Make a synthetic trace; see :func:`clockhand.synthesize`."""
        trace = cls.__new__(cls)
        made_of = (recipe, requests, seed, arrivals, memory_limit)
        trace._source = _engine.TraceSource.synthetic(*made_of)
        trace._recipe = (_synthetic, made_of)
        return trace

    @property
    def name(self) -> str:
        """What the rows of a result call the trace."""
        return self._source.name

    @in_python(*PART)
    def part(self, **part: Unpack[Part]) -> "Trace":
        """Return a part of the trace: some of its requests.

        Args:
            part: Which requests, as :class:`Part` says.

        Raises:
            UsageError: the part makes no sense.
        """
        return self._taken(part)

    def _taken(self, part: Part) -> "Trace":
        trace = Trace.__new__(Trace)
        trace._source = _part_of(self._source, part)
        trace._recipe = (_part, (self, dict(part)))
        return trace

    def _on_scratch(self, folder: str) -> "Trace":
        trace = Trace.__new__(Trace)
        trace._source = self._source.on_scratch(folder)
        trace._recipe = (_on_scratch, (self, folder))
        return trace

    @in_python(renamed=OF_TRACE)
    def check(self, *, watch: Watching = None) -> Fields:
        """Read the trace to its end, as fast as possible, and return what the reader found.

        Returns:
            Format, hash, requests, skipped records with the first three reasons, requests that a
            part leaves out, notes and labels; :meth:`info` counts references and pages too.

        Raises:
            UsageError: the format is unknown.
            ClockhandError: the trace cannot be read.
        """
        with watched(watch) as on_progress:
            return _engine.read_trace(self._source, on_progress)

    @in_python(renamed=OF_TRACE)
    def info(self, *, page_size: int | str = 4096, watch: Watching = None) -> Fields:
        """Read the trace to its end and return what it is like.

        Args:
            page_size: Bytes, a power of two, or text such as ``"4KiB"``, for the counts of
                references and pages.
            watch: Called now and then with the progress; a bar is shown if not given, and nothing
                with ``False``.

        Returns:
            Format, hash, requests, the first of them as they are understood, sizes in bytes, page
            references, footprint in pages, streams with their counts, and span in nanoseconds. Also
            skipped records with the first three reasons, requests that a part leaves out, notes and
            labels.

        Raises:
            UsageError: the page size is not a power of two, or the format is unknown.
            ClockhandError: the trace cannot be read.
        """
        page_bytes = _engine.parse_page_bytes(str(page_size))
        with watched(watch) as on_progress:
            return _engine.trace_info(self._source, page_bytes, on_progress)


def joined_of(parts: list[Trace], order: str) -> Trace:
    more = len(parts) - 1
    name = parts[0].name + (f" and {more} more" if more else "")
    trace = Trace.__new__(Trace)
    trace._source = _engine.TraceSource.joined(name, [part._source for part in parts], order)
    trace._recipe = (joined_of, (parts, order))
    return trace


def _opened(path: str, format: str | None, cpu_cache: bool, reading: FileReading) -> Trace:
    return Trace(path, format=format, cpu_cache=cpu_cache, **reading)


def _of_columns(name: str, columns: tuple[Any, ...]) -> Trace:
    trace = Trace.__new__(Trace)
    trace._source = _engine.TraceSource.table(name, *columns)
    trace._recipe = (_of_columns, (name, columns))
    return trace


def _synthetic(
    recipe: str,
    requests: str | None,
    seed: str | None,
    arrivals: str | None,
    memory_limit: str | None,
) -> Trace:
    return Trace.from_recipe(
        recipe, requests=requests, seed=seed, arrivals=arrivals, memory_limit=memory_limit
    )


def here(path: str | os.PathLike[str], watch: Watching = None) -> str | os.PathLike[str]:
    """Return the copy of what is at an address, and a path as it is."""
    if not isinstance(path, str) or not is_address(path):
        return path
    local = local_path(path)
    if local is not None:
        return local
    with watched(watch) as on_progress:
        return fetched(path, on_progress)


def _part(whole: Trace, part: Part) -> Trace:
    return whole._taken(part)


def _on_scratch(whole: Trace, folder: str) -> Trace:
    return whole._on_scratch(folder)


def _part_of(source: _engine.TraceSource, part: Part) -> _engine.TraceSource:
    for name, number in (("skip", part.get("skip")), ("limit", part.get("limit"))):
        if number is not None and not 0 <= number <= MAXIMUM_REQUESTS:
            raise UsageError(
                option(name) + f" {number} is out of range", "give a whole number from 0 on"
            )
    return source.part(checked("reading", chosen(PART, part)))


def chosen(arguments: Iterable[Argument], reading: Record) -> Fields:
    """Return what a mapping says of some options."""
    return {one.keyword: reading[one.keyword] for one in arguments if one.keyword in reading}
