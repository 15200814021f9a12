"""Numbers and names as reports print them."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from clockhand.study.facts import printable


def unique(values: Iterable[Any]) -> list[Any]:
    """Return the values in order, each once."""
    return list(dict.fromkeys(values))


def thinned(values: Sequence[Any], count: int) -> list[Any]:
    """Return at most this number of the values, evenly from the first to the last."""
    if len(values) <= count:
        return list(values)
    last = len(values) - 1
    return unique(values[round(last * place / (count - 1))] for place in range(count))


LARGEST_TITLE = 64
"""Characters of a heading that stays on one line; the type of a longer one is smaller."""

LONGEST_TITLE = 72
"""Characters of a heading from which on it is cut where a sentence allows it."""

LEAST_TITLE = 40
"""A part of a sentence with fewer says too little to be a heading."""


def titled(sentences: Sequence[str], inputs: int, otherwise: str) -> tuple[str, list[str]]:
    """Return a report's title and the sentences below it: of one input, the first is the title.

    Of a long one the title is what stands before its first colon or semicolon, and if that is
    still too long, before a comma.
    """
    if inputs != 1 or not sentences:
        return otherwise, list(sentences)
    title = sentences[0].rstrip(".")
    if len(title) <= LONGEST_TITLE:
        return title, list(sentences[1:])
    title = re.split(r"[:;] ", title, maxsplit=1)[0]
    comma = title.rfind(", ", LEAST_TITLE, LONGEST_TITLE)
    if len(title) > LONGEST_TITLE and comma >= 0:
        title = title[:comma]
    return title, list(sentences[title == sentences[0].rstrip(".") :])


def byte_text(size_bytes: int) -> str:
    """Return a size such as ``4 KiB``; sizes that are not whole KiB or MiB stay in bytes."""
    for unit_bytes, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes and size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes:,}\u00a0{unit}"
    return f"{size_bytes:,}\u00a0B"


def size_text(size_bytes: float) -> str:
    """Return a size in the unit that people would write it in, such as ``32 KiB``."""
    units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
    unit_bytes, unit = next((known for known in units if size_bytes >= known[0]), units[-1])
    return f"{size_bytes / unit_bytes:,.4g}\u00a0{unit}"


def free_slug(label: str, taken: Sequence[str]) -> str:
    """Return a file name for a section that no earlier section has, also where case is ignored."""
    stem = re.sub(r"[^A-Za-z0-9_]+", "-", label).strip("-").lower()[:60] or "trace"
    slug, number = stem, 1
    while slug in taken:
        number += 1
        slug = f"{stem}-{number}"
    return slug


def time_unit(times_us: Iterable[float | None]) -> tuple[str, float]:
    """Return the largest unit that makes the longest time at least 1, and its length in µs."""
    longest_us = max((time_us for time_us in times_us if time_us is not None), default=0)
    for unit, unit_us in (("h", 3.6e9), ("s", 1e6), ("ms", 1e3)):
        if longest_us >= unit_us:
            return unit, unit_us
    return "µs", 1.0


def time_text(us: float) -> str:
    """Return a time in the unit that gives it one to three digits before the point."""
    unit, scale = next((it for it in (("s", 1e6), ("ms", 1e3)) if us >= it[1]), ("µs", 1.0))
    value = us / scale
    return f"{value:,.0f}\u00a0{unit}" if value >= 1000 else f"{value:.3g}\u00a0{unit}"


def same_unit(times_us: Sequence[float]) -> Callable[[float], str]:
    """Return what writes times in the unit that suits most of them, all with the same decimals."""
    unit, unit_us = time_unit([sorted(times_us)[len(times_us) // 2]] if times_us else [])
    least = min((time_us / unit_us for time_us in times_us if time_us), default=1.0)
    decimals = max(0, min(LEAST_DECIMALS, 2 - math.floor(math.log10(least))))
    return lambda time_us: f"{time_us / unit_us:,.{decimals}f}\u00a0{unit}"


UNKNOWN = "–"
SHARE_DECIMALS = 2
"""Decimals of percentages in tables and at bars; sentences have one."""

LEAST_DECIMALS = 3
MOST_DECIMALS = 6


MOST_DIGITS = 9
"""Digits of a number with its decimals: the decimals of large numbers say nothing."""


def decimals_of(values: Iterable[object]) -> int:
    """Return the decimals of a column's numbers: as many as give the least of them three digits,
    in no more digits than can be read, and at most six."""
    floats = (abs(value) for value in values if isinstance(value, float))
    known = [value for value in floats if value and math.isfinite(value)]
    if not known:
        return LEAST_DECIMALS
    wanted = min(max(LEAST_DECIMALS, 2 - math.floor(math.log10(min(known)))), MOST_DECIMALS)
    whole = 1 + max(0, math.floor(math.log10(max(known))))
    return max(0, min(wanted, MOST_DIGITS - whole))


def number_text(value: Any) -> str:
    """Return a value for reading: thousands separators, at most three decimals, – for null."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return printable(str(value))
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def reads_text(ratio: str | float | None) -> str:
    """Return what a write costs in reads; a ratio is exact, such as ``8`` or ``232259/217259``."""
    if ratio is None:
        return f"{UNKNOWN} reads"
    reads = float(Fraction(ratio))
    return "as much as a read" if reads == 1 else f"{number_text(reads)} reads"


def percent(share: float) -> str:
    """Return a share for reading, with a space that does not break."""
    percentage = 100 * share
    return f"{percentage:.1f}\u00a0%" if abs(percentage) >= 0.05 else f"{percentage:.2g}\u00a0%"


def size_share_text(share: float) -> str:
    """Return a size as a share of a footprint, in two digits, as it was asked for."""
    if share > 1:
        return "fits"
    return f"{100 * share:.2g}\u00a0%" if share < 0.995 else "100\u00a0%"


def short_names(names: Sequence[str]) -> list[str]:
    """Return the names of files without folders and endings, where they still differ then."""
    without_folders = (re.sub(r"^\S*/(?=\S)", "", name) for name in names)
    short = [
        re.sub(r"(?<=\w)(\.[A-Za-z]\w{0,7}){1,2}(?= |$)", "", name) for name in without_folders
    ]
    return short if len(set(short)) == len(set(names)) else list(names)
