"""Which trace a sweep holds, and the next one, which is read beside the cells of the first."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from clockhand import _engine
from clockhand.study.progress import Watch

Read = Callable[[], _engine.PreparedTrace]
ReadBeside = Callable[[_engine.PreparedTrace, Watch], _engine.PreparedTrace | None]
"""Reads a trace beside the cells of another; none if there is no memory for both."""

SECONDS_BETWEEN_LOOKS = 0.1


class _StoppedError(Exception):
    """The trace that was read ahead is not wanted any more."""


class _Ahead:
    """A trace that is being read."""

    def __init__(self, key: object, present: _engine.PreparedTrace, read: ReadBeside) -> None:
        self.key = key
        self._stopped = threading.Event()
        threads = ThreadPoolExecutor(1, thread_name_prefix="reading-ahead")
        self._read: Future[Any] = threads.submit(read, present, self._look)
        threads.shutdown(wait=False)

    def _look(self, *_: Any) -> None:
        if self._stopped.is_set():
            raise _StoppedError

    def stop(self) -> None:
        """Forget the trace, and wait until it is not read any more."""
        self._stopped.set()
        wait([self._read])

    def taken(self, watch: Watch) -> _engine.PreparedTrace | None:
        """Return the trace when it has been read; none if it has to be read now.

        Raises:
            ClockhandError: it cannot be read.
        """
        while wait([self._read], SECONDS_BETWEEN_LOOKS).not_done:
            watch("reading", 0, 0)
        prepared: _engine.PreparedTrace | None = self._read.result()
        return prepared


class LastTrace:
    """The trace that was read last, for further tasks of it, and the one that is read ahead."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: object = None
        self._prepared: _engine.PreparedTrace | None = None
        self._ahead: _Ahead | None = None

    def get(self, key: object, read: Read, watch: Watch) -> _engine.PreparedTrace:
        """Return what was read under this key; another trace is forgotten before it is read."""
        with self._lock:
            if self._prepared is None or self._key != key:
                ahead, self._ahead = self._ahead, None
                self._prepared = None
                if ahead is not None and ahead.key == key:
                    try:
                        self._prepared = ahead.taken(watch)
                    finally:
                        ahead.stop()
                elif ahead is not None:
                    ahead.stop()
                self._prepared = self._prepared or read()
                self._key = key
            return self._prepared

    def read_beside(self, key: object, read: ReadBeside) -> None:
        """Begin to read the next trace, if there is not one already."""
        with self._lock:
            if self._prepared is not None and self._ahead is None and self._key != key:
                self._ahead = _Ahead(key, self._prepared, read)

    def forget(self) -> None:
        """Forget both traces."""
        with self._lock:
            ahead, self._ahead, self._prepared, self._key = self._ahead, None, None, None
        if ahead is not None:
            ahead.stop()
