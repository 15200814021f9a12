"""The kernel's own swap, for comparison: a swap file that exists while a program runs."""

import ctypes
import errno
import fcntl
import os
import secrets
import stat
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from clockhand.studies.programs.interruption import uninterrupted
from clockhand.studies.programs.memory_group import remove_leftover_groups
from clockhand.study.errors import ClockhandError, option

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SIGNATURE = b"SWAPSPACE2"
HEADER_OFFSET = 1024
NAME = ".clockhand-kernel-swap-"
PREFER = 0x8000
HIGHEST_PRIORITY = 32767
"""A high priority, so that no other swap area of the machine takes the pages."""

LARGEST_PAGES = 2**32 - 1
LOCKED = Path("/proc/kpagecount")
"""What comparisons lock; only root can open it, so that no other user can keep them waiting."""

SECONDS_TO_GIVE_UP = 10
"""How long pages of other programs in a swap file may take to find room in memory."""

POLL_SECONDS = 0.1

SETTINGS = {
    "vm.page-cluster": Path("/proc/sys/vm/page-cluster"),
    "vm.swappiness": Path("/proc/sys/vm/swappiness"),
    "transparent huge pages": Path("/sys/kernel/mm/transparent_hugepage/enabled"),
    "zswap": Path("/sys/module/zswap/parameters/enabled"),
}


@contextmanager
def kernel_swap(
    beside: Path, size_bytes: int, tell: Callable[[str], None] | None = None
) -> Iterator[Path]:
    """Make a swap file in the folder of ``beside`` and let the kernel swap to it.

    Another comparison of this machine that swaps is waited for. At the end, however it comes, the
    kernel gives the file up and it is removed.

    Args:
        beside: The file whose folder, and so whose drive, it is to share.
        size_bytes: Bytes for pages; the header comes on top.
        tell: Called with a sentence if another comparison has to be waited for.

    Raises:
        ClockhandError: the kernel, the file system or the user's rights do not allow it, or pages
            of other programs keep the file in use at the end.
    """
    if beside.exists() and not stat.S_ISREG(beside.stat().st_mode):
        raise ClockhandError(
            f"{beside} is not an ordinary file, so there is no folder for the kernel's swap file",
            "give " + option("swap") + " a file",
        )
    path = beside.with_name(NAME + secrets.token_hex(4))
    pages = 1 + -(-size_bytes // PAGE_BYTES)
    with swapping_alone(tell):
        try:
            with _empty_swap(path, pages):
                _call("swapon", path, PREFER | HIGHEST_PRIORITY)
                try:
                    yield path
                finally:
                    with uninterrupted():
                        _give_up(path)
        finally:
            # One that is still in use cannot be removed.
            with suppress(FileNotFoundError, PermissionError):
                path.unlink()


@contextmanager
def swapping_alone(tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Wait until no other comparison of this machine swaps, and keep others waiting.

    The kernel swaps every program to all areas. Two comparisons would have pages in each other's
    files, and a file could not be given up while the other's group is full.

    Args:
        tell: Called with a sentence if another has to be waited for.

    Raises:
        ClockhandError: the user is not root.
    """
    try:
        locked = LOCKED.open("rb")
    except OSError as error:
        raise ClockhandError(
            f"{LOCKED}: comparisons with the kernel's swap cannot take turns ({error.strerror}); "
            "run as root"
        ) from error
    with locked:
        try:
            fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if tell is not None:
                tell("waiting for another comparison with the kernel's swap on this machine")
            fcntl.flock(locked, fcntl.LOCK_EX)
        yield


def remove_leftover_swap(beside: Path) -> None:
    """Take the swap files of killed comparisons from the kernel, and remove them.

    Programs that still run in the cgroups of such comparisons are ended first. A file that is in
    use is locked, and one that cannot be removed stays.

    Args:
        beside: The file in whose folder they are looked for.
    """
    for path in beside.parent.glob(f"{NAME}*"):
        # Others may put a pipe there, which would wait for its writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with suppress(OSError), open(os.open(path, flags), "rb", buffering=0) as file:
            facts = os.fstat(file.fileno())
            if facts.st_uid != os.geteuid() or not stat.S_ISREG(facts.st_mode):
                continue
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_leftover_groups()
            with suppress(ClockhandError), uninterrupted():
                _call("swapoff", path)
            path.unlink()


def _empty_swap(path: Path, pages: int) -> BinaryIO:
    """Make what ``mkswap`` makes, locked: a file of ``pages`` pages whose first is the header.

    The header is that of include/linux/swap.h: 1024 bytes of boot block, version 1, the last page,
    no bad pages, a UUID; the signature ends the page.
    """
    numbers = [1, min(pages, LARGEST_PAGES) - 1, 0]
    header = b"".join(number.to_bytes(4, "little") for number in numbers) + uuid.uuid4().bytes
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        file = open(descriptor, "r+b")  # noqa: SIM115 - Closed, and so unlocked, by the caller.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.posix_fallocate(descriptor, 0, pages * PAGE_BYTES)
        file.seek(HEADER_OFFSET)
        file.write(header)
        file.seek(PAGE_BYTES - len(SIGNATURE))
        file.write(SIGNATURE)
        file.flush()
        os.fsync(descriptor)
        return file
    except OSError as error:
        raise ClockhandError(
            f"{path.parent}: the kernel's swap file of {pages:,} pages cannot be written "
            f"({error.strerror})",
            "make room, or give a " + option("swap-limit"),
        ) from error


def _give_up(path: Path) -> None:
    """Take a swap file from the kernel, which brings every page in it back into memory."""
    deadline = time.monotonic() + SECONDS_TO_GIVE_UP
    while (failed := _failure("swapoff", path)) == errno.ENOMEM:
        if time.monotonic() > deadline:
            raise ClockhandError(
                f"swapoff {path}: it holds pages of programs that have no room for them in memory; "
                "end them, run swapoff again and remove the file"
            )
        time.sleep(POLL_SECONDS)
    if failed:
        raise _refused("swapoff", path, failed)


def _call(name: str, path: Path, *arguments: int) -> None:
    """Call ``swapon`` or ``swapoff``."""
    if failed := _failure(name, path, *arguments):
        raise _refused(name, path, failed)


def _failure(name: str, path: Path, *arguments: int) -> int:
    """Call ``swapon`` or ``swapoff``; return the error's number, 0 if there is none."""
    library = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if getattr(library, name)(os.fsencode(path), *arguments) else 0


def _refused(name: str, path: Path, number: int) -> ClockhandError:
    reason = os.strerror(number)
    return ClockhandError(
        f"{name} {path}: the kernel refuses ({reason})",
        "run as root, with " + option("swap") + " on ext4 or xfs",
    )


def kernel_settings() -> dict[str, str]:
    """Return the kernel's settings for swapping, as they were found."""
    found = {}
    for name, path in SETTINGS.items():
        with suppress(OSError):
            found[name] = path.read_text().strip()
    return found
