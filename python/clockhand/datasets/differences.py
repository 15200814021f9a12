"""Two datasets of one study: which rows moved, by how much, and which only one of them has."""

import math
import os
import statistics
from collections.abc import Mapping, Sequence
from typing import ClassVar

import polars as pl

from clockhand.datasets.comparison import Comparison, word_of
from clockhand.datasets.dataset import Dataset
from clockhand.datasets.facts import merged
from clockhand.datasets.layout import DATASET, Layout
from clockhand.report.canvas import Canvas, Spec
from clockhand.report.comparisons import Strip, strips_chart
from clockhand.report.words import percent, titled
from clockhand.study.calls import in_python
from clockhand.study.errors import UsageError
from clockhand.study.facts import base_names
from clockhand.study.phrases import all_of
from clockhand.study.records import Record

ROUNDING = 1e-12
"""Numbers that differ by less than this share are one number."""

MOST_NAMED = 3
"""Rows that only one dataset has and that are named."""

ONLY_HERE, ONLY_THERE, MOVED = "only in the first", "only in the second", "moved"


class Differences(Comparison):
    """What differs between two datasets.

    Attributes:
        rows: One row per number that moved: what the row is of, the column, the number in the first
            and in the second dataset, and their ratio; one per row that only one of them has. The
            column ``status`` says which.
        compared: The number of rows that both have.
        moved: For each column that moved, the number of rows in which it did, the geometric mean of
            second over first over all of them, and the least and the greatest of these ratios.
        facts: How the rows were made.
    """

    captions: ClassVar[Mapping[str, tuple[str, str]]] = {
        "moved": (
            "Second over first, row by row",
            "A tick is a row that both have, at second over first; the dot is their mean.",
        )
    }
    slug = "moved"
    part_title = "What moved"

    def __init__(
        self,
        names: tuple[str, str],
        layout: Layout,
        first: pl.DataFrame,
        second: pl.DataFrame,
        facts: Record,
    ) -> None:
        self.names = names
        self.facts = facts
        self._layout = layout
        key = [name for name in key_of(layout) if name in first.columns and name in second.columns]
        self._named_by = _about(layout, first, second)
        joined = first.join(second, on=key, how="inner", suffix=SECOND, nulls_equal=True)
        self.compared = joined.height
        self._ratios = _ratios_of(joined, layout)
        numbers = [
            name
            for name, kind in first.schema.items()
            if kind.is_numeric() and f"{name}{SECOND}" in joined.columns and name not in DATASET
        ]
        moved = [self._moved_rows(joined, name) for name in numbers]
        here = first.join(second, on=key, how="anti", nulls_equal=True)
        there = second.join(first, on=key, how="anti", nulls_equal=True)
        self.only = (here.height, there.height)
        lacking = [
            rows.select(pl.lit(status).alias("status"), *self._named_by).sort(*self._named_by)
            for status, rows in ((ONLY_HERE, here), (ONLY_THERE, there))
        ]
        self.rows = pl.concat([*moved, *lacking], how="diagonal").select(
            "status", *self._named_by, "column", "first", "second", "ratio"
        )
        self.printed = self.moved = _summed(self.rows.filter(pl.col("status") == MOVED))

    def _moved_rows(self, joined: pl.DataFrame, name: str) -> pl.DataFrame:
        first, second = pl.col(name), pl.col(f"{name}{SECOND}")
        is_near = (first - second).abs() <= ROUNDING * pl.max_horizontal(first.abs(), second.abs())
        differs = ~is_near.fill_null(first.is_null() & second.is_null())
        return joined.filter(differs.fill_null(True)).select(
            pl.lit(MOVED).alias("status"),
            *self._named_by,
            pl.lit(name).alias("column"),
            first.cast(pl.Float64).alias("first"),
            second.cast(pl.Float64).alias("second"),
            (second / first).cast(pl.Float64).alias("ratio"),
        )

    @property
    def heading(self) -> str:
        """What the table of the columns that moved is."""
        return f"{self.names[1]} over {self.names[0]}"

    def sentences(self) -> list[str]:
        """Return what moved, and what only one of the datasets has."""
        here, there = self.names
        if not self.compared:
            said = [
                f"{here} and {there} have no row in common: traces are known by their content, and "
                "cells by all their options."
            ]
        elif self.moved.is_empty():
            said = [f"All numbers of the {self.compared:,} rows that both have are equal."]
        else:
            said = [self._main_sentence()]
        for name, count, status in zip(self.names, self.only, (ONLY_HERE, ONLY_THERE), strict=True):
            if count:
                said.append(f"Only {name} has {_rows(count)}: {self._named(status, count)}.")
        return said

    def _main_sentence(self) -> str:
        value = self._layout.value
        word = word_of(value)
        ratios = [ratio for of_name in self._ratios.values() for ratio in of_name]
        others = [name for name in self.moved["column"] if name != value]
        beside = f"; also moved: {all_of(others)}" if others else ""
        main = self.moved.filter(pl.col("column") == value)
        if main.is_empty():
            return f"Of {_rows(self.compared)} that both have, {word} is equal{beside}."
        mean = math.exp(statistics.fmean(map(math.log, ratios))) if ratios else 1.0
        return (
            f"Of {_rows(self.compared)} that both have, {word} moved in {main['rows'][0]:,}: by "
            f"{_change(main['least_ratio'][0])} to {_change(main['greatest_ratio'][0])}, "
            f"{_change(mean)} in the geometric mean of all{beside}."
        )

    def _named(self, status: str, count: int) -> str:
        rows = self.rows.filter(pl.col("status") == status).head(MOST_NAMED)
        short = base_names(rows["trace"].unique())
        shown = [
            " ".join(
                f"{name} {value:,}" if rows[name].dtype.is_numeric() else short.get(value, value)
                for name, value in zip(self._named_by, row, strict=True)
                if value is not None
            )
            for row in rows.select(self._named_by).iter_rows()
        ]
        more = f"; and {count - MOST_NAMED:,} more" if count > MOST_NAMED else ""
        return "; ".join(shown) + more

    def _about(self) -> tuple[str, str, Sequence[str], str]:
        here, there = self.names
        title, said = titled(self.sentences(), 1, "")
        text = f"{_rows(self.compared)} are in both."
        return f"two datasets: {there} beside {here}", title, said, text

    def _is_drawn(self) -> bool:
        return not self.moved.is_empty()

    def _tabled(self) -> pl.DataFrame:
        short = base_names(self.rows["trace"].unique())
        return self.rows.with_columns(pl.col("trace").replace(short))

    def _figures(self, canvas: Canvas) -> dict[str, Spec]:
        if not self._ratios:
            return {}
        word = word_of(self._layout.value)
        strips = [
            Strip(name, math.exp(statistics.fmean(map(math.log, ratios))), None, ratios)
            for name, ratios in self._ratios.items()
        ]
        label = f"{self.names[1]} over {self.names[0]}"
        title = f"{word} in the second dataset over the first"
        axis = f"{word}, second over first"
        return {"moved": strips_chart(strips, canvas, title=title, axis_title=axis, label=label)}


SECOND = "_second"
"""The end of the names of the second dataset's columns."""


def key_of(layout: Layout) -> list[str]:
    """Return the columns by which rows of two datasets are the same, whatever they count."""
    roots = layout.label.meta.root_names() if layout.within else []
    key = [*layout.key, *layout.within, *roots]
    return [name for name in dict.fromkeys(key) if name != "numbers_version"]


def _about(layout: Layout, *tables: pl.DataFrame) -> list[str]:
    """Return the columns that tell people which row it is: those that differ within a dataset."""
    contender = [layout.study.contender] if layout.study.contender else []
    listed = ["trace", *contender, *layout.order, *layout.within, *layout.label.meta.root_names()]
    hidden = {"policy_place", "policy_resolved", *DATASET}
    names = [name for name in dict.fromkeys(listed) if name not in hidden]
    return [
        name
        for name in names
        if all(name in table.columns for table in tables)
        and (name == "trace" or any(table[name].n_unique() > 1 for table in tables))
    ]


def _ratios_of(joined: pl.DataFrame, layout: Layout) -> dict[str, list[float]]:
    """Return second over first of the study's main number, by what is compared."""
    value = layout.value
    if f"{value}{SECOND}" not in joined.columns:
        return {}
    known = joined.filter((pl.col(value) > 0) & (pl.col(f"{value}{SECOND}") > 0))
    labelled = known.select(
        layout.label.alias("label"), (pl.col(f"{value}{SECOND}") / pl.col(value)).alias("ratio")
    )
    found: dict[str, list[float]] = {}
    for label, ratio in labelled.iter_rows():
        found.setdefault(str(label), []).append(ratio)
    return found


def _summed(moved: pl.DataFrame) -> pl.DataFrame:
    known = pl.col("ratio").filter(pl.col("ratio").is_finite() & (pl.col("ratio") > 0))
    return moved.group_by("column", maintain_order=True).agg(
        pl.len().alias("rows"),
        known.log().mean().exp().alias("mean_ratio"),
        known.min().alias("least_ratio"),
        known.max().alias("greatest_ratio"),
    )


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def _change(ratio: float | None) -> str:
    """Return a ratio as a change in percent."""
    if ratio is None:
        return "from or to 0"
    return f"{'+' if ratio >= 1 else '-'}{percent(abs(ratio - 1))}"


@in_python()
def differences(
    first: str | os.PathLike[str], second: str | os.PathLike[str], *, command: str | None = None
) -> Differences:
    """Compare two datasets of one study.

    Rows are matched by what makes a cell: the trace's content, the policy or buffer with every
    default, sizes, device and options. Of several versions of the numbers each dataset's newest
    counts, so that what a new version moved is seen.

    Args:
        first: The folder of a dataset, or its address.
        second: Another one.
        command: The command line for the facts.

    Raises:
        UsageError: a folder is no dataset, or they are of two studies.
        ClockhandError: a part is damaged.
    """
    datasets = [Dataset.found(folder) for folder in (first, second)]
    layouts = [dataset.layout for dataset in datasets]
    if layouts[0].study.name != layouts[1].study.name:
        raise UsageError(
            f"{first} holds cells of {layouts[0].study.name} and {second} of "
            f"{layouts[1].study.name}",
            "compare datasets of one study",
        )
    layout = layouts[0]
    tables = [layout.shown(dataset.cells(newest=True)) for dataset in datasets]
    facts = [fact for dataset in datasets for fact in dataset.facts()]
    together = merged(facts, layout, pl.concat(tables, how="diagonal"))
    if command is not None:
        together["command"] = command
    folders = [os.fspath(folder).rstrip("/") for folder in (first, second)]
    short = base_names(folders)
    here, there = (short[folder] for folder in folders)
    return Differences((here, there), layout, tables[0], tables[1], together)
