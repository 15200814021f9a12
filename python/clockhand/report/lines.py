"""Lines over sizes, the figure that most reports have: few are emphasised, the others grey."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from clockhand.report.appearance import BOUND_DASH, Mark
from clockhand.report.canvas import FADED_OPACITY, HIGHLIGHT, PICTURE_HEIGHT, Canvas, Spec, framed
from clockhand.report.compared import (
    BAND_OPACITY,
    ERROR_WIDTH,
    Compared,
    Record,
    axis_of,
    bound_tooltip,
    error_fields,
    errors_note,
    known_tooltip,
    quantity,
)
from clockhand.report.scales import (
    Measure,
    ValueAxis,
    value_text,
)
from clockhand.report.words import thinned

# With more sizes than this, point shapes would hide the lines: only this number of points has one.
MAXIMUM_SHAPED_SIZES = 24
LINE_WIDTH = 1.9
GREY_WIDTH = 1
HIT_WIDTH = 9
GREY_OPACITY = 0.45
LABEL_GAP = 13
"""Pixels between two labels at the ends of lines."""

LABEL_SIZE = 11
LONGEST_LABEL = 26
MOST_NOTES = 4
"""Outliers that a figure tells at its edge; its caption has more of them."""

LABEL_DISTANCE = 11
"""Pixels between the end of a line and its name."""

# Layers that the page's script and style reach: what only wide figures have room for, and what
# answers to the pointer.
LABELS = "labels"
LEADERS = "label-lines"
HIT = "hit"
POINTS = "points"
"""The layer of a picture whose points a legend selects by."""


def cut_note(compared: Compared, measure: Measure) -> str:
    """Say which series go beyond the edge of a figure, and how far; nothing if none does."""
    axis = axis_of(compared, measure)
    if not axis.is_cut:
        return errors_note(compared, measure)
    most = _beyond(compared, measure, axis)
    outliers = ", ".join(
        f"{name} {value_text(measure.kind, value)}" for name, _, value in most[:MOST_NOTES]
    )
    more = f" and {len(most) - MOST_NOTES} more" if len(most) > MOST_NOTES else ""
    note = f"Cut at {value_text(measure.kind, axis.high)}; beyond it go, at most: {outliers}{more}."
    return errors_note(compared, measure) + note


def lines_chart(compared: Compared, measure: Measure, canvas: Canvas) -> Spec:
    """Draw a measure over sizes, a line per series."""
    focused = replace(compared, focus=compared.emphasised(measure))
    return _Lines(focused, measure, canvas, axis_of(compared, measure)).figure()


def _beyond(
    compared: Compared, measure: Measure, axis: ValueAxis
) -> list[tuple[str, float, float]]:
    """Return series, size and value of the greatest value of each series that is cut."""
    most: dict[str, Record] = {}
    for record in compared.records:
        value, name = record.get(measure.field), record["policy"]
        if value is None or value <= axis.high:
            continue
        if name not in most or value > most[name][measure.field]:
            most[name] = record
    outliers = [
        (name, record[compared.sizes.field], record[measure.field]) for name, record in most.items()
    ]
    return sorted(outliers, key=lambda entry: -entry[2])


@dataclass(frozen=True)
class _Lines:
    compared: Compared
    measure: Measure
    canvas: Canvas
    axis: ValueAxis

    def figure(self) -> Spec:
        compared, measure = self.compared, self.measure
        lines, point = self._focused()
        layers = [*self._bound(), *self._grey(), *lines, *self._errors(), *self._hit(), point]
        layers += [*self._cut(), *self._labels()]
        sizes = compared.sizes.sizes
        names = ", ".join(look.policy for look in compared.looks)
        figure = framed(
            layers,
            compared.everything(),
            self.canvas,
            title=measure.title,
            label=compared.label,
            height=PICTURE_HEIGHT,
            description=f"{measure.title} on {compared.label} at {len(sizes)} sizes from "
            f"{sizes[0]:,.6g} to {sizes[-1]:,.6g} for {names}.",
        )
        if self.canvas.on_page:
            figure["params"] = [{"name": HIGHLIGHT, "value": list(compared.focus)}]
        else:
            # Altair moves what a layer selects to the chart, and forgets whose it was.
            chosen = {"select": {"type": "point", "fields": ["policy"]}, "bind": "legend"}
            figure["params"] = [{"name": HIGHLIGHT, **chosen, "views": [POINTS]}]
        return figure

    def _layer(self, test: str, mark: Spec, **encoding: Any) -> Spec:
        tests = [test, f"isValid(datum.{self.measure.field})"]
        if self.compared.where is not None:
            tests.append(self.compared.where)
        return {
            "transform": [{"filter": " && ".join(f"({part})" for part in tests)}],
            "mark": {"clip": self._goes_beyond(), **self._shape(mark), **mark},
            "encoding": {"x": self.compared.sizes.channel(), "y": self._y(), **encoding},
        }

    def _shape(self, mark: Spec) -> Spec:
        is_stepped = self.compared.sizes.is_stepped and mark["type"] == "line"
        return {"interpolate": "step-after"} if is_stepped else {}

    def _lines(self, test: str, mark: Spec, **encoding: Any) -> list[Spec]:
        """Lines, a clipped one each for what goes beyond the axes: to clip takes most of a picture.

        On the page, which clips at no cost, they are one layer.
        """
        beyond = [name for name, _, _ in _beyond(self.compared, self.measure, self.axis)]
        if self.canvas.on_page or not beyond:
            return [self._layer(test, mark, **encoding)]
        goes = f"indexof({json.dumps(beyond)}, datum.policy) >= 0"
        return [
            self._layer(f"({test}) && !({goes})", {**mark, "clip": False}, **encoding),
            self._layer(f"({test}) && {goes}", mark, **encoding),
        ]

    def _goes_beyond(self) -> bool:
        """Whether something lies beyond the axes: outliers, or the upper end of a bound."""
        if self.axis.is_cut:
            return True
        upper = f"{self.measure.field}_feasible"
        reached = [bound.get(upper) or 0 for bound in self.compared.bounds]
        return self.compared.has_bound(self.measure) and max(reached) > self.axis.high

    def _y(self) -> Spec:
        return quantity(
            self.measure.field,
            title=self.measure.title,
            scale=self.axis.scale(),
            axis=self.axis.axis(self.measure.kind),
        )

    def _is_bound(self) -> str:
        return f"datum.policy == {json.dumps(self.compared.bound)}"

    def _is_focused(self) -> str:
        if self.canvas.on_page:
            return f"indexof({HIGHLIGHT}, datum.policy) >= 0"
        return f"indexof({json.dumps(list(self.compared.focus))}, datum.policy) >= 0"

    def _grey(self) -> list[Spec]:
        """Lines that are not emphasised; on the page any may become one of them."""
        if len(self.compared.looks) == len(self.compared.focus) and not self.canvas.on_page:
            return []
        test = f"!({self._is_bound()}) && !({self._is_focused()})"
        grey = {
            "type": "line",
            "color": self.canvas.theme.muted,
            "strokeWidth": GREY_WIDTH,
            # A text for each point would take a tenth of the drawing; the figure has one.
            "aria": False,
        }
        by_series = {"field": "policy", "type": "nominal"}
        return self._lines(test, grey | {"strokeOpacity": GREY_OPACITY}, detail=by_series)

    def _hit(self) -> list[Spec]:
        """Wide invisible lines, which bear their names: the page's script shows them."""
        if not self.canvas.on_page:
            return []
        hit = {"type": "line", "color": self.canvas.theme.muted, "strokeWidth": HIT_WIDTH}
        by_series: Spec = {"field": "policy", "type": "nominal"}
        layer = self._layer(
            f"!({self._is_bound()})",
            hit | {"strokeOpacity": 0},
            detail=by_series,
            description=by_series,
        )
        return [layer | {"name": HIT}]

    def _focused(self) -> tuple[list[Spec], Spec]:
        test = f"!({self._is_bound()}) && ({self._is_focused()})"
        looks = self._looks()
        color = self._scaled([look.color for look in looks], legend=True)
        dash = self._scaled([list(look.dash) for look in looks])
        shape = self._scaled([look.shape for look in looks], legend=True)
        tooltip = known_tooltip(self.compared.tooltip, self.compared.records)
        wide = {"type": "line", "strokeWidth": LINE_WIDTH, "aria": False}
        lines = self._lines(test, wide, color=color, strokeDash=dash)
        dot = {"type": "point", "filled": True, "size": 48}
        sizes = self.compared.sizes
        if len(sizes.sizes) > MAXIMUM_SHAPED_SIZES:
            shaped = thinned(sizes.sizes, MAXIMUM_SHAPED_SIZES)
            test += f" && indexof({json.dumps(shaped)}, datum.{sizes.field}) >= 0"
        point = self._layer(test, dot, color=color, shape=shape, tooltip=tooltip)
        if not self.canvas.on_page:
            # In a notebook the legend of a picture fades the others.
            chosen = {"param": HIGHLIGHT, "value": 1}
            for layer in (*lines, point):
                layer["encoding"]["opacity"] = {"condition": chosen, "value": FADED_OPACITY}
            point["name"] = POINTS
        return lines, point

    def _errors(self) -> list[Spec]:
        """Vertical lines over the ranges of estimates."""
        if not self.compared.has_errors(self.measure):
            return []
        low, high = error_fields(self.measure)
        test = f"!({self._is_bound()}) && ({self._is_focused()}) && isValid(datum.{low})"
        color = self._scaled([look.color for look in self._looks()])
        rule = self._layer(test, {"type": "rule", "strokeWidth": ERROR_WIDTH}, color=color)
        encoding = rule["encoding"]
        encoding["y"] = {**encoding["y"], "field": low}
        encoding["y2"] = {"field": high}
        return [rule]

    def _looks(self) -> list[Mark]:
        """The looks on the page are all, as any may be emphasised; a picture has few."""
        if self.canvas.on_page:
            return list(self.compared.looks)
        return [look for look in self.compared.looks if look.policy in self.compared.focus]

    def _scaled(self, values: Sequence[Any], *, legend: bool = False) -> Spec:
        shown: Spec | None = None
        if legend and not self.canvas.on_page:
            shown = {"title": self.compared.word, "labelLimit": 260}
        domain = [look.policy for look in self._looks()]
        scale = {"domain": domain, "range": list(values)}
        return {"field": "policy", "type": "nominal", "scale": scale, "legend": shown}

    def _bound(self) -> list[Spec]:
        compared, measured = self.compared, self.measure.field
        if not compared.has_bound(self.measure):
            return []
        muted = self.canvas.theme.muted
        tooltip = bound_tooltip(compared, self.measure)
        upper = f"{measured}_feasible"
        layers = []
        if any(bound.get(upper) for bound in compared.bounds):
            band = {"type": "area", "opacity": BAND_OPACITY, "color": muted}
            layers.append(self._layer(self._is_bound(), band, y2={"field": upper}, tooltip=tooltip))
        line = {"type": "line", "strokeWidth": 1.4, "strokeDash": list(BOUND_DASH), "color": muted}
        line["clip"] = False  # A lower bound is within whatever the axis has.
        layers.append(self._layer(self._is_bound(), line, tooltip=tooltip))
        if not self.canvas.on_page:
            # The legend of a picture has no entry for it, so the line bears its name.
            first = min(bound[compared.sizes.field] for bound in compared.bounds)
            name = {"type": "text", "align": "left", "dy": 13, "fontStyle": "italic"}
            layers.append(
                self._layer(
                    f"{self._is_bound()} && datum.{compared.sizes.field} == {first}",
                    {**name, "color": muted, "clip": False},
                    text={"value": compared.bound},
                )
            )
        return layers

    def _cut(self) -> list[Spec]:
        """At the edge, the name and the number of what lies beyond."""
        if not self.axis.is_cut:
            return []
        sizes = self.compared.sizes.sizes
        layers = []
        outliers = _beyond(self.compared, self.measure, self.axis)[:MOST_NOTES]
        for place, (name, size, value) in enumerate(outliers):
            is_left = size <= sizes[len(sizes) // 2]
            text = f"{_short(name)} {value_text(self.measure.kind, value)}"
            mark = {
                "type": "text",
                "align": "left" if is_left else "right",
                "baseline": "top",
                "dx": -4 if is_left else 4,
                "fontSize": LABEL_SIZE,
                "color": self.canvas.theme.ink,
            }
            record = {self.compared.sizes.field: size, "policy": name}
            record["beyond"] = f"▲ {text}" if is_left else f"{text} ▲"
            encoding = {
                "x": self.compared.sizes.channel(),
                "y": {"value": 2 + place * LABEL_GAP},
                "text": {"field": "beyond", "type": "nominal"},
            }
            layers.append({"data": {"values": [record]}, "mark": mark, "encoding": encoding})
        return layers

    def _labels(self) -> list[Spec]:
        """The names of what is emphasised, at the ends of their lines, and lines to those moved.

        A legend of a picture has them.
        """
        if not self.canvas.on_page:
            return []
        sizes = self.compared.sizes
        placed = self._placed()
        mark = {"type": "text", "align": "left", "dx": LABEL_DISTANCE + 2, "fontSize": LABEL_SIZE}
        text: Spec = {"field": "shown", "type": "nominal"}
        label = {
            "x": sizes.channel(), "y": {**self._y(), "field": "label_at"}, "text": text,
        }  # fmt: skip
        color = self._scaled([look.color for look in self._looks()])
        leader = {
            "x": sizes.channel(), "x2": {"field": sizes.field},
            "y": self._y(), "y2": {"field": "label_at"}, "color": color,
        }  # fmt: skip
        rule = {"type": "rule", "strokeWidth": 1, "xOffset": 5, "x2Offset": LABEL_DISTANCE}
        return [
            {"name": LEADERS, "transform": placed, "mark": {**rule, "clip": False},
             "encoding": leader},
            {"name": LABELS, "transform": placed,
             "mark": {**mark, "clip": False, "color": self.canvas.theme.ink}, "encoding": label},
        ]  # fmt: skip

    def _placed(self) -> list[Spec]:
        """Return what places names: each at the end of its line, moved until none meets another.

        From the top each moves down if need be, from the bottom up, and the middle of both is
        taken: the running maximum and minimum of the ends, less the room of the names before.
        """
        field, size, axis = self.measure.field, self.compared.sizes.field, self.axis
        tests = [
            f"!({self._is_bound()})", self._is_focused(), f"isValid(datum.{field})",
        ]  # fmt: skip
        if self.compared.where is not None:
            tests.append(self.compared.where)
        in_order = [{"field": "end"}, {"field": "policy"}]
        first, last = (
            f"{LABEL_GAP} * (datum.place - 1)",
            f"{PICTURE_HEIGHT} - {LABEL_GAP} * (datum.count - datum.place)",
        )

        def running(operation: str, frame: list[int | None], name: str) -> Spec:
            window = [{"op": operation, "field": "free", "as": name}]
            return {"window": window, "sort": in_order, "frame": frame}

        return [
            {"filter": " && ".join(f"({test})" for test in tests)},
            {"joinaggregate": [{"op": "max", "field": size, "as": "last_size"}],
             "groupby": ["policy"]},
            {"filter": f"datum.{size} == datum.last_size && inrange(datum.{field}, "
             f"[{axis.low!r}, {axis.high!r}])"},
            {"calculate": f"{PICTURE_HEIGHT} * (1 - {axis.share_expression(f'datum.{field}')})",
             "as": "end"},
            {"joinaggregate": [{"op": "count", "as": "count"}]},
            {"window": [{"op": "row_number", "as": "place"}], "sort": in_order},
            {"calculate": f"datum.end - {LABEL_GAP} * datum.place", "as": "free"},
            running("max", [None, 0], "down"),
            running("min", [0, None], "up"),
            {"calculate": f"(datum.down + datum.up) / 2 + {LABEL_GAP} * datum.place", "as": "at"},
            {"calculate": f"min(max(datum.at, {first}), {last})", "as": "at"},
            {"calculate": axis.value_expression(f"(1 - datum.at / {PICTURE_HEIGHT})"),
             "as": "label_at"},
            {"calculate": f"length(datum.policy) > {LONGEST_LABEL} ? "
             f"slice(datum.policy, 0, {LONGEST_LABEL - 1}) + '…' : datum.policy", "as": "shown"},
        ]  # fmt: skip


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"
