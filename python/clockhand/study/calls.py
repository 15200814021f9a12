"""Calls of the library: their mistakes are told in the words of Python, not of the command."""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from clockhand._engine import ClockhandError
from clockhand.study.documented import whole_docstring, whole_signature

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

KEYWORDS_OF_FLAGS = {
    "admission": "admissions",
    "buffer": "buffers",
    "device": "devices",
    "for": "purpose",
    "policy": "policies",
    "ssd": "ssds",
}
"""Keywords that differ from the option of the command, where a function has them."""

CALLS_OF_COMMANDS = {
    "`clockhand devices`": "clockhand.devices()",
    "clockhand trace synthesize --list": "clockhand.recipes()",
}
"""What messages refer to: commands, and the calls that do the same."""

_is_command = False


def serve_the_command() -> None:
    """Leave options as the command writes them in messages from now on: it makes the calls."""
    global _is_command
    _is_command = True


def unknown_keyword(word: str, known: Iterable[str]) -> str:
    """Return what is wrong with a keyword that is not among those known, and what was meant."""
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    meant = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
    return f"there is no keyword argument {word!r}; {meant}"


def in_python(
    *keywords: type,
    like: Callable[..., object] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Have a function name what was meant by an unknown keyword, and its own keywords in errors.

    Args:
        keywords: The typed dictionaries of its ``**`` parameter, whose keywords ``help`` shows.
        like: A function that takes the same, whose parameters and texts ``help`` shows.
        renamed: What stands in messages for options that are no keywords of the function, by the
            options' names with underscores.
    """

    def decorated(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        known = {
            name
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        }
        known |= {name for mapping in keywords for name in mapping.__annotations__}

        @wraps(function)
        def called(*positional: Parameters.args, **named: Parameters.kwargs) -> Result:
            for word in named:
                if word not in known:
                    raise TypeError(unknown_keyword(word, known))
            try:
                return function(*positional, **named)
            except ClockhandError as error:
                if not _is_command:
                    error.args = (_in_keywords(str(error), known, renamed or {}),)
                raise

        vars(called)["__signature__"] = whole_signature(function, keywords, like)
        called.__doc__ = whole_docstring(function, keywords, like)
        return called

    return decorated


def _in_keywords(message: str, known: set[str], renamed: Mapping[str, str]) -> str:
    """Return a message with the function's keywords in place of the command's options."""
    for command, call in CALLS_OF_COMMANDS.items():
        message = message.replace(command, call)

    def keyword(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        if name in renamed:
            return renamed[name]
        for word in (name, KEYWORDS_OF_FLAGS.get(name, "")):
            if word in known:
                return word
        return match[0]

    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", keyword, message)
