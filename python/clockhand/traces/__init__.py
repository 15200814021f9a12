"""Traces: sequences of reads and writes, in files or in memory, captured or synthetic."""

from clockhand.traces.trace import (
    READING,
    FileReading,
    Part,
    Reading,
    Trace,
    Traces,
    as_traces,
    convert_traces,
    reading_notes,
    reading_options,
    sources,
)

__all__ = [
    "READING",
    "FileReading",
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
