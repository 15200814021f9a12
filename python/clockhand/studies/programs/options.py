"""Options of paging programs under any policy, and the settings that they give."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from clockhand.study.calls import argument
from clockhand.study.errors import UsageError, option
from clockhand.study.limits import MAXIMUM_FRAMES, MAXIMUM_SEED, check_range
from clockhand.study.options import Option, options_of
from clockhand.study.records import Fields, Record
from clockhand.study.sizes import bytes_text, parsed_bytes

PAGE_BYTES = 4096

LARGEST_ADDRESS_SPACE_BYTES = 2**31 * PAGE_BYTES
"""What the pager's numbers of pages hold."""

LEAST_TO_READ_AHEAD = 64


def _option(
    name: str,
    kind: str,
    help: str,
    python_help: str,
    default: str | None = None,
    metavar: str = "",
    words: tuple[str, ...] = (),
) -> Option:
    return Option(
        name, name, name, required=False, kind=kind, default=default, help=help,
        python_help=python_help, metavar=metavar, words=words,
    )  # fmt: skip


DECLARED = {
    option.name: option
    for option in (
        _option(
            "memory", "text", "Memory of each process, such as 16MiB.",
            'Bytes of each process, such as ``"16MiB"``. Give either this or ``frames``.',
            metavar="SIZE",
        ),
        _option(
            "frames", "whole", "The same in page frames of 4 KiB.", "The same in pages of 4 KiB.",
        ),
        _option(
            "swap", "file", "The file that pages are swapped to.",
            "The file that pages go to; they are kept in RAM, compressed, if it is None.",
            metavar="FILE",
        ),
        _option(
            "swap_limit", "text", "The most that it may hold, such as 4GiB.",
            'The most bytes of it, such as ``"4GiB"``; no limit if not given.', metavar="SIZE",
        ),
        _option(
            "reserve", "whole",
            "Frames that are kept free for write-backs under way. If not given: a 32nd of all, at "
            "most 64; below 512 frames a sixteenth, at most 16.",
            "Frames of each process that are kept for write-backs under way; as "
            ":func:`kept_frames` says if not given.",
        ),
        _option(
            "read_ahead", "whole_and_words",
            "Frames for pages that are read before they are needed. If not given: as many as for "
            "--reserve, and none with --swap-in-ram. Names choose what predicts these pages: "
            "slots, streams, pointers, offsets; all if not given.",
            "Frames of each process that are kept for pages which are read before they are asked "
            "for, with one that is; if not given as many again, or none if there are fewer than "
            "64 frames or pages stay in RAM. Words choose what predicts these pages, such as "
            '``"slots,streams"`` or ``"64,offsets"``: ``slots``, ``streams``, ``pointers``, '
            "``offsets``; all if not given.",
            metavar="[N][,NAME...]",
        ),
        _option(
            "bits", "word",
            "Bits that show hits. sensed: the kernel serves hits, and the pager looks when the "
            "policy asks; mapped: the pager serves hits by faults.",
            '``"sensed"``, the default: the kernel answers the access that sets a bit again, and '
            'the pager looks; ``"mapped"``: the pager answers it.',
            "sensed", "sensed|mapped", ("sensed", "mapped"),
        ),
        _option(
            "address_space", "text", "The most that a process can have paged.",
            "The most that a process can have paged.", "16GiB", "SIZE",
        ),
        _option(
            "device", "device", options_of("pages")["device"].help,
            "Whose ratio of write to read cost policies take as their ``c``.", "slc-nand",
        ),
        _option(
            "emulate", "device",
            "With --swap-in-ram: reads and writes take the times of this device, and policies its "
            "costs. See: clockhand devices.",
            "A device, whose times reads and writes of the swap take; for pages in RAM. It is also "
            "the ``device``.",
            metavar="NAME[:option=value,...]|FILE.toml",
        ),
        _option(
            "seed", "whole", options_of("pagecache")["seed"].help,
            "Seed of policies with random choices, from 0.", "0",
        ),
    )
}  # fmt: skip
"""Options of paging programs under any policy, for the command and for Python."""

OPTIONS = tuple(argument(option) for option in DECLARED.values())
"""The same as arguments of functions."""


@dataclass(frozen=True)
class ProgramSettings:
    """Checked options of a program."""

    frames: int
    swap: Path | None
    swap_limit_bytes: int | None
    reserve: int
    read_ahead: int
    predictors: list[str] | None
    bits: str
    address_space_bytes: int
    device: str
    emulate: str | None
    seed: int

    @classmethod
    def parse(cls, options: Record) -> Self:
        """Check options.

        Raises:
            UsageError: something is out of range or contradictory.
        """
        given: Fields = {one.keyword: one.default for one in OPTIONS} | dict(options)
        frames = _frames(given["memory"], given["frames"])
        reserve = given["reserve"]
        if reserve is None:
            reserve = kept_frames(frames)
        check_range("reserve", reserve, 0, frames - 1)
        swap, limit = given["swap"], given["swap_limit"]
        read_ahead, predictors = _read_ahead(given["read_ahead"])
        if read_ahead is None:
            read_ahead = _frames_to_read_ahead(frames, reserve) if swap is not None else 0
        check_range("read-ahead", read_ahead, 0, frames - reserve - 1)
        bits = given["bits"]
        if bits not in ("mapped", "sensed"):
            raise UsageError(option("bits") + f" {bits!r} is unknown", "give mapped or sensed")
        emulate = given["emulate"]
        if emulate is not None and swap is not None:
            raise UsageError(
                option("emulate")
                + (
                    f" {os.fspath(emulate)} is for pages that stay in RAM, and a swap file has "
                    "times of its own"
                ),
                "give " + option("swap-in-ram"),
            )
        seed = given["seed"]
        check_range("seed", seed, 0, MAXIMUM_SEED)
        return cls(
            frames=frames,
            swap=None if swap is None else Path(swap),
            swap_limit_bytes=None if limit is None else parsed_bytes("swap-limit", limit),
            reserve=reserve,
            read_ahead=read_ahead,
            predictors=predictors,
            bits=bits,
            address_space_bytes=_address_space(given["address_space"]),
            device=os.fspath(given["device"] if emulate is None else emulate),
            emulate=None if emulate is None else os.fspath(emulate),
            seed=seed,
        )

    @property
    def memory_bytes(self) -> int:
        """Bytes of each process."""
        return self.frames * PAGE_BYTES

    def simulated(self, process: Record | None = None) -> Fields:
        """Return the options by which the engine simulates the memory that a process has, or gets.

        Args:
            process: Its row; if not given, what was asked for.
        """
        memory = vars(self) if process is None else process
        return {
            "frames": str(memory["frames"]),
            "reserve": memory["reserve"] + memory["read_ahead"],
            "page_size": str(PAGE_BYTES),
            "device": self.device,
            "seed": self.seed,
        }

    def given(self) -> Fields:
        """Return the options that say the same to the command."""
        return {
            "frames": self.frames,
            "reserve": self.reserve,
            "read_ahead": ",".join([str(self.read_ahead), *(self.predictors or [])]),
            "bits": self.bits,
            "swap": self.swap,
            "swap_limit": self.swap_limit_bytes,
            "swap_in_ram": self.swap is None,
            "address_space": self.address_space_bytes,
            "device": self.device,
            "seed": self.seed,
        }

    def _read_ahead_text(self) -> str | None:
        if not self.read_ahead:
            return None
        by = f", by {', '.join(self.predictors)}" if self.predictors else ""
        return f"up to {self.read_ahead:,} pages{by}"

    def facts(self) -> Fields:
        """Return the options for a report."""
        limit = self.swap_limit_bytes
        return {
            "memory of each process": f"{bytes_text(self.memory_bytes)}, {self.frames:,} frames",
            "reserve": f"{self.reserve:,} frames",
            "read ahead": self._read_ahead_text(),
            "bits": self.bits,
            "swap": "RAM, compressed" if self.swap is None else str(self.swap),
            "emulated device": self.emulate,
            "swap limit": None if limit is None else bytes_text(limit),
            "address space": bytes_text(self.address_space_bytes),
        }


def _read_ahead(given: int | str | None) -> tuple[int | None, list[str] | None]:
    """Return how many frames are kept for pages read ahead, and what predicts these pages."""
    words = [] if given is None else [word.strip() for word in str(given).split(",")]
    numbers = [int(word) for word in words if word.isdecimal()]
    names = [word for word in words if not word.isdecimal()]
    if len(numbers) > 1:
        raise UsageError(
            option("read-ahead") + f" {given} has several numbers", "give one number of frames"
        )
    return next(iter(numbers), None), names or None


def kept_frames(frames: int) -> int:
    """Return how many frames are kept for writes, and as many for reading ahead, by default.

    A 32nd of the frames, at most 64. With fewer than 512 frames a sixteenth, at most 16, since with
    less pages would be written and read one by one.
    """
    return min(64, max(frames // 32, min(16, frames // 16)))


def _frames_to_read_ahead(frames: int, reserve: int) -> int:
    """Return how many frames are kept for pages read ahead if the user does not say."""
    if frames < LEAST_TO_READ_AHEAD or reserve > frames // 2:
        return 0
    return kept_frames(frames)


def _address_space(text: str) -> int:
    """Return the bytes that a process can have paged."""
    size_bytes = parsed_bytes("address-space", text)
    if not PAGE_BYTES <= size_bytes <= LARGEST_ADDRESS_SPACE_BYTES:
        largest = bytes_text(LARGEST_ADDRESS_SPACE_BYTES)
        raise UsageError(
            option("address-space") + f" {text} is out of range",
            f"give a size from 4 KiB to {largest}",
        )
    return size_bytes


def _frames(memory: str | None, frames: int | None) -> int:
    """Return the frames of each process, at least one."""
    if (memory is None) == (frames is None):
        raise UsageError(
            "the memory size is given by " + option("frames") + " or by " + option("memory"),
            "give one of them",
        )
    if memory is None:
        assert frames is not None
        check_range("frames", frames, 1, MAXIMUM_FRAMES)
        return frames
    if "%" in memory:
        raise UsageError(
            option("memory") + f" {memory}: a program's footprint is not known before it has run",
            "give a size such as 16MiB",
        )
    return max(1, parsed_bytes("memory", memory) // PAGE_BYTES)
