"""The report of page caches: figures first, then every row, devices, policies and traces."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from clockhand.report.appearance import Mark, marks
from clockhand.report.canvas import CANVAS, PICTURE, Canvas, Spec
from clockhand.report.compared import Compared, series_of
from clockhand.report.emphasis import emphasised, kept
from clockhand.report.html import Part, study_page
from clockhand.report.measures import Drawn, measure_chart, same_everywhere
from clockhand.report.overview_charts import overview_charts
from clockhand.report.parameters import Ranged, ranges_of
from clockhand.report.sections import headline
from clockhand.report.table import table_without_filter
from clockhand.report.words import free_slug, titled, unique
from clockhand.studies.pagecache.charts import (
    MEASURES,
    OVER_TIME,
    REASONS_TITLE,
    baseline_of,
    cell_records,
    compared_of,
    measures_of,
    overviews,
    rankings,
    reason_records,
    reasons_chart,
)
from clockhand.studies.pagecache.findings import findings
from clockhand.study.facts import Facts, trace_label
from clockhand.study.phrases import all_of
from clockhand.study.policies import reads_the_future
from clockhand.study.records import Fields
from clockhand.study.sizes import bytes_text


@dataclass(frozen=True)
class _Section:
    """The rows of one trace, ready to be drawn."""

    slug: str
    label: str
    summary: str
    records: list[Fields]
    unit: str
    reasons: list[Fields]
    ranges: list[Ranged]


def render(
    rows: pl.DataFrame,
    facts: Facts,
    highlight: Sequence[str] = (),
    intervals: pl.DataFrame | None = None,
) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, one per trace, memory size and policy, in the order given.

        facts: How the rows were made; it describes every trace that the rows name.

        highlight: Policies that are emphasised, besides the best and the baseline.

        intervals: The rows of intervals, if they were asked for.
    """
    split = _sections(rows, facts)
    everywhere = _looks(split, CANVAS)
    parts: list[Part] = []
    for section in split:
        before = sum(len(part.figures) for part in parts)
        parts.append(_part(section, everywhere, highlight, before))
    count = f"{len(split)} {'trace' if len(split) == 1 else 'traces'}"
    title, sentences = titled(findings(rows, facts), len(split), f"Page caches, {count}")
    table = table_without_filter(rows, facts, {})
    together = {section.label: section.records for section in split}
    ranked = overviews(together)
    where = f"on {split[0].label}" if len(split) == 1 else f"over {len(split)} traces"
    over = headline(ranked, "I/O time", where)
    if over:
        title, sentences = over, findings(rows, facts)
    parts += OVER_TIME.parts(intervals, facts, parts)
    return study_page(
        overline="page caches",
        title=title,
        sentences=sentences,
        parts=parts,
        leading=ranked if len(split) > 1 else [],
        facts=facts,
        table=table,
    )


def specifications(
    rows: pl.DataFrame, facts: Facts, highlight: Sequence[str] = ()
) -> dict[str, Spec]:
    """Return every figure in Vega-Lite, by its key; the leading one first."""
    split = _sections(rows, facts)
    everywhere = _looks(split, PICTURE)
    label = split[0].label if len(split) == 1 else f"{len(split)} inputs"
    drawn: dict[str, Spec] = {}
    for summed in overviews({section.label: section.records for section in split}):
        drawn |= overview_charts(summed, PICTURE, label)
    for section in split:
        prefix = f"{section.slug}-" if len(split) > 1 else ""
        compared = _compared(section, everywhere, highlight)
        for measure in measures_of(section.records, section.unit):
            chart = measure_chart(compared, measure, PICTURE)
            drawn[prefix + measure.key] = chart
        for ranged in section.ranges:
            drawn[prefix + ranged.key] = ranged.chart(PICTURE, section.label)
        if section.reasons:
            chart = reasons_chart(section.reasons, compared.looks, PICTURE, section.label)
            drawn[f"{prefix}reasons"] = chart
    return drawn


def _sections(rows: pl.DataFrame, facts: Facts) -> list[_Section]:
    result: list[_Section] = []
    for group in rows.partition_by("trace", maintain_order=True):
        label = trace_label(group["trace"][0], facts)
        first = group.row(0, named=True)
        size_mib = first["footprint_pages"] * first["page_bytes"] / (1 << 20)
        summary = (
            f"{first['references']:,} references, {first['write_references']:,} writes · footprint "
            f"{first['footprint_pages']:,} pages ({size_mib:,.4g} MiB) · read-ahead "
            f"{first['read_ahead']} · flusher {first['flusher'] or 'none'}"
        )
        slug = free_slug(label, [section.slug for section in result])
        devices = unique([*group["device"], *group["file_device"]])
        summary += f" · pages of {bytes_text(first['page_bytes'])} · device {all_of(devices)}"
        records, unit = cell_records(group)
        summary = " · ".join([summary, *same_everywhere(MEASURES, records)])
        ranges = ranges_of(group.to_dicts(), group["trace"][0], facts)
        reasons = reason_records(group)
        result.append(_Section(slug, label, summary, records, unit, reasons, ranges))
    return result


def _looks(split: Sequence[_Section], canvas: Canvas) -> list[Mark]:
    names = unique(record["policy"] for section in split for record in section.records)
    return marks(names, canvas.theme)


def _compared(section: _Section, everywhere: Sequence[Mark], highlight: Sequence[str]) -> Compared:
    series = series_of(section.records)
    best_first = [
        entry.name
        for summed in rankings({section.label: section.records})
        for entry in summed.entries
        if not reads_the_future(entry.name)
    ]
    baseline = baseline_of(section.records)
    always = [] if baseline is None else [baseline]
    given = (series, best_first or series, always, highlight)
    looks = [look for look in everywhere if look.policy in series]
    compared = compared_of(section.records, section.unit, looks, emphasised(*given), section.label)
    return replace(compared, anchors=kept(*given))


def _part(
    section: _Section, everywhere: Sequence[Mark], highlight: Sequence[str], before: int
) -> Part:
    compared = _compared(section, everywhere, highlight)
    drawn = Drawn(section.slug, before)
    drawn.measure(compared, measures_of(section.records, section.unit))
    for ranged in section.ranges:
        drawn.add(ranged.key, ranged.title, ranged.caption, ranged.chart(CANVAS, section.label))
    if section.reasons:
        frames = section.reasons[0]["at_frames"]
        said = f"With {frames:,} frames; pages that are dirty at the end are not in it."
        chart = reasons_chart(section.reasons, compared.looks, CANVAS, section.label)
        drawn.add("reasons", REASONS_TITLE, said, chart)
    records = section.records + section.reasons
    summed = overviews({section.label: section.records})
    return drawn.part(compared, section.summary, records, summed)
