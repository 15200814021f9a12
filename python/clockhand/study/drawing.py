"""Drawing: libraries that the core can do without, imported when something is drawn."""

import atexit
import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from clockhand.study.errors import ClockhandError, UsageError, option

DRAWING = {"altair": "altair", "vl_convert": "vl-convert-python"}
"""The modules that draw, and what installs them."""


PROCESS = Path(__file__).with_name("drawing_process.py")


def what_is_missing() -> str | None:
    """Return what is to be done before figures can be drawn, in a sentence; none if nothing is."""
    missing = [name for module, name in DRAWING.items() if not importlib.util.find_spec(module)]
    if not missing:
        return None
    return (
        f"figures and reports need {' and '.join(missing)}, which this Python lacks; run: "
        "pip install 'clockhand[report]'"
    )


def check_drawing() -> None:
    """Find out before the work that figures can be drawn.

    Raises:
        ClockhandError: a library is missing.
    """
    missing = what_is_missing()
    if missing is not None:
        raise ClockhandError(missing)


def chosen(name: str | None, figures: Iterable[str]) -> str:
    """Return the name of one of the figures; of the first one if none is given.

    Raises:
        UsageError: there is no such figure, or none at all.
    """
    names = list(figures)
    if not names:
        raise UsageError("there is nothing to draw: all counts are 0", "run a longer trace")
    if name is not None and name not in names:
        raise UsageError(f"there is no figure {name!r}", f"there are: {', '.join(names)}")
    return names[0] if name is None else name


class Converter:
    """vl-convert in a process of its own, with its functions as methods.

    The engine in it ends its process where it lacks memory, and would end ours.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._starter = 0
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._ask, name)

    def _ask(self, name: str, *positional: Any, **named: object) -> Any:
        with self._lock:
            process = self._started()
            assert process.stdin is not None and process.stdout is not None
            try:
                pickle.dump((name, positional, named), process.stdin)
                process.stdin.flush()
                is_done, answer = pickle.load(process.stdout)
            except (EOFError, OSError, pickle.UnpicklingError):
                raise self._ended(process) from None
            except BaseException:
                # An answer that was not taken would be the next one's.
                self.close()
                raise
        if not is_done:
            raise ValueError(answer)
        return answer

    def _started(self) -> "subprocess.Popen[bytes]":
        # A forked process must not share its parent's.
        if self._process is None or self._starter != os.getpid():
            self._process = subprocess.Popen(
                [sys.executable, "-P", os.fspath(PROCESS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # The engine's own account of its end is none of the user's.
                stderr=subprocess.DEVNULL,
                # Ctrl-C is for us; it ends when we do, because its input does.
                process_group=0,
            )
            self._starter = os.getpid()
            atexit.register(self.close)
        return self._process

    def close(self) -> None:
        """End the process, if there is one of ours."""
        process, self._process = self._process, None
        if process is not None and self._starter == os.getpid():
            process.kill()
            process.wait()

    def _ended(self, process: "subprocess.Popen[bytes]") -> ClockhandError:
        self._process = None
        process.kill()
        code = process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return ClockhandError(
            f"the process that draws figures ended with {how}, as if it lacked memory",
            "give it more (`ulimit -v`), or leave "
            + option("report")
            + " and "
            + option("plots")
            + " out",
        )


CONVERTER = Converter()


def converter() -> Any:
    """Return what turns Vega-Lite into pictures, and has Vega itself: vl-convert's functions."""
    check_drawing()
    return CONVERTER
