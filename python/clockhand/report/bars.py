"""Bars at a single size, the best first: what lines are over several sizes."""

import json
import math
from collections.abc import Sequence
from typing import Any

from clockhand.report.appearance import BOUND_DASH
from clockhand.report.canvas import Canvas, Spec, framed
from clockhand.report.compared import (
    BAND_OPACITY,
    ERROR_WIDTH,
    Compared,
    Record,
    bound_tooltip,
    error_fields,
    errors_note,
    known_tooltip,
    quantity,
)
from clockhand.report.scales import Kind, Measure, label_expression, value_text
from clockhand.report.words import SHARE_DECIMALS, unique

BAR_HEIGHT = 24
GREY_OPACITY = 0.55
OUTLIER = 3
"""A bar is cut if it is this many times as long as all but the longest quarter."""

FAR = 20
"""Only a bar so many times as long as those is cut: a shorter one can be drawn as it is."""

WHOLE = 0.8
"""Bars of shares that reach so far have the whole at the end of their axis."""

ROOM = 1.22
"""The axis goes on behind the longest bar, for its number."""


def bars_chart(
    compared: Compared,
    measure: Measure,
    canvas: Canvas,
    *,
    by: str | None = None,
    beside: tuple[str, str] | None = None,
) -> Spec:
    """Draw a measure as bars from zero, a bar per series.

    Args:
        compared: The values, at one size.

        measure: What is drawn.

        canvas: Where it is drawn.

        by: The column whose least value comes first, so that figures line up; if it is not given,
            the best of the measure's own does.

        beside: A column of ratios whose values stand beside the numbers, and the words behind them.
    """
    order = best_first(
        compared.records, by or measure.field, most_first=not by and measure.most_is_best
    )
    edge = bar_edge(compared, measure)
    base = _base(compared, measure, order, edge, beside)
    tooltip = known_tooltip(compared.tooltip, compared.records)
    bar = _with(base, {"type": "bar", "height": {"band": 0.74}}, tooltip=tooltip)
    # Bars without emphasis are grey: names stand beside bars, so colours carry no meaning.
    looks = [
        (look.policy, look.color if look.policy in compared.focus else canvas.theme.faint)
        for look in compared.looks
    ]
    scale = {"domain": [name for name, _ in looks], "range": [color for _, color in looks]}
    bar["encoding"]["color"] = {
        "field": "policy", "type": "nominal", "scale": scale, "legend": None,
    }  # fmt: skip
    text = _with(
        base,
        {"type": "text", "align": "left", "dx": 5, "color": canvas.theme.ink},
        tooltip=tooltip,
        text={"field": "bar_text", "type": "nominal"},
    )
    sizes = compared.sizes.sizes
    return framed(
        [
            bar,
            *_errors(base, compared, measure, canvas),
            text,
            *_rule(compared, measure, canvas, edge),
        ],
        compared.everything(),
        canvas,
        title=measure.title,
        label=compared.label,
        height=BAR_HEIGHT * len(order) + 8,
        description=f"{measure.title} on {compared.label} at {sizes[0]:,.6g} for "
        f"{', '.join(order)}.",
    )


def bars_note(compared: Compared, measure: Measure) -> str:
    """Say what the dashed line is, and that bars are cut, if they are."""
    edge = bar_edge(compared, measure)
    line = "The dashed line is the lower bound." if compared.has_bound(measure) else ""
    line = f"{errors_note(compared, measure)}{line}".rstrip()
    if max(compared.known(measure.field), default=0) <= edge:
        return line
    return (
        f"{line} Bars are cut at {value_text(measure.kind, edge)}; their numbers are not.".lstrip()
    )


def _errors(base: Spec, compared: Compared, measure: Measure, canvas: Canvas) -> list[Spec]:
    """Thin lines over the ranges of estimates."""
    if not compared.has_errors(measure):
        return []
    low, high = error_fields(measure)
    test = {"filter": f"isValid(datum.{low})"}
    rule = {"type": "rule", "strokeWidth": ERROR_WIDTH, "color": canvas.theme.ink}
    axis = {**base["encoding"]["x"], "field": low}
    layer = _with(base, rule, x=axis, x2={"field": high})
    return [{**layer, "mark": {**rule, "clip": True}, "transform": [*base["transform"], test]}]


def best_first(records: Sequence[Record], field: str, *, most_first: bool) -> list[str]:
    """Return the series from the best on; those without a value are last."""
    sign = -1 if most_first else 1
    known = sorted(
        records, key=lambda record: (record.get(field) is None, sign * (record.get(field) or 0))
    )
    return unique(str(record["policy"]) for record in known)


def bar_edge(compared: Compared, measure: Measure) -> float:
    """Return where bars end at the latest."""
    known = sorted(compared.known(measure.field)) or [0.0]
    longest_usual = known[(3 * (len(known) - 1)) // 4]
    anchors = compared.known(measure.field, compared.anchors)
    if known[-1] < FAR * longest_usual:
        return known[-1]
    edge = max([OUTLIER * longest_usual, *anchors])
    return edge if 0 < edge < known[-1] / 1.2 else known[-1]


def _with(base: Spec, mark: Spec, **encoding: Any) -> Spec:
    return {**base, "mark": mark, "encoding": {**base["encoding"], **encoding}}


def _base(
    compared: Compared,
    measure: Measure,
    order: list[str],
    edge: float,
    beside: tuple[str, str] | None,
) -> Spec:
    field = f"datum.{measure.field}"
    tests = [f"datum.policy != {json.dumps(compared.bound)}", f"isValid({field})"]
    if compared.where is not None:
        tests.append(compared.where)
    number = f"format({field}, '{_format(compared, measure)}')"
    if measure.kind is Kind.TIME:
        number = f"({label_expression(Kind.TIME, field)})"
    if beside is not None:
        ratio = f"datum.{beside[0]}"
        words = json.dumps(f" {beside[1]}")
        number += f" + (isValid({ratio}) ? ' · ' + format({ratio}, '.2f') + {words} : '')"
    names = {"labelLimit": 190, "ticks": False, "domain": False}
    return {
        "transform": [
            {"filter": " && ".join(tests)},
            {"calculate": f"min({field}, {edge!r})", "as": "bar_end"},
            {"calculate": f"({field} > {1.0001 * edge!r} ? '► ' : '') + {number}",
             "as": "bar_text"},
        ],
        "encoding": {
            "x": _value("bar_end", edge, measure),
            "y": {"field": "policy", "type": "nominal", "title": None, "sort": order,
                  "axis": names},
        },
    }  # fmt: skip


def _format(compared: Compared, measure: Measure) -> str:
    """Return the d3 format of the numbers at the bars."""
    if measure.kind is Kind.COUNT:
        return ","
    ending = "%" if measure.kind is Kind.SHARE else "f"
    return f",.{number_decimals(compared, measure)}{ending}"


def number_decimals(compared: Compared, measure: Measure) -> int:
    """Return the decimals of the numbers at bars: all have the same."""
    match measure.kind:
        case Kind.COUNT:
            return 0
        case Kind.SHARE:
            return SHARE_DECIMALS
        case Kind.RATIO:
            return 2
        case Kind.NUMBER | Kind.TIME:
            known = [abs(value) for value in compared.known(measure.field) if value]
            digits = 2 - math.floor(math.log10(min(known))) if known else 0
            return max(0, min(digits, 4))


def _value(field: str, edge: float, measure: Measure) -> Spec:
    axis: Spec = {"labelExpr": label_expression(measure.kind), "labelOverlap": "greedy"}
    axis |= {"tickCount": 5}
    if measure.kind is Kind.SHARE and edge > WHOLE:
        axis["values"] = [0, 0.2, 0.4, 0.6, 0.8, 1]
    return quantity(
        field,
        title=measure.title,
        scale={"domain": [0, edge * ROOM or 1], "nice": False},
        axis=axis,
    )


def _rule(compared: Compared, measure: Measure, canvas: Canvas, edge: float) -> list[Spec]:
    """The lower bound as a line through all bars, with the band up to what is known to work."""
    if not compared.has_bound(measure):
        return []
    theme = canvas.theme
    base: Spec = {
        "transform": [{"filter": f"datum.policy == {json.dumps(compared.bound)}"}],
        "encoding": {
            "x": _value(measure.field, edge, measure),
            "tooltip": bound_tooltip(compared, measure),
        },
    }
    # The halo keeps the thin line visible on bars of any colour.
    halo = _with(base, {"type": "rule", "strokeWidth": 4, "color": theme.background})
    dash = {"strokeWidth": 1.4, "strokeDash": list(BOUND_DASH), "color": theme.ink}
    rule = _with(base, {"type": "rule", **dash})
    upper = f"{measure.field}_feasible"
    if not any(bound.get(upper) for bound in compared.bounds):
        return [halo, rule]
    shade = {"type": "rect", "opacity": BAND_OPACITY, "color": theme.ink}
    return [_with(base, shade, x2={"field": upper}), halo, rule]
