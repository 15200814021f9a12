"""A panel of lines, or of bars side by side, as a Vega-Lite chart through Altair."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from clockhand.report.appearance import PAGE
from clockhand.report.canvas import CANVAS, Spec, as_spec, unchecked
from clockhand.report.scales import Kind, label_expression
from clockhand.study.records import Fields

PANEL_HEIGHT = 190
BAND_OPACITY = 0.18


@dataclass(frozen=True)
class Lines:
    """One panel: lines over memory, over time, or over sizes each of which doubles the last; or
    bars, side by side for each text at which they are.

    A record has its series, x, y and, in words, where it is (``at``); ``low`` and ``high`` are the
    ends of a band.
    """

    title: str
    caption: str
    x_title: str
    y_title: str
    series: tuple[str, ...]
    records: list[Fields]
    is_logarithmic: bool
    doubles_x: bool = False
    is_bars: bool = False


@unchecked()
def lines_chart(lines: Lines, identity: str, looks: Sequence[tuple[str, tuple[int, ...]]]) -> Spec:
    """Draw a panel on the page.

    Args:
        lines: It.
        identity: Of its records among those of the page (``panel``).
        looks: Colour and dash of each series.
    """
    base = alt.Chart().transform_filter(alt.datum.panel == identity)
    x = _x(lines)
    scale = alt.Scale(type="log", nice=False) if lines.is_logarithmic else alt.Scale(zero=True)
    axis = alt.Axis(
        labelExpr=label_expression(Kind.NUMBER), grid=not lines.is_logarithmic, tickCount=5
    )
    y, low = (alt.Y(f"{it}:Q", title=lines.y_title, scale=scale, axis=axis) for it in ("y", "low"))
    colors = alt.Scale(domain=list(lines.series), range=[color for color, _ in looks])
    dashes = alt.Scale(domain=list(lines.series), range=[list(dash) for _, dash in looks])
    tooltip = [
        alt.Tooltip("series:N", title="Line"),
        alt.Tooltip("at:N", title="At"),
        alt.Tooltip("y:Q", title=lines.y_title, format=",.4~r"),
    ]
    color = alt.Color("series:N", scale=colors, legend=None)
    has_band = any("high" in record for record in lines.records)
    if lines.is_bars:
        at = alt.X("at:N", title=None, sort=None, axis=alt.Axis(labelAngle=0))
        beside = alt.XOffset("series:N", sort=list(lines.series))
        bars = base.mark_bar().encode(x=at, y=y, xOffset=beside, color=color, tooltip=tooltip)
        ends = base.mark_rule(color=PAGE.ink).encode(x=at, y=low, y2="high:Q", xOffset=beside)
        return _drawn([bars, ends] if has_band else [bars], lines)
    line = base.mark_line(strokeWidth=1.6, clip=True).encode(
        x=x, y=y, color=color, strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=None)
    )
    point = base.mark_point(filled=True, size=10, clip=True).encode(
        x=x, y=y, color=color, tooltip=tooltip
    )
    band = base.mark_area(opacity=BAND_OPACITY, clip=True).encode(
        x=x, y=low, y2="high:Q", color=color
    )
    return _drawn([band, line, point] if has_band else [line, point], lines)


def _x(lines: Lines) -> alt.X:
    # What was read off a drawing has places of its own, which are no ticks.
    values = sorted({it["x"] for it in lines.records if "high" not in it}) or [1]
    if lines.doubles_x:
        scale = alt.Scale(type="log", base=2, nice=False, padding=8)
        axis = alt.Axis(grid=False, format="~r", values=values, labelOverlap="greedy")
    else:
        scale = alt.Scale(domain=[0, values[-1]], nice=False)
        axis = alt.Axis(grid=False, format=",d", tickCount=6)
    return alt.X("x:Q", title=lines.x_title, scale=scale, axis=axis)


def _drawn(layers: list[alt.Chart], lines: Lines) -> Spec:
    figure = alt.LayerChart(layer=layers).properties(
        width="container",
        height=PANEL_HEIGHT,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        description=f"{lines.title}: {lines.y_title} over {lines.x_title}.",
    )
    return as_spec(figure, CANVAS, [])
