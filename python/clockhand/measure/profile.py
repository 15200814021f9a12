"""The device profile that measured points make: costs linear in bytes, and the points."""

from collections.abc import Sequence
from dataclasses import dataclass

from clockhand.study.records import Record

UNIT_BYTES = 4096
PERCENTILES = (1, 10, 25, 50, 75, 90, 99)
MEDIAN = PERCENTILES.index(50)

Point = Record
"""A measured point: ``operation``, ``bytes``, ``operations``, ``percentiles_ns``, ``mean_ns``."""


@dataclass(frozen=True)
class Line:
    """A time that is linear in bytes, in nanoseconds; ``error`` is the largest relative one."""

    setup_ns: float
    unit_ns: float
    error: float


def fitted(points: Sequence[Point]) -> Line:
    """Return the line through the medians of points whose relative errors are smallest.

    Neither part is negative: where the best line would have no setup, it goes through zero.

    Raises:
        ValueError: no point is given.
    """
    if not points:
        raise ValueError("no point was measured: nothing can be fitted")
    units = [point["bytes"] / UNIT_BYTES for point in points]
    times = [point["percentiles_ns"][MEDIAN] for point in points]
    # Least squares of (setup + unit · u - t) / t.
    weights = [1 / (time * time) for time in times]
    total = sum(weights)
    by_units = sum(w * u for w, u in zip(weights, units, strict=True))
    by_squares = sum(w * u * u for w, u in zip(weights, units, strict=True))
    by_times = sum(w * t for w, t in zip(weights, times, strict=True))
    by_both = sum(w * u * t for w, u, t in zip(weights, units, times, strict=True))
    divisor = total * by_squares - by_units * by_units
    unit_ns = (total * by_both - by_units * by_times) / divisor if divisor > 0 else 0.0
    setup_ns = (by_times - unit_ns * by_units) / total
    if setup_ns < 0:
        setup_ns, unit_ns = 0.0, by_both / by_squares
    elif unit_ns <= 0:
        setup_ns, unit_ns = by_times / total, 0.0
    errors = [abs(setup_ns + unit_ns * u - t) / t for u, t in zip(units, times, strict=True)]
    return Line(setup_ns, unit_ns, max(errors))


def of_operation(points: Sequence[Point], operation: str) -> list[Point]:
    """Return the points of one operation."""
    return [point for point in points if point["operation"] == operation]


def median_ns(
    points: Sequence[Point], operation: str, size_bytes: int | None = None
) -> float | None:
    """Return the median time of an operation, at a size if given; none if it was not measured."""
    for point in of_operation(points, operation):
        if size_bytes is None or point["bytes"] == size_bytes:
            return float(point["percentiles_ns"][MEDIAN])
    return None


def profile_text(
    points: Sequence[Point],
    *,
    summary: str,
    reads: str,
    writes: str,
    date: str,
    machine: Record,
    what: str,
    notes: Sequence[str] = (),
) -> str:
    """Return the TOML of a profile that every ``--device`` takes.

    Args:
        points: What was measured.

        summary: The profile in one line.

        reads: The operation whose times are those of reads.

        writes: The operation whose times are those of writes.

        date: When it was measured.

        machine: Its ``kernel``, ``processor`` and number of ``processors``.

        what: What the operations were done on.

        notes: What a reader must know, sentences.
    """
    read, write = (fitted(of_operation(points, operation)) for operation in (reads, writes))
    processors = machine["processors"]
    counted = "1 processor" if processors == 1 else f"{processors} processors"
    where = f"{machine['kernel']}, {machine['processor']}, {counted}"
    limits = [
        "one request at a time",
        "the lines through the medians of 4 KiB to 1 MiB are off by up to "
        f"{100 * read.error:.0f} % (reads) and {100 * write.error:.0f} % (writes)",
        *notes,
    ]
    lines = [
        "# Made by clockhand measure. Costs are lines through the medians of the points below.",
        "",
        f"summary = {_quoted(summary)}",
        f"source = {_quoted(f'measured {date} on {where}; {what}')}",
        f"limits = {_quoted('; '.join(limits))}",
        "",
        'charged = "per-byte"',
        f"unit_bytes = {UNIT_BYTES}",
        "",
        "[read]",
        *_operation(read),
        "",
        "[write]",
        *_operation(write),
        "",
        "[measured]",
        f"date = {_quoted(date)}",
        f"machine = {_quoted(where)}",
        f"what = {_quoted(what)}",
    ]
    for point in points:
        lines += ["", "[[measured.points]]", *_point(point)]
    return "\n".join(lines) + "\n"


def _operation(line: Line) -> list[str]:
    """Whole nanoseconds, or thousandths below a microsecond: long fractions do not fit a ratio."""
    digits = 3 if line.setup_ns + line.unit_ns >= 1000 else 6
    smallest = 10.0**-digits
    unit_us = max(line.unit_ns / 1000, smallest)
    texts = []
    if line.setup_ns / 1000 >= smallest:
        texts.append(f"setup_time_us = {line.setup_ns / 1000:.{digits}f}")
    return [*texts, f"time_us = {unit_us:.{digits}f}"]


def _point(point: Point) -> list[str]:
    times = dict(zip(PERCENTILES, point["percentiles_ns"], strict=True))
    return [
        f"operation = {_quoted(point['operation'])}",
        f"bytes = {point['bytes']}",
        f"operations = {point['operations']}",
        f"mean_us = {point['mean_ns'] / 1000:.6f}",
        *(f"p{percent}_us = {max(time, 0.001) / 1000:.6f}" for percent, time in times.items()),
    ]


def _quoted(text: str) -> str:
    """Return a TOML string; what would need an escape in it is left out."""
    kept = "".join(character for character in text if character.isprintable())
    return '"' + kept.replace("\\", "/").replace('"', "'") + '"'
