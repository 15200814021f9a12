"""The table of a study in an experiment: its keys are the options that the engine declares."""

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from clockhand import _engine
from clockhand.datasets.layout import Layout
from clockhand.study.errors import UsageError
from clockhand.study.options import Option, key_of
from clockhand.study.policies import Policy
from clockhand.study.records import Fields, Record
from clockhand.study.run import Options

MOST_COMBINATIONS = 100_000
"""Of a policy's parameters, and of lists; more are a mistake, and the cells would fill memory."""

VALUES = (str, int, float)
ONE_KIND: Mapping[str, tuple[type, str]] = {
    "flag": (bool, "true or false"),
    "whole": (int, "a whole number"),
    "word": (str, "a text"),
    "device": (str, "a text"),
}
"""What options take, by their kind; others take texts and numbers."""


def read_table(
    layout: Layout, table: Record, beside: Callable[[str], str], *, own_names: bool
) -> list[Options]:
    """Check the table of a study, and return the options of each combination of its lists.

    Lists that the study makes its cells of stay lists.

    Args:
        layout: The study.
        table: The keys with their values.
        beside: Gives a path in the file as it is seen from where the command runs.
        own_names: Whether keys may be the command's own names, too.

    Raises:
        UsageError: a key is unknown, or a value of the wrong kind or out of range.
    """
    options, study = layout.options, layout.study
    given = _by_option(options, table, own_names)
    listed = _engine.grids()[study.name]["listed"]
    lists: Fields = {}
    single: dict[str, list[object]] = {}
    for name, option in options.items():
        # Other studies list some options that the pages study takes one at a time.
        if option.kind in ("names", "list", "sizes") and name in listed:
            lists[name] = _listed(option, given, beside)
        else:
            values = _values(option, given) if name in given else [None]
            single[name] = [None if it is None else _checked(option, it, beside) for it in values]
    _check_count("the lists have", math.prod(map(len, single.values())))
    settings = (
        study.options({**lists, **dict(zip(single, values, strict=True))})
        for values in itertools.product(*single.values())
    )
    # Everything is named once: patterns and ranges may stand for the same.
    names = [name for name, option in options.items() if option.kind == "names"]
    return [{**it, **{name: list(dict.fromkeys(it[name])) for name in names}} for it in settings]


def _by_option(options: Mapping[str, Option], table: Record, own_names: bool) -> Fields:
    """Return the values of a table by the names of options."""
    given: Fields = {}
    spellings = {key_of(name): name for name in options}
    known = ", ".join(spellings)
    spellings |= {name: name for name in options} if own_names else {}
    for key, value in table.items():
        if key not in spellings:
            raise UsageError(f"unknown key {key!r}", f"the keys are {known}")
        if spellings[key] in given:
            raise UsageError(f"{key} is given twice, in singular and plural", "leave one out")
        given[spellings[key]] = value
    return given


def _values(option: Option, given: Fields) -> list[object]:
    """A value or a list of values; at least one."""
    value = given[option.name]
    values = value if isinstance(value, list) else [value]
    if not values:
        raise UsageError(f"{option.key} is empty", "name at least one")
    return values


def _listed(option: Option, given: Fields, beside: Callable[[str], str]) -> str | list[str] | None:
    """The values of a list that cells are made of."""
    if option.name not in given:
        if option.required and option.name in ("policy", "buffer"):
            raise UsageError(f"there is no {option.key}", "add it")
        return None
    values = _values(option, given)
    if option.kind == "names":
        return list(dict.fromkeys(_names(option, values, beside)))
    texts = [str(_checked(option, value, beside)) for value in values]
    return texts if option.kind == "list" else ",".join(texts)


def _checked(option: Option, value: object, beside: Callable[[str], str]) -> object:
    """A value, if it is of the option's kind; true and false are no numbers."""
    kinds, what = ONE_KIND.get(option.kind, (VALUES, "a text or a number"))
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise UsageError(f"{option.key} = {value!r} is not {what}", "see docs/sweeps.md")
    return _file(value, beside) if option.kind == "device" else value


def _file(text: object, beside: Callable[[str], str]) -> str:
    """A device or drive; a file of one as it is seen from where the command runs."""
    path = beside(str(text))
    return path if os.path.isfile(path) else str(text)


def _names(option: Option, values: Iterable[object], beside: Callable[[str], str]) -> Iterator[str]:
    """Names with parameters, from texts and from tables of the parameters' values."""
    key = option.key
    for value in values:
        if isinstance(value, str):
            yield _file(value, beside) if option.of in ("devices", "ssds") else value
            continue
        if not isinstance(value, dict) or not value:
            raise UsageError(f"{key} = {value!r} names none", "write 'NAME' or { NAME = {} }")
        for name, grid in value.items():
            if not isinstance(grid, dict):
                raise UsageError(
                    f"{key}: the parameters of {name} are not a table",
                    f"write {{ {name} = {{ parameter = [values] }} }}",
                )
            yield from _combinations(key, name, grid)


def _combinations(key: str, name: str, grid: Record) -> Iterator[str]:
    """A policy with each combination of the values of its parameters."""
    lists = [value if isinstance(value, list) else [value] for value in grid.values()]
    for parameter, values in zip(grid, lists, strict=True):
        if not values:
            raise UsageError(f"{key}: {name} has no value of {parameter}", "give at least one")
        if not all(isinstance(one, VALUES) for one in values):
            raise UsageError(
                f"{key}: {parameter} = {values!r} of {name} are no values",
                "give numbers, texts, true or false",
            )
    _check_count(f"{key}: {name} has", math.prod(map(len, lists)), " of parameters")
    for chosen in itertools.product(*lists):
        yield str(Policy(name, **dict(zip(grid, chosen, strict=True))))


def _check_count(what: str, count: int, of: str = "") -> None:
    if count > MOST_COMBINATIONS:
        raise UsageError(
            f"{what} {count:,} combinations{of}", f"give at most {MOST_COMBINATIONS:,}"
        )
