"""The report of write buffers on flash drives: figures first, then every row, drives and traces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from clockhand.report.appearance import Mark
from clockhand.report.canvas import PICTURE, Canvas, Spec
from clockhand.report.compared import Compared
from clockhand.report.html import study_page
from clockhand.report.measures import drawable, same_everywhere
from clockhand.report.overview_charts import overview_charts
from clockhand.report.scales import Measure
from clockhand.report.sections import Drawing, Section, over_sizes, parts_of, pictures_of, together
from clockhand.report.table import table_without_filter
from clockhand.report.words import size_text, titled, unique
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
from clockhand.studies.ssd.findings import FAMILY, findings, headline, over_inputs
from clockhand.studies.ssd.frontier import (
    FRONTIER,
    FRONTIER_FIELDS,
    frontier_records,
    knee_layers,
)
from clockhand.studies.ssd.tables import SsdTables
from clockhand.studies.ssd.time_charts import TimeRecords, time_figures, time_records
from clockhand.studies.ssd.time_findings import BASELINE
from clockhand.studies.ssd.time_records import Timed, timed_of
from clockhand.study.facts import printable, trace_label
from clockhand.study.records import Fields, Record

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
    sections = _sections(run, sizes)
    parts = parts_of(sections, highlight)
    title, sentences = titled(
        answer or findings(rows, facts, run.classes),
        len(sections),
        f"Write buffers on flash drives, {len(sections)} inputs",
    )
    if not answer and len(sections) == 1:
        # With one size or several, the title is about all of them.
        title, sentences = headline(rows) or title, findings(rows, facts, run.classes)
    leading = together(sections, overviews, _over_sizes) if len(sections) > 1 else []
    if not answer and leading:
        title = over_inputs(leading[0]) or title
    table = table_without_filter(rows, facts, HEADINGS)
    parts += OVER_TIME.parts(intervals, facts, parts)
    return study_page(
        overline="write buffers and flash drives",
        title=title,
        sentences=sentences,
        parts=parts,
        leading=leading,
        facts={**facts, "ssds": _once(facts["ssds"])},
        table=table,
    )


def specifications(
    run: SsdTables, highlight: Sequence[str] = (), sizes: pl.DataFrame | None = None
) -> dict[str, Spec]:
    """Return every figure in Vega-Lite, by its key; the leading one first."""
    sections = _sections(run, sizes)
    label = sections[0].label if len(sections) == 1 else f"{len(sections)} inputs"
    summaries: dict[str, Spec] = {}
    for summed in together(sections, overviews, _over_sizes):
        summaries |= overview_charts(summed, PICTURE, label)
    drawn = pictures_of(sections, highlight, has_overviews=False)
    # A recommendation is led by its frontier.
    return {**summaries, **drawn} if sizes is None else {**drawn, **summaries}


@dataclass(frozen=True)
class _Figures:
    """What the figures of one trace on one drive show.

    Attributes:
        records: The values of figures over sizes.

        wear: The values of the figure of wear.

        timed: The tables of time, if the run was timed.

        values: The values of the figures of time.

        frontier: Of a recommendation, the least that a buffer of at most each size needs.
    """

    records: list[Fields]
    wear: list[Fields]
    timed: Timed | None
    values: TimeRecords | None
    frontier: list[Fields]

    @property
    def everything(self) -> list[Fields]:
        """The values of all figures."""
        values = [] if self.values is None else self.values.all()
        return [*self.records, *self.wear, *self.frontier, *values]

    @property
    def best_first(self) -> list[str]:
        """The buffers from the best on, if anything ranks them."""
        if self.timed is not None:
            return list(self.timed.series)
        ranked = rankings({"": self.records})
        return [entry.name for entry in ranked[0].entries] if ranked else []

    @property
    def measures(self) -> list[Measure]:
        """Measures of the figures over sizes, those with a frontier first."""
        drawn = [
            replace(measure, has_bound=bool(self.frontier) and measure.field in FRONTIER_FIELDS)
            for measure in drawable(MEASURES, self.records)
        ]
        # What the title is about comes first: of timed runs their p99.
        is_led_by_time = self.timed is not None and not self.frontier
        leading = ("write_p99_us", "read_p99_us") if is_led_by_time else ()
        return sorted(
            drawn, key=lambda measure: (not measure.has_bound, measure.field not in leading)
        )

    def compared(self, looks: Sequence[Mark], focus: Sequence[str], label: str) -> Compared:
        """Return what the figures share."""
        compared = compared_of(self.records, looks, focus, label)
        return replace(compared, bounds=self.frontier, bound=FRONTIER)

    def drawings(self, compared: Compared, canvas: Canvas) -> Iterator[Drawing]:
        """Draw frontiers, time, sizes and wear."""

        def drawn(measure: Measure) -> Drawing:
            drawing = over_sizes(compared, measure, canvas)
            if not measure.has_bound:
                return drawing
            said = " Dashed: the frontier, the least that a buffer of at most each size needs."
            drawing.chart["layer"] += knee_layers(compared, measure, self.frontier, canvas)
            return replace(drawing, caption=drawing.caption + said)

        leading = [measure for measure in self.measures if measure.has_bound]
        yield from map(drawn, leading)
        if self.timed is not None and self.values is not None:
            yield from time_figures(self.timed, self.values, compared, canvas)
        yield from (drawn(measure) for measure in self.measures if measure not in leading)
        if self.wear:
            pages = max(record["buffer_pages"] for record in self.wear)
            said = f"With {pages:,} pages of buffer; ageing is not counted."
            chart = wear_chart(self.wear, compared, WEAR_TITLE, canvas)
            yield Drawing("wear", WEAR_TITLE, said, chart)


def _is_timed(rows: pl.DataFrame) -> bool:
    return "duration_us" in rows.columns and rows["duration_us"].null_count() < rows.height


def _once(ssds: Sequence[Record]) -> list[Record]:
    return list({ssd["name"]: ssd for ssd in ssds}.values())


def _sections(run: SsdTables, sizes: pl.DataFrame | None) -> list[Section]:
    result: list[Section] = []
    several_ssds = run.rows["ssd"].n_unique() > 1
    for group in run.rows.with_columns(FAMILY).partition_by("trace", "ssd", maintain_order=True):
        trace, ssd = group["trace"][0], group["ssd"][0]
        label = trace_label(trace, run.facts)
        if several_ssds:
            label += f" · {printable(ssd)}"
        of_group = run.wear.filter((pl.col("trace") == trace) & (pl.col("ssd") == ssd))
        names = one_name(group)
        timed = timed_of(run, group, names)
        figures = _Figures(
            records=cell_records(group),
            wear=wear_records(of_group, unique(names.values())),
            timed=timed,
            values=None if timed is None else time_records(timed),
            frontier=[] if sizes is None else frontier_records(sizes),
        )
        result.append(
            Section(
                label=label,
                text=" · ".join(
                    [_summary(group, timed), *same_everywhere(MEASURES, figures.records)]
                ),
                records=figures.everything,
                overviews=overviews({label: figures.records}),
                compared=partial(figures.compared, label=label),
                drawings=figures.drawings,
                always=(BASELINE,),
                series=unique(names.values()),
                best_first=figures.best_first,
                device=printable(ssd),
                place=trace_label(trace, run.facts),
            )
        )
    everywhere = unique(name for section in result for name in section.series)
    return [replace(section, everywhere=everywhere) for section in result]


def _over_sizes(section: Section) -> list[Fields]:
    """The values over sizes, without those of a frontier."""
    return [record for record in section.records if {"buffer", "buffer_mib"} <= record.keys()]


def _summary(group: pl.DataFrame, timed: Timed | None) -> str:
    first = group.row(0, named=True)
    footprint = size_text(first["footprint_pages"] * first["page_bytes"])
    counted = [
        f"{first[name]:,} {words}"
        for name, words in (("references", "references"), ("write_references", "writes"))
        if first[name] is not None
    ]
    parts = [", ".join(counted)] if counted else []
    where = {"wrap": " of the drive, onto which addresses are wrapped"}.get(first["map"], "")
    parts.append(f"footprint {first['footprint_pages']:,} pages{where} ({footprint})")
    parts.append(f"drive {printable(first['ssd'])}, {first['precondition']} before")
    if timed is not None:
        parts.append(f"arrivals {printable(timed.place.arrivals)}")
        sizes = group.filter(pl.col("buffer_pages") > 0)["buffer_pages"].n_unique()
        if sizes > 1:
            parts.append(f"figures of time with {timed.place.pages:,} pages of buffer")
    return " · ".join(parts)
