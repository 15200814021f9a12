"""The report of file caches: figures first, then every row, devices and traces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clockhand.report.appearance import marks
from clockhand.report.canvas import CANVAS, PICTURE, Canvas, Spec
from clockhand.report.emphasis import emphasised
from clockhand.report.html import Figure, Part, payload, template
from clockhand.report.lines import Compared, Record, series_of
from clockhand.report.overview_charts import overview_charts
from clockhand.report.table import table_without_filter
from clockhand.report.words import free_slug
from clockhand.studies.filecache.charts import (
    HIT_RATIO,
    NO_CACHE,
    break_even_chart,
    break_even_records,
    cell_records,
    compared_of,
    hit_chart,
    overviews,
    time_chart,
)
from clockhand.studies.filecache.findings import (
    by_device,
    findings,
    group_label,
    groups,
    headline,
)
from clockhand.study.facts import Facts, printable
from clockhand.study.sizes import bytes_text

PAGE_TEMPLATE = Path(__file__).with_name("report.html.j2")
HEADINGS = {
    "capacity": "capacity (blocks)",
    "references": "references (blocks)",
    "time_us": "time (µs)",
    "block_bytes": "block (bytes)",
    "time_without_cache_us": "time without cache (µs)",
    "required_hits": "hits that pay",
    "insert": "insertion takes",
    "policy_resolved": "policy with defaults",
    "admission_resolved": "admission with defaults",
    "device_resolved": "device with options",
    "footprint_blocks": "footprint (blocks)",
    "capacity_share": "capacity over footprint",
    "hit_time_us": "t, a hit (µs)",
    "bypass_time_us": "T, past the cache (µs)",
    "admit_time_us": "T_m, a miss that enters (µs)",
    "write_time_us": "W, a write (µs)",
}


@dataclass(frozen=True)
class _Drawing:
    """A figure before it is numbered."""

    key: str
    title: str
    caption: str
    chart: Spec


def render(rows: pl.DataFrame, facts: Facts, highlight: Sequence[str] = ()) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, as :func:`clockhand.filecache` gives them.
        facts: How the rows were made; it describes every trace that the rows name.
        highlight: Admissions that are emphasised, besides the best.
    """
    parts: list[Part] = []
    together = {}
    for group in groups(rows):
        label = group_label(rows, group, facts)
        slug = free_slug(label, [part.slug for part in parts])
        records = cell_records(group) + break_even_records(group)
        compared = _compared(records, CANVAS, label, highlight)
        before = sum(len(part.figures) for part in parts)
        figures = [
            Figure(f"{slug}-{drawing.key}", drawing.title, drawing.caption, drawing.chart, number)
            for number, drawing in enumerate(
                _drawings(group, records, compared, CANVAS), before + 1
            )
        ]
        together[label] = records
        part = Part(
            slug=slug,
            title=label,
            text=_summary(group),
            rows=[("", figures)],
            records=records,
            looks=compared.looks,
            focus=compared.focus,
            word="admission",
            overviews=overviews({label: records}),
        )
        parts.append(part)
    table = table_without_filter(rows, facts, HEADINGS)
    return template(PAGE_TEMPLATE).render(
        title=headline(rows, facts),
        sentences=findings(rows, facts),
        parts=parts,
        leading=overviews(together) if len(together) > 1 else [],
        facts=printable(facts),
        table=table,
        payload=payload(parts, {"rows-heading": table}),
    )


def specifications(
    rows: pl.DataFrame, facts: Facts, highlight: Sequence[str] = ()
) -> dict[str, Spec]:
    """Return every figure in Vega-Lite, by its key; the leading one first."""
    slugs: list[str] = []
    split = groups(rows)
    drawn: dict[str, Spec] = {}
    for group in split:
        label = group_label(rows, group, facts)
        slugs.append(free_slug(label, slugs))
        prefix = f"{slugs[-1]}-" if len(split) > 1 else ""
        records = cell_records(group) + break_even_records(group)
        compared = _compared(records, PICTURE, label, highlight)
        for summed in overviews({label: records}):
            for key, chart in overview_charts(summed, PICTURE, label).items():
                drawn[prefix + key] = chart
        for drawing in _drawings(group, records, compared, PICTURE):
            drawn[prefix + drawing.key] = drawing.chart
    return drawn


def _drawings(
    group: pl.DataFrame, records: Sequence[Record], compared: Compared, canvas: Canvas
) -> Iterator[_Drawing]:
    title = "Hits that pay for caching a block"
    caption = (
        "The fewest hits after which a block in the cache has cost less than without one, by "
        "device; fewer hits, better for the cache."
    )
    chart = break_even_chart(records, title, canvas, compared.label)
    yield _Drawing("required-hits", title, caption, chart)
    yield _Drawing(HIT_RATIO.key, HIT_RATIO.title, HIT_RATIO.note, hit_chart(compared, canvas))
    slugs: list[str] = []
    for shown, _ in by_device(group):
        slugs.append(free_slug(shown, slugs))
        caption = "With a cache, by admission, and without one; lower is better."
        title, chart = time_chart(compared, shown, canvas)
        yield _Drawing(f"time-{slugs[-1]}", title, caption, chart)


def _compared(
    records: Sequence[Record], canvas: Canvas, label: str, highlight: Sequence[str]
) -> Compared:
    series = series_of(record for record in records if "policy" in record)
    summed = overviews({label: records})
    best_first = [entry.name for entry in summed[0].entries] if summed else series
    focus = emphasised(series, best_first, (NO_CACHE,), highlight)
    return compared_of(records, marks(series, (NO_CACHE,), (), canvas.theme), focus, label)


def _summary(group: pl.DataFrame) -> str:
    first = group.row(0, named=True)
    size = bytes_text(first["footprint_blocks"] * first["block_bytes"])
    return (
        f"{first['references']:,} references, {first['write_references']:,} writes · footprint "
        f"{first['footprint_blocks']:,} blocks of {bytes_text(first['block_bytes'])} ({size}) · "
        f"writes {first['writes']}"
    )
