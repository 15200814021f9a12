"""What a pager counts, sampled while a program runs."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, Protocol, TypeVar

import polars as pl

from clockhand.study.columns import schema
from clockhand.study.records import Record

Seen = TypeVar("Seen")

Statistics = Record
"""What the engine says of one process: counts since its start, and how it is."""

LiveWatch = Callable[[float, Sequence[Statistics]], None]
"""Called four times a second with the seconds since the start and the processes' statistics."""

Live = Callable[[], AbstractContextManager[LiveWatch | None]]
"""Opens something that shows statistics while a program runs."""

FIRST_INTERVAL_SECONDS = 0.01
MOST_SAMPLES = 400
LIVE_INTERVAL_SECONDS = 0.25
SHORTEST_PAUSE_SECONDS = 0.001

COUNTS = (
    "references",
    "misses",
    "minor_faults",
    "write_protect_faults",
    "pages_read",
    "pages_written",
    "resident_pages",
)

SAMPLE_SCHEMA = schema("run samples")
"""Names, order and types of the columns of samples: a row per moment and process; all counts but
``resident_pages`` are since the process began."""

SAMPLED_GAUGE_SCHEMA = schema("run gauges")
"""The same of the values by which a policy adapts: a row per moment, process and value."""


def opened(live: Live | None) -> AbstractContextManager[LiveWatch | None]:
    """Open what shows statistics, or nothing."""
    return nullcontext() if live is None else live()


class Countable(Protocol):
    """Something that reports the state of its processes."""

    def statistics(self) -> Sequence[Statistics]:
        """Return a mapping per process, in the order they came."""


class Moments(Generic[Seen]):
    """What was seen at moments that stay evenly spaced, however long a program runs.

    When there are too many, every second one is forgotten and the others come half as often.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[float, Seen]] = []
        """Seconds since the start, and what was seen then."""
        self.next_seconds = 0.0
        """When it is time to look again."""
        self._interval_seconds = FIRST_INTERVAL_SECONDS

    def add(self, seconds: float, seen: Seen) -> None:
        """Keep what was seen at a moment."""
        if len(self.seen) >= MOST_SAMPLES:
            self.seen = self.seen[::2]
            self._interval_seconds *= 2
        self.seen.append((seconds, seen))
        self.next_seconds = seconds + self._interval_seconds


class Samples:
    """Statistics of a pager's processes, kept at moments and shown while the program runs."""

    def __init__(self, pager: Countable, watch: LiveWatch | None = None) -> None:
        self._pager = pager
        self._watch = watch
        self._moments: Moments[Sequence[Statistics]] = Moments()
        self._next_watch = 0.0
        self.most_resident_pages = 0
        """Of all processes together, at any of the moments."""

    def look(self, seconds: float) -> float:
        """Look at the statistics if it is time; return the seconds until it is again."""
        is_sampled = seconds >= self._moments.next_seconds
        is_watched = self._watch is not None and seconds >= self._next_watch
        if is_sampled or is_watched:
            statistics = self._pager.statistics()
            if is_sampled:
                self.take(seconds, statistics)
            if is_watched and self._watch is not None:
                self._next_watch = seconds + LIVE_INTERVAL_SECONDS
                self._watch(seconds, statistics)
        due = self._moments.next_seconds
        if self._watch is not None:
            due = min(due, self._next_watch)
        return max(SHORTEST_PAUSE_SECONDS, due - seconds)

    def take(self, seconds: float, statistics: Sequence[Statistics]) -> None:
        """Keep what the processes are like at this moment."""
        self._moments.add(seconds, statistics)
        resident = sum(process["resident_pages"] for process in statistics if process["running"])
        self.most_resident_pages = max(self.most_resident_pages, resident)

    def counts(self) -> pl.DataFrame:
        """Return the samples with the columns of :data:`SAMPLE_SCHEMA`."""
        rows = [
            {
                "seconds": seconds,
                "stream": stream,
                **{name: process[name] for name in ("process", "name", *COUNTS)},
            }
            for seconds, statistics in self._moments.seen
            for stream, process in enumerate(statistics)
        ]
        return pl.DataFrame(rows, schema=SAMPLE_SCHEMA)

    def gauges(self) -> pl.DataFrame:
        """Return the sampled gauges with the columns of :data:`SAMPLED_GAUGE_SCHEMA`."""
        rows = [
            {"seconds": seconds, "stream": stream, "gauge": gauge, "value": float(value)}
            for seconds, statistics in self._moments.seen
            for stream, process in enumerate(statistics)
            for gauge, value in process["gauges"].items()
        ]
        return pl.DataFrame(rows, schema=SAMPLED_GAUGE_SCHEMA)
