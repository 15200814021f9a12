"""Two datasets of one study: which rows moved, by how much, and which only one of them has."""

import math
import os
import statistics
from collections.abc import Sequence

import polars as pl

from clockhand.report.canvas import CANVAS, PICTURE, Canvas, Spec
from clockhand.report.comparisons import Strip, strips_chart
from clockhand.report.html import Figure, Part, payload, study_page
from clockhand.report.reported import Reported
from clockhand.report.table import plain_table
from clockhand.report.words import percent, titled
from clockhand.study.calls import in_python
from clockhand.study.errors import UsageError
from clockhand.study.facts import base_names, printable
from clockhand.study.phrases import all_of
from clockhand.study.records import Record
from clockhand.sweep.dataset import Dataset
from clockhand.sweep.facts import merged
from clockhand.sweep.layout import IDENTITY, ORIGIN, Layout
from clockhand.sweep.over_traces import WORDS

ROUNDING = 1e-12
"""Numbers that differ by less than this share are one number."""

MOST_NAMED = 3
"""Rows that only one dataset has and that are named."""

ONLY_HERE, ONLY_THERE, MOVED = "only in the first", "only in the second", "moved"


class Differences(Reported):
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
        self._about = _about(layout, first, second)
        joined = first.join(second, on=key, how="inner", suffix=SECOND, nulls_equal=True)
        self.compared = joined.height
        self._ratios = _ratios_of(joined, layout)
        numbers = [
            name
            for name, kind in first.schema.items()
            if kind.is_numeric() and f"{name}{SECOND}" in joined.columns and name not in ORIGIN
        ]
        moved = [self._moved_rows(joined, name) for name in numbers]
        here = first.join(second, on=key, how="anti", nulls_equal=True)
        there = second.join(first, on=key, how="anti", nulls_equal=True)
        self.only = (here.height, there.height)
        lacking = [
            rows.select(pl.lit(status).alias("status"), *self._about).sort(*self._about)
            for status, rows in ((ONLY_HERE, here), (ONLY_THERE, there))
        ]
        self.rows = pl.concat([*moved, *lacking], how="diagonal").select(
            "status", *self._about, "column", "first", "second", "ratio"
        )
        self.moved = _summed(self.rows.filter(pl.col("status") == MOVED))

    def _moved_rows(self, joined: pl.DataFrame, name: str) -> pl.DataFrame:
        first, second = pl.col(name), pl.col(f"{name}{SECOND}")
        is_near = (first - second).abs() <= ROUNDING * pl.max_horizontal(first.abs(), second.abs())
        differs = ~is_near.fill_null(first.is_null() & second.is_null())
        return joined.filter(differs.fill_null(True)).select(
            pl.lit(MOVED).alias("status"),
            *self._about,
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
        word = WORDS.get(value, value.replace("_", " "))
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
                for name, value in zip(self._about, row, strict=True)
                if value is not None
            )
            for row in rows.select(self._about).iter_rows()
        ]
        more = f"; and {count - MOST_NAMED:,} more" if count > MOST_NAMED else ""
        return "; ".join(shown) + more

    def _answer(self) -> list[str]:
        return self.sentences()

    def _leading(self) -> pl.DataFrame:
        return self.rows

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return the figure in Vega-Lite: second over first, row by row."""
        return self._figures(PICTURE)

    def _figures(self, canvas: Canvas) -> dict[str, Spec]:
        if not self._ratios:
            return {}
        value = self._layout.value
        word = WORDS.get(value, value.replace("_", " "))
        strips = [
            Strip(name, math.exp(statistics.fmean(map(math.log, ratios))), None, ratios)
            for name, ratios in self._ratios.items()
        ]
        label = f"{self.names[1]} over {self.names[0]}"
        title = f"{word} in the second dataset over the first"
        axis = f"{word}, second over first"
        return {"moved": strips_chart(strips, canvas, title=title, axis_title=axis, label=label)}

    def _rendered(self, highlight: Sequence[str]) -> str:
        caption = "A tick is a row that both have, at second over first; the dot is their mean."
        figures = [
            Figure(key, "Second over first, row by row", caption, spec, number)
            for number, (key, spec) in enumerate(self._figures(CANVAS).items(), 1)
            if not self.moved.is_empty()
        ]
        title, said = titled(self.sentences(), 1, "")
        part = Part(
            slug="moved", title="What moved", text=f"{_rows(self.compared)} are in both.",
            rows=[("", figures)], records=[],
        )  # fmt: skip
        short = base_names(self.rows["trace"].unique())
        table = plain_table(self.rows.with_columns(pl.col("trace").replace(short)), {})
        return study_page().render(
            overline=f"two datasets: {self.names[1]} beside {self.names[0]}",
            title=title,
            sentences=said,
            parts=[part],
            leading=[],
            facts=printable(self.facts),
            table=table,
            payload=payload([part], {"rows-heading": table}),
        )


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
    hidden = {"cell", "policy_place", "policy_resolved", *IDENTITY}
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
