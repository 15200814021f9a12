"""Marimo as it serves the page: on the loopback interface, to who has the token."""

import importlib.util
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from clockhand.study.errors import ClockhandError, option
from clockhand.study.records import Record

HOST = "127.0.0.1"
APP = Path(__file__).with_name("app.py")
PATIENCE_S = 60.0
GRACE_S = 2.0
TOKEN_BYTES = 24


def check_marimo() -> None:
    """Find out before the work that the page can be served.

    Raises:
        ClockhandError: marimo is not installed.
    """
    if importlib.util.find_spec("marimo") is None:
        raise ClockhandError(
            "the page needs marimo, which this Python lacks; run: pip install 'clockhand[notebook]'"
        )


@contextmanager
def served(
    place: str, reading: Record, port: int | None
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Serve the page of a trace or a dataset while the block runs; its address, and the server.

    Args:
        place: The trace or the dataset.
        reading: How a trace is read.
        port: The port; a free one if not given.

    Raises:
        ClockhandError: the server did not start.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    port = _free_port() if port is None else port
    # The token goes through a pipe: every user of the machine sees the words of a command.
    command = [
        sys.executable, "-m", "marimo", "--quiet", "--yes", "run", os.fspath(APP), "--headless",
        "--host", HOST, "--port", str(port), "--token", "--token-password-file", "-",
        "--no-sandbox", "--no-check",
        "--", "--of", place, "--reading", json.dumps(reading),
    ]  # fmt: skip
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env={**os.environ, "MARIMO_SKIP_UPDATE_CHECK": "1"},
        )
        try:
            assert process.stdin is not None
            process.stdin.write(token.encode())
            process.stdin.close()
            _await(process, port, said)
            yield f"http://{HOST}:{port}/?access_token={token}", process
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the server; it would wait for browsers that still show the page."""
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        port: int = found.getsockname()[1]
        return port


def _await(process: "subprocess.Popen[bytes]", port: int, said: IO[bytes]) -> None:
    """Wait until the server answers; of one that ends, tell the last that it said."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if process.poll() is not None:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            raise ClockhandError(
                f"marimo did not start: {lines[-1] if lines else 'it said nothing'}",
                "give another " + option("port") + ", or update it",
            )
        try:
            urllib.request.urlopen(f"http://{HOST}:{port}/", timeout=1).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise ClockhandError(f"marimo did not answer within {PATIENCE_S:.0f} s; try again")
