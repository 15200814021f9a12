"""The cells that the page has computed, kept from one session to the next in the user's cache.

The cells of a trace are a dataset, named after the digest of the trace, how it was read, and the
version of the numbers. No one else can look into the folder. It is bounded: what was not asked for
longest goes first.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from clockhand import _engine
from clockhand.datasets.dataset import Dataset
from clockhand.datasets.facts import distinct
from clockhand.datasets.layout import PAGES
from clockhand.study.copies import private_folder
from clockhand.study.errors import ClockhandError
from clockhand.study.records import Fields, Record
from clockhand.sweep.task import trace_sha256

MOST_BYTES = 256 << 20
"""What the cells of all traces may take."""

FOLDER = "explore"


class KeptCells:
    """The cells of one trace.

    Args:
        path: The trace, a file.
        asked: What else rows depend on: how it is read, and the memory sizes.
    """

    def __init__(self, path: str, asked: Record) -> None:
        self._digest = trace_sha256(path)
        identity = json.dumps(
            [os.path.abspath(path), self._digest, _engine.NUMBERS_VERSION, dict(asked)],
            sort_keys=True,
            default=str,
        )
        self._rows = pl.DataFrame(schema=PAGES.schema)
        self._facts: list[Fields] = []
        self._dataset: Dataset | None = None
        # The page needs no cache: without a folder cells are kept while it is open.
        with suppress(OSError, ClockhandError):
            places = private_folder(FOLDER)
            folder = places / hashlib.sha256(identity.encode()).hexdigest()[:24]
            _make_room(places, folder)
            self._dataset = Dataset(folder)
            self._read(folder)

    def _read(self, folder: Path) -> None:
        assert self._dataset is not None
        try:
            self._rows, self._facts = self._dataset.cells(), self._dataset.facts()
            if folder.is_dir():
                os.utime(folder)
        except ClockhandError:  # What is damaged is computed again.
            shutil.rmtree(folder, ignore_errors=True)

    def rows(self, device: str, page_bytes: int) -> pl.DataFrame:
        """Return what is known with a device and a page size, with the columns of a result."""
        at = (pl.col("device") == device) & (pl.col("page_bytes") == page_bytes)
        return self._rows.filter(at).select(*PAGES.study.schema)

    def facts(self, device: str, page_bytes: int) -> Fields:
        """Return how these rows were made: as the last of them, and every policy."""
        of_them = [
            facts
            for facts in self._facts
            if facts["devices"][0]["name"] == device
            and facts["traces"][0]["page_bytes"] == page_bytes
        ]
        return {**of_them[-1], "policies": distinct(of_them, "policies", ("name",))}

    def add(self, rows: pl.DataFrame, facts: Record) -> None:
        """Keep rows, all sizes of some policies, and how they were made."""
        identity = {
            "trace_sha256": self._digest,
            "trace_format": facts["traces"][0]["format"],
            "numbers_version": _engine.NUMBERS_VERSION,
            "version": _engine.__version__,
        }
        whole = [{**row, **identity} for row in rows.to_dicts()]
        self._rows = pl.concat([self._rows, pl.DataFrame(whole, schema=PAGES.schema)])
        self._facts.append(dict(facts))
        if self._dataset is not None:
            with suppress(OSError, ClockhandError):
                self._dataset.append(whole, facts)


def _make_room(places: Path, wanted: Path) -> None:
    """Remove the cells of other traces, those that were asked for longest ago first."""
    folders: Sequence[Path] = sorted(
        (it for it in places.iterdir() if it.is_dir() and not it.is_symlink()),
        key=lambda it: it.stat().st_mtime_ns,
    )
    sizes = {
        folder: sum(part.lstat().st_size for part in folder.iterdir() if part.is_file())
        for folder in folders
    }
    total = sum(sizes.values())
    for folder in folders:
        if total <= MOST_BYTES:
            return
        if folder != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            total -= sizes[folder]
