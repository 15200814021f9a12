"""An experiment: a TOML file that says what is asked of a study, and what is made of its rows."""

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import polars as pl

from clockhand import _engine
from clockhand.datasets.analysis import Analysis, read_analysis
from clockhand.datasets.layout import LAYOUTS, OWN_VIEW, PAGES, Layout
from clockhand.study.errors import ClockhandError, UsageError, option
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
class Setting:
    """The common options of one trace's cells, and the lists that make the cells.

    Attributes:
        view: What the store-miss fills of a trace count as, and what is taken alone
            (:func:`clockhand.sweep.task.view_text`).
        options: The options of the study, as the engine takes them.
    """

    view: str
    options: Record


@dataclass(frozen=True)
class Experiment:
    """A checked experiment.

    Attributes:
        path: The file it was read from.

        layout: The study that is asked, and how its cells are kept.

        question: What it is to find out.

        expected: What its author expects.

        traces: The trace files, in order, patterns expanded.

        trace_format: The format of all traces, or :data:`DETECTED`.

        settings: Every combination of view and options that hold one value each.

        dataset: The folder that the cells are kept in, or its address.

        analyses: What is made of the rows.

        scratch: The folder for files of references; ``None`` for memory.

        memory_budget: How much memory what is made of a trace may take; half of the machine's if
            ``None``.
    """

    path: Path
    layout: Layout
    question: str
    expected: str
    traces: tuple[str, ...]
    trace_format: str
    settings: tuple[Setting, ...]
    dataset: Path | str
    analyses: tuple[Analysis, ...]
    scratch: str | None = None
    memory_budget: str | None = None

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
        is_read = pl.col("trace_format") == self.trace_format
        known = cells.filter((pl.col("trace_sha256") == digest) & is_read)
        kept = frozenset(known.select(self.layout.key).iter_rows())
        return [
            Task(
                study=self.layout.study.name,
                trace=trace,
                trace_sha256=digest,
                trace_format=self.trace_format,
                view=setting.view,
                options=dict(setting.options),
                kept=kept,
                scratch=self.scratch,
                memory_limit=self.memory_budget,
            )
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


def experiment_of(path: Path, content: Record) -> Experiment:
    """Check the content of an experiment, as :func:`read_experiment` does.

    Args:
        path: The file that it stands for; paths in it are relative to its folder.
        content: Its keys and tables.
    """
    return _Reader(path, content).experiment()


class _Reader:
    """Turns the tables of one file into an experiment."""

    def __init__(self, path: Path, content: Record) -> None:
        self._path = path
        self._content = content

    def experiment(self) -> Experiment:
        layout, table, place = self._study()
        question, expected = self._text("question"), self._text("expected")
        traces = tuple(self._traces())
        trace_format = self._trace_format()
        only = self._only()
        views = [view_text(view, only) for view in self._views()]
        if "seed" in self._content:
            if "seed" in table:
                self._refuse(f"seed is given twice, also in {place.strip()}", "leave one out")
            table = {**table, "seed": self._content["seed"]}
        try:
            layout, table = layout.asked(table)
            grids = read_table(layout, table, self._beside, own_names=bool(place))
            for options in grids:
                layout.plan(options)
        except UsageError as error:
            problem, remedy = in_keys(error)
            self._refuse(f"{'' if problem.startswith(place) else place}{problem}", remedy)
        return Experiment(
            path=self._path,
            layout=layout,
            question=question,
            expected=expected,
            traces=traces,
            trace_format=trace_format,
            settings=tuple(Setting(view, options) for view in views for options in grids),
            dataset=self._dataset(),
            analyses=tuple(self._analyses(layout, grids[0])),
            memory_budget=self._memory_budget(),
        )

    def _study(self) -> tuple[Layout, Fields, str]:
        """The study, its options, and how errors name their place."""
        content = self._content
        named = [name for name in LAYOUTS if isinstance(content.get(name), dict)]
        if len(named) > 1:
            self._refuse(
                f"[{named[0]}] and [{named[1]}] are both there, and an experiment asks one study",
                "put the other one into a file of its own",
            )
        own = [key for key in content if key not in KEYS and key not in named]
        if not named:
            known = (*KEYS, *(key_of(name) for name in PAGES.options))
            for key in own:
                if key not in known:
                    self._refuse(
                        f"unknown key {key!r}",
                        f"the keys are {', '.join(known)}, and there are the tables "
                        f"{', '.join(f'[{name}]' for name in LAYOUTS)}",
                    )
            return PAGES, {key: content[key] for key in own}, ""
        if own:
            self._refuse(
                f"unknown key {own[0]!r} beside [{named[0]}]",
                f"the keys are {', '.join(KEYS)}, and options of the study stand in [{named[0]}]",
            )
        return LAYOUTS[named[0]], dict(content[named[0]]), f"[{named[0]}] "

    def _refuse(self, problem: str, remedy: str) -> NoReturn:
        raise UsageError(f"{self._path}: {problem}", remedy)

    def _text(self, key: str, default: str | None = None) -> str:
        value = self._content.get(key, default)
        if value is None:
            self._refuse(f"there is no {key}", "add it")
        if not isinstance(value, str):
            self._refuse(f"{key} = {value!r} is not a text", "correct it")
        return value

    def _trace_format(self) -> str:
        """A name, or the columns of a table as one text or as a table of TOML."""
        given = self._content.get("trace_format")
        text = format_text(given) if isinstance(given, dict) else None
        return self._text("trace_format", DETECTED) if text is None else text

    def _list(self, key: str, kind: type[Item], default: object = None) -> list[Item]:
        """A value or a list of values; at least one."""
        value = self._content.get(key, default)
        if value is None:
            self._refuse(f"there is no {key}", "add it")
        values = value if isinstance(value, list) else [value]
        if not values:
            self._refuse(f"{key} is empty", "name at least one")
        for item in values:
            if not isinstance(item, kind):
                self._refuse(f"{key}: {item!r} is of the wrong kind", "see docs/sweeps.md")
        return values

    def _dataset(self) -> Path | str:
        named = self._text("dataset", f"datasets/{self._path.stem}")
        return named if is_address(named) else self._path.parent / named

    def _memory_budget(self) -> str | None:
        if "memory_budget" not in self._content:
            return None
        budget = self._text("memory_budget")
        try:
            check_memory_budget(budget)
        except UsageError as error:
            self._refuse(*in_keys(error))
        return budget

    def _views(self) -> list[str]:
        views = self._list("views", str, OWN_VIEW)
        for view in views:
            if view not in VIEWS:
                self._refuse(f"views: {view!r} is unknown", f"there is: {', '.join(VIEWS)}")
        return views

    def _only(self) -> str | None:
        if "only" not in self._content:
            return None
        only, words = self._text("only"), options_of("reading")["only"].words
        if only not in words:
            self._refuse(f"only: {only!r} is unknown", f"there is: {', '.join(words)}")
        return only

    def _traces(self) -> Iterator[str]:
        found: dict[str, None] = {}
        for pattern in self._list("traces", str):
            if pattern.startswith(RECIPE):
                found[pattern] = None
                continue
            if is_address(pattern) and local_path(pattern) is None:
                at_addresses = addresses(pattern)
                if not at_addresses:
                    self._refuse(f"traces: no file matches {pattern!r}", "correct the pattern")
                found |= dict.fromkeys(at_addresses)
                continue
            path = self._beside(local_path(pattern) or pattern)
            if not GLOB_CHARACTERS & set(pattern) or os.path.exists(path):
                found[path] = None
                continue
            matches = matching_files(path)
            if not matches:
                self._refuse(f"traces: no file matches {pattern!r}", "correct the pattern")
            found |= dict.fromkeys(matches)
        yield from found

    def _beside(self, path: str) -> str:
        """A path in the file as it is seen from where the command runs."""
        return path if os.path.isabs(path) else os.path.relpath(self._path.parent / path)

    def _analyses(self, layout: Layout, options: Record) -> Iterator[Analysis]:
        if "analysis" not in self._content:
            return
        numbers: dict[str, int] = {}
        for number, table in enumerate(self._list("analysis", dict), 1):
            try:
                analysis = read_analysis(table, layout.contenders(options), layout)
            except UsageError as error:
                self._refuse(f"analysis {number}: {error.problem}", error.remedy)
            earlier = numbers.setdefault(analysis.slug, number)
            if earlier != number:
                self._refuse(
                    f"analyses {earlier} and {number} would be one file, {analysis.slug}.csv",
                    "give them different titles",
                )
            yield analysis


LEAST_BUDGET_BYTES = 16 * 2**20
"""As the engine has it: buffers and tables of any reader fit."""


def check_memory_budget(text: str) -> None:
    """Refuse what is no memory budget.

    Raises:
        UsageError: it is not a size, or too small for reading a trace.
    """
    size = _engine.parse_bytes(text)
    if size is None or size < LEAST_BUDGET_BYTES:
        raise UsageError(
            option("memory-budget") + f" {text!r} is no size of at least 16MiB",
            "give one such as 4GiB",
        )


def in_keys(error: ClockhandError) -> tuple[str, str]:
    """Return an error's problem and remedy, with keys of the file where they name options."""
    options = [piece for piece in error.pieces if piece[0] == "option"]
    return error.spelled({piece: key_of(piece[1].replace("-", "_")) for piece in options})
