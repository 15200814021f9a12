"""The report of file caches: figures first, then every row, devices and traces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from clockhand.report.appearance import Mark, marks
from clockhand.report.canvas import CANVAS, PICTURE, ROWS, Canvas, picture
from clockhand.report.html import script_json, template
from clockhand.report.table import table_without_filter
from clockhand.report.words import free_slug
from clockhand.studies.filecache.charts import (
    NO_CACHE,
    break_even_chart,
    break_even_records,
    cell_records,
    hit_chart,
    time_chart,
)
from clockhand.studies.filecache.findings import findings, group_label, groups, headline
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
class Figure:
    """One figure of the page; ``number`` counts them."""

    identity: str
    number: int
    title: str
    caption: str


@dataclass(frozen=True)
class Part:
    """One trace at one block size."""

    slug: str
    label: str
    summary: str
    figures: list[Figure]
    looks: list[Mark]


@dataclass(frozen=True)
class _Drawing:
    """A figure before it is numbered."""

    key: str
    title: str
    caption: str
    chart: alt.LayerChart


def render(rows: pl.DataFrame, facts: Facts) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, as :func:`clockhand.filecache` gives them.
        facts: How the rows were made; it describes every trace that the rows name.
    """
    parts: list[Part] = []
    payload: list[dict[str, Any]] = []
    number = 0
    for group in groups(rows):
        label = group_label(rows, group, facts)
        slug = free_slug(label, [part.slug for part in parts])
        records = cell_records(group) + break_even_records(group)
        looks = _looks(records, CANVAS)
        figures, drawn = [], []
        for drawing in _drawings(group, records, looks, CANVAS, label):
            number += 1
            identity = f"{slug}-{drawing.key}"
            figures.append(Figure(identity, number, drawing.title, drawing.caption))
            drawn.append({"identity": identity, "specification": drawing.chart.to_dict()})
        parts.append(Part(slug, label, _summary(group), figures, looks))
        payload.append({ROWS: records, "figures": drawn})
    sentences = findings(rows, facts)
    return template(PAGE_TEMPLATE).render(
        title=headline(rows, facts),
        sentences=sentences,
        parts=parts,
        facts=printable(facts),
        table=table_without_filter(rows, facts, HEADINGS),
        payload=script_json(payload),
    )


def pictures(rows: pl.DataFrame, folder: str | Path, facts: Facts) -> dict[Path, bytes]:
    """Return every figure as SVG and PNG: the content of each file in ``folder``."""
    files = {}
    slugs: list[str] = []
    split = groups(rows)
    for group in split:
        label = group_label(rows, group, facts)
        slugs.append(free_slug(label, slugs))
        prefix = f"{slugs[-1]}-" if len(split) > 1 else ""
        records = cell_records(group) + break_even_records(group)
        for drawing in _drawings(group, records, _looks(records, PICTURE), PICTURE, label):
            for suffix in ("svg", "png"):
                path = Path(folder) / f"{prefix}{drawing.key}.{suffix}"
                files[path] = picture(drawing.chart, suffix)
    return files


def _drawings(
    group: pl.DataFrame,
    records: Sequence[dict[str, Any]],
    looks: Sequence[Mark],
    canvas: Canvas,
    label: str,
) -> Iterator[_Drawing]:
    title = "Hits that pay for caching a block"
    caption = (
        "The fewest hits after which a block in the cache has cost less than without one, by "
        "device; fewer hits, better for the cache."
    )
    chart = break_even_chart(records, title, canvas, label)
    yield _Drawing("required-hits", title, caption, chart)
    title = "Hit ratio"
    caption = "Share of references that the cache serves; refused blocks are misses."
    yield _Drawing("hit-ratio", title, caption, hit_chart(records, title, looks, canvas, label))
    slugs: list[str] = []
    for device in group["device"].unique(maintain_order=True):
        shown = printable(device)
        slugs.append(free_slug(shown, slugs))
        title = f"Time of all references on {shown}"
        caption = "With a cache, by admission, and without one; lower is better."
        chart = time_chart(records, shown, title, looks, canvas, label)
        yield _Drawing(f"time-{slugs[-1]}", title, caption, chart)


def _looks(records: Sequence[dict[str, Any]], canvas: Canvas) -> list[Mark]:
    lines = [str(record["policy"]) for record in records if "policy" in record]
    return marks(list(dict.fromkeys(lines)), (NO_CACHE,), (), canvas.theme)


def _summary(group: pl.DataFrame) -> str:
    first = group.row(0, named=True)
    size = bytes_text(first["footprint_blocks"] * first["block_bytes"])
    return (
        f"{first['references']:,} references, {first['write_references']:,} writes · footprint "
        f"{first['footprint_blocks']:,} blocks of {bytes_text(first['block_bytes'])} ({size}) · "
        f"writes {first['writes']}"
    )
