"""The options of every command that reads a trace."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any

import typer

from clockhand.completion.values import values_of
from clockhand.study.options import Option, options_of

OPTIONS = {name: it for name, it in options_of("reading").items() if name != "scratch"}
"""Scratch is of the commands alone whose views can be kept in files."""

FLAGS: Mapping[str, tuple[str, ...]] = {"memory_limit": ("--memory-limit", "--memory-budget")}
"""Options that the command also takes under another name."""

METAVARS = {"memory_limit": "SIZE"}


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading, behind its own, as one ``reading``.

    Typer makes options of the parameters in a function's signature: these take the place of the
    command's parameter ``reading``.
    """
    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "reading"]
    options = [_parameter(option) for option in OPTIONS.values()]

    @wraps(command)
    def with_options(**given: object) -> None:
        reading = {name: given.pop(name) for name in OPTIONS}
        if reading["fetches"] is not None:
            reading["fetches"] = reading["fetches"] == "yes"
        command(**given, reading=reading)

    vars(with_options)["__signature__"] = signature.replace(parameters=[*own, *options])
    return with_options


def _parameter(option: Option) -> inspect.Parameter:
    """Return the parameter of which Typer makes the option; words are choices."""
    words = ("yes", "no") if option.kind == "answer" else option.words
    kind: Any = str
    if words:
        kind = _choice(option.name, words)
    elif option.kind in ("flag", "whole"):
        kind = bool if option.kind == "flag" else int
    about = typer.Option(
        *FLAGS.get(option.name, (f"--{option.long_name}",)),
        help=option.help,
        metavar=METAVARS.get(option.name),
        min=option.least if kind is int else None,
        autocompletion=values_of("formats") if option.name == "trace_format" else None,
    )
    default = option.value
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind | None if default is None else kind, about],
    )


def _choice(name: str, words: Sequence[str]) -> Any:
    return StrEnum(name, {word.upper(): word for word in words})
