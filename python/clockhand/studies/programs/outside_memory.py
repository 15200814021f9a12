"""Measures a program's memory outside of paged memory, which the kernel's run needs as well."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from clockhand import _engine
from clockhand.studies.programs.memory_group import Charged, MemoryGroup, memory_group
from clockhand.studies.programs.options import PAGE_BYTES, ProgramSettings
from clockhand.studies.programs.pager import preloading, started_pager
from clockhand.studies.programs.plan import Planned
from clockhand.studies.programs.samples import Statistics
from clockhand.studies.programs.watched_program import run_program

LONGEST_SHARE = 0.01
"""Of the time of a run, how much looking may take at most: it holds the program up."""

ASLEEP = ("sleep", "0.2")
"""A program that has little of its own."""

LOOK_SECONDS = 0.02


class OutsideMemory:
    """The most that the programs of a group have outside of paged memory, without our library."""

    def __init__(self, group: MemoryGroup, library: Charged) -> None:
        self.most = Charged(0, 0)
        self._group = group
        self._library = library
        self._next_seconds = 0.0

    def look(self, seconds: float, statistics: Callable[[], Sequence[Statistics]]) -> None:
        """Look if it is time.

        Args:
            seconds: Since the run's start.
            statistics: Asks the pager about its processes. A forked one shares the library's
                memory with its parent at first, so that none of it is taken off there.
        """
        if seconds < self._next_seconds:
            return
        began = time.perf_counter()
        charged = self._group.charged()
        programs = sum(one["running"] and not one["forked"] for one in statistics())
        self.most = self.most.or_more(charged.less(self._library, times=programs))
        self._next_seconds = seconds + (time.perf_counter() - began) / LONGEST_SHARE


def library_memory(policy: str, planned: Planned, settings: ProgramSettings) -> Charged:
    """Measure what our library adds to a program: a sleeping one, with and without it.

    It is the library's data, its thread, and page tables of paged memory that is far from the rest.
    Nothing, if ``sleep`` cannot be paged.

    Raises:
        ClockhandError: there can be no memory cgroup.
        KeyboardInterrupt: a signal to end came.
    """
    with memory_group() as group:
        alone = _asleep(group, None)
    pager = started_pager(policy, planned, replace(settings, swap=None, emulate=None), record=None)
    with memory_group() as group:
        paged = _asleep(group, pager)
    pager.finish()
    return paged.less(alone)


def _asleep(group: MemoryGroup, pager: _engine.Pager | None) -> Charged:
    """Return the most that the sleeping program has, what is paged among it."""
    most = Charged(0, 0)

    def look(_: float) -> float:
        nonlocal most
        charged = group.charged()
        processes: Sequence[Statistics] = [] if pager is None else pager.statistics()
        paged_bytes = PAGE_BYTES * sum(one["resident_pages"] for one in processes)
        now = Charged(charged.anonymous_bytes + paged_bytes, charged.kernel_bytes)
        most = most.or_more(now)
        return LOOK_SECONDS

    ended = run_program(
        ASLEEP,
        environment=None if pager is None else preloading(pager),
        inherited=[] if pager is None else [pager.inherited_socket()],
        before=group.join,
        look=look,
    )
    if ended.interrupted:
        raise KeyboardInterrupt
    return most
