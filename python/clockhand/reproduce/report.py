"""What the reports of reproductions share: the page, panels of lines, tables and titles."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from clockhand.report.appearance import PAGE, Mark
from clockhand.report.canvas import ROWS, Spec, as_spec
from clockhand.report.html import Figure, Part, payload, template
from clockhand.report.words import number_text
from clockhand.reproduce.claims import Claim, counted
from clockhand.study.facts import Facts, printable, trace_label

PANEL_HEIGHT = 190


@dataclass(frozen=True)
class Lines:
    """One panel: lines over memory, over time, or over sizes each of which doubles the last."""

    title: str
    caption: str
    x_title: str
    y_title: str
    series: tuple[str, ...]
    records: list[dict[str, Any]]
    is_logarithmic: bool
    doubles_x: bool = False


def title_of(paper: str, claims: Collection[Claim], traces: int) -> str:
    """Return the title of a reproduction: how many claims have which verdict."""
    inputs = "1 trace" if traces == 1 else f"{traces} traces"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in counted(claims).items() if count)
    certain = sum(claim.by_construction for claim in claims)
    besides = f"; {certain} true by construction, not counted" if certain else ""
    return f"{paper} on {inputs}: of {len(claims) - certain} claims {counts}{besides}"


def shown_claims(claims: Collection[Claim]) -> list[dict[str, Any]]:
    """Return claims as the page's template takes them."""
    return [printable(vars(claim)) for claim in claims]


def texts_of(table: pl.DataFrame) -> tuple[list[tuple[str, bool]], list[tuple[str, ...]]]:
    """Return the columns of a table, each with whether it is numeric, and its rows as text."""
    columns = [(name, kind.is_numeric()) for name, kind in table.schema.items()]
    return columns, [tuple(number_text(value) for value in row) for row in table.iter_rows()]


def labels_of(rows: pl.DataFrame, facts: Facts) -> dict[str, str]:
    """Return each trace with the workload that it stands for."""
    pairs = rows.select("trace", "workload").unique(maintain_order=True).iter_rows()
    return {trace: f"{trace_label(trace, facts)}, for {workload}" for trace, workload in pairs}


def page_of(
    page_template: Path,
    *,
    paper: str,
    traces: int,
    claims: Collection[Claim],
    paper_tables: Mapping[str, pl.DataFrame],
    parts: Sequence[Part],
    facts: Any,
    **more: Any,
) -> str:
    """Return a reproduction on this many traces as HTML text: claims, the paper's tables, figures.

    ``more`` is what the paper's own template shows besides.
    """
    return template(page_template).render(
        title=title_of(paper, claims, traces),
        claims=shown_claims(claims),
        paper_tables={name: texts_of(table) for name, table in paper_tables.items()},
        parts=parts,
        facts=printable(facts),
        payload=payload(parts),
        **more,
    )


def draw_part(
    key: str,
    title: str,
    text: str,
    panels: Mapping[str, Sequence[Lines]],
    labels: Mapping[str, str],
    everywhere: Mapping[str, Mark],
) -> Part:
    """Draw one of the paper's figures, a row of panels per trace."""
    rows: list[tuple[str, list[Figure]]] = []
    records: list[dict[str, Any]] = []
    for index, (trace, of_trace) in enumerate(panels.items()):
        figures = []
        for position, lines in enumerate(of_trace):
            identity = f"{key}-{index}-{position}"
            looks = [_look(name, place, everywhere) for place, name in enumerate(lines.series)]
            records += [{"panel": identity, **record} for record in lines.records]
            series = [
                (name, color, dash) for name, (color, dash) in zip(lines.series, looks, strict=True)
            ]
            chart = _chart(lines, identity, looks)
            figures.append(Figure(identity, lines.title, lines.caption, chart, series=series))
        rows.append((labels[trace], figures))
    return Part(key, title, text, rows, records)


def _look(series: str, place: int, everywhere: Mapping[str, Mark]) -> tuple[str, tuple[int, ...]]:
    if series in everywhere:
        return everywhere[series].color, everywhere[series].dash
    return PAGE.series[place], ((1, 0), (7, 3), (2, 2), (8, 2, 2, 2))[place]


def _x(lines: Lines) -> alt.X:
    values = sorted({record["x"] for record in lines.records}) or [1]
    if lines.doubles_x:
        scale = alt.Scale(type="log", base=2, nice=False, padding=8)
        axis = alt.Axis(grid=False, format="~r", values=values, labelOverlap="greedy")
    else:
        scale = alt.Scale(domain=[0, values[-1]], nice=False)
        axis = alt.Axis(grid=False, format=",d", tickCount=6)
    return alt.X("x:Q", title=lines.x_title, scale=scale, axis=axis)


def _chart(lines: Lines, identity: str, looks: Sequence[tuple[str, tuple[int, ...]]]) -> Spec:
    base = alt.Chart().transform_filter(alt.datum.panel == identity)
    x = _x(lines)
    scale = alt.Scale(type="log", nice=False) if lines.is_logarithmic else alt.Scale(zero=True)
    axis = alt.Axis(
        format="~s" if lines.is_logarithmic else ".3~r",
        grid=not lines.is_logarithmic,
        tickCount=5,
    )
    y = alt.Y("y:Q", title=None, scale=scale, axis=axis)
    colors = alt.Scale(domain=list(lines.series), range=[color for color, _ in looks])
    dashes = alt.Scale(domain=list(lines.series), range=[list(dash) for _, dash in looks])
    tooltip = [
        alt.Tooltip("series:N", title="Line"),
        alt.Tooltip("at:N", title="At"),
        alt.Tooltip("y:Q", title=lines.y_title, format=",.4~r"),
    ]
    color = alt.Color("series:N", scale=colors, legend=None)
    line = base.mark_line(strokeWidth=1.6, clip=True).encode(
        x=x, y=y, color=color, strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=None)
    )
    point = base.mark_point(filled=True, size=10, clip=True).encode(
        x=x, y=y, color=color, tooltip=tooltip
    )
    figure = alt.LayerChart(layer=[line, point], data=alt.NamedData(name=ROWS)).properties(
        width="container",
        height=PANEL_HEIGHT,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        description=f"{lines.title}: {lines.y_title} over {lines.x_title}.",
    )
    return as_spec(figure, PAGE)
