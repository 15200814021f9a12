"""What results of comparisons share: sentences, figures, one table, and a page of one part."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import polars as pl

from clockhand.report.canvas import CANVAS, PICTURE, Canvas, Spec
from clockhand.report.html import Figure, Part, study_page
from clockhand.report.reported import Reported
from clockhand.report.table import plain_table
from clockhand.study.records import Record

WORDS = {
    "io_time_us": "I/O time",
    "waf": "write amplification",
    "time_us": "time",
    "mean_ns": "time of a reference",
    "amat_ns": "access time",
}
"""What values are called; others by their columns."""


def word_of(value: str) -> str:
    """Return what a value is called."""
    return WORDS.get(value, value.replace("_", " "))


class Comparison(Reported):
    """A comparison.

    Attributes:
        rows: The whole of it, a row per thing that is compared.
        printed: The table of it that people see.
        facts: How the rows were made.
        captions: The title of each figure and what it shows, by its key.
        slug: The name of the report's part.
        part_title: What stands above that part.
    """

    captions: ClassVar[Mapping[str, tuple[str, str]]]
    slug: ClassVar[str]
    part_title: ClassVar[str]
    rows: pl.DataFrame
    printed: pl.DataFrame
    facts: Record | None

    @property
    @abstractmethod
    def heading(self) -> str:
        """What the table that people see is."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """Return what can be said, and what cannot."""

    @abstractmethod
    def _figures(self, canvas: Canvas) -> dict[str, Spec]:
        """Return the figures in Vega-Lite."""

    @abstractmethod
    def _about(self) -> tuple[str, str, Sequence[str], str]:
        """Return what the report is, its title and sentences, and what its part is about."""

    def _is_drawn(self) -> bool:
        """Say whether the report has figures."""
        return True

    def _tabled(self) -> pl.DataFrame:
        """Return the rows as the report has them."""
        return self.rows

    def _answer(self) -> list[str]:
        return self.sentences()

    def _leading(self) -> pl.DataFrame:
        return self.rows

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return the figures in Vega-Lite."""
        return self._figures(PICTURE)

    def _rendered(self, highlight: Sequence[str]) -> str:
        figures = [
            Figure(key, *self.captions[key], spec, number)
            for number, (key, spec) in enumerate(self._figures(CANVAS).items(), 1)
            if self._is_drawn()
        ]
        overline, title, sentences, text = self._about()
        part = Part(self.slug, self.part_title, rows=[("", figures)], records=[], text=text)
        table = plain_table(self._tabled(), {})
        return study_page(
            overline=overline,
            title=title,
            sentences=sentences,
            parts=[part],
            leading=[],
            facts=self.facts,
            table=table,
        )
