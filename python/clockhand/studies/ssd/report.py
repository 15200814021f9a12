"""The report of write buffers on flash drives: figures first, then every row, drives and traces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from clockhand.report.appearance import Mark, marks
from clockhand.report.canvas import CANVAS, PICTURE, Canvas, Spec
from clockhand.report.emphasis import emphasised, kept
from clockhand.report.html import Part, payload, study_page
from clockhand.report.lines import Compared
from clockhand.report.measures import Drawn, caption, drawable, measure_chart
from clockhand.report.overview_charts import overview_charts
from clockhand.report.scales import Measure
from clockhand.report.table import table_without_filter
from clockhand.report.words import free_slug, size_text, titled, unique
from clockhand.studies.ssd.charts import (
    MEASURES,
    OVER_TIME,
    cell_records,
    compared_of,
    one_name,
    overviews,
    rankings,
    wear_chart,
    wear_records,
)
from clockhand.studies.ssd.findings import FAMILY, findings
from clockhand.studies.ssd.frontier import (
    FRONTIER,
    FRONTIER_FIELDS,
    frontier_records,
    knee_layers,
)
from clockhand.studies.ssd.tables import SsdTables
from clockhand.studies.ssd.time_charts import TimeFigure, TimeRecords, time_figures, time_records
from clockhand.studies.ssd.time_findings import BASELINE
from clockhand.studies.ssd.time_records import Timed, timed_of
from clockhand.study.facts import printable, trace_label

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
    """The rows of one trace on one drive, ready to be drawn.

    Attributes:
        slug: Its name in files and on the page.

        label: What it is of.

        summary: What stands below the heading.

        series: The buffers, without their sizes.

        records: The values of figures over sizes.

        wear: The values of the figure of wear.

        timed: The tables of time, if the run was timed.

        values: The values of the figures of time.

        frontier: Of a recommendation, the least that a buffer of at most each size needs.
    """

    slug: str
    label: str
    summary: str
    series: list[str]
    records: list[dict[str, Any]]
    wear: list[dict[str, Any]]
    timed: Timed | None
    values: TimeRecords | None
    frontier: list[dict[str, Any]]

    @property
    def measures(self) -> list[Measure]:
        """Measures of the figures over sizes, those with a frontier first."""
        drawn = [
            replace(measure, has_bound=bool(self.frontier) and measure.field in FRONTIER_FIELDS)
            for measure in drawable(MEASURES, self.records)
        ]
        return sorted(drawn, key=lambda measure: not measure.has_bound)


def render(
    run: SsdTables,
    highlight: Sequence[str] = (),
    sizes: pl.DataFrame | None = None,
    answer: Sequence[str] = (),
    intervals: pl.DataFrame | None = None,
) -> str:
    """Return the report of a run as HTML text.

    Args:
        run: What was run.

        highlight: Buffers, without their sizes, that are emphasised besides the best.

        sizes: Of a recommendation, what is best at each size.

        answer: Its sentences, which lead the report.

        intervals: The rows of intervals, if they were asked for.
    """
    rows, facts = run.rows, run.facts
    split = _sections(run, sizes)
    everywhere = _looks(split, CANVAS)
    parts: list[Part] = []
    for section in split:
        before = sum(len(part.figures) for part in parts)
        parts.append(_part(section, everywhere, highlight, before))
    title, sentences = titled(
        answer or findings(rows, facts, run.classes),
        len(split),
        f"Write buffers on flash drives, {len(split)} inputs",
    )
    table = table_without_filter(rows, facts, HEADINGS)
    together = {section.label: section.records for section in split}
    parts += OVER_TIME.parts(intervals, facts, parts)
    return study_page().render(
        overline="write buffers and flash drives",
        title=title,
        sentences=sentences,
        parts=parts,
        leading=overviews(together) if len(split) > 1 else [],
        facts=printable({**facts, "ssds": _once(facts["ssds"])}),
        table=table,
        payload=payload(parts, {"rows-heading": table}),
    )


def specifications(
    run: SsdTables, highlight: Sequence[str] = (), sizes: pl.DataFrame | None = None
) -> dict[str, Spec]:
    """Return every figure in Vega-Lite, by its key; the leading one first."""
    split = _sections(run, sizes)
    everywhere = _looks(split, PICTURE)
    together = {section.label: section.records for section in split}
    label = split[0].label if len(split) == 1 else f"{len(split)} inputs"
    summaries: dict[str, Spec] = {}
    for summed in overviews(together):
        summaries |= overview_charts(summed, PICTURE, label)
    drawn = {} if sizes is not None else dict(summaries)
    for section in split:
        prefix = f"{section.slug}-" if len(split) > 1 else ""
        compared = _compared(section, everywhere, highlight)
        for figure in _figures(section, compared, PICTURE):
            drawn[prefix + figure.key] = figure.chart
    return {**drawn, **summaries}


def _figures(section: _Section, compared: Compared, canvas: Canvas) -> Iterator[TimeFigure]:
    """Give the figures of one trace on one drive: frontiers, time, sizes and wear."""

    def over_sizes(measure: Measure) -> TimeFigure:
        chart = measure_chart(compared, measure, canvas)
        said = caption(compared, measure)
        if measure.has_bound:
            said += " Dashed: the frontier, the least that a buffer of at most each size needs."
            chart["layer"] += knee_layers(compared, measure, section.frontier, canvas)
        return TimeFigure(measure.key, measure.title, said, chart)

    leading = [measure for measure in section.measures if measure.has_bound]
    yield from map(over_sizes, leading)
    if section.timed is not None and section.values is not None:
        yield from time_figures(section.timed, section.values, compared, canvas)
    yield from (over_sizes(measure) for measure in section.measures if measure not in leading)
    if section.wear:
        pages = max(record["buffer_pages"] for record in section.wear)
        said = f"With {pages:,} pages of buffer; ageing is not counted."
        chart = wear_chart(section.wear, compared, WEAR_TITLE, canvas)
        yield TimeFigure("wear", WEAR_TITLE, said, chart)


def _once(ssds: Sequence[Any]) -> list[Any]:
    return list({ssd["name"]: ssd for ssd in ssds}.values())


def _sections(run: SsdTables, sizes: pl.DataFrame | None) -> list[_Section]:
    result: list[_Section] = []
    several_ssds = run.rows["ssd"].n_unique() > 1
    for group in run.rows.with_columns(FAMILY).partition_by("trace", "ssd", maintain_order=True):
        trace, ssd = group["trace"][0], group["ssd"][0]
        label = trace_label(trace, run.facts)
        if several_ssds:
            label += f" · {printable(ssd)}"
        of_group = run.wear.filter((pl.col("trace") == trace) & (pl.col("ssd") == ssd))
        names = one_name(group)
        series = list(dict.fromkeys(names.values()))
        timed = timed_of(run, group, names)
        result.append(
            _Section(
                slug=free_slug(label, [section.slug for section in result]),
                label=label,
                summary=_summary(group, timed),
                series=series,
                records=cell_records(group),
                wear=wear_records(of_group, series),
                timed=timed,
                values=None if timed is None else time_records(timed),
                frontier=[] if sizes is None else frontier_records(sizes),
            )
        )
    return result


def _summary(group: pl.DataFrame, timed: Timed | None) -> str:
    first = group.row(0, named=True)
    footprint = size_text(first["footprint_pages"] * first["page_bytes"])
    counted = [
        f"{first[name]:,} {words}"
        for name, words in (("references", "references"), ("write_references", "writes"))
        if first[name] is not None
    ]
    parts = [", ".join(counted)] if counted else []
    parts.append(f"footprint {first['footprint_pages']:,} pages ({footprint})")
    parts.append(f"drive {printable(first['ssd'])}, {first['precondition']} before")
    if timed is not None:
        parts.append(f"arrivals {printable(timed.place.arrivals)}")
        sizes = group.filter(pl.col("buffer_pages") > 0)["buffer_pages"].n_unique()
        if sizes > 1:
            parts.append(f"figures of time with {timed.place.pages:,} pages of buffer")
    return " · ".join(parts)


def _looks(split: Sequence[_Section], canvas: Canvas) -> list[Mark]:
    return marks(unique(name for section in split for name in section.series), canvas.theme)


def _compared(section: _Section, everywhere: Sequence[Mark], highlight: Sequence[str]) -> Compared:
    ranked = rankings({section.label: section.records})
    best_first = [entry.name for entry in ranked[0].entries] if ranked else section.series
    if section.timed is not None:
        best_first = list(section.timed.series)
    given = (section.series, best_first, (BASELINE,), highlight)
    looks = [look for look in everywhere if look.policy in section.series]
    compared = compared_of(section.records, looks, emphasised(*given), section.label)
    return replace(compared, anchors=kept(*given), bounds=section.frontier, bound=FRONTIER)


def _part(
    section: _Section, everywhere: Sequence[Mark], highlight: Sequence[str], before: int
) -> Part:
    compared = _compared(section, everywhere, highlight)
    drawn = Drawn(section.slug, before)
    records = [*section.records, *section.wear, *section.frontier]
    if section.values is not None:
        records += section.values.all()
    for figure in _figures(section, compared, CANVAS):
        drawn.add(figure.key, figure.title, figure.caption, figure.chart, figure.looks)
    summed = overviews({section.label: section.records})
    return drawn.part(compared, section.summary, records, summed)
