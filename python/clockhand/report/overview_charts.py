"""The ranking and the heat map as pictures; the page has them as a table."""

import json

from clockhand.report.canvas import Canvas, Spec, framed
from clockhand.report.compared import quantity
from clockhand.report.overview import Entry, Overview
from clockhand.report.scales import Kind, ratio_text, value_axis

ROW_HEIGHT = 22
CELL_WIDTH = 58
UPRIGHT_COLUMNS = 8
LEAST_WIDTH = 320


def overview_charts(overview: Overview, canvas: Canvas, label: str) -> dict[str, Spec]:
    """Return the ranking and the heat map, by their keys."""
    charts = {f"{overview.key}_ranking": _ranking(overview, canvas, label)}
    if overview.columns:
        charts[f"{overview.key}_heat_map"] = _heat_map(overview, canvas, label)
    return charts


def _names(overview: Overview) -> Spec:
    order = [entry.name for entry in overview.entries]
    axis = {"labelLimit": 190, "ticks": False, "domain": False}
    return {"field": "policy", "type": "nominal", "title": None, "sort": order, "axis": axis}


def _heat_map(overview: Overview, canvas: Canvas, label: str) -> Spec:
    columns = [str(number) for number in range(len(overview.columns))]
    records = [
        {"policy": entry.name, "column": number, "text": cell.text, "heat": cell.heat}
        for entry in overview.entries
        for number, cell in zip(columns, entry.cells, strict=True)
        if cell is not None
    ]
    labels = [name.replace("\n", " · ") for name in overview.columns]
    axis = {
        "labelExpr": f"split({json.dumps(labels)}[toNumber(datum.value)], ' · ')",
        "labelAngle": 0 if len(columns) <= UPRIGHT_COLUMNS else -40,
        "labelLimit": 110,
        "ticks": False,
        "domain": False,
    }
    title = f"{overview.unit}, {', '.join(heading for heading, _ in overview.groups)}"
    encoding: Spec = {
        "x": {"field": "column", "type": "ordinal", "title": title, "sort": columns, "axis": axis},
        "y": _names(overview),
    }
    theme = canvas.theme
    ends = [theme.less, theme.background, theme.more]
    scale = {"domain": [-1, 0, 1], "range": ends, "interpolate": "rgb"}
    color = quantity("heat", scale=scale, legend=None)
    text: Spec = {"field": "text", "type": "nominal"}
    layers: list[Spec] = [
        {"mark": "rect", "encoding": {**encoding, "color": color}},
        {"mark": {"type": "text", "color": theme.ink}, "encoding": {**encoding, "text": text}},
    ]
    figure = _framed(overview, layers, records, canvas, label)
    return figure | {"width": max(CELL_WIDTH * len(columns), LEAST_WIDTH)}


def _ranking(overview: Overview, canvas: Canvas, label: str) -> Spec:
    every = [value for entry in overview.entries for value in (entry.range.least, entry.range.most)]
    axis = value_axis(Kind.RATIO, every)
    theme = canvas.theme
    title = f"{overview.unit}: geometric mean, and range over {overview.of}"

    def at(field: str) -> Spec:
        return quantity(field, title=title, scale=axis.scale(), axis=axis.axis(Kind.RATIO))

    spread = {"type": "rule", "strokeWidth": 3, "color": theme.faint}
    mean = {"type": "point", "filled": True, "size": 70, "color": theme.ink, "opacity": 1}
    text = {"type": "text", "align": "left", "dx": 6, "color": theme.ink}
    names = _names(overview)
    layers: list[Spec] = [
        {
            "data": {"values": [{"one": 1}]},
            "mark": {"type": "rule", "color": theme.muted},
            "encoding": {"x": at("one")},
        },
        {"mark": spread, "encoding": {"y": names, "x": at("least"), "x2": {"field": "edge"}}},
        {"mark": mean, "encoding": {"y": names, "x": at("mean")}},
        {
            "mark": text,
            "encoding": {
                # All numbers stand behind the area of the values: no line goes through them.
                "y": names,
                "x": {"value": "width"},
                "text": {"field": "text", "type": "nominal"},
            },
        },
    ]
    records = [_ranked(entry, axis.high) for entry in overview.entries]
    return _framed(overview, layers, records, canvas, label)


def _framed(
    overview: Overview, layers: list[Spec], records: list[Spec], canvas: Canvas, label: str
) -> Spec:
    height = ROW_HEIGHT * len(overview.entries)
    return framed(layers, records, canvas, title=overview.title, label=label, height=height)


def _ranked(entry: Entry, edge: float) -> Spec:
    mean, least, most = entry.mean, entry.range.least, entry.range.most
    arrow = "► " if most > edge else ""
    return {
        "policy": entry.name,
        "mean": min(mean, edge),
        "least": min(least, edge),
        "edge": min(most, edge),
        "text": f"{arrow}{ratio_text(mean)} ({ratio_text(least)} to {ratio_text(most)})",
    }
