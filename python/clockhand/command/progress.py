"""Progress on standard error, with the time that is left."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clockhand.command.saying import console, is_quiet, say
from clockhand.study.progress import LABELS, Watch, seconds_left, terminal_bar, time_left

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

EVERY_SECONDS = 10
"""Without a terminal for a bar, a line says this often how far the work is."""


class Lines:
    """Progress as plain lines on standard error, for logs: none before ten seconds are over."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._shown_at = clock()
        self._what = ""
        self._began = self._shown_at

    def update(self, what: str, done: int, total: int) -> None:
        """Say how far something is, if nothing was said for ten seconds.

        Args:
            what: The work, which may change on the way.
            done: How much of it is done.
            total: How much there is; 0 if that is not known.
        """
        now = self._clock()
        if what != self._what:
            self._what, self._began = what, now
        if now - self._shown_at < EVERY_SECONDS:
            return
        self._shown_at = now
        if total <= 0:
            say(f"{what}: {done:,}")
            return
        rest = seconds_left(done, total, now - self._began)
        left = f", about {rest:,.0f} s left" if rest else ""
        say(f"{what}: {100 * done / total:.0f} %{left}")


@contextmanager
def progress_bar(*measure: "ProgressColumn") -> "Iterator[Progress | None]":
    """Give a bar between what is done and the time left; none where it would not be seen.

    Args:
        measure: The columns that say how far the task is.
    """
    errors = console(stderr=True)
    if is_quiet() or not errors.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), *measure, time_left())
    with Progress(*columns, console=errors, transient=True) as progress:
        yield progress


@contextmanager
def shown_progress() -> Iterator[Watch]:
    """Give a function that shows progress while the block runs: a bar, or lines in a log."""
    if is_quiet():
        yield lambda _phase, _done, _total: None
    elif _may_be_terminal() and (errors := console(stderr=True)).is_terminal:
        with terminal_bar(errors) as on_progress:
            yield on_progress
    else:
        yield told_in_lines()


def told_in_lines() -> Watch:
    """Return a function that shows progress as lines."""
    lines = Lines()
    return lambda phase, done, total: lines.update(LABELS[phase], done, total)


def _may_be_terminal() -> bool:
    """Tell whether Rich, which takes a while to load, could find a terminal on standard error."""
    return sys.stderr.isatty() or any(map(os.environ.get, ("FORCE_COLOR", "TTY_COMPATIBLE")))
