"""Whether this machine can page programs, and which programs it can page."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from clockhand import _engine
from clockhand.capture.programs import Program

# The fields of an ELF header of 64 bits that lead to its program headers (elf.h).
ELF_PROGRAM_HEADERS = slice(32, 40)
ELF_PROGRAM_HEADER_BYTES = slice(54, 56)
ELF_PROGRAM_HEADER_COUNT = slice(56, 58)
ELF_INTERPRETER = 3


def check_machine() -> None:
    """Find out whether programs can be paged here.

    Raises:
        ClockhandError: they cannot; it says what to do.
    """
    obstacle = _engine.pager_obstacle()
    if obstacle is not None:
        raise _engine.ClockhandError(obstacle)


def pageable(command: Sequence[str]) -> Program:
    """Find a program and see whether a library can be preloaded into it.

    Raises:
        UsageError: there is none, it has rights of its own, or it is linked statically.
    """
    program = Program.find(command)
    if program.machine != platform.machine():
        raise _engine.UsageError(
            f"{program.path}: it is for {program.machine}, and this machine is a "
            f"{platform.machine()}; only programs of this machine can be paged"
        )
    if program.is_privileged and os.geteuid() != 0:
        raise _engine.UsageError(
            f"{program.path}: it runs with the rights of its owner or group, so that no library "
            "is preloaded into it; run a copy without these rights"
        )
    if not _has_interpreter(program.executable):
        raise _engine.UsageError(
            f"{program.executable}: it is linked statically, so that no library can be preloaded "
            "into it; link it with the C library as a shared one"
        )
    return program


def _has_interpreter(executable: Path) -> bool:
    """Tell whether a dynamic linker loads an ELF program of 64 bits, little-endian."""
    with open(executable, "rb") as file:
        header = file.read(64)
        place, size, count = (
            int.from_bytes(header[field], "little")
            for field in (ELF_PROGRAM_HEADERS, ELF_PROGRAM_HEADER_BYTES, ELF_PROGRAM_HEADER_COUNT)
        )
        file.seek(place)
        entries = file.read(size * count)
    kinds = (entries[start : start + 4] for start in range(0, len(entries), max(size, 1)))
    return any(int.from_bytes(kind, "little") == ELF_INTERPRETER for kind in kinds)
