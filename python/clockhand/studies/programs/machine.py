"""Whether this machine can page programs, and which programs it can page."""

import os
import platform
import resource
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from clockhand import _engine
from clockhand.capture.programs import Program
from clockhand.study.errors import ClockhandError, UsageError, option
from clockhand.study.sizes import bytes_text

# The fields of an ELF header of 64 bits that lead to its program headers (elf.h).
ELF_PROGRAM_HEADERS = slice(32, 40)
ELF_PROGRAM_HEADER_BYTES = slice(54, 56)
ELF_PROGRAM_HEADER_COUNT = slice(56, 58)
ELF_SEGMENT = struct.Struct("<IxxxxQQxxxxxxxxQ")
"""Kind, place in the file, address, and bytes in the file."""
ELF_LOADED, ELF_DYNAMIC, ELF_INTERPRETER = 1, 2, 3
ELF_NAMES, ELF_NAMES_BYTES = 5, 10
"""Entries of the dynamic section that say where the names of all symbols lie."""
# A program built with one of these sanitizers, which bring their own heap, calls this function.
SANITIZERS = {
    b"\0__asan_init\0": "AddressSanitizer (-fsanitize=address)",
    b"\0__hwasan_init\0": "HWAddressSanitizer (-fsanitize=hwaddress)",
    b"\0__msan_init\0": "MemorySanitizer (-fsanitize=memory)",
}


def check_machine() -> None:
    """Find out whether programs can be paged here.

    Raises:
        ClockhandError: they cannot; it says what to do.
    """
    obstacle = _engine.pager_obstacle()
    if obstacle is not None:
        raise ClockhandError(obstacle)


def check_limits(address_space_bytes: int) -> None:
    """Find out whether the limits of this shell allow the memory that a process can have paged.

    Raises:
        ClockhandError: they do not.
    """
    for limit, letter, limited in (
        (resource.RLIMIT_FSIZE, "f", "is a file in memory, and files may have"),
        (resource.RLIMIT_AS, "v", "is address space, of which a process may have"),
    ):
        largest, _ = resource.getrlimit(limit)
        if largest != resource.RLIM_INFINITY and largest < address_space_bytes:
            raise ClockhandError(
                f"what a process can have paged, {bytes_text(address_space_bytes)}, {limited} "
                f"{bytes_text(largest)} at most",
                f"raise `ulimit -{letter}`, or give a smaller " + option("address-space"),
            )


def pageable(command: Sequence[str]) -> Program:
    """Find a program and see whether it can be paged.

    Raises:
        UsageError: there is none, it has rights of its own, it is for another processor, or it was
            built with a sanitizer that has a heap of its own.
    """
    program = Program.find(command)
    if program.machine != platform.machine():
        raise UsageError(
            f"{program.path}: it is for {program.machine}, and this machine is a "
            f"{platform.machine()}",
            "only programs of this machine can be paged",
        )
    if program.is_privileged and os.geteuid() != 0:
        raise UsageError(
            f"{program.path}: it runs with the rights of its owner or group, so that no "
            "library is preloaded into it",
            "run a copy without these rights",
        )
    sanitizer = _sanitizer(program.executable)
    if sanitizer is not None:
        raise UsageError(
            f"{program.executable}: it was built with {sanitizer}, whose heap cannot be paged",
            "build it without",
        )
    return program


def is_static(executable: Path) -> bool:
    """Tell whether no dynamic linker loads an ELF program of 64 bits, little-endian."""
    with open(executable, "rb") as file:
        return all(segment.kind != ELF_INTERPRETER for segment in _segments(file))


def _sanitizer(executable: Path) -> str | None:
    """Return the sanitizer with a heap of its own that a program was built with, if any."""
    with open(executable, "rb") as file:
        names = _symbol_names(file)
    return next((name for call, name in SANITIZERS.items() if call in names), None)


class _Segment(NamedTuple):
    kind: int
    place: int
    address: int
    bytes: int


def _segments(file: BinaryIO) -> list[_Segment]:
    header = file.read(64)
    place, size, count = (
        int.from_bytes(header[field], "little")
        for field in (ELF_PROGRAM_HEADERS, ELF_PROGRAM_HEADER_BYTES, ELF_PROGRAM_HEADER_COUNT)
    )
    if size < ELF_SEGMENT.size:
        return []
    file.seek(place)
    entries = file.read(size * count)
    starts = range(0, len(entries) - ELF_SEGMENT.size + 1, size)
    return [_Segment(*ELF_SEGMENT.unpack_from(entries, start)) for start in starts]


def _symbol_names(file: BinaryIO) -> bytes:
    """Return the names of what a program takes from libraries and gives to them."""
    segments = _segments(file)
    dynamic = b""
    for segment in segments:
        if segment.kind == ELF_DYNAMIC:
            file.seek(segment.place)
            dynamic = file.read(segment.bytes)
    entries = dict(struct.iter_unpack("<QQ", dynamic[: len(dynamic) // 16 * 16]))
    address, length = entries.get(ELF_NAMES, 0), entries.get(ELF_NAMES_BYTES, 0)
    for segment in segments:
        if segment.kind == ELF_LOADED and 0 <= address - segment.address < segment.bytes:
            file.seek(segment.place + address - segment.address)
            return file.read(min(length, segment.bytes))
    return b""
