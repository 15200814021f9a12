"""Capture of memory and files in one timeline: what a page cache of both holds.

The program runs under the Valgrind front end, whose tool also tells of the program's calls; the
tracer of :mod:`clockhand.capture.files` writes them down with their times, and the tool begins a
block of references behind each. So the order of calls and references is that of the program.
"""

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clockhand import _engine
from clockhand.capture.caches import Caches
from clockhand.capture.ending import ended
from clockhand.capture.files import FileCapture, FollowedRun, check_followed
from clockhand.capture.front_ends import Run, Valgrind, find_front_end
from clockhand.capture.place import folder_beside, trace_path
from clockhand.capture.programs import Program
from clockhand.study.calls import in_python
from clockhand.study.errors import ClockhandError
from clockhand.study.progress import Watch


@dataclass(frozen=True)
class TimelineCapture(FileCapture):
    """What a capture of memory and files gave.

    Attributes:
        references: Records of references to memory.
    """

    references: int


@in_python()
def capture_timeline(
    command: Sequence[str],
    out: str | os.PathLike[str],
    *,
    caches: Caches | None = None,
    children: bool = True,
    system_call_memory: bool = True,
    labels: Iterable[tuple[str, str]] = (),
    made_by: str | None = None,
    watch: Watch | None = None,
) -> TimelineCapture:
    """Run a command to its end and write its references to memory and its calls on files.

    The trace is one of events: memory of a process is an object of its own, and what it maps of a
    file is the file. Standard input and output are those of the caller. An interrupt ends the
    command, and what it did until then is kept.

    Args:
        command: The program and its arguments.

        out: The trace, whose name ends in ``.parquet``; it appears whole or not at all.

        caches: The caches that references must miss to be part of the trace.

        children: Whether the processes that the program starts are captured too.

        system_call_memory: Whether memory that the kernel reads and writes for the program counts.

        labels: Pairs of key and value to keep with the trace.

        made_by: The command line for the labels; the equivalent one if not given.

        watch: Called now and then with the progress of the conversion.

    Raises:
        UsageError: the command cannot be found or captured.
        ClockhandError: Valgrind is missing or failed, the kernel refuses to let the command be
            followed, or the trace cannot be written.
        OSError: there is no place for the trace.
    """
    path = trace_path(out)
    caches = caches or Caches()
    program = Program.find(command)
    check_followed(program)
    tool = find_front_end(Valgrind.name, program)
    with folder_beside(path) as folder:
        tool.prepare()
        log = folder / "calls.log"
        log.touch()
        run = Run(folder, caches, children, system_call_memory, tells_calls=True)
        followed = FollowedRun()
        arguments, environment = tool.command(program, run)
        followed.follow(arguments, log, "told", environment)
        exit_code = followed.exit_code(program)
        for process in followed.processes.values():
            process.command = _without_valgrind(process.command)
        streams = run.streams()
        if not any(stream.stat().st_size for stream in streams):
            raise ClockhandError(tool.complaint(folder, program))
        words = ["clockhand", "trace", "capture", "--files", "--memory", "--out", str(path)]
        facts = {
            "made by": made_by or shlex.join([*words, "--", *command]),
            "command": shlex.join(command),
            "capture": f"memory and calls on files, {tool.version()}, "
            f"clockhand {_engine.__version__}",
            "cpu cache": str(caches),
            "view": "fault",
            "memory touched by system calls": "included" if system_call_memory else "not included",
            "ended": ended(exit_code, followed.interrupted),
            **followed.labels(),
        }
        paths: list[str | os.PathLike[str]] = list(streams)
        met = _engine.convert_timeline(paths, log, path, [*facts.items(), *labels], watch)
    processes = list(followed.processes.values())
    return TimelineCapture(
        path,
        processes,
        exit_code,
        followed.interrupted,
        met["calls"],
        met["notes"],
        met["references"],
    )


def _without_valgrind(command: list[str]) -> list[str]:
    """Return the command that a command of Valgrind runs, without Valgrind and its options."""
    words = iter(command[1:])
    for word in words:
        if word == "--":
            return list(words)
        if not word.startswith("-"):
            return [word, *words]
    return command
