"""The figures over the time of a trace: what moves when, and who lives in fast memory."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import polars as pl

from clockhand.report.canvas import Canvas, Spec, framed
from clockhand.report.compared import Compared, Record, SizeAxis, exact_tooltip, quantity
from clockhand.report.lines import lines_chart
from clockhand.report.scales import Kind, Measure, label_expression
from clockhand.report.sections import Drawing
from clockhand.report.words import unique
from clockhand.studies.tier.findings import NAMES

MOVED = Measure(
    "moved-over-time", "moved_each", "Moves per 1000 references, over the trace",
    "Promotions and demotions in each part of the trace", Kind.NUMBER,
)  # fmt: skip
FOUND = Measure(
    "fast-over-time", "found_share", "Found in fast memory, over the trace",
    "Share of the references in each part of the trace", Kind.SHARE,
)  # fmt: skip

MOST_HOMES = 4
"""Policies of which a heat map says who lives where."""

HOMES_HEIGHT = 250


def at_middle(group: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the size of fast memory that figures over time are of: the middle one of
    those with some fast memory but not enough for all."""
    partial = group.filter(
        (pl.col("fast_frames") > 0) & (pl.col("fast_frames") < pl.col("footprint_pages"))
    )
    sizes = partial["fast_frames"].unique().sort()
    if sizes.is_empty():
        return partial
    return partial.filter(pl.col("fast_frames") == sizes[len(sizes) // 2])


def course_records(cells: pl.DataFrame) -> list[Record]:
    """Return what figures over time show, of rows that have their courses."""
    records: list[Record] = []
    for row in cells.unique(NAMES, keep="first", maintain_order=True).to_dicts():
        ends = row["course_references"] or []
        pages = row["course_group_pages"] or []
        windows = list(pairwise([0, *ends]))
        counts = zip(
            windows, row["course_fast_hits"], row["course_promotions"], row["course_demotions"],
            strict=True,
        )  # fmt: skip
        for (start, end), hits, promotions, demotions in counts:
            records.append(
                {
                    "policy": row["line"],
                    "position": end,
                    "moved_each": 1000 * (promotions + demotions) / (end - start),
                    "found_share": hits / (end - start),
                }
            )
        start = 0
        for number, end in enumerate(ends):
            fast = row["course_fast_pages"][number * len(pages) : (number + 1) * len(pages)]
            if fast[0] is None:
                continue
            records += [
                {
                    "lives": row["line"],
                    "from": start,
                    "until": end,
                    "hotter": 100 * sum(pages[:group]) / sum(pages),
                    "colder": 100 * sum(pages[: group + 1]) / sum(pages),
                    "fast": here / pages[group],
                }
                for group, here in enumerate(fast)
            ]
            start = end
    return records


def course_drawings(
    records: Sequence[Record], having: str, compared: Compared, canvas: Canvas
) -> Iterator[Drawing]:
    """Draw moves and hits over time, and who lives where under the policies that lead; ``having``
    says with how much fast memory."""
    over_time = [record for record in records if "position" in record]
    if not over_time:
        return
    positions = sorted({record["position"] for record in over_time})
    names = {record["policy"] for record in over_time}
    axis = SizeAxis(
        "position", "References", positions, label_expression(Kind.COUNT), is_logarithmic=False
    )
    for measure in (MOVED, FOUND):
        shown = replace(
            compared,
            records=over_time,
            sizes=axis,
            where=f"isValid(datum.{measure.field})",
            looks=[look for look in compared.looks if look.policy in names],
            focus=[name for name in compared.focus if name in names],
            anchors=(),
            tooltip=[
                ("policy", "Policy", None),
                ("position", "References", ","),
                exact_tooltip(measure),
            ],
        )
        chart = lines_chart(shown, measure, canvas)
        yield Drawing(measure.key, measure.title, f"{measure.note}, {having}.", chart)
    homes = unique(record["lives"] for record in records if "lives" in record)
    leading = [name for name in (*compared.focus, *homes) if name in homes]
    for number, name in enumerate(unique(leading)[:MOST_HOMES], 1):
        title = f"Who lives in fast memory under {name}"
        caption = (
            f"The darker, the more of the pages are in fast memory, {having}. On top stand those "
            "that are referenced most often."
        )
        chart = homes_chart(records, name, title, canvas, compared.label)
        yield Drawing(f"homes-{number}", title, caption, chart)


def homes_chart(
    records: Sequence[Record], name: str, title: str, canvas: Canvas, label: str
) -> Spec:
    """Draw which share of each group of pages is in fast memory, over time."""
    shown = [record for record in records if record.get("lives") == name]
    axis = {"grid": False, "labelExpr": label_expression(Kind.COUNT)}
    ends = [shown[0]["from"], shown[-1]["until"]]
    time: Spec = {"domain": ends, "nice": False}
    pages = {"domain": [100, 0], "nice": False}
    # Colours of the page are variables, between which nothing can be drawn; opacity can.
    shade: Spec = {"domain": [0, 1], "range": [0.04, 1]}
    encoding: Spec = {
        "x": quantity("from", title="References", scale=time, axis=axis),
        "x2": {"field": "until"},
        "y": quantity(
            "hotter",
            title="Pages, by references (%)",
            scale=pages,
            axis={"grid": False, "tickCount": 5},
        ),
        "y2": {"field": "colder"},
        "fillOpacity": quantity("fast", scale=shade, legend=None),
        "tooltip": [
            quantity("until", title="References so far", format=","),
            quantity("hotter", title="Pages from (%)", format=".3~r"),
            quantity("colder", title="Pages to (%)", format=".3~r"),
            quantity("fast", title="In fast memory", format=".1%"),
        ],
    }
    base = {"transform": [{"filter": f"datum.lives == {json.dumps(name)}"}]}
    mark = {"type": "rect", "color": canvas.theme.series[0]}
    layer: Spec = {**base, "mark": mark, "encoding": encoding}
    return framed([layer], shown, canvas, title=title, label=label, height=HOMES_HEIGHT)
