"""The caches between a captured program and its memory."""

from dataclasses import dataclass
from typing import Self

from clockhand.study.errors import UsageError, option
from clockhand.study.sizes import parsed_bytes

MAXIMUM_BYTES = 2**30
MINIMUM_LINE_BYTES = 4


@dataclass(frozen=True)
class Caches:
    """A split first level and, if it has bytes, a unified second one; LRU, write-back.

    Attributes:
        instruction_bytes: Bytes of the first-level instruction cache.

        data_bytes: Bytes of the first-level data cache.

        ways: Lines per set of both.

        line_bytes: Bytes of a line, on both levels.

        second_bytes: Bytes of the second level; 0 for none.

        second_ways: Lines per set of the second level.

    Raises:
        UsageError: a cache does not have a power of two of sets.
    """

    instruction_bytes: int = 16 * 1024
    data_bytes: int = 16 * 1024
    ways: int = 4
    line_bytes: int = 32
    second_bytes: int = 0
    second_ways: int = 8

    def __post_init__(self) -> None:
        if not (_is_power_of_two(self.line_bytes) and self.line_bytes >= MINIMUM_LINE_BYTES):
            raise UsageError(
                option("line")
                + (
                    f" {self.line_bytes}: a line has a power of two of bytes, {MINIMUM_LINE_BYTES} "
                    "or more"
                ),
                "use 32, for example",
            )
        self._check("instruction-cache", self.instruction_bytes, "ways", self.ways)
        self._check("data-cache", self.data_bytes, "ways", self.ways)
        if self.second_bytes:
            self._check("second-cache", self.second_bytes, "second-ways", self.second_ways)

    @classmethod
    def parse(
        cls,
        *,
        instruction_cache: str,
        data_cache: str,
        ways: int,
        line: str,
        second_cache: str,
        second_ways: int,
    ) -> Self:
        """Read sizes as users write them: ``16KiB``, ``32``."""
        return cls(
            parsed_bytes("instruction-cache", instruction_cache),
            parsed_bytes("data-cache", data_cache),
            ways,
            parsed_bytes("line", line),
            parsed_bytes("second-cache", second_cache),
            second_ways,
        )

    def _check(self, size_name: str, size_bytes: int, ways_name: str, ways: int) -> None:
        sets, rest = divmod(size_bytes, ways * self.line_bytes) if ways > 0 else (0, 0)
        if rest or not _is_power_of_two(sets) or size_bytes > MAXIMUM_BYTES:
            raise UsageError(
                option(size_name)
                + f" {size_bytes}: with {ways} ways and lines of {self.line_bytes} bytes "
                "this is not a power of two of sets within 1 GiB",
                "change the size or " + option(ways_name),
            )

    def __str__(self) -> str:
        second = "no second level"
        if self.second_bytes:
            second = f"second level {_shown(self.second_bytes)}, {self.second_ways} ways"
        return (
            f"split first level {_shown(self.instruction_bytes)} + {_shown(self.data_bytes)}, "
            f"{self.ways} ways, {self.line_bytes}-byte lines, {second}, LRU, write-back, "
            "write-allocate, cold start"
        )


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _shown(size_bytes: int) -> str:
    for unit, name in ((2**20, "MiB"), (2**10, "KiB")):
        if size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} bytes"
