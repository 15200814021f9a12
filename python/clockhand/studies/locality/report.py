"""The report of a locality analysis: small panels, one row per trace, like the CRAW paper's."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from clockhand.report.appearance import PAGE
from clockhand.report.canvas import CANVAS, PICTURE, Spec
from clockhand.report.html import Figure, Part, payload, template
from clockhand.report.table import Table, table_without_filter
from clockhand.report.words import free_slug, unique
from clockhand.studies.locality.charts import OVER_TIME, look, panel_chart, panel_records
from clockhand.studies.locality.findings import EVIDENCE, Verdict, evidence, write_verdict
from clockhand.studies.locality.findings import title as finding
from clockhand.studies.locality.panels import Tables, Topic, topics
from clockhand.study.facts import Facts, printable, trace_label
from clockhand.study.records import Fields

PAGE_TEMPLATE = Path(__file__).with_name("report.html.j2")


HEADINGS = {
    "page_bytes": "page (bytes)",
    "op": "references of",
    "pages": "different pages",
    "re_references": "re-references",
    "top_1_share": "in rank 1",
    "top_10_share": "in ranks 1–10",
    "top_100_share": "in ranks 1–100",
    "top_1_percent_share": "in top 1 % of pages",
    "top_10_percent_share": "in top 10 % of pages",
    "inversion_share": "displaced by inversions",
    "inverted_ranks": "ranks in inverted ranges",
    "io_time_us": "I/O time (µs)",
    "read_ios": "read I/Os",
    "write_ios": "write I/Os",
    "write_ios_standard_error": "± write I/Os",
    "misses_standard_error": "± misses",
    "memory_share": "share of footprint",
}


def render(tables: Tables, facts: Facts) -> str:
    """Return the report of the tables of a locality analysis as HTML text.

    Args:
        tables: The tables by name; where only a sample was followed, all but ``miss-curve`` are
            empty.
        facts: How they were made; it describes every trace that the tables name.
    """
    traces = unique(tables["miss-curve"]["trace"])
    labels = [trace_label(trace, facts) for trace in traces]
    parts: list[Part] = []
    for topic in topics(tables, traces):
        parts.append(_part(topic, labels))
    verdicts = [_verdict(tables, trace) for trace in traces]
    known = [
        (_of(tables["summary"], trace), label, verdict)
        for trace, label, verdict in zip(traces, labels, verdicts, strict=True)
        if verdict is not None
    ]
    title = f"What LRU misses on {labels[0] if len(traces) == 1 else f'{len(traces)} traces'}"
    if known:
        title = finding([verdict for _, _, verdict in known], labels)
    parts += OVER_TIME.parts(_intervals(tables), facts, parts)
    return template(PAGE_TEMPLATE).render(
        title=title,
        parts=parts,
        evidence=[row for one in known for row in evidence(*one)],
        evidence_columns=EVIDENCE,
        unwritten=[label for _, label, verdict in known if not verdict.better],
        facts=printable(facts),
        table=_table(tables, facts),
        table_title=_table_title(tables),
        payload=payload(parts),
    )


def specifications(tables: Tables, facts: Facts) -> dict[str, Spec]:
    """Return every panel in Vega-Lite, by its key.

    The keys are those of the panels; with several traces, the trace's name comes first.
    """
    traces = unique(tables["miss-curve"]["trace"])
    labels = [trace_label(trace, facts) for trace in traces]
    slugs: list[str] = []
    for label in labels:
        slugs.append(free_slug(label, slugs))
    drawn: dict[str, Spec] = {}
    for topic in topics(tables, traces):
        for slug, label, row in zip(slugs, labels, topic.rows, strict=True):
            prefix = f"{slug}-" if len(traces) > 1 else ""
            for panel in row.panels:
                chart = panel_chart(panel, panel.key, PICTURE, subtitle=label)
                drawn[prefix + panel.key] = chart
    return drawn | OVER_TIME.charts(_intervals(tables), facts)


def answer(tables: Tables, facts: Facts) -> list[str]:
    """Return what the analysis says of each trace, a sentence each."""
    traces = unique(tables["miss-curve"]["trace"])
    verdicts = [(trace_label(trace, facts), _verdict(tables, trace)) for trace in traces]
    leads = [(label, verdict.lead) for label, verdict in verdicts if verdict is not None]
    return [lead if len(traces) == 1 else f"{label}: {lead}" for label, lead in leads]


def _intervals(tables: Tables) -> pl.DataFrame | None:
    """The table of intervals, if it has rows."""
    intervals = tables["intervals"]
    return None if intervals.is_empty() else intervals


def _part(topic: Topic, labels: Sequence[str]) -> Part:
    """Return a topic as it appears on the page.

    Its figures have no numbers, as those of the paper, which captions name, would contradict them.
    """
    rows: list[tuple[str, list[Figure]]] = []
    records: list[Fields] = []
    for index, (label, row) in enumerate(zip(labels, topic.rows, strict=True)):
        figures: list[Figure] = []
        for panel in row.panels:
            identity = f"{topic.key}-{index}-{panel.key}"
            records += panel_records(panel, identity)
            is_drawn = any(record["y"] for record in panel.records)
            chart = panel_chart(panel, identity, CANVAS) if is_drawn else None
            series = [(name, *look(name, PAGE)) for name in panel.series]
            figures.append(Figure(identity, panel.title, panel.caption, chart, series=series))
        rows.append((label, figures))
    return Part(topic.key, topic.title, topic.text, rows, records)


def _of(table: pl.DataFrame, trace: str) -> pl.DataFrame:
    return table.filter(pl.col("trace") == trace)


def _verdict(tables: Tables, trace: str) -> Verdict | None:
    summary = _of(tables["summary"], trace)
    return None if summary.is_empty() else write_verdict(summary)


def _table_title(tables: Tables) -> str:
    if tables["summary"].is_empty():
        return "LRU at sampled memory sizes"
    return "Share of references in the top ranks"


def _table(tables: Tables, facts: Facts) -> Table:
    rows = tables["miss-curve"] if tables["summary"].is_empty() else tables["summary"]
    return table_without_filter(rows, facts, HEADINGS)
