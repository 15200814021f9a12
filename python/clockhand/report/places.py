"""Where values can be compared, and the columns that such places make in a heat map."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clockhand.report.words import short_names, size_share_text, thinned

MOST_COLUMNS = 10
FEWER_COLUMNS = 5
"""Most sizes of a heat map, alone or beside traces; of more, these many are chosen evenly."""

SAME_SHARE = 1.25
"""Shares of different traces that differ by less than this factor are one column."""


@dataclass(frozen=True)
class Place:
    """Where values can be compared: a trace and a size.

    Attributes:
        trace: The trace, with what else tells its part of a report from others.
        size: The size in the unit of rows, such as frames.
        share: It as a share of the trace's footprint, if known.
    """

    trace: str
    size: float
    share: float | None = None


Columns = list[tuple[str, list[Place]]]


def groups_of(
    places: Sequence[Place],
    traces: Sequence[str],
    size_word: str,
    size_text: Callable[[float], str],
    place_word: str,
) -> list[tuple[str, Columns]]:
    """Return the columns of a heat map by their headings: sizes, then traces if there are several.

    Args:
        places: Where values are known.
        traces: The traces among them.
        size_word: What a size is.
        size_text: Writes a size that is not a share.
        place_word: What a trace is.
    """
    by_size = _by_size(places, traces, size_text)
    groups: list[tuple[str, Columns]] = []
    # A single size is the mean itself.
    if len(by_size) > 1 or (by_size and len(traces) == 1):
        most = MOST_COLUMNS if len(traces) == 1 else FEWER_COLUMNS
        kept = (
            thinned(range(len(by_size)), most) if len(by_size) > most + 2 else range(len(by_size))
        )
        groups.append((f"by {size_word}", [by_size[index] for index in kept]))
    if len(traces) > 1:
        short = short_names(traces)
        columns = [
            (name, [place for place in places if place.trace == trace])
            for name, trace in zip(short, traces, strict=True)
        ]
        groups.append((f"by {place_word}", columns))
    return groups


def _by_size(
    places: Sequence[Place], traces: Sequence[str], size_text: Callable[[float], str]
) -> Columns:
    """Return a column per size that all traces have: the same size, or about the same share."""
    of_trace = [
        sorted((place for place in places if place.trace == trace), key=lambda place: place.size)
        for trace in traces
    ]
    if len({len(sizes) for sizes in of_trace}) > 1:
        return []
    columns: Columns = []
    for ranked in zip(*of_trace, strict=True):
        shares = [place.share for place in ranked if place.share]
        if len({place.size for place in ranked}) == 1:
            label = size_name(ranked[0], size_text)
        elif len(shares) == len(ranked) and max(shares) <= SAME_SHARE * min(shares):
            label = size_share_text(statistics.median(shares))
        else:
            return []
        columns.append((label, list(ranked)))
    return columns


def size_name(place: Place, size_text: Callable[[float], str]) -> str:
    """Return what a column of one size is called."""
    text = size_text(place.size)
    return text if place.share is None else f"{text}\n{size_share_text(place.share)}"
