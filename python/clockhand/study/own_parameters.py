"""What the engine has to know of a policy in Python: its methods, its period, its parameters."""

import inspect
import typing
from fractions import Fraction
from typing import Literal

from clockhand.study.errors import UsageError
from clockhand.study.records import Fields

METHODS = {
    "choose_victim": ("frames",),
    "loaded": ("frame", "page", "is_write", "frames"),
    "hit": ("frame", "is_write", "frames"),
    "dropped": ("frame", "frames"),
    "written_back": ("frame", "frames"),
    "make_room_for": ("page",),
    "tick": ("frames",),
}
"""The methods that Clockhand calls, and what it gives them."""

DIGEST = "sha256"
"""The parameter that tells versions of a policy's source apart, so that results of one are never
taken for those of another."""

_SIZES = ("frames", "pages")
_COST = "write_read_ratio"
_SEED = "seed"
_MOST_COUNT = 2**64 - 1
_MOST_TERM = 2**32 - 1


def refused(name: str, why: str, remedy: str) -> UsageError:
    return UsageError(f"policy {name}: {why}", remedy)


def check_methods(name: str, own: type) -> None:
    if not hasattr(own, "choose_victim"):
        raise refused(
            name,
            f"class {own.__name__} lacks choose_victim(self, frames)",
            "add it to choose a page",
        )
    for method, arguments in METHODS.items():
        function = inspect.getattr_static(own, method, None)
        if function is None or not inspect.isfunction(function):
            continue
        try:
            inspect.signature(function).bind(own, *arguments)
        except TypeError:
            raise refused(
                name,
                f"{method}{inspect.signature(function)} cannot be called",
                f"it must take ({', '.join(('self', *arguments))})",
            ) from None


def period(name: str, own: type) -> int | None:
    period: object = getattr(own, "period", None)
    has_tick = hasattr(own, "tick")
    if period is None and not has_tick:
        return None
    if not has_tick:
        raise refused(name, "it has a period, but no tick(self, frames)", "add it")
    if not isinstance(period, int) or not 1 <= period <= _MOST_COUNT:
        raise refused(
            name,
            f"tick needs a period of 1 or more references, not {period!r}",
            "add period = 1000",
        )
    return period


def entry_of(name: str, given: str, default: str, words: list[str]) -> Fields:
    return {"name": name, "given": given, "default": default, "words": words}


def parameters(name: str, own: type) -> list[Fields]:
    """Describe what ``__init__`` takes; the engine checks values and passes them by name."""
    try:
        signature = inspect.signature(own)
    except ValueError:  # What is not written in Python may have none.
        return []
    found = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise refused(name, f"__init__ takes {parameter.name} by place alone", "remove the /")
        found.append(_described(name, own, parameter))
    return found


def _described(name: str, own: type, parameter: inspect.Parameter) -> Fields:
    word, default = parameter.name, parameter.default
    if word in _SIZES:
        return entry_of(word, word, "0", [])
    if word == _SEED:
        return entry_of(word, "seed", "", [])
    if word == _COST:
        return entry_of(word, "deviceratio", "", [])
    match default:
        case _ if word == DIGEST:
            wrong = "is kept for the digest of the source", "give the parameter another name"
        case inspect.Parameter.empty:
            wrong = (
                "has no default",
                "give it one, or call it frames, pages, seed or write_read_ratio",
            )
        case bool():
            return entry_of(word, "flag", str(default).lower(), [])
        case int() if 0 <= default <= _MOST_COUNT:
            return entry_of(word, "count", str(default), [])
        case float() | Fraction() if (ratio := _ratio(default)) is not None:
            return entry_of(word, type(default).__name__.lower(), ratio, [])
        case str() if default in (words := _words(own, word)):
            return entry_of(word, "word", default, words)
        case str():
            wrong = "has words as values", f'say which: {word}: Literal["{default}", ...]'
        case _:
            wrong = (
                f"has the default {default!r}",
                "give a whole number, a float or Fraction from 0, a bool or a word",
            )
    problem, remedy = wrong
    raise refused(name, f"the parameter {word} of __init__ {problem}", remedy)


def _ratio(number: float | Fraction) -> str | None:
    """The exact text of a number from 0, with terms of 32 bits."""
    try:
        ratio = Fraction(str(number))
    except ValueError:
        return None
    fits = ratio >= 0 and max(ratio.numerator, ratio.denominator) <= _MOST_TERM
    return str(ratio) if fits else None


def _words(own: type, parameter: str) -> list[str]:
    try:
        hints = typing.get_type_hints(vars(own).get("__init__", own))
    except Exception:  # An annotation may name what does not exist.
        return []
    hint = hints.get(parameter)
    if typing.get_origin(hint) is not Literal:
        return []
    return [word for word in typing.get_args(hint) if isinstance(word, str)]
