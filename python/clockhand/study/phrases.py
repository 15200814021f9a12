"""Lists of words inside sentences."""

from collections.abc import Iterable


def all_of(words: Iterable[str]) -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    return _listed(list(words), "and")


def one_of(words: Iterable[str]) -> str:
    """Return ``a``, ``a or b`` or ``a, b or c``."""
    return _listed(list(words), "or")


def counted(count: int, total: int, things: str) -> str:
    """Return ``3 of 4 inputs``, ``all 4 inputs`` or ``both inputs``."""
    if count < total or total < 2:
        return f"{count} of {total} {things}"
    return f"both {things}" if total == 2 else f"all {total} {things}"


MOST_LISTED = 5
"""Of more words the first few are named, and the others counted: a list of fifteen is not read."""


def _listed(words: list[str], last: str) -> str:
    if len(words) > MOST_LISTED:
        words = [*words[: MOST_LISTED - 2], f"{len(words) - MOST_LISTED + 2} others"]
    *others, end = words
    return f"{', '.join(others)} {last} {end}" if others else end
