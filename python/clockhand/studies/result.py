"""What every study gives: rows, how they were made, what they say, figures and a report."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.study.run import Ran, Records

if TYPE_CHECKING:
    import polars as pl


class StudyResult(ReportedRows):
    """The result of a study.

    Until 0.3 it can be used as the table of its rows, which ``simulate`` and ``pagecache`` gave:
    it has the table's columns, length and methods beside its own.

    Attributes:
        rows: One row per cell, in the order of the study's lists; with ``every``, one per interval.

        facts: Command, version, trace hashes, devices and what is compared, for a report.

        warnings: What the readers passed over or assumed, one sentence each.

        cells: The same as ``rows``; with ``every`` these are of intervals, and the cells are here.
    """

    facts: Any
    warnings: list[str]

    def __init__(self, ran: Ran) -> None:
        self._ran = ran
        self.facts = ran.facts
        self.warnings = ran.warnings

    @cached_property
    def rows(self) -> "pl.DataFrame":  # type: ignore[override]
        return self._ran.rows

    @cached_property
    def cells(self) -> "pl.DataFrame":  # type: ignore[override]
        return self._ran.cells

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the rows that the result itself lacks."""
        if name.startswith("_") or hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.rows, name)

    def __getitem__(self, key: Any) -> Any:
        return self.rows[key]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> "Iterator[pl.Series]":
        return iter(self.rows)

    @property
    def records(self) -> Records:
        """The rows as mappings from columns to values."""
        return self._ran.records

    def report(self, path: str | os.PathLike[str], *, highlight: str | Sequence[str] = ()) -> None:
        """Write the report; ``write_report`` is the older name, which goes with 0.3."""
        self.write_report(path, highlight=highlight)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        tables, intervals = self._shown()
        figures: dict[str, Spec] = self._of_study("report").specifications(*tables, highlight)
        over_time: dict[str, Spec] = self._of_study("charts").OVER_TIME.charts(
            intervals, self.facts
        )
        return figures | over_time

    def _shown(self) -> "tuple[tuple[object, ...], pl.DataFrame | None]":
        """Return what the report and the figures are made of, and the intervals beside it."""
        return (self.cells, self.facts), self.intervals

    def _answer(self) -> Sequence[str]:
        sentences: list[str] = self._of_study("findings").findings(self.cells, self.facts)
        return sentences

    def _rendered(self, highlight: Sequence[str]) -> str:
        tables, intervals = self._shown()
        page: str = self._of_study("report").render(*tables, highlight, intervals=intervals)
        return page

    def _of_study(self, module: str) -> Any:
        """Return a module beside the result's, which is imported when it is asked for."""
        return import_module(f"{type(self).__module__.rpartition('.')[0]}.{module}")
