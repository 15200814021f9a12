"""Owners of files and folders: code that runs with the user's rights must be the user's.

The owner of a folder can exchange everything below it. So can every user who may write to it,
unless its sticky bit is set. So all folders above count as well.
"""

import os
import stat
from pathlib import Path

from clockhand.study.errors import ClockhandError

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
USERS_OF_THIS_NAMESPACE = Path("/proc/self/uid_map")
NOBODY = Path("/proc/sys/kernel/overflowuid")
ALL_USERS = 2**32 - 1


def is_own(facts: os.stat_result) -> bool:
    """Tell whether only the user and root can write to what has these facts."""
    return facts.st_uid in (os.geteuid(), 0) and not facts.st_mode & WRITABLE_BY_OTHERS


def own_folder(folder: Path, what: str) -> Path:
    """Make a folder whose content no one else can exchange, and return its true path.

    Others lose the right to write to one that is the user's own.

    Args:
        folder: The folder; it is made if absent.
        what: What is kept there, for the sentence.

    Raises:
        ClockhandError: others own it or a folder above, or can write to one above.
        OSError: it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(os.path.realpath(folder))
    facts = folder.stat()
    if facts.st_uid == os.geteuid() and facts.st_mode & WRITABLE_BY_OTHERS:
        folder.chmod(stat.S_IMODE(facts.st_mode) & ~WRITABLE_BY_OTHERS)
    for place in (folder, *folder.parents):
        why = _why_not_own(place, is_above=place != folder)
        if why is not None:
            raise ClockhandError(
                f"{place} {why}, who could exchange {what} in {folder}; name a folder of your own "
                "with XDG_CACHE_HOME"
            )
    return folder


def foreign_entry(folder: Path) -> Path | None:
    """Return what in a folder, or the folder itself, others own or can write to; None if nothing.

    Links count as what they are: where they lead was chosen by their owner.
    """
    for place in (folder, *sorted(folder.rglob("*"))):
        facts = place.lstat()
        is_link = stat.S_ISLNK(facts.st_mode)
        if not (facts.st_uid in (os.geteuid(), 0) if is_link else is_own(facts)):
            return place
    return None


def take_from_others(place: Path) -> None:
    """Take the right to write to a file or a folder, and to all in it, from everybody else."""
    for entry in (place, *place.rglob("*")):
        if not entry.is_symlink():
            entry.chmod(stat.S_IMODE(entry.stat().st_mode) & ~WRITABLE_BY_OTHERS)


def _why_not_own(place: Path, *, is_above: bool) -> str | None:
    """Say who else can exchange what is in a folder."""
    facts = place.stat()
    if facts.st_uid not in (os.geteuid(), 0) and not (is_above and _is_beyond_us(facts.st_uid)):
        return "belongs to another user"
    if is_above and facts.st_mode & stat.S_ISVTX:
        return None
    others = facts.st_mode & WRITABLE_BY_OTHERS
    # A group of the user's own, which many systems give everybody, bears the user's number.
    if is_above and facts.st_gid == os.geteuid():
        others &= stat.S_IWOTH
    return "can be written to by others" if others else None


def _is_beyond_us(owner: int) -> bool:
    """Tell whether the owner of a folder above is a user that our namespace has no number for."""
    try:
        lines = USERS_OF_THIS_NAMESPACE.read_text().split("\n")
        users = sum(int(line.split()[2]) for line in lines if line)
        return users < ALL_USERS and owner == int(NOBODY.read_text())
    except (OSError, ValueError, IndexError):
        return False
