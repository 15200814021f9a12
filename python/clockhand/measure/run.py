"""Measurements of storage and memory, with progress, and the profiles that they make."""

import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clockhand import _engine
from clockhand.measure import ram_disk
from clockhand.measure.profile import median_ns, of_operation, profile_text
from clockhand.study.calls import in_python
from clockhand.study.errors import ClockhandError
from clockhand.study.files import publish
from clockhand.study.limits import MAXIMUM_COUNT, MAXIMUM_SEED, check_range
from clockhand.study.records import Fields
from clockhand.study.sizes import bytes_text, parsed_bytes

FILE_BYTES = "256MiB"
OPERATIONS = 1000
MAXIMUM_OPERATIONS = 1_000_000
RAM_DISK_BYTES = 64 << 20

Watch = Callable[[str, int, int], None]
"""Called with what is measured, how many steps are done, and how many there are."""


@dataclass(frozen=True)
class MeasuredProfile:
    """A profile of this machine.

    Attributes:
        text: The TOML that every ``--device`` takes.

        points: One entry per operation and size: ``operation``, ``bytes``, ``operations``, and its
            times in nanoseconds, ``percentiles_ns`` (1, 10, 25, 50, 75, 90, 99) and ``mean_ns``.

        findings: What the points say, a sentence each.
    """

    text: str
    points: list[Fields]
    findings: list[str] = field(default_factory=list)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the profile."""
        publish({Path(path): self.text.encode()})


@dataclass(frozen=True)
class StoragePlan:
    """A measurement of storage that has not begun: its file is open, and nothing is written yet."""

    path: str
    measurement: _engine.Measurement

    @property
    def announcement(self) -> str:
        """How much will be written, and where."""
        return (
            f"measuring {self.path}: up to {bytes_text(self.measurement.written_bytes)} will be "
            f"written, to {bytes_text(self.measurement.file_bytes)} of it"
        )

    def run(self, watch: Watch | None = None) -> MeasuredProfile:
        """Measure; takes a minute or so.

        Raises:
            ClockhandError: a request failed.
        """
        points = _points_of(self.measurement, watch)
        size = bytes_text(self.measurement.file_bytes)
        notes = []
        if not of_operation(points, "major_fault"):
            notes.append("major faults are missing: the system kept the pages in memory")
        text = profile_text(
            points,
            summary=f"measured storage, {size} of {Path(self.path).name or self.path}",
            reads="read",
            writes="write",
            what=f"random requests with O_DIRECT through io_uring to {size}",
            notes=notes,
            **_about(),
        )
        return MeasuredProfile(text, points, _of_storage(points))


@in_python()
def plan_storage(
    path: str | os.PathLike[str],
    *,
    file_size: int | str = FILE_BYTES,
    operations: int = OPERATIONS,
    write_to_existing: bool = False,
    seed: int = 0,
) -> StoragePlan:
    """Open what is to be measured and say how much would be written.

    Args:
        path: A folder, for a temporary file without a name; a file that does not exist; or with
            ``write_to_existing`` a file or a block device that does.

        file_size: Bytes that requests go to, or text such as ``"256MiB"``.

        operations: How often each request is made, at most.

        write_to_existing: Whether the content of what exists may be overwritten.

        seed: Where requests go.

    Raises:
        UsageError: the path exists, there is no room for the file, or a number is out of range.
        ClockhandError: the file cannot be made or opened past the page cache.
    """
    check_range("operations", operations, 1, MAXIMUM_OPERATIONS)
    check_range("seed", seed, 0, MAXIMUM_SEED)
    file_bytes = parsed_bytes("file-size", str(file_size))
    check_range("file-size", file_bytes, 1, MAXIMUM_COUNT)
    measurement = _engine.Measurement.storage(
        path,
        file_bytes=file_bytes,
        operations=operations,
        write_to_existing=write_to_existing,
        seed=seed,
    )
    return StoragePlan(os.fspath(path), measurement)


@in_python()
def measure_memory(*, seed: int = 0, watch: Watch | None = None) -> MeasuredProfile:
    """Measure memory: copies, first touches, TLB misses, and ext4 whose storage is memory.

    The last part needs root and is left out without, which a finding says.

    Raises:
        UsageError: the seed is out of range.
        ClockhandError: there is too little memory.
    """
    check_range("seed", seed, 0, MAXIMUM_SEED)
    points = _points_of(_engine.Measurement.memory(seed), watch)
    on_disk, disk, left_out = _ram_disk_points(seed, watch)
    notes = ["reads and writes are copies from memory that no cache holds"]
    if left_out is not None:
        notes.append(f"ext4 in memory is missing: {left_out}")
    text = profile_text(
        points + on_disk,
        summary="measured memory of this machine",
        reads="memory_copy",
        writes="memory_copy",
        what="copies of 4 KiB to 1 MiB from 512 MiB of memory"
        + ("" if disk is None else f"; ext4 on {disk}"),
        notes=notes,
        **_about(),
    )
    return MeasuredProfile(text, points + on_disk, _of_memory(points, on_disk, left_out))


def _about() -> Fields:
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"date": date, "machine": _engine.machine()}


def _points_of(measurement: _engine.Measurement, watch: Watch | None) -> list[Fields]:
    points: list[Fields] = []
    steps = measurement.steps()
    for number, step in enumerate(steps):
        if watch is not None:
            watch(step, number, len(steps))
        points += measurement.run(number)
    return points


def _ram_disk_points(seed: int, watch: Watch | None) -> tuple[list[Fields], str | None, str | None]:
    """Return the points of Figure 1 and what the disk is, or why there are none."""
    reason = ram_disk.obstacle()
    if reason is not None:
        return [], None, reason
    try:
        with ram_disk.mounted() as (folder, disk):
            measurement = _engine.Measurement.storage(
                folder,
                file_bytes=RAM_DISK_BYTES,
                operations=OPERATIONS,
                write_to_existing=False,
                seed=seed,
            )
            points = _points_of(measurement, watch)
            # An open file would keep the file system mounted.
            del measurement
    except (ram_disk.RamDiskError, ClockhandError) as error:
        return [], None, str(error)
    names = {
        "read": "ram_disk_read",
        "write": "ram_disk_write",
        "buffered_read": "ram_disk_buffered",
    }
    of_disk = [
        {**point, "operation": names[point["operation"]]}
        for point in points
        if point["operation"] in names
    ]
    return of_disk, disk, None


def _of_storage(points: list[Fields]) -> list[str]:
    direct, cached = median_ns(points, "read", 4096), median_ns(points, "buffered_read", 4096)
    sentences = []
    if direct and cached:
        sentences.append(
            f"A read of 4 KiB takes {direct / 1000:,.4g} µs past the page cache and "
            f"{cached / 1000:,.4g} µs from it, {direct / cached:,.3g} times less."
        )
    minor, major = median_ns(points, "minor_fault"), median_ns(points, "major_fault")
    if minor:
        text = f"A minor page fault takes {minor / 1000:,.4g} µs"
        sentences.append(f"{text}, a major one {major / 1000:,.4g} µs." if major else f"{text}.")
    return sentences


def _of_memory(points: list[Fields], on_disk: list[Fields], left_out: str | None) -> list[str]:
    sentences = []
    copy, touch = median_ns(points, "memory_copy", 4096), median_ns(points, "anonymous_fault")
    if copy and touch:
        sentences.append(
            f"Copying 4 KiB of memory takes {copy:,.4g} ns, the first touch of a page "
            f"{touch:,.4g} ns."
        )
    if allowed := median_ns(points, "permission_fault"):
        sentences.append(f"A write to a page that may not be written yet takes {allowed:,.4g} ns.")
    small, huge = median_ns(points, "walk_small_pages"), median_ns(points, "walk_huge_pages")
    if small and huge:
        sentences.append(
            f"An access that misses the TLB takes {small:,.4g} ns in pages of 4 KiB and "
            f"{huge:,.4g} ns in huge pages: a TLB miss costs {max(small - huge, 0):,.3g} ns."
        )
    else:
        sentences.append(
            "The cost of a TLB miss is not known: the system gave no huge pages "
            "(/sys/kernel/mm/transparent_hugepage/enabled)."
        )
    if left_out is not None:
        sentences.append(f"ext4 whose storage is memory was left out: {left_out}.")
    direct = median_ns(on_disk, "ram_disk_read", 4096)
    cached = median_ns(on_disk, "ram_disk_buffered", 4096)
    if direct and cached:
        sentences.append(
            f"On ext4 whose storage is memory, a read of 4 KiB takes {direct / 1000:,.4g} µs past "
            f"the page cache and {cached / 1000:,.4g} µs from it: "
            f"{100 * (direct / cached - 1):,.0f} % more for the same medium."
        )
    return sentences
