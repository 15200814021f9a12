"""Traces are written to a file of another format."""

import os
from collections.abc import Iterable
from pathlib import Path

from clockhand import _engine
from clockhand.study.calls import in_python
from clockhand.study.errors import UsageError
from clockhand.study.files import check_places, refuse_overwriting
from clockhand.study.progress import Watching, watched
from clockhand.study.records import Fields
from clockhand.traces.opening import sources
from clockhand.traces.trace import OF_TRACE, Traces


@in_python(renamed=OF_TRACE)
def convert_traces(
    traces: Traces,
    out: str | os.PathLike[str],
    *,
    to: str | None = None,
    widen: bool = False,
    labels: Iterable[tuple[str, str]] = (),
    watch: Watching = None,
) -> Fields:
    """Write traces to one file; several become one timeline with streams of their own.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.

        out: The file, compressed if its name ends in ``.gz``, ``.xz``, ``.zst`` or ``.bz2``; it
            appears whole or not at all.

        to: The name of the format (see :func:`clockhand.formats`); the ending of ``out`` tells it
            if not given.

        widen: Whether requests are widened to whole sectors, blocks or cache lines where the format
            has no others; such requests are errors otherwise.

        labels: Pairs of key and value to keep with the trace, where the format can.

        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.

    Returns:
        ``traces``: what was met in each trace (format, hash, requests, skipped records, notes);
        ``format``: what was written; ``losses``: what it could not hold, a sentence each.

    Raises:
        UsageError: no trace is given, or the format is unknown or cannot be written.
        OSError: there is no place for the file.
        ClockhandError: a trace cannot be read, a request does not fit the format, or the file
            cannot be written.
    """
    with watched(watch) as on_progress:
        trace_sources = sources(traces, watch=on_progress)
    if not trace_sources:
        raise UsageError(
            "a conversion needs traces and, after them, the file to write",
            "give one or more traces and a name such as out.parquet",
        )
    refuse_overwriting({"the output": Path(out)}, (source.name for source in trace_sources))
    check_places([Path(out)])
    with watched(watch) as on_progress:
        return _engine.convert_trace(
            trace_sources, os.fspath(out), list(labels), to=to, widen=widen, watch=on_progress
        )
