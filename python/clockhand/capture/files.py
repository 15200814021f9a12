"""Capture of files: a program runs as usual, and what it does to files becomes a trace of events.

The kernel stops the program and its children at the calls that matter and at no others; a tracer
writes them down, in the words of strace, and the reader of that format makes the trace.
"""

import json
import os
import platform
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from clockhand import _engine
from clockhand.capture.ending import SECONDS_TO_END, ended, held_back, signal_name
from clockhand.capture.place import folder_beside, trace_path
from clockhand.capture.programs import Program
from clockhand.study.calls import in_python
from clockhand.study.errors import ClockhandError, UsageError
from clockhand.study.progress import Watch
from clockhand.study.records import Fields

End = Literal["exit", "signal", "cut"]


@dataclass
class FileProcess:
    """One process of a capture of files.

    Attributes:
        number: Its number, which is that of its calls in the trace.

        command: The program that it ran last, and the arguments.

        end: ``"exit"``; ``"signal"`` if a signal ended it; ``"cut"`` if it outlived the command: it
            runs on, outside the trace.

        exit_code: Its exit code where it exited.

        signal: The signal that ended it.
    """

    number: int
    command: list[str]
    end: End = "cut"
    exit_code: int | None = None
    signal: int | None = None

    def said(self) -> str:
        """Return how it ended in words."""
        match self.end:
            case "exit":
                return f"exit code {self.exit_code}"
            case "signal":
                return f"ended by {signal_name(self.signal or 0)}"
            case "cut":
                return "cut, because it outlived the command"


@dataclass(frozen=True)
class FileCapture:
    """What a capture of files gave.

    Attributes:
        path: The trace.

        processes: The processes, the first to begin first.

        exit_code: That of the command; negative if a signal ended it.

        interrupted: Whether a signal asked the command to end.

        calls: Reading and writing calls, O_DIRECT ones not among them.

        notes: What was met while the calls were read, a sentence each.
    """

    path: Path
    processes: list[FileProcess]
    exit_code: int
    interrupted: bool
    calls: int
    notes: list[str]


@in_python()
def capture_files(
    command: Sequence[str],
    out: str | os.PathLike[str],
    *,
    labels: Iterable[tuple[str, str]] = (),
    made_by: str | None = None,
    watch: Watch | None = None,
) -> FileCapture:
    """Run a command to its end and write what it and its children do to files as a trace of events.

    Standard input and output are those of the caller. An interrupt ends the command, and what it
    did until then is kept.

    Args:
        command: The program and its arguments.

        out: The trace, whose name ends in ``.parquet``; it appears whole or not at all.

        labels: Pairs of key and value to keep with the trace.

        made_by: The command line for the labels; the equivalent one if not given.

        watch: Called now and then with the progress of the conversion.

    Raises:
        UsageError: the command cannot be found or captured.
        ClockhandError: the kernel refuses to let it be followed, or the trace cannot be written.
        OSError: there is no place for the trace.
    """
    path = trace_path(out)
    program = Program.find(command)
    check_followed(program)
    with folder_beside(path) as folder:
        log = folder / "calls.log"
        log.touch()
        run = FollowedRun()
        run.follow(program.command, log)
        exit_code = run.exit_code(program)
        words = ["clockhand", "trace", "capture", "--files", "--out", str(path), "--", *command]
        facts = {
            "made by": made_by or shlex.join(words),
            "command": shlex.join(command),
            "capture": f"calls on files, clockhand {_engine.__version__}",
            "ended": ended(exit_code, run.interrupted),
            **run.labels(),
        }
        source = _engine.TraceSource.file(str(log), {"trace_format": "strace"})
        converted = _engine.convert_trace(
            [source], path, [*facts.items(), *labels], to="parquet", watch=watch
        )
    (report,) = converted["traces"]
    processes = list(run.processes.values())
    return FileCapture(
        path, processes, exit_code, run.interrupted, report["requests"], report["notes"]
    )


def check_followed(program: Program) -> None:
    """Refuse programs that cannot be followed.

    Raises:
        UsageError: it is one of them.
    """
    machine = platform.machine()
    if program.is_privileged:
        raise UsageError(
            f"{program.path}: a program with a set-uid or set-gid bit cannot be captured",
            "copy it without the bit",
        )
    if program.machine != machine:
        raise UsageError(
            f"{program.path}: a program for {program.machine} cannot be followed on {machine}",
            "capture one for this machine",
        )


@dataclass
class FollowedRun:
    """A command that is followed, and what the tracer tells."""

    processes: dict[int, FileProcess] = field(default_factory=dict)
    interrupted: bool = False
    _error: str | None = None
    _rest: bytes = b""

    def follow(
        self,
        command: Sequence[str],
        log: Path,
        calls: Literal["stopped", "told"] = "stopped",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Run the command until it ends or gets a signal to end; processes that outlive it run on.

        Its calls are reported by the tool that it runs under, if the tool does so. The environment
        is added to ours.
        """
        news, writer = os.pipe()
        tracer = [sys.executable, "-P", "-m", "clockhand.capture.following"]
        with held_back() as early:
            # A signal between the start of the tracer and here would leave it running without us.
            process = subprocess.Popen(
                [*tracer, str(log), str(writer), calls, *command],
                pass_fds=[writer],
                env={**os.environ, **(environment or {})},
            )
        os.close(writer)
        deadline: float | None = None
        endings = iter((self._terminate, self._kill))
        try:
            while True:
                try:
                    if early:
                        early.clear()
                        raise KeyboardInterrupt
                    while not self._heard(news, deadline):
                        pass
                    return
                except (KeyboardInterrupt, TimeoutError):
                    self.interrupted = True
                    # The kernel ends with the tracer all that it follows.
                    next(endings, process.kill)()
                    deadline = time.monotonic() + SECONDS_TO_END
        finally:
            os.close(news)
            # It stays behind as long as something outlives the command.
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)

    def labels(self) -> dict[str, str]:
        """Return a label about each process."""
        return {
            f"process {process.number}": f"{shlex.join(process.command)}: {process.said()}"
            for process in self.processes.values()
        }

    def _terminate(self) -> None:
        self._send(signal.SIGTERM)

    def _kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        for first in list(self.processes)[:1]:
            with suppress(ProcessLookupError):
                os.kill(first, number)

    def _heard(self, news: int, deadline: float | None) -> bool:
        """Take in what the tracer tells next; whether that was all."""
        while b"\n" not in self._rest:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([news], [], [], left)[0]:
                raise TimeoutError
            part = os.read(news, 65536)
            if not part:
                return True
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return self._take(json.loads(line))

    def _take(self, news: Fields) -> bool:
        number = news.get("process", 0)
        match news:
            case {"done": _}:
                return True
            case {"error": error}:
                self._error = error
            case {"parent": parent}:
                self.processes[number] = FileProcess(number, self.processes[parent].command)
            case {"command": command}:
                self.processes.setdefault(number, FileProcess(number, command)).command = command
            case {"exit_code": int(code)}:
                self.processes[number].end, self.processes[number].exit_code = "exit", code
            case {"signal": int(ending)}:
                self.processes[number].end, self.processes[number].signal = "signal", ending
        return False

    def exit_code(self, program: Program) -> int:
        """Return the exit code of the command, as ``subprocess`` gives it.

        Raises:
            ClockhandError: it was not followed to its end.
        """
        if self._error is not None or not self.processes:
            reason = self._error or "the tracer ended at once"
            raise ClockhandError(
                f"{program.path}: its calls cannot be followed ({reason}); allow ptrace and "
                "seccomp, and make room for the trace"
            )
        process = next(iter(self.processes.values()))
        if not process.command:
            raise ClockhandError(
                f"{program.path}: it cannot be run (see above); run it alone to see why"
            )
        if process.end == "exit":
            return process.exit_code or 0
        return -(process.signal or signal.SIGKILL)
