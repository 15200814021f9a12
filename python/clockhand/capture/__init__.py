"""Capture: a program runs as usual, and its memory references become a trace.

The program runs under Valgrind or QEMU with a tool of our own (the C sources are beside this file),
which filters its accesses through a model of the processor's caches and writes what misses. The
tool is a separate program; it is built on first use and talks to us through files. Calls on files
are captured in another way (:mod:`clockhand.capture.files`).
"""

import os
import shlex
import signal
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from clockhand import _engine
from clockhand.capture.caches import Caches
from clockhand.capture.ending import SECONDS_TO_END, ended, held_back
from clockhand.capture.files import FileCapture, FileProcess, capture_files
from clockhand.capture.front_ends import FrontEnd, Run, find_front_end
from clockhand.capture.place import folder_beside, trace_path
from clockhand.capture.programs import Program
from clockhand.capture.timeline import TimelineCapture, capture_timeline
from clockhand.study.calls import in_python
from clockhand.study.errors import ClockhandError
from clockhand.study.progress import Watch
from clockhand.study.records import Fields

__all__ = [
    "Caches",
    "Capture",
    "FileCapture",
    "FileProcess",
    "Process",
    "TimelineCapture",
    "capture",
    "capture_files",
    "capture_timeline",
]


@dataclass(frozen=True)
class Process:
    """One process of a capture, which is one stream of its trace.

    Attributes:
        command: The program and its arguments.

        end: ``"exit"``; ``"signal"`` if a signal ended it; ``"exec"`` if it became another program,
            whose references are a stream of their own. Or ``"cut"`` if it was killed at once, or
            still ran when the command had ended.

        exit_code: Its exit code where it exited.

        records: Records by class: ``I`` instruction fetches, ``R`` load misses, ``A`` store-miss
            fills, ``W`` write-backs.
    """

    command: list[str]
    end: str
    exit_code: int | None
    records: dict[str, int]


@dataclass(frozen=True)
class Capture:
    """What a capture gave.

    Attributes:
        path: The trace.

        processes: Its processes, the first to begin first; the index is the stream.

        exit_code: That of the command; negative if a signal ended it.

        interrupted: Whether a signal asked the command to end.

        caches: The caches in words.
    """

    path: Path
    processes: list[Process]
    exit_code: int
    interrupted: bool
    caches: str

    def records(self) -> dict[str, int]:
        """Return the records of all processes by class."""
        return {
            letter: sum(process.records[letter] for process in self.processes) for letter in "IRAW"
        }


@in_python()
def capture(
    command: Sequence[str],
    out: str | os.PathLike[str],
    *,
    front_end: str | None = None,
    caches: Caches | None = None,
    children: bool = True,
    system_call_memory: bool | None = None,
    labels: Iterable[tuple[str, str]] = (),
    made_by: str | None = None,
    watch: Watch | None = None,
) -> Capture:
    """Run a command to its end and write its memory references as a trace.

    Standard input and output are those of the caller. An interrupt ends the command, and what it
    did until then is kept.

    Args:
        command: The program and its arguments.

        out: The trace, whose name ends in ``.parquet``; it appears whole or not at all.

        front_end: ``"valgrind"`` for x86-64 programs, or ``"qemu"`` for x86-64, arm and aarch64;
            by the kind of the program if not given.

        caches: The caches that references must miss to be part of the trace.

        children: Whether the processes that the program starts are captured too; QEMU follows
            forks but no other programs.

        system_call_memory: Whether memory that the kernel reads and writes for the program counts;
            it does under Valgrind if not given, and cannot under QEMU.

        labels: Pairs of key and value to keep with the trace.

        made_by: The command line for the labels; the equivalent one if not given.

        watch: Called now and then with the progress of the conversion.

    Raises:
        UsageError: the command cannot be found or captured, or an option does not fit it.
        ClockhandError: a tool is missing or failed, or the trace cannot be written.
        OSError: there is no place for the trace.
    """
    path = trace_path(out)
    caches = caches or Caches()
    program = Program.find(command)
    tool = find_front_end(front_end, program)
    included = tool.includes_system_calls(system_call_memory)
    with folder_beside(path) as folder:
        tool.prepare()
        run = Run(folder, caches, children, included)
        facts = {
            "made by": made_by or _equivalent_command(path, tool, command),
            "command": shlex.join(command),
            "capture": f"{tool.version()}, clockhand {_engine.__version__}",
            "cpu cache": str(caches),
            "memory touched by system calls": "included" if included else "not included",
        }
        conversion = _engine.CaptureConversion.begin(folder, run.prefix.name, path)
        try:
            exit_code, interrupted = _run(tool, program, run)
            if not any(stream.stat().st_size for stream in run.streams()):
                raise ClockhandError(tool.complaint(folder, program))
            facts["ended"] = ended(exit_code, interrupted)
            rows = conversion.finish([*facts.items(), *labels], watch)
        finally:
            conversion.give_up()
    processes = [_process(row) for row in rows]
    return Capture(path, processes, exit_code, interrupted, str(caches))


def _run(tool: FrontEnd, program: Program, run: Run) -> tuple[int, bool]:
    """Run the program under the tool; its exit code, and whether it was interrupted."""
    arguments, environment = tool.command(program, run)
    with held_back() as early:
        # A signal between the start of the tool and here would leave it running without us.
        process = subprocess.Popen(arguments, env={**os.environ, **environment})
    interrupted = False
    while True:
        try:
            if early:
                early.clear()
                raise KeyboardInterrupt
            return process.wait(), interrupted
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGTERM)
            try:
                return process.wait(SECONDS_TO_END), interrupted
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                process.kill()


def _process(row: Fields) -> Process:
    return Process(row["command"], row["end"], row["exit_code"], row["classes"])


def _equivalent_command(path: Path, tool: FrontEnd, command: Sequence[str]) -> str:
    options = ["--out", str(path), "--front-end", tool.name]
    return shlex.join(["clockhand", "trace", "capture", *options, "--", *command])
