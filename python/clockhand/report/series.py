"""One series per policy, however it was written: with its defaults or without."""

from collections.abc import Hashable, Iterable
from typing import Any


def first_spellings(
    cells: Iterable[tuple[str, Hashable, Any]],
) -> dict[str, str]:
    """Return each spelling with the first one that means the same at every place.

    Args:
        cells: Spelling, place (a memory size) and what the spelling means there with all defaults
            filled in, which may depend on the place.
    """
    meanings: dict[str, dict[Hashable, Any]] = {}
    for spelling, place, meaning in cells:
        meanings.setdefault(spelling, {})[place] = meaning or spelling
    first: dict[frozenset[Any], str] = {}
    return {
        spelling: first.setdefault(frozenset(meaning.items()), spelling)
        for spelling, meaning in meanings.items()
    }
