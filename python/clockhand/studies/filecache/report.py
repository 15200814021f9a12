"""The report of file caches: figures first, then every row, devices and traces."""

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from clockhand.report.canvas import Canvas, Spec
from clockhand.report.compared import Compared, Record
from clockhand.report.html import study_page
from clockhand.report.sections import Drawing, Section, over_sizes, parts_of, pictures_of
from clockhand.report.table import table_without_filter
from clockhand.report.words import free_slug
from clockhand.studies.filecache.charts import (
    HIT_RATIO,
    NO_CACHE,
    OVER_TIME,
    break_even_chart,
    break_even_records,
    cell_records,
    compared_of,
    of_hits,
    of_time,
    overviews,
)
from clockhand.studies.filecache.findings import (
    by_device,
    findings,
    group_label,
    groups,
    headline,
)
from clockhand.study.facts import Facts
from clockhand.study.sizes import bytes_text

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


def render(
    rows: pl.DataFrame,
    facts: Facts,
    highlight: Sequence[str] = (),
    intervals: pl.DataFrame | None = None,
) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, as :func:`clockhand.filecache` gives them.

        facts: How the rows were made; it describes every trace that the rows name.

        highlight: Admissions that are emphasised, besides the best.

        intervals: The rows of intervals, if they were asked for.
    """
    sections = _sections(rows, facts)
    parts = parts_of(sections, highlight)
    together = {section.label: section.records for section in sections}
    table = table_without_filter(rows, facts, HEADINGS)
    parts += OVER_TIME.parts(intervals, facts, parts)
    return study_page(
        overline="file caches",
        title=headline(rows, facts),
        sentences=findings(rows, facts),
        parts=parts,
        leading=overviews(together) if len(together) > 1 else [],
        facts=facts,
        table=table,
    )


def specifications(
    rows: pl.DataFrame, facts: Facts, highlight: Sequence[str] = ()
) -> dict[str, Spec]:
    """Return every figure in Vega-Lite, by its key; the leading one first."""
    return pictures_of(_sections(rows, facts), highlight)


def _sections(rows: pl.DataFrame, facts: Facts) -> list[Section]:
    result = []
    for group in groups(rows):
        label = group_label(rows, group, facts)
        records = cell_records(group) + break_even_records(group)
        result.append(
            Section(
                label=label,
                text=_summary(group),
                records=records,
                overviews=overviews({label: records}),
                compared=partial(compared_of, records, label=label),
                drawings=partial(_drawings, group, records),
                always=(NO_CACHE,),
            )
        )
    return result


def _drawings(
    group: pl.DataFrame, records: Sequence[Record], compared: Compared, canvas: Canvas
) -> Iterator[Drawing]:
    title = "Hits that pay for caching a block"
    caption = (
        "The fewest hits after which a block in the cache has cost less than without one, by "
        "device; fewer hits, better for the cache."
    )
    if group["required_hits"].n_unique() > 1:
        chart = break_even_chart(records, title, canvas, compared.label)
        yield Drawing("required-hits", title, caption, chart)
    yield over_sizes(of_hits(compared), HIT_RATIO, canvas)
    slugs: list[str] = []
    for shown, _ in by_device(group):
        slugs.append(free_slug(shown, slugs))
        yield over_sizes(*of_time(compared, shown), canvas, f"time-{slugs[-1]}")


def _summary(group: pl.DataFrame) -> str:
    first = group.row(0, named=True)
    size = bytes_text(first["footprint_blocks"] * first["block_bytes"])
    return (
        f"{first['references']:,} references, {first['write_references']:,} writes · footprint "
        f"{first['footprint_blocks']:,} blocks of {bytes_text(first['block_bytes'])} ({size}) · "
        f"writes {first['writes']}"
    )
