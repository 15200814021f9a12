"""The report of a reproduction: every claim with a verdict, and the paper's figures."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from clockhand.report.appearance import BOUND_DASH, PAGE, Mark, marks
from clockhand.report.canvas import CANVAS
from clockhand.report.html import Figure, Part
from clockhand.report.words import number_text
from clockhand.reproduce.claims import Claim
from clockhand.reproduce.report import Lines, draw_part, page_of
from clockhand.studies.locality.charts import look, panel_chart, panel_records
from clockhand.studies.locality.panels import topics
from clockhand.study.facts import Facts, trace_label
from clockhand.study.policies import BASELINE, BOUND, FEASIBLE, reads_the_future

PAGE_TEMPLATE = Path(__file__).with_name("craw_report.html.j2")


PAPERS_POLICIES = ("clock", "car", "cfclock", "cfclock:clear_passed=false", "craw")
OTHER_POLICIES = ("clock", "craw", "cflru", "lru-wsr", "arc", FEASIBLE, BOUND)
AREAS = {"S_R_pages": "read area", "S_W1_pages": "write area W1", "S_W2_pages": "write area W2"}


def render_reproduction(
    *,
    paper: str,
    claims: Sequence[Claim],
    paper_tables: Mapping[str, pl.DataFrame],
    rows: pl.DataFrame,
    gauges: pl.DataFrame,
    localities: Mapping[str, pl.DataFrame],
    facts: Facts,
) -> str:
    """Return a reproduction as HTML text.

    Args:
        paper: The paper in a few words.
        claims: Its claims, judged.
        paper_tables: Its tables beside ours, by title.
        rows: The rows of the sweep, with CLOCK at every memory size.
        gauges: CRAW's gauges, per trace.
        localities: The tables of a locality analysis of the same traces, by name.
        facts: How the rows were made; it describes every trace that they name.
    """
    traces = rows["trace"].unique(maintain_order=True).to_list()
    labels = {trace: trace_label(trace, facts) for trace in traces}
    everywhere = {mark.policy: mark for mark in _marks(rows)}
    parts = [_locality_part(localities, labels)]
    for key, title, text, panels in _topics(rows, gauges, traces):
        parts.append(draw_part(key, title, text, panels, labels, everywhere))
    return page_of(
        PAGE_TEMPLATE,
        paper=paper,
        traces=len(traces),
        claims=claims,
        paper_tables=paper_tables,
        parts=parts,
        facts=facts,
    )


def _marks(rows: pl.DataFrame) -> list[Mark]:
    policies = [name for name in rows["policy"].unique(maintain_order=True) if name != BOUND]
    offline = {name for name in policies if reads_the_future(name)}
    drawn = marks(policies, {BASELINE}, offline, PAGE)
    return [*drawn, Mark(BOUND, PAGE.muted, "", BOUND_DASH)]


def _topics(
    rows: pl.DataFrame, gauges: pl.DataFrame, traces: Sequence[str]
) -> Iterator[tuple[str, str, str, dict[str, list[Lines]]]]:
    relative = _relative(rows)
    yield (
        "figure-12",
        "Figure 12: I/O time by memory size",
        "All reads and writes of the device together, over those of CLOCK at the same memory size; "
        "below 1 is less. The second panel shows the policies that the paper's figure lacks, and "
        "the bracket of the optimum: a schedule that knows the future, and the lower bound.",
        {
            trace: [
                _over_memory(relative, trace, "The paper's policies", PAPERS_POLICIES, False),
                _over_memory(relative, trace, "What else there is", OTHER_POLICIES, False),
            ]
            for trace in traces
        },
    )
    yield (
        "figures-13-14",
        "Figures 13 and 14: read and write I/Os",
        "Pages read from and written to the device, on logarithmic axes.",
        {
            trace: [
                _over_memory(_counts(rows, "read_ios"), trace, "Read I/Os", PAPERS_POLICIES, True),
                _over_memory(
                    _counts(rows, "write_ios"), trace, "Write I/Os", PAPERS_POLICIES, True
                ),
            ]
            for trace in traces
        },
    )
    yield (
        "figure-15",
        "Figure 15: desired sizes of CRAW's areas as time progresses",
        "At page faults, with a fifth of the footprint as memory; a page may be in a read and a "
        "write area at once.",
        {trace: [_areas(gauges, trace)] for trace in traces},
    )
    yield (
        "figure-17",
        "Figure 17: CRAW and CRAW-A",
        "I/O time over that of CLOCK, as in Figure 12.",
        {
            trace: [_over_memory(relative, trace, "I/O time", ("clock", "craw", "craw-a"), False)]
            for trace in traces
        },
    )


def _relative(rows: pl.DataFrame) -> pl.DataFrame:
    clock = rows.filter(pl.col("policy") == BASELINE).select(
        "trace", "frames", pl.col("io_time_us").alias("clock_time_us")
    )
    joined = rows.join(clock.unique(["trace", "frames"]), on=["trace", "frames"], how="left")
    return joined.with_columns(
        pl.when(pl.col("clock_time_us") > 0)
        .then(pl.col("io_time_us") / pl.col("clock_time_us"))
        .alias("y")
    )


def _counts(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Counts for a logarithmic axis, which has no place for 0."""
    return rows.with_columns(pl.when(pl.col(column) > 0).then(pl.col(column)).alias("y"))


def _over_memory(
    rows: pl.DataFrame, trace: str, title: str, policies: tuple[str, ...], is_logarithmic: bool
) -> Lines:
    chosen = rows.filter((pl.col("trace") == trace) & pl.col("policy").is_in(policies))
    points = chosen.unique(["policy", "frames"], keep="first", maintain_order=True)
    records = points.select(
        pl.col("policy").alias("series"),
        (100 * pl.col("memory_share")).alias("x"),
        pl.col("y").cast(pl.Float64),
        pl.format("{} frames", "frames").alias("at"),
    ).to_dicts()
    present = {record["series"] for record in records}
    return Lines(
        title,
        "",
        "memory (% of footprint)",
        "pages" if is_logarithmic else "relative to CLOCK",
        tuple(policy for policy in policies if policy in present),
        records,
        is_logarithmic,
    )


def _areas(gauges: pl.DataFrame, trace: str) -> Lines:
    of_trace = gauges.filter((pl.col("trace") == trace) & pl.col("gauge").is_in(list(AREAS)))
    records = of_trace.select(
        pl.col("gauge").replace_strict(AREAS, return_dtype=pl.String).alias("series"),
        pl.col("fault").alias("x"),
        pl.col("value").alias("y"),
        pl.format("fault {}", "fault").alias("at"),
    ).to_dicts()
    frames = of_trace["frames"].max()
    caption = f"{number_text(frames)} page frames." if frames is not None else "No page leaves."
    return Lines(
        "Desired sizes", caption, "page fault", "pages", tuple(AREAS.values()), records, False
    )


def _locality_part(localities: Mapping[str, pl.DataFrame], labels: Mapping[str, str]) -> Part:
    """The paper's Figures 2 to 5, as the locality report draws them."""
    topic = topics(localities, list(labels))[0]
    rows: list[tuple[str, list[Figure]]] = []
    records: list[dict[str, Any]] = []
    for index, (label, row) in enumerate(zip(labels.values(), topic.rows, strict=True)):
        figures = []
        for panel in row.panels:
            identity = f"figures-2-5-{index}-{panel.key}"
            records += panel_records(panel, identity)
            chart = panel_chart(panel, identity, CANVAS)
            series = [(name, *look(name, PAGE)) for name in panel.series]
            figures.append(Figure(identity, panel.title, panel.caption, chart, series=series))
        rows.append((label, figures))
    title = "Figures 2 to 5: references by the rank of their page"
    return Part("figures-2-5", title, topic.text, rows, records)
