"""What a server did over time: counts four times a second, and the times of each second."""

import threading

import polars as pl

from clockhand import _engine
from clockhand.study.columns import schema
from clockhand.study.records import Fields, Record

TICK_SECONDS = 0.25
TICKS_PER_SECOND = 4
MOST_SAMPLES = 2400
"""With more than these every second one goes, and only every second one is taken from then on."""

COUNTS = (
    "read_requests", "write_requests", "flushes", "read_bytes", "written_bytes", "references",
    "read_hits", "write_hits", "host_writes", "batches", "nvm_writes",
)  # fmt: skip
"""Columns of the row, from the start to the moment."""

GAUGES = (
    "dram_pages_used",
    "nvm_pages_used",
    "nvm_pages",
    "dirty_pages",
    "held_pages",
    "free_slots",
)
"""Gauges of the moment; slots are unknown without NVM."""

TIMES = ("read_us_p99", "write_us_p99", "flush_us_p99")
"""Of the requests of the second that ends with the sample; none within a second, or without any."""

SAMPLE_SCHEMA = schema("serve samples")
"""Names, order and types of the columns of samples."""

Sample = Fields


class Course:
    """Samples a server in a thread of its own, until it is stopped.

    Attributes:
        samples: What was kept, the oldest first.
        second: The last sample that has times.
    """

    def __init__(self, engine: _engine.BlockServer) -> None:
        self.samples: list[Sample] = []
        self._start = _start_of(engine)
        self.second: Sample | None = None
        self._engine = engine
        self._stride = 1
        self._slowest: dict[str, float | None] = dict.fromkeys(TIMES)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="serve-samples", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take the last sample; the server still runs."""
        self._over.set()
        self._thread.join()
        self._take(has_times=True, is_kept=True)

    def table(self, row: Sample | None = None) -> pl.DataFrame:
        """Return the samples from the start to the row, in columns of :data:`SAMPLE_SCHEMA`."""
        last = [] if row is None else [row | {"dirty_pages": row["residual_dirty"]}]
        ended = ({name: one.get(name) for name in SAMPLE_SCHEMA} for one in last)
        untimed = ({**one, **dict.fromkeys(TIMES)} for one in ended)
        return pl.DataFrame([self._start, *self.samples, *untimed], schema=SAMPLE_SCHEMA)

    def _run(self) -> None:
        tick = 0
        while not self._over.wait(TICK_SECONDS):
            tick += 1
            has_times, is_kept = tick % TICKS_PER_SECOND == 0, tick % self._stride == 0
            if has_times or is_kept:
                self._take(has_times=has_times, is_kept=is_kept)

    def _take(self, *, has_times: bool, is_kept: bool) -> None:
        figures = self._engine.figures(has_times)
        if figures is None:
            return
        row, gauges, _ = figures
        known = row | gauges
        sample = {name: known[name] for name in ("seconds", *COUNTS, *GAUGES)}
        if has_times:
            times = {name: row[name] for name in TIMES}
            self.second = sample | times
            self._slowest = _slower(self._slowest, times)
        if is_kept:
            self.samples.append(sample | self._slowest)
            self._slowest = dict.fromkeys(TIMES)
        if len(self.samples) > MOST_SAMPLES:
            self._thin()

    def _thin(self) -> None:
        """Keep every second sample, with the longer times of both."""
        first, second = self.samples[::2], self.samples[1::2]
        pairs = zip(first, second, strict=False)
        self.samples = [later | _slower(earlier, later) for earlier, later in pairs]
        self._stride *= 2


def _start_of(engine: _engine.BlockServer) -> Sample:
    """Return the counts before the first request: clients may come before the first sample."""
    figures = engine.figures(False)
    known = {} if figures is None else figures[0] | figures[1]
    nothing = dict.fromkeys((*COUNTS, *GAUGES), 0) | dict.fromkeys(TIMES)
    kept = {name: known.get(name) for name in ("nvm_pages", "free_slots")}
    return {"seconds": 0.0, **nothing, **kept}


def _slower(one: Record, other: Record) -> dict[str, float | None]:
    known = {name: [v for v in (one[name], other[name]) if v is not None] for name in TIMES}
    return {name: max(values, default=None) for name, values in known.items()}
