"""What runs a program and sees its references: Valgrind or QEMU, with a tool of our own."""

import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from clockhand.capture.building import built_plugin, built_valgrind_tool, valgrind_version
from clockhand.capture.caches import Caches
from clockhand.capture.programs import Program
from clockhand.study.errors import ClockhandError, UsageError, option

HOST = "x86_64"
QEMU_MACHINES = ("x86_64", "arm", "aarch64")


@dataclass(frozen=True)
class Run:
    """The command line of a front end; the tool's files go to ``folder``."""

    folder: Path
    caches: Caches
    children: bool
    system_call_memory: bool
    tells_calls: bool = False

    @property
    def prefix(self) -> Path:
        """What the names of the streams begin with."""
        return self.folder / "stream"

    def streams(self) -> list[Path]:
        """Return the files of the front end in the order in which the processes began."""
        return sorted(self.folder.glob(f"{self.prefix.name}.*"), key=_begin)

    def cache_options(self) -> dict[str, int]:
        """Return the caches as both tools name them."""
        caches = self.caches
        return {
            "instruction-bytes": caches.instruction_bytes,
            "data-bytes": caches.data_bytes,
            "ways": caches.ways,
            "line-bytes": caches.line_bytes,
            "second-bytes": caches.second_bytes,
            "second-ways": caches.second_ways,
        }


class FrontEnd(Protocol):
    """One way to see a program's references."""

    name: str

    def includes_system_calls(self, wanted: bool | None) -> bool:
        """Return whether memory that the kernel touches counts, given what the user wants."""

    def prepare(self) -> None:
        """Find or build the tool.

        Raises:
            ClockhandError: something is missing; it says what to install.
        """

    def version(self) -> str:
        """Return the name and version for the labels of the trace."""

    def command(self, program: Program, run: Run) -> tuple[list[str], Mapping[str, str]]:
        """Return what to start, and what to add to the environment."""

    def complaint(self, folder: Path, program: Program) -> str:
        """Return why there is not a single stream."""


def find_front_end(name: str | None, program: Program) -> FrontEnd:
    """Return the front end of this name, or the one that fits the program.

    Raises:
        UsageError: none fits.
    """
    if program.is_privileged:
        raise UsageError(
            f"{program.path}: a program with a set-uid or set-gid bit cannot be captured",
            "copy it without the bit",
        )
    if program.machine not in QEMU_MACHINES:
        raise UsageError(
            f"{program.path}: a program for {program.machine} cannot be captured",
            f"use one for {', '.join(QEMU_MACHINES)}",
        )
    match name or ("valgrind" if program.machine == HOST else "qemu"):
        case "valgrind" if program.machine != HOST:
            raise UsageError(
                f"{program.path}: the Valgrind front end captures x86_64 programs and this is "
                f"one for {program.machine}",
                "use " + option("front-end") + " qemu",
            )
        case "valgrind":
            return Valgrind()
        case "qemu":
            return Qemu(program.machine)
        case other:
            raise UsageError(
                option("front-end") + f" {other!r} is unknown", "give valgrind or qemu"
            )


def build_all() -> None:
    """Build the tools of both front ends, which otherwise happens on first use.

    Raises:
        ClockhandError: something is missing; it says what to install.
    """
    Valgrind().prepare()
    Qemu(HOST).prepare()


class Valgrind:
    """x86-64 programs and their children, with the memory that the kernel touches for them."""

    name = "valgrind"

    def __init__(self) -> None:
        if platform.machine() != HOST:
            raise UsageError(
                f"the Valgrind front end runs on x86_64 and this is {platform.machine()}",
                "use " + option("front-end") + " qemu",
            )
        self._library = Path()

    def includes_system_calls(self, wanted: bool | None) -> bool:
        """Return what the user wants; yes if not said."""
        return True if wanted is None else wanted

    def prepare(self) -> None:
        """Find or build the tool."""
        self._library = built_valgrind_tool()

    def version(self) -> str:
        """Return Valgrind's version."""
        return f"valgrind {valgrind_version()}"

    def command(self, program: Program, run: Run) -> tuple[list[str], Mapping[str, str]]:
        """Return Valgrind's command line."""
        options = {
            "tool": "clockhand",
            "log-file": f"{run.folder}/log.%p",
            "trace-children": "yes" if run.children else "no",
            "capture-prefix": run.prefix,
            "system-call-memory": "yes" if run.system_call_memory else "no",
            "tells-calls": "yes" if run.tells_calls else "no",
            **run.cache_options(),
        }
        words = [f"--{option}={value}" for option, value in options.items()]
        command = ["valgrind", "--quiet", *words, "--", *program.command]
        return command, {"VALGRIND_LIB": str(self._library)}

    def complaint(self, folder: Path, program: Program) -> str:
        """Return the first thing that Valgrind says."""
        said = [line for log in sorted(folder.glob("log.*")) for line in _lines(log)]
        reason = said[0] if said else "it says no reason"
        return f"{program.path}: Valgrind captured nothing ({reason}); run it under valgrind to see"


class Qemu:
    """Programs for x86-64, arm and aarch64, without the memory that the kernel touches."""

    name = "qemu"

    def __init__(self, machine: str) -> None:
        self._executable = f"qemu-{machine}"
        self._plugin = Path()

    def includes_system_calls(self, wanted: bool | None) -> bool:
        """Return no, the only possible answer."""
        if wanted:
            raise UsageError(
                "the QEMU front end does not see memory that the kernel touches",
                "leave "
                + option("system-call-memory")
                + " out or use "
                + option("front-end")
                + " valgrind",
            )
        return False

    def prepare(self) -> None:
        """Find QEMU and build the plugin."""
        if shutil.which(self._executable) is None:
            raise ClockhandError(
                f"{self._executable} is not found; install it (Debian, Ubuntu: qemu-user; "
                "Fedora: qemu-user)"
            )
        if "-plugin" not in self._output("-help"):
            raise ClockhandError(
                f"{self._executable} was built without plugins; install one that has them "
                "(that of Debian 12 or Ubuntu 22.04 and newer has)"
            )
        major = self._version_number().partition(".")[0]
        self._plugin = built_plugin(int(major) if major.isdecimal() else 0)

    def version(self) -> str:
        """Return QEMU's version."""
        return f"{self._executable} {self._version_number()}"

    def _version_number(self) -> str:
        words = self._output("--version").split()
        return words[2] if len(words) > 2 else "of unknown version"

    def _output(self, option: str) -> str:
        run = subprocess.run(
            [self._executable, option], capture_output=True, text=True, check=False
        )
        return run.stdout

    def command(self, program: Program, run: Run) -> tuple[list[str], Mapping[str, str]]:
        """Return QEMU's command line."""
        options = {"prefix": run.prefix, **run.cache_options()}
        words = [str(self._plugin), *(f"{option}={value}" for option, value in options.items())]
        command = [self._executable, "-plugin", ",".join(words)]
        return [*command, str(program.path), *program.command[1:]], {}

    def complaint(self, folder: Path, program: Program) -> str:
        """Return that nothing is known."""
        return (
            f"{program.path}: {self._executable} captured nothing; "
            f"run it under {self._executable} to see why"
        )


def _begin(stream: Path) -> tuple[int, int, int]:
    _, process, number = stream.name.split(".")
    with open(stream, "rb") as file:
        # The header block begins after the magic number; its time after tag and length.
        head = file.read(8 + 1 + 4 + 8)
    return int.from_bytes(head[13:21], "little"), int(process), int(number)


def _lines(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()
    return [stripped for line in lines if (stripped := line.partition("== ")[2].strip())]
