"""The ranges of numbers that options take."""

from clockhand import _engine

MAXIMUM_COUNT = 2**64 - 1
MAXIMUM_FRAMES = 2**32 - 2
MAXIMUM_JOBS = 1024
MAXIMUM_SEED = 2**64 - 1


def check_range(option: str, value: int, smallest: int, largest: int) -> None:
    """Refuse a number that is out of the range of an option of the command.

    Raises:
        UsageError: ``value`` is below ``smallest`` or above ``largest``.
    """
    if not smallest <= value <= largest:
        raise _engine.UsageError(
            f"{option} {value} is out of range; give a whole number from {smallest} to {largest}"
        )
