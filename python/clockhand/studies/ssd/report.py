"""The report of write buffers on flash drives: figures first, then every row, drives and traces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clockhand.report.appearance import Mark, marks
from clockhand.report.canvas import CANVAS, PICTURE, Canvas, Spec
from clockhand.report.emphasis import emphasised
from clockhand.report.html import Part, payload, template
from clockhand.report.lines import Compared, series_of
from clockhand.report.measures import Drawn, caption, drawable, measure_chart
from clockhand.report.overview_charts import overview_charts
from clockhand.report.table import table_without_filter
from clockhand.report.words import free_slug, size_text, titled, unique
from clockhand.studies.ssd.charts import (
    MEASURES,
    cell_records,
    compared_of,
    one_name,
    overviews,
    rankings,
    wear_chart,
    wear_records,
)
from clockhand.studies.ssd.findings import findings, geometry_line
from clockhand.study.facts import SsdRunFacts, printable, trace_label

PAGE_TEMPLATE = Path(__file__).with_name("report.html.j2")


WEAR_TITLE = "Wear: blocks by how often they were erased"
HEADINGS = {
    "buffer_pages": "buffer (pages)",
    "references": "references (pages)",
    "dirty_pages_flushed": "dirty pages flushed",
    "clean_pages_flushed": "clean pages flushed",
    "nvm_writes": "NVM writes (pages)",
    "residual_dirty": "left dirty (pages)",
    "host_writes": "host writes (pages)",
    "flash_programs": "flash programs (pages)",
    "erases": "erases (blocks)",
    "waf": "write amplification",
    "page_bytes": "page (bytes)",
    "footprint_pages": "footprint (pages)",
    "life_repetitions": "life (repetitions of the trace)",
    "life_repetitions_first_block": "until the most worn block (repetitions)",
    "life_years": "life (years)",
    "nvm_life_repetitions": "life of NVM (repetitions)",
    "nvm_life_years": "life of NVM (years)",
    "buffer_resolved": "buffer with defaults",
    "ssd_resolved": "drive with options",
}


@dataclass(frozen=True)
class _Section:
    """The rows of one trace on one drive, ready to be drawn."""

    slug: str
    label: str
    summary: str
    records: list[dict[str, Any]]
    wear: list[dict[str, Any]]


def render(
    rows: pl.DataFrame, wear: pl.DataFrame, facts: SsdRunFacts, highlight: Sequence[str] = ()
) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, one per trace, drive and buffer, in the order given.
        wear: How many blocks of each row's drive were erased how often.
        facts: How the rows were made; it describes every trace that the rows name.
        highlight: Buffers, without their sizes, that are emphasised besides the best.
    """
    split = _sections(rows, wear, facts)
    everywhere = _looks(split, CANVAS)
    parts: list[Part] = []
    for section in split:
        before = sum(len(part.figures) for part in parts)
        parts.append(_part(section, everywhere, highlight, before))
    title, sentences = titled(
        findings(rows, facts), len(split), f"Write buffers on flash drives, {len(split)} inputs"
    )
    table = table_without_filter(rows, facts, HEADINGS)
    together = {section.label: section.records for section in split}
    return template(PAGE_TEMPLATE).render(
        title=title,
        sentences=sentences,
        geometries=[geometry_line(ssd) for ssd in _once(facts["ssds"])],
        parts=parts,
        leading=overviews(together) if len(split) > 1 else [],
        facts=printable({**facts, "ssds": _once(facts["ssds"])}),
        table=table,
        payload=payload(parts, {"rows-heading": table}),
    )


def specifications(
    rows: pl.DataFrame, wear: pl.DataFrame, facts: SsdRunFacts, highlight: Sequence[str] = ()
) -> dict[str, Spec]:
    """Return every figure in Vega-Lite, by its key; the leading one first."""
    split = _sections(rows, wear, facts)
    everywhere = _looks(split, PICTURE)
    together = {section.label: section.records for section in split}
    label = split[0].label if len(split) == 1 else f"{len(split)} inputs"
    drawn: dict[str, Spec] = {}
    for summed in overviews(together):
        drawn |= overview_charts(summed, PICTURE, label)
    for section in split:
        prefix = f"{section.slug}-" if len(split) > 1 else ""
        compared = _compared(section, everywhere, highlight)
        for measure in drawable(MEASURES, section.records):
            drawn[prefix + measure.key] = measure_chart(compared, measure, PICTURE)
        if section.wear:
            drawn[f"{prefix}wear"] = wear_chart(section.wear, compared, WEAR_TITLE, PICTURE)
    return drawn


def _once(ssds: Sequence[Any]) -> list[Any]:
    return list({ssd["name"]: ssd for ssd in ssds}.values())


def _sections(rows: pl.DataFrame, wear: pl.DataFrame, facts: SsdRunFacts) -> list[_Section]:
    result: list[_Section] = []
    several_ssds = rows["ssd"].n_unique() > 1
    for group in rows.partition_by("trace", "ssd", maintain_order=True):
        trace, ssd = group["trace"][0], group["ssd"][0]
        label = trace_label(trace, facts)
        if several_ssds:
            label += f" · {printable(ssd)}"
        first = group.row(0, named=True)
        footprint = size_text(first["footprint_pages"] * first["page_bytes"])
        summary = (
            f"{first['references']:,} references, {first['write_references']:,} writes · footprint "
            f"{first['footprint_pages']:,} pages ({footprint}) · drive {printable(ssd)}, "
            f"{first['precondition']} before"
        )
        of_group = wear.filter((pl.col("trace") == trace) & (pl.col("ssd") == ssd))
        slug = free_slug(label, [section.slug for section in result])
        records = cell_records(group)
        worn = wear_records(of_group, list(one_name(group).values()))
        result.append(_Section(slug, label, summary, records, worn))
    return result


def _looks(split: Sequence[_Section], canvas: Canvas) -> list[Mark]:
    names = unique(record["policy"] for section in split for record in section.records)
    return marks(names, (), (), canvas.theme)


def _compared(section: _Section, everywhere: Sequence[Mark], highlight: Sequence[str]) -> Compared:
    series = series_of(section.records)
    ranked = rankings({section.label: section.records})
    best_first = [entry.name for entry in ranked[0].entries] if ranked else series
    focus = emphasised(series, best_first, (), highlight)
    looks = [look for look in everywhere if look.policy in series]
    return compared_of(section.records, looks, focus, section.label)


def _part(
    section: _Section, everywhere: Sequence[Mark], highlight: Sequence[str], before: int
) -> Part:
    compared = _compared(section, everywhere, highlight)
    drawn = Drawn(section.slug, before)
    for measure in drawable(MEASURES, section.records):
        chart = measure_chart(compared, measure, CANVAS)
        drawn.add(measure.key, measure.title, caption(compared, measure), chart)
    if section.wear:
        size = section.wear[0]["buffer_pages"]
        said = f"With {size:,} pages of buffer; ageing is not counted."
        chart = wear_chart(section.wear, compared, WEAR_TITLE, CANVAS)
        drawn.add("wear", WEAR_TITLE, said, chart)
    records = section.records + section.wear
    summed = overviews({section.label: section.records})
    return drawn.part(compared, section.summary, records, summed)
