"""An NBD server whose write buffer is the very code of ``ssd``."""

import os
import pwd
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.serving.course import Course, Sample
from clockhand.study.calls import in_python
from clockhand.study.columns import schema
from clockhand.study.errors import ClockhandError, UsageError, option
from clockhand.study.facts import equivalent_command
from clockhand.study.limits import check_range
from clockhand.study.records import Fields, Record
from clockhand.study.run import run_facts

SERVE_SCHEMA = schema("serve")
"""Names, order and types of the columns of the row."""

SECTOR_BYTES = 512
MOST_CONNECTIONS = 4096
FIRST_INHERITED = 3
"""The number of the first socket that systemd and its like pass on."""

Place = str | os.PathLike[str]


class BlockServer(ReportedRows):
    """A server that runs; as a context manager it ends with the block.

    From its end on it is a result like that of a study: :meth:`write_report` writes what clients
    asked, how long that took and what the buffer made of it.

    Attributes:
        uri: How clients name it.

        socket: Its Unix socket, if it has one.

        rows: One row with the columns of :data:`SERVE_SCHEMA`, from the end on.

        samples: Counts while it ran, with the columns of :data:`.course.SAMPLE_SCHEMA`, from the
            end on.

        notes: What it said, a sentence each: what was recovered, and what failed.

        facts: How the session was made, for a report.
    """

    leading = (
        "disk", "buffer", "references", "hit_ratio", "host_writes", "batches", "nvm_writes",
        "read_us_p99", "write_us_p99", "flush_us_p99",
    )  # fmt: skip

    def __init__(
        self,
        engine: _engine.BlockServer,
        socket: Path | None,
        folder: TemporaryDirectory[str] | None,
        facts: Fields,
    ) -> None:
        self.uri: str = engine.uri
        self.socket = socket
        self.rows = pl.DataFrame(schema=SERVE_SCHEMA)
        self.notes: list[str] = []
        self.facts = facts
        self._engine = engine
        self._folder = folder
        self._course = Course(engine)
        self.samples = self._course.table()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.finish()
        except ClockhandError:
            if error is None:
                raise

    def take_notes(self) -> list[str]:
        """Return what it said since this was last asked; ``notes`` keeps everything."""
        fresh: list[str] = self._engine.take_notes()
        self.notes += fresh
        return fresh

    def figures(self) -> tuple[Fields, Fields, list[Fields]] | None:
        """Return the row so far, what there is at this moment, and the times of requests."""
        figures: tuple[Fields, Fields, list[Fields]] | None = self._engine.figures(False)
        return figures

    @property
    def second(self) -> Sample | None:
        """The counts at the end of the last full second, and the times of its requests."""
        return self._course.second

    def hurry(self) -> None:
        """Leave pages in NVM where they are, if the end is under way."""
        self._engine.hurry()

    def finish(self) -> pl.DataFrame:
        """Answer what entered, bring every page to the disk, close, and return the row.

        Raises:
            ClockhandError: pages could not be written; the row is in ``rows`` all the same.
        """
        self._course.stop()
        ended = self._engine.finish()
        if ended is not None:
            row, failure = ended
            self.rows = pl.DataFrame([row], schema=SERVE_SCHEMA)
            self.samples = self._course.table(row)
            self.take_notes()
            if self._folder is not None:
                self._folder.cleanup()
            if failure is not None:
                raise ClockhandError(failure)
        return self.rows

    def finish_while(self, waits: Callable[[], object]) -> None:
        """Finish in a thread of its own, while this one calls ``waits`` and takes signals.

        Raises:
            ClockhandError: as :meth:`finish`.
        """
        failed: list[ClockhandError] = []

        def work() -> None:
            try:
                self.finish()
            except ClockhandError as error:
                failed.append(error)

        thread = threading.Thread(target=work, name="serve-ends")
        thread.start()
        while thread.is_alive():
            thread.join(0.1)
            waits()
        if failed:
            raise failed[0]

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.serving.report import specifications

        return specifications(self._ended(), self.samples)

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.serving.report import render

        return render(self._ended(), self.samples, self.facts)

    def _ended(self) -> pl.DataFrame:
        if self.rows.is_empty():
            raise UsageError("the server still runs", "its report can be written when it has ended")
        return self.rows


@in_python(renamed={"allow_user": "allow_users"})
def serve(
    disk: Place,
    *,
    buffer: str,
    size: str | int | None = None,
    nvm: Place | None = None,
    socket: Place | None = None,
    listen: str | None = None,
    private: bool | None = None,
    inherited: bool = False,
    export: str = "",
    read_only: bool = False,
    connections: int = 64,
    allow_users: Sequence[str] = (),
    tls_certificate: Place | None = None,
    tls_key: Place | None = None,
    tls_clients: Place | None = None,
    direct: bool = False,
    keep: bool = False,
    adopt: bool = False,
    salvage: bool = False,
    record: Place | None = None,
    made_by: str | None = None,
) -> BlockServer:
    """Serve a disk over NBD, behind a write buffer.

    Args:
        disk: A file or a block device. When the server has ended, it is a plain image.

        buffer: A write buffer with its size and parameters, such as
            ``"clock-dnv:total=64MiB"``. ``total`` is in pages or bytes with a unit.

        size: Bytes of the disk, such as ``"2GiB"``; a disk that is missing is made with them.

        nvm: The file that stands for the NVM of a buffer that has some; made if it is missing.

        socket: The Unix socket.

        listen: A TCP address instead, such as ``"127.0.0.1:10809"``.

        private: A socket in a private folder instead, as if nothing is given.

        inherited: Take the socket that the starting program passes on (``LISTEN_FDS``).

        export: The name that clients ask for; the empty name leads there as well.

        read_only: No file changes by a byte.

        connections: The most clients at a time.

        allow_users: Users who may connect beside this one and root.

        tls_certificate: The certificate of a server that demands TLS, in a PEM file.

        tls_key: Its key.

        tls_clients: The authority whose certificates clients must have.

        direct: Use the disk past the kernel's cache.

        keep: Leave pages in NVM at the end; the next server brings them to the disk.

        adopt: Take an NVM file with pages for a disk that does not name it.

        salvage: Start although pages in NVM are damaged; they are errors until written whole.

        record: Keep what enters the buffer as a trace, for :func:`run_ssd`.

        made_by: The command line for the facts; the equivalent one if not given.

    Returns:
        The server, which answers already. ``with clockhand.serve(...) as server`` ends it.

    Raises:
        UsageError: an option makes no sense.
        ClockhandError: the files were refused, or one failed; nothing listens then.
    """
    options = {
        "disk": os.fspath(disk),
        "size_bytes": None if size is None else _bytes(size),
        "nvm": _text(nvm),
        "buffer": buffer,
        "socket": _text(socket),
        "listen": listen,
        "private": None,
        "inherited": _inherited() if inherited else None,
        "export": export,
        "read_only": read_only,
        "connections": connections,
        "allowed_users": [_user(name) for name in allow_users],
        "tls_certificate": _text(tls_certificate),
        "tls_key": _text(tls_key),
        "tls_clients": _text(tls_clients),
        "direct": direct,
        "keep": keep,
        "adopt": adopt,
        "salvage": salvage,
        "record": _text(record),
    }
    check_range("connections", connections, 1, MOST_CONNECTIONS)
    folder: TemporaryDirectory[str] | None = None
    place = None if socket is None else Path(socket)
    if private or (private is None and socket is None and listen is None and not inherited):
        folder = TemporaryDirectory(prefix="clockhand-serve-")
        place = Path(folder.name, "disk.sock")
        options["private"] = os.fspath(place)
    engine = _engine.BlockServer.start(options)
    server = BlockServer(engine, place, folder, _facts(options, made_by))
    server.take_notes()
    return server


def _facts(options: Record, made_by: str | None) -> Fields:
    """Return how a session was made, with the options that were given."""
    given = {name: value for name, value in options.items() if value not in (None, False, [], "")}
    del given["connections"]
    words = {name: value for name, value in given.items() if name not in ("private", "inherited")}
    words = {"size" if name == "size_bytes" else name: value for name, value in words.items()}
    return run_facts(
        command=made_by or equivalent_command("serve", [], words),
        seed=None,
        options={**given, "connections": options["connections"]},
        traces=[],
        devices=[],
        policies=[],
        notes=[],
    )


def _text(place: Place | None) -> str | None:
    return None if place is None else os.fspath(place)


def _bytes(size: str | int) -> int:
    bytes_ = size if isinstance(size, int) else _engine.parse_bytes(size)
    if bytes_ is None or bytes_ <= 0 or bytes_ % SECTOR_BYTES:
        raise UsageError(
            option("size") + f" {size} is not a multiple of 512 bytes", "give one, such as 2GiB"
        )
    return bytes_


def _user(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise UsageError(
            option("allow-user") + f" {name!r}: there is no such user", "name another one"
        ) from None


def is_passed_a_socket() -> bool:
    """Tell whether the starting program passes on a socket (``LISTEN_FDS``)."""
    return os.environ.get("LISTEN_PID") == str(os.getpid()) and "LISTEN_FDS" in os.environ


def _inherited() -> int:
    if not is_passed_a_socket():
        raise UsageError(
            "LISTEN_FDS passes no socket on", "give " + option("socket") + " or " + option("listen")
        )
    count = os.environ["LISTEN_FDS"]
    if count != "1":
        raise UsageError(f"LISTEN_FDS passes {count} sockets on", "a server takes one")
    return FIRST_INHERITED
