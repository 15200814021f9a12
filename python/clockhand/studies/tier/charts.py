"""The figures of two tiers, as Vega-Lite charts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from clockhand.report.appearance import Mark
from clockhand.report.canvas import Canvas, Spec
from clockhand.report.compared import Compared, Record, SizeAxis, axis_of, exact_tooltip, quantity
from clockhand.report.lines import lines_chart
from clockhand.report.over_time import Over, OverTime, per_reference
from clockhand.report.overview import Leading, Overview, overview
from clockhand.report.places import Place
from clockhand.report.scales import Kind, Measure
from clockhand.report.sections import Drawing, over_sizes
from clockhand.report.singles import is_single
from clockhand.studies.tier.findings import (
    BOUND,
    NOTHING,
    SLOWDOWNS,
    fast_alone_ns,
    offline_lines,
)

OVER_TIME = OverTime(
    ("policy", "promote", "fast_frames", "tiers", "page_bytes"),
    Over("mean", "mean_ns", "Time per reference (ns)",
         "Mean of the interval: accesses, migrations and storage."),
    Over("fast-share", "fast_share", "References served by the fast tier",
         "Share of the interval's references."),
    per_reference("promotions", "promotions", "Promotions per reference", "Of the interval."),
)  # fmt: skip
"""What the rows of intervals show."""


MEAN = Measure(
    "slowdown", "slowdown", "Time of a reference, over fast memory alone",
    "Accesses, migrations, overhead and storage; 1.05 is a slowdown of 5 %.", Kind.RATIO,
)  # fmt: skip
MOVED = Measure(
    "access-and-migration-time", "moved_ratio", "Accesses and migrations, over fast memory alone",
    "No schedule takes less than the bound, even if it knows the future; static is the best "
    "placement that never changes.", Kind.RATIO,
)  # fmt: skip
ACCESS = Measure(
    "access-time", "access_ratio", "Access time, over fast memory alone",
    "Accesses alone, whatever the migrations before them took.", Kind.RATIO,
)  # fmt: skip
FAST_SHARE = Measure(
    "fast-share", "fast_share", "References that found their page in fast memory",
    "Share of all references.", Kind.SHARE,
)  # fmt: skip
PROMOTIONS = Measure(
    "promotions", "promotions_each", "Promotions per 1000 references",
    "Pages that moved from slow to fast memory.", Kind.NUMBER,
)  # fmt: skip
MEASURES = (MEAN, MOVED, ACCESS, FAST_SHARE, PROMOTIONS)

PRICED_ACCESS = Measure(
    "access-over-price", "priced_access_ns", "Access time against the price of slow memory (ns)",
    "Accesses alone", Kind.NUMBER,
)  # fmt: skip
PRICED_MEAN = Measure(
    "mean-over-price", "priced_mean_ns", "Time of a reference against that price (ns)",
    "Migrations, overhead and storage included, which do not change", Kind.NUMBER,
)  # fmt: skip

TOOLTIP = (("policy", "Policy", None), ("fast_frames", "Fast pages", ","))


def cell_records(rows: pl.DataFrame) -> list[Record]:
    """Return the values that figures show, a record per cell of one group with its lines."""
    alone_ns = fast_alone_ns(rows) or math.nan
    offline = offline_lines(rows)
    records: dict[tuple[str, int], Record] = {}
    for row in rows.drop_nulls("mean_ns").sort("fast_frames", maintain_order=True).to_dicts():
        promotions, references = row["promotions"], row["references"]
        times = (row["access_ns"], row["migration_ns"])
        moved_ns = row["mean_ns"] if row["policy"] == BOUND else sum(times) / references
        access_ns = row["mean_access_ns"]
        records.setdefault(
            (row["line"], row["fast_frames"]),
            {
                "policy": row["line"],
                "fast_frames": row["fast_frames"],
                "share": row["fast_memory_share"],
                "mean_ns": row["mean_ns"],
                "slowdown": row["mean_ns"] / alone_ns,
                "moved_ratio": moved_ns / alone_ns,
                "access_ratio": None if access_ns is None else access_ns / alone_ns,
                "fast_share": row["fast_share"],
                "promotions_each": (None if promotions is None else 1000 * promotions / references),
                "can_run": row["line"] not in offline,
            },
        )
    return list(records.values())


def compared_of(
    records: Sequence[Record], looks: Sequence[Mark], focus: Sequence[str], label: str
) -> Compared:
    """Return what the figures over sizes of fast memory share."""
    return Compared(
        label=label,
        word="Policy",
        records=records,
        sizes=SizeAxis(
            "share",
            "Fast memory of the footprint",
            sorted({record["share"] for record in records}),
            "format(100 * datum.value, '.2~r') + ' %'",
        ),
        looks=looks,
        focus=focus,
    )


def cells_of(records: Sequence[Record]) -> list[Record]:
    """Return those of a section's records that are of cells."""
    return [record for record in records if "fast_frames" in record]


def drawings(compared: Compared, canvas: Canvas) -> Iterator[Drawing]:
    """Draw each measure over sizes of fast memory, a line per policy that has it."""
    for measure in MEASURES:
        shown = _having(compared, measure, TOOLTIP)
        drawing = over_sizes(shown, measure, canvas)
        if measure is MEAN and drawing.measured and not is_single(shown):
            drawing.chart["layer"] += _limit_layers(shown, canvas)
        yield drawing


def _limit_layers(compared: Compared, canvas: Canvas) -> list[Spec]:
    """Return a line at the greatest slowdown that the headline is about, if it is in the figure."""
    axis, limit = axis_of(compared, MEAN), 1 + SLOWDOWNS[-1]
    if not axis.low <= limit <= axis.high:
        return []
    said = f"{100 * SLOWDOWNS[-1]:.0f}\u00a0% slower than fast memory alone"
    data = {"values": [{MEAN.field: limit, "said": said}]}
    at = quantity(MEAN.field, title=MEAN.title, scale=axis.scale(), axis=axis.axis(MEAN.kind))
    line = {"type": "rule", "strokeDash": [4, 3], "color": canvas.theme.ink, "opacity": 0.6}
    words = {"type": "text", "align": "right", "baseline": "bottom", "dx": -4, "dy": -3,
             "color": canvas.theme.ink}  # fmt: skip
    text: Spec = {"field": "said", "type": "nominal"}
    end = {"value": "width"}
    return [
        {"data": data, "mark": line, "encoding": {"y": at}},
        {"data": data, "mark": words, "encoding": {"x": end, "y": at, "text": text}},
    ]


def price_drawings(
    records: Sequence[Record], having: str, paying: str, compared: Compared, canvas: Canvas
) -> Iterator[Drawing]:
    """Draw times over the price of slow memory, a line per policy.

    Args:
        records: The times.
        having: How much fast memory there is.
        paying: From which price on migration pays, as the end of a caption.
        compared: What the figures compare.
        canvas: Where they are drawn.
    """
    ratios = sorted({record["ratio"] for record in records})
    if not ratios:
        return
    axis = SizeAxis(
        "ratio",
        "A slow access, in fast ones",
        ratios,
        "format(datum.value, '~r')",
        is_logarithmic=False,
    )
    for measure, end in ((PRICED_ACCESS, ""), (PRICED_MEAN, paying)):
        tooltip = (("policy", "Policy", None), ("ratio", "A slow access, in fast ones", "~r"))
        shown = _having(replace(compared, records=records, sizes=axis), measure, tooltip)
        chart = lines_chart(shown, measure, canvas)
        yield Drawing(measure.key, measure.title, f"{measure.note}, {having}{end}.", chart)


def _having(
    compared: Compared, measure: Measure, tooltip: Sequence[tuple[str, str, str | None]]
) -> Compared:
    """Return what is compared by the records that have a measure."""
    having = [record for record in compared.records if record.get(measure.field) is not None]
    names = {record["policy"] for record in having}
    return replace(
        compared,
        records=having,
        where=f"isValid(datum.{measure.field})",
        looks=[look for look in compared.looks if look.policy in names],
        focus=[name for name in compared.focus if name in names],
        anchors=tuple(name for name in compared.anchors if name in names),
        tooltip=[*tooltip, exact_tooltip(measure)],
    )


def _replaced(records: Sequence[Record]) -> Leading:
    """Columns of the headline: the share of the footprint that slow memory can replace."""
    columns = []
    for slowdown in SLOWDOWNS:
        least: dict[str, float] = {}
        for record in records:
            if record["slowdown"] <= 1 + slowdown and record["share"] < 1:
                least[record["policy"]] = min(least.get(record["policy"], 1.0), record["share"])
        texts = {record["policy"]: NOTHING[0] for record in records}
        texts |= {name: f"{100 * (1 - share):.3g}\u00a0%" for name, share in least.items()}
        columns.append((f"{100 * slowdown:.0f}\u00a0% slower", texts))
    return [("slow memory can replace, if it may be", columns)]


def overviews(records_by_label: Mapping[str, Sequence[Record]]) -> list[Overview]:
    """Return a ranking with a heat map: the time over that in fast memory alone, and of one input
    how much of it slow memory can replace."""
    values: dict[tuple[str, Place], float] = {}
    for label, records in records_by_label.items():
        for record in records:
            place = Place(label, record["fast_frames"], record["share"])
            if not math.isnan(record["slowdown"]):
                values[record["policy"], place] = record["slowdown"]
    if not values:
        return []
    offline = {r["policy"] for records in records_by_label.values() for r in records}
    offline -= {
        r["policy"] for records in records_by_label.values() for r in records if r["can_run"]
    }
    summed = overview(
        values,
        key="time",
        title="Which policy, with how much fast memory, by how much",
        unit="Time of a reference over that in fast memory alone",
        word="Policy",
        size_word="fast memory",
        size_text=lambda size: f"{size:,.0f}",
        notes={name: "knows the future" for name in offline},
        place_word="input",
        is_diverging=False,
        least_series=1,
        first=_replaced(*records_by_label.values()) if len(records_by_label) == 1 else (),
    )
    if summed is None or not summed.has_ranges:
        return []
    if any(cell and cell.text == NOTHING[0] for entry in summed.entries for cell in entry.cells):
        said = f"{summed.caption} \u201cnothing\u201d: no size tried is enough."
        return [replace(summed, caption=said)]
    return [summed]
