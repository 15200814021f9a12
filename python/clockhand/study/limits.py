"""The ranges of numbers that options take."""

from clockhand.study.errors import UsageError, option

MAXIMUM_COUNT = 2**64 - 1
MAXIMUM_FRAMES = 2**32 - 2
MAXIMUM_JOBS = 1024
MAXIMUM_SEED = 2**64 - 1


def check_range(option_name: str, value: int, smallest: int, largest: int) -> None:
    """Refuse a number that is out of the range of an option, by its name in the command.

    Raises:
        UsageError: ``value`` is below ``smallest`` or above ``largest``.
    """
    if not smallest <= value <= largest:
        raise UsageError(
            option(option_name) + f" {value} is out of range",
            f"give a whole number from {smallest} to {largest}",
        )
