"""The program that a user wants captured: where it is, and for which processor."""

import re
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

        interpreted: Of a script: what runs it and its arguments, which end with the script's path.
    """

    command: list[str]
    path: Path
    executable: Path
    machine: str
    is_privileged: bool
    interpreted: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """What the kernel passes to the executable."""
        if not self.interpreted:
            return self.command
        return [*self.interpreted, *self.command[1:]]

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
        interpreted = [str(path)]
        for _ in range(MAXIMUM_INTERPRETERS):
            words = _interpreter(executable)
            if not words:
                break
            executable = Path(words[0])
            interpreted = [*words, *interpreted]
        mode = executable.stat().st_mode
        is_privileged = bool(mode & (stat.S_ISUID | stat.S_ISGID))
        machine = _machine(executable)
        before = tuple(interpreted) if executable != path else ()
        return cls(list(command), path, executable, machine, is_privileged, before)


def _interpreter(path: Path) -> list[str]:
    """Return what starts a script, and the argument that its first line gives to that, if any.

    Nothing for a program that is not a script.
    """
    with open(_readable(path), "rb") as file:
        line = file.read(LONGEST_INTERPRETER_LINE_BYTES)
    if not line.startswith(b"#!"):
        return []
    words = re.split(rb"[ \t]+", line[2:].split(b"\n")[0].strip(b" \t"), maxsplit=1)
    found = [word.decode(errors="surrogateescape") for word in words]
    interpreter = found[0] or str(path)
    if not Path(interpreter).is_file():
        raise UsageError(f"{path}: its interpreter {interpreter} is not found", "install it")
    return [interpreter, *found[1:]]


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
