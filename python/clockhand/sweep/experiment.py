"""An experiment: a TOML file that says what is asked of a study, and what is made of its rows."""

import os
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from clockhand import _engine
from clockhand.datasets.analysis import Analysis, read_analysis
from clockhand.datasets.layout import LAYOUTS, OWN_VIEW, PAGES, Layout
from clockhand.study.errors import ClockhandError, UsageError
from clockhand.study.files import matching_files
from clockhand.study.options import key_of, options_of
from clockhand.study.records import Fields, Record
from clockhand.study.remote import addresses, is_address, local_path
from clockhand.study.toml import toml_content
from clockhand.sweep.table import read_table
from clockhand.sweep.task import DETECTED, RECIPE, Task, view_text
from clockhand.traces.columns_of_text import format_text

VIEWS = (OWN_VIEW, "paper", "bus", "fault")
"""What the store-miss fills of a trace with record classes may count as."""

GLOB_CHARACTERS = frozenset("*?[")
KEYS = (
    "question", "expected", "traces", "trace_format", "views", "only", "seed", "memory_budget",
    "dataset", "analysis", "part",
)  # fmt: skip
"""Keys of every experiment beside the table of its study; parts are for reproductions."""


Item = TypeVar("Item")
"""What a list of the file holds."""


@dataclass(frozen=True)
class Experiment:
    """A checked experiment.

    Attributes:
        path: The file it was read from.

        layout: The study that is asked, and how its cells are kept.

        question: What it is to find out.

        expected: What its author expects.

        traces: The trace files, in order, patterns expanded.

        settings: Every combination of view and options that hold one value each, as a task without
            a trace.

        dataset: The folder that the cells are kept in, or its address.

        analyses: What is made of the rows.
    """

    path: Path
    layout: Layout
    question: str
    expected: str
    traces: tuple[str, ...]
    settings: tuple[Task, ...]
    dataset: Path | str
    analyses: tuple[Analysis, ...]

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies, or the write buffers, that are compared, grids and ranges expanded."""
        compared = self.layout.study.contender
        return () if compared is None else tuple(self.settings[0].options[compared])

    def tasks(self, trace: str, digest: str, cells: pl.DataFrame) -> list[Task]:
        """Return the tasks of a trace, one per setting.

        Args:
            trace: It.
            digest: The SHA-256 of what is stored of it.
            cells: Those that are kept, of any trace.
        """
        known = cells.filter(pl.col("trace_sha256") == digest)
        kept = frozenset(known.select(self.layout.key).iter_rows())
        return [
            replace(setting, trace=trace, trace_sha256=digest, kept=kept)
            for setting in self.settings
        ]


def read_content(path: str | os.PathLike[str]) -> Fields:
    """Read the TOML of an experiment.

    Raises:
        UsageError: it is not TOML; one sentence that names the file and the line.
        OSError: the file cannot be read.
    """
    file = Path(path)
    try:
        return toml_content(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not TOML: {error}", "correct it there") from error


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Read and check an experiment; no trace is opened.

    Paths in the file are relative to its folder.

    Raises:
        UsageError: something in the file is unknown, missing or out of range; one sentence that
            names the file and the key.
        OSError: the file cannot be read.
    """
    return experiment_of(Path(path), read_content(path))


@contextmanager
def named_by(place: str, *, but_for: str | None = None) -> Iterator[None]:
    """Have errors begin with a place in a file and name its keys, unless they tell of a trace."""
    try:
        yield
    except ClockhandError as error:
        if but_for is not None and but_for in str(error):
            raise
        options = [piece for piece in error.pieces if piece[0] == "option"]
        keys = {piece: key_of(piece[1].replace("-", "_")) for piece in options}
        problem, remedy = error.spelled(keys)
        raise type(error)(f"{place}{problem}", remedy) from error


def experiment_of(path: Path, content: Record) -> Experiment:
    """Check the content of an experiment, as :func:`read_experiment` does.

    Args:
        path: The file that it stands for; paths in it are relative to its folder.
        content: Its keys and tables.
    """
    with named_by(f"{path}: "):
        return _Reader(path, content).experiment()


class _Reader:
    """Turns the tables of one file into an experiment."""

    def __init__(self, path: Path, content: Record) -> None:
        self._path = path
        self._content = content

    def experiment(self) -> Experiment:
        layout, table, place = self._study()
        content = self._content
        only = self._words("only", options_of("reading")["only"].words) if "only" in content else []
        views = [
            view_text(view, next(iter(only), None))
            for view in self._words("views", VIEWS, OWN_VIEW)
        ]
        budget = self._text("memory_budget") if "memory_budget" in content else None
        if budget is not None:
            _engine.check_memory_budget(budget)
        if "seed" in content:
            if "seed" in table:
                raise UsageError(f"seed is given twice, also in {place.strip()}", "leave one out")
            table = {**table, "seed": content["seed"]}
        with named_by(place):
            layout, table = layout.asked(table)
            grids = read_table(layout, table, self._beside, own_names=bool(place))
            for options in grids:
                layout.plan(options)
        setting = partial(
            Task,
            study=layout.study.name,
            trace="",
            trace_sha256="",
            trace_format=self._trace_format(),
            memory_limit=budget,
        )
        return Experiment(
            path=self._path,
            layout=layout,
            question=self._text("question"),
            expected=self._text("expected"),
            traces=tuple(dict.fromkeys(self._traces())),
            settings=tuple(setting(view=view, options=dict(it)) for view in views for it in grids),
            dataset=self._dataset(),
            analyses=tuple(self._analyses(layout, grids[0])),
        )

    def _study(self) -> tuple[Layout, Fields, str]:
        """The study, its options, and how errors name their place."""
        content = self._content
        named = [name for name in LAYOUTS if isinstance(content.get(name), dict)]
        if len(named) > 1:
            raise UsageError(
                f"[{named[0]}] and [{named[1]}] are both there, and an experiment asks one study",
                "put the other one into a file of its own",
            )
        own = [key for key in content if key not in KEYS and key not in named]
        if not named:
            known = (*KEYS, *(key_of(name) for name in PAGES.options))
            for key in own:
                if key not in known:
                    raise UsageError(
                        f"unknown key {key!r}",
                        f"the keys are {', '.join(known)}, and there are the tables "
                        f"{', '.join(f'[{name}]' for name in LAYOUTS)}",
                    )
            return PAGES, {key: content[key] for key in own}, ""
        if own:
            raise UsageError(
                f"unknown key {own[0]!r} beside [{named[0]}]",
                f"the keys are {', '.join(KEYS)}, and options of the study stand in [{named[0]}]",
            )
        return LAYOUTS[named[0]], dict(content[named[0]]), f"[{named[0]}] "

    def _text(self, key: str, default: str | None = None) -> str:
        value = self._given(key, default)
        if not isinstance(value, str):
            raise UsageError(f"{key} = {value!r} is not a text", "correct it")
        return value

    def _given(self, key: str, default: object) -> Any:
        value = self._content.get(key, default)
        if value is None:
            raise UsageError(f"there is no {key}", "add it")
        return value

    def _trace_format(self) -> str:
        """A name, or the columns of a table as one text or as a table of TOML."""
        given = self._content.get("trace_format")
        text = format_text(given) if isinstance(given, dict) else None
        return self._text("trace_format", DETECTED) if text is None else text

    def _list(self, key: str, kind: type[Item], default: object = None) -> list[Item]:
        """A value or a list of values; at least one."""
        value = self._given(key, default)
        values = value if isinstance(value, list) else [value]
        if not values:
            raise UsageError(f"{key} is empty", "name at least one")
        for item in values:
            if not isinstance(item, kind):
                raise UsageError(f"{key}: {item!r} is of the wrong kind", "see docs/sweeps.md")
        return values

    def _dataset(self) -> Path | str:
        named = self._text("dataset", f"datasets/{self._path.stem}")
        return named if is_address(named) else self._path.parent / named

    def _words(self, key: str, words: Sequence[str], default: object = None) -> list[str]:
        values = self._list(key, str, default)
        for value in values:
            if value not in words:
                raise UsageError(f"{key}: {value!r} is unknown", f"there is: {', '.join(words)}")
        return values

    def _traces(self) -> Iterator[str]:
        for pattern in self._list("traces", str):
            if pattern.startswith(RECIPE):
                yield pattern
                continue
            path = self._beside(local_path(pattern) or pattern)
            if is_address(pattern) and local_path(pattern) is None:
                matches = addresses(pattern)
            elif not GLOB_CHARACTERS & set(pattern) or os.path.exists(path):
                matches = [path]
            else:
                matches = matching_files(path)
            if not matches:
                raise UsageError(f"traces: no file matches {pattern!r}", "correct the pattern")
            yield from matches

    def _beside(self, path: str) -> str:
        """A path in the file as it is seen from where the command runs."""
        return path if os.path.isabs(path) else os.path.relpath(self._path.parent / path)

    def _analyses(self, layout: Layout, options: Record) -> Iterator[Analysis]:
        if "analysis" not in self._content:
            return
        numbers: dict[str, int] = {}
        for number, table in enumerate(self._list("analysis", dict), 1):
            with named_by(f"analysis {number}: "):
                analysis = read_analysis(table, layout.contenders(options), layout)
            earlier = numbers.setdefault(analysis.slug, number)
            if earlier != number:
                raise UsageError(
                    f"analyses {earlier} and {number} would be one file, {analysis.slug}.csv",
                    "give them different titles",
                )
            yield analysis
