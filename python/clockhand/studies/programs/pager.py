"""The pager of a run: how it is started, and how a program finds it."""

import os
from pathlib import Path

from clockhand import _engine
from clockhand.capture.programs import Program
from clockhand.studies.programs.machine import is_static
from clockhand.studies.programs.options import PAGE_BYTES, ProgramSettings
from clockhand.studies.programs.plan import Planned
from clockhand.study.errors import ClockhandError
from clockhand.study.records import Fields


def started_pager(
    policy: str, planned: Planned, settings: ProgramSettings, *, record: Path | None
) -> _engine.Pager:
    """Start a pager for one program.

    Raises:
        UsageError: the engine does not take the policy or the sizes.
        ClockhandError: the swap file or the log cannot be made.
    """
    return _engine.Pager(
        policy,
        frames=settings.frames,
        reserve=settings.reserve,
        read_ahead=settings.read_ahead,
        predictors=settings.predictors,
        bits=settings.bits,
        swap=None if settings.swap is None else os.fspath(settings.swap),
        swap_limit_bytes=settings.swap_limit_bytes,
        memory_bytes=settings.address_space_bytes,
        write_read_ratio=planned.device["write_read_ratio"],
        record=None if record is None else os.fspath(record),
        seed=settings.seed,
        emulated_us=emulated_us(settings),
    )


def emulated_us(settings: ProgramSettings) -> tuple[float, float] | None:
    """Return what a page takes to read and to write on the emulated device; None if there is none.

    Raises:
        UsageError: the device is unknown.
    """
    if settings.emulate is None:
        return None
    read_us, write_us = _engine.io_times_us(settings.emulate, PAGE_BYTES, [(1, 0), (0, 1)])
    return read_us, write_us


def preloading(pager: _engine.Pager) -> dict[str, str]:
    """Return the environment that makes a program paged; what the user preloads stays."""
    variables = dict(pager.environment())
    own = os.environ.get("LD_PRELOAD")
    if own:
        variables["LD_PRELOAD"] += f":{own}"
    return variables


def paging(pager: _engine.Pager, program: Program) -> Fields:
    """Return the options of :func:`.run_program` that make a program paged.

    The library is executed in the place of one that is linked statically, or runs the script.

    Raises:
        ClockhandError: the library of such a program may not be executed.
    """
    variables = preloading(pager)
    executed = None
    if is_static(program.executable):
        library = dict(pager.environment())["LD_PRELOAD"]
        if not os.access(library, os.X_OK):
            raise ClockhandError(
                f"{program.executable}: it is linked statically, and {library}, which is executed "
                "in its place, may not be",
                f"run `chmod +x {library}`",
            )
        executed = [library, *program.arguments]
        variables["CLOCKHAND_STATIC"] = os.path.realpath(program.executable)
        variables["CLOCKHAND_EXECUTED"] = str(program.path)
        variables["CLOCKHAND_LD_PRELOAD"] = variables.pop("LD_PRELOAD")
    return {
        "environment": variables,
        "executed": executed,
        "inherited": [pager.inherited_socket()],
    }


def swap_notes(pager: _engine.Pager) -> list[str]:
    """Return what the times of a run rest on, a sentence each."""
    if pager.is_direct():
        return []
    return [
        "The swap file went through the page cache, because its file system has no direct I/O: "
        "its times are those of memory, not of a drive."
    ]
