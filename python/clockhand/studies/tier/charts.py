"""The figures of two tiers, as Vega-Lite charts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from clockhand.report.appearance import Mark
from clockhand.report.bars import bars_chart
from clockhand.report.canvas import Canvas, Spec
from clockhand.report.lines import Compared, Record, SizeAxis, exact_tooltip, lines_chart
from clockhand.report.overview import Overview, Place, overview
from clockhand.report.scales import Kind, Measure
from clockhand.report.series import first_spellings
from clockhand.studies.tier.findings import BOUND, has_several_rules, line

MEAN = Measure(
    "mean-time", "mean_ns", "Time of a reference (ns)",
    "Accesses, migrations, overhead and storage, per reference; lower is better.", Kind.NUMBER,
)  # fmt: skip
FAST_SHARE = Measure(
    "fast-share", "fast_share", "References that found their page in fast memory",
    "Share of all references.", Kind.SHARE,
)  # fmt: skip
PROMOTIONS = Measure(
    "promotions", "promotions_each", "Promotions per 1000 references",
    "Pages that moved from slow to fast memory.", Kind.NUMBER,
)  # fmt: skip
MEASURES = (MEAN, FAST_SHARE, PROMOTIONS)

TOOLTIP = (("policy", "Policy", None), ("fast_frames", "Fast pages", ","))


def cell_records(rows: pl.DataFrame) -> list[Record]:
    """Return the values that figures show, a record per cell of one group."""
    several = has_several_rules(rows)
    cells = rows.drop_nulls("mean_ns").sort("fast_frames", maintain_order=True).to_dicts()
    spelled = first_spellings(
        (
            line(row, several),
            (row["fast_frames"],),
            (row["policy_resolved"], row["promote_resolved"]),
        )
        for row in cells
    )
    records: dict[tuple[str, int], Record] = {}
    for row in cells:
        name = spelled[line(row, several)]
        promotions = row["promotions"]
        records.setdefault(
            (name, row["fast_frames"]),
            {
                "policy": name,
                "fast_frames": row["fast_frames"],
                "share": row["fast_memory_share"],
                "mean_ns": row["mean_ns"],
                "fast_share": row["fast_share"],
                "promotions_each": (
                    None if promotions is None else 1000 * promotions / row["references"]
                ),
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
        anchors=tuple(name for name in (BOUND,) if any(r["policy"] == name for r in records)),
    )


def measured_chart(compared: Compared, measure: Measure, canvas: Canvas) -> Spec:
    """Draw a measure over sizes of fast memory, a line per policy that has it."""
    having = [record for record in compared.records if record[measure.field] is not None]
    names = {record["policy"] for record in having}
    shown = replace(
        compared,
        records=having,
        where=f"isValid(datum.{measure.field})",
        looks=[look for look in compared.looks if look.policy in names],
        focus=[name for name in compared.focus if name in names],
        anchors=tuple(name for name in compared.anchors if name in names),
        tooltip=[*TOOLTIP, exact_tooltip(measure)],
    )
    draw = lines_chart if len(compared.sizes.sizes) > 1 else bars_chart
    return draw(shown, measure, canvas)


def overviews(records_by_label: Mapping[str, Sequence[Record]]) -> list[Overview]:
    """Return a ranking with a heat map: the time over that of the fastest policy of each cell."""
    values: dict[tuple[str, Place], float] = {}
    for label, records in records_by_label.items():
        for size in {record["fast_frames"] for record in records}:
            cells = [record for record in records if record["fast_frames"] == size]
            least = min((r["mean_ns"] for r in cells if r["policy"] != BOUND), default=None)
            if not least:
                continue
            for record in cells:
                place = Place(label, size, record["share"])
                values[record["policy"], place] = record["mean_ns"] / least
    if not values:
        return []
    summed = overview(
        values,
        key="time",
        title="Which policy, with how much fast memory, by how much",
        unit="Time of a reference over that of the fastest policy that can run",
        word="Policy",
        size_word="fast memory",
        size_text=lambda size: f"{size:,.0f}",
        notes={BOUND: "bound"},
        place_word="input",
    )
    return [summed] if summed is not None and summed.has_ranges else []
