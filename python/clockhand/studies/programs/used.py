"""What a run uses of the machine: processor time, and requests of the drive that holds the swap."""

import os
import resource
from pathlib import Path

from clockhand.study.records import Fields

READS_FIELD, WRITES_FIELD = 0, 4
"""Where ``/sys/dev/block/*/stat`` counts completed requests; see Linux's block/stat.rst."""


class Used:
    """Counts since this was made; the pager works in our own process."""

    def __init__(self, swap: Path | None) -> None:
        self._swap = swap
        self._cpu_seconds = _cpu_seconds()
        self._requests = _requests(swap)

    def since(self) -> Fields:
        """Return ``cpu_seconds`` and ``block_requests``, null where the kernel does not count."""
        before, now = self._requests, _requests(self._swap)
        return {
            "cpu_seconds": _cpu_seconds() - self._cpu_seconds,
            "block_requests": None if before is None or now is None else now - before,
        }


def _cpu_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _requests(swap: Path | None) -> int | None:
    """Return how many requests the drive of a file that may not exist yet has completed."""
    if swap is None:
        return None
    try:
        device = swap.absolute().parent.stat().st_dev
        numbers = f"{os.major(device)}:{os.minor(device)}"
        fields = Path(f"/sys/dev/block/{numbers}/stat").read_text().split()
        return int(fields[READS_FIELD]) + int(fields[WRITES_FIELD])
    except (OSError, ValueError, IndexError):
        return None
