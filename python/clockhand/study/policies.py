"""What the text of a policy or a write buffer names, as the engine's catalog knows it.

Such texts are taken apart here and nowhere else.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Self

from clockhand import _engine

BASELINE = "clock"
"""The policies that others are compared with."""

OPTIMUM = "min"
"""Misses least, and knows the future."""

BOUND = "bound"
"""What no policy can go below."""

FEASIBLE = "opt-feasible"
"""The other end of the bracket of the optimum, a schedule that knows the future."""


IN_FILE = ".py:"
"""What stands between the file and the class in the name of a policy."""

IN_LIBRARY = ".so:"
"""Separator of library and policy in the name of a policy in a library."""


class Policy(str):
    """A policy or a write buffer with parameters, for everything that takes its text.

    ``Policy("craw", c=13.3)`` is ``"craw:c=13.3"``.

    Args:
        name: Its name.
        parameters: Its parameters by name.
    """

    __slots__ = ()

    def __new__(cls, name: str, /, **parameters: str | float | bool) -> Self:
        settings = ",".join(
            f"{key}={str(value).lower() if isinstance(value, bool) else value}"
            for key, value in parameters.items()
        )
        return super().__new__(cls, f"{name}:{settings}" if settings else name)


def called(texts: Iterable[str]) -> dict[str, str]:
    """Return how tables and figures call policies: those of one's own by their class alone, unless
    two files, or a file and the catalog, have one of that name."""
    short = {text: _behind_file(text) for text in dict.fromkeys(texts)}
    counts = Counter(short.values())
    return {
        text: text if counts[name] > 1 or kind_of(name) is not None else name
        for text, name in short.items()
    }


def _behind_file(text: str) -> str:
    for separator in (IN_FILE, IN_LIBRARY):
        _, found, name = text.partition(separator)
        if found:
            return name
    return text


def name_of(text: str) -> str:
    """Return the name in a text, without parameters."""
    return _engine.policy_name(text)


def settings_of(text: str) -> list[str]:
    """Return the parameters of a text, ``name=value`` each."""
    behind = text.strip().removeprefix(name_of(text)).lstrip().removeprefix(":")
    return behind.split(",") if behind else []


def written(name: str, settings: Iterable[str]) -> str:
    """Return the text of a name with parameters."""
    behind = ",".join(settings)
    return f"{name}:{behind}" if behind else name


def without(text: str, parameter: str) -> str:
    """Return a text without one of its parameters."""
    kept = (it for it in settings_of(text) if not it.startswith(f"{parameter}="))
    return written(name_of(text), kept)


def kind_of(text: str) -> str | None:
    """Return the kind of a policy in the catalog, or ``bound``; ``None`` if unknown."""
    return _kinds().get(name_of(text))


def kind_in_rows(text: str) -> str | None:
    """Return the value of the column ``kind`` for a policy, as the engine does; ``None`` if
    unknown."""
    kind = kind_of(text)
    return {"bit-driven": "bits", "access-driven": "access"}.get(kind or "", kind)


def reads_the_future(text: str) -> bool:
    """Tell whether no running system can do it, so that no finding may recommend it."""
    return kind_of(text) in ("offline", "bound")


def end_of_bracket(text: str) -> str | None:
    """Return which end of the bracket of the optimum a text names, if it is one."""
    return name_of(text) if kind_of(text) == "bound" else None


@cache
def _kinds() -> Mapping[str, str]:
    return {entry["name"]: entry["kind"] for entry in _engine.policies()}
