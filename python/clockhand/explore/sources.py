"""Sources of the page: a trace, whose cells are computed and kept, or a dataset."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from clockhand.datasets.dataset import Dataset
from clockhand.datasets.layout import PAGES as PAGES_LAYOUT
from clockhand.datasets.result import reported
from clockhand.explore.kept import KeptCells
from clockhand.report.reported import Reported
from clockhand.report.words import percent, unique
from clockhand.studies.pages.result import Simulation
from clockhand.studies.pages.run import STUDY, run_simulation
from clockhand.studies.watch.playing import DEFAULT_LIMIT
from clockhand.studies.watch.result import Watched
from clockhand.studies.watch.run import watch_policies
from clockhand.study.catalogs import devices, policies
from clockhand.study.errors import UsageError
from clockhand.study.facts import base_names
from clockhand.study.records import Record
from clockhand.study.run import Ran
from clockhand.study.sizes import parsed_bytes

if TYPE_CHECKING:
    import altair as alt

MEMORY = "1%,2%,3%,4%,6%,8%,10%,15%,20%,30%,40%,60%,80%,100%"
"""The memory sizes of the curves and the heat map."""

PAGE_SIZES = ("512", "1KiB", "2KiB", "4KiB", "8KiB", "16KiB", "64KiB", "2MiB")
FIRST_POLICIES = ("clock", "lru", "cflru", "craw", "credit-clock")
BY_RATIO = "by cost ratio"
"""The device whose write costs as many reads as a knob says."""

WATCHED_FRAMES = 8

Run = TypeVar("Run")


@dataclass(frozen=True)
class Knobs:
    """Where the knobs stand.

    Attributes:
        policies: What is compared.
        memory: The memory that is looked at, as a share of the footprint.
        page_size: The page size, as text.
        device: The device.
        trace: Which trace, where there are several.
    """

    policies: tuple[str, ...]
    memory: float
    page_size: str
    device: str
    trace: str = ""


class Source(ABC):
    """What is explored.

    Attributes:
        name: Its name, without folders.

        traces: Its traces.

        policies: What can be compared.

        first_policies: What is compared at first.

        devices: The devices that can be chosen; the first one is at first.

        page_sizes: The page sizes that can be chosen.

        first_page_size: The one at first.

        has_ratio: Whether what a write costs is a knob.

        has_memory: Whether its rows are of page policies in sizes of memory, with a player.

        compared: What is compared, in the plural.
    """

    name: str
    traces: Sequence[str] = ()
    policies: Sequence[str]
    first_policies: Sequence[str]
    devices: Sequence[str]
    page_sizes: Sequence[str]
    first_page_size: str
    has_ratio: bool
    has_memory: bool = True
    compared: str = "policies"

    @abstractmethod
    def result(self, knobs: Knobs) -> Reported:
        """Return the rows of all memory sizes, with their figures."""

    @abstractmethod
    def watched(self, knobs: Knobs, frames: int, best: str) -> Watched | None:
        """Return the steps of the first policy and the best; none without a trace."""

    def at_memory(self, knobs: Knobs) -> pl.DataFrame:
        """Return the rows of the memory size next to the knob, the best first."""
        result = self.result(knobs)
        rows = result.rows
        if not self.has_memory:
            leading = getattr(result, "leading", rows.columns)
            return rows.select(name for name in leading if name in rows.columns and name != "trace")
        distance = (pl.col("memory_share") - knobs.memory).abs()
        near = rows.filter(distance == distance.min().over("trace"))
        return near.select(
            "policy",
            "frames",
            (100 * pl.col("memory_share")).round(1).alias("memory %"),
            (100 * pl.col("hit_ratio")).round(3).alias("hits %"),
            pl.col("read_ios").alias("reads"),
            pl.col("write_ios").alias("writes"),
            (pl.col("io_time_us") / 1e6).round_sig_figs(4).alias(TIME),
        ).sort(TIME, nulls_last=True)


TIME = "I/O time s"
CHART_WIDTH, CHART_HEIGHT = 560, 240
"""Pixels of a whole chart, with its axis and legend, which leave room for the player beside it;
and of the height of its values."""

FITTED = {"type": "fit-x", "contains": "padding"}


def figures(result: Reported, at_memory: pl.DataFrame) -> "list[alt.LayerChart]":
    """Return the heat map and the curves of a result, as far as it has them."""
    charts = result.charts()
    heat_maps = [chart for key, chart in charts.items() if key.endswith("heat_map")]
    others = {key: it for key, it in charts.items() if not key.endswith(("heat_map", "ranking"))}
    wanted = ("io_time_relative_to_clock", "io_time", *others)
    curves = [others[key] for key in wanted if key in others][:1]
    shown = [chart.properties(width=CHART_WIDTH, autosize=FITTED) for chart in heat_maps[:1]]
    if isinstance(result, Simulation):
        return shown + [marked(chart, at_memory) for chart in curves]
    return shown + [chart.properties(width=CHART_WIDTH, autosize=FITTED) for chart in curves]


def marked(curves: Any, at_memory: pl.DataFrame) -> Any:
    """Return curves with a line at the memory that is looked at."""
    import altair as alt

    rule = alt.Chart(at_memory.head(1)).mark_rule(strokeDash=[4, 4]).encode(x="frames:Q")
    return (curves + rule).properties(width=CHART_WIDTH, height=CHART_HEIGHT, autosize=FITTED)


def answer(result: Reported, at_memory: pl.DataFrame) -> str:
    """Return which policy needs the least I/O time with the memory that is looked at, or what else
    the result says."""
    if not isinstance(result, Simulation):
        return repr(result).partition(": ")[2]
    best, least_s = at_memory.select("policy", TIME).row(0)
    clock = at_memory.filter(pl.col("policy") == "clock")[TIME]
    beside = ""
    if best != "clock" and len(clock) and clock[0] and least_s is not None:
        beside = f", {percent(1 - least_s / clock[0])} less than clock"
    share = percent(at_memory["memory %"][0] / 100)
    return f"With {share} of the footprint in memory {best} needs the least I/O time{beside}"


class TraceSource(Source):
    """A trace: a cell is computed when it is first asked for, and kept in the user's cache.

    Args:
        path: The trace.
        reading: How it is read.
    """

    def __init__(self, path: str, reading: Record | None = None) -> None:
        self.name = base_names([path])[path]
        self.traces = (self.name,)
        self.policies = policies()["name"].to_list()
        self.first_policies = FIRST_POLICIES
        self.devices = (BY_RATIO, *devices()["name"].to_list())
        self.page_sizes, self.first_page_size = PAGE_SIZES, "4KiB"
        self.has_ratio = True
        self.computed = 0
        self._path = path
        self._reading = dict(reading or {})
        self._kept = KeptCells(path, {**self._reading, "memory": MEMORY})
        self._watched: dict[tuple[object, ...], Watched] = {}

    def _run(self, run: Callable[..., Run], knobs: Knobs, names: Sequence[str], **own: Any) -> Run:
        """Return what a call says of the trace, as the knobs stand."""
        return run(
            self._path,
            policies=names,
            page_size=knobs.page_size,
            device=knobs.device,
            watch=False,
            **{**self._reading, **own},
        )

    def result(self, knobs: Knobs) -> Simulation:
        """Return the rows of all memory sizes; what has been computed is not computed again."""
        at = (knobs.device, parsed_bytes("page-size", knobs.page_size))
        known = set(self._kept.rows(*at)["policy"])
        lacking = [name for name in knobs.policies if name not in known]
        if lacking:
            made = self._run(run_simulation, knobs, lacking, memory=MEMORY)
            self.computed += made.rows.height
            self._kept.add(made.rows, made.facts)
        order = pl.Enum(list(knobs.policies))
        rows = self._kept.rows(*at).filter(pl.col("policy").is_in(knobs.policies))
        place = pl.col("policy").cast(order)
        rows = rows.sort("trace", "frames", place, maintain_order=True)
        return Simulation(Ran(rows.clone, self._kept.facts(*at), [], STUDY.result_of(rows)))

    def watched(self, knobs: Knobs, frames: int, best: str) -> Watched | None:
        """Return the steps of the first policy and the best, or of the first two."""
        asked = unique([knobs.policies[0], best, *knobs.policies])
        shown = [name for name in asked if name not in UNWATCHED][:2]
        key = (*shown, frames, knobs.page_size, knobs.device)
        if not shown:
            return None
        if key not in self._watched:
            # A player of all that is replayed would be larger than a page can hold.
            limit = min(self._reading.get("limit", DEFAULT_LIMIT), DEFAULT_LIMIT)
            made = self._run(watch_policies, knobs, shown, frames=frames, limit=limit)
            self._watched[key] = made
        return self._watched[key]


UNWATCHED = ("bound", "opt-feasible")
"""Rows that are not policies."""


class DatasetSource(Source):
    """A dataset of a sweep: its rows are there, and nothing is computed but a player's steps.

    Args:
        folder: The folder, or its address.

    Raises:
        UsageError: it is not a dataset.
        ClockhandError: a part is damaged.
    """

    def __init__(self, folder: str) -> None:
        found = Dataset.found(folder)
        self._rows, self._facts = found.report()
        self._layout = found.layout
        self._contender = found.layout.study.contender
        self.name = base_names([folder.rstrip("/")])[folder.rstrip("/")]
        self.compared = found.layout.study.contenders
        self.traces = self._values("trace")
        self.policies = self._values(self._contender)
        self.first_policies = self.policies[: len(FIRST_POLICIES)]
        self.devices = self._values("device")
        self.page_sizes = self._values(found.layout.study.page_column)
        self.first_page_size = next(iter(self.page_sizes), "")
        self.has_ratio = False
        self.has_memory = found.layout is PAGES_LAYOUT

    def _values(self, column: str | None) -> list[str]:
        """Return what a column has, in order; nothing if there is none."""
        if column is None or column not in self._rows.columns:
            return []
        return self._rows[column].drop_nulls().unique(maintain_order=True).cast(pl.String).to_list()

    def result(self, knobs: Knobs) -> Reported:
        """Return the rows of one trace, page size and device."""
        chosen = {
            "trace": knobs.trace,
            self._layout.study.page_column: knobs.page_size,
            "device": knobs.device,
        }
        rows = self._rows
        for column, value in chosen.items():
            if value in self._values(column):
                rows = rows.filter(pl.col(column).cast(pl.String) == value)
        if self._contender is not None:
            rows = rows.filter(pl.col(self._contender).is_in(knobs.policies))
        if rows.is_empty():
            raise UsageError("the dataset has no such cells", "turn a knob back")
        made: Reported = reported(rows, self._facts, self._layout)
        return made

    def watched(self, knobs: Knobs, frames: int, best: str) -> Watched | None:
        """Return the steps on the trace, if it still is where the sweep found it."""
        if not self.has_memory or not os.path.isfile(knobs.trace):
            return None
        return TraceSource(knobs.trace).watched(knobs, frames, best)


def source_of(place: str, reading: Record | None = None) -> Source:
    """Return what a place on the command line is: a folder is a dataset, a file a trace.

    Raises:
        UsageError: the folder is not a dataset.
    """
    if os.path.isdir(place):
        return DatasetSource(place)
    return TraceSource(place, reading)
