"""The report of a reproduction: every claim with a verdict, and the paper's figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from clockhand.claims import Claim, Verdict
from clockhand.comparison import BOUND
from clockhand.facts import Facts, printable, trace_label
from clockhand.report.appearance import BOUND_DASH, PAGE, Mark, marks
from clockhand.report.charts import ROWS, Canvas, themed
from clockhand.report.locality_charts import look, panel_chart, panel_records
from clockhand.report.locality_panels import topics
from clockhand.report.page import script_json, template
from clockhand.report.sections import OFFLINE_NAMES
from clockhand.report.table import number_text

CANVAS = Canvas(PAGE, on_page=True)
PANEL_HEIGHT = 190
BASELINE = "clock"

PAPERS_POLICIES = ("clock", "car", "cfclock", "cfclock:clear_passed=false", "craw")
OTHER_POLICIES = ("clock", "craw", "cflru", "lru-wsr", "min", BOUND)
AREAS = {"S_R_pages": "read area", "S_W1_pages": "write area W1", "S_W2_pages": "write area W2"}


@dataclass(frozen=True)
class Lines:
    """One panel: lines over memory or over time."""

    title: str
    caption: str
    x_title: str
    y_title: str
    series: tuple[str, ...]
    records: list[dict[str, Any]]
    is_logarithmic: bool


@dataclass(frozen=True)
class Figure:
    """A panel as it stands on the page, with the look of its lines."""

    identity: str
    title: str
    caption: str
    series: list[tuple[str, str, tuple[int, ...]]]


@dataclass(frozen=True)
class Part:
    """One of the paper's figures: a row of panels per trace."""

    key: str
    title: str
    text: str
    rows: list[tuple[str, list[Figure]]]


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
    payload: list[dict[str, Any]] = []
    parts = [_locality_part(localities, labels, payload)]
    for key, title, text, panels in _topics(rows, gauges, traces):
        parts.append(draw_part(key, title, text, panels, labels, everywhere, payload))
    counts = {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}
    return template("reproduction.html.j2").render(
        title=title_of(paper, counts, len(traces)),
        paper=paper,
        claims=[printable(vars(claim)) for claim in claims],
        counts=counts,
        paper_tables={name: texts_of(table) for name, table in paper_tables.items()},
        parts=parts,
        facts=printable(facts),
        payload=script_json(payload),
    )


def title_of(paper: str, counts: Mapping[Verdict, int], traces: int) -> str:
    """Return the title of a reproduction: how many claims were judged how."""
    told = sum(counts.values())
    inputs = "1 trace" if traces == 1 else f"{traces} traces"
    return (
        f"{paper} on {inputs}: of {told} claims {counts[Verdict.REPRODUCED]} reproduced, "
        f"{counts[Verdict.PARTLY]} partly, {counts[Verdict.NOT]} not, "
        f"{counts[Verdict.UNTESTED]} not tested"
    )


def _marks(rows: pl.DataFrame) -> list[Mark]:
    policies = [name for name in rows["policy"].unique(maintain_order=True) if name != BOUND]
    drawn = marks(policies, {BASELINE}, set(OFFLINE_NAMES), PAGE)
    return [*drawn, Mark(BOUND, PAGE.muted, "", BOUND_DASH)]


def texts_of(table: pl.DataFrame) -> tuple[list[tuple[str, bool]], list[tuple[str, ...]]]:
    """Return the columns of a table, each with whether it is numeric, and its rows as text."""
    columns = [(name, kind.is_numeric()) for name, kind in table.schema.items()]
    return columns, [tuple(number_text(value) for value in row) for row in table.iter_rows()]


def _topics(
    rows: pl.DataFrame, gauges: pl.DataFrame, traces: Sequence[str]
) -> Iterator[tuple[str, str, str, dict[str, list[Lines]]]]:
    relative = _relative(rows)
    yield (
        "figure-12",
        "Figure 12: I/O time by memory size",
        "All reads and writes of the device together, over those of CLOCK at the same memory size; "
        "below 1 is less. The second panel shows the policies that the paper's figure lacks, and "
        "the lower bound that none can pass.",
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


def draw_part(
    key: str,
    title: str,
    text: str,
    panels: Mapping[str, Sequence[Lines]],
    labels: Mapping[str, str],
    everywhere: Mapping[str, Mark],
    payload: list[dict[str, Any]],
) -> Part:
    """Draw one of the paper's figures; what the page's script needs of it is added to payload."""
    rows, records, drawn = [], [], []
    for index, (trace, of_trace) in enumerate(panels.items()):
        figures = []
        for position, lines in enumerate(of_trace):
            identity = f"{key}-{index}-{position}"
            looks = [_look(name, place, everywhere) for place, name in enumerate(lines.series)]
            records += [{"panel": identity, **record} for record in lines.records]
            specification = _chart(lines, identity, looks).to_dict()
            drawn.append({"identity": identity, "specification": specification})
            series = [
                (name, color, dash) for name, (color, dash) in zip(lines.series, looks, strict=True)
            ]
            figures.append(Figure(identity, lines.title, lines.caption, series))
        rows.append((labels[trace], figures))
    payload.append({ROWS: records, "figures": drawn})
    return Part(key, title, text, rows)


def _look(series: str, place: int, everywhere: Mapping[str, Mark]) -> tuple[str, tuple[int, ...]]:
    if series in everywhere:
        return everywhere[series].color, everywhere[series].dash
    return PAGE.series[place], ((1, 0), (7, 3), (2, 2))[place]


def _chart(
    lines: Lines, identity: str, looks: Sequence[tuple[str, tuple[int, ...]]]
) -> alt.LayerChart:
    base = alt.Chart().transform_filter(alt.datum.panel == identity)
    largest = max((record["x"] for record in lines.records), default=1)
    x = alt.X(
        "x:Q",
        title=lines.x_title,
        scale=alt.Scale(domain=[0, largest], nice=False),
        axis=alt.Axis(grid=False, format=",d", tickCount=6),
    )
    scale = alt.Scale(type="log", nice=False) if lines.is_logarithmic else alt.Scale(zero=True)
    axis = alt.Axis(
        format="~s" if lines.is_logarithmic else ".3~r",
        grid=not lines.is_logarithmic,
        tickCount=5,
    )
    y = alt.Y("y:Q", title=None, scale=scale, axis=axis)
    colors = alt.Scale(domain=list(lines.series), range=[color for color, _ in looks])
    dashes = alt.Scale(domain=list(lines.series), range=[list(dash) for _, dash in looks])
    tooltip = [
        alt.Tooltip("series:N", title="Line"),
        alt.Tooltip("at:N", title="At"),
        alt.Tooltip("y:Q", title=lines.y_title, format=",.4~r"),
    ]
    color = alt.Color("series:N", scale=colors, legend=None)
    line = base.mark_line(strokeWidth=1.6, clip=True).encode(
        x=x, y=y, color=color, strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=None)
    )
    point = base.mark_point(filled=True, size=10, clip=True).encode(
        x=x, y=y, color=color, tooltip=tooltip
    )
    figure = alt.LayerChart(layer=[line, point], data=alt.NamedData(name=ROWS)).properties(
        width="container",
        height=PANEL_HEIGHT,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        description=f"{lines.title}: {lines.y_title} over {lines.x_title}.",
    )
    return themed(figure, PAGE)


def _locality_part(
    localities: Mapping[str, pl.DataFrame],
    labels: Mapping[str, str],
    payload: list[dict[str, Any]],
) -> Part:
    """The paper's Figures 2 to 5, as the locality report draws them."""
    topic = topics(localities, list(labels))[0]
    rows, records, drawn = [], [], []
    for index, (label, row) in enumerate(zip(labels.values(), topic.rows, strict=True)):
        figures = []
        for panel in row.panels:
            identity = f"figures-2-5-{index}-{panel.key}"
            records += panel_records(panel, identity)
            specification = panel_chart(panel, identity, CANVAS).to_dict()
            drawn.append({"identity": identity, "specification": specification})
            series = [(name, *look(name, PAGE)) for name in panel.series]
            figures.append(Figure(identity, panel.title, panel.caption, series))
        rows.append((label, figures))
    payload.append({ROWS: records, "figures": drawn})
    title = "Figures 2 to 5: references by the rank of their page"
    return Part("figures-2-5", title, topic.text, rows)
