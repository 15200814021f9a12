"""Results that can be written as a report and as figures, and that notebooks show."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from clockhand.study.calls import in_python, offered
from clockhand.study.drawing import check_drawing, chosen
from clockhand.study.errors import UsageError, option
from clockhand.study.files import publish
from clockhand.study.selections import highlighted

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from clockhand.report.canvas import Spec
    from clockhand.report.paper import Paper


PICTURES = (".pdf", ".svg", ".png")

INTERVAL = ("interval", "from_reference", "from_us")
"""The columns that tell which interval a row is of."""


INSIDE = {"compared_by", "leading", "records", "report_files", "specifications"}
"""Methods of results for the command alone, which completion leaves out."""


class Reported(ABC):
    """A result with a report and figures, which are made when they are asked for.

    Notebooks show it as a table with its leading figure.

    Attributes:
        compared_by: The column of the rows that has what figures emphasise; none if they have
            names of their own for it.
        rows: The rows, if they have this column.
    """

    compared_by: ClassVar[str | None] = None
    rows: "pl.DataFrame"

    def write_report(
        self, path: str | os.PathLike[str], *, highlight: str | Sequence[str] = ()
    ) -> None:
        """Write one HTML file with figures, table and facts that opens without a network.

        ``highlight`` names what figures with many lines emphasise, besides the best and the
        baseline: names or patterns, of at most six lines.
        """
        publish(self.report_files(Path(path), None, highlight))

    def write_plots(
        self,
        folder: str | os.PathLike[str],
        *,
        highlight: str | Sequence[str] = (),
        theme: str | None = None,
    ) -> None:
        """Write each figure as SVG and PNG into a folder, which is made if absent.

        A name that ends in ``.pdf``, ``.svg`` or ``.png`` is one file, of the leading figure.
        With ``theme="paper:width=84mm,font=serif"`` a folder has figures for a paper, as PDF and
        SVG with their fonts.
        """
        place = Path(folder)
        paper = None if theme is None else _paper(theme, place)
        if place.suffix.lower() in PICTURES:
            publish(self._one_picture(place, highlight))
        else:
            publish(self.report_files(None, place, highlight, paper), place)

    def _page_or_picture(self, place: Path, highlight: Sequence[str]) -> dict[Path, bytes]:
        """Return the leading figure if the file's name ends as a picture's does, else the page."""
        if place.suffix.lower() in PICTURES:
            return self._one_picture(place, highlight)
        return {place: self._rendered(highlight).encode()}

    def _one_picture(self, place: Path, highlight: str | Sequence[str]) -> dict[Path, bytes]:
        check_drawing()
        from clockhand.report.canvas import picture

        figures = self.specifications(self._among(highlight))
        return {place: picture(figures[chosen(None, figures)], place.suffix.lower()[1:])}

    def chart(
        self, name: str | None = None, *, highlight: str | Sequence[str] = ()
    ) -> "alt.LayerChart":
        """Return a figure as a chart of Altair, which notebooks draw and which can be changed.

        Args:
            name: Its key, as in :meth:`charts`; the leading figure if not given.
            highlight: What is emphasised, as in :meth:`write_report`.

        Raises:
            UsageError: there is no such figure, or nothing to draw.
        """
        check_drawing()
        from clockhand.report.canvas import as_chart

        figures = self.specifications(self._among(highlight))
        return as_chart(figures[chosen(name, figures)])

    def charts(self, *, highlight: str | Sequence[str] = ()) -> "dict[str, alt.LayerChart]":
        """Return all figures as charts of Altair, by their keys, the leading one first."""
        check_drawing()
        from clockhand.report.canvas import as_chart

        figures = self.specifications(self._among(highlight))
        return {key: as_chart(figure) for key, figure in figures.items()}

    @in_python()
    def _among(self, highlight: str | Sequence[str]) -> list[str]:
        """Return what is to be emphasised, which is among what is compared.

        Raises:
            UsageError: an entry matches nothing that is compared, or all together too much.
        """
        texts = [highlight] if isinstance(highlight, str) else list(highlight)
        if texts and self.compared_by is not None:
            return highlighted(
                texts, self.rows[self.compared_by].unique(maintain_order=True).to_list()
            )
        return texts

    def report_files(
        self,
        report: Path | None,
        plots: Path | None,
        highlight: str | Sequence[str] = (),
        paper: "Paper | None" = None,
    ) -> dict[Path, bytes]:
        """Return the content of each file of a report and of a folder of figures.

        With ``paper`` the figures are for one.
        """
        files: dict[Path, bytes] = {}
        highlight = self._among(highlight)
        if report is not None or plots is not None:
            check_drawing()
        if report is not None:
            files |= self._page_or_picture(report, highlight)
        if plots is not None and paper is not None:
            from clockhand.report.paper import paper_files

            files |= paper_files(plots, self.specifications(highlight), paper)
        elif plots is not None:
            from clockhand.report.canvas import picture_files

            files |= picture_files(plots, self.specifications(highlight))
        return files

    def __repr__(self) -> str:
        """Return what it is, and the first sentence of what it says."""
        rows = len(self._leading())
        head = f"{type(self).__name__} of {rows:,} {'row' if rows == 1 else 'rows'}"
        return ": ".join([head, *self._answer()[:1]])

    def __dir__(self) -> list[str]:
        """Return what is of use to who has a result, for completion."""
        return offered(super().__dir__(), INSIDE)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what the result says, the leading figure, and the rows in
        short."""
        from clockhand.report.notebook import shown

        return shown(self._leading(), self.specifications(), self._answer())

    def _answer(self) -> Sequence[str]:
        """Return what the result says, in sentences, the first one first."""
        return ()

    @abstractmethod
    def specifications(self, highlight: Sequence[str] = ()) -> "dict[str, Spec]":
        """Return every figure in Vega-Lite, by its key, the leading one first."""

    @abstractmethod
    def _leading(self) -> "pl.DataFrame":
        """Return the rows with the columns that notebooks show."""

    @abstractmethod
    def _rendered(self, highlight: Sequence[str]) -> str:
        """Return the report as HTML."""


@in_python()
def _paper(theme: str, place: Path) -> "Paper":
    """Return the theme of figures that go into a folder.

    Raises:
        UsageError: there is no such theme, or the place is a single picture.
    """
    from clockhand.report.paper import paper_of

    if place.suffix.lower() in PICTURES:
        raise UsageError(
            option("theme") + f" is for a folder of figures, and {place} is one", "name a folder"
        )
    return paper_of(theme)


class ReportedRows(Reported):
    """A result of which notebooks show some columns of the rows.

    Attributes:
        leading: These columns; those that the rows lack are left out.
        cells: A row per cell, where ``rows`` may be those of intervals.
    """

    leading: ClassVar[Sequence[str]]
    cells: "pl.DataFrame"

    @property
    def intervals(self) -> "pl.DataFrame | None":
        """The rows of intervals, if they were asked for."""
        return None if self.rows is self.cells else self.rows

    def _leading(self) -> "pl.DataFrame":
        shown = self.leading if self.intervals is None else (*self.leading, *INTERVAL)
        return self.rows.select(name for name in shown if name in self.rows.columns)
