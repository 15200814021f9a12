"""Capture the committed traces again: every session of sessions.py, or those that are named.

    .venv/bin/python traces/capture.py [NAME...]

Each program runs under `clockhand trace capture`; it must have done its session's work, else
nothing is written. Programs with a window are used on a virtual screen (desktop.py). It takes
half an hour.
"""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from captured import CLOCKHAND, capture_named
from databases import as_ordinary_user
from desktop import Desktop, SessionError
from sessions import SESSIONS, Session

import clockhand

TRACES = Path(__file__).parent
SECOND_CACHE = ["--second-cache", "2MiB", "--second-ways", "16"]
"""A second level of today's size, for programs whose traces would be too long to commit."""
LONGEST = 1_500_000
"""Records of a committed trace; of a longer one these are taken from the middle on."""


def capture(session: Session) -> None:
    """Run one session and put its trace beside this file.

    Raises:
        SessionError: the program did not do what its session asked for.
    """
    run_session(session, SECOND_CACHE if session.is_large else [], keep)


def run_session(
    session: Session, second_cache: list[str], keep: Callable[[Session, Path], None]
) -> None:
    """Run one session behind a filter, and let ``keep`` take its trace from the session's folder.

    Raises:
        SessionError: the program did not do what its session asked for.
        FileNotFoundError: it, or what its input is made with, is not installed.
    """
    with tempfile.TemporaryDirectory(prefix=f"{session.name}-") as name:
        folder = Path(name)
        commands = session.prepare(folder)
        for command in commands:
            if shutil.which(command[0]) is None:
                raise FileNotFoundError(errno.ENOENT, "not installed", command[0])
        if session.serve is not None:
            (command,) = commands
            words = [*launcher(session, second_cache, "part-0.parquet"), *command]
            ask_server(session.serve, [*as_ordinary_user(), *words], folder)
        elif session.use is None:
            for number, command in enumerate(commands):
                environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
                run = [*launcher(session, second_cache, f"part-{number}.parquet"), *command]
                subprocess.run(run, cwd=folder, env=environment, check=True)
        else:
            with Desktop(folder) as desktop:
                desktop.environment()
                (command,) = commands
                desktop.start([*launcher(session, second_cache, "part-0.parquet"), *command])
                session.use(desktop)
                desktop.finish()
        session.check(folder)
        join_parts(session, folder)
        keep(session, folder)


def ask_server(serve: Callable[[Path], None], command: list[str], folder: Path) -> None:
    """Start a server in a folder, be its client, and wait for its end.

    Raises:
        SessionError: it fails.
    """
    (folder / "home").mkdir()
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(folder / "home")}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        serve(folder)
        code = server.wait()
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait()
    if code:
        said = (folder / "server.log").read_text(errors="replace").strip().splitlines()
        raise SessionError(f"the server ended with code {code}: {said[-1] if said else ''}")


def launcher(session: Session, second_cache: list[str], out: str) -> list[str]:
    """The words before a program's command line."""
    labels = ["--label", f"session={session.does}"]
    if session.equivalent_of is not None:
        labels += ["--label", f"equivalent of={session.equivalent_of} (CRAW, 2014)"]
    return [str(CLOCKHAND), "trace", "capture", "--out", out, *second_cache, *labels, "--"]


def join_parts(session: Session, folder: Path) -> None:
    """Join the parts of a session to one trace of one timeline."""
    parts = sorted(part.name for part in folder.glob("part-*.parquet"))
    whole = f"{session.name}.parquet"
    if len(parts) > 1:
        join = [CLOCKHAND, "trace", "convert", *parts, whole]
        subprocess.run(join, cwd=folder, check=True)
    else:
        (folder / parts[0]).rename(folder / whole)


def keep(session: Session, folder: Path) -> None:
    """Put a trace into place, its middle if it is long."""
    whole = f"{session.name}.parquet"
    records = clockhand.Trace(folder / whole).info()["records"]
    if records > LONGEST:
        take_middle(folder / whole, records, LONGEST, folder / "window.parquet")
        (folder / "window.parquet").rename(folder / whole)
    shutil.move(folder / whole, TRACES / whole)


def take_middle(whole: Path, records: int, limit: int, out: Path) -> None:
    """Write this many of a trace's records, from its middle on."""
    rule = f"{limit:,} records from the middle of {records:,} on"
    window = ["--skip", str(records // 2), "--limit", str(limit), "--label", f"window={rule}"]
    subprocess.run([CLOCKHAND, "trace", "convert", *window, whole, out], check=True)


if __name__ == "__main__":
    sys.exit(capture_named(SESSIONS, capture))
