"""Where a capture goes: a trace that appears whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clockhand.study.errors import UsageError
from clockhand.study.files import check_places, in_use


def trace_path(out: str | os.PathLike[str]) -> Path:
    """Return the path of a capture.

    Raises:
        UsageError: its name does not end in ``.parquet``.
    """
    path = Path(out)
    if path.suffix != ".parquet":
        raise UsageError(f"{out}: a capture is written as Parquet", "end its name in .parquet")
    return path


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Give a folder beside the trace for what is captured, until it is written.

    Raises:
        OSError: there is no place for the trace.
    """
    check_places([path])
    place = Path(os.path.realpath(path))
    with in_use(
        tempfile.TemporaryDirectory(prefix=".clockhand-capture-", dir=place.parent)
    ) as folder:
        yield Path(folder)
