"""Many commands in little time: one process loads the libraries and forks a child for each.

Started as a program it reads a list of cases as JSON from standard input and writes what became of
each. :func:`run_many` starts it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST_SECONDS = 60
JOBS = 2


@dataclass(frozen=True)
class Done:
    """What became of a command.

    Attributes:
        code: The exit code, or the signal below 0.
        out: What it wrote to standard output, the first kilobytes.
        err: The same of standard error.
        peak_bytes: The most memory that it had.
        seconds: How long it took.
    """

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    peak_bytes: int
    seconds: float


def run_many(
    cases: Sequence[Sequence[str]],
    cwd: Path,
    python: str | os.PathLike[str] = sys.executable,
    *,
    folders: Sequence[Path] = (),
) -> list[Done]:
    """Run commands, given without the name of the executable; in any order.

    Args:
        cases: Their words.
        cwd: The folder that they run in.
        python: The package is the one that is installed for this Python.
        folders: A folder for each command instead.
    """
    places = [str(folder) for folder in folders] or [str(cwd)] * len(cases)
    given = json.dumps([[place, *case] for place, case in zip(places, cases, strict=True)])
    done = subprocess.run(
        [python, __file__], input=given.encode(), cwd=cwd, capture_output=True,
        timeout=30 + LONGEST_SECONDS * len(cases),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return [
        Done(tuple(case), *result)
        for case, result in zip(cases, json.loads(done.stdout), strict=True)
    ]


def main() -> None:
    """Run the cases of standard input."""
    cases = json.loads(sys.stdin.buffer.read())
    from clockhand import command

    command.app()  # All that commands need is loaded now.
    running: dict[int, tuple[int, float, Any, Any]] = {}
    results: dict[int, list[Any]] = {}
    for number, case in enumerate(cases):
        if len(running) == JOBS:
            _collect(running, results)
        streams = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115
        process = os.fork()
        if process == 0:
            place, *words = case
            os.chdir(place)
            _run(command, words, *(stream.fileno() for stream in streams))
        running[process] = (number, time.monotonic(), *streams)
    while running:
        _collect(running, results)
    print(json.dumps([results[number] for number in range(len(cases))]))


def _run(command: Any, case: list[str], out: int, err: int) -> None:
    """Run one command in this process, which ends with it."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_SECONDS, LONGEST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.argv = ["clockhand", *case]
    try:
        code = command.run()
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stderr.flush()
    os._exit(code)


def _collect(
    running: dict[int, tuple[int, float, Any, Any]], results: dict[int, list[Any]]
) -> None:
    process, status, usage = os.wait3(0)
    number, began, *streams = running.pop(process)
    texts = []
    for stream in streams:
        stream.seek(0)
        texts.append(stream.read(20_000).decode(errors="replace"))
    code = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    results[number] = [code, *texts, usage.ru_maxrss * 1024, seconds]


def assert_told(done: Done) -> None:
    """Exit code 0, 1 or 2; a failure is one sentence, never a traceback."""
    assert done.code in (0, 1, 2), done
    for word in ("Traceback", "panicked", "Errno", "object at 0x"):
        assert word not in done.err, done
    if done.code:
        last = done.err.rstrip("\n").rpartition("\n")[2]
        assert last.startswith("clockhand: ") and len(last) > len("clockhand: x"), done
        assert done.err.count("\nclockhand: ") + done.err.startswith("clockhand: ") == 1, done


if __name__ == "__main__":
    main()
