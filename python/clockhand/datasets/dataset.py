"""The dataset of a sweep: a folder of Parquet files that only ever grows by whole files.

A part is written beside its final name and renamed, so that a sweep that is killed leaves no broken
one. Its name holds the checksum of its content, so that a damaged one is never read as other
numbers. A cell is identified by its layout's key; where two parts hold the same cell, which two
simultaneous sweeps may cause, reading drops one of them, always the same one.
"""

import fcntl
import hashlib
import io
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

import polars as pl

from clockhand import _engine
from clockhand.datasets.facts import distinguished, merged
from clockhand.datasets.layout import LAYOUTS, PAGES, Layout
from clockhand.studies.ssd.tables import DETAILS
from clockhand.study.copies import private_folder
from clockhand.study.errors import ClockhandError, UsageError
from clockhand.study.files import plain, publish, remove_leftovers
from clockhand.study.policies import kind_in_rows, name_of
from clockhand.study.records import Fields, Record
from clockhand.study.remote import RemoteFolder, is_address, local_path
from clockhand.study.run import Columns
from clockhand.study.sampling import SAMPLE_COLUMNS
from clockhand.study.sizes import bytes_text

KEY = PAGES.key
"""The columns that say which cell a row of page policies is: equal keys mean equal numbers."""

DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException, KeyError, ValueError)
"""What reading a damaged Parquet file may raise."""

LOCK = ".lock"
"""The file in a dataset's folder that every sweep at work has locked."""

LOCK_PATIENCE_S = 5.0

FACTS = "clockhand_facts"
TOLD = {"command", "version", "created", "seed", "traces"}
"""What the facts of every part tell."""

NEWER_COLUMNS = (
    "permission_faults", *SAMPLE_COLUMNS, "skipped_requests", "interval", "from_reference",
    "from_us", "intervals", "dropped_clean", "dropped_dirty", *DETAILS,
)  # fmt: skip
"""Columns that older parts lack; their cells have no value. Newer columns that follow from others,
as ``kind`` does from the policy, are computed."""
PARTS = "part-*.parquet"
CHECKED = re.compile(r"part-([0-9a-f]{32})\.parquet")
"""The name of a part that holds its checksum; older ones, and ones renamed by hand, hold none."""

MOST_BYTES = 512 << 20
"""What the rows of a part may take in memory, however small it is."""

MOST_TIMES = 100
"""How many times its own size the rows of a large part may take in memory."""


def within(folder: str | os.PathLike[str], name: str) -> str:
    """Return the folder of this name in another one, which may be at an address."""
    return f"{os.fspath(folder)}/{name}"


class Dataset:
    """A folder of parts; it is made when the first part is written.

    At an address such as ``s3://bucket/cells`` the parts there count: they are copied into the
    user's cache when they are first asked for, and a new one is uploaded first.

    Args:
        folder: The folder, or its address.
        layout: The study whose parts are looked at.

    Attributes:
        name: What messages call it.
        folder: The folder, or the copy of the one at an address.
    """

    def __init__(self, folder: str | os.PathLike[str], layout: Layout = PAGES) -> None:
        self.name = os.fspath(folder)
        self.layout = layout
        self._remote: RemoteFolder | None = None
        self._is_copied = False
        self._checked: set[tuple[Path, int, int]] = set()
        self._cannot_write: OSError | None = None
        if not is_address(self.name):
            self.folder = Path(self.name)
        elif (local := local_path(self.name)) is not None:
            self.folder = Path(local)
        else:
            self._remote = RemoteFolder(self.name)
            known = hashlib.sha256(self._remote.address.encode()).hexdigest()[:24]
            self.folder = private_folder("remote-datasets") / known

    @classmethod
    def found(cls, folder: str | os.PathLike[str]) -> "Dataset":
        """Return the dataset in a folder, whatever study its parts are of.

        Raises:
            UsageError: the folder holds no part, or parts of several studies.
            ClockhandError: a part is damaged.
        """
        dataset = cls(folder)
        parts = dataset.all_parts()
        if not parts:
            raise UsageError(
                f"{folder} is no dataset: it holds no part-*.parquet", "name the folder of one"
            )
        studies = sorted({_study_of(dataset._facts_of(part)) for part in parts})
        if len(studies) > 1:
            raise UsageError(
                f"{folder} holds cells of {' and '.join(studies)}",
                "give each experiment a dataset of its own",
            )
        if studies[0] not in LAYOUTS:
            raise UsageError(
                f"{folder} holds cells of {studies[0]!r}, which this version does not know",
                "name another folder, or install a newer version",
            )
        dataset.layout = LAYOUTS[studies[0]]
        return dataset

    def all_parts(self) -> list[Path]:
        """Return the files of the parts of every study, in the order of their names.

        Raises:
            ClockhandError: those at an address cannot be read.
        """
        self._copy()
        return sorted(self.folder.glob(PARTS))

    def parts(self) -> list[Path]:
        """Return the files of the study's parts, in the order of their names."""
        name = self.layout.study.name
        return [part for part in self.all_parts() if _study_of(self._facts_of(part)) == name]

    def append(self, rows: Sequence[Record], facts: Record) -> None:
        """Add cells as one file, which appears whole or not at all.

        Args:
            rows: One mapping per cell, with the columns of the layout.
            facts: How they were made.

        Raises:
            OSError: the file could not be written.
            ClockhandError: it could not be uploaded.
        """
        buffer = io.BytesIO()
        frame = pl.DataFrame(rows, schema=self.layout.schema)
        stored = {**facts, "study": self.layout.study.name}
        frame.write_parquet(buffer, metadata={FACTS: json.dumps(stored)})
        content = buffer.getvalue()
        part = self.folder / f"part-{_checksum(io.BytesIO(content))}.parquet"
        if self._remote is not None:
            self._remote.write(part.name, content)
        publish({part: content}, self.folder)

    def _copy(self) -> None:
        """Make the copy of a dataset at an address the same as that, once."""
        if self._remote is None or self._is_copied:
            return
        began_s = time.time()
        kept = self._remote.names(PARTS)
        for part in self.folder.glob(PARTS):
            facts = part.stat()
            # A part of another sweep that is newer than the list may be missing in it.
            if kept.get(part.name) != facts.st_size and facts.st_mtime < began_s:
                part.unlink(missing_ok=True)
        for name in kept:
            if not (self.folder / name).exists():
                publish({self.folder / name: self._remote.read(name)}, self.folder)
        self._is_copied = True

    def _facts_of(self, part: Path) -> Fields:
        with self._opened(part) as file:
            return _read_facts(file)

    @contextmanager
    def _opened(self, part: Path) -> Iterator[BinaryIO]:
        """Open a part that is as it was written; tell of a damaged one under the name that its
        owner knows.

        It is read from the open file: Polars takes names for patterns, and ``~`` for a home.
        """
        with ExitStack() as stack:
            try:
                file = stack.enter_context(open(part, "rb", opener=plain))
            except OSError as error:
                raise ClockhandError(
                    f"{self.name}/{part.name} cannot be read ({error.strerror}); make it readable, "
                    "or delete it, and the sweep computes its cells again"
                ) from error
            try:
                self._check(part, file)
                yield file
            except (*DAMAGED, OSError) as error:
                raise ClockhandError(
                    f"{self.name}/{part.name} is damaged or no part of a dataset; delete it, and "
                    "the sweep computes its cells again"
                ) from error

    def _check(self, part: Path, file: io.BufferedReader) -> None:
        """Compare a part with its checksum, and what it asks for with what a part may; once.

        Raises:
            ValueError: it is another content than was written.
            ClockhandError: its rows would take too much memory.
        """
        known = os.fstat(file.fileno())
        state = (part, known.st_mtime_ns, known.st_size)
        if state in self._checked:
            return
        named = CHECKED.fullmatch(part.name)
        if named is not None and _checksum(file) != named[1]:
            raise ValueError(f"the checksum of {part.name} is another one")
        asked, most = _engine.parquet_demand(part), max(MOST_BYTES, MOST_TIMES * known.st_size)
        if asked > most:
            raise ClockhandError(
                f"{self.name}/{part.name} has {bytes_text(known.st_size)} and asks for "
                f"{bytes_text(asked)} of memory, more than a part of a dataset does "
                f"({bytes_text(most)}); delete it, and the sweep computes its cells again"
            )
        self._checked.add(state)
        file.seek(0)

    def cells(self, *, lists: bool = True, newest: bool = False) -> pl.DataFrame:
        """Return all cells of this version of the numbers, each once, in the order of their keys.

        Args:
            lists: Whether the columns that hold lists are read too.
            newest: Whether each cell is given in the newest version that it has, whichever that is.

        Raises:
            ClockhandError: a part is damaged.
        """
        beside = () if lists else self.layout.study.beside()
        wanted = {name: kind for name, kind in self.layout.schema.items() if name not in beside}
        parts = (self._read(part, wanted) for part in self.parts())
        return _each_once(parts, self.layout, wanted, newest=newest)

    def facts(self) -> list[Fields]:
        """Return how each part was made.

        Raises:
            ClockhandError: a part is damaged.
        """
        return [self._facts_of(part) for part in self.parts()]

    def _read(self, part: Path, wanted: Columns) -> pl.DataFrame:
        with self._opened(part) as file:
            return _read_part(file, self.layout, wanted)

    def remove_leftovers(self) -> None:
        """Remove what killed sweeps left half-written, unless another sweep is at work, or nothing
        can be removed."""
        if not self.folder.is_dir():
            return
        with suppress(OSError, ClockhandError), open(self.folder / LOCK, "a", opener=plain) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_leftovers(self.folder)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Keep other sweeps from removing leftovers; any number of them may be at work at once.

        A folder that cannot be written to is read as it is: if it has every cell, nothing is to be
        written.

        Raises:
            ClockhandError: another program holds the lock, or a pipe stands in its place.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                lock = stack.enter_context(open(self.folder / LOCK, "a", opener=plain))
            except OSError as error:
                self._cannot_write = OSError(error.errno, error.strerror, self.name)
            else:
                self._share(lock)
            yield

    def _share(self, lock: TextIO) -> None:
        """Lock a file together with other sweeps, which hold it alone for moments only."""
        end = time.monotonic() + LOCK_PATIENCE_S
        while True:
            try:
                return fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise ClockhandError(
                        f"{self.name}/{LOCK} is locked by another program, and no sweep keeps it "
                        "so long; end that program, or name another folder"
                    ) from None
            time.sleep(0.05)

    def check_writable(self) -> None:
        """Find out before cells are computed that they can be kept.

        Raises:
            OSError: the folder cannot be written to.
        """
        if self._cannot_write is not None:
            raise self._cannot_write

    def report(self) -> tuple[pl.DataFrame, Fields]:
        """Return all cells in an order for reading, and how they were made.

        Digests distinguish traces of one name and different contents.

        Raises:
            UsageError: the folder holds no cell of this version of the numbers.
            ClockhandError: a part is damaged.
        """
        parts = self.parts()
        cells = self.cells()
        if cells.is_empty():
            raise UsageError(
                f"{self.name} holds nothing of this version of the numbers "
                f"({_engine.NUMBERS_VERSION})",
                "run its sweep again",
            )
        order = {policy["name"]: place for place, policy in enumerate(_engine.policies())}
        if "policy_resolved" in cells.columns:
            places = [order.get(name_of(text), len(order)) for text in cells["policy_resolved"]]
            cells = cells.with_columns(pl.Series("policy_place", places))
        cells = cells.sort("trace", "trace_sha256", "view", *self.layout.order)
        facts = merged((self._facts_of(part) for part in parts), self.layout, cells)
        return distinguished(cells.select(*self.layout.schema), facts)


def _study_of(facts: Record) -> str:
    """The study that a part is of; parts from before there were several are of pages."""
    return str(facts.get("study", PAGES.study.name))


def _each_once(
    parts: Iterable[pl.DataFrame], layout: Layout, schema: Columns, *, newest: bool = False
) -> pl.DataFrame:
    """Rows with the same key have the same numbers, and may differ in how names were written."""
    key = layout.key
    cells = pl.concat([pl.DataFrame(schema=schema), *parts], how="diagonal")
    if newest:
        key = tuple(name for name in key if name != "numbers_version")
        version = pl.col("numbers_version")
        current = cells.filter(version == version.max().over(key))
    else:
        current = cells.filter(pl.col("numbers_version") == _engine.NUMBERS_VERSION)
    names = ("trace", "policy", "buffer", "ssd", "device", "version")
    spelling = [name for name in names if name not in key and name in schema]
    return current.sort(*key, *spelling).unique(key, keep="first", maintain_order=True)


def _checksum(file: io.BytesIO | io.BufferedReader) -> str:
    """Return the checksum of a part's content, half a SHA-256."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def _read_part(part: BinaryIO, layout: Layout, wanted: Columns) -> pl.DataFrame:
    held = [name for name in pl.read_parquet_schema(part) if name in wanted]
    part.seek(0)
    cells = pl.read_parquet(part, columns=held, hive_partitioning=False)
    older = [name for name in layout.options if name in layout.key]
    defaults = [
        pl.lit(layout.options[name].checked(None), layout.schema[name]).alias(name)
        for name in older  # Parts may be older than an option.
        if name not in cells.columns
    ]
    newer = [
        pl.lit(None, wanted[name]).alias(name)
        for name in NEWER_COLUMNS
        if name in wanted and name not in cells.columns
    ]
    cells = cells.with_columns(*defaults, *newer)
    if "kind" in wanted and "kind" not in cells.columns:
        kinds = [kind_in_rows(text) for text in cells["policy"]]
        cells = cells.with_columns(pl.Series("kind", kinds, pl.String))
    return cells.select(pl.col(name).cast(kind) for name, kind in wanted.items())


def _read_facts(part: BinaryIO) -> Fields:
    facts = json.loads(pl.read_parquet_metadata(part)[FACTS])
    if not isinstance(facts, dict) or not facts.keys() >= TOLD:
        raise ValueError("facts that tell too little")
    return facts
