"""Standard input that several runs read from its start, and output that is shown once."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

CHUNK_BYTES = 1 << 20


class RepeatedInput:
    """Standard input that every run reads from where it stood when we were started."""

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = file
        self._start = 0 if file is None else file.tell()

    def again(self) -> IO[bytes] | None:
        """Return it as it was; none if a program is to share ours."""
        if self._file is not None:
            self._file.seek(self._start)
        return self._file


@contextmanager
def standard_input() -> Iterator[RepeatedInput]:
    """Give what every run reads: a copy where ours can be read only once."""
    try:
        kind = os.fstat(0).st_mode
    except OSError:
        # It is closed, and stays so for the program.
        yield RepeatedInput()
        return
    if stat.S_ISCHR(kind):
        yield RepeatedInput()
    elif stat.S_ISREG(kind):
        with open(0, "rb", buffering=0, closefd=False) as own:
            yield RepeatedInput(own)
    else:
        with tempfile.TemporaryFile(prefix="clockhand-input-", buffering=0) as copy:
            while chunk := os.read(0, CHUNK_BYTES):
                copy.write(chunk)
            copy.seek(0)
            yield RepeatedInput(copy)


class Output:
    """Takes what a program writes: digests it, and passes it on in the first run."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._digest = hashlib.sha256()
        self._error: OSError | None = None

    def take(self, pipe: IO[bytes]) -> None:
        """Read to the end; if ours cannot be written, the program finds its own closed."""
        with pipe:
            while chunk := os.read(pipe.fileno(), CHUNK_BYTES):
                self._digest.update(chunk)
                try:
                    while self._is_shown and chunk:
                        chunk = chunk[os.write(1, chunk) :]
                except OSError as error:
                    self._error = error
                    return

    def sha256(self) -> str:
        """Return the digest of all.

        Raises:
            OSError: our standard output could not be written.
        """
        if self._error is not None:
            raise self._error
        return self._digest.hexdigest()
