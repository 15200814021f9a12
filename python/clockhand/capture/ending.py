"""Ends a captured command on an interrupt, and describes its end."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS_TO_END = 10
"""Seconds that an interrupted program may take to end before it is killed."""


@contextmanager
def held_back() -> Iterator[list[int]]:
    """Collect signals to end in the list that is given, instead of acting on them."""
    came: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.default_int_handler:
                before[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def signal_name(number: int) -> str:
    """Return the name of a signal; those for real-time use have numbers only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def exit_in_words(exit_code: int) -> str:
    """Return how a command ended: ``exit code 3``, or the signal for a negative code."""
    return f"exit code {exit_code}" if exit_code >= 0 else signal_name(-exit_code)


def ended(exit_code: int, interrupted: bool) -> str:
    """Return the label of a trace about the end of its command."""
    return "interrupted" if interrupted else exit_in_words(exit_code)
