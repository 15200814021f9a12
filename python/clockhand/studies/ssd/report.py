"""The report of write buffers on flash drives: figures first, then every row, drives and traces."""

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
from clockhand.studies.ssd.charts import (
    MEASURES,
    Measure,
    cell_records,
    is_drawable,
    measure_chart,
    wear_chart,
    wear_records,
)
from clockhand.studies.ssd.findings import FAMILY, findings, geometry_line
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

    def measures(self) -> list[Measure]:
        return [measure for measure in MEASURES if is_drawable(self.records, measure)]


def render(rows: pl.DataFrame, wear: pl.DataFrame, facts: SsdRunFacts) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, one per trace, drive and buffer, in the order given.
        wear: How many blocks of each row's drive were erased how often.
        facts: How the rows were made; it describes every trace that the rows name.
    """
    split = _sections(rows, wear, facts)
    everywhere = _looks(rows, CANVAS)
    parts: list[Part] = []
    for section in split:
        parts.append(_part(section, everywhere, sum(len(part.figures) for part in parts)))
    sentences = findings(rows, facts)
    return template(PAGE_TEMPLATE).render(
        title=_title(split, sentences),
        sentences=sentences,
        geometries=[geometry_line(ssd) for ssd in _once(facts["ssds"])],
        parts=parts,
        facts=printable({**facts, "ssds": _once(facts["ssds"])}),
        table=table_without_filter(rows, facts, HEADINGS),
        payload=payload(parts),
    )


def pictures(
    rows: pl.DataFrame, wear: pl.DataFrame, folder: str | Path, facts: SsdRunFacts
) -> dict[Path, bytes]:
    """Return every figure as SVG and PNG: the content of each file in ``folder``."""
    split = _sections(rows, wear, facts)
    everywhere = _looks(rows, PICTURE)
    files = {}
    for section in split:
        prefix = f"{section.slug}-" if len(split) > 1 else ""
        looks = _present(everywhere, section)
        charts = {
            measure.key: measure_chart(section.records, measure, looks, PICTURE, section.label)
            for measure in section.measures()
        }
        if section.wear:
            charts["wear"] = wear_chart(section.wear, WEAR_TITLE, looks, PICTURE, section.label)
        for key, chart in charts.items():
            for suffix in ("svg", "png"):
                files[Path(folder) / f"{prefix}{key}.{suffix}"] = picture(chart, suffix)
    return files


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
        size_mib = first["footprint_pages"] * first["page_bytes"] / (1 << 20)
        summary = (
            f"{first['references']:,} references, {first['write_references']:,} writes · footprint "
            f"{first['footprint_pages']:,} pages ({size_mib:,.4g} MiB) · drive {printable(ssd)}, "
            f"{first['precondition']} before"
        )
        of_group = wear.filter((pl.col("trace") == trace) & (pl.col("ssd") == ssd))
        slug = free_slug(label, [section.slug for section in result])
        result.append(_Section(slug, label, summary, cell_records(group), wear_records(of_group)))
    return result


def _looks(rows: pl.DataFrame, canvas: Canvas) -> list[Mark]:
    families = rows.select(FAMILY)["policy"].unique(maintain_order=True).to_list()
    return marks([printable(family) for family in families], (), (), canvas.theme)


def _present(everywhere: Sequence[Mark], section: _Section) -> list[Mark]:
    present = {record["policy"] for record in section.records}
    return [look for look in everywhere if look.policy in present]


def _part(section: _Section, everywhere: Sequence[Mark], before: int) -> Part:
    figures: list[Figure] = []
    looks = _present(everywhere, section)

    def add(key: str, title: str, caption: str, chart: alt.LayerChart) -> None:
        identity = f"{section.slug}-{key}"
        number = before + len(figures) + 1
        figures.append(Figure(identity, title, caption, chart.to_dict(), number))

    for measure in section.measures():
        chart = measure_chart(section.records, measure, looks, CANVAS, section.label)
        add(measure.key, measure.title, measure.note, chart)
    if section.wear:
        size = section.wear[0]["buffer_pages"]
        caption = f"With {size:,} pages of buffer; ageing is not counted."
        chart = wear_chart(section.wear, WEAR_TITLE, looks, CANVAS, section.label)
        add("wear", WEAR_TITLE, caption, chart)
    records = section.records + section.wear
    return Part(section.slug, section.label, section.summary, [("", figures)], records, looks)


def _title(split: Sequence[_Section], sentences: Sequence[str]) -> str:
    if len(split) == 1 and sentences:
        return sentences[0].rstrip(".")
    return f"Write buffers on flash drives, {len(split)} inputs"
