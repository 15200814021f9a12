"""The table of a study in an experiment: its keys are the options that the engine declares."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from clockhand import _engine
from clockhand.datasets.layout import Layout
from clockhand.study.errors import UsageError
from clockhand.study.options import Option, key_of
from clockhand.study.phrases import one_of
from clockhand.study.policies import Policy
from clockhand.study.records import Fields, Record
from clockhand.study.run import Options

MOST_COMBINATIONS = 100_000
"""A policy with more of them is a mistake: the cells alone would fill the memory."""

MOST_SETTINGS = 100_000
"""The same for options whose lists are combined."""


def read_table(
    layout: Layout, table: Record, beside: Callable[[str], str], place: str
) -> list[Options]:
    """Check the table of a study, and return the options of each combination of its lists.

    Lists that the study makes its cells of stay lists.

    Args:
        layout: The study.
        table: The keys with their values.
        beside: Gives a path in the file as it is seen from where the command runs.
        place: How errors name the table.

    Raises:
        UsageError: a key is unknown, or a value of the wrong kind or out of range.
    """
    return _Table(layout, table, beside, place).settings()


class _Table:
    def __init__(
        self, layout: Layout, table: Record, beside: Callable[[str], str], place: str
    ) -> None:
        self._study = layout.study
        self._options = layout.options
        self._beside = beside
        self._place = place
        self._given: Fields = {}
        spellings = {key_of(name): name for name in self._options}
        if place:  # A table also takes the command's own names.
            spellings |= {name: name for name in self._options}
        for key, value in table.items():
            if key not in spellings:
                known = ", ".join(key_of(name) for name in self._options)
                self._refuse(f"unknown key {key!r}", f"the keys are {known}")
            if spellings[key] in self._given:
                self._refuse(f"{key} is given twice, in singular and plural", "leave one out")
            self._given[spellings[key]] = value
        # Cells know their page size in bytes, however it was written.
        if "page_size" in self._options:
            self._given.setdefault("page_size", self._options["page_size"].default)

    def _refuse(self, problem: str, remedy: str) -> NoReturn:
        raise UsageError(f"{self._place}{problem}", remedy)

    def settings(self) -> list[Options]:
        grid = _engine.grids()[self._study.name]["listed"]
        lists: Fields = {}
        single: dict[str, list[object]] = {}
        for name, option in self._options.items():
            # Other studies list some options that the pages study takes one at a time.
            if option.kind in ("names", "list", "sizes") and name in grid:
                lists[name] = self._listed(option)
            else:
                single[name] = self._singles(option)
        count = 1
        for values in single.values():
            count *= len(values)
        if count > MOST_SETTINGS:
            self._refuse(
                f"the lists have {count:,} combinations", f"give at most {MOST_SETTINGS:,}"
            )
        return [
            self._each_once(
                self._study.options({**lists, **dict(zip(single, values, strict=True))})
            )
            for values in itertools.product(*single.values())
        ]

    def _each_once(self, options: Options) -> Options:
        """Name everything once: patterns and ranges may stand for the same."""
        names = [name for name, option in self._options.items() if option.kind == "names"]
        return {**options, **{name: list(dict.fromkeys(options[name])) for name in names}}

    def _values(self, name: str) -> list[Any]:
        """A value or a list of values; at least one."""
        value = self._given[name]
        values = value if isinstance(value, list) else [value]
        if not values:
            self._refuse(f"{key_of(name)} is empty", "name at least one")
        return values

    def _listed(self, option: Option) -> str | list[str] | None:
        name = option.name
        if name not in self._given:
            if option.kind == "names" and name in ("policy", "buffer") and option.default is None:
                self._refuse(f"there is no {key_of(name)}", "add it")
            return None
        values = self._values(name)
        if option.kind == "names":
            return list(dict.fromkeys(self._names(option, values)))
        for value in values:
            self._check_kind(option, value, (str, int, float))
        texts = [str(value) for value in values]
        if name == "page_size":
            texts = [item.strip() for text in texts for item in text.split(",")]
            return [str(_engine.parse_page_bytes(text)) for text in texts]
        return texts if option.kind == "list" else ",".join(texts)

    def _singles(self, option: Option) -> list[object]:
        if option.name not in self._given:
            return [None]
        return [self._single(option, value) for value in self._values(option.name)]

    def _single(self, option: Option, value: Any) -> object:
        key = key_of(option.name)
        if option.kind == "flag":
            if not isinstance(value, bool):
                self._refuse(f"{key} = {value!r} is not true or false", "correct it")
        elif option.kind == "whole":
            self._check_kind(option, value, (int,))
            if not option.least <= value <= option.most:
                self._refuse(
                    f"{key} = {value} is out of range",
                    f"give one from {option.least} to {option.most}",
                )
        elif option.kind == "word":
            self._check_kind(option, value, (str,))
            if value not in option.words:
                self._refuse(f"{key}: {value!r} is unknown", f"give {one_of(option.words)}")
        elif option.kind == "device":
            self._check_kind(option, value, (str,))
            value = self._file(value)
        elif option.name == "page_size":
            self._check_kind(option, value, (str, int))
            value = str(_engine.parse_page_bytes(str(value)))
        else:
            self._check_kind(option, value, (str, int, float))
        return value

    def _check_kind(self, option: Option, value: object, kinds: tuple[type, ...]) -> None:
        if not isinstance(value, kinds) or isinstance(value, bool):
            self._refuse(
                f"{key_of(option.name)}: {value!r} is of the wrong kind", "see docs/sweeps.md"
            )

    def _file(self, text: str) -> str:
        """A device or drive; a file of one as it is seen from where the command runs."""
        beside = self._beside(text)
        return beside if os.path.isfile(beside) else text

    def _names(self, option: Option, values: Iterable[Any]) -> Iterator[str]:
        key = key_of(option.name)
        for value in values:
            if isinstance(value, str):
                yield self._file(value) if option.of in ("devices", "ssds") else value
                continue
            if not isinstance(value, dict):
                self._check_kind(option, value, (str, dict))
            if not value:
                self._refuse(f"{key}: an empty table names none", "write { NAME = {} }")
            for name, grid in value.items():
                if not isinstance(grid, dict):
                    self._refuse(
                        f"{key}: the parameters of {name} are not a table",
                        f"write {{ {name} = {{ parameter = [values] }} }}",
                    )
                self._check_grid(key, name, grid)
                yield from _combinations(name, grid)

    def _check_grid(self, key: str, name: str, grid: Record) -> None:
        """Each parameter has values, of a kind that can be written behind =, and not too many."""
        combinations = 1
        for parameter, value in grid.items():
            values = value if isinstance(value, list) else [value]
            if not values:
                self._refuse(f"{key}: {name} has no value of {parameter}", "give at least one")
            for one in values:
                if not isinstance(one, str | int | float):
                    self._refuse(
                        f"{key}: {parameter} = {one!r} of {name} is no value",
                        "give numbers, texts, true or false",
                    )
            combinations *= len(values)
        if combinations > MOST_COMBINATIONS:
            self._refuse(
                f"{key}: {name} has {combinations:,} combinations of parameters",
                f"give at most {MOST_COMBINATIONS:,}",
            )


def _combinations(name: str, grid: Record) -> Iterable[str]:
    values = [value if isinstance(value, list) else [value] for value in grid.values()]
    for chosen in itertools.product(*values):
        yield str(Policy(name, **dict(zip(grid, chosen, strict=True))))
