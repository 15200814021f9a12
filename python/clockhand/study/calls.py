"""Calls of the library: what they take, and errors that name options by Python's keywords."""

import difflib
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from clockhand.study.errors import ClockhandError, Piece
from clockhand.study.options import TYPES, Option, options_of, spellings
from clockhand.study.progress import Watching

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

CALLS_OF_COMMANDS = {
    "`clockhand devices`": "clockhand.devices()",
    "clockhand trace synthesize --list": "clockhand.recipes()",
}
"""Commands that errors refer to, and the calls that do the same."""

DOCSTRING_COLUMNS = 96

STUDY_ARGS = """
Args:
    traces: One trace or several, as :class:`Trace` or as paths.
    options: Those of the study, of its run, and how paths are read.
"""
"""What stands in the docstring of every study, behind its first paragraphs."""

RETURNS = "\n\nReturns:"

STUDY_RAISES = """

Raises:
    UsageError: something is unknown, out of range or contradictory.
    ClockhandError: a trace cannot be read.
"""


@dataclass(frozen=True)
class Argument:
    """An argument of a function that its ``**`` stands for.

    Attributes:
        keyword: Its name.
        type: What it takes.
        default: What it is if it is not given; ``inspect.Parameter.empty`` if it must be.
        help: What it means.
    """

    keyword: str
    type: Any
    default: object
    help: str

    def parameter(self) -> inspect.Parameter:
        """Return it as signatures have it."""
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.keyword, kind, default=self.default, annotation=self.type)

    def entry(self) -> list[str]:
        """Return the lines of its entry in a docstring."""
        return textwrap.wrap(
            f"{self.keyword}: {self.help}",
            DOCSTRING_COLUMNS,
            initial_indent="    ",
            subsequent_indent="        ",
            break_on_hyphens=False,
        )


def argument(option: Option) -> Argument:
    """Return an option as the argument of a function."""
    kind = TYPES[option.kind]
    if option.required:
        return Argument(option.keyword, kind, inspect.Parameter.empty, option.python_help)
    may_be_none = option.value is None and option.kind != "format"
    return Argument(
        option.keyword, kind | None if may_be_none else kind, option.value, option.python_help
    )


RUN = (
    Argument("jobs", int | None, None, "Threads, from 1 to 1024; all cores if not given."),
    Argument(
        "watch", Watching, None,
        "Called now and then with the progress; a bar is shown if not given, and nothing with "
        "``False``.",
    ),
    Argument(
        "command", str | None, None,
        "The command line for the facts; the equivalent one if not given.",
    ),
)  # fmt: skip
"""Arguments of every call that runs a study."""

SHOWN = RUN[1:]
"""What calls take that run in one thread."""

_NOT_OF_A_FILE = ("trace_format", "as_one", "order", "scratch")


def arguments(study: str, names: Iterable[str] | None = None) -> tuple[Argument, ...]:
    """Return the options of a study as arguments; some of them, or all if no names are given."""
    options = options_of(study)
    return tuple(argument(options[name]) for name in (options if names is None else names))


PART = arguments("reading", ("only", "streams", "skip", "limit"))
"""Which requests of a trace are wanted."""

FILE_READING = tuple(it for it in arguments("reading") if it.keyword not in _NOT_OF_A_FILE)
"""Options of reading a trace file, and the choice of its requests."""

READING = arguments("reading")
"""What calls take in which traces may be paths."""


def unknown_keyword(word: str, known: Iterable[str]) -> str:
    """Return what is wrong with a keyword that is not among those known, and what was meant."""
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    meant = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
    return f"there is no keyword argument {word!r}; {meant}"


def in_python(
    *declared: Argument, renamed: Mapping[str, str] | None = None
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Have a function name what was meant by an unknown keyword, and its own keywords in errors.

    Args:
        declared: The arguments behind its ``**``, for its signature and its docstring.
        renamed: Words for options that the function does not take as keywords, by the options'
            names with underscores.
    """

    def decorated(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        signature = _signature(function, declared)
        known = set(signature.parameters)
        required = {one.keyword for one in declared if one.default is inspect.Parameter.empty}

        @wraps(function)
        def called(*positional: Parameters.args, **named: Parameters.kwargs) -> Result:
            for word in named:
                if word not in known:
                    raise TypeError(unknown_keyword(word, known))
            if not named.keys() >= required:
                try:
                    signature.bind(*positional, **named)
                except TypeError as error:
                    raise TypeError(f"{function.__name__}() {error}") from None
            try:
                return function(*positional, **named)
            except ClockhandError as error:
                for piece in error.pieces:
                    ours = _spelled(piece, known, renamed or {})
                    if ours is not None:
                        error.spellings.setdefault(piece, ours)
                raise

        vars(called).update(__signature__=signature, declared=declared)
        called.__doc__ = _docstring(function, declared)
        return called

    return decorated


def _signature(function: Callable[..., object], declared: Sequence[Argument]) -> inspect.Signature:
    """Return a function's signature with the arguments that ``**`` stands for."""
    signature = inspect.signature(function)
    rest = inspect.Parameter.VAR_KEYWORD
    own = [one for one in signature.parameters.values() if one.kind is not rest]
    return signature.replace(parameters=[*own, *(one.parameter() for one in declared)])


def _docstring(function: Callable[..., object], declared: Sequence[Argument]) -> str | None:
    """Return a function's docstring with the arguments that ``**`` stands for."""
    if function.__doc__ is None:
        return None
    text = inspect.cleandoc(function.__doc__)
    if not declared:
        return text
    if "\nArgs:\n" not in text:
        about, found, returned = text.partition(RETURNS)
        text = f"{about}\n{STUDY_ARGS.rstrip()}{found}{returned}{STUDY_RAISES}"
    lines = text.strip().splitlines()
    rest = next(reversed(inspect.signature(function).parameters))
    begin = next(at for at, line in enumerate(lines) if line.startswith(f"    {rest}:"))
    end = begin + 1
    while lines[end].startswith("        "):
        end += 1
    lines[begin:end] = [line for one in declared for line in one.entry()]
    return "\n".join(lines)


def _spelled(piece: Piece, known: set[str], renamed: Mapping[str, str]) -> str | None:
    """Return how callers of a function spell a piece of an error; ``None`` if not otherwise."""
    kind, text = piece
    if kind == "command":
        return CALLS_OF_COMMANDS.get(text)
    if kind != "option":
        return None
    name = text.replace("-", "_")
    if name in renamed:
        return renamed[name]
    keyword = "purpose" if name == "for" else spellings("keyword").get(name)
    return next((word for word in (name, keyword) if word in known), None)


def offered(names: Iterable[str], inside: Collection[str] = ()) -> list[str]:
    """Return which names of an object completion offers: those that are of use to who has it.

    Args:
        names: All names.
        inside: Public ones that are for Clockhand itself.
    """
    of_use = {name for name in names if not name.startswith("_") or name.startswith("__")}
    return sorted(of_use - set(inside))
