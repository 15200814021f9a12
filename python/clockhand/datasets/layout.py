"""The columns of each study's cells in a dataset."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import polars as pl

from clockhand import _engine
from clockhand.studies.locality.tables import TABLES, table_of
from clockhand.study.columns import schema, types
from clockhand.study.errors import UsageError
from clockhand.study.intervals import intervals_or_cells
from clockhand.study.options import Option, options_of
from clockhand.study.records import Fields, Record
from clockhand.study.run import Columns, Options, Study

if TYPE_CHECKING:
    from clockhand.report.reported import Reported

DATASET = schema("dataset")
"""The columns that say which cell a row of a dataset is of."""

OWN_VIEW = "none"
"""What keys call the view of a trace without record classes; one with them has its default view."""

NOT_SWEPT: Mapping[str, tuple[str, ...]] = {
    "pages": ("gauge_every", "io_log"),
    "pagecache": ("io_log",),
    "ssd": ("io_log",),
}
"""By study, options whose results no dataset keeps."""


@dataclass(frozen=True)
class Plan:
    """The cells of one trace under one setting, in the order of their rows.

    Attributes:
        cells: Of each cell, as ``key``, the columns that say which it is, but for those of the
            trace; and as ``named`` the columns whose text is the experiment's own: equal cells may
            be named otherwise.

        facts: The devices and policies, as far as they are known without a trace.
    """

    cells: Sequence[Record]
    facts: Record


class Layout:
    """A study in sweeps.

    Attributes:
        study: The study.

        value: The column that analyses look at if they name none.

        key: The columns that say which cell a row is: equal keys mean equal numbers.

        schema: The columns of a dataset.

        order: The sort columns of a dataset for reading.

        within: The columns that tell the rows of one cell apart, where it has several.

        depends_on_footprint: Whether a trace has to be read before its cells are known.
    """

    within: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        study: Study[Reported] = import_module(f"clockhand.studies.{name}.run").STUDY
        grid = _engine.grids()[name]
        known, options, own = grid["key"], grid["options"], study.schema
        self.study = study
        self.value: str = grid["value"]
        self.depends_on_footprint = "cell" not in known
        self.key = (
            "trace_sha256", "trace_format", "view", *known, *options, "interval",
            "numbers_version",
        )  # fmt: skip
        kept = types(dict(grid["kept"]))
        self.schema: Columns = {**own, **study.beside(), **kept, **own}
        self.order = (*grid["order"], *(() if self.depends_on_footprint else ("cell",)))
        self._newer = grid["newer"]

    def key_of(self, row: Record) -> tuple[object, ...]:
        """Return the values of a row's key columns."""
        return tuple(row[name] for name in self.key)

    def asked(self, table: Record) -> tuple["Layout", Fields]:
        """Return the layout for the table of an experiment, and what the table says of options.

        Raises:
            UsageError: a key of the table is of the wrong kind.
        """
        return self, dict(table)

    @property
    def columns(self) -> Columns:
        """The columns of the rows that people and analyses see, but for those of the dataset."""
        return self.study.schema

    @property
    def label(self) -> pl.Expr:
        """What is compared without its size, as the column ``policy`` of those rows."""
        return self.study.label()

    def shown(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that people and analyses see, without the columns that hold lists.

        They are those of intervals, if there are any.
        """
        return intervals_or_cells(cells).drop(self.study.beside())

    @property
    def options(self) -> Mapping[str, Option]:
        """The options that an experiment may have."""
        left_out = NOT_SWEPT.get(self.study.name, ())
        declared = options_of(self.study.name)
        return {name: it for name, it in declared.items() if name not in left_out}

    def contenders(self, options: Record) -> list[str]:
        """Return what an experiment compares, without sizes."""
        column = self.study.contender
        assert column is not None, "a layout that compares nothing else names what it compares"
        names = pl.DataFrame({column: options[column]}, schema={column: pl.String})
        return names.select(self.study.label())["policy"].to_list()

    def plan(self, options: Options, footprint_pages: int | None = None) -> Plan:
        """Return the cells of a trace; while its pages are not known, it is as large as can be.

        Args:
            options: The options of a setting.
            footprint_pages: The pages of the trace, if they are known.

        Raises:
            UsageError: a name, a size or a device is unusable, perhaps on such a trace alone.
        """
        plan = _engine.plan(self.study.name, options, footprint_pages=footprint_pages)
        known = "device" in plan
        facts = {"devices": [plan["device"]], "policies": plan["policies"]} if known else {}
        return Plan(plan["cells"], facts)

    def setting(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the options of rows that the study's own rows do not tell of, a column each.

        These are those of which the grid has one value at a time; rows of pages tell of them.
        """
        if self.depends_on_footprint:
            return rows.select([])
        listed = _engine.grids()[self.study.name]["listed"]
        cells = [json.loads(text) for text in rows["cell"]]
        names = [name for name in self.options if name not in listed]
        return pl.DataFrame(
            {name: [_text(cell.get(name, self._absent(name))) for cell in cells] for name in names},
            schema=dict.fromkeys(names, pl.String),
        )

    def _absent(self, name: str) -> object:
        """An option's value in a cell without it."""
        return self.options[name].checked(None) if name in self._newer else None


@dataclass(frozen=True)
class _Table:
    """Columns of a table of a locality analysis.

    Attributes:
        value: The column that analyses look at if they name none.
        within: The columns that tell its rows apart, beside what is compared.
        label: What is compared.
        labels: All that it may be.
    """

    value: str
    within: tuple[str, ...]
    label: pl.Expr
    labels: tuple[str, ...]


_RANKED = pl.format("{} by {}", "op", "ranking")
_RANKINGS = ("all by recency", "read by recency", "write by recency", "write by frequency")
_LOCALITY: Mapping[str, _Table] = {
    "summary": _Table("inversion_share", (), _RANKED, _RANKINGS),
    "ranks": _Table("re_reference_probability", ("rank",), _RANKED, _RANKINGS),
    "inversions": _Table("displaced_share", ("first_rank",), _RANKED, _RANKINGS),
    "miss-curve": _Table("io_time_us", ("frames",), pl.lit("lru"), ("lru",)),
    "working-set": _Table("mean_pages", ("window_references",), pl.col("op"),
                          ("all", "read", "write")),
    "recency": _Table("read_references", ("recency_pages",), pl.lit("all"), ("all",)),
    "intervals": _Table("pages", ("interval",), pl.lit("all"), ("all",)),
}  # fmt: skip


class LocalityLayout(Layout):
    """Locality: a cell holds all tables of a trace, and one of them is looked at.

    Args:
        table: Which one; the summary if ``None``, or, where only samples were followed, the curve.
    """

    def __init__(self, table: str | None = None) -> None:
        self._table = table
        look = _LOCALITY[table or "summary"]
        super().__init__("locality")
        self.value = look.value
        self.within = look.within
        self._look = look

    def asked(self, table: Record) -> tuple[Layout, Fields]:
        """Take the key ``rows``, the table that is looked at."""
        options = dict(table)
        given = options.pop("rows", "miss-curve" if "sample" in table else "summary")
        if given not in TABLES:
            raise UsageError(f"rows = {given!r} is unknown", f"give one of {', '.join(TABLES)}")
        if given != "miss-curve" and "sample" in table:
            raise UsageError(
                f"rows = {given!r} needs the whole trace",
                "leave out sample, or write rows = 'miss-curve'",
            )
        if given == "intervals" and not table.keys() & {"every", "warm_up"}:
            raise UsageError(
                "rows = 'intervals' needs their length", "add every, such as every = 10000"
            )
        return LocalityLayout(given), options

    @property
    def columns(self) -> Columns:
        """The columns of the table."""
        return TABLES[self._table or "summary"]

    @property
    def label(self) -> pl.Expr:
        """Which ranking, or which references, a row is of."""
        return self._look.label.alias("policy")

    def shown(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the table, for all cells one after the other."""
        table = self._table
        if table is None:
            table = "summary" if (cells["summary"].list.len() > 0).any() else "miss-curve"
        return table_of(cells, table, [name for name in DATASET if name in cells.columns])

    def contenders(self, options: Record) -> list[str]:
        """Return the rankings, or the kinds of references."""
        return list(self._look.labels)


def _text(value: object) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def files_of(options: Record) -> list[str]:
    """Return the devices and drives that options name, built-in ones and files."""
    named: list[str] = []
    for name in _engine.FILE_OPTIONS:
        value = options.get(name)
        named += value if isinstance(value, list) else [] if value is None else [value]
    return named


LAYOUTS: Mapping[str, Layout] = {
    name: LocalityLayout() if name == "locality" else Layout(name) for name, _ in _engine.STUDIES
}
"""What can be swept, by the name of its table in an experiment."""

PAGES = LAYOUTS["pages"]
