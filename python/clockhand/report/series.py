"""One series per policy, however it was written: with its defaults or without."""

from collections.abc import Hashable, Iterable, Mapping
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
    first: dict[str, str] = {}
    merged: dict[str, dict[Hashable, Any]] = {}
    for spelling, meaning in meanings.items():
        same = (name for name, earlier in merged.items() if _agree(earlier, meaning))
        name = next(same, spelling)
        first[spelling] = name
        merged[name] = {**meaning, **merged.get(name, {})}
    return first


def _agree(one: Mapping[Hashable, Any], other: Mapping[Hashable, Any]) -> bool:
    """Tell whether two spellings mean the same wherever both are, which is somewhere."""
    both = one.keys() & other.keys()
    return bool(both) and all(one[place] == other[place] for place in both)
