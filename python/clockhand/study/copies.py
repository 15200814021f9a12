"""Copies of files at addresses, in a folder of the user's own: kept while in use, and not too many.

A copy is locked while it is in use, and the copies that were used longest ago leave when there are
too many.
"""

import fcntl
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clockhand import _engine
from clockhand.study.errors import ClockhandError, UsageError
from clockhand.study.files import cache_folder, remove_leftovers

CACHE_LIMIT = "CLOCKHAND_CACHE_LIMIT"
"""The environment variable that says how much the copies may take together."""

DEFAULT_LIMIT_BYTES = 32 * 2**30
SPARE_BYTES = 64 * 2**20
"""What a download leaves free on the disk at least."""

MOST_HELD = 256
"""Copies that a process keeps in use at most; those that it asked for longest ago are let go."""


def private_folder(name: str) -> Path:
    """Return a folder in the user's cache that no one else can look into; it is made if absent.

    Raises:
        ClockhandError: it cannot be made, or belongs to someone else.
    """
    folder = cache_folder() / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
            raise ClockhandError(
                f"{folder} is not a folder of yours; remove it, or name another one with "
                "XDG_CACHE_HOME"
            )
        if facts.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise ClockhandError(
            f"{folder}: copies cannot be kept there ({error.strerror}); make the folder writable, "
            "or name another one with XDG_CACHE_HOME"
        ) from error
    return folder


PROCESS = threading.Lock()
HELD: dict[Path, int] = {}


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Let one process at a time download a file; the others find it then."""
    with open(lock, "a") as file:
        with suppress(OSError):  # Some file systems have no locks: then several download it.
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def hold(place: Path, size: int | None) -> bool:
    """Keep a copy from being removed as long as this process uses it; whether there is one."""
    if size is None and place not in HELD:
        return False  # Nothing tells whether it is still the same.
    try:
        if size is not None and place.stat().st_size != size:
            return False
        os.utime(place)
        file = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    if os.fstat(file).st_nlink == 0:
        os.close(file)
        return False
    release(place)
    HELD[place] = file
    while len(HELD) > MOST_HELD:
        release(next(iter(HELD)))
    return True


def release(place: Path) -> None:
    if place in HELD:
        os.close(HELD.pop(place))


def remove_unused(entry: Path) -> None:
    """Remove a copy, unless a process uses it."""
    if not entry.is_dir():
        return
    remove_leftovers(entry)
    for copy in entry.iterdir():
        with suppress(OSError), open(copy, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            copy.unlink()
    with suppress(OSError):
        entry.rmdir()


def _limit_bytes() -> int:
    text = os.environ.get(CACHE_LIMIT)
    if text is None:
        return DEFAULT_LIMIT_BYTES
    limit = _engine.parse_bytes(text)
    if limit is None:
        raise UsageError(f"{CACHE_LIMIT}={text!r} is not a size", "give one such as 64GiB")
    return limit


def make_room(
    folder: Path, address: str, wanted_bytes: int, unfinished: Path | None = None
) -> None:
    """Remove the copies that were used longest ago, until there is room for another one.

    Args:
        folder: The folder of the copies.
        address: What is to be copied.
        wanted_bytes: How much it has, or has at least.
        unfinished: The folder of its copy, if that is being written.

    Raises:
        ClockhandError: there is none.
    """
    limit_bytes = _limit_bytes()
    entries = [entry for entry in folder.glob("*-*") if entry.is_dir() and entry != unfinished]
    facts = [(copy.stat(), copy) for entry in entries for copy in entry.iterdir()]
    taken_bytes = sum(fact.st_size for fact, _ in facts)
    written_bytes = _bytes_in(unfinished)
    still_bytes = max(0, wanted_bytes - written_bytes)
    for fact, copy in sorted(facts, key=lambda one: one[0].st_mtime):
        free_bytes = shutil.disk_usage(folder).free - SPARE_BYTES
        if taken_bytes + wanted_bytes <= limit_bytes and still_bytes <= free_bytes:
            return
        remove_unused(copy.parent)
        taken_bytes -= 0 if copy.exists() else fact.st_size
    at_least = "" if unfinished is None else "at least "
    wanted = f"{address} has {at_least}{wanted_bytes / 2**20:,.0f} MiB"
    if taken_bytes + wanted_bytes > limit_bytes:
        raise ClockhandError(
            f"{wanted}, and the copies in {folder} may take {limit_bytes / 2**20:,.0f} MiB, of "
            f"which {taken_bytes / 2**20:,.0f} are in use; set {CACHE_LIMIT} to more"
        )
    free_bytes = shutil.disk_usage(folder).free
    if still_bytes > free_bytes - SPARE_BYTES:
        raise ClockhandError(
            f"{wanted}, and the disk of {folder} has {free_bytes / 2**20:,.0f} MiB left; free "
            "some, or name a folder on another one with XDG_CACHE_HOME"
        )


def _bytes_in(unfinished: Path | None) -> int:
    if unfinished is None:
        return 0
    return sum(file.stat().st_size for file in unfinished.iterdir())
