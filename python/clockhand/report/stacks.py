"""Amounts by what they consist of: areas over time, bars of shares, and how busy parts are."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from clockhand.report.appearance import Theme
from clockhand.report.canvas import PICTURE_HEIGHT, Canvas, Spec, framed
from clockhand.report.compared import Record, SizeAxis, quantity
from clockhand.report.html import SeriesLook
from clockhand.report.scales import Kind, label_expression

BAR_HEIGHT = 24
CELL_HEIGHT = 22
MOST_WRITTEN = 12
"""Parts whose numbers have room in their cells."""
LEAST_SHADE = 0.04


@dataclass(frozen=True)
class Stack:
    """What amounts consist of.

    Attributes:
        field: The column in the records that names a piece.

        title: What pieces are.

        pieces: Their names in stacking order, from the axis on.

        colors: The place of each one's colour in a theme's series; ``None`` is faint.
    """

    field: str
    title: str
    pieces: Sequence[str]
    colors: Sequence[int | None]

    def looks(self, theme: Theme) -> list[SeriesLook]:
        """Return how the pieces look, for the legend of a figure of the page."""
        return [
            (name, color, ()) for name, color in zip(self.pieces, self._colors(theme), strict=True)
        ]

    def _colors(self, theme: Theme) -> list[str]:
        return [theme.faint if place is None else theme.series[place] for place in self.colors]

    def channels(self, canvas: Canvas) -> Spec:
        """Return colour and order of the pieces as Vega-Lite's channels."""
        names = list(self.pieces)
        legend = None if canvas.on_page else {"title": self.title}
        scale = {"domain": names, "range": self._colors(canvas.theme)}
        color = {"field": self.field, "type": "nominal", "scale": scale, "legend": legend}
        return {"color": color, "order": quantity(f"{self.field}_place")}

    def placed(self, record: Record) -> Record:
        """Return a record with the place of its piece in the stack."""
        return {**record, f"{self.field}_place": list(self.pieces).index(record[self.field])}


@dataclass(frozen=True)
class Drawing:
    """What every figure of stacks needs.

    Attributes:
        records: The values of a picture; the page shares those of its part.

        where: The Vega expression that the records of this figure fulfil.

        title: What stands above a picture.

        label: What the values are of.

        canvas: Where it is drawn.
    """

    records: Sequence[Record]
    where: str
    title: str
    label: str
    canvas: Canvas

    def framed(self, layers: Sequence[Spec], height: float) -> Spec:
        """Return layers as a figure."""
        chosen = [{**layer, "transform": [{"filter": self.where}]} for layer in layers]
        return framed(
            chosen, self.records, self.canvas, title=self.title, label=self.label, height=height
        )


def stacked_areas(
    drawing: Drawing,
    stack: Stack,
    along: SizeAxis,
    field: str,
    amount: str,
    kind: Kind,
    tooltip: Sequence[Spec],
) -> Spec:
    """Draw an amount along an axis, such as time, in steps, with its pieces on each other."""
    axis = {"labelExpr": label_expression(kind), "tickCount": 5, "labelOverlap": "greedy"}
    layer: Spec = {
        "mark": {"type": "area", "interpolate": "step-after", "line": False},
        "encoding": {
            "x": along.channel(),
            "y": quantity(field, title=amount, stack="zero", axis=axis),
            **stack.channels(drawing.canvas),
            "tooltip": list(tooltip),
        },
    }
    return drawing.framed([layer], PICTURE_HEIGHT * 2 // 3)


def stacked_shares(
    drawing: Drawing, stack: Stack, field: str, order: Sequence[str], text: str
) -> Spec:
    """Draw what shares a whole consists of, a bar per series.

    Args:
        drawing: What is drawn.
        stack: The pieces.
        field: The column with the share of a piece.
        order: The series, from the top.
        text: The column with what stands behind the name of a series.
    """
    texts = json.dumps({record["policy"]: record[text] for record in drawing.records})
    label = f"datum.value + ' ' + {texts}[datum.value]"
    names = {"labelExpr": label, "labelLimit": 260, "ticks": False, "domain": False}
    rows = {"field": "policy", "type": "nominal", "title": None, "sort": list(order), "axis": names}
    axis = {"labelExpr": label_expression(Kind.SHARE), "tickCount": 5, "labelOverlap": "greedy"}
    shares = quantity(field, title=None, axis=axis, scale={"domain": [0, 1]}, stack="zero")
    bar: Spec = {
        "mark": {"type": "bar", "height": {"band": 0.74}},
        "encoding": {
            "x": shares,
            "y": rows,
            **stack.channels(drawing.canvas),
            "tooltip": [
                {"field": "policy", "type": "nominal", "title": " "},
                {"field": stack.field, "type": "nominal", "title": stack.title},
                quantity(field, title="Share", format=".1%"),
            ],
        },
    }
    return drawing.framed([bar], BAR_HEIGHT * len(order) + 8)


def busy_parts(drawing: Drawing, parts: Sequence[str], series: Sequence[str], field: str) -> Spec:
    """Draw how busy parts are, a row per series and a column per part: the more, the darker."""
    theme = drawing.canvas.theme
    names = {"labelLimit": 190, "ticks": False, "domain": False}
    rows = {"field": "policy", "type": "nominal", "title": None, "sort": list(series),
            "axis": names}  # fmt: skip
    columns = {
        "field": "part", "type": "ordinal", "title": None, "sort": list(parts),
        "axis": {"labelAngle": 0 if len(parts) <= MOST_WRITTEN else -60, "ticks": False,
                 "domain": False, "labelOverlap": "greedy"},
    }  # fmt: skip
    shade = {"scale": {"domain": [0, 1], "range": [LEAST_SHADE, 1]}, "legend": None}
    tooltip = [
        {"field": "policy", "type": "nominal", "title": " "},
        {"field": "part", "type": "nominal", "title": "Part"},
        quantity(field, title="Busy", format=".1%"),
    ]
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "color": theme.more},
            "encoding": {"x": columns, "y": rows, "opacity": quantity(field, **shade),
                         "tooltip": tooltip},
        }
    ]  # fmt: skip
    if len(parts) <= MOST_WRITTEN:
        text = quantity(field, format=".0%")
        mark = {"type": "text", "color": theme.ink}
        layers.append({"mark": mark, "encoding": {"x": columns, "y": rows, "text": text}})
    return drawing.framed(layers, CELL_HEIGHT * len(series))
