"""The report of two tiers of memory: figures first, then every row, tiers and traces."""

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from clockhand.report.canvas import Canvas, Spec
from clockhand.report.compared import Compared, Record
from clockhand.report.html import study_page
from clockhand.report.sections import Drawing, Section, parts_of, pictures_of, together
from clockhand.report.table import table_without_filter
from clockhand.studies.tier.charts import (
    OVER_TIME,
    cell_records,
    cells_of,
    compared_of,
    drawings,
    overviews,
    price_drawings,
)
from clockhand.studies.tier.course import at_middle, course_drawings, course_records
from clockhand.studies.tier.findings import (
    BOUND,
    STATIC,
    findings,
    group_label,
    groups,
    headline,
    offline_lines,
    share_text,
    with_lines,
)
from clockhand.studies.tier.price import pays_from, price_records
from clockhand.study.facts import Facts, printable
from clockhand.study.sizes import bytes_text

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


def render(
    rows: pl.DataFrame,
    courses: pl.DataFrame,
    facts: Facts,
    highlight: Sequence[str] = (),
    intervals: pl.DataFrame | None = None,
) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, as :func:`clockhand.tier` gives them.

        courses: What happened over time, a row for each.

        facts: How the rows were made; it describes every trace that the rows name.

        highlight: Lines that are emphasised, besides the best.

        intervals: The rows of intervals, if they were asked for.
    """
    sections = _sections(rows, courses, facts)
    parts = parts_of(sections, highlight)
    shown = rows.select(column for column in rows if column.null_count() < len(column))
    table = table_without_filter(shown, facts, HEADINGS)
    title, sentences = headline(rows, facts), findings(rows, facts)
    parts += OVER_TIME.parts(intervals, facts, parts)
    return study_page(
        overline="two tiers of memory",
        title=title,
        sentences=sentences[1:] if sentences[:1] == [f"{title}."] else sentences,
        parts=parts,
        leading=together(sections, overviews, _cells) if len(sections) > 1 else [],
        facts=facts,
        table=table,
    )


def specifications(
    rows: pl.DataFrame, courses: pl.DataFrame, facts: Facts, highlight: Sequence[str] = ()
) -> dict[str, Spec]:
    """Return every figure in Vega-Lite, by its key; the leading one first."""
    return pictures_of(_sections(rows, courses, facts), highlight)


def _sections(rows: pl.DataFrame, courses: pl.DataFrame, facts: Facts) -> list[Section]:
    result = []
    whole = pl.concat([rows, courses], how="horizontal")
    for group in map(with_lines, groups(whole)):
        label = group_label(rows, group, facts)
        cells, middle = cell_records(group), at_middle(group)
        prices, over_time = price_records(middle), course_records(middle)
        records = [*cells, *prices, *over_time]
        result.append(
            Section(
                label=label,
                text=_summary(group),
                records=records,
                overviews=overviews({label: cells}),
                compared=partial(compared_of, cells, label=label),
                drawings=partial(_drawings, prices, over_time, middle),
                always=(BOUND, STATIC),
                offline=offline_lines(group),
                device=printable(group["tiers"][0]),
                place=group_label(rows, group, facts, has_tiers=False),
            )
        )
    return result


def _cells(section: Section) -> list[Record]:
    return cells_of(section.records)


def _drawings(
    prices: Sequence[Record],
    over_time: Sequence[Record],
    middle: pl.DataFrame,
    compared: Compared,
    canvas: Canvas,
) -> Iterator[Drawing]:
    yield from drawings(compared, canvas)
    if middle.is_empty():
        return
    having = f"with {share_text(middle.row(0, named=True))} of fast memory"
    yield from price_drawings(prices, having, _paying(middle), compared, canvas)
    yield from course_drawings(over_time, having, compared, canvas)


def _paying(cells: pl.DataFrame) -> str:
    """Say from which price on migration pays, as the end of a caption."""
    ratio = pays_from(cells)
    if ratio is None:
        return ""
    if ratio == float("inf"):
        return "; migration does not pay at any price up to 1000"
    if ratio == 1:
        return "; migration pays at any price above 1"
    return f"; migration pays where a slow access takes {ratio:.3g} times as long or more"


def _summary(group: pl.DataFrame) -> str:
    first = group.row(0, named=True)
    size = bytes_text(first["footprint_pages"] * first["page_bytes"])
    return (
        f"{first['references']:,} references · footprint {first['footprint_pages']:,} pages of "
        f"{bytes_text(first['page_bytes'])} ({size}) · {printable(first['tiers'])}"
    )
