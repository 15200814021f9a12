"""Figures over the seconds of a run, bars per contender, and the page that has them."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import altair as alt

from clockhand.report.appearance import Theme, lines_of
from clockhand.report.canvas import (
    CANVAS,
    PICTURE,
    PICTURE_HEIGHT,
    PICTURE_WIDTH,
    Canvas,
    Spec,
    as_spec,
    unchecked,
)
from clockhand.report.html import Figure, Part, payload, template
from clockhand.report.scales import Kind, label_expression
from clockhand.report.table import Table
from clockhand.report.words import titled
from clockhand.study.facts import printable, printable_lines

PAGE_TEMPLATE = Path(__file__).with_name("course.html.j2")

LINE_HEIGHT = 230
BAR_HEIGHT = 30

SHORT = label_expression(Kind.NUMBER)

Record = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """One line or bar and its look; ``dash`` is in pixels."""

    name: str
    color: str
    dash: tuple[int, ...]


@dataclass(frozen=True)
class Panel:
    """One figure; its records have ``series``, and ``x`` and ``y``, or ``value, least, most``.

    Of several runs each has a record with ``run``. ``is_since_last`` says that a value is of the
    time since the sample before; others are as they were at the sample. ``value_format`` is how a
    bar's value is printed, in the notation of D3.
    """

    key: str
    title: str
    caption: str
    y_title: str
    series: list[Series]
    records: list[Record] = field(repr=False)
    value_format: str = ",.0f"
    is_since_last: bool = False

    def is_drawable(self) -> bool:
        """Tell whether there is anything above 0 to see."""
        return any(record.get("y") or record.get("value") for record in self.records)

    def without_zeros(self) -> "Panel":
        """Return the figure without lines that are 0 all the time, which its caption names."""
        some = {record["series"] for record in self.records if record.get("y")}
        none = [series.name for series in self.series if series.name not in some]
        if not none or not some:
            return self
        return replace(
            self,
            caption=f"{self.caption} There are no {' and no '.join(none)}.",
            series=[series for series in self.series if series.name in some],
            records=[record for record in self.records if record["series"] in some],
        )


def looks_of(names: Sequence[str], theme: Theme) -> list[Series]:
    """Return looks for the lines of a figure that are not policies."""
    return [Series(look.policy, look.color, look.dash) for look in lines_of(names, theme)]


def panel_records(panel: Panel, identity: str) -> list[Record]:
    """Return the records of a panel, marked so that all panels of a part can share one table."""
    return [{"panel": identity, **record} for record in panel.records]


@unchecked()
def line_chart(panel: Panel, identity: str, canvas: Canvas) -> Spec:
    """Draw values over the seconds since the program began."""
    base = _base(identity).encode(
        x=alt.X(
            "x:Q",
            title="Seconds since the start",
            axis=alt.Axis(grid=False, labelExpr=SHORT, tickCount=7),
            scale=alt.Scale(domain=_moments(panel), nice=False),
        ),
        y=alt.Y(
            "y:Q",
            title=panel.y_title,
            axis=alt.Axis(labelExpr=SHORT, tickCount=5),
            scale=alt.Scale(zero=True, nice=True),
        ),
    )
    names = [series.name for series in panel.series]
    dashes = alt.Scale(domain=names, range=[list(series.dash) for series in panel.series])
    steps: Any = "step-before" if panel.is_since_last else "step-after"
    line = base.mark_line(strokeWidth=1.5, interpolate=steps).encode(
        color=_color(panel, canvas),
        strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=None),
    )
    point = base.mark_point(filled=True, size=10).encode(
        color=_color(panel, canvas),
        tooltip=[
            alt.Tooltip("series:N", title="What"),
            alt.Tooltip("x:Q", title="Seconds", format=",.4~r"),
            alt.Tooltip("y:Q", title=panel.y_title, format=",.4~r"),
        ],
    )
    return _figure([line, point], panel, identity, canvas, LINE_HEIGHT)


EMPTY = 0.1
"""A figure begins with its first sample if nothing is seen in a larger share of the time before."""


def _moments(panel: Panel) -> list[float]:
    """Return the ends of the axis of time."""
    moments = [float(record["x"]) for record in panel.records] or [0.0]
    first, last = min(moments), max(moments)
    return [first if first > EMPTY * last else 0.0, last]


@unchecked()
def bar_chart(panel: Panel, identity: str, canvas: Canvas) -> Spec:
    """Draw a bar per contender; of several runs a dot each, with their range and their median."""
    has_runs = any("run" in record for record in panel.records)
    base = _base(identity).encode(
        y=alt.Y(
            "series:N",
            title=None,
            sort=[series.name for series in panel.series],
            axis=alt.Axis(labelLimit=200, ticks=False, domain=False),
        )
    )
    scale = alt.Scale(zero=not has_runs, nice=True, padding=12 if has_runs else 0)
    value = alt.X("value:Q", title=panel.y_title, axis=_VALUES, scale=scale)
    tooltip = [
        alt.Tooltip("series:N", title="Under"),
        alt.Tooltip("value:Q", title=f"{panel.y_title}, median", format=panel.value_format),
        alt.Tooltip("least:Q", title="Least", format=panel.value_format),
        alt.Tooltip("most:Q", title="Most", format=panel.value_format),
        alt.Tooltip("runs:Q", title="Runs"),
    ]
    color = _color(panel, canvas, has_legend=False)
    middle = base.transform_filter("isValid(datum.value)")
    label = f"format(datum.value, '{panel.value_format}')"
    if has_runs:
        label = f"'median ' + {label}"
    text = middle.transform_calculate(label=label).mark_text(
        align="left", dx=8, color=canvas.theme.ink
    )
    named = text.encode(x=alt.X("most:Q"), text="label:N")
    if not has_runs:
        bar = middle.mark_bar(height={"band": 0.7})
        layers = [bar.encode(x=value, color=color, tooltip=tooltip), named]
        return _figure(layers, panel, identity, canvas, BAR_HEIGHT * len(panel.series))
    spread = middle.mark_rule(strokeWidth=2, opacity=0.45)
    dots = base.transform_filter("isValid(datum.run)").mark_point(size=46, strokeWidth=1.6)
    median = middle.mark_tick(thickness=2.5, height={"band": 0.7})
    layers = [
        spread.encode(x=alt.X("least:Q", title=panel.y_title), x2="most:Q", color=color),
        dots.encode(x=alt.X("run:Q", axis=_VALUES, scale=scale), color=color),
        median.encode(x=value, color=color, tooltip=tooltip),
        named,
    ]
    return _figure(layers, panel, identity, canvas, BAR_HEIGHT * len(panel.series))


_VALUES = alt.Axis(labelExpr=SHORT, tickCount=5)


def _base(identity: str) -> alt.Chart:
    return alt.Chart().transform_filter(alt.datum.panel == identity)


def _color(panel: Panel, canvas: Canvas, *, has_legend: bool = True) -> alt.Color:
    scale = alt.Scale(
        domain=[series.name for series in panel.series],
        range=[series.color for series in panel.series],
    )
    shown = has_legend and not canvas.on_page and len(panel.series) > 1
    return alt.Color("series:N", scale=scale, legend=alt.Legend(title=None) if shown else None)


def _figure(
    layers: list[alt.Chart], panel: Panel, identity: str, canvas: Canvas, height: int
) -> Spec:
    """Put layers together: on the page, or as a picture of its own that holds its records."""
    if canvas.on_page:
        figure = alt.LayerChart(layer=layers).properties(
            width="container",
            height=height,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
    else:
        figure = alt.LayerChart(layer=layers).properties(
            width=PICTURE_WIDTH,
            height=PICTURE_HEIGHT if height == LINE_HEIGHT else height,
            title=alt.TitleParams(panel.title, subtitle=panel.caption, anchor="start"),
        )
    described = figure.properties(description=f"{panel.title}. {panel.caption}")
    return as_spec(described, canvas, panel_records(panel, identity))


def rates(rows: Sequence[Record], names: Mapping[str, str], unit: int = 1) -> list[dict[str, Any]]:
    """Return changes per second between samples, each at the later one's time.

    Args:
        rows: The samples, in the order of ``seconds``.
        names: What figures call counts, by their columns.
        unit: How many of what is counted are one.
    """
    return [
        {
            "series": series,
            "x": after["seconds"],
            "y": (after[name] - before[name]) / unit / (after["seconds"] - before["seconds"]),
        }
        for before, after in itertools.pairwise(rows)
        if after["seconds"] > before["seconds"]
        for name, series in names.items()
    ]


Draw = Callable[[Panel, str, Canvas], Spec]


def _shown(panel: Panel, draw: Draw) -> Panel:
    """Return what is shown of a figure: of bars all, of lines those that are not always 0."""
    return panel.without_zeros() if draw is line_chart else panel


def pictures(prefix: str, panels: Iterable[Panel], draw: Draw) -> dict[str, Spec]:
    """Return the figures that have something to show as pictures, by their keys."""
    return {
        prefix + panel.key: draw(_shown(panel, draw), panel.key, PICTURE)
        for panel in panels
        if panel.is_drawable()
    }


@dataclass(frozen=True)
class TitledTable:
    """A table on the page."""

    title: str
    text: str
    content: Table


class CoursePage:
    """A page in the making; figures are numbered through."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._number = 0

    def add(self, slug: str, title: str, text: str, panels: Iterable[Panel], draw: Draw) -> None:
        """Add a part with a figure per panel."""
        figures: list[Figure] = []
        records: list[Record] = []
        for panel in (_shown(panel, draw) for panel in panels):
            self._number += 1
            identity = f"{slug}-{panel.key}"
            chart = None
            if panel.is_drawable():
                records += panel_records(panel, identity)
                chart = draw(panel, identity, CANVAS)
            # Each bar is labelled in place.
            legend = panel.series if draw is line_chart else []
            series = [(line.name, line.color, line.dash) for line in legend]
            figures.append(
                Figure(identity, panel.title, panel.caption, chart, self._number, series=series)
            )
        self._parts.append(Part(slug, title, text, [("", figures)], records))

    def rendered(
        self,
        overline: str,
        subject: str,
        sentences: Sequence[str],
        tables: Sequence[TitledTable],
        facts: Any,
    ) -> str:
        """Return the page.

        Args:
            overline: What kind of report it is.
            subject: What ran; the title, unless there are sentences.
            sentences: What stands out; the first is the title.
            tables: What stands below the figures.
            facts: How the numbers were made.
        """
        title, below = titled(sentences, 1, printable(subject))
        return template(PAGE_TEMPLATE).render(
            overline=overline,
            title=title,
            subject=printable_lines(subject),
            sentences=below,
            parts=self._parts,
            tables=tables,
            facts=printable(facts),
            payload=payload(self._parts),
        )
