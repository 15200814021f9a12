"""The program that a user wants captured: where it is, and for which processor."""

import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from clockhand.study.errors import UsageError

ELF_MAGIC = b"\x7fELF"
ELF_HEADER_BYTES = 20
LONGEST_INTERPRETER_LINE_BYTES = 256
BITS = {1: 32, 2: 64}
MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64"}
"""Names, as QEMU has them, of the machine numbers in ELF headers."""
MAXIMUM_INTERPRETERS = 4
"""A script's interpreter may be a script itself; Linux follows this many."""


@dataclass(frozen=True)
class Program:
    """A program that exists and can be started.

    Attributes:
        command: It and its arguments, as the user wrote them.

        path: Where it is.

        executable: What the processor runs: the program itself, or the interpreter of a script.

        machine: The processor that it, or its interpreter, is for.

        is_privileged: Whether it runs with the rights of its owner or group.
    """

    command: list[str]
    path: Path
    executable: Path
    machine: str
    is_privileged: bool

    @classmethod
    def find(cls, command: Sequence[str]) -> Self:
        """Find the program of a command.

        Raises:
            UsageError: there is none, or it cannot be started.
        """
        if not command:
            raise UsageError(
                "no command is given",
                "name a program and its arguments, after -- on a command line",
            )
        found = shutil.which(command[0])
        if found is None:
            raise UsageError(
                f"{command[0]}: there is no such program that can be started",
                "check its name, or give its path",
            )
        path = executable = Path(found)
        for _ in range(MAXIMUM_INTERPRETERS):
            interpreter = _interpreter(executable)
            if interpreter is None:
                break
            executable = interpreter
        mode = executable.stat().st_mode
        is_privileged = bool(mode & (stat.S_ISUID | stat.S_ISGID))
        return cls(list(command), path, executable, _machine(executable), is_privileged)


def _interpreter(path: Path) -> Path | None:
    """Return what starts a script; none for a program that is not a script."""
    with open(_readable(path), "rb") as file:
        line = file.read(LONGEST_INTERPRETER_LINE_BYTES)
    if not line.startswith(b"#!"):
        return None
    words = line[2:].split(b"\n")[0].split()
    interpreter = Path(words[0].decode(errors="surrogateescape")) if words else path
    if not interpreter.is_file():
        raise UsageError(f"{path}: its interpreter {interpreter} is not found", "install it")
    return interpreter


def _machine(path: Path) -> str:
    with open(path, "rb") as file:
        header = file.read(ELF_HEADER_BYTES)
    if not header.startswith(ELF_MAGIC) or len(header) < ELF_HEADER_BYTES:
        raise UsageError(f"{path}: this is neither a program nor a script", "name a program")
    order = "little" if header[5] == 1 else "big"
    number = int.from_bytes(header[18:20], "little" if order == "little" else "big")
    name = MACHINES.get(number, f"machine {number}")
    if name == "x86_64" and BITS.get(header[4]) == 32:
        return "x32"
    return f"{name}eb" if order == "big" else name


def _readable(path: Path) -> Path:
    try:
        path.open("rb").close()
    except OSError as error:
        raise UsageError(f"{path}: it cannot be read ({error.strerror})", "allow it") from error
    return path
