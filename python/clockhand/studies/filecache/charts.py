"""The figures of file caches, as Vega-Lite charts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from clockhand.report.appearance import Mark
from clockhand.report.canvas import Canvas, Spec, framed
from clockhand.report.compared import Compared, Record, SizeAxis, exact_tooltip, quantity
from clockhand.report.over_time import Over, OverTime, per_reference
from clockhand.report.overview import Overview, of_each, overview
from clockhand.report.places import Place
from clockhand.report.scales import Kind, Measure
from clockhand.report.series import first_spellings
from clockhand.studies.filecache.findings import (
    BOUND,
    UNITS_US,
    caches,
    device_label,
    required_text,
)
from clockhand.study.facts import printable

OVER_TIME = OverTime(
    ("policy", "admission", "capacity", "device", "insert", "block_bytes"),
    Over("hit-ratio", "hit_ratio", "Hit ratio",
         "Share of the interval's references that the cache served."),
    per_reference("time", "time_us", "Time per reference (µs)"),
)  # fmt: skip
"""What the rows of intervals show."""


BAR_HEIGHT = 34

NO_CACHE = "no cache"
"""The line of the time without a cache."""

NEVER = "never"
FEW_HITS = 10
"""Up to here every whole number has a tick."""


def series(row: Record, cells: pl.DataFrame) -> str:
    """Return the line that a row belongs to: its admission, its policy, or both, by what differs
    in the cells."""
    if row["admission"] is None:
        return BOUND
    policy, admission = printable(row["policy"]), str(row["admission"])
    if cells["policy"].n_unique() == 1:
        return admission
    return policy if cells["admission"].n_unique() == 1 else f"{policy}, {admission}"


def cell_records(rows: pl.DataFrame) -> list[Record]:
    """Return the values that figures show: a record per cell, and the time without a cache."""
    names = _one_name(rows)
    several = rows["insert"].n_unique() > 1
    records: dict[tuple[str, str, int], Record] = {}
    for row in rows.sort("capacity", maintain_order=True).to_dicts():
        device, capacity = device_label(row, several), row["capacity"]
        shared = {"device": device, "capacity": capacity, "share": row["capacity_share"]}
        line = names[row["policy"], row["admission"]]
        cell = {**shared, "policy": line, "hit_ratio": row["hit_ratio"]}
        records.setdefault((line, device, capacity), {**cell, **_times(row["time_us"])})
        without = {**shared, "policy": NO_CACHE, **_times(row["time_without_cache_us"])}
        records.setdefault((NO_CACHE, device, capacity), without)
    return list(records.values())


def _one_name(rows: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return the line of each policy and admission: the first spelling that means the same."""
    cells = caches(rows)
    spelled = {
        (row["policy"], row["admission"]): series(row, cells)
        for row in rows.unique(["policy", "admission"], maintain_order=True).to_dicts()
    }
    first = first_spellings(
        (
            spelled[row["policy"], row["admission"]],
            (row["device"], row["insert"], row["capacity"]),
            (row["policy_resolved"], row["admission_resolved"]),
        )
        for row in rows.to_dicts()
    )
    return {pair: first[name] for pair, name in spelled.items()}


def _times(time_us: float | None) -> Record:
    if time_us is None:  # The bound knows none where writes cost.
        return {}
    return {"time_us": time_us} | {name: time_us / unit_us for name, unit_us in TIME_FIELDS.items()}


def break_even_records(rows: pl.DataFrame) -> list[Record]:
    """Return how many hits caching a block takes to pay, a record per device."""
    once = rows.unique(["device", "insert"], keep="first", maintain_order=True)
    several = rows["insert"].n_unique() > 1
    return [
        {
            "required_on": device_label(row, several),
            "required_hits": row["required_hits"] or 0,
            "required_label": NEVER if row["required_hits"] is None else str(row["required_hits"]),
            "required_text": required_text(row["required_hits"]),
        }
        for row in once.to_dicts()
    ]


def break_even_chart(records: Sequence[Record], title: str, canvas: Canvas, label: str) -> Spec:
    """Draw required hits as bars, one per device."""
    drawn = [record for record in records if "required_on" in record]
    most = max(record["required_hits"] for record in drawn)
    axis: Spec = {"format": ",d"}
    if most <= FEW_HITS:
        axis = {"format": "d", "values": list(range(most + 1))}
    names = {"labelLimit": 190, "ticks": False, "domain": False}
    encoding: Spec = {
        "y": {"field": "required_on", "type": "nominal", "title": None, "sort": None,
              "axis": names},
        "x": quantity("required_hits", title="Hits", scale={"zero": True}, axis=axis),
        "tooltip": [
            {"field": "required_on", "type": "nominal", "title": "Device"},
            {"field": "required_text", "type": "nominal", "title": "Hits"},
        ],
    }  # fmt: skip
    base: Spec = {"transform": [{"filter": "isValid(datum.required_on)"}]}
    bar = {"type": "bar", "height": {"band": 0.6}, "color": canvas.theme.series[0]}
    number = {"type": "text", "align": "left", "dx": 5, "color": canvas.theme.ink}
    text: Spec = {"field": "required_label", "type": "nominal"}
    layers: list[Spec] = [
        {**base, "mark": bar, "encoding": encoding},
        {**base, "mark": number, "encoding": {**encoding, "text": text}},
    ]
    height = BAR_HEIGHT * len(drawn) + 20
    return framed(layers, records, canvas, title=title, label=label, height=height)


HIT_RATIO = Measure(
    "hit-ratio", "hit_ratio", "Hit ratio",
    "Share of references that the cache serves; refused blocks are misses.", Kind.SHARE,
)  # fmt: skip


def compared_of(
    records: Sequence[Record], looks: Sequence[Mark], focus: Sequence[str], label: str
) -> Compared:
    """Return what the figures over capacities share."""
    cells = [record for record in records if "policy" in record]
    sizes = sorted({record["share"] for record in cells})
    return Compared(
        label=label,
        word="Cache",
        records=cells,
        sizes=SizeAxis(
            "share", "Capacity of the footprint", sizes, "format(100 * datum.value, '.2~r') + ' %'"
        ),
        looks=looks,
        focus=focus,
        anchors=(NO_CACHE,),
    )


def of_hits(compared: Compared) -> Compared:
    """Return what the hit ratio over capacities is compared of; devices share it."""
    device = next(record["device"] for record in compared.records)
    shown = _on(compared, device, "isValid(datum.hit_ratio)")
    cells = [record for record in shown.records if record["policy"] != NO_CACHE]
    looks = [look for look in shown.looks if look.policy != NO_CACHE]
    focus = [name for name in shown.focus if name != NO_CACHE]
    tooltip = [*TOOLTIP, exact_tooltip(HIT_RATIO)]
    return replace(shown, records=cells, looks=looks, focus=focus, tooltip=tooltip)


def of_time(compared: Compared, device: str) -> tuple[Compared, Measure]:
    """Return the time of all references over capacities on a device, and what is compared by it."""
    shown = _on(compared, device, "isValid(datum.time_us)")
    shown = replace(shown, records=[record for record in shown.records if "time_us" in record])
    longest_us = max(record["time_us"] for record in shown.records)
    unit_us, unit = next(
        ((unit_us, name) for unit_us, name in UNITS_US if longest_us >= unit_us), UNITS_US[-1]
    )
    field = next(name for name, own_us in TIME_FIELDS.items() if own_us == unit_us)
    title = f"Time of all references on {device} ({unit})"
    measure = Measure(
        "time", field, title, "With a cache and without one; lower is better.",
        Kind.NUMBER,
    )  # fmt: skip
    return replace(shown, tooltip=[*TOOLTIP, exact_tooltip(measure)]), measure


TIME_FIELDS = {f"time_{number}": unit_us for number, (unit_us, _) in enumerate(UNITS_US)}
"""Columns of records with the time in each unit: devices differ too much to share one."""

TOOLTIP = (("policy", "Cache", None), ("capacity", "Blocks", ","))


def _on(compared: Compared, device: str, *tests: str) -> Compared:
    """Return what is compared on one device alone."""
    where = " && ".join([f"datum.device == {json.dumps(device)}", *tests])
    records = [record for record in compared.records if record["device"] == device]
    return replace(compared, records=records, where=where)


def overviews(records_by_label: Mapping[str, Sequence[Record]]) -> list[Overview]:
    """Return a ranking with a heat map for each device: time with a cache over that without one."""
    values: dict[str, dict[tuple[str, Place], float]] = {}
    for label, records in records_by_label.items():
        cells = [record for record in records if "time_us" in record and record["policy"] != BOUND]
        without = {
            (record["device"], record["capacity"]): record["time_us"]
            for record in cells
            if record["policy"] == NO_CACHE
        }
        for record in cells:
            device, capacity = record["device"], record["capacity"]
            if without.get((device, capacity)):
                place = Place(label, capacity, record["share"])
                of_device = values.setdefault(device, {})
                of_device[record["policy"], place] = record["time_us"] / without[device, capacity]
    return of_each({device: _overviews(of_device) for device, of_device in values.items()})


def _overviews(values: dict[tuple[str, Place], float]) -> list[Overview]:
    """Return the overview of one device, if there is more than one place."""
    summed = overview(
        values,
        key="time",
        title="Which cache, where, by how much",
        unit="Time of all references over the time without a cache",
        word="Cache",
        size_word="capacity",
        size_text=lambda size: f"{size:,.0f}",
        notes={NO_CACHE: "baseline"},
    )
    return [summed] if summed is not None and summed.has_ranges else []
