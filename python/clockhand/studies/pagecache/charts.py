"""The figures of page caches, as Vega-Lite charts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from clockhand.report.appearance import Mark
from clockhand.report.bars import BAR_HEIGHT
from clockhand.report.canvas import Canvas, Spec, framed
from clockhand.report.compared import Compared, Record, SizeAxis, exact_tooltip, quantity
from clockhand.report.measures import drawable
from clockhand.report.over_time import Over, OverTime, per_reference
from clockhand.report.overview import Overview, overview
from clockhand.report.places import Place
from clockhand.report.scales import Kind, Measure, label_expression
from clockhand.report.series import first_spellings
from clockhand.report.words import time_unit
from clockhand.study.facts import printable
from clockhand.study.policies import BASELINE, reads_the_future

OVER_TIME = OverTime(
    ("policy", "frames", "device", "file_device"),
    Over("hit-ratio", "hit_ratio", "Hit ratio",
         "Share of the interval's references that were in the cache."),
    per_reference("io-time", "io_time_us", "I/O time per reference (µs)"),
    Over("dirty", "dirty_pages_mean", "Dirty pages of files", "Mean of the interval."),
)  # fmt: skip
"""What the rows of intervals show."""


BASELINES = (BASELINE, "lru")
"""Baselines of the others: the first of them that was run."""

MEASURES = (
    Measure("io_time", "io_time", "I/O time",
            "Reads and writes of both devices, priced; lower is better.", Kind.NUMBER),
    Measure("write_ios", "write_ios", "Pages written",
            "Evictions, syncs, the flusher and other write-backs.", Kind.COUNT),
    Measure("read_ios", "read_ios", "Pages read",
            "Misses that read, and what is read ahead.", Kind.COUNT),
    Measure("hit_ratio", "hit_ratio", "Hit ratio",
            "Share of page references that found their page.", Kind.SHARE),
    Measure("energy", "energy_j", "I/O energy (J)",
            "Reads and writes of both devices.", Kind.NUMBER),
    Measure("dirty_peak", "dirty_pages_peak", "Dirty pages of files, at most",
            "What a power failure would have lost at the worst moment.", Kind.COUNT),
    Measure("dirty_mean", "dirty_pages_mean", "Dirty pages of files, on average",
            "What a power failure would have lost at a moment like any other.", Kind.NUMBER),
)  # fmt: skip

REASONS = {
    "dirty_evictions": "evicted dirty",
    "sync_writes": "sync",
    "flusher_writes": "flusher",
    "write_backs": "other write-backs",
    "dropped_dirty": "never: dropped dirty",
}
"""Fates of dirty pages; the last one was not written at all."""
REASONS_TITLE = "What became of dirty pages"


def cell_records(rows: pl.DataFrame) -> tuple[list[Record], str]:
    """Return the values that figures show, and the unit of I/O times.

    There is one record per policy and size, the first of doubles; policies that mean the same with
    all defaults filled in are one.
    """
    unit, unit_us = time_unit(rows["io_time_us"])
    shown = rows.select(
        _named(rows),
        "frames",
        "memory_share",
        (pl.col("io_time_us") / unit_us).alias("io_time"),
        (pl.col("energy_uj") / 1e6).alias("energy_j"),
        "write_ios",
        "read_ios",
        "hit_ratio",
        "dirty_pages_peak",
        "dirty_pages_mean",
    ).unique(["policy", "frames"], keep="first", maintain_order=True)
    return [printable(record) for record in shown.to_dicts()], unit


def _named(rows: pl.DataFrame) -> pl.Expr:
    spelled = rows.select("policy", "frames", "policy_resolved")
    return pl.col("policy").replace_strict(first_spellings(spelled.iter_rows()))


def reason_records(rows: pl.DataFrame) -> list[Record]:
    """Return what became of dirty pages at the smallest memory, a record per policy and reason."""
    smallest = rows.filter(pl.col("frames") == pl.col("frames").min())
    named = smallest.with_columns(_named(rows))
    cells = named.unique("policy", keep="first", maintain_order=True)
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


def compared_of(
    records: Sequence[Record],
    unit: str,
    looks: Sequence[Mark],
    focus: Sequence[str],
    label: str,
) -> Compared:
    """Return what the figures of a trace share."""
    sizes = sorted({record["frames"] for record in records})
    tooltip = [("policy", "Policy", None), ("frames", "Frames", ",")]
    measured = [exact_tooltip(measure) for measure in measures_of(records, unit)]
    return Compared(
        label=label,
        word="Policy",
        records=records,
        sizes=SizeAxis("frames", "Page frames", sizes),
        looks=looks,
        focus=focus,
        tooltip=[*tooltip, *measured],
    )


def baseline_of(records: Sequence[Record]) -> str | None:
    """Return the policy that the others are compared with, if it was run."""
    present = {record["policy"] for record in records}
    return next((name for name in BASELINES if name in present), None)


def measures_of(records: Sequence[Record], unit: str) -> list[Measure]:
    """Return the measures that have a value other than 0, those of time titled with their unit."""
    return [
        replace(measure, title=f"I/O time ({unit})") if measure.key == "io_time" else measure
        for measure in drawable(MEASURES, records)
    ]


def overviews(records_by_label: Mapping[str, Sequence[Record]]) -> list[Overview]:
    """Return the ranking with the heat map of I/O time; none where nothing can be compared."""
    return [summed for summed in rankings(records_by_label) if summed.has_ranges]


def rankings(records_by_label: Mapping[str, Sequence[Record]]) -> list[Overview]:
    """Return the same, also where it is of one place and bars show it."""
    baselines = {baseline_of(records) for records in records_by_label.values()}
    baseline = baselines.pop() if len(baselines) == 1 else None
    values: dict[tuple[str, Place], float] = {}
    for label, records in records_by_label.items():
        reference = _references(records, baseline)
        for record in records:
            frames, time = record["frames"], record["io_time"]
            if time is not None and frames in reference:
                place = Place(label, frames, record["memory_share"])
                values[record["policy"], place] = time / reference[frames]
    names = {name for name, _ in values}
    if len(names) < 2:
        return []
    notes = {name: "knows the future" for name in names if reads_the_future(name)}
    if baseline is not None:
        notes[baseline] = "baseline"
    summed = overview(
        values,
        key="io_time",
        title="Which policy, where, by how much",
        unit=f"I/O time over {'the best policy of each size' if baseline is None else baseline}",
        word="Policy",
        size_word="memory",
        size_text=lambda size: f"{size:,.0f}",
        notes=notes,
    )
    return [] if summed is None else [summed]


def _references(records: Sequence[Record], baseline: str | None) -> dict[int, float]:
    """Return what times are divided by, at each size."""
    times: dict[int, float] = {}
    for record in records:
        is_one = record["policy"] == baseline
        if baseline is None:
            is_one = not reads_the_future(record["policy"])
        if is_one and record["io_time"]:
            frames = record["frames"]
            times[frames] = min(record["io_time"], times.get(frames, record["io_time"]))
    return times


def reasons_chart(
    records: Sequence[Record], looks: Sequence[Mark], canvas: Canvas, label: str
) -> Spec:
    """Draw what became of dirty pages: a bar per policy, divided by reason."""
    theme = canvas.theme
    colors = dict(zip(REASONS.values(), [theme.ink, *theme.series[:3], theme.muted], strict=True))
    reasons = [name for name in REASONS.values() if name in {r["reason"] for r in records}]
    names = {"labelLimit": 190, "ticks": False, "domain": False}
    axis = {"labelExpr": label_expression(Kind.COUNT), "tickCount": 5, "labelOverlap": "greedy"}
    series = [look.policy for look in looks]
    bar: Spec = {
        "transform": [
            {"filter": "isValid(datum.pages)"},
            {"calculate": f"indexof({json.dumps(reasons)}, datum.reason)", "as": "reason_order"},
        ],
        "mark": {"type": "bar", "height": {"band": 0.74}},
        "encoding": {
            "y": {"field": "policy", "type": "nominal", "title": None, "sort": series,
                  "axis": names},
            "x": quantity("pages", aggregate="sum", title="Pages", axis=axis),
            "color": {
                "field": "reason",
                "type": "nominal",
                "scale": {"domain": reasons, "range": [colors[reason] for reason in reasons]},
                "legend": {"title": None, "orient": "top", "labelLimit": 260},
            },
            "order": quantity("reason_order"),
            "tooltip": [
                {"field": "policy", "type": "nominal", "title": "Policy"},
                {"field": "reason", "type": "nominal", "title": "Became"},
                quantity("pages", title="Pages", format=","),
            ],
        },
    }  # fmt: skip
    height = BAR_HEIGHT * len(looks) + 8
    return framed([bar], records, canvas, title=REASONS_TITLE, label=label, height=height)
