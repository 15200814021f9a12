"""The report of page caches: figures first, then every row, devices, policies and traces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from clockhand.report.appearance import Mark, marks
from clockhand.report.canvas import CANVAS, PICTURE, Canvas, picture
from clockhand.report.html import Figure, Part, payload, template
from clockhand.report.table import table_without_filter
from clockhand.report.words import free_slug
from clockhand.studies.pagecache.charts import (
    MEASURES,
    REASONS_TITLE,
    Measure,
    cell_records,
    is_drawable,
    measure_chart,
    reason_records,
    reasons_chart,
)
from clockhand.studies.pagecache.findings import OFFLINE, findings
from clockhand.study.facts import Facts, printable, trace_label

PAGE_TEMPLATE = Path(__file__).with_name("report.html.j2")

BASELINES = ("lru",)


@dataclass(frozen=True)
class _Section:
    """The rows of one trace, ready to be drawn."""

    slug: str
    label: str
    summary: str
    records: list[dict[str, Any]]
    reasons: list[dict[str, Any]]

    def measures(self) -> list[Measure]:
        return [measure for measure in MEASURES if is_drawable(self.records, measure)]


def render(rows: pl.DataFrame, facts: Facts) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, one per trace, memory size and policy, in the order given.
        facts: How the rows were made; it describes every trace that the rows name.
    """
    split = _sections(rows, facts)
    parts: list[Part] = []
    for section in split:
        parts.append(_part(section, sum(len(part.figures) for part in parts)))
    sentences = findings(rows, facts)
    return template(PAGE_TEMPLATE).render(
        title=_title(split, sentences),
        sentences=sentences,
        parts=parts,
        facts=printable(facts),
        table=table_without_filter(rows, facts, {}),
        payload=payload(parts),
    )


def pictures(rows: pl.DataFrame, folder: str | Path, facts: Facts) -> dict[Path, bytes]:
    """Return every figure as SVG and PNG: the content of each file in ``folder``."""
    split = _sections(rows, facts)
    files = {}
    for section in split:
        prefix = f"{section.slug}-" if len(split) > 1 else ""
        looks = _looks(section, PICTURE)
        charts = {
            measure.key: measure_chart(section.records, measure, looks, PICTURE, section.label)
            for measure in section.measures()
        }
        if section.reasons:
            charts["reasons"] = reasons_chart(section.reasons, looks, PICTURE, section.label)
        for key, chart in charts.items():
            for suffix in ("svg", "png"):
                files[Path(folder) / f"{prefix}{key}.{suffix}"] = picture(chart, suffix)
    return files


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
        section = _Section(slug, label, summary, cell_records(group), reason_records(group))
        result.append(section)
    return result


def _looks(section: _Section, canvas: Canvas) -> list[Mark]:
    policies = list(dict.fromkeys(record["policy"] for record in section.records))
    return marks(policies, BASELINES, (OFFLINE,), canvas.theme)


def _part(section: _Section, before: int) -> Part:
    figures: list[Figure] = []
    looks = _looks(section, CANVAS)

    def add(key: str, title: str, caption: str, chart: alt.LayerChart) -> None:
        identity = f"{section.slug}-{key}"
        number = before + len(figures) + 1
        figures.append(Figure(identity, title, caption, chart.to_dict(), number))

    for measure in section.measures():
        chart = measure_chart(section.records, measure, looks, CANVAS, section.label)
        add(measure.key, measure.title, measure.note, chart)
    if section.reasons:
        frames = section.reasons[0]["at_frames"]
        caption = f"With {frames:,} frames; pages that are dirty at the end are not in it."
        chart = reasons_chart(section.reasons, looks, CANVAS, section.label)
        add("reasons", REASONS_TITLE, caption, chart)
    records = section.records + section.reasons
    return Part(section.slug, section.label, section.summary, [("", figures)], records, looks)


def _title(split: Sequence[_Section], sentences: Sequence[str]) -> str:
    if len(split) == 1 and sentences:
        return sentences[0].rstrip(".")
    return f"Page caches, {len(split)} {'trace' if len(split) == 1 else 'traces'}"
