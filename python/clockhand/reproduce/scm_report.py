"""The report of the SCM reproduction: every claim with a verdict, and Figures 6 to 9."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from clockhand.report.html import Part, payload, template
from clockhand.report.words import byte_text
from clockhand.reproduce.claims import Claim
from clockhand.reproduce.report import Lines, draw_part, shown_claims, texts_of, title_of
from clockhand.study.facts import Facts, printable, trace_label

PAGE_TEMPLATE = Path(__file__).with_name("scm_report.html.j2")

MOST_LINES = 3
"""Memory sizes that a panel shows: more lines have no look of their own."""

# Figure, its title, its text, and its panels: title, column, factor, unit, storage ratio.
FIGURES: tuple[tuple[str, str, str, tuple[tuple[str, str, float, str, float], ...]], ...] = (
    (
        "figures-6-7",
        "Figures 6 and 7: address translation and page faults",
        "Mean time of address translation, and page faults in percent of references. A line for "
        "each memory size.",
        (
            ("Address translation", "t_addr_ns", 1.0, "ns", 1.0),
            ("Page faults", "page_fault_ratio", 100.0, "%", 1.0),
        ),
    ),
    (
        "figures-8-9",
        "Figures 8 and 9: access time",
        "Mean time of a reference, address translation and data access together, in nanoseconds.",
        (
            ("Storage as fast as memory", "amat_ns", 1.0, "ns", 1.0),
            ("10 times slower", "amat_ns", 1.0, "ns", 10.0),
            ("100 times slower", "amat_ns", 1.0, "ns", 100.0),
        ),
    ),
)


def render_scm(
    *,
    claims: Sequence[Claim],
    paper_tables: Mapping[str, pl.DataFrame],
    rows: pl.DataFrame,
    facts: Facts,
) -> str:
    """Return the reproduction as HTML text.

    Args:
        claims: The paper's claims, judged.
        paper_tables: Its tables beside ours, by title.
        rows: Result rows with the column ``workload``.
        facts: How the rows were made; it describes every trace that they name.
    """
    traces = rows["trace"].unique(maintain_order=True).to_list()
    workloads = dict(rows.select("trace", "workload").unique().iter_rows())
    labels = {trace: f"{trace_label(trace, facts)}, for {workloads[trace]}" for trace in traces}
    parts: list[Part] = []
    for key, title, text, panels in FIGURES:
        of_traces = {trace: [_over_pages(rows, trace, *panel) for panel in panels]
                     for trace in traces}  # fmt: skip
        parts.append(draw_part(key, title, text, of_traces, labels, {}))
    return template(PAGE_TEMPLATE).render(
        title=title_of("The SCM paper", claims, len(traces)),
        claims=shown_claims(claims),
        paper_tables={name: texts_of(table) for name, table in paper_tables.items()},
        parts=parts,
        facts=printable(facts),
        payload=payload(parts),
    )


def _over_pages(
    rows: pl.DataFrame, trace: str, title: str, column: str, factor: float, unit: str, ratio: float
) -> Lines:
    memory = rows["memory"].unique(maintain_order=True).to_list()[:MOST_LINES]
    chosen = rows.filter(
        (pl.col("trace") == trace)
        & (pl.col("storage_ratio") == ratio)
        & pl.col("memory").is_in(memory)
    )
    records = [
        {
            "series": row["memory"],
            "x": row["page_bytes"] / 1024,
            "y": factor * row[column],
            "at": f"pages of {byte_text(row['page_bytes'])}",
        }
        for row in chosen.to_dicts()
    ]
    return Lines(title, unit, "Page size (KiB)", unit, tuple(memory), records, column == "amat_ns",
                 doubles_x=True)  # fmt: skip
