"""Traces: sequences of reads and writes, in files or in memory, captured or synthetic."""

from clockhand.traces.conversion import convert_traces
from clockhand.traces.opening import as_traces, sources
from clockhand.traces.reading import FileReading, Part, Reading, reading_notes, reading_options
from clockhand.traces.trace import OneTrace, Trace, Traces

__all__ = [
    "FileReading",
    "OneTrace",
    "Part",
    "Reading",
    "Trace",
    "Traces",
    "as_traces",
    "convert_traces",
    "reading_notes",
    "reading_options",
    "sources",
]
