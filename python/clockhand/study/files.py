"""Files that appear whole or not at all."""

import errno
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

PARTIAL_PATTERN = ".clockhand-*.partial"
"""The names of files that are being written, of which a killed process leaves its own behind."""


def check_places(files: Iterable[Path], *, folder: Path | None = None) -> None:
    """Find out before hours of work that their result could not be written.

    Args:
        files: The files that will be published.
        folder: A folder for more of them, made if absent.

    Raises:
        OSError: a file's folder is missing or protected, a folder stands in the place of a file,
            or a file in that of the folder. It names the place.
    """
    for path in files:
        if path.is_dir():
            raise _refusal(errno.EISDIR, path)
        if not path.exists() and not path.parent.is_dir():
            raise _refusal(errno.ENOENT, path)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise _refusal(errno.EACCES, path)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise _refusal(errno.ENOTDIR, folder)


def publish(contents: Mapping[Path, bytes], *, folder: Path | None = None) -> None:
    """Write every file beside its final name, and rename them only when all are on the disk.

    A link is followed, so that it stays a link; a device or a pipe such as ``/dev/stdout`` is
    written to.

    Args:
        contents: What each file is to hold.
        folder: A folder that some of them stand in; made if absent.

    Raises:
        OSError: a file could not be written. It names that file; nothing is left behind.
    """
    made: list[Path] = []
    staged: list[tuple[Path, Path]] = []
    try:
        if folder is not None:
            _make(folder, made)
        devices = [path for path in contents if _is_device_or_pipe(path)]
        for path, content in contents.items():
            if path not in devices:
                _stage(path, content, staged)
        for path in devices:
            _write_through(path, contents[path])
        for partial, path in staged:
            _rename(partial, path)
        made.clear()
    finally:
        for partial, _ in staged:
            partial.unlink(missing_ok=True)
        for emptied in reversed(made):
            with suppress(OSError):
                emptied.rmdir()


def _make(folder: Path, made: list[Path]) -> None:
    for ancestor in [*reversed(folder.parents), folder]:
        if not ancestor.is_dir():
            ancestor.mkdir()
            made.append(ancestor)


def _is_device_or_pipe(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _stage(path: Path, content: bytes, staged: list[tuple[Path, Path]]) -> None:
    destination = Path(os.path.realpath(path))
    partial = destination.with_name(PARTIAL_PATTERN.replace("*", secrets.token_hex(8)))
    try:
        with open(partial, "xb") as file:
            staged.append((partial, path))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _about(path, error) from error


def _rename(partial: Path, path: Path) -> None:
    try:
        os.replace(partial, os.path.realpath(path))
    except OSError as error:
        raise _about(path, error) from error


def _write_through(path: Path, content: bytes) -> None:
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise _about(path, error) from error


def _refusal(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


def _about(path: Path, error: OSError) -> OSError:
    """Return the same error about the file that the user named, not about our partial file."""
    return OSError(error.errno, error.strerror, str(path))
