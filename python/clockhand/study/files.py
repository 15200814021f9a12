"""Files that appear whole or not at all.

There is one way to write an output: beside its place, under a name of ours and locked, onto the
disk, and then by a rename to its place. Links are followed, devices and pipes written to. The next
run at that place recognises files of a killed run by their free lock and removes them. The engine
writes traces in the same way (crates/trace/src/write/unfinished.rs).
"""

import errno
import fcntl
import glob
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from clockhand.study.errors import ClockhandError, UsageError

PARTIAL_PATTERN = ".clockhand-*.partial"
"""The names of files that are being written; a killed process leaves its own behind."""

LEFTOVERS = (PARTIAL_PATTERN, ".clockhand-*.unfinished", ".clockhand-capture-*")
"""The same, with those of traces, and the folders of captures that hold a lock."""

LOCK = "lock"
"""The file in a folder of ours that is locked as long as the folder is in use."""


LONGEST_NAME_BYTES = 255

Content = bytes | Callable[[BinaryIO], object]
"""A file's content, or its writer: large tables need not be in memory as bytes too."""


def cache_folder() -> Path:
    """Return the folder for what can be made again, ``clockhand`` in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clockhand"


def refuse_overwriting(
    outputs: Mapping[str, Path], inputs: Iterable[str | os.PathLike[str]]
) -> None:
    """Refuse outputs that are one file with an input or with each other, whatever their names.

    Args:
        outputs: What is written, by the option that names it.
        inputs: What is read; names of other things than files do not matter.

    Raises:
        UsageError: two are one file, by device and inode.
    """
    read: dict[tuple[int, int], str] = {}
    for name in inputs:
        identity = _identity(Path(name))
        if identity is not None:
            read.setdefault(identity, os.fspath(name))
    written: dict[object, str] = {}
    for option, path in outputs.items():
        identity = _identity(path)
        if identity is not None and identity in read:
            raise UsageError(
                f"{option} {path} is a file that is read here ({read[identity]}), and would be "
                "lost",
                "give another name",
            )
        if _is_device_or_pipe(path):
            continue
        place = os.path.realpath(path) if identity is None else identity
        if place in written:
            raise UsageError(
                f"{option} and {written[place]} both name {path}", "give them different names"
            )
        written[place] = option


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None where there is none, or no regular one."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return None
    return (facts.st_dev, facts.st_ino) if stat.S_ISREG(facts.st_mode) else None


def plain(path: str, flags: int) -> int:
    """Open a regular file, as an ``opener`` of `open`: a pipe is refused, not waited for.

    Raises:
        ClockhandError: it is a pipe, a device or a socket.
        OSError: it cannot be opened.
    """
    refusal = ClockhandError(f"{path} is a pipe or a device, where a file is needed; remove it")
    with suppress(FileNotFoundError):
        kind = os.stat(path).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise refusal
    file = os.open(path, flags | os.O_NONBLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise refusal
    return file


def remove_leftovers(folder: Path) -> None:
    """Remove what killed runs of ours left half-written in a folder; what is in use is locked."""
    for pattern in LEFTOVERS:
        for leftover in folder.glob(pattern):
            with suppress(OSError):
                _remove_unless_locked(leftover)


@contextmanager
def in_use(folder: tempfile.TemporaryDirectory[str]) -> Iterator[str]:
    """Keep others from taking a folder for a leftover, until it is removed."""
    with folder as name, open(Path(name) / LOCK, "wb") as lock:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield name


def _remove_unless_locked(leftover: Path) -> None:
    facts = leftover.lstat()
    if facts.st_uid != os.geteuid():
        return
    if stat.S_ISDIR(facts.st_mode):
        locked = leftover / LOCK
    elif stat.S_ISREG(facts.st_mode):
        locked = leftover
    else:
        return
    file = os.open(locked, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if locked is leftover:
            leftover.unlink()
        else:
            shutil.rmtree(leftover)
    finally:
        os.close(file)


def check_places(files: Iterable[Path], *, folder: Path | None = None) -> None:
    """Find out before hours of work that their result could not be written.

    Half-written files of killed runs beside the places are removed.

    Args:
        files: The files that will be published.
        folder: A folder for more of them, made if absent.

    Raises:
        OSError: a file's folder is missing or protected, a folder stands in the place of a file,
            or a file in that of the folder. It names the place.
    """
    for path in files:
        place = Path(os.path.realpath(path))
        if place.is_dir():
            raise _refusal(errno.EISDIR, path)
        if len(os.fsencode(place.name)) > LONGEST_NAME_BYTES:
            raise _refusal(errno.ENAMETOOLONG, path)
        if not place.exists() and not place.parent.is_dir():
            raise _refusal(errno.ENOENT, path)
        if not os.access(place if place.exists() else place.parent, os.W_OK):
            raise _refusal(errno.EACCES, path)
        if not _is_device_or_pipe(place):
            remove_leftovers(place.parent)
    if folder is not None and folder.is_dir():
        remove_leftovers(folder)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise _refusal(errno.ENOTDIR, folder)


def matching_files(pattern: str) -> list[str]:
    """Return the files that a pattern such as ``traces/*.parquet`` fits, in order.

    The folders at its begin that exist are themselves, whatever characters their names have.
    """
    known: list[str] = []
    wanted = pattern.split("/")
    while len(wanted) > 1 and os.path.isdir("/".join([*known, wanted[0]]) or "/"):
        known.append(wanted.pop(0))
    escaped = [glob.escape(folder) for folder in known]
    return sorted(glob.glob("/".join([*escaped, *wanted]), recursive=True))


def publish(contents: Mapping[Path, Content], *folders: Path) -> None:
    """Write every file beside its final name, and rename them only when all are on the disk.

    A link is followed, so that it stays a link; a device or a pipe such as ``/dev/stdout`` is
    written to.

    Args:
        contents: What each file is to hold, or what writes it.
        folders: Folders that some of them stand in; made if absent.

    Raises:
        OSError: a file could not be written. It names that file; nothing is left behind.
    """
    made: list[Path] = []
    with ExitStack() as staged:
        # The last one entered is left first: files go before the folders that they stand in.
        staged.callback(_remove_empty, made)
        for folder in folders:
            _make(folder, made)
        devices = [path for path in contents if _is_device_or_pipe(path)]
        files = [path for path in contents if path not in devices]
        partials = [(_stage(path, contents[path], staged), path) for path in files]
        for path in devices:
            _write_through(path, contents[path])
        for partial, path in partials:
            _rename(partial, path)
        made.clear()


@contextmanager
def streamed(path: Path) -> Iterator[BinaryIO]:
    """Give a file beside its place, which takes the place once the block has ended well.

    Raises:
        OSError: the file could not be written. It names the place; nothing is left behind.
    """
    partial = path.with_name(PARTIAL_PATTERN.replace("*", os.urandom(8).hex()))
    with ExitStack() as staged:
        try:
            file = staged.enter_context(_new_and_locked(partial))
        except OSError as error:
            raise _about(path, error) from error
        staged.callback(partial.unlink, missing_ok=True)
        yield file
        try:
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            raise _about(path, error) from error
        _rename(partial, path)


def _remove_empty(folders: list[Path]) -> None:
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


def _make(folder: Path, made: list[Path]) -> None:
    for ancestor in [*reversed(folder.parents), folder]:
        if not ancestor.is_dir():
            ancestor.mkdir()
            made.append(ancestor)


def _is_device_or_pipe(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _write(file: BinaryIO, content: Content) -> None:
    if isinstance(content, bytes):
        file.write(content)
    else:
        content(file)


def _stage(path: Path, content: Content, staged: ExitStack) -> Path:
    """Write a file beside its place; it is locked, and removed if it is still there at the end."""
    destination = Path(os.path.realpath(path))
    partial = destination.with_name(PARTIAL_PATTERN.replace("*", os.urandom(8).hex()))
    try:
        file = staged.enter_context(_new_and_locked(partial))
        staged.callback(partial.unlink, missing_ok=True)
        _write(file, content)
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise _about(path, error) from error
    return partial


def _new_and_locked(partial: Path) -> BinaryIO:
    """Make a file; who removed it as a leftover before it was locked finds another one."""
    while True:
        file = open(partial, "xb")  # noqa: SIM115 - The caller's stack closes it.
        with suppress(OSError):  # Some file systems have no locks, and no leftovers for anyone.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_nlink > 0:
            return file
        file.close()


def _rename(partial: Path, path: Path) -> None:
    try:
        os.replace(partial, os.path.realpath(path))
    except OSError as error:
        raise _about(path, error) from error


def _write_through(path: Path, content: Content) -> None:
    try:
        with open(path, "wb") as file:
            _write(file, content)
    except OSError as error:
        raise _about(path, error) from error


def _refusal(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


def _about(path: Path, error: OSError) -> OSError:
    """Return the same error about the file that the user named, not about our partial file."""
    return OSError(error.errno, error.strerror, str(path))
