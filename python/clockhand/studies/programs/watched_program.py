"""A program that runs with our standard streams while we watch it."""

import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from clockhand.studies.programs.interruption import LeftToProgram
from clockhand.study.errors import ClockhandError

SIGNAL_BASE = 128
"""A shell adds the number of the signal that ended a program."""


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Attributes:
        exit_code: As a shell gives it: 128 and the signal's number if a signal ended it.
        seconds: From its start to its end.
        interrupted: Whether Ctrl-C or a signal to us asked it to end.
    """

    exit_code: int
    seconds: float
    interrupted: bool


def run_program(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    executed: Sequence[str] | None = None,
    inherited: Sequence[int] = (),
    before: Callable[[], None] | None = None,
    standard_input: IO[bytes] | None = None,
    take_output: Callable[[IO[bytes]], None] | None = None,
    look: Callable[[float], float] | None = None,
) -> Ended:
    """Run a program to its end.

    Args:
        command: The program and its arguments.

        environment: Variables that it has besides ours.

        executed: What is executed in the program's place, and what it is passed; the program with
            its arguments if not given.

        inherited: Descriptors that it has under the same numbers, besides the standard streams.

        before: Called in the new process before it becomes the program.

        standard_input: What it reads; our own standard input if not given.

        take_output: Reads what the program writes to its standard output, in a thread of its own;
            it goes to our own standard output if not given.

        look: Called with the seconds since the start; returns the seconds until the next call.

    Raises:
        ClockhandError: the program cannot be started.
    """
    with LeftToProgram() as signals:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                command if executed is None else executed[1:],
                executable=None if executed is None else executed[0],
                env={**os.environ, **(environment or {})},
                stdin=standard_input,
                stdout=None if take_output is None else subprocess.PIPE,
                preexec_fn=before,
                pass_fds=inherited,
            )
        except (OSError, subprocess.SubprocessError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ClockhandError(
                f"{command[0]}: it cannot be started ({reason}); check that it runs by itself"
            ) from error
        signals.belong_to(process)
        reader = None
        if take_output is not None:
            reader = threading.Thread(target=take_output, args=(process.stdout,))
            reader.start()
        _wait(process, start, look)
        seconds = time.perf_counter() - start
        if reader is not None:
            reader.join()
    code = process.returncode
    return Ended(code if code >= 0 else SIGNAL_BASE - code, seconds, signals.interrupted)


def _wait(
    process: subprocess.Popen[bytes], start: float, look: Callable[[float], float] | None
) -> None:
    """Watch the program until the moment of its end."""
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        pause_ms = None if look is None else 0.0
        while not poll.poll(pause_ms):
            if look is not None:
                pause_ms = 1000 * look(time.perf_counter() - start)
        process.wait()
    finally:
        os.close(descriptor)
