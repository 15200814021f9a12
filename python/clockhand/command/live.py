"""What a pager does, shown on standard error while the program runs."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from clockhand.command.saying import console
from clockhand.studies.programs.samples import LIVE_INTERVAL_SECONDS, LiveWatch, Statistics
from clockhand.study.facts import printable

BLOCKS = "▁▂▃▄▅▆▇█"
HISTORY = 40
"""Moments that a line of blocks shows: ten seconds."""

MOST_PROCESSES = 4
RATES = {
    "misses": "misses/s",
    "minor_faults": "minor faults/s",
    "pages_read": "reads/s",
    "pages_written": "write-backs/s",
}


@contextmanager
def shown_live() -> Iterator[LiveWatch]:
    """Give a function that shows statistics in place while the block runs."""
    view = LiveView()
    errors = console(stderr=True)
    with Live(console=errors, auto_refresh=False, transient=True) as live:

        def watch(seconds: float, statistics: Sequence[Statistics]) -> None:
            live.update(view.shown(seconds, statistics), refresh=True)

        yield watch


class LiveView:
    """Rates, with their last seconds as blocks, and the sizes of the policy's areas as bars."""

    def __init__(self) -> None:
        self._counts: dict[tuple[object, str], int] = {}
        self._rates: dict[tuple[object, str], deque[float]] = defaultdict(
            lambda: deque(maxlen=HISTORY)
        )
        self._seconds = 0.0

    def shown(self, seconds: float, statistics: Sequence[Statistics]) -> Group:
        """Take statistics in, and return what is shown."""
        passed = max(seconds - self._seconds, LIVE_INTERVAL_SECONDS / 10)
        self._seconds = seconds
        running = [process for process in statistics if process["running"]]
        for process in running:
            for name in RATES:
                key = (process["process"], name)
                self._rates[key].append((process[name] - self._counts.get(key, 0)) / passed)
                self._counts[key] = process[name]
        busiest = sorted(running, key=lambda process: -process["references"])[:MOST_PROCESSES]
        parts: list[Text | Table] = []
        for process in busiest:
            parts += [self._heading(seconds, process), self._table(process)]
        if len(running) > len(busiest):
            parts.append(Text(f"and {len(running) - len(busiest)} other processes"))
        return Group(*parts)

    def _heading(self, seconds: float, process: Statistics) -> Text:
        return Text(
            f"{printable(str(process['name']))} ({process['process']}) "
            f"{process['policy_resolved']}, {seconds:,.0f} s, "
            f"{process['resident_pages']:,} of {process['frames']:,} frames"
        )

    def _table(self, process: Statistics) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_column(justify="right")
        table.add_column(justify="right")
        table.add_column()
        for name, heading in RATES.items():
            rates = self._rates[process["process"], name]
            table.add_row(heading, f"{rates[-1]:,.0f}", sparkline(rates))
        for gauge, value in process["gauges"].items():
            bar = bar_of(float(value), process["frames"])
            table.add_row(str(gauge), f"{value:,.0f}", bar)
        return table


def sparkline(values: Sequence[float] | deque[float]) -> str:
    """Return values as blocks whose heights are shares of the largest."""
    top = max(values, default=0) or 1
    return "".join(BLOCKS[min(len(BLOCKS) - 1, int(len(BLOCKS) * v / top))] for v in values)


def bar_of(value: float, whole: float) -> str:
    """Return a bar as long as the share of ``value`` in ``whole``."""
    share = min(max(value / whole, 0), 1) if whole else 0
    return "█" * round(share * HISTORY)
