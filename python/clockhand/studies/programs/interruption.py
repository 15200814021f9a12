"""What Ctrl-C and other signals to end mean while a program runs, and while its traces go."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
"""Signals for us that are meant for the program; Ctrl-C reaches it from the terminal."""

TO_END = (signal.SIGINT, *PASSED_ON)

Handler = Callable[[int, FrameType | None], Any] | int | None
"""What Python gives back of a signal's handler."""


class LeftToProgram:
    """While a program runs, what would end us is left to it.

    Attributes:
        interrupted: Whether such a signal has come.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: dict[int, Handler] = {}

    def __enter__(self) -> Self:
        self._before = _handled(self._take)
        return self

    def __exit__(self, *_: object) -> None:
        _restore(self._before)

    def belong_to(self, process: subprocess.Popen[bytes]) -> None:
        """Pass on what has come so far and what will come."""
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def _take(self, number: int, _: FrameType | None) -> None:
        self.interrupted = True
        if number not in PASSED_ON:
            return
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Undo something as a whole: signals that would end us are ignored until it is done."""
    before = _handled(signal.SIG_IGN)
    try:
        yield
    finally:
        _restore(before)


def _handled(
    handler: signal.Handlers | Callable[[int, FrameType | None], None],
) -> dict[int, Handler]:
    """Handle all signals to end that are not ignored already; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    wanted = [number for number in TO_END if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in wanted}


def _restore(before: dict[int, Handler]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)
