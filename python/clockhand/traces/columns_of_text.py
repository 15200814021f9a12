"""The columns of a table, as ``--trace-format csv:...`` and DataFrames name them."""

from collections.abc import Iterable, Mapping

from clockhand.study.options import FormatOfText

NAMES: Mapping[str, tuple[str, ...]] = {
    "op": ("op", "operation", "rw"),
    "address": ("address", "addr", "offset", "byte_addr", "byte_offset"),
    "size": ("size", "bytes", "length", "len", "byte_len"),
    "stream": ("stream", "stream_id", "device", "volume", "disk"),
    "time": ("time_ns", "time_us", "time_ms", "time_s"),
}
"""What a column of requests may be called; ``clockhand formats csv`` lists the same."""

UNITS_NS = {"time_ns": 1, "time_us": 10**3, "time_ms": 10**6, "time_s": 10**9}


def format_text(format: FormatOfText) -> str | None:
    """Return a format as the engine takes it."""
    if format is None or isinstance(format, str):
        return format
    return "csv:" + ",".join(f"{key}={_value(value)}" for key, value in format.items())


def _value(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case ",":
            return "comma"
        case "\t":
            return "tab"
        case " ":
            return "blank"
        case list() | tuple():
            return "|".join(str(item) for item in value)
        case _:
            return str(value)


def found(columns: Iterable[str]) -> dict[str, str]:
    """Return the column of a table for each of the keys of :data:`NAMES` that it has."""
    by_name = {column.strip().lower(): column for column in columns}
    return {
        key: by_name[name]
        for key, names in NAMES.items()
        for name in reversed(names)
        if name in by_name
    }
