"""Figures of measures: lines over the sizes of what is compared, or bars at a single size."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clockhand.report.bars import bars_chart, bars_note
from clockhand.report.canvas import CANVAS, Canvas, Spec
from clockhand.report.compared import Compared, Record
from clockhand.report.html import Figure, Part, SeriesLook, focus_of
from clockhand.report.lines import cut_note, lines_chart
from clockhand.report.overview import Overview
from clockhand.report.scales import Measure, value_text
from clockhand.report.singles import Measured, is_single, singles


def drawable(measures: Sequence[Measure], records: Sequence[Record]) -> list[Measure]:
    """Return the measures with something to compare: two values that differ."""
    return [measure for measure in measures if len(set(_known(measure, records))) > 1]


def same_everywhere(measures: Sequence[Measure], records: Sequence[Record]) -> list[str]:
    """Return what is the same of all and thus has no figure, such as ``write amplification 1.00``;
    what is 0 has nothing to tell."""
    texts = []
    for measure in measures:
        values = _known(measure, records)
        if len(values) > 1 and len(set(values)) == 1 and values[0]:
            title = measure.title[0].lower() + measure.title[1:]
            texts.append(f"{title} {value_text(measure.kind, values[0])}")
    return texts


def _known(measure: Measure, records: Sequence[Record]) -> list[float]:
    return [record[measure.field] for record in records if record[measure.field] is not None]


def measure_chart(compared: Compared, measure: Measure, canvas: Canvas) -> Spec:
    """Draw one measure."""
    draw = lines_chart if len(compared.sizes.sizes) > 1 else bars_chart
    return draw(compared, measure, canvas)


def caption(compared: Compared, measure: Measure) -> str:
    """Return the caption of a figure, with what is cut at its edge."""
    cut = cut_note if len(compared.sizes.sizes) > 1 else bars_note
    return f"{measure.note} {cut(compared, measure)}".rstrip()


@dataclass
class Drawn:
    """The figures of a part, as they are added.

    Attributes:
        slug: The name of the part on the page.
        before: How many figures have been counted.
        figures: The figures.
        single: What is measured at one size alone: of several, a table.
    """

    slug: str
    before: int
    figures: list[Figure] = field(default_factory=list)
    single: Sequence[Measured] = ()

    def add(
        self,
        key: str,
        title: str,
        caption: str,
        specification: Spec,
        series: Sequence[SeriesLook] = (),
    ) -> None:
        """Add a figure, with the next number, and the looks of what only it shows."""
        number = self.before + len(self.figures) + 1
        identity = f"{self.slug}-{key}"
        self.figures.append(Figure(identity, title, caption, specification, number, series=series))

    def measure(self, compared: Compared, measures: Sequence[Measure]) -> None:
        """Add a figure of each measure over sizes, or at one size a table of all of them."""
        if is_single(compared) and len(measures) > 1:
            self.single = [(compared, measure) for measure in measures]
            return
        for one in measures:
            chart = measure_chart(compared, one, CANVAS)
            self.add(one.key, one.title, caption(compared, one), chart)

    def part(
        self,
        compared: Compared,
        text: str,
        records: Sequence[Record],
        overviews: Sequence[Overview],
    ) -> Part:
        """Return the part.

        Args:
            compared: What its figures compare.
            text: What stands below the heading.
            records: The data of all its charts.
            overviews: What stands above the figures.
        """
        return Part(
            slug=self.slug,
            title=compared.label,
            text=text,
            rows=[("", self.figures)],
            records=records,
            looks=compared.looks,
            focus=focus_of(self.figures, compared.focus),
            word=compared.word.lower(),
            overviews=overviews,
            singles=singles(self.single) if len(self.single) > 1 else None,
        )
