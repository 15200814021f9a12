"""What ``clockhand measure --memory`` found on one machine, as the SCM paper's Figure 1 asks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clockhand.study.errors import UsageError
from clockhand.study.records import Record
from clockhand.study.toml import toml_content

READ, CACHED, COPIED = "ram_disk_read", "ram_disk_buffered", "memory_copy"

LOOP = "a loop device"
"""What `clockhand measure --memory` makes a disk in memory of where there is no zram."""


@dataclass(frozen=True)
class MeasuredPoint:
    """How long requests of one size took: the first percentile, the median and the 99th."""

    p1_us: float
    median_us: float
    p99_us: float


@dataclass(frozen=True)
class Measured:
    """Measurements of one machine; an operation has a point for each size in bytes.

    Attributes:
        machine: System, processor and processors.

        date: When.

        disk: What the disk in memory is; :data:`LOOP` if the file does not say.

        read: A read from a file system whose storage is memory.

        cached: The same from the page cache.

        copied: A copy from memory to memory.
    """

    machine: str
    date: str
    disk: str
    read: Mapping[int, MeasuredPoint]
    cached: Mapping[int, MeasuredPoint]
    copied: Mapping[int, MeasuredPoint]

    @property
    def rows(self) -> pl.DataFrame:
        """A row for each operation and size; what it is of takes the place of a trace."""
        points = ((READ, self.read), (CACHED, self.cached), (COPIED, self.copied))
        return pl.DataFrame(
            {"trace": f"{self.machine}, measured on {self.date}", "operation": operation,
             "bytes": size, **vars(point)}
            for operation, of_sizes in points
            for size, point in sorted(of_sizes.items())
        )  # fmt: skip


def read_measured(path: Path) -> Measured:
    """Read what was measured on a machine where all of it could be.

    Raises:
        UsageError: the file does not hold it.
        OSError: the file cannot be read.
    """
    try:
        content = toml_content(path.read_text(encoding="utf-8"))["measured"]
        points = {operation: _points(content, operation) for operation in (READ, CACHED, COPIED)}
        if not (set(points[READ]) == set(points[CACHED]) == set(points[COPIED])):
            raise ValueError("the operations were not measured at the same sizes")
        if not points[READ]:
            raise ValueError(f"there is no {READ}")
        disk = str(content["what"]).partition("; ext4 on ")[2] or LOOP
        return Measured(str(content["machine"]), str(content["date"]), disk, *points.values())
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{path}: this is not a measurement of memory with a disk in memory ({error})",
            "make one with `clockhand measure --memory --out FILE` as root",
        ) from error


def _points(content: Record, operation: str) -> dict[int, MeasuredPoint]:
    points = {}
    for point in content["points"]:
        if point["operation"] == operation:
            times = [float(point[name]) for name in ("p1_us", "p50_us", "p99_us")]
            if not 0 < times[0] <= times[1] <= times[2] < math.inf:
                raise ValueError(f"the times of {operation} are not in order")
            points[int(point["bytes"])] = MeasuredPoint(*times)
    return points
