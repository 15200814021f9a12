"""The options of studies, and of reading traces, as the engine declares them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from clockhand import _engine
from clockhand.study.limits import check_range
from clockhand.study.records import Fields, Record
from clockhand.study.selections import expanded

SHARE_DECIMALS = 10
"""Of a percentage that comes of a float, far below one page of any footprint."""

ENDS = ("bound", "opt-feasible")
"""The ends of the bracket of the optimum of one memory; two tiers do not have them."""

Listed = int | float | str | Iterable[int | float | str]
"""One value, several, or a text of several with commas between them."""

Device = str | os.PathLike[str]
"""A name with options, or a file."""

Names = str | os.PathLike[str] | type | Sequence[str | os.PathLike[str] | type]
"""One name with parameters or several; a class is a policy of one's own."""

FormatOfText = str | Record | None
"""The name of a format, or ``csv:`` and the columns of a table as one text, or as a mapping of the
same keywords: ``{"sep": ";", "op": "cmd", "address": "lba*512", "write": ["W", "WS"]}``."""

TYPES: Record = {
    "text": str, "word": str, "whole": int, "number": float | str, "flag": bool, "answer": bool,
    "whole_and_words": int | str,
    "sizes": Listed, "list": Listed, "names": Names, "device": Device, "file": Device,
    "format": FormatOfText,
}  # fmt: skip
"""What Python's functions take, by kind of option."""


@dataclass(frozen=True)
class Option:
    """One option of a study.

    Attributes:
        name: Its name, with underscores.

        keyword: Its name as an argument of Python's functions.

        key: Its name in the file of an experiment.

        required: Whether a call has to give it.

        kind: What it takes, of which :data:`TYPES` has the names.

        default: What it is if it is not given, as users write it; ``None`` if it has no value then.

        help: What it means, for the command.

        python_help: The same for Python.

        words: The words of a ``word``.

        least: The least of a ``whole`` number.

        most: The largest of a ``whole`` number.

        of: What the ``names`` name.

        metavar: What the command's help has for its value; by its type if empty.
    """

    name: str
    keyword: str
    key: str
    required: bool
    kind: str
    default: str | None
    help: str
    python_help: str
    words: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    of: str = ""
    metavar: str = ""

    @property
    def long_name(self) -> str:
        """Its long name in the command, without the dashes."""
        return self.name.replace("_", "-")

    @property
    def value(self) -> str | int | bool | None:
        """Its default as a value of its type."""
        if self.kind == "flag":
            return False
        return self.default if self.default is None or self.kind != "whole" else int(self.default)

    def checked(self, value: Any) -> Any:
        """Return a value as the engine takes it.

        Args:
            value: A number, a text, a path, a list of them, or ``None`` for the default.

        Raises:
            UsageError: a number is out of range, or a pattern matches nothing.
        """
        if self.kind == "flag":
            return bool(value)
        if value is None:
            value = self.default
        if self.kind == "answer":
            return value
        if self.kind == "whole":
            number = None if value is None else int(value)
            if number is not None:
                check_range(self.long_name, number, self.least, self.most)
            return number
        if self.kind == "names":
            return [] if value is None else expanded(self.long_name, value, names_of(self.of))
        if self.kind == "list":
            return items(value)
        if self.kind == "sizes":
            return joined(value)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, float) and self.name == "sample":
            return format(Decimal(str(value)), "f")
        return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


@cache
def options_of(study: str) -> Mapping[str, Option]:
    """Return the options of a study by name, in the order of the command's help.

    Raises:
        KeyError: the engine has no such study.
    """
    return {option["name"]: _option(option) for option in _engine.options()[study]}


@cache
def spellings(way: Literal["keyword", "key"]) -> Mapping[str, str]:
    """Return the names of options for Python, or for experiments, by those of the command.

    They are the same in every study.
    """
    declared = (it for study in _engine.options() for it in options_of(study).values())
    return {it.name: getattr(it, way) for it in declared}


def key_of(option: str) -> str:
    """Return the key of an option in the file of an experiment."""
    return spellings("key").get(option, option)


def _option(declared: Record) -> Option:
    """Return an option; its text has a paragraph for the command, and perhaps one for Python."""
    help, _, python_help = declared["help"].partition("\n\n")
    words = tuple(declared.get("words", ()))
    texts = {"help": _one_line(help), "python_help": _one_line(python_help or help)}
    return Option(**{**declared, **texts, "words": words})


def checked(study: str, given: Record) -> Fields:
    """Return all options of a study as the engine takes them, with defaults for what is not given.

    Raises:
        UsageError: a number is out of range, or a pattern matches nothing.
    """
    options = options_of(study)
    unknown = given.keys() - options.keys()
    assert not unknown, f"{study} has no options {', '.join(sorted(unknown))}"
    return {name: option.checked(given.get(name)) for name, option in options.items()}


def names_of(kind: str) -> Sequence[str]:
    """Return what there is of ``policies``, ``devices`` and so on, for lists with patterns."""
    match kind:
        case "policies_and_bounds":
            return [entry["name"] for entry in _engine.policies()]
        case "policies":
            return [entry["name"] for entry in _engine.policies() if entry["kind"] != "bound"]
        case "tier_policies":
            of_pages = [entry["name"] for entry in _engine.policies()]
            kept = [name for name in of_pages if not name.startswith("linux") and name not in ENDS]
            return [*kept, *(entry["name"] for entry in _engine.tier_policies()), "bound?"]
        case "tiers":
            return [entry["name"] for entry in _engine.tier_profiles()]
        case "write_buffers":
            # An offline one runs if it is named: no device could be told to take it.
            listed = _engine.write_buffers()
            return [entry["name"] for entry in listed if "offline" not in entry["kind"]]
        case "devices":
            return [entry["name"] for entry in _engine.devices()]
        case "ssds":
            return [entry["name"] for entry in _engine.ssds()]
        case "admissions":
            return _engine.admissions()
        case "readings":
            return _engine.readings()
        case "arrivals":
            return ["trace"]
        case _:
            raise AssertionError(kind)


def items(value: object) -> list[str]:
    """Return the items of a list, also of one that is a text with commas; none of ``None``."""
    if value is None:
        return []
    if isinstance(value, str):
        return [item.strip() for item in value.split(",")]
    if isinstance(value, Iterable):
        return [item for part in value for item in items(str(part))]
    return [str(value)]


def joined(value: object) -> str | None:
    """Return sizes in one text with commas; ``None`` of ``None``.

    A float is a share: 0.05 is 5 %, also where arithmetic has left it a little beside.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return ",".join(joined(item) or "" for item in value)
    if isinstance(value, float) and 0 < value <= 1:
        return f"{100 * value:.{SHARE_DECIMALS}f}".rstrip("0").rstrip(".") + "%"
    return str(value)


def _one_line(text: str) -> str:
    return " ".join(text.split())
