"""A memory cgroup for one program, of version 1 or 2: what it is charged, and its limit."""

import fcntl
import os
import re
import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from clockhand.studies.programs.interruption import uninterrupted
from clockhand.study.errors import ClockhandError

SECONDS_TO_END = 10
"""How long killed processes and an emptied group may take to be gone."""

POLL_SECONDS = 0.02
NAME = "clockhand-"

ANONYMOUS = "Pss_Anon:"
"""A process's share: what several have since a fork counts once in a group."""


@dataclass(frozen=True)
class Charged:
    """Bytes that a group is charged for what its programs have, without pages of files.

    Those are charged to the group that reads them first, however many groups map them. Memory files
    are not among it either, so that paged memory is not.

    Attributes:
        anonymous_bytes: Stacks, data segments, and a heap that is not paged.
        kernel_bytes: Page tables, kernel stacks and other memory of the kernel.
    """

    anonymous_bytes: int
    kernel_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.anonymous_bytes + self.kernel_bytes

    def or_more(self, other: "Charged") -> "Charged":
        """Return the larger one, by all of it."""
        return max(self, other, key=lambda one: one.total_bytes)

    def less(self, other: "Charged", times: int = 1) -> "Charged":
        """Return the counts less a multiple of others, nothing below 0."""
        return Charged(
            max(0, self.anonymous_bytes - times * other.anonymous_bytes),
            max(0, self.kernel_bytes - times * other.kernel_bytes),
        )


@dataclass(frozen=True)
class Swapped:
    """What became of a group's pages since its start.

    Attributes:
        pages_read: Pages that were read from swap, those read ahead among them.

        pages_written: Pages that were written to swap.

        zero_pages_read: Pages of zeros that came back without being read.

        zero_pages_written: Pages of zeros that left without being written (since Linux 6.12).

        major_faults: Faults that had to wait for a drive.

        source: Whose count of pages it is.
    """

    pages_read: int
    pages_written: int
    zero_pages_read: int
    zero_pages_written: int
    major_faults: int
    source: str

    def since(self, before: "Swapped") -> "Swapped":
        """Return what came to it after ``before``."""
        return Swapped(
            self.pages_read - before.pages_read,
            self.pages_written - before.pages_written,
            self.zero_pages_read - before.zero_pages_read,
            self.zero_pages_written - before.zero_pages_written,
            self.major_faults - before.major_faults,
            self.source,
        )


class MemoryGroup:
    """A cgroup that one program and its children run in."""

    def __init__(self, folder: Path, version: int) -> None:
        self.folder = folder
        self.version = version

    def join(self) -> None:
        """Move the calling process into the group, where all its children will be."""
        (self.folder / "cgroup.procs").write_bytes(b"0")

    def set_limit(self, limit_bytes: int) -> None:
        """Limit the group's memory; what it has beyond the limit goes to swap."""
        name = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        (self.folder / name).write_text(str(limit_bytes))

    def charged(self) -> Charged:
        """Return what the group is charged now.

        Anonymous memory is added up from its processes: the group's own count of it may be behind
        by 64 pages for each processor of the machine.
        """
        anonymous_bytes = sum(map(_anonymous_bytes, self._processes()))
        if self.version == 2:
            return Charged(anonymous_bytes, self._counts("memory.stat")["kernel"])
        kernel = self.folder / "memory.kmem.usage_in_bytes"
        return Charged(anonymous_bytes, int(kernel.read_text()) if kernel.exists() else 0)

    def swapped(self) -> Swapped:
        """Return the swap traffic of the group, or of the machine where a group does not count.

        The kernel refreshes the counts that it reclaims by when they are read, and otherwise every
        2 s or so. In a small group whose counts are never read it may choose badly.
        """
        counts = self._counts("memory.stat")
        faults = counts["pgmajfault" if self.version == 2 else "total_pgmajfault"]
        source = "the cgroup's own count"
        if not {"pswpin", "pswpout"} <= counts.keys():
            counts = _named_counts(Path("/proc/vmstat"))
            source = "/proc/vmstat, the whole machine's"
        return Swapped(
            counts["pswpin"],
            counts["pswpout"],
            counts.get("swpin_zero", 0),
            counts.get("swpout_zero", 0),
            faults,
            source,
        )

    def page_cache_bytes(self) -> int:
        """Return what of the group's memory is pages of files, mapped or not."""
        counts = self._counts("memory.stat")
        total = "" if self.version == 2 else "total_"
        return counts[f"{total}active_file"] + counts[f"{total}inactive_file"]

    def kills(self) -> int:
        """Return how many processes the kernel ended because the group had too little memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return self._counts(name).get("oom_kill", 0)

    def wait_until_empty(self) -> None:
        """Wait for children that outlive the program."""
        while self._processes():
            time.sleep(POLL_SECONDS)

    def remove(self) -> None:
        """End what still runs in the group, and remove it."""
        deadline = time.monotonic() + SECONDS_TO_END
        while time.monotonic() < deadline:
            for process in self._processes():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            with suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(POLL_SECONDS)
        raise ClockhandError(f"{self.folder}: the cgroup cannot be removed; remove it with rmdir")

    def _processes(self) -> list[int]:
        return [int(line) for line in (self.folder / "cgroup.procs").read_text().split()]

    def _counts(self, name: str) -> dict[str, int]:
        return _named_counts(self.folder / name)


@contextmanager
def memory_group() -> Iterator[MemoryGroup]:
    """Make a memory cgroup, which is removed at the end with whatever still runs in it.

    Those that killed runs of ours left behind are removed first.

    Raises:
        ClockhandError: this machine or the user's rights do not allow it.
    """
    reasons = []
    remove_leftover_groups()
    for parent, version in _parents():
        folder = parent / f"{NAME}{secrets.token_hex(4)}"
        try:
            restored = _enabled_below(parent, version)
            folder.mkdir()
            lock = os.open(folder, os.O_RDONLY)
        except OSError as error:
            reasons.append(f"{parent}: {error.strerror}")
            continue
        group = MemoryGroup(folder, version)
        try:
            # Another run recognizes a leftover by its free lock.
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield group
        finally:
            with uninterrupted():
                os.close(lock)
                group.remove()
                if restored is not None:
                    with suppress(OSError):
                        restored.write_text("-memory")
        return
    why = "; ".join(reasons) or "no cgroup hierarchy with the memory controller is mounted"
    raise ClockhandError(
        f"no memory cgroup can be made ({why}); run as root where cgroups are writable"
    )


def remove_leftover_groups() -> None:
    """Remove the groups of runs that were killed, and end what still runs in them."""
    for parent, version in _parents():
        for folder in parent.glob(f"{NAME}*/"):
            with suppress(OSError, ClockhandError):
                lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    with uninterrupted():
                        MemoryGroup(folder, version).remove()
                finally:
                    os.close(lock)


def _parents() -> list[tuple[Path, int]]:
    """Return the groups of this machine in which one may be made, with their version."""
    mounts = Path("/proc/self/mountinfo").read_text()
    return parents_in(mounts, Path("/proc/self/cgroup").read_text())


def _enabled_below(parent: Path, version: int) -> Path | None:
    """Let groups below have the memory controller; return the file that takes it back, if any."""
    control = parent / "cgroup.subtree_control"
    if version == 1 or "memory" in control.read_text().split():
        return None
    control.write_text("+memory")
    return control


def parents_in(mounts: str, memberships: str) -> list[tuple[Path, int]]:
    """Return the groups in which one may be made, topmost first, with their version.

    Args:
        mounts: What ``/proc/self/mountinfo`` holds.
        memberships: What ``/proc/self/cgroup`` holds.
    """
    own = _own_groups(memberships)
    found: list[tuple[Path, int]] = []
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, mounted = map(_unescaped, before.split()[3:5])
        kind, _, options = after.split()[:3]
        version = {"cgroup": 1, "cgroup2": 2}.get(kind)
        top = Path(mounted)
        if version == 1 and "memory" not in options.split(","):
            continue
        if version == 2 and "memory" not in _words(top / "cgroup.controllers"):
            continue
        if version is None:
            continue
        below = os.path.relpath(own.get(version, "/"), root)
        parts = [] if below.startswith("..") else Path(below).parts
        found += [(top.joinpath(*parts[:depth]), version) for depth in range(len(parts) + 1)]
    return [(parent, version) for parent, version in found if parent.is_dir()]


def _own_groups(memberships: str) -> dict[int, str]:
    """Return the path of our own group in the hierarchies that may have the memory controller."""
    groups = {}
    for line in memberships.splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            groups[2] = path
        elif "memory" in controllers.split(","):
            groups[1] = path
    return groups


def _anonymous_bytes(process: int) -> int:
    """Return a process's share of its anonymous memory; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(ANONYMOUS)), 0)


def _words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _named_counts(path: Path) -> dict[str, int]:
    pairs = (line.split() for line in path.read_text().splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
