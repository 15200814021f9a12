"""What figures compare: values over sizes, with the looks of their series, and how axes say it."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clockhand.report.appearance import Mark, is_muted
from clockhand.report.canvas import Spec
from clockhand.report.emphasis import MOST_EMPHASISED, in_figure
from clockhand.report.scales import (
    OUTLIER,
    Kind,
    Measure,
    ValueAxis,
    exact_format,
    is_spread,
    value_axis,
)
from clockhand.report.words import unique

Record = dict[str, Any]

MAXIMUM_LABELLED_SIZES = 12
BAND_OPACITY = 0.2
ERROR_WIDTH = 1.3


@dataclass(frozen=True)
class SizeAxis:
    """The axis of sizes.

    Attributes:
        field: Its column in the records.

        title: What stands below it.

        sizes: The sizes, ascending.

        label: The Vega expression of a tick's label.

        ticks: Where labels stand; at the sizes if they are few and it is empty.

        is_logarithmic: Whether the axis is, however the sizes lie; they decide if it is not given.

        is_stepped: Whether values stay as they are up to the next size, as shares of a whole do.
    """

    field: str
    title: str
    sizes: Sequence[float]
    label: str = "format(datum.value, ',')"
    ticks: Sequence[float] = ()
    is_logarithmic: bool | None = None
    is_stepped: bool = False

    def channel(self) -> Spec:
        """Return it as Vega-Lite's channel."""
        spread = is_spread(self.sizes) if self.is_logarithmic is None else self.is_logarithmic
        scale: Spec = {"type": "log", "base": 2} if spread else {"type": "linear"}
        scale |= {"nice": False, "domain": [self.sizes[0], self.sizes[-1]], "padding": 14}
        axis: Spec = {
            "labelExpr": self.label,
            "labelOverlap": "greedy",
            "labelFlush": False,
            "labelSeparation": 6,
            "grid": False,
        }
        if self.ticks or len(self.sizes) <= MAXIMUM_LABELLED_SIZES:
            axis["values"] = list(self.ticks or self.sizes)
        return quantity(self.field, title=self.title, scale=scale, axis=axis)


@dataclass(frozen=True)
class Compared:
    """What the figures of one part share.

    Attributes:
        label: What the values are of, such as a trace.

        word: What a series is: a policy, a buffer.

        records: The values: ``policy`` names their series.

        sizes: The sizes.

        looks: How each series looks, in the order of the legend.

        focus: The series that are emphasised at first, where a figure has no others.

        anchors: Those that every figure names, and that are never cut: the best, the baseline.

        tooltip: Column, title and d3 format of what a point tells; those that a record lacks are
            left out.

        bounds: Records of a lower bound, which ``bound`` names; a column that ends in
            ``_feasible`` is the upper end of a band.

        bound: The value of their column ``policy``.

        where: A Vega expression that the records of these figures fulfil.
    """

    label: str
    word: str
    records: Sequence[Record]
    sizes: SizeAxis
    looks: Sequence[Mark]
    focus: Sequence[str]
    anchors: Sequence[str] = ()
    tooltip: Sequence[tuple[str, str, str | None]] = ()
    bounds: Sequence[Record] = field(default=())
    bound: str = ""
    where: str | None = None

    def everything(self) -> list[Record]:
        """Return the values and the bounds."""
        return [*self.records, *self.bounds]

    def known(self, column: str, series: Iterable[str] | None = None) -> list[float]:
        """Return the values that are known of a column, of all series or of some."""
        wanted = None if series is None else set(series)
        return [
            record[column]
            for record in self.records
            if record.get(column) is not None and (wanted is None or record["policy"] in wanted)
        ]

    def emphasised(self, measure: Measure) -> list[str]:
        """Return the series that a figure emphasises; what is 0 everywhere is left grey."""
        if len(self.looks) <= MOST_EMPHASISED:
            return list(self.focus)
        axis = axis_of(self, measure)
        heights: dict[str, float] = {}
        for name in (look.policy for look in self.looks):
            values = self.known(measure.field, [name])
            if name in self.anchors or (any(values) and not is_muted(name)):
                inside = [axis.share(min(max(value, axis.low), axis.high)) for value in values]
                heights[name] = sum(inside) / max(1, len(inside))
        return in_figure(heights, self.anchors, most_is_best=measure.most_is_best)

    def has_errors(self, measure: Measure) -> bool:
        """Tell whether values of a figure are estimates with a range, whose ends are known."""
        return bool(self.known(f"{measure.field}_low"))

    def has_bound(self, measure: Measure) -> bool:
        """Tell whether the lower bound is drawn in a figure."""
        return measure.has_bound and any(
            bound.get(measure.field) is not None for bound in self.bounds
        )


def error_fields(measure: Measure) -> tuple[str, str]:
    """Return the columns of the ends of the ranges of a measure's estimates."""
    return f"{measure.field}_low", f"{measure.field}_high"


def errors_note(compared: Compared, measure: Measure) -> str:
    """Say what the lines across estimates are; nothing if there are none."""
    if not compared.has_errors(measure):
        return ""
    return "Values are estimates from samples; lines reach two standard errors to either side. "


def axis_of(compared: Compared, measure: Measure) -> ValueAxis:
    """Return the value axis of a figure."""
    values = [*compared.known(measure.field), *compared.known(error_fields(measure)[1])]
    if compared.has_bound(measure):
        values += [bound[measure.field] for bound in compared.bounds if bound.get(measure.field)]
    top = _usual_top(compared, measure)
    if top is not None and top < max(values):
        axis = value_axis(measure.kind, [value for value in values if value <= top])
        return replace(axis, is_cut=max(values) > axis.high)
    return value_axis(measure.kind, values, compared.known(measure.field, compared.anchors))


LEAST_USUAL = 4
"""Of fewer series none is an outlier."""

MOST_OUTLYING = 0.25
"""Only if no more than this share of the series lie far out they are cut."""

FLATTENING = 2
"""Outliers are cut if they are this many times as high as all others."""


def _usual_top(compared: Compared, measure: Measure) -> float | None:
    """Return the greatest amount without series that lie far above the others; none without such.

    Ratios have another rule, and of what is better the more there is nothing is cut.
    """
    if measure.kind in (Kind.RATIO, Kind.SHARE) or measure.most_is_best:
        return None
    at: dict[float, dict[str, float]] = {}
    for record in compared.records:
        if record.get(measure.field) is not None:
            by_series = at.setdefault(record.get(compared.sizes.field, 0), {})
            by_series[record["policy"]] = record[measure.field]
    series = {name for by_series in at.values() for name in by_series}
    outlying = {
        name
        for by_series in at.values()
        for name, value in by_series.items()
        if value > OUTLIER * statistics.median(by_series.values()) > 0
    } - set(compared.anchors)
    if len(series) < LEAST_USUAL or not 0 < len(outlying) <= MOST_OUTLYING * len(series):
        return None
    top = max(value for by_series in at.values() for name, value in by_series.items()
              if name not in outlying)  # fmt: skip
    most = max(value for by_series in at.values() for value in by_series.values())
    return top if most > FLATTENING * top else None


def quantity(field: str, **options: Any) -> Spec:
    """Return a channel of numbers."""
    return {"field": field, "type": "quantitative", **options}


def known_tooltip(
    fields: Sequence[tuple[str, str, str | None]], records: Sequence[Record]
) -> list[Spec]:
    """Return the lines of a tooltip that every record has: Vega would print a null number as 0."""
    lines = []
    for name, title, form in fields:
        if all(record.get(name) is not None for record in records):
            kind = {"type": "nominal"} if form is None else {"type": "quantitative", "format": form}
            lines.append({"field": name, "title": title, **kind})
    return lines


def bound_tooltip(compared: Compared, measure: Measure) -> list[Spec]:
    """Return what the lower bound tells under the pointer."""
    fields = [
        ("policy", f"Lower bound of every {compared.word.lower()}", None),
        (compared.sizes.field, compared.sizes.title, ",.6~r"),
        (measure.field, measure.title, ",.6~r"),
    ]
    return known_tooltip(fields, compared.bounds)


def exact_tooltip(measure: Measure) -> tuple[str, str, str | None]:
    """Return the line of a tooltip with the exact value of a measure."""
    return measure.field, measure.title, exact_format(measure.kind)


def is_drawable(records: Sequence[Record], measure: Measure) -> bool:
    """Tell whether a measure has a value; an amount that is always 0 has nothing to show."""
    known = [record[measure.field] for record in records if record.get(measure.field) is not None]
    return any(known) or (bool(known) and measure.kind in (Kind.RATIO, Kind.SHARE))


def series_of(records: Iterable[Record]) -> list[str]:
    """Return the series of records, each once, in order of first occurrence."""
    return unique(str(record["policy"]) for record in records)
