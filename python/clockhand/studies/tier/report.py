"""The report of two tiers of memory: figures first, then every row, tiers and traces."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from clockhand.report.appearance import marks
from clockhand.report.canvas import CANVAS, PICTURE, Canvas, Spec
from clockhand.report.emphasis import emphasised
from clockhand.report.html import Figure, Part, payload, template
from clockhand.report.lines import Compared, series_of
from clockhand.report.overview_charts import overview_charts
from clockhand.report.table import table_without_filter
from clockhand.report.words import free_slug
from clockhand.studies.tier.charts import (
    MEASURES,
    cell_records,
    compared_of,
    measured_chart,
    overviews,
)
from clockhand.studies.tier.findings import (
    BOUND,
    cannot_run,
    findings,
    group_label,
    groups,
    headline,
)
from clockhand.study.facts import Facts, printable
from clockhand.study.sizes import bytes_text

PAGE_TEMPLATE = Path(__file__).with_name("report.html.j2")
HEADINGS = {
    "fast_frames": "fast (pages)",
    "slow_frames": "slow (pages)",
    "page_bytes": "page (bytes)",
    "fast_share": "found in fast",
    "slow_pages_peak": "slow, at most (pages)",
    "migrated_bytes": "migrated (bytes)",
    "access_ns": "accesses (ns)",
    "migration_ns": "migrations (ns)",
    "overhead_ns": "overhead (ns)",
    "storage_ns": "storage (ns)",
    "time_ns": "time (ns)",
    "mean_ns": "time of a reference (ns)",
    "mean_access_ns": "access (ns)",
    "fast_memory_share": "fast over footprint",
    "policy_resolved": "policy with defaults",
    "promote_resolved": "promotion with defaults",
    "tiers_resolved": "tiers with options",
}


def render(rows: pl.DataFrame, facts: Facts, highlight: Sequence[str] = ()) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, as :func:`clockhand.tier` gives them.
        facts: How the rows were made; it describes every trace that the rows name.
        highlight: Lines that are emphasised, besides the best.
    """
    parts: list[Part] = []
    together = {}
    for group in groups(rows):
        label = group_label(rows, group, facts)
        slug = free_slug(label, [part.slug for part in parts])
        records = cell_records(group)
        compared = _compared(group, CANVAS, label, highlight)
        before = sum(len(part.figures) for part in parts)
        figures = [
            Figure(
                f"{slug}-{measure.key}",
                measure.title,
                measure.note,
                measured_chart(compared, measure, CANVAS),
                number,
            )
            for number, measure in enumerate(MEASURES, before + 1)
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
            word="policy",
            overviews=overviews({label: records}),
        )
        parts.append(part)
    shown = rows.select(column for column in rows if column.null_count() < len(column))
    table = table_without_filter(shown, facts, HEADINGS)
    title, sentences = headline(rows, facts), findings(rows, facts)
    return template(PAGE_TEMPLATE).render(
        title=title,
        sentences=sentences[1:] if len(parts) == 1 else sentences,
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
        records = cell_records(group)
        compared = _compared(group, PICTURE, label, highlight)
        for summed in overviews({label: records}):
            for key, chart in overview_charts(summed, PICTURE, label).items():
                drawn[prefix + key] = chart
        for measure in MEASURES:
            drawn[prefix + measure.key] = measured_chart(compared, measure, PICTURE)
    return drawn


def _compared(
    group: pl.DataFrame, canvas: Canvas, label: str, highlight: Sequence[str]
) -> Compared:
    records = cell_records(group)
    series = series_of(records)
    summed = overviews({label: records})
    best_first = [entry.name for entry in summed[0].entries] if summed else series
    offline = cannot_run(group)
    runnable_first = [name for name in best_first if name not in offline]
    focus = emphasised(series, runnable_first, (BOUND,), highlight)
    return compared_of(records, marks(series, (), offline, canvas.theme), focus, label)


def _summary(group: pl.DataFrame) -> str:
    first = group.row(0, named=True)
    size = bytes_text(first["footprint_pages"] * first["page_bytes"])
    return (
        f"{first['references']:,} references · footprint {first['footprint_pages']:,} pages of "
        f"{bytes_text(first['page_bytes'])} ({size}) · {printable(first['tiers_resolved'])}"
    )
