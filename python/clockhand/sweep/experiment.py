"""An experiment: a TOML file that says what is asked, what is simulated, and how it is analysed."""

import glob
import itertools
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from clockhand import _engine
from clockhand._engine import ClockhandError, UsageError
from clockhand.study.limits import MAXIMUM_COUNT, MAXIMUM_RESERVE
from clockhand.study.ranges import each_value
from clockhand.sweep.analysis import Analysis, read_analysis

DETECTED = "detected"
"""The trace format of an experiment that leaves it to the traces' contents."""

OWN_VIEW = "none"
"""The view of a trace without record classes; one with classes has its default view."""

VIEWS = (OWN_VIEW, "paper", "bus", "fault")
"""What the store-miss fills of a trace with record classes may count as."""

MOST_COMBINATIONS = 100_000
"""A policy with more of them is a mistake: the cells alone would fill the memory."""

GLOB_CHARACTERS = frozenset("*?[")
KEYS = (
    "question", "expected", "traces", "trace_format", "views", "policies", "frames", "memory",
    "page_sizes", "devices", "bits", "write_miss", "reserve", "flush_at_end", "bound_effort",
    "hand_ns", "seed", "dataset", "analysis",
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """What the cells of one trace have in common: everything but memory size and policy."""

    view: str
    page_bytes: int
    device: str
    bits: str
    write_miss: str
    reserve: int


@dataclass(frozen=True)
class Experiment:
    """A checked experiment.

    Attributes:
        path: The file it was read from.
        question: What it is to find out.
        expected: What its author expects.
        traces: The trace files, in order, patterns expanded.
        trace_format: The format of all traces, or :data:`DETECTED`.
        policies: The policies as ``simulate`` takes them, grids expanded.
        frames: The memory sizes in frames, as ``simulate`` takes them, or ``None``.
        memory: The memory sizes in shares or bytes, or ``None``.
        settings: Every combination of view, page size, device, bits, write miss and reserve.
        flush_at_end: Whether dirty pages are written when a trace ends.
        bound_effort: Seconds that ``bound`` and ``opt-feasible`` may take about for a cell.
        hand_ns: Nanoseconds that each hand movement adds to the I/O time; if ``None``, hand
            movements are not counted.
        seed: Seed of policies with random choices.
        dataset: The folder that the cells are kept in.
        analyses: What is made of the rows.
    """

    path: Path
    question: str
    expected: str
    traces: tuple[str, ...]
    trace_format: str
    policies: tuple[str, ...]
    frames: str | None
    memory: str | None
    settings: tuple[Setting, ...]
    flush_at_end: bool
    bound_effort: str
    hand_ns: int | None
    seed: int
    dataset: Path
    analyses: tuple[Analysis, ...]


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Read and check an experiment; no trace is opened.

    Paths in the file are relative to its folder.

    Raises:
        UsageError: something in the file is unknown, missing or out of range; one sentence that
            names the file and the key.
        OSError: the file cannot be read.
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not TOML: {error}; correct it there") from error
    return _Reader(file, content).experiment()


class _Reader:
    """Turns the tables of one file into an experiment."""

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self._path = path
        self._content = content

    def experiment(self) -> Experiment:
        for key in self._content:
            if key not in KEYS:
                self._refuse(f"unknown key {key!r}; the keys are {', '.join(KEYS)}")
        policies = tuple(self._policies())
        experiment = Experiment(
            path=self._path,
            question=self._text("question"),
            expected=self._text("expected"),
            traces=tuple(self._traces()),
            trace_format=self._text("trace_format", DETECTED),
            policies=policies,
            frames=self._sizes("frames", int),
            memory=self._sizes("memory", str),
            settings=tuple(self._settings()),
            flush_at_end=self._checked("flush_at_end", bool, "true or false", False),
            bound_effort=str(
                self._checked("bound_effort", (int, float, str), "a number of seconds", 2)
            ),
            hand_ns=self._number("hand_ns") if "hand_ns" in self._content else None,
            seed=self._number("seed"),
            dataset=self._path.parent / self._text("dataset", f"datasets/{self._path.stem}"),
            analyses=tuple(self._analyses(policies)),
        )
        self._check_with_engine(experiment)
        return experiment

    def _refuse(self, problem: str) -> NoReturn:
        raise UsageError(f"{self._path}: {problem}")

    def _checked(
        self, key: str, kind: type | tuple[type, ...], meaning: str, default: Any = None
    ) -> Any:
        value = self._content.get(key, default)
        if value is None:
            self._refuse(f"there is no {key}; add it")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self._refuse(f"{key} = {value!r} is not {meaning}; correct it")
        return value

    def _text(self, key: str, default: str | None = None) -> str:
        text: str = self._checked(key, str, "a text", default)
        return text

    def _number(self, key: str) -> int:
        number: int = self._checked(key, int, "a whole number", 0)
        self._check_range(key, number, MAXIMUM_COUNT)
        return number

    def _check_range(self, key: str, number: int, largest: int) -> None:
        if not 0 <= number <= largest:
            self._refuse(f"{key} = {number} is out of range; give one from 0 to {largest}")

    def _list(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> list[Any]:
        """A value or a list of values, each once; at least one."""
        value = self._content.get(key, default)
        if value is None:
            self._refuse(f"there is no {key}; add it")
        values = value if isinstance(value, list) else [value]
        if not values:
            self._refuse(f"{key} is empty; name at least one")
        for item in values:
            if not isinstance(item, kind) or isinstance(item, bool):
                self._refuse(f"{key}: {item!r} is of the wrong kind; see docs/sweeps.md")
        return values

    def _sizes(self, key: str, kind: type) -> str | None:
        if key not in self._content:
            return None
        return ",".join(str(size) for size in self._list(key, (kind, str)))

    def _traces(self) -> Iterator[str]:
        found: dict[str, None] = {}
        for pattern in self._list("traces", str):
            path = self._beside(pattern)
            if not GLOB_CHARACTERS & set(pattern):
                found[path] = None
                continue
            matches = sorted(glob.glob(path, recursive=True))
            if not matches:
                self._refuse(f"traces: no file matches {pattern!r}; correct the pattern")
            found |= dict.fromkeys(matches)
        yield from found

    def _policies(self) -> Iterator[str]:
        expanded: dict[str, None] = {}
        for item in self._list("policies", (str, dict)):
            if isinstance(item, str):
                expanded |= dict.fromkeys(each_value("policies", item))
                continue
            if not item:
                self._refuse("policies: an empty table names none; write { NAME = {} }")
            for name, grid in item.items():
                if not isinstance(grid, dict):
                    self._refuse(
                        f"policies: the parameters of {name} are not a table; "
                        f"write {{ {name} = {{ parameter = [values] }} }}"
                    )
                self._check_grid(name, grid)
                for entry in _combinations(name, grid):
                    expanded |= dict.fromkeys(each_value("policies", entry))
        yield from expanded

    def _check_grid(self, name: str, grid: Mapping[str, Any]) -> None:
        """Each parameter has values, of a kind that can be written behind =, and not too many."""
        combinations = 1
        for parameter, value in grid.items():
            values = value if isinstance(value, list) else [value]
            if not values:
                self._refuse(f"policies: {name} has no value of {parameter}; give at least one")
            for one in values:
                if not isinstance(one, str | int | float):
                    self._refuse(
                        f"policies: {parameter} = {one!r} of {name} is no value; give numbers, "
                        "texts, true or false"
                    )
            combinations *= len(values)
        if combinations > MOST_COMBINATIONS:
            self._refuse(
                f"policies: {name} has {combinations:,} combinations of parameters; give at most "
                f"{MOST_COMBINATIONS:,}"
            )

    def _settings(self) -> Iterator[Setting]:
        views = self._list("views", str, OWN_VIEW)
        for view in views:
            if view not in VIEWS:
                self._refuse(f"views: {view!r} is unknown; there is: {', '.join(VIEWS)}")
        page_sizes = [self._page_bytes(size) for size in self._list("page_sizes", (str, int), 4096)]
        devices = [self._device(device) for device in self._list("devices", str, "slc-nand")]
        bits = self._choices("bits", ("exact", "mapped"))
        write_misses = self._choices("write_miss", ("fetch", "blind"))
        reserves = self._list("reserve", int, 0)
        for reserve in reserves:
            self._check_range("reserve", reserve, MAXIMUM_RESERVE)
        for values in itertools.product(views, page_sizes, devices, bits, write_misses, reserves):
            yield Setting(*values)

    def _page_bytes(self, size: str | int) -> int:
        try:
            return _engine.parse_page_bytes(str(size))
        except UsageError as error:
            self._refuse(_about_key(error))

    def _device(self, device: str) -> str:
        beside = self._beside(device)
        return beside if os.path.isfile(beside) else device

    def _beside(self, path: str) -> str:
        """A path in the file as it is seen from where the command runs."""
        return path if os.path.isabs(path) else os.path.relpath(self._path.parent / path)

    def _choices(self, key: str, words: Sequence[str]) -> list[str]:
        chosen = self._list(key, str, words[0])
        for word in chosen:
            if word not in words:
                self._refuse(f"{key}: {word!r} is unknown; give {' or '.join(words)}")
        return chosen

    def _analyses(self, policies: Sequence[str]) -> Iterator[Analysis]:
        numbers: dict[str, int] = {}
        for number, table in enumerate(self._list("analysis", dict, [{}]), 1):
            if table or "analysis" in self._content:
                try:
                    analysis = read_analysis(table, policies)
                except ValueError as error:
                    self._refuse(f"analysis {number}: {error}")
                earlier = numbers.setdefault(analysis.slug, number)
                if earlier != number:
                    self._refuse(
                        f"analyses {earlier} and {number} would be one file, {analysis.slug}.csv; "
                        "give them different titles"
                    )
                yield analysis

    def _check_with_engine(self, experiment: Experiment) -> None:
        """Policies, sizes and devices, before hours are spent on what comes before a mistake."""
        if (experiment.frames is None) == (experiment.memory is None):
            self._refuse("the memory size is given by frames or by memory; give one of them")
        for setting in experiment.settings:
            cell_plan(experiment, setting)


def _combinations(name: str, grid: Mapping[str, Any]) -> Iterable[str]:
    values = [value if isinstance(value, list) else [value] for value in grid.values()]
    for chosen in itertools.product(*values):
        settings = ",".join(
            f"{parameter}={_parameter_text(value)}"
            for parameter, value in zip(grid, chosen, strict=True)
        )
        yield f"{name}:{settings}" if settings else name


def _parameter_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _about_key(error: Exception) -> str:
    """The engine's sentences name options of the command, which here are keys."""
    return str(error).replace("--page-size", "page_sizes").replace("--", "")


def cell_plan(
    experiment: Experiment, setting: Setting, footprint_pages: int | None = None
) -> dict[str, Any]:
    """Return the cells of one trace under one setting, and the device with every default.

    Before its footprint is known, a trace is taken to be as large as can be.

    Raises:
        UsageError: a policy, a size, the reserve or the device is unusable.
    """
    try:
        return _engine.plan_cells(
            list(experiment.policies),
            frames=experiment.frames,
            memory=experiment.memory,
            reserve=setting.reserve,
            page_bytes=setting.page_bytes,
            device=setting.device,
            footprint_pages=footprint_pages,
            seed=experiment.seed,
            bound_effort=experiment.bound_effort,
        )
    except ClockhandError as error:
        raise UsageError(f"{experiment.path}: {_about_key(error)}") from error
