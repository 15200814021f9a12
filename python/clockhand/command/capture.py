"""``clockhand trace capture``: the memory references of a program as a trace."""

import signal
from pathlib import Path
from typing import Annotated

import typer

from clockhand.capture import Caches, Capture, capture
from clockhand.command.output import command_line, labels_of, say
from clockhand.command.progress import shown_progress

DEFAULTS = Caches()


def register(trace: typer.Typer) -> None:
    """Add the command to ``clockhand trace``."""
    settings = {"allow_interspersed_args": False}
    trace.command(name="capture", context_settings=settings)(_capture)


def _capture(
    command: Annotated[
        list[str], typer.Argument(metavar="-- CMD...", help="The program and its arguments.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="The trace; PROGRAM.parquet here if not given.")
    ] = None,
    front_end: Annotated[
        str | None,
        typer.Option(
            help="valgrind for x86-64 programs, qemu for x86-64, arm and aarch64; by the kind of "
            "the program if not given."
        ),
    ] = None,
    instruction_cache: Annotated[
        str, typer.Option(help="Size of the first-level instruction cache.")
    ] = "16KiB",
    data_cache: Annotated[str, typer.Option(help="Size of the first-level data cache.")] = "16KiB",
    ways: Annotated[int, typer.Option(help="Lines per set of both.")] = DEFAULTS.ways,
    line: Annotated[str, typer.Option(help="Size of a line.")] = str(DEFAULTS.line_bytes),
    second_cache: Annotated[
        str, typer.Option(help="Size of the unified second level; 0 for none.")
    ] = "0",
    second_ways: Annotated[int, typer.Option(help="Its lines per set.")] = DEFAULTS.second_ways,
    system_call_memory: Annotated[
        bool | None,
        typer.Option(
            help="Count memory that the kernel reads and writes for the program (valgrind only, "
            "where it is the default)."
        ),
    ] = None,
    children: Annotated[
        bool, typer.Option(help="Capture the processes that the program starts, too.")
    ] = True,
    label: Annotated[
        list[str] | None, typer.Option(help="KEY=VALUE to keep with the trace.")
    ] = None,
) -> None:
    """Run a program and write its memory references, as a processor's caches let them through."""
    caches = Caches.parse(
        instruction_cache=instruction_cache,
        data_cache=data_cache,
        ways=ways,
        line=line,
        second_cache=second_cache,
        second_ways=second_ways,
    )
    labels = labels_of(label)
    with shown_progress() as watch:
        captured = capture(
            command,
            out or Path(f"{Path(command[0]).name}.parquet"),
            front_end=front_end,
            caches=caches,
            children=children,
            system_call_memory=system_call_memory,
            labels=labels,
            made_by=command_line(),
            watch=watch,
        )
    _tell(captured)


def _tell(captured: Capture) -> None:
    records = captured.records()
    by_class = ", ".join(f"{letter} {count:,}" for letter, count in records.items())
    count = len(captured.processes)
    say(
        f"{captured.path}: {sum(records.values()):,} records ({by_class}) of {count} "
        f"{'process' if count == 1 else 'processes'}"
    )
    if captured.interrupted:
        say(f"{captured.path}: the program was interrupted; what it did until then is kept")
    elif captured.exit_code:
        say(f"{captured.path}: the program ended with {_how(captured.exit_code)}")
    for process in captured.processes:
        if process.end == "cut":
            say(f"{captured.path}: cut, because it was killed: {' '.join(process.command)}")


def _how(exit_code: int) -> str:
    return f"exit code {exit_code}" if exit_code > 0 else signal.Signals(-exit_code).name
