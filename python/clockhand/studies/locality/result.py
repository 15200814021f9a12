"""What an analysis of locality gives: a table for each question."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from clockhand.report.canvas import Spec
from clockhand.studies.locality.tables import KINDS, column_of, table_of
from clockhand.studies.result import StudyResult
from clockhand.study.calls import in_python
from clockhand.study.columns import ColumnParts
from clockhand.study.errors import UsageError, option

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

    IntColumn = npt.NDArray[np.uint64]

LEADING = (
    "trace", "ranking", "op", "references", "top_10_percent_share", "inversion_share",
    "frames", "misses", "write_ios", "io_time_us",
)  # fmt: skip
"""The columns that notebooks show, of the summary or, where a sample was followed, of the curve."""


class Locality(StudyResult):
    """What :func:`run_locality` finds, a table for each analysis; docs/locality.md defines them.

    With ``sample``, only ``miss_curve`` has rows.

    Attributes:
        summary: One row per trace and ranking: shares of its references in the top ranks, out of
            all references of the kind, and the share of re-references that rankings invert.

        ranks: References and re-reference probability of each rank.

        inversions: Ranges of ranks in which a better rank does not mean more references.

        miss_curve: What LRU misses and writes back at every memory size; sampled, at a grid of
            sizes and with standard errors.

        working_set: Average number of pages in a window of references.

        recency: Reads and writes by the other pages since the previous reference to their page.

        intervals: References, pages and new pages of each interval, with ``every``.

        facts: Command, version, trace hashes and device, for a report.

        warnings: What the readers passed over or assumed, one sentence each.
    """

    @property
    def rows(self) -> "pl.DataFrame":  # type: ignore[override]
        """The summary or, where a sample was followed, the curve."""
        return self.miss_curve if self.summary.is_empty() else self.summary

    @property
    def cells(self) -> "pl.DataFrame":  # type: ignore[override]
        """The same."""
        return self.rows

    @cached_property
    def summary(self) -> "pl.DataFrame":
        return self._made("summary")

    @cached_property
    def ranks(self) -> "pl.DataFrame":
        return self._made("ranks")

    @cached_property
    def inversions(self) -> "pl.DataFrame":
        return self._made("inversions")

    @cached_property
    def miss_curve(self) -> "pl.DataFrame":
        return self._made("miss-curve")

    @cached_property
    def working_set(self) -> "pl.DataFrame":
        return self._made("working-set")

    @cached_property
    def recency(self) -> "pl.DataFrame":
        return self._made("recency")

    def rank_blocks(self) -> "dict[tuple[str, str, str], list[IntColumn]]":
        """Return, by trace, ranking and operation, the references by rank as each block ended.

        There are none but of :func:`~.run.locality_with`; the last are those of the whole trace.
        """
        return {
            (trace["name"], found["ranking"], found["op"]): [*found["blocks"], found["counts"]]
            for trace, rankings in self._ran.result["blocks"]
            for found in rankings
        }

    @cached_property
    def intervals(self) -> "pl.DataFrame":
        return self._made("intervals")

    def _made(self, name: str) -> "pl.DataFrame":
        found = self._found(name)
        return table_of(self._ran.rows, name) if found is None else found.table()

    def _found(self, name: str) -> ColumnParts | None:
        """Return a table as the engine gave it; a dataset has none."""
        parts = self._ran.result.get("parts")
        return None if parts is None else ColumnParts(KINDS[name], parts[name])

    @in_python(renamed={"rows": "table", "sample": "sample of locality"})
    def table(self, name: str) -> "pl.DataFrame":
        """Return a table by its name in :data:`TABLES`.

        Raises:
            UsageError: there is no such table, or a sample cannot fill it.
        """
        self._check(name)
        rows: pl.DataFrame = getattr(self, column_of(name))
        return rows

    def columns(self, name: str) -> ColumnParts | None:
        """Return a table as the engine gave it, which can be written without Polars.

        A dataset has none.

        Raises:
            UsageError: there is no such table, or a sample cannot fill it.
        """
        self._check(name)
        return self._found(name)

    def _check(self, name: str) -> None:
        if name not in KINDS:
            raise UsageError(
                option("rows") + f" {name!r} is unknown", f"give one of {', '.join(KINDS)}"
            )
        summary = self._found("summary")
        is_sampled = self.summary.is_empty() if summary is None else not summary.parts
        if name not in ("miss-curve", "intervals") and is_sampled:
            raise UsageError(
                option("rows") + f" {name} needs the whole trace",
                "leave out " + option("sample") + ", or give " + option("rows") + " miss-curve",
            )

    def _leading(self) -> "pl.DataFrame":
        return self.rows.select(name for name in LEADING if name in self.rows.columns)

    def _answer(self) -> list[str]:
        from clockhand.studies.locality.report import answer

        return answer(self._tables(), self.facts)

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.locality.report import render

        return render(self._tables(), self.facts)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.locality.report import specifications

        return specifications(self._tables(), self.facts)

    def _tables(self) -> "dict[str, pl.DataFrame]":
        return {name: getattr(self, column_of(name)) for name in KINDS}
