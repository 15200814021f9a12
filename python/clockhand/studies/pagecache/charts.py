"""The figures of page caches, as Vega-Lite charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from clockhand.report.appearance import Mark
from clockhand.report.canvas import FADED_OPACITY, HIGHLIGHT, LOGARITHMIC_SPAN, ROWS, Canvas, themed
from clockhand.study.facts import printable

WIDTH = 560
HEIGHT = 320
BAR_HEIGHT = 28

Record = dict[str, Any]


@dataclass(frozen=True)
class Measure:
    """One quantity that has a figure: its key, its column, and how to print it."""

    key: str
    field: str
    title: str
    note: str
    number_format: str


MEASURES = (
    Measure("io_time", "io_time_s", "I/O time (s)",
            "Reads and writes of both devices, priced; lower is better.", "~s"),
    Measure("write_ios", "write_ios", "Pages written",
            "Evictions, syncs, the flusher and other write-backs.", "~s"),
    Measure("read_ios", "read_ios", "Pages read",
            "Misses that read, and what is read ahead.", "~s"),
    Measure("hit_ratio", "hit_ratio", "Hit ratio",
            "Share of page references that found their page.", ".1%"),
    Measure("energy", "energy_j", "I/O energy (J)",
            "Reads and writes of both devices.", "~s"),
    Measure("dirty_peak", "dirty_pages_peak", "Dirty pages of files, at most",
            "What a power failure would have lost at the worst moment.", "~s"),
    Measure("dirty_mean", "dirty_pages_mean", "Dirty pages of files, on average",
            "What a power failure would have lost at a moment like any other.", "~s"),
)  # fmt: skip

REASONS = {
    "dirty_evictions": "evicted dirty",
    "sync_writes": "sync",
    "flusher_writes": "flusher",
    "write_backs": "other write-backs",
    "dropped_dirty": "never: dropped dirty",
}
"""What became of dirty pages; the last was not written at all."""
REASONS_TITLE = "What became of dirty pages"


def cell_records(rows: pl.DataFrame) -> list[Record]:
    """Return the values that figures show, one record per policy and size, the first of doubles."""
    shown = rows.select(
        "policy",
        "frames",
        (pl.col("io_time_us") / 1e6).alias("io_time_s"),
        (pl.col("energy_uj") / 1e6).alias("energy_j"),
        "write_ios",
        "read_ios",
        "hit_ratio",
        "dirty_pages_peak",
        "dirty_pages_mean",
    ).unique(["policy", "frames"], keep="first", maintain_order=True)
    return [printable(record) for record in shown.to_dicts()]


def reason_records(rows: pl.DataFrame) -> list[Record]:
    """Return what became of dirty pages at the smallest memory, a record per policy and reason."""
    smallest = rows.filter(pl.col("frames") == pl.col("frames").min())
    cells = smallest.unique("policy", keep="first", maintain_order=True)
    records = [
        {
            "policy": cell["policy"],
            "reason": reason,
            "pages": cell[column],
            "at_frames": cell["frames"],
        }
        for cell in cells.to_dicts()
        for column, reason in REASONS.items()
        if cell[column] > 0
    ]
    return [printable(record) for record in records]


def is_drawable(records: Sequence[Record], measure: Measure) -> bool:
    """Tell whether a measure has a value other than 0."""
    return any(record[measure.field] for record in records)


def measure_chart(
    records: Sequence[Record],
    measure: Measure,
    looks: Sequence[Mark],
    canvas: Canvas,
    label: str,
) -> alt.LayerChart:
    """Draw one measure: lines over memory sizes, or bars at a single size."""
    frames = sorted({record["frames"] for record in records})
    base = alt.Chart().transform_filter(f"isValid(datum.{measure.field})")
    tooltip = [
        alt.Tooltip("policy:N", title="Policy"),
        alt.Tooltip("frames:Q", title="Frames", format=","),
        alt.Tooltip(f"{measure.field}:Q", title=measure.title, format=_exact(measure)),
    ]
    if len(frames) == 1:
        layers = _bars(base, measure, looks, canvas, tooltip)
        height = BAR_HEIGHT * len(looks) + 60
        return _figure(layers, records, canvas, measure.title, label, height)
    is_wide = frames[-1] / frames[0] >= LOGARITHMIC_SPAN
    scale = alt.Scale(type="log" if is_wide else "linear", zero=False, nice=False, padding=14)
    encoded = base.encode(
        x=alt.X(
            "frames:Q",
            title="Page frames",
            scale=scale,
            axis=alt.Axis(format="~s", grid=False, tickCount=6),
        ),
        y=alt.Y(
            f"{measure.field}:Q",
            title=None if canvas.on_page else measure.title,
            scale=_value_scale(records, measure),
            axis=alt.Axis(format=measure.number_format, tickCount=5),
        ),
        opacity=_opacity(canvas),
    )
    line = encoded.mark_line(strokeWidth=1.9).encode(
        color=_color(looks, canvas),
        strokeDash=_scaled(alt.StrokeDash, looks, [list(look.dash) for look in looks]),
    )
    point = encoded.mark_point(filled=True, size=48).encode(
        color=_color(looks, canvas),
        shape=_scaled(alt.Shape, looks, [look.shape for look in looks]),
        tooltip=tooltip,
    )
    layers = [line, point.add_params(_highlight(canvas))]
    return _figure(layers, records, canvas, measure.title, label, HEIGHT)


def reasons_chart(
    records: Sequence[Record], looks: Sequence[Mark], canvas: Canvas, label: str
) -> alt.LayerChart:
    """Draw what became of dirty pages: a bar per policy, divided by reason."""
    theme = canvas.theme
    colors = [theme.ink, *theme.series[:3], theme.muted]
    present = {record["reason"] for record in records}
    reasons = [reason for reason in REASONS.values() if reason in present]
    by_reason = dict(zip(REASONS.values(), colors, strict=True))
    bar = (
        alt.Chart()
        .transform_filter("isValid(datum.pages)")
        .mark_bar(height={"band": 0.7})
        .encode(
            y=alt.Y(
                "policy:N",
                title=None,
                sort=[look.policy for look in looks],
                axis=alt.Axis(labelLimit=220, ticks=False, domain=False),
            ),
            x=alt.X("sum(pages):Q", title="Pages", axis=alt.Axis(format="~s", tickCount=5)),
            color=alt.Color(
                "reason:N",
                scale=alt.Scale(domain=reasons, range=[by_reason[reason] for reason in reasons]),
                legend=alt.Legend(title=None, orient="top", labelLimit=260),
            ),
            order=alt.Order("reason_order:Q"),
            opacity=_opacity(canvas),
            tooltip=[
                alt.Tooltip("policy:N", title="Policy"),
                alt.Tooltip("reason:N", title="Became"),
                alt.Tooltip("pages:Q", title="Pages", format=","),
            ],
        )
        .transform_calculate(reason_order=f"indexof({reasons}, datum.reason)")
    )
    layers = [bar.add_params(_highlight(canvas))]
    height = BAR_HEIGHT * len(looks) + 60
    return _figure(layers, records, canvas, REASONS_TITLE, label, height)


def _value_scale(records: Sequence[Record], measure: Measure) -> alt.Scale:
    known = [record[measure.field] for record in records if record[measure.field] is not None]
    if min(known) > 0 and max(known) / min(known) >= LOGARITHMIC_SPAN:
        return alt.Scale(type="log", nice=True)
    return alt.Scale(zero=True, nice=True)


def _bars(
    base: alt.Chart,
    measure: Measure,
    looks: Sequence[Mark],
    canvas: Canvas,
    tooltip: Sequence[alt.Tooltip],
) -> list[alt.Chart]:
    encoded = base.encode(
        y=alt.Y(
            "policy:N",
            title=None,
            sort=[look.policy for look in looks],
            axis=alt.Axis(labelLimit=220, ticks=False, domain=False),
        ),
        x=alt.X(
            f"{measure.field}:Q",
            title=None if canvas.on_page else measure.title,
            scale=alt.Scale(zero=True, nice=True),
            axis=alt.Axis(format=measure.number_format, tickCount=5),
        ),
        tooltip=list(tooltip),
        opacity=_opacity(canvas),
    )
    bar = encoded.mark_bar(height={"band": 0.7}).encode(color=_color(looks, canvas))
    text = encoded.mark_text(align="left", dx=5, color=canvas.theme.ink).encode(
        text=alt.Text(f"{measure.field}:Q", format=_exact(measure))
    )
    return [bar.add_params(_highlight(canvas)), text]


def _figure(
    layers: list[alt.Chart],
    records: Sequence[Record],
    canvas: Canvas,
    title: str,
    label: str,
    height: int,
) -> alt.LayerChart:
    described = f"{title} on {label}."
    if canvas.on_page:
        figure = alt.LayerChart(layer=layers, data=alt.NamedData(name=ROWS)).properties(
            width="container", autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
        )
    else:
        figure = alt.LayerChart(layer=layers, data=alt.InlineData(values=list(records)))
        heading = alt.TitleParams(title, subtitle=label, anchor="start")
        figure = figure.properties(width=WIDTH, title=heading)
    return themed(figure.properties(height=height, description=described), canvas.theme)


def _exact(measure: Measure) -> str:
    return {".1%": ".2%"}.get(measure.number_format, ",.4~r")


def _scaled(channel: Any, looks: Sequence[Mark], values: list[Any]) -> Any:
    scale = alt.Scale(domain=[look.policy for look in looks], range=values)
    return channel("policy:N", scale=scale, legend=None)


def _color(looks: Sequence[Mark], canvas: Canvas) -> alt.Color:
    scale = alt.Scale(domain=[look.policy for look in looks], range=[look.color for look in looks])
    legend = None if canvas.on_page else alt.Legend(title="Policy", labelLimit=260)
    return alt.Color("policy:N", scale=scale, legend=legend)


def _highlight(canvas: Canvas) -> alt.Parameter:
    """The policies in focus: the page sets them in all figures, a picture from its legend."""
    if canvas.on_page:
        return alt.param(name=HIGHLIGHT, value=[])
    return alt.selection_point(name=HIGHLIGHT, fields=["policy"], bind="legend")


def _opacity(canvas: Canvas) -> Any:
    test: Any = f"length({HIGHLIGHT}) == 0 || indexof({HIGHLIGHT}, datum.policy) >= 0"
    if not canvas.on_page:
        test = _highlight(canvas)
    return alt.when(test).then(alt.value(1)).otherwise(alt.value(FADED_OPACITY))
