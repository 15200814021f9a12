"""The figures of write buffers on drives, as Vega-Lite charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from clockhand.report.appearance import Mark
from clockhand.report.canvas import FADED_OPACITY, HIGHLIGHT, LOGARITHMIC_SPAN, ROWS, Canvas, themed
from clockhand.studies.ssd.findings import FAMILY
from clockhand.study.facts import printable

WIDTH = 560
HEIGHT = 320
BAR_HEIGHT = 28
MIB = 1 << 20

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
    Measure("hit_ratio", "hit_ratio", "Hit ratio",
            "Share of page references, reads and writes, that were served by the buffer.", ".1%"),
    Measure("write_hit_ratio", "write_hit_ratio", "Write hit ratio",
            "The same of writes alone.", ".1%"),
    Measure("host_writes", "host_writes", "Pages written to flash",
            "What the buffer sent on, dirty pages and clean padding; lower is better.", "~s"),
    Measure("clean_pages_flushed", "clean_pages_flushed", "Clean pages among them",
            "Pages written only as padding.", "~s"),
    Measure("batches", "batches", "Batches",
            "How often pages were sent; fewer batches of the same pages are longer runs.", "~s"),
    Measure("nvm_writes", "nvm_writes", "Pages written to NVM",
            "Migrations from DRAM and writes in place.", "~s"),
    Measure("erases", "erases", "Erases",
            "Blocks erased; lower is longer life.", "~s"),
    Measure("waf", "waf", "Write amplification",
            "Flash pages programmed per page that the buffer wrote.", ".3~f"),
    Measure("life_repetitions", "life_repetitions", "Life of the flash",
            "Repetitions of the trace until the average block reaches its endurance.", "~s"),
    Measure("life_years", "life_years", "Life of the flash in years",
            "At the trace's rate, until the average block reaches its endurance.", ".3~f"),
    Measure("nvm_life_repetitions", "nvm_life_repetitions", "Life of the NVM",
            "Repetitions of the trace until its cells reach their endurance, worn alike.", "~s"),
)  # fmt: skip


def cell_records(rows: pl.DataFrame) -> list[Record]:
    """Return the values that figures show, one record per buffer and size, the first of doubles."""
    fields = list(dict.fromkeys(measure.field for measure in MEASURES))
    shown = rows.select(
        FAMILY,
        "buffer",
        "buffer_pages",
        (pl.col("buffer_pages") * pl.col("page_bytes") / MIB).alias("buffer_mib"),
        *fields,
    ).unique(["policy", "buffer_pages"], keep="first", maintain_order=True)
    return [printable(record) for record in shown.to_dicts()]


def wear_records(wear: pl.DataFrame) -> list[Record]:
    """Return erase counts at the smallest size; none where no block was erased."""
    if wear.is_empty() or wear["erases"].max() == 0:
        return []
    smallest = wear.filter(pl.col("buffer_pages") == wear["buffer_pages"].min())
    shown = smallest.with_columns(FAMILY).unique(
        ["policy", "erases"], keep="first", maintain_order=True
    )
    columns = ("policy", "buffer", "buffer_pages", "ssd", "blocks")
    records = shown.select(*columns, pl.col("erases").alias("block_erases")).to_dicts()
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
    """Draw one measure: lines over buffer sizes, or bars at a single size."""
    sizes = sorted({record["buffer_mib"] for record in records})
    known = f"isValid(datum.{measure.field})"
    base = alt.Chart().transform_filter(known)
    tooltip = [
        alt.Tooltip("buffer:N", title="Buffer"),
        alt.Tooltip("buffer_pages:Q", title="Pages", format=","),
        alt.Tooltip(f"{measure.field}:Q", title=measure.title, format=_exact(measure)),
    ]
    title = None if canvas.on_page else measure.title
    if len(sizes) == 1:
        layers = _bars(base, measure, looks, canvas, tooltip)
        return _figure(layers, records, canvas, measure.title, label, BAR_HEIGHT * len(looks) + 60)
    scale = alt.Scale(type="log", base=2, domain=[sizes[0], sizes[-1]], nice=False, padding=14)
    encoded = base.encode(
        x=alt.X(
            "buffer_mib:Q",
            title="Buffer (MiB)",
            scale=scale,
            axis=alt.Axis(values=sizes, format="~r", grid=False),
        ),
        y=alt.Y(
            f"{measure.field}:Q",
            title=title,
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
    return _figure([line, point.add_params(_highlight(canvas))], records, canvas, measure.title,
                   label, HEIGHT)  # fmt: skip


def _value_scale(records: Sequence[Record], measure: Measure) -> alt.Scale:
    known = [record[measure.field] for record in records if record[measure.field] is not None]
    if min(known) > 0 and max(known) / min(known) >= LOGARITHMIC_SPAN:
        return alt.Scale(type="log", nice=True)
    return alt.Scale(zero=measure.field != "waf", nice=True)


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


def wear_chart(
    records: Sequence[Record], title: str, looks: Sequence[Mark], canvas: Canvas, label: str
) -> alt.LayerChart:
    """Draw how many blocks were erased how often, a line per buffer."""
    base = alt.Chart().transform_filter("isValid(datum.block_erases)")
    encoded = base.encode(
        x=alt.X("block_erases:Q", title="Erases of a block", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("blocks:Q", title="Blocks", axis=alt.Axis(format="~s", tickCount=5)),
        opacity=_opacity(canvas),
    )
    line = encoded.mark_line(strokeWidth=1.6).encode(
        color=_color(looks, canvas),
        strokeDash=_scaled(alt.StrokeDash, looks, [list(look.dash) for look in looks]),
    )
    point = encoded.mark_point(filled=True, size=26).encode(
        color=_color(looks, canvas),
        shape=_scaled(alt.Shape, looks, [look.shape for look in looks]),
        tooltip=[
            alt.Tooltip("buffer:N", title="Buffer"),
            alt.Tooltip("block_erases:Q", title="Erases"),
            alt.Tooltip("blocks:Q", title="Blocks", format=","),
        ],
    )
    layers = [line, point.add_params(_highlight(canvas))]
    return _figure(layers, records, canvas, title, label, HEIGHT)


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
    return {".1%": ".2%", "~s": ",.4~r"}.get(measure.number_format, ",.4~f")


def _scaled(channel: Any, looks: Sequence[Mark], values: list[Any]) -> Any:
    scale = alt.Scale(domain=[look.policy for look in looks], range=values)
    return channel("policy:N", scale=scale, legend=None)


def _color(looks: Sequence[Mark], canvas: Canvas) -> alt.Color:
    scale = alt.Scale(domain=[look.policy for look in looks], range=[look.color for look in looks])
    legend = None if canvas.on_page else alt.Legend(title="Buffer", labelLimit=260)
    return alt.Color("policy:N", scale=scale, legend=legend)


def _highlight(canvas: Canvas) -> alt.Parameter:
    """The buffers in focus: the page sets them in all figures, a picture from its legend."""
    if canvas.on_page:
        return alt.param(name=HIGHLIGHT, value=[])
    return alt.selection_point(name=HIGHLIGHT, fields=["policy"], bind="legend")


def _opacity(canvas: Canvas) -> Any:
    test: Any = f"length({HIGHLIGHT}) == 0 || indexof({HIGHLIGHT}, datum.policy) >= 0"
    if not canvas.on_page:
        test = _highlight(canvas)
    return alt.when(test).then(alt.value(1)).otherwise(alt.value(FADED_OPACITY))
