"""Analyses that an experiment's file asks for: which value, relative to what, summed up how."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.datasets.layout import PAGES, Layout
from clockhand.study.errors import UsageError
from clockhand.study.records import Record

VALUE = pl.col("value")
DEVICE = "device"
SUMMARIES = {
    "mean": VALUE.mean(),
    "geometric-mean": VALUE.log().mean().exp(),
    "median": VALUE.median(),
    "least": VALUE.min(),
    "greatest": VALUE.max(),
    "sum": VALUE.sum(),
    "best": pl.col("policy").sort_by(VALUE, maintain_order=True).first(),
}
KEYS = ("title", "value", "relative_to", "rows", "columns", "summary", "where")


@dataclass(frozen=True)
class Analysis:
    """One table made from the rows.

    Attributes:
        title: What stands above it.

        value: The column that is looked at.

        relative_to: The policy whose value, at the same trace, memory and setting, divides it.

        rows: The columns that each of its rows is for.

        columns: The column whose values become its columns, if any.

        summary: How the values of one entry become one; ``best`` names the policy with the least.

        where: Columns with the only values, or the range of values, that are looked at.
    """

    title: str
    value: str
    relative_to: str | None
    rows: tuple[str, ...]
    columns: str | None
    summary: str
    where: Record

    @property
    def slug(self) -> str:
        """The title as a file name."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or "analysis"


def read_analysis(table: Record, policies: Sequence[str], layout: Layout = PAGES) -> Analysis:
    """Check one ``[[analysis]]`` table.

    Args:
        table: Its keys and values.
        policies: What the experiment compares.
        layout: The study whose rows are looked at.

    Raises:
        UsageError: something in it is unknown, missing or of the wrong kind.
    """
    for key in table:
        if key not in KEYS:
            raise UsageError(f"unknown key {key!r}", f"the keys are {', '.join(KEYS)}")
    rows = table.get("rows", ["policy"])
    rows = [rows] if isinstance(rows, str) else rows
    if not isinstance(rows, list) or not rows:
        raise UsageError(f"rows = {rows!r} is not a column or a list of columns", "name one")
    columns, where = table.get("columns"), table.get("where", {})
    if not isinstance(where, dict):
        raise UsageError(f"where = {where!r} is not a table", "write where = { column = value }")
    known = columns_of(layout)
    numbers = _numbers(layout)
    for name in [*rows, *([] if columns is None else [columns]), *where]:
        if not isinstance(name, str) or name not in known:
            raise UsageError(f"there is no column {name!r}", f"there are {', '.join(known)}")
    if columns in rows or len(set(rows)) < len(rows):
        raise UsageError("a column is named twice in rows and columns", "name each once")
    for name, wanted in where.items():
        _check_wanted(name, wanted, name in numbers)
    return Analysis(
        title=_title(table),
        value=_one_of(table, "value", numbers, layout.value) or layout.value,
        relative_to=_one_of(table, "relative_to", policies, None),
        rows=tuple(rows),
        columns=columns,
        summary=_one_of(table, "summary", tuple(SUMMARIES), "mean") or "mean",
        where=where,
    )


def columns_of(layout: Layout) -> tuple[str, ...]:
    """Return the columns that analyses may name; ``policy`` is what is compared, without sizes."""
    own = {name: None for name in layout.columns} | {"policy": None, "view": None}
    options = [name for name in layout.key if name in layout.options]
    return tuple(own | dict.fromkeys(options))


def _numbers(layout: Layout) -> tuple[str, ...]:
    known = {**layout.schema, **layout.columns}
    kinds = {name: known[name] for name in columns_of(layout) if name in known}
    return tuple(name for name, kind in kinds.items() if kind.is_numeric())


LONGEST_TITLE = 120
"""Characters of a title, which is also the name of a file."""


def _title(table: Record) -> str:
    title = table.get("title")
    if not isinstance(title, str) or not title.strip():
        raise UsageError("there is no title", "add a text")
    if len(title) > LONGEST_TITLE:
        raise UsageError(
            f"its title has {len(title):,} characters",
            f"it names a file too, so give at most {LONGEST_TITLE}",
        )
    return title


def _one_of(table: Record, key: str, words: Sequence[str], default: str | None) -> str | None:
    value: str | None = table.get(key, default)
    if value is not None and value not in words:
        raise UsageError(f"{key} = {value!r} is unknown", f"there are {', '.join(words)}")
    return value


def _check_wanted(name: str, wanted: object, is_number: bool) -> None:
    if isinstance(wanted, dict):
        is_range = set(wanted) == {"from", "to"} and is_number
        if not is_range or not all(isinstance(end, int | float) for end in wanted.values()):
            raise UsageError(
                f"where.{name} is not a range", "write { from = 0.1, to = 0.5 }, of a number"
            )
        return
    kinds = (int, float) if is_number else (str, bool)
    for value in wanted if isinstance(wanted, list) else [wanted]:
        if not isinstance(value, kinds) or (is_number and isinstance(value, bool)):
            meaning = "number" if is_number else "text"
            raise UsageError(f"where.{name} = {value!r} is no {meaning}", "the column is one")


def analyse(rows: pl.DataFrame, analysis: Analysis, layout: Layout = PAGES) -> pl.DataFrame:
    """Carry out one analysis.

    Args:
        rows: Rows of a dataset, with the columns that the analysis names.
        analysis: What is to be made of them.
        layout: The study that they are of.

    Returns:
        A row per combination of ``analysis.rows``, in order of first occurrence, and per device if
        there are several: a mean over a disk and flash is about neither. Cells without a value are
        left out of the summary, which is null if nothing is left.
    """
    value = pl.col(analysis.value).cast(pl.Float64)
    rows = layout.shown(rows).with_columns(layout.label)
    if analysis.relative_to is not None:
        rows = _with_reference(rows, analysis.value, analysis.relative_to, layout)
        value = pl.when(pl.col("reference") > 0).then(value / pl.col("reference"))
    rows = rows.with_columns(value.alias("value"))
    for name, wanted in analysis.where.items():
        rows = rows.filter(_is_wanted(name, wanted))
    rows = rows.filter(VALUE.is_not_null())
    index = list(analysis.rows)
    by = [*index, *([] if analysis.columns is None else [analysis.columns])]
    if DEVICE in rows.columns and DEVICE not in by and rows[DEVICE].n_unique() > 1:
        index.append(DEVICE)
        by.append(DEVICE)
    table = rows.group_by(list(dict.fromkeys(by)), maintain_order=True).agg(
        SUMMARIES[analysis.summary].alias(analysis.summary)
    )
    if analysis.columns is None:
        return table
    return table.pivot(analysis.columns, index=index, values=analysis.summary)


def _with_reference(rows: pl.DataFrame, value: str, policy: str, layout: Layout) -> pl.DataFrame:
    """Add the value of one contender's row that differs in nothing else."""
    settings = layout.setting(rows) if "cell" in rows.columns else rows.select([])
    setting = settings.rename(lambda name: f"option {name}")
    rows = rows.hstack(setting)
    options = [name for name in layout.key if name in layout.options]
    of_cell = ("trace", "view", *layout.order, *layout.within, *options, *setting.columns)
    contender = ("policy", "policy_place", "policy_resolved", layout.study.contender, "cell")
    shared = [
        name for name in dict.fromkeys(of_cell) if name in rows.columns and name not in contender
    ]
    reference = (
        rows.filter(pl.col("policy") == policy)
        .unique(shared, keep="first", maintain_order=True)
        .select(*shared, pl.col(value).alias("reference"))
    )
    return rows.join(reference, on=shared, how="left", nulls_equal=True, maintain_order="left")


def _is_wanted(name: str, wanted: object) -> pl.Expr:
    if isinstance(wanted, dict):
        return pl.col(name).is_between(wanted["from"], wanted["to"])
    return pl.col(name).is_in(wanted if isinstance(wanted, list) else [wanted])
