"""Traces of what is given for them: paths, patterns, addresses, tables, and traces."""

import os
from collections.abc import Iterable
from typing import Any, Unpack, cast

from clockhand import _engine
from clockhand.study.calls import PART, READING, unknown_keyword
from clockhand.study.errors import UsageError, option
from clockhand.study.progress import Watch
from clockhand.traces.given import in_folders, is_table, matching
from clockhand.traces.reading import FileReading, Part, Reading
from clockhand.traces.trace import Trace, Traces, chosen, here, joined_of


def as_traces(
    traces: Traces,
    *,
    cpu_cache: bool = False,
    watch: Watch | None = None,
    **reading: Unpack[Reading],
) -> list[Trace]:
    """Return one trace or several, paths and addresses among them, as traces.

    ``cpu_cache`` and ``reading`` are for paths; only the part applies to a :class:`Trace`.
    Downloads are reported to ``watch``.
    """
    known = {one.keyword for one in READING}
    for word in reading:
        if word not in known:
            raise TypeError(unknown_keyword(word, known))
    as_one, order = reading.pop("as_one", False), reading.pop("order", None)
    if order is not None and not as_one:
        raise UsageError(
            option("order") + " is that of files as one trace", "add " + option("as-one")
        )
    is_one = isinstance(traces, Trace | str | os.PathLike) or is_table(traces)
    several = cast("Iterable[Any]", [traces] if is_one else traces)
    given = in_folders(several) if as_one else several
    files = [file for trace in given for file in matching(trace)]
    format = reading.pop("trace_format", None)
    scratch = reading.pop("scratch", None)
    part = chosen(PART, reading) if as_one else {}
    of_file = cast(FileReading, {key: value for key, value in reading.items() if key not in part})
    read = [
        trace._taken(of_file)
        if isinstance(trace, Trace)
        else Trace.from_table(trace)._taken(of_file)
        if is_table(trace)
        else Trace(here(trace, watch or False), format=format, cpu_cache=cpu_cache, **of_file)
        for trace in files
    ]
    if as_one:
        if not read:
            raise UsageError("there is no file to make one trace of", "name at least one")
        read = [joined_of(read, order or "time")._taken(cast(Part, part))]
    return read if scratch is None else [trace._on_scratch(os.fspath(scratch)) for trace in read]


def sources(
    traces: Traces, *, watch: Watch | None = None, **reading: Unpack[Reading]
) -> list[_engine.TraceSource]:
    """Return the engine's sources for one trace or several, as :func:`as_traces` reads them."""
    return [trace._source for trace in as_traces(traces, watch=watch, **reading)]
