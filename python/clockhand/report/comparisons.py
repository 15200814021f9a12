"""Figures of comparisons: ratios one by one with their mean, and mean ranks with what ties them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clockhand.report.canvas import Canvas, Spec, framed
from clockhand.report.compared import quantity
from clockhand.report.scales import Kind, ratio_text, value_axis

ROW_HEIGHT = 24
LABEL_LIMIT = 260
GROUP_STEP, FIRST_ROW = 8, 14
"""Pixels between the bars of groups, and from the last bar to the first name."""

LABEL_SHARE = 0.45
"""The room for names at either side of the ranks, as a share of the ranks'."""


@dataclass(frozen=True)
class Strip:
    """Ratios of one name: their geometric mean, its interval if there is one, and each of them."""

    name: str
    mean: float
    interval: tuple[float, float] | None
    ratios: Sequence[float]

    @property
    def text(self) -> str:
        """The mean with its interval in words."""
        if self.interval is None:
            return ratio_text(self.mean)
        low, high = map(ratio_text, self.interval)
        return f"{ratio_text(self.mean)} ({low} to {high})"


def strips_chart(
    strips: Sequence[Strip], canvas: Canvas, *, title: str, axis_title: str, label: str
) -> Spec:
    """Draw a row for each name: a tick per ratio, and a dot with an interval for the mean."""
    theme = canvas.theme
    axis = value_axis(Kind.RATIO, [ratio for strip in strips for ratio in strip.ratios] + [1.0])

    def inside(ratio: float) -> float:
        return min(max(ratio, axis.low), axis.high)

    def at(field: str) -> Spec:
        return quantity(field, title=axis_title, scale=axis.scale(), axis=axis.axis(Kind.RATIO))

    # A text beside values may be cut at the edge of a page; names have their room.
    rows = {strip.name: f"{strip.name}: {strip.text}" for strip in strips}
    names: Spec = {
        "field": "policy", "type": "nominal", "title": None, "sort": list(rows.values()),
        "axis": {"labelLimit": LABEL_LIMIT, "ticks": False, "domain": False},
    }  # fmt: skip
    ticks = [
        {"policy": rows[strip.name], "ratio": inside(ratio)}
        for strip in strips
        for ratio in strip.ratios
    ]
    means = [{"policy": rows[strip.name], "mean": inside(strip.mean)} for strip in strips]
    intervals = [
        {"policy": rows[strip.name], "low": inside(strip.interval[0]),
         "high": inside(strip.interval[1])}
        for strip in strips
        if strip.interval is not None
    ]  # fmt: skip
    tick = {"type": "tick", "color": theme.muted, "thickness": 1.5, "size": 12}
    dot = {"type": "point", "filled": True, "size": 70, "color": theme.ink, "opacity": 1}
    layers: list[Spec] = [
        {"data": {"values": [{"one": 1}]}, "mark": {"type": "rule", "color": theme.muted},
         "encoding": {"x": at("one")}},
        {"data": {"values": ticks}, "mark": tick, "encoding": {"y": names, "x": at("ratio")}},
        {"data": {"values": intervals},
         "mark": {"type": "rule", "strokeWidth": 2.5, "color": theme.ink},
         "encoding": {"y": names, "x": at("low"), "x2": {"field": "high"}}},
        {"data": {"values": means}, "mark": dot, "encoding": {"y": names, "x": at("mean")}},
    ]  # fmt: skip
    height = ROW_HEIGHT * len(strips)
    return framed(layers, [], canvas, title=title, label=label, height=height)


def ranks_chart(
    ranks: Mapping[str, float],
    groups: Sequence[tuple[float, float]],
    canvas: Canvas,
    *,
    title: str,
    label: str,
) -> Spec:
    """Draw mean ranks on one line, each with its name, and bars over those that nothing tells
    apart: a critical-difference diagram.

    Args:
        ranks: The mean rank of each name, from the least on.
        groups: The least and the greatest rank of each group without a shown difference.
        canvas: Where it is drawn.
        title: What stands above it.
        label: What the ranks are of.
    """
    theme, count = canvas.theme, len(ranks)
    room = LABEL_SHARE * max(count - 1, 1)
    ends = [1 - room, count + room]
    scale = {"domain": ends, "nice": False}
    axis = {"orient": "top", "values": list(range(1, count + 1)), "grid": False, "format": "d"}

    def x(field: str) -> Spec:
        return quantity(field, title=f"{title} (1 is best)", scale=scale, axis=axis)

    def y(field: str) -> Spec:
        return quantity(field, scale=None, axis=None)

    first = GROUP_STEP * (len(groups) + 1) + FIRST_ROW
    half = math.ceil(count / 2)
    names = [
        {
            "policy": name, "rank": rank, "top": 0, "text": f"{name} {rank:.2f}",
            "row": first + ROW_HEIGHT * (place if place < half else count - 1 - place),
            "edge": ends[0] if place < half else ends[1],
        }
        for place, (name, rank) in enumerate(ranks.items())
    ]  # fmt: skip
    nudge = room / 20
    bars = [
        {"low": low - nudge, "high": high + nudge, "row": GROUP_STEP * (place + 1)}
        for place, (low, high) in enumerate(groups)
    ]
    thin = {"type": "rule", "color": theme.muted}
    layers: list[Spec] = [
        {"data": {"values": names}, "mark": thin,
         "encoding": {"x": x("rank"), "y": y("top"), "y2": {"field": "row"}}},
        {"data": {"values": names}, "mark": thin,
         "encoding": {"x": x("rank"), "x2": {"field": "edge"}, "y": y("row")}},
        {"data": {"values": bars}, "mark": {"type": "rule", "strokeWidth": 4, "color": theme.ink},
         "encoding": {"x": x("low"), "x2": {"field": "high"}, "y": y("row")}},
    ]  # fmt: skip
    for side, of_side in (("left", names[:half]), ("right", names[half:])):
        mark = {"type": "text", "align": side, "baseline": "bottom", "dy": -3, "color": theme.ink}
        text = {"field": "text", "type": "nominal"}
        encoding = {"x": x("edge"), "y": y("row"), "text": text}
        layers.append({"data": {"values": of_side}, "mark": mark, "encoding": encoding})
    height = first + ROW_HEIGHT * half
    return framed(layers, [], canvas, title=title, label=label, height=height)
