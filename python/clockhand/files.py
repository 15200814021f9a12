"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path


def publish(contents: Mapping[Path, bytes]) -> None:
    """Write every file beside its final name, and rename them only when all are on the disk.

    A link is followed, so that it stays a link; a device such as ``/dev/stdout`` is written to.

    Raises:
        OSError: a file could not be written. It names that file; nothing is left behind.
    """
    staged: list[tuple[Path, Path]] = []
    try:
        for path, content in contents.items():
            destination = Path(os.path.realpath(path))
            if destination.exists() and not destination.is_file() and not destination.is_dir():
                _write_through(destination, content)
                continue
            partial = destination.with_name(f".clockhand-{secrets.token_hex(8)}.partial")
            _write_new(partial, content, destination, staged)
        for partial, destination in staged:
            _rename(partial, destination)
    finally:
        for partial, _ in staged:
            partial.unlink(missing_ok=True)


def _write_new(
    partial: Path, content: bytes, destination: Path, staged: list[tuple[Path, Path]]
) -> None:
    try:
        with open(partial, "xb") as file:
            staged.append((partial, destination))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _about(destination, error) from error


def _rename(partial: Path, destination: Path) -> None:
    try:
        os.replace(partial, destination)
    except OSError as error:
        raise _about(destination, error) from error


def _write_through(destination: Path, content: bytes) -> None:
    try:
        with open(destination, "wb") as file:
            file.write(content)
    except OSError as error:
        raise _about(destination, error) from error


def _about(path: Path, error: OSError) -> OSError:
    """Return the same error about the file that the user named, not about our partial file."""
    return OSError(error.errno, error.strerror, str(path))
