"""The figures of address translation, as in the SCM paper, as Vega-Lite charts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from clockhand.report.appearance import Mark, Theme, lines_of
from clockhand.report.canvas import Canvas, Spec, as_layers, framed, unchecked
from clockhand.report.over_time import Over, OverTime, per_reference
from clockhand.report.overview import Overview, overview
from clockhand.report.places import Place
from clockhand.report.scales import OUTLIER, Kind, label_expression
from clockhand.report.words import byte_text, unique
from clockhand.studies.translate.findings import PLACE, storage_text, tlb_text
from clockhand.study.facts import printable
from clockhand.study.records import Fields

OVER_TIME = OverTime(
    ("policy", "tlb", "tlb2", "frames", "page_bytes", "storage_ratio", "device"),
    Over("amat", "amat_ns", "Time per reference (ns)",
         "Mean of the interval: translation, memory and paging."),
    per_reference("tlb", "tlb_misses", "TLB misses per reference",
                  "Of the interval; lower is better."),
    per_reference("faults", "page_faults", "Page faults per reference",
                  "Of the interval; lower is better."),
)  # fmt: skip
"""What the rows of intervals show."""


HEIGHT = 300

ADDRESS = "address translation"
DATA = "data access"


@dataclass(frozen=True)
class Graph:
    """One figure: lines over ``x``, or bars stacked of its series.

    ``records`` have ``series``, ``x`` (a number, or a text in the order of ``order``) and ``y``.
    """

    key: str
    title: str
    caption: str
    x_title: str
    y_title: str
    y_format: str
    series: list[str]
    order: list[str] | None
    is_stacked: bool
    records: list[Fields]


def panels(rows: pl.DataFrame) -> list[Graph]:
    """Return the figures of the rows of one trace and policy, those that have something to show."""
    cells = rows.drop_nulls("amat_ns")
    if cells.is_empty():
        return []
    first = cells.row(0, named=True)
    one_storage = _like(cells, first, ("storage_ratio", "device"))
    result = []
    by_entries = _hit_rate_by_entries(_like(one_storage, first, ("memory", "tlb2")), first)
    # TLBs that differ in their ways too make no line.
    if len(by_entries.records) > len(by_entries.series):
        result.append(by_entries)
    if cells["page_bytes"].n_unique() > 1:
        result.append(_hit_rate_by_page(_like(one_storage, first, ("memory",)), first))
        result.append(_fault_rate_by_page(_like(one_storage, first, ("tlb", "tlb2"))))
    place = _like(cells, first, ("memory", "tlb", "tlb2"))
    storages = place.partition_by("storage_ratio", "device", maintain_order=True)
    times = [_times_by_page(group, number) for number, group in enumerate(storages, 1)]
    # The title is about the best page where there are several.
    return times + result if cells["page_bytes"].n_unique() > 1 else result + times


BEST_KEYS = ("storage_ratio", "device")


def overviews(by_label: Mapping[str, pl.DataFrame]) -> list[Overview]:
    """Return the ranking of page sizes with its heat map; nothing if there are not two of them.

    Where memory sizes or TLBs differ, a number is the geometric mean over them.

    Args:
        by_label: The rows of each trace and policy.
    """
    values: dict[tuple[str, Place], float] = {}
    storages: list[tuple[float | None, str | None]] = []
    for label, rows in by_label.items():
        timed = rows.drop_nulls("amat_ns")
        over_best = pl.col("amat_ns") / pl.col("amat_ns").min().over(*BEST_KEYS, *PLACE)
        keys = (*BEST_KEYS, "page_bytes")
        means = (
            timed.select(*keys, over_best)
            .group_by(keys, maintain_order=True)
            .agg(pl.col("amat_ns").log().mean().exp())
        )
        for ratio, device, page_bytes, mean in means.iter_rows():
            if (ratio, device) not in storages:
                storages.append((ratio, device))
            place = Place(label, storages.index((ratio, device)))
            values[byte_text(page_bytes), place] = mean
    if not values:
        return []
    summed = overview(
        values,
        key="amat",
        title="Which page size, on which storage, by how much",
        unit="Time of a reference over that with the best page size",
        word="Page size",
        size_word="storage",
        size_text=lambda place: _storage_name(*storages[int(place)]),
        notes={},
        place_word="input",
        sizes_word="storages",
        is_diverging=False,
    )
    return [] if summed is None else [summed]


def _storage_name(ratio: float | None, device: str | None) -> str:
    if ratio is None:
        return printable(device or "")
    return "as memory" if ratio == 1 else f"{ratio:,g} times\nslower"


def _like(rows: pl.DataFrame, first: Fields, columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows that have what the first one has in these columns."""
    for column in columns:
        rows = rows.filter(pl.col(column).eq_missing(pl.lit(first[column], rows[column].dtype)))
    return rows


def _at(first: Fields, *, tlb: bool) -> str:
    """Return the caption of a figure that shows one memory size, and one TLB or all."""
    text = f"Memory {_memory(first['memory'])}"
    return f"{text}, {tlb_text(first['tlb'], first['tlb2'])}." if tlb else f"{text}."


def _line(series: str, x: object, y: float) -> Fields:
    return {"series": printable(series), "x": x, "y": y}


def _hit_rate_by_entries(rows: pl.DataFrame, first: Fields) -> Graph:
    records = [
        _line(_kind(row) + byte_text(row["page_bytes"]), row["tlb_entries"], row["tlb_hit_ratio"])
        for row in rows.unique(["page_bytes", "tlb"], keep="first", maintain_order=True).to_dicts()
    ]
    return Graph(
        "tlb-hit-rate-entries", "TLB hit rate and entries",
        f"{_at(first, tlb=False)} A line for each page size.",
        "Entries of the TLB", "TLB hit rate", ".0%", unique(record["series"] for record in records),
        None, False, records,
    )  # fmt: skip


def _kind(row: Fields) -> str:
    """Return ways and replacement of a TLB that is not the usual one."""
    rest = str(row["tlb"]).removeprefix(str(row["tlb_entries"]))
    ways, _, replacement = rest.removeprefix("/").partition(":")
    words = [f"{ways} ways" if rest.startswith("/") else "", replacement]
    text = " ".join(word for word in words if word)
    return f"{text}, " if text else ""


def _sizes(rows: pl.DataFrame) -> list[str]:
    return [byte_text(size) for size in sorted(rows["page_bytes"].unique())]


def _hit_rate_by_page(rows: pl.DataFrame, first: Fields) -> Graph:
    cells = rows.unique(["page_bytes", "tlb", "tlb2"], keep="first", maintain_order=True)
    records = [
        _line(tlb_text(row["tlb"], row["tlb2"]), byte_text(row["page_bytes"]), row["tlb_hit_ratio"])
        for row in cells.to_dicts()
    ]
    return Graph(
        "tlb-hit-rate-page-size", "TLB hit rate and page size",
        f"{_at(first, tlb=False)} A line for each TLB.",
        "Page size", "TLB hit rate", ".0%", unique(record["series"] for record in records),
        _sizes(rows), False, records,
    )  # fmt: skip


def _fault_rate_by_page(rows: pl.DataFrame) -> Graph:
    cells = rows.unique(["page_bytes", "memory"], keep="first", maintain_order=True)
    records = [
        _line(
            f"memory {_memory(row['memory'])}",
            byte_text(row["page_bytes"]),
            row["page_fault_ratio"],
        )
        for row in cells.to_dicts()
    ]
    caption = "A line for each memory size."
    if cells["memory"].n_unique() == 1:
        caption = _at(cells.row(0, named=True), tlb=False)
    return Graph(
        "page-fault-rate-page-size", "Page fault rate and page size", caption,
        "Page size", "Page faults per reference", ".2~%",
        unique(record["series"] for record in records), _sizes(rows), False, records,
    )  # fmt: skip


def _times_by_page(rows: pl.DataFrame, number: int) -> Graph:
    first = rows.row(0, named=True)
    records = []
    for row in rows.unique("page_bytes", keep="first", maintain_order=True).to_dicts():
        size = byte_text(row["page_bytes"])
        records.append(_line(DATA, size, row["t_data_ns"]))
        records.append(_line(ADDRESS, size, row["t_addr_ns"]))
    where = storage_text(first["storage_ratio"], first["device"])
    return Graph(
        f"access-time-{number}", f"Access time, {where}",
        f"{_at(first, tlb=True)} Lower is better.",
        "Page size", "Mean time of a reference (ns)", ",~r", [DATA, ADDRESS], _sizes(rows), True,
        records,
    )  # fmt: skip


def looks(panel: Graph, theme: Theme) -> list[Mark]:
    """Return the look of each series of a figure."""
    return lines_of(panel.series, theme)


@unchecked()
def panel_chart(panel: Graph, identity: str, canvas: Canvas, label: str) -> Spec:
    """Draw a figure, as a picture or from the page's records of this identity."""
    marked = looks(panel, canvas.theme)
    base = alt.Chart()
    if canvas.on_page:
        base = base.transform_filter(f"datum.figure == '{identity}'")
    base = base.encode(x=_x(panel), y=_y(panel), tooltip=_tooltip(panel))
    color = _color(panel, marked, canvas)
    if panel.is_stacked:
        bars = base.mark_bar(size=34, clip=True).encode(color=color, order=alt.Order("rank:Q"))
        layers = [bars]
    else:
        line = base.mark_line(strokeWidth=1.9).encode(
            color=color, strokeDash=_scaled(alt.StrokeDash, marked, [m.dash for m in marked])
        )
        shape = _scaled(alt.Shape, marked, [mark.shape for mark in marked])
        point = base.mark_point(filled=True, size=44).encode(color=color, shape=shape)
        layers = [line, point]
    return framed(
        [*as_layers(alt.LayerChart(layer=layers)), *_marked(panel, canvas)],
        panel_records(panel, identity),
        canvas,
        title=panel.title,
        label=f"{label}. {panel.caption}",
        height=HEIGHT,
        description=f"{panel.title} on {label}.",
    )


def _totals(panel: Graph) -> dict[object, float]:
    """Return the height of each bar."""
    totals: dict[object, float] = {}
    for record in panel.records:
        totals[record["x"]] = totals.get(record["x"], 0.0) + record["y"]
    return totals


def _edge(panel: Graph) -> float:
    """Return where bars are cut, so that the least of them can be distinguished."""
    heights = sorted(_totals(panel).values())
    # Of eight bars two are cut at most: more are no outliers.
    usual = heights[(3 * (len(heights) - 1)) // 4]
    return min(heights[-1], max(OUTLIER * heights[0], usual)) * 1.12


def _marked(panel: Graph, canvas: Canvas) -> list[Spec]:
    """Return the word *best* above the least bar, and the values of those that are cut."""
    if not panel.is_stacked:
        return []
    totals, edge = _totals(panel), _edge(panel)
    least = min(totals.values())
    y: Any = _y(panel).to_dict()
    place = {"x": _x(panel).to_dict(), "y": {**y, "field": "top", "stack": None}}
    text = {"field": "word", "type": "nominal"}
    layers: list[Spec] = []
    for color, words in (
        (canvas.theme.ink, {x: "best" for x, height in totals.items() if height == least}),
        (
            canvas.theme.ink,
            {x: f"▲ {height:,.0f}" for x, height in totals.items() if height > edge},
        ),
    ):
        records = [{"x": x, "top": min(totals[x], edge), "word": word} for x, word in words.items()]
        mark = {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": 10, "color": color}
        encoding = {**place, "text": text}
        layers.append({"data": {"values": records}, "mark": mark, "encoding": encoding})
    return layers


def _memory(text: str) -> str:
    """Return a memory size as figures write it: percent signs stand apart."""
    return printable(text).replace("%", "\u00a0%")


def panel_records(panel: Graph, identity: str) -> list[Fields]:
    """Return the records of a figure, with its identity and the rank of each series."""
    return [
        {**record, "figure": identity, "rank": panel.series.index(record["series"])}
        for record in panel.records
    ]


def _x(panel: Graph) -> alt.X:
    if panel.order is not None:
        axis = alt.Axis(labelAngle=0, grid=False, labelOverlap="greedy")
        return alt.X("x:N", title=panel.x_title, sort=panel.order, axis=axis)
    values = sorted({record["x"] for record in panel.records})
    if values[0] == 0:
        scale = alt.Scale(type="symlog", constant=4, nice=False, padding=12)
    else:
        scale = alt.Scale(type="log", base=2, nice=False, padding=12)
    axis = alt.Axis(values=values, format=",", grid=False, labelOverlap="greedy")
    return alt.X("x:Q", title=panel.x_title, scale=scale, axis=axis)


def _y(panel: Graph) -> alt.Y:
    axis = alt.Axis(format=panel.y_format, tickCount=5)
    if panel.is_stacked:
        axis = alt.Axis(labelExpr=label_expression(Kind.NUMBER), tickCount=5)
    stack: Any = "zero" if panel.is_stacked else None
    zero = panel.is_stacked or "hit rate" not in panel.y_title
    scale = alt.Scale(zero=zero, nice=True)
    if panel.is_stacked:
        scale = alt.Scale(domain=[0, _edge(panel)], nice=False)
    return alt.Y("y:Q", title=panel.y_title, axis=axis, scale=scale, stack=stack)


def _tooltip(panel: Graph) -> list[alt.Tooltip]:
    exact = ",.1f" if panel.is_stacked else ".3%"
    kind = "N" if panel.order is not None else "Q"
    return [
        alt.Tooltip("series:N", title="Of"),
        alt.Tooltip(f"x:{kind}", title=panel.x_title),
        alt.Tooltip("y:Q", title=panel.y_title, format=exact),
    ]


def _color(panel: Graph, marked: Sequence[Mark], canvas: Canvas) -> alt.Color:
    colors = [mark.color for mark in marked]
    scale = alt.Scale(domain=panel.series, range=colors)
    legend = None if canvas.on_page else alt.Legend(title=None, labelLimit=260)
    return alt.Color("series:N", scale=scale, legend=legend)


def _scaled(channel: Any, marked: Sequence[Mark], values: Sequence[str | tuple[int, ...]]) -> Any:
    domain = [mark.policy for mark in marked]
    ranged = [list(value) if isinstance(value, tuple) else value for value in values]
    return channel("series:N", scale=alt.Scale(domain=domain, range=ranged), legend=None)
