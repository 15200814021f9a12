"""The panels of a locality report as Vega-Lite charts through Altair."""

import math

import altair as alt

from clockhand.report.appearance import SOLID, Theme
from clockhand.report.canvas import PICTURE_HEIGHT, PICTURE_WIDTH, Canvas, Spec, as_spec, unchecked
from clockhand.report.over_time import Over, OverTime, per_reference
from clockhand.report.panel_lines import BAND_OPACITY, PANEL_HEIGHT
from clockhand.report.scales import Kind, label_expression
from clockhand.studies.locality.panels import BOTH, BY_FREQUENCY, READS, WRITES, Panel
from clockhand.study.records import Fields

OVER_TIME = OverTime(
    ("page_bytes",),
    Over("pages", "pages", "Pages in the interval",
         "Distinct pages that its references go to."),
    Over("new-pages", "new_pages", "New pages in the interval",
         "Pages that no reference went to before: where phases begin."),
    per_reference("writes", "write_references", "Writes", "Share of the interval's references."),
)  # fmt: skip
"""What the table of intervals shows."""

SHADE_OPACITY = 0.13
MOST_TICKS = 7
MOST_DOTS = 24
"""Points of a line that have a dot each; more would hide its dashes."""


def look(series: str, theme: Theme) -> tuple[str, tuple[int, ...]]:
    """Return the colour and the dash of a line, the same in every panel; grey for others' lines."""
    own = {
        BOTH: (theme.ink, SOLID),
        READS: (theme.series[0], SOLID),
        WRITES: (theme.series[1], (7, 3)),
        BY_FREQUENCY: (theme.series[2], (2, 2)),
    }
    return own.get(series, (theme.muted, SOLID))


def panel_records(panel: Panel, identity: str) -> list[Fields]:
    """Return the records of a panel, marked so that all panels of a part can share one table."""
    lines = [{"panel": identity, **record} for record in panel.records]
    shaded = [{"panel": f"{identity}-shaded", **record} for record in panel.shaded]
    return lines + shaded


@unchecked()
def panel_chart(panel: Panel, identity: str, canvas: Canvas, subtitle: str = "") -> Spec:
    """Draw a panel, on the page or as a picture of its own."""
    drawing = _Drawing(panel, identity, canvas)
    figure = alt.LayerChart(layer=drawing.layers())
    if canvas.on_page:
        figure = figure.properties(
            width="container",
            height=PANEL_HEIGHT,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
    else:
        title = alt.TitleParams(panel.title, subtitle=subtitle, anchor="start")
        figure = figure.properties(width=PICTURE_WIDTH, height=PICTURE_HEIGHT, title=title)
    described = figure.properties(description=f"{panel.title}. {panel.caption}")
    return as_spec(described, canvas, panel_records(panel, identity))


def _logarithmic_axis(first: float, last: float, *, grid: bool = True) -> alt.Axis:
    """Return an axis with the powers of ten as ticks, at most about six of them."""
    powers = range(math.ceil(math.log10(first)), math.floor(math.log10(last)) + 1)
    ticks = [10.0**power for power in powers][:: 1 + len(powers) // MOST_TICKS]
    return alt.Axis(values=ticks, labelExpr=label_expression(Kind.NUMBER), grid=grid)


class _Drawing:
    """One chart in the making."""

    def __init__(self, panel: Panel, identity: str, canvas: Canvas) -> None:
        self.panel = panel
        self.identity = identity
        self.canvas = canvas
        self.base = alt.Chart().transform_filter(alt.datum.panel == identity)

    def layers(self) -> list[alt.Chart]:
        layers = [*self.shade(), *self.band(), self.line(), self.points()]
        if any(record.get("knee") for record in self.panel.records):
            layers.append(self.knee())
        return layers

    def x(self, field: str = "x:Q") -> alt.X:
        values = [record["x"] for record in self.panel.records]
        last = max([2, self.panel.x_last, *values])
        axis = _logarithmic_axis(1, last, grid=False)
        scale = alt.Scale(type="log", domain=[1, last], nice=False)
        return alt.X(field, title=self.panel.x_title, scale=scale, axis=axis)

    def y(self, field: str = "y:Q") -> alt.Y:
        title = self.panel.y_title
        if self.panel.is_share:
            axis = alt.Axis(format=".0~%", tickCount=5)
            return alt.Y(field, title=title, scale=alt.Scale(domain=[0, 1]), axis=axis)
        values = [
            value
            for record in self.panel.records
            for value in (record["y"], record.get("low"), record.get("high"))
            if value
        ]
        first, last = self.panel.y_domain or (min(values, default=1), max(values, default=1))
        first, last = 10 ** math.floor(math.log10(first)), 10 ** math.ceil(math.log10(last))
        last = max(last, 10 * first)
        scale = alt.Scale(type="log", domain=[first, last], nice=False)
        return alt.Y(field, title=title, scale=scale, axis=_logarithmic_axis(first, last))

    def color(self) -> alt.Color:
        colors = [look(series, self.canvas.theme)[0] for series in self.panel.series]
        legend = alt.Legend(title=None) if self._has_legend() else None
        scale = alt.Scale(domain=list(self.panel.series), range=colors)
        return alt.Color("series:N", scale=scale, legend=legend)

    def _has_legend(self) -> bool:
        return not self.canvas.on_page and len(self.panel.series) > 1

    def tooltip(self) -> list[alt.Tooltip]:
        form = ".1%" if self.panel.is_share else ",.4~r"
        return [
            alt.Tooltip("series:N", title="References"),
            alt.Tooltip("at:N", title="At"),
            alt.Tooltip("y:Q", title=self.panel.y_title, format=form),
        ]

    def shade(self) -> list[alt.Chart]:
        if not self.panel.shaded:
            return []
        shaded = alt.Chart().transform_filter(alt.datum.panel == f"{self.identity}-shaded")
        tooltip = [
            alt.Tooltip("at:N", title="Ranking inversion"),
            alt.Tooltip("displaced:Q", title="Displaced re-references", format=".1%"),
        ]
        mark = shaded.mark_rect(color=self.canvas.theme.muted, opacity=SHADE_OPACITY, clip=True)
        return [mark.encode(x=self.x("from:Q"), x2="to:Q", tooltip=tooltip)]

    def band(self) -> list[alt.Chart]:
        if not any(record.get("high") for record in self.panel.records):
            return []
        known = self.base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        return [
            known.mark_area(opacity=BAND_OPACITY, clip=True).encode(
                x=self.x(), y=self.y("low:Q"), y2="high:Q", color=self.color()
            )
        ]

    def line(self) -> alt.Chart:
        dashes = [list(look(series, self.canvas.theme)[1]) for series in self.panel.series]
        scale = alt.Scale(domain=list(self.panel.series), range=dashes)
        line: alt.Chart = self.base.mark_line(
            strokeWidth=1.5, clip=True, invalid="break-paths-show-path-domains"
        ).encode(
            x=self.x(),
            y=self.y(),
            color=self.color(),
            strokeDash=alt.StrokeDash("series:N", scale=scale, legend=None),
        )
        return line

    def points(self) -> alt.Chart:
        """Return what the pointer finds; where there are many, dots would hide the dashes."""
        is_seen = len(self.panel.records) <= MOST_DOTS * len(self.panel.series)
        return self._points("isValid(datum.y)", size=9, opacity=1 if is_seen else 0)

    def knee(self) -> alt.Chart:
        return self._points("datum.knee && isValid(datum.y)", size=64, opacity=1)

    def _points(self, test: str, size: int, opacity: float) -> alt.Chart:
        chosen = self.base.transform_filter(test)
        points = chosen.mark_point(filled=True, size=size, opacity=opacity, clip=True)
        drawn: alt.Chart = points.encode(
            x=self.x(), y=self.y(), color=self.color(), tooltip=self.tooltip()
        )
        return drawn
