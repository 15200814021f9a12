"""The dataset of a sweep: a folder of Parquet files that only ever grows by whole files.

A part is written beside its final name and renamed, so that a sweep that is killed leaves no broken
one. A cell is identified by :data:`KEY`; where two parts hold the same cell, which two simultaneous
sweeps may cause, reading drops one of them, always the same one.
"""

import fcntl
import io
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import polars as pl

from clockhand import _engine
from clockhand._engine import ClockhandError, UsageError
from clockhand.studies.pages.run import SCHEMA
from clockhand.study.facts import Facts, TraceFacts
from clockhand.study.files import publish, remove_leftovers

KEY = (
    "trace_sha256", "trace_format", "view", "policy_resolved", "frames", "page_bytes",
    "device_resolved", "device_sha256", "bits", "write_miss", "reserve", "flush_at_end",
    "hand_ns", "numbers_version",
)  # fmt: skip
"""The columns that say which cell a row is: equal keys mean equal numbers."""

CELL_SCHEMA: Mapping[str, type[pl.DataType]] = {
    **SCHEMA,
    "flush_at_end": pl.Boolean,
    "hand_ns": pl.UInt64,
    "view": pl.String,
    "trace_sha256": pl.String,
    "trace_format": pl.String,
    "device_sha256": pl.String,
    "numbers_version": pl.UInt32,
    "version": pl.String,
}
"""The columns of a dataset: those of a result, then what else belongs to the key."""

BUILT_IN = "built-in"
"""The digest of a device that comes with this version."""

FACTS = "clockhand_facts"
FIRST_DIGITS = 8


class Dataset:
    """A folder of parts; it is made when the first part is written.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def parts(self) -> list[Path]:
        """Return the files of the parts, in the order of their names."""
        return sorted(self.folder.glob("part-*.parquet"))

    def append(self, rows: Sequence[Mapping[str, Any]], facts: Facts) -> None:
        """Add cells as one file, which appears whole or not at all.

        Args:
            rows: One mapping per cell, with the columns of :data:`CELL_SCHEMA`.
            facts: How they were made.

        Raises:
            OSError: the file could not be written.
        """
        buffer = io.BytesIO()
        frame = pl.DataFrame(rows, schema=CELL_SCHEMA)
        frame.write_parquet(buffer, metadata={FACTS: json.dumps(facts)})
        part = self.folder / f"part-{secrets.token_hex(8)}.parquet"
        publish({part: buffer.getvalue()}, folder=self.folder)

    def cells(self) -> pl.DataFrame:
        """Return all cells of this version of the numbers, each once, in the order of their keys.

        Raises:
            ClockhandError: a part is damaged.
        """
        return _each_once(_read_part(part) for part in self.parts())

    def traces(self) -> list[TraceFacts]:
        """Return what is known of the traces of all cells, one entry per contents and page size.

        Raises:
            ClockhandError: a part is damaged.
        """
        return _distinct(
            [_read_facts(part) for part in self.parts()], "traces", ("sha256", "page_bytes")
        )

    def remove_leftovers(self) -> None:
        """Remove what killed sweeps left half-written, unless another sweep is at work."""
        if not self.folder.is_dir():
            return
        with open(self.folder / ".lock", "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return
            remove_leftovers(self.folder)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Keep other sweeps from removing leftovers; any number of them may be at work at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / ".lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield

    def report(self) -> tuple[pl.DataFrame, Facts]:
        """Return all cells in an order for reading, and how they were made.

        Traces of one name and different contents are told apart by their digests.

        Raises:
            UsageError: the folder holds no cell of this version of the numbers.
            ClockhandError: a part is damaged.
        """
        if not self.parts():
            raise UsageError(
                f"{self.folder} is no dataset: it holds no part-*.parquet; name the folder of one"
            )
        cells = self.cells()
        if cells.is_empty():
            raise UsageError(
                f"{self.folder} holds nothing of this version of the numbers "
                f"({_engine.NUMBERS_VERSION}); run its sweep again"
            )
        order = {policy["name"]: place for place, policy in enumerate(_engine.policies())}
        place = pl.col("policy_resolved").str.split(":").list.first().replace_strict(order)
        cells = cells.sort(
            "trace", "trace_sha256", "view", "page_bytes", "device", "bits", "write_miss",
            "reserve", "flush_at_end", "frames", place, "policy_resolved",
        )  # fmt: skip
        facts = _merged(_read_facts(part) for part in self.parts())
        return _told_apart(cells, facts)


def _each_once(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Rows with the same key have the same numbers, and may differ in how names were written."""
    cells = pl.concat([pl.DataFrame(schema=CELL_SCHEMA), *parts], how="diagonal")
    current = cells.filter(pl.col("numbers_version") == _engine.NUMBERS_VERSION)
    spelling = [name for name in ("trace", "policy", "device", "version") if name not in KEY]
    return current.sort(*KEY, *spelling).unique(KEY, keep="first", maintain_order=True)


def _read_part(part: Path) -> pl.DataFrame:
    try:
        cells = pl.read_parquet(part, hive_partitioning=False)
        if "reserve" not in cells.columns:  # It is older than the option.
            cells = cells.with_columns(pl.lit(0, pl.UInt64).alias("reserve"))
        return cells.select(*CELL_SCHEMA)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(part) from error


def _read_facts(part: Path) -> Facts:
    try:
        return cast(Facts, json.loads(pl.read_parquet_metadata(part)[FACTS]))
    except (pl.exceptions.PolarsError, OSError, KeyError, ValueError) as error:
        raise _damaged(part) from error


def _damaged(part: Path) -> ClockhandError:
    return ClockhandError(
        f"{part} is damaged or no part of a dataset; delete it, and the sweep computes its cells "
        "again"
    )


def _merged(facts: Iterable[Facts]) -> Facts:
    """The facts of all parts: lists are joined, and what differs is given with all its values."""
    listed = sorted(facts, key=lambda fact: fact["created"])
    merged: dict[str, Any] = {**listed[-1]}
    merged["command"] = " ; ".join(dict.fromkeys(fact["command"] for fact in listed))
    merged["version"] = ", ".join(dict.fromkeys(fact["version"] for fact in listed))
    seeds = {fact["seed"] for fact in listed}
    merged["seed"] = seeds.pop() if len(seeds) == 1 else None
    merged["traces"] = _distinct(listed, "traces", ("name", "sha256", "page_bytes"))
    merged["devices"] = _distinct(listed, "devices", ("name", "read_time_us", "write_time_us"))
    merged["policies"] = _distinct(listed, "policies", ("name", "resolved"))
    return cast(Facts, merged)


def _distinct(facts: Sequence[Any], kind: str, by: Sequence[str]) -> list[Any]:
    entries = [entry for fact in facts for entry in fact[kind]]
    return list({tuple(entry[name] for name in by): entry for entry in entries}.values())


def _told_apart(cells: pl.DataFrame, facts: Facts) -> tuple[pl.DataFrame, Facts]:
    digests: dict[str, set[str]] = {}
    for name, digest in cells.select("trace", "trace_sha256").unique().iter_rows():
        digests.setdefault(name, set()).add(digest)

    def told(name: str, digest: str) -> str:
        several = len(digests.get(name, ())) > 1
        return f"{name} ({digest[:FIRST_DIGITS]})" if several else name

    for trace in facts["traces"]:
        trace["name"] = told(trace["name"], trace["sha256"])
    names = [told(*pair) for pair in cells.select("trace", "trace_sha256").iter_rows()]
    return cells.with_columns(pl.Series("trace", names, dtype=pl.String)), facts
