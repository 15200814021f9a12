"""``clockhand trace capture``: a program's references to memory, or its calls on files."""

from pathlib import Path
from typing import Annotated

import typer

from clockhand.capture import (
    Caches,
    Capture,
    FileCapture,
    TimelineCapture,
    capture,
    capture_files,
    capture_timeline,
)
from clockhand.capture.ending import exit_in_words
from clockhand.command.options import given_options
from clockhand.command.output import labels_of
from clockhand.command.progress import shown_progress
from clockhand.command.saying import command_line, say
from clockhand.study.errors import UsageError, option

DEFAULTS = Caches()

Command = Annotated[
    list[str], typer.Argument(metavar="-- CMD...", help="The program and its arguments.")
]
Out = Annotated[Path | None, typer.Option(help="The trace; PROGRAM.parquet here if not given.")]
Files = Annotated[
    bool, typer.Option("--files", help="Record what the program does to files, not to memory.")
]
Memory = Annotated[
    bool,
    typer.Option(
        "--memory",
        help="Record references to memory, as without --files; with it, both in one timeline "
        "(valgrind only).",
    ),
]
FrontEnd = Annotated[
    str | None,
    typer.Option(
        help="valgrind for x86-64 programs, qemu for x86-64, arm and aarch64; by the kind of "
        "the program if not given."
    ),
]
InstructionCache = Annotated[str, typer.Option(help="Size of the first-level instruction cache.")]
DataCache = Annotated[str, typer.Option(help="Size of the first-level data cache.")]
Ways = Annotated[int, typer.Option(help="Lines per set of both.")]
Line = Annotated[str, typer.Option(help="Size of a line.")]
SecondCache = Annotated[str, typer.Option(help="Size of the unified second level; 0 for none.")]
SecondWays = Annotated[int, typer.Option(help="Its lines per set.")]
SystemCallMemory = Annotated[
    bool | None,
    typer.Option(
        help="Count memory that the kernel reads and writes for the program (valgrind only, "
        "where it is the default)."
    ),
]
Children = Annotated[bool, typer.Option(help="Capture the processes that the program starts, too.")]
Label = Annotated[list[str] | None, typer.Option(help="KEY=VALUE to keep with the trace.")]


def register(trace: typer.Typer) -> None:
    """Add the command to ``clockhand trace``."""
    settings = {"allow_interspersed_args": False}
    trace.command(
        name="capture",
        epilog="trace capture --out tar.parquet -- tar cf /tmp/a.tar /etc",
        context_settings=settings,
    )(_capture)


def _capture(
    context: typer.Context,
    command: Command,
    out: Out = None,
    files: Files = False,
    memory: Memory = False,
    front_end: FrontEnd = None,
    instruction_cache: InstructionCache = "16KiB",
    data_cache: DataCache = "16KiB",
    ways: Ways = DEFAULTS.ways,
    line: Line = str(DEFAULTS.line_bytes),
    second_cache: SecondCache = "0",
    second_ways: SecondWays = DEFAULTS.second_ways,
    system_call_memory: SystemCallMemory = None,
    children: Children = True,
    label: Label = None,
) -> None:
    """Run a program and write its memory references, as a processor's caches let them through.

    With --files: its calls on files and those of its children, for clockhand pagecache.
    With --files --memory: both, in order of time.
    """
    _refuse_place(command)
    place = out or Path(f"{Path(command[0]).name}.parquet")
    labels = labels_of(label)
    if files and not memory:
        _refuse_options_of_memory(context)
        with shown_progress() as watch:
            captured_files = capture_files(
                command, place, labels=labels, made_by=command_line(), watch=watch
            )
        return _tell_of_files(captured_files)
    caches = Caches.parse(
        instruction_cache=instruction_cache,
        data_cache=data_cache,
        ways=ways,
        line=line,
        second_cache=second_cache,
        second_ways=second_ways,
    )
    if files:
        _refuse_front_end(front_end)
        with shown_progress() as watch:
            captured_both = capture_timeline(
                command,
                place,
                caches=caches,
                children=children,
                system_call_memory=system_call_memory is not False,
                labels=labels,
                made_by=command_line(),
                watch=watch,
            )
        return _tell_of_files(captured_both)
    with shown_progress() as watch:
        captured = capture(
            command,
            place,
            front_end=front_end,
            caches=caches,
            children=children,
            system_call_memory=system_call_memory,
            labels=labels,
            made_by=command_line(),
            watch=watch,
        )
    _tell(captured)


def _refuse_place(command: list[str]) -> None:
    """Refuse a trace that is named where the program stands."""
    if command[1:2] == ["--"] and len(command) > 2 and Path(command[0]).suffix:
        raise UsageError(
            f"{command[0]} stands before the program",
            "name the trace with " + option("out") + f" {command[0]}",
        )


def _refuse_front_end(front_end: str | None) -> None:
    """Refuse a front end that sees no calls on files."""
    if front_end not in (None, "valgrind"):
        raise UsageError(
            option("front-end") + f" {front_end} records no calls on files",
            "leave it or " + option("files") + " out",
        )


OPTIONS_OF_FILES = ("context", "command", "out", "files", "label")


def _refuse_options_of_memory(context: typer.Context) -> None:
    """Refuse options that mean nothing for calls on files."""
    for name, flag in given_options(context).items():
        if name not in OPTIONS_OF_FILES:
            raise UsageError(
                f"{flag} is an option of memory captures", "leave it or " + option("files") + " out"
            )


def _tell(captured: Capture) -> None:
    records = captured.records()
    by_class = ", ".join(f"{letter} {count:,}" for letter, count in records.items())
    say(
        f"{captured.path}: {sum(records.values()):,} records ({by_class}) of "
        f"{_processes(len(captured.processes))}"
    )
    _tell_the_end(captured)
    for process in captured.processes:
        if process.end == "cut":
            say(f"{captured.path}: cut, because it was killed: {' '.join(process.command)}")


def _tell_of_files(captured: FileCapture | TimelineCapture) -> None:
    counts = f"{captured.calls:,} reading and writing calls"
    if isinstance(captured, TimelineCapture):
        counts = f"{captured.references:,} records of references to memory and {counts}"
    say(f"{captured.path}: {counts} of {_processes(len(captured.processes))}")
    _tell_the_end(captured)
    for process in captured.processes:
        if process.end == "cut":
            say(f"{captured.path}: {process.said()}: {' '.join(process.command)}")
    for note in captured.notes:
        say(f"{captured.path}: {note}")


def _processes(count: int) -> str:
    return f"{count} {'process' if count == 1 else 'processes'}"


def _tell_the_end(captured: Capture | FileCapture | TimelineCapture) -> None:
    if captured.interrupted:
        say(f"{captured.path}: the program was interrupted; what it did until then is kept")
    elif captured.exit_code:
        say(f"{captured.path}: the program ended with {exit_in_words(captured.exit_code)}")
