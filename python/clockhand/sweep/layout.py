"""Keys, plans and columns of each study's cells in a dataset."""

import hashlib
import itertools
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from clockhand import _engine
from clockhand.studies.filecache.run import FILE_CACHE
from clockhand.studies.locality.run import LOCALITY
from clockhand.studies.locality.tables import TABLES, table_of
from clockhand.studies.pagecache.run import PAGE_CACHE
from clockhand.studies.pages.run import PAGES as PAGES_STUDY
from clockhand.studies.ssd.run import SSD
from clockhand.studies.tier.run import TIER
from clockhand.studies.translate.run import TRANSLATE
from clockhand.study.errors import ClockhandError
from clockhand.study.intervals import intervals_or_cells
from clockhand.study.options import Option
from clockhand.study.run import Columns, Options, Study
from clockhand.sweep.table import swept_options

BUILT_IN = "built-in"
"""The digest of a device that comes with this version."""

IDENTITY: Columns = {
    "view": pl.String,
    "trace_sha256": pl.String,
    "trace_format": pl.String,
}
ORIGIN: Columns = {"numbers_version": pl.UInt32, "version": pl.String}
FILES = ("ssd", "device", "file_device", "tiers", "storage")
"""Columns, and options, that may name a file: what they name is known by its content."""

NEWER_OPTIONS: Mapping[str, tuple[str, ...]] = {"pagecache": ("flush_at_end",)}
"""By study, options that older parts lack; an option at its default is left out of a cell's key."""


@dataclass(frozen=True)
class Cell:
    """A cell before it is computed.

    Attributes:
        key: The columns that say which cell it is, but for those of the trace.
        named: The columns whose text is the experiment's own: equal cells may be named otherwise.
        place: What the engine knows it by.
    """

    key: Mapping[str, Any]
    named: Mapping[str, Any]
    place: Any


class Layout(ABC):
    """A study in sweeps.

    Attributes:
        study: The study.

        value: The column that analyses look at if they name none.

        key: The columns that say which cell a row is: equal keys mean equal numbers.

        schema: The columns of a dataset.

        order: The sort columns of a dataset for reading.

        within: The columns that tell the rows of one cell apart, where it has several.

        depends_on_footprint: Whether cells are known before the trace is.
    """

    study: Study[Any]
    value: str
    key: tuple[str, ...]
    schema: Columns
    order: tuple[str, ...]
    within: tuple[str, ...] = ()
    depends_on_footprint: bool

    def asked(self, table: Mapping[str, Any]) -> tuple["Layout", dict[str, Any]]:
        """Return the layout for the table of an experiment, and what the table says of options.

        Raises:
            ValueError: a key of the table is of the wrong kind; one sentence.
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
        return swept_options(self.study)

    def check(self, options: Options) -> None:
        """Refuse options before hours are spent on what comes before a mistake.

        Raises:
            UsageError: a name, a size or a device is unusable.
        """
        _engine.check_options(self.study.name, options)

    def contenders(self, options: Mapping[str, Any]) -> list[str]:
        """Return what an experiment compares, without sizes."""
        column = self.study.contender
        assert column is not None, "a layout that compares nothing else names what it compares"
        names = pl.DataFrame({column: options[column]}, schema={column: pl.String})
        return names.select(self.study.label())["policy"].to_list()

    @abstractmethod
    def cells(self, options: Options, footprint_pages: int | None) -> list[Cell]:
        """Return the cells of one trace, in the order of its rows.

        Args:
            options: The options of a setting.
            footprint_pages: The pages of the trace, if they are known.

        Raises:
            UsageError: the options are unusable on such a trace.
        """

    def known_facts(self, options: Options) -> Mapping[str, Any] | None:
        """Return the facts of devices and contenders, if they are known without a trace."""
        return None

    @abstractmethod
    def setting(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the options of rows that the study's own rows do not tell of, a column each."""


def kept_type(option: Option) -> type[pl.DataType]:
    """Return the type of the column that keeps an option."""
    return {"flag": pl.Boolean, "whole": pl.UInt64}.get(option.kind, pl.String)


class PagesLayout(Layout):
    """Page policies: cells are known by frames and by policies with every default."""

    def __init__(self) -> None:
        self.study = PAGES_STUDY
        self.value = "io_time_us"
        self.order = (
            "page_bytes", "device", *self._keyed(), "frames", "policy_place", "policy_resolved",
        )  # fmt: skip
        self.key = (
            "trace_sha256", "trace_format", "view", "policy_resolved", "frames", "page_bytes",
            "device_resolved", "device_sha256", *self._keyed(), "interval", "numbers_version",
        )  # fmt: skip
        own = self.study.schema
        options = self.options
        self.schema = {
            **own,
            **{name: kept_type(options[name]) for name in self._keyed() if name not in own},
            **IDENTITY,
            "device_sha256": pl.String,
            **ORIGIN,
        }
        self.depends_on_footprint = True

    def _keyed(self) -> list[str]:
        """Options that make other cells, beside those that the rows resolve."""
        resolved = ("policy", "frames", "memory", "page_size", "device", "bound_effort", "seed")
        return [name for name in self.options if name not in resolved]

    def cells(self, options: Options, footprint_pages: int | None) -> list[Cell]:
        """Return the cells of a trace; while its pages are not known, it is as large as can be."""
        plan = _engine.plan_cells(options, footprint_pages=footprint_pages)
        device = options["device"]
        shared = {
            "page_bytes": int(options["page_size"]),
            "device_resolved": plan["device"]["resolved"],
            "device_sha256": file_sha256(device),
            **{name: options[name] for name in self._keyed()},
            "sample": self._sampled(plan["sample"], options),
        }
        return [
            Cell(
                key={
                    "policy_resolved": cell["policy_resolved"], "frames": cell["frames"], **shared
                },
                named={"device": device, "policy": cell["policy"]},
                place=(cell["policy"], cell["frames"]),
            )
            for cell in plan["cells"]
        ]  # fmt: skip

    @staticmethod
    def _sampled(sample: str | None, options: Options) -> str | None:
        """Which pages are followed: another seed draws others."""
        return None if sample is None else f"{sample} seed {options['seed']}"

    def known_facts(self, options: Options) -> Mapping[str, Any] | None:
        """Return the facts of the device and the policies."""
        plan = _engine.plan_cells(options, footprint_pages=None)
        return {"devices": [plan["device"]], "policies": plan["policies"]}

    def setting(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Reports of pages tell of all settings themselves."""
        return rows.select([])


class GridLayout(Layout):
    """Any other study: a cell is known by all its options, written out.

    Options that name files are known by the files' content.
    """

    def __init__(self, study: Study[Any], value: str, order: Sequence[str]) -> None:
        self.study = study
        self.value = value
        self.order = (*order, "cell")
        self.key = ("trace_sha256", "trace_format", "view", "cell", "interval", "numbers_version")
        self.schema = {
            **study.schema,
            **study.beside(),
            "interval": pl.UInt64,
            **IDENTITY,
            "cell": pl.String,
            **ORIGIN,
        }
        self.depends_on_footprint = False

    def cells(self, options: Options, footprint_pages: int | None) -> list[Cell]:
        """Return the cells of any trace: one of each of the grid's lists, in the order of rows."""
        listed = {name for entry in self.study.grid for name in entry.split("|")}
        single = {name: value for name, value in options.items() if name not in listed}
        return [
            self._cell({**single, **point}, position)
            for position, point in enumerate(self._points(options))
        ]

    def _points(self, options: Options) -> list[dict[str, Any]]:
        dimensions = []
        for entry in self.study.grid:
            name = next((it for it in entry.split("|") if options[it]), entry.split("|")[0])
            dimensions.append([(name, item) for item in _items(name, options) or [None]])
        points = [dict(point) for point in itertools.product(*dimensions)]
        return [point for point in points if not self.study.repeats(point, options)]

    def _cell(self, point: dict[str, Any], position: int) -> Cell:
        newer = NEWER_OPTIONS.get(self.study.name, ())
        known = {
            name: known_by(value)
            for name, value in point.items()
            if value is not None
            if name not in newer or value != self.options[name].checked(None)
        }
        schema = self.study.schema
        named = {name: point.get(name) for name in FILES if name in schema}
        if "file_device" in named and named["file_device"] is None:
            named["file_device"] = named["device"]
        return Cell(
            key={"cell": json.dumps(known, sort_keys=True, ensure_ascii=False)},
            named={name: value for name, value in named.items() if value is not None},
            place=position,
        )

    def setting(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return a column for each option of which the grid has one value at a time."""
        listed = {name for entry in self.study.grid for name in entry.split("|")}
        cells = [json.loads(text) for text in rows["cell"]]
        names = [name for name in self.options if name not in listed]
        return pl.DataFrame(
            {name: [_text(cell.get(name, self._absent(name))) for cell in cells] for name in names},
            schema=dict.fromkeys(names, pl.String),
        )

    def _absent(self, name: str) -> Any:
        """An option's value in a cell without it."""
        is_newer = name in NEWER_OPTIONS.get(self.study.name, ())
        return self.options[name].checked(None) if is_newer else None


class TierLayout(GridLayout):
    """Two tiers: rules of promotion are of page policies alone."""

    def __init__(self) -> None:
        super().__init__(
            TIER, "mean_ns", ("page_bytes", "fast_frames", "policy", "promote", "tiers")
        )

    def _points(self, options: Options) -> list[dict[str, Any]]:
        own = {entry["name"] for entry in _engine.tier_policies()} | {"bound"}
        first = next(iter(options["promote"]), None)
        points = []
        for point in super()._points(options):
            if _engine.policy_name(point["policy"]) not in own:
                points.append({**point, "promote": point["promote"] or "first-touch"})
            elif point["promote"] == first:
                points.append({**point, "promote": None})
        return points


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


class LocalityLayout(GridLayout):
    """Locality: a cell holds all tables of a trace, and one of them is looked at.

    Args:
        table: Which one; the summary if ``None``, or, where only samples were followed, the curve.
    """

    def __init__(self, table: str | None = None) -> None:
        self._table = table
        look = _LOCALITY[table or "summary"]
        super().__init__(LOCALITY, look.value, ("page_bytes", "device"))
        self.within = look.within
        self._look = look

    def asked(self, table: Mapping[str, Any]) -> tuple[Layout, dict[str, Any]]:
        """Take the key ``rows``, the table that is looked at."""
        options = dict(table)
        given = options.pop("rows", "miss-curve" if "sample" in table else "summary")
        if given not in TABLES:
            raise ValueError(f"rows = {given!r} is unknown; give one of {', '.join(TABLES)}")
        if given != "miss-curve" and "sample" in table:
            raise ValueError(
                f"rows = {given!r} needs the whole trace; leave out sample, or write "
                "rows = 'miss-curve'"
            )
        if given == "intervals" and not table.keys() & {"every", "warm_up"}:
            raise ValueError(
                "rows = 'intervals' needs their length; add every, such as every = 10000"
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
        beside = (*IDENTITY, "cell", *ORIGIN)
        return table_of(cells, table, [name for name in beside if name in cells.columns])

    def contenders(self, options: Mapping[str, Any]) -> list[str]:
        """Return the rankings, or the kinds of references."""
        return list(self._look.labels)


def _text(value: object) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _items(name: str, options: Options) -> list[Any]:
    """The items of a list that cells are made of; ranges of sizes are expanded."""
    value = options[name]
    if not value:
        return []
    match name:
        case "frames":
            return _engine.memory_sizes(frames=value, memory=None)
        case "memory":
            return _engine.memory_sizes(frames=None, memory=value)
        case "fast":
            return _engine.fast_sizes(fast=value, fast_frames=None)
        case "fast_frames":
            return _engine.fast_sizes(fast=None, fast_frames=value)
        case "capacity":
            return _engine.capacities(value)
        case _:
            return list(value)


def files_of(options: Mapping[str, Any]) -> list[str]:
    """Return the devices and drives that options name, built-in ones and files."""
    named: list[str] = []
    for name in FILES:
        value = options.get(name)
        named += value if isinstance(value, list) else [] if value is None else [value]
    return named


def known_by(value: Any) -> Any:
    """Return a file's digest in the place of its name; anything else as it is."""
    if not isinstance(value, str):
        return value
    digest = file_sha256(value)
    if digest == BUILT_IN:
        return value
    return f"sha256 {digest}{value.removeprefix(_file_of(value))}"


def _file_of(device: str) -> str:
    """The file in the text of a device, as far as there is one: behind its last colon are options,
    if it is no file with them."""
    return device if os.path.isfile(device) else device.rpartition(":")[0]


def file_sha256(device: str) -> str:
    """Return what distinguishes two devices of one name: the digest of the user's own profile."""
    path = _file_of(device)
    return sha256_of(path) if os.path.isfile(path) else BUILT_IN


def sha256_of(path: str) -> str:
    """Return the digest of a file's stored bytes, as the engine gives it.

    Raises:
        ClockhandError: the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ClockhandError(
            f"{path}: cannot be read ({error.strerror}); correct the experiment's traces"
        ) from error


PAGES = PagesLayout()
LAYOUTS: Mapping[str, Layout] = {
    layout.study.name: layout
    for layout in (
        PAGES,
        GridLayout(SSD, "waf", ("ssd", "buffer_pages", "buffer")),
        GridLayout(
            FILE_CACHE, "time_us", ("block_bytes", "capacity", "policy", "admission", "device")
        ),
        TierLayout(),
        GridLayout(
            TRANSLATE,
            "amat_ns",
            ("page_bytes", "frames", "policy", "tlb_entries", "tlb", "tlb2", "storage_ratio",
             "device"),
        ),
        GridLayout(PAGE_CACHE, "io_time_us", ("frames", "policy")),
        LocalityLayout(),
    )
}  # fmt: skip
"""What can be swept, by the name of its table in an experiment."""
