"""The inputs of a report: a heading each, with its figures on the page, or the same as pictures."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from clockhand.report.appearance import Mark, marks
from clockhand.report.canvas import CANVAS, PICTURE, Canvas, Spec
from clockhand.report.compared import Compared, Record, series_of
from clockhand.report.emphasis import emphasised, kept
from clockhand.report.html import Part, SeriesLook
from clockhand.report.measures import Drawn, caption, measure_chart
from clockhand.report.overview import BASELINE, Overview, less_text, of_each
from clockhand.report.overview_charts import overview_charts
from clockhand.report.scales import Measure
from clockhand.report.singles import Measured, is_single
from clockhand.report.words import free_slug

LEAST_SAVED = 0.0005
"""Less than this would be written as 0.0 %."""


@dataclass(frozen=True)
class Drawing:
    """A figure before it is numbered: its key, title, caption and chart."""

    key: str
    title: str
    caption: str
    chart: Spec
    looks: Sequence[SeriesLook] = ()
    """The look of its pieces, where only it has them."""

    measured: Measured | None = None
    """What it is of, if it is a measure over sizes: at one size a table has all of them."""


def over_sizes(
    compared: Compared, measure: Measure, canvas: Canvas, key: str | None = None
) -> Drawing:
    """Return the figure of a measure over sizes."""
    chart = measure_chart(compared, measure, canvas)
    said = caption(compared, measure)
    return Drawing(key or measure.key, measure.title, said, chart, measured=(compared, measure))


@dataclass(frozen=True)
class Section:
    """One input of a report.

    Attributes:
        label: Its name.

        text: What stands below the heading.

        records: The data of all its figures; those that are compared have a ``policy``.

        overviews: What stands above the figures.

        compared: Makes what is compared of the looks of its series and those that are emphasised.

        drawings: Draws its figures.

        always: The series that are emphasised always.

        offline: The series that cannot be recommended, since they know the future.

        series: The series that are compared, if not those of all records.

        best_first: Its series from the best on; if there are none, as the first overview or the
            records have them.

        everywhere: The series of all inputs, if each looks alike in all of them.
        device: What its numbers hold for, where inputs differ in it: a drive, a pair of tiers.
        place: Its label without the device; the whole label if it is not given.
    """

    label: str
    text: str
    records: Sequence[Record]
    overviews: Sequence[Overview]
    compared: Callable[[Sequence[Mark], Sequence[str]], Compared]
    drawings: Callable[[Compared, Canvas], Iterable[Drawing]]
    always: Sequence[str] = ()
    offline: Collection[str] = ()
    series: Sequence[str] = ()
    best_first: Sequence[str] = ()
    everywhere: Sequence[str] = ()
    device: str = ""
    place: str = ""

    def compared_on(self, canvas: Canvas, highlight: Sequence[str]) -> Compared:
        """Return what is compared, with the best and what the user names emphasised."""
        policies = (record for record in self.records if "policy" in record)
        series = self.series or series_of(policies)
        ranked = [entry.name for summed in self.overviews[:1] for entry in summed.entries]
        best_first = self.best_first or ranked or series
        may_lead = [name for name in best_first if name not in self.offline]
        given = (series, may_lead, self.always, highlight)
        looks = marks(self.everywhere or series, canvas.theme)
        looks = [look for look in looks if look.policy in series]
        compared = self.compared(looks, emphasised(*given))
        return replace(compared, anchors=kept(*given))


def together(
    sections: Sequence[Section],
    overviews: Callable[[Mapping[str, Sequence[Record]]], Sequence[Overview]],
    records: Callable[[Section], Sequence[Record]],
) -> list[Overview]:
    """Return the overviews of all inputs, those of each device by themselves.

    Args:
        sections: The inputs.
        overviews: Makes the overviews of records by their places.
        records: Gives the records of an input.
    """
    devices: dict[str, dict[str, Sequence[Record]]] = {}
    for section in sections:
        of_device = devices.setdefault(section.device, {})
        of_device[section.place or section.label] = records(section)
    return of_each({device: overviews(places) for device, places in devices.items()})


def headline(leading: Sequence[Overview], what: str, where: str) -> str:
    """Return the answer of one ranking in a line: the best, and by how much; nothing if there is
    no baseline, or several rankings.

    Args:
        leading: What stands above all inputs.
        what: What there is less of, such as I/O time.
        where: What the ranking is of, such as "over 3 inputs" or "on gcc.parquet".
    """
    if len(leading) != 1:
        return ""
    entries = leading[0].entries
    baseline = next((entry for entry in entries if entry.note == BASELINE), None)
    ahead = [entry for entry in entries if entry.note in ("", BASELINE)]
    if baseline is None or len(ahead) < 2:
        return ""
    over = f"{baseline.name} {where}{leading[0].part and ', ' + leading[0].part}"
    saved = 1 - ahead[0].mean / baseline.mean
    if ahead[0] is baseline or saved < LEAST_SAVED:
        return f"None needs less {what} than {over}"
    means = {entry.name: entry.mean / baseline.mean for entry in ahead if entry is not baseline}
    return f"{less_text(means, what)} than {over}"


def parts_of(sections: Iterable[Section], highlight: Sequence[str]) -> list[Part]:
    """Return the parts of the page; figures are numbered through all of them."""
    parts: list[Part] = []
    for section in sections:
        slug = free_slug(section.label, [part.slug for part in parts])
        drawn = Drawn(slug, sum(len(part.figures) for part in parts))
        compared = section.compared_on(CANVAS, highlight)
        drawings = list(section.drawings(compared, CANVAS))
        single = [it.measured for it in drawings if it.measured and is_single(it.measured[0])]
        for drawing in drawings:
            if len(single) < 2 or drawing.measured not in single:
                drawn.add(drawing.key, drawing.title, drawing.caption, drawing.chart, drawing.looks)
        drawn.single = single
        parts.append(drawn.part(compared, section.text, section.records, section.overviews))
    return parts


def pictures_of(
    sections: Sequence[Section], highlight: Sequence[str], *, has_overviews: bool = True
) -> dict[str, Spec]:
    """Return every figure in Vega-Lite, by its key; the leading one first."""
    slugs: list[str] = []
    drawn: dict[str, Spec] = {}
    for section in sections:
        slugs.append(free_slug(section.label, slugs))
        prefix = f"{slugs[-1]}-" if len(sections) > 1 else ""
        for summed in section.overviews if has_overviews else ():
            for key, chart in overview_charts(summed, PICTURE, section.label).items():
                drawn[prefix + key] = chart
        compared = section.compared_on(PICTURE, highlight)
        for drawing in section.drawings(compared, PICTURE):
            drawn[prefix + drawing.key] = drawing.chart
    return drawn
