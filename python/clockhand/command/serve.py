"""``clockhand serve``: a write buffer as a real block device, for every NBD client."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from clockhand.command.options import Out, OutputFormat, Report
from clockhand.command.output import check_outputs, deliver, write_files
from clockhand.command.saying import command_line, say, tell
from clockhand.command.tables import print_table
from clockhand.completion.values import values_of
from clockhand.serving.course import COUNTS, Sample
from clockhand.serving.metrics import metrics_served
from clockhand.serving.server import BlockServer, is_passed_a_socket, serve
from clockhand.study.errors import ClockhandError
from clockhand.study.facts import printable

Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- CMD...", help="A program that finds the disk in NBD_URI."),
]
Buffer = Annotated[
    str,
    typer.Option(
        metavar="NAME:total=SIZE[,p=v,...]",
        help="A write buffer. See: clockhand policies.",
        autocompletion=values_of("write_buffers"),
    ),
]
Disk = Annotated[Path, typer.Option(metavar="FILE", help="The disk: a file or a block device.")]
Size = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Make the disk with this size: 2GiB.")
]
Nvm = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The file that holds the NVM of clock-dnv and cbm."),
]
Socket = Annotated[Path | None, typer.Option(metavar="PATH", help="The Unix socket of clients.")]
Listen = Annotated[str | None, typer.Option(metavar="ADDRESS:PORT", help="A TCP address instead.")]
Export = Annotated[str, typer.Option(metavar="NAME", help="The name that clients ask for.")]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Refuse writes; no file changes.")]
Connections = Annotated[int, typer.Option(help="The most clients at a time.")]
AllowUser = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A user who may connect beside this one and root."),
]
TlsCertificate = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Demand TLS, with this certificate (PEM).")
]
TlsKey = Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate's key.")]
TlsClients = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The authority whose certificates clients must have."),
]
Direct = Annotated[bool, typer.Option("--direct", help="Use the disk past the kernel's cache.")]
Keep = Annotated[bool, typer.Option("--keep", help="Leave pages in NVM at the end.")]
Adopt = Annotated[
    bool, typer.Option("--adopt", help="Take an NVM file for a disk that does not name it.")
]
Salvage = Annotated[
    bool,
    typer.Option(
        "--salvage", help="Start although pages are damaged; they are errors until written whole."
    ),
]
LogOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE.parquet", help="Keep what enters the buffer as a trace for ssd."),
]
Live = Annotated[bool, typer.Option("--live", help="Show the server's state each second.")]
Metrics = Annotated[
    str | None,
    typer.Option(metavar="PATH|ADDRESS:PORT", help="Serve counts for Prometheus there."),
]

LOOK_SECONDS = 0.1
LIVE_HEAD_LINES = 20
SIGNALLED = 128


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="serve",
        epilog="serve --buffer fab:total=16MiB --disk disk.img --size 2GiB --socket disk.sock",
        context_settings={"allow_interspersed_args": False},
    )(_serve)


def _serve(
    buffer: Buffer,
    disk: Disk,
    command: Command = None,
    size: Size = None,
    nvm: Nvm = None,
    socket: Socket = None,
    listen: Listen = None,
    export: Export = "",
    read_only: ReadOnly = False,
    connections: Connections = 64,
    allow_user: AllowUser = None,
    tls_certificate: TlsCertificate = None,
    tls_key: TlsKey = None,
    tls_clients: TlsClients = None,
    direct: Direct = False,
    keep: Keep = False,
    adopt: Adopt = False,
    salvage: Salvage = False,
    record: LogOption = None,
    live: Live = False,
    metrics: Metrics = None,
    format: OutputFormat = None,
    out: Out = None,
    report: Report = None,
) -> None:
    """Serve a disk to NBD clients, behind a write buffer that clockhand ssd simulates.

    SIGTERM or Ctrl-C ends the server once every page is on the disk, which is a plain image then.
    With a program the server ends when the program does, with its exit code.
    """
    inherited = command is None and socket is None and listen is None and is_passed_a_socket()
    check_outputs(out, report, None, record)
    session = Session()
    with ExitStack() as stack:
        # Before anybody can connect: a signal that comes early ends it like one that comes late.
        stack.callback(session.restore)
        server = serve(
            disk,
            buffer=buffer,
            size=size,
            nvm=nvm,
            socket=socket,
            listen=listen,
            private=bool(command),
            inherited=inherited,
            export=export,
            read_only=read_only,
            connections=connections,
            allow_users=allow_user or [],
            tls_certificate=tls_certificate,
            tls_key=tls_key,
            tls_clients=tls_clients,
            direct=direct,
            keep=keep,
            adopt=adopt,
            salvage=salvage,
            record=record,
            made_by=command_line(),
        )
        exit_code, failure = session.of(server, live, metrics, command)
    if not server.rows.is_empty():
        files = server.report_files(report, None)
        if out is not None or not command:
            deliver(server.rows, format, out, lambda to: _print(server.rows, to), files)
        else:
            write_files(files)
    if failure is not None and not exit_code:
        raise failure
    if exit_code:
        # Not Typer's own way out: its 130 would read as Ctrl-C at our own work.
        sys.exit(exit_code)


class Session:
    """A server from its first moment to its end: signals, and the line that shows its state."""

    def __init__(self) -> None:
        self._server: BlockServer
        self._shown: LiveLines | None = None
        self._is_to_end = False
        self._is_ending = False
        self._program: subprocess.Popen[bytes] | None = None
        to_end = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        heard = [one for one in to_end if signal.getsignal(one) is not signal.SIG_IGN]
        self._before = {one: signal.signal(one, self._take) for one in heard}

    def of(
        self, server: BlockServer, live: bool, metrics: str | None, command: list[str] | None
    ) -> tuple[int, ClockhandError | None]:
        """Serve until a signal or a program ends it; the program's code, and what failed."""
        self._server = server
        self._shown = LiveLines(server) if live else None
        for note in server.notes:
            say(note)
        exit_code, failure = 0, None
        try:
            with metrics_served(server, metrics) as where:
                if where is not None:
                    say(f"metrics at {where}")
                if command:
                    exit_code = self._run(command)
                else:
                    disk = printable(server.facts["options"]["disk"])
                    say(f"serving {disk} at {printable(server.uri)}")
                    self._wait()
        finally:
            failure = self._end()
        return exit_code, failure

    def restore(self) -> None:
        """Handle signals as before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _: object) -> None:
        if self._is_ending:
            self._server.hurry()
        elif self._program is not None:
            if number != signal.SIGINT:  # Ctrl-C reaches it from the terminal.
                self._program.send_signal(number)
        else:
            self._is_to_end = True

    def _look(self) -> None:
        for note in self._server.take_notes():
            tell(f"clockhand: {note}")
        if self._shown is not None:
            self._shown.show()

    def _wait(self) -> None:
        """Wait for a signal."""
        while not self._is_to_end:
            time.sleep(LOOK_SECONDS)
            self._look()

    def _run(self, command: list[str]) -> int:
        """Run a program that finds the disk in its environment; its exit code, as a shell's.

        The shell that started us has no NBD_URI: its "$NBD_URI" is an empty argument, which stands
        for the address, as '$NBD_URI' does.
        """
        environment = {
            **os.environ,
            "NBD_URI": self._server.uri,
            "NBD_SOCKET": str(self._server.socket),
        }
        try:
            address = dict.fromkeys(("", "$NBD_URI"), self._server.uri)
            arguments = [address.get(word, word) for word in command]
            self._program = subprocess.Popen(arguments, env=environment)
        except OSError as error:
            raise ClockhandError(f"{command[0]}: {error.strerror}; it was not started") from None
        if self._is_to_end:
            self._program.terminate()
        while True:
            try:
                code = self._program.wait(LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                self._look()
                continue
            self._program = None
            return code if code >= 0 else SIGNALLED - code

    def _end(self) -> ClockhandError | None:
        """Bring every page to the disk; why that failed, if it did."""
        self._is_ending = True
        try:
            self._server.finish_while(self._tell)
        except ClockhandError as error:
            return error
        finally:
            self._tell()
        return None

    def _tell(self) -> None:
        for note in self._server.take_notes():
            tell(f"clockhand: {note}")


def _print(rows: pl.DataFrame, to: Console) -> None:
    """Print what people look for; files have every column."""
    row = rows.row(0, named=True)
    shown = {
        "hits %": [100 * row["hit_ratio"]],
        "reads": [row["read_requests"]],
        "writes": [row["write_requests"]],
        "flushes": [row["flushes"]],
        "to disk": [row["host_writes"]],
        "batches": [row["batches"]],
        "NVM writes": [row["nvm_writes"]],
        "left dirty": [row["residual_dirty"]],
        "read p99 µs": [row["read_us_p99"]],
        "write p99 µs": [row["write_us_p99"]],
        "flush p99 µs": [row["flush_us_p99"]],
        "errors": [row["errors"]],
    }
    title = f"{printable(row['disk'])} behind {row['buffer_resolved']}, {row['seconds']:.1f} s"
    print_table(title, shown, to)


class LiveLines:
    """A line each second of what a server did in it, on standard error."""

    def __init__(self, server: BlockServer) -> None:
        self._server = server
        self._before: Sample = dict.fromkeys(("seconds", *COUNTS), 0)
        self._lines = 0

    def show(self, line: Callable[[str], None] = tell) -> None:
        """Show a line if a second has passed."""
        second = self._server.second
        if second is None or second["seconds"] == self._before["seconds"]:
            return
        shown = _live_values(second, self._before)
        self._before = second
        if self._lines % LIVE_HEAD_LINES == 0:
            line("  ".join(shown))
        self._lines += 1
        line("  ".join(f"{text:>{len(name)}}" for name, text in shown.items()))


def _live_values(second: Sample, before: Sample) -> dict[str, str]:
    passed = second["seconds"] - before["seconds"]

    def grown(name: str) -> int:
        value: int = second[name] - before[name]
        return value

    def share(part: float, whole: float, digits: int = 1) -> str:
        return f"{part / whole:.{digits}f}" if whole else "–"

    def time_us(name: str) -> str:
        value = second[name]
        return "–" if value is None else f"{value:.0f}"

    return {
        "reads/s": f"{grown('read_requests') / passed:.0f}",
        "writes/s": f"{grown('write_requests') / passed:.0f}",
        "flushes/s": f"{grown('flushes') / passed:.0f}",
        "read MiB/s": f"{grown('read_bytes') / passed / 2**20:.1f}",
        "written MiB/s": f"{grown('written_bytes') / passed / 2**20:.1f}",
        "hits %": share(100 * (grown("read_hits") + grown("write_hits")), grown("references")),
        "dirty": str(second["dirty_pages"]),
        "NVM %": share(100 * second["nvm_pages_used"], second["nvm_pages"], 0),
        "to disk/s": f"{grown('host_writes') / passed:.0f}",
        "pages per batch": share(grown("host_writes"), grown("batches")),
        "held": str(second["held_pages"]),
        "write p99 µs": time_us("write_us_p99"),
        "flush p99 µs": time_us("flush_us_p99"),
    }
