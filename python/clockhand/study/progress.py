"""Progress that the library shows by itself: a bar in a terminal or a notebook, nothing else."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn, Task

Watch = Callable[[str, int, int], None]
"""Called now and then with the phase (one of :data:`LABELS`), the units done and the total (0 where
it is unknown)."""

Watching = Watch | Literal[False] | None
"""A call's use of its progress: pass it to a function, show nothing (``False``), or show a bar in a
terminal or a notebook (``None``)."""

LABELS = {
    "reading": "reading the trace",
    "replaying": "replaying",
    "synthesizing": "making the trace",
    "preconditioning": "ageing the drive",
    "numbering": "numbering its pages",
    "downloading": "downloading",
}
"""Words for the phases of a run. The units are stored bytes (reading, downloading), requests
(synthesizing), pages (preconditioning) and records of a page view."""


def described(phase: str, done: int, total: int) -> str:
    """Return what is being done; of a download also how many bytes have arrived."""
    if phase != "downloading":
        return LABELS[phase]
    of_all = f" of {total / 2**20:,.1f}" if total else ""
    return f"{LABELS[phase]}, {done / 2**20:,.1f}{of_all} MiB"


@contextmanager
def watched(watch: Watching) -> Iterator[Watch | None]:
    """Give what is called with the progress, and take the bar away at the end."""
    if watch is False:
        yield None
    elif watch is not None:
        yield watch
    else:
        opened = _bar_here()
        if opened is None:
            yield None
        else:
            with opened() as on_progress:
                yield on_progress


def _bar_here() -> Callable[[], AbstractContextManager[Watch]] | None:
    """Return what opens a bar in the place where output is seen; none if there is no such place."""
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        return _marimo_bar
    if _in_jupyter():
        return _jupyter_bar
    if sys.stderr is not None and sys.stderr.isatty():
        return terminal_bar
    return None


def _in_jupyter() -> bool:
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def seconds_left(done: float, total: float | None, seconds: float | None) -> float | None:
    """Return how long the rest takes if it goes on as it did; ``None`` while that is not known.

    Args:
        done: How much of the work is done.
        total: How much there is, if that is known.
        seconds: How long it took, if it has begun.
    """
    if not total or not seconds or not 0 < done <= total:
        return None
    return seconds * (total - done) / done


def time_left() -> "ProgressColumn":
    """Return a column of a bar with the time that is left; empty while that is not known."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        max_refresh = 0.5

        def render(self, task: "Task") -> Text:
            left = seconds_left(task.completed, task.total, task.elapsed)
            if left is None or task.finished:
                return Text("")
            minutes, seconds = divmod(math.ceil(left), 60)
            return Text(f"{minutes}:{seconds:02} left", style="progress.remaining")

    return TimeLeft()


@contextmanager
def terminal_bar(console: "Console | None" = None) -> Iterator[Watch]:
    """Give what shows progress as one line with percent and the time left, of which nothing stays.

    Args:
        console: Rich's console that it is shown on; one on standard error if not given.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), time_left())
    progress = Progress(*columns, console=console or Console(stderr=True), transient=True)
    task = progress.add_task(LABELS["reading"], total=None)
    shown: list[str] = []

    def on_progress(phase: str, done: int, total: int) -> None:
        if not shown:  # A quick call shows nothing.
            progress.start()
        if shown != [phase]:
            progress.reset(task)
            shown[:] = [phase]
        progress.update(
            task, description=described(phase, done, total), completed=done, total=total or None
        )

    try:
        yield on_progress
    finally:
        if shown:
            progress.stop()


@contextmanager
def _marimo_bar() -> Iterator[Watch]:
    marimo: Any = sys.modules["marimo"]
    bars: list[Any] = []
    phases: list[str] = []
    reached = 0

    def on_progress(phase: str, done: int, total: int) -> None:
        nonlocal reached
        if phases[-1:] != [phase] and total:
            _leave(bars)
            bar = marimo.status.progress_bar(
                total=total, title=LABELS[phase], show_rate=False, remove_on_exit=True
            )
            bars.append((bar, bar.__enter__()))
            phases.append(phase)
            reached = 0
        if bars and total and done > reached:
            bars[-1][1].update(increment=done - reached)
            reached = done

    try:
        yield on_progress
    finally:
        _leave(bars)


def _leave(bars: list[Any]) -> None:
    while bars:
        bar, _ = bars.pop()
        bar.__exit__(None, None, None)


@contextmanager
def _jupyter_bar() -> Iterator[Watch]:
    display: Any = sys.modules["IPython"].display
    handles: list[Any] = []

    def on_progress(phase: str, done: int, total: int) -> None:
        value = f'value="{done}" max="{total}"' if total else ""
        share = f" {100 * done / total:.0f} %" if total else ""
        what = described(phase, done, total)
        page = display.HTML(f"{what} <progress {value}></progress>{share}")
        if handles:
            handles[0].update(page)
        else:
            handles.append(display.display(page, display_id=True))

    try:
        yield on_progress
    finally:
        if handles:
            handles[0].update(display.HTML(""))
