"""The figures of file caches, as Vega-Lite charts."""

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from clockhand.report.appearance import Mark
from clockhand.report.canvas import FADED_OPACITY, HIGHLIGHT, ROWS, Canvas, themed
from clockhand.studies.filecache.findings import UNITS_US, required_text
from clockhand.study.facts import printable

WIDTH = 560
HEIGHT = 320
BAR_HEIGHT = 34

NO_CACHE = "no cache"
"""The line of the time without a cache."""

NEVER = "never"
FEW_HITS = 10
"""Up to here every whole number has a tick."""

Record = dict[str, Any]


def series(row: dict[str, Any], several_policies: bool) -> str:
    """Return the line that a row belongs to: its admission, and its policy if there are several."""
    admission = str(row["admission"])
    return f"{printable(row['policy'])}, {admission}" if several_policies else admission


def cell_records(rows: pl.DataFrame) -> list[Record]:
    """Return the values that figures show: a record per cell, and the time without a cache."""
    several = rows["policy"].n_unique() > 1
    records: list[Record] = []
    for row in rows.sort("capacity", maintain_order=True).to_dicts():
        shared = {
            "device": printable(row["device"]),
            "capacity": row["capacity"],
            "share": row["capacity_share"],
        }
        line = series(row, several)
        records.append(
            {**shared, "policy": line, "time_us": row["time_us"], "hit_ratio": row["hit_ratio"],
             "admitted": row["admitted"]}
        )  # fmt: skip
        without = {**shared, "policy": NO_CACHE, "time_us": row["time_without_cache_us"]}
        if without not in records[-8:]:
            records.append(without)
    return records


def break_even_records(rows: pl.DataFrame) -> list[Record]:
    """Return how many hits caching a block takes to pay, a record per device."""
    once = rows.unique("device", keep="first", maintain_order=True)
    return [
        {
            "required_on": printable(row["device"]),
            "required_hits": row["required_hits"] or 0,
            "required_label": NEVER if row["required_hits"] is None else str(row["required_hits"]),
            "required_text": required_text(row["required_hits"]),
        }
        for row in once.to_dicts()
    ]


def break_even_chart(
    records: Sequence[Record], title: str, canvas: Canvas, label: str
) -> alt.LayerChart:
    """Draw required hits as bars, one per device."""
    drawn = [record for record in records if "required_on" in record]
    most = max(record["required_hits"] for record in drawn)
    axis = alt.Axis(format=",d")
    if most <= FEW_HITS:
        axis = alt.Axis(format="d", values=list(range(most + 1)))
    base = (
        alt.Chart()
        .transform_filter("isValid(datum.required_on)")
        .encode(
            y=alt.Y(
                "required_on:N",
                title=None,
                sort=None,
                axis=alt.Axis(labelLimit=220, ticks=False, domain=False),
            ),
            x=alt.X(
                "required_hits:Q",
                title="Hits",
                scale=alt.Scale(zero=True, nice=True),
                axis=axis,
            ),
            tooltip=[
                alt.Tooltip("required_on:N", title="Device"),
                alt.Tooltip("required_text:N", title="Hits"),
            ],
        )
    )
    bar = base.mark_bar(height={"band": 0.6}, color=canvas.theme.series[0])
    text = base.mark_text(align="left", dx=5, color=canvas.theme.ink).encode(
        text="required_label:N"
    )
    height = BAR_HEIGHT * len(drawn) + 50
    return _figure([bar, text], records, canvas, title, label, height)


def hit_chart(
    records: Sequence[Record], title: str, looks: Sequence[Mark], canvas: Canvas, label: str
) -> alt.LayerChart:
    """Draw the hit ratio over capacities, a line per admission; devices share it."""
    device = next(record["device"] for record in records if "device" in record)
    wanted = f"datum.device == {json.dumps(device)} && isValid(datum.hit_ratio)"
    base = _lines(records, wanted, canvas)
    encoded = base.encode(
        y=alt.Y(
            "hit_ratio:Q",
            title=None if canvas.on_page else title,
            scale=alt.Scale(zero=True, nice=True),
            axis=alt.Axis(format=".0%", tickCount=5),
        )
    )
    tooltip = alt.Tooltip("hit_ratio:Q", title="Hit ratio", format=".2%")
    layers = _marked(encoded, [look for look in looks if look.policy != NO_CACHE], canvas, tooltip)
    return _figure(layers, records, canvas, title, label, HEIGHT)


def time_chart(
    records: Sequence[Record],
    device: str,
    title: str,
    looks: Sequence[Mark],
    canvas: Canvas,
    label: str,
) -> alt.LayerChart:
    """Draw the time of all references over capacities on a device, a line per admission."""
    times = [record["time_us"] for record in records if record.get("device") == device]
    unit_us, unit = next(
        ((unit_us, name) for unit_us, name in UNITS_US if max(times) >= unit_us), UNITS_US[-1]
    )
    base = _lines(records, f"datum.device == {json.dumps(device)}", canvas)
    encoded = base.transform_calculate(shown_time=f"datum.time_us / {unit_us}").encode(
        y=alt.Y(
            "shown_time:Q",
            title=f"Time ({unit})",
            scale=alt.Scale(zero=True, nice=True),
            axis=alt.Axis(format="~r", tickCount=5),
        )
    )
    tooltip = alt.Tooltip("shown_time:Q", title=f"Time ({unit})", format=",.4~r")
    return _figure(_marked(encoded, looks, canvas, tooltip), records, canvas, title, label, HEIGHT)


def _lines(records: Sequence[Record], wanted: str, canvas: Canvas) -> alt.Chart:
    shares = [record["share"] for record in records if "share" in record]
    scale = alt.Scale(domain=[0, max(*shares, 1.0)], nice=False)
    return (
        alt.Chart()
        .transform_filter(wanted)
        .encode(
            x=alt.X(
                "share:Q",
                title="Capacity of the footprint",
                scale=scale,
                axis=alt.Axis(format=".0%", grid=False),
            ),
            opacity=_opacity(canvas),
        )
    )


def _marked(
    encoded: alt.Chart, looks: Sequence[Mark], canvas: Canvas, tooltip: alt.Tooltip
) -> list[alt.Chart]:
    color = alt.Color(
        "policy:N",
        scale=alt.Scale(
            domain=[look.policy for look in looks], range=[look.color for look in looks]
        ),
        legend=None if canvas.on_page else alt.Legend(title="Admission", labelLimit=260),
    )
    line = encoded.mark_line(strokeWidth=1.9).encode(
        color=color,
        strokeDash=_scaled(alt.StrokeDash, looks, [list(look.dash) for look in looks]),
    )
    point = encoded.mark_point(filled=True, size=42).encode(
        color=color,
        shape=_scaled(alt.Shape, looks, [look.shape for look in looks]),
        tooltip=[
            alt.Tooltip("policy:N", title="Admission"),
            alt.Tooltip("capacity:Q", title="Blocks", format=","),
            tooltip,
        ],
    )
    return [line, point.add_params(_highlight(canvas))]


def _figure(
    layers: list[alt.Chart],
    records: Sequence[Record],
    canvas: Canvas,
    title: str,
    label: str,
    height: int,
) -> alt.LayerChart:
    described = f"{title}, {label}."
    if canvas.on_page:
        figure = alt.LayerChart(layer=layers, data=alt.NamedData(name=ROWS)).properties(
            width="container", autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
        )
    else:
        figure = alt.LayerChart(layer=layers, data=alt.InlineData(values=list(records)))
        heading = alt.TitleParams(title, subtitle=label, anchor="start")
        figure = figure.properties(width=WIDTH, title=heading)
    return themed(figure.properties(height=height, description=described), canvas.theme)


def _scaled(channel: Any, looks: Sequence[Mark], values: list[Any]) -> Any:
    scale = alt.Scale(domain=[look.policy for look in looks], range=values)
    return channel("policy:N", scale=scale, legend=None)


def _highlight(canvas: Canvas) -> alt.Parameter:
    """The lines in focus: the page sets them in all figures, a picture from its legend."""
    if canvas.on_page:
        return alt.param(name=HIGHLIGHT, value=[])
    return alt.selection_point(name=HIGHLIGHT, fields=["policy"], bind="legend")


def _opacity(canvas: Canvas) -> Any:
    test: Any = f"length({HIGHLIGHT}) == 0 || indexof({HIGHLIGHT}, datum.policy) >= 0"
    if not canvas.on_page:
        test = _highlight(canvas)
    return alt.when(test).then(alt.value(1)).otherwise(alt.value(FADED_OPACITY))
