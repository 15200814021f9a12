"""The report of the CFLRU reproduction: every claim with a verdict, and its figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from clockhand.report.appearance import PAGE, marks
from clockhand.report.html import Part
from clockhand.reproduce.cflru_claims import CflruRows, replaced
from clockhand.reproduce.cflru_experiment import DYNAMIC, LINUX, STATIC, WINDOWS
from clockhand.reproduce.claims import Claim
from clockhand.reproduce.report import Lines, draw_part, labels_of, page_of
from clockhand.study.facts import Facts

PAGE_TEMPLATE = Path(__file__).with_name("cflru_report.html.j2")
SHOWN_POLICIES = ("lru", WINDOWS[0], WINDOWS[3], WINDOWS[5], "cflru-dynamic", "min")
PROBABILITY = "future reference"
KERNELS = (
    # Kernel, read-ahead, its name in the paper.
    (LINUX, "file:3-31", "plain"),
    (LINUX, "none", "no read-ahead"),
    (STATIC, "none", "CFLRU-static"),
    (DYNAMIC, "none", "CFLRU-dynamic"),
)
MOST_POINTS = 400


def render_cflru(
    *,
    claims: Sequence[Claim],
    paper_tables: Mapping[str, pl.DataFrame],
    rows: CflruRows,
    facts: Facts,
) -> str:
    """Return the reproduction as HTML text.

    Args:
        claims: The paper's claims, judged.
        paper_tables: Its tables beside ours, by title.
        rows: What they were judged by.
        facts: How the rows were made; it describes every trace that they name.
    """
    parts = [
        _windows(rows.windows, facts),
        _costs("figure-4a", "Figure 4(a): replacement cost for swap system", rows.swap, facts),
        _costs("figure-4b", "Figure 4(b): replacement cost for buffer cache", rows.buffers, facts),
        _kernels(rows.kernels, facts),
    ]
    frames = (rows.swap, rows.buffers, rows.kernels)
    return page_of(
        PAGE_TEMPLATE,
        paper="The CFLRU paper",
        traces=sum(f["trace"].n_unique() for f in frames),
        claims=claims,
        paper_tables=paper_tables,
        parts=parts,
        facts=facts,
    )


def _windows(windows: pl.DataFrame, facts: Facts) -> Part:
    panels = {}
    for (trace,), of_trace in windows.group_by("trace", maintain_order=True):
        thinned = of_trace.gather_every(max(1, len(of_trace) // MOST_POINTS))
        probability = pl.col("future_reference_probability")
        records = [
            {"series": PROBABILITY, "x": position, "y": y, "at": f"position {position}"}
            for position, y in thinned.filter(probability.is_not_null())
            .select("position", probability)
            .iter_rows()
        ]
        if not records:
            continue
        window = of_trace["predicted_window"][0]
        title = f"Predicted window: {window:,} of {len(of_trace):,} pages"
        panels[str(trace)] = [
            Lines(title, "probability", "Position in the LRU list", "P(k)", (PROBABILITY,),
                  records, False)
        ]  # fmt: skip
    return draw_part(
        "figure-2",
        "Figure 2: probability of a future reference",
        "Of a page at each position of an LRU list of 16 MiB, and the window that formula (1) "
        "predicts from it, with writes that cost eight reads.",
        panels,
        labels_of(windows, facts),
        {},
    )


def _costs(key: str, title: str, rows: pl.DataFrame, facts: Facts) -> Part:
    everywhere = {mark.policy: mark for mark in marks(SHOWN_POLICIES, {"lru"}, {"min"}, PAGE)}
    relative = _relative(rows, pl.col("policy"), "lru")
    panels = _panels(relative, SHOWN_POLICIES)
    return draw_part(
        key,
        title,
        "Weighted count, a write as eight reads, over that of LRU with as much memory; below 1 is "
        "less. Three of the six windows are drawn.",
        panels,
        labels_of(rows, facts),
        everywhere,
    )


def _kernels(rows: pl.DataFrame, facts: Facts) -> Part:
    names = pl.DataFrame(KERNELS, schema=["policy", "read_ahead", "kernel"], orient="row")
    named = rows.join(names, on=["policy", "read_ahead"], how="inner", maintain_order="left")
    series = tuple(name for *_, name in KERNELS)
    everywhere = {mark.policy: mark for mark in marks(series, {series[0]}, set(), PAGE)}
    relative = _relative(named, pl.col("kernel"), series[0])
    panels = _panels(relative, series)
    return draw_part(
        "figure-6",
        "Figure 6: weighted counts of Linux 2.4 and its changes",
        "Files alone; over those of plain Linux with read-ahead and as much memory.",
        panels,
        labels_of(rows, facts),
        everywhere,
    )


def _relative(rows: pl.DataFrame, series: pl.Expr, baseline: str) -> pl.DataFrame:
    """Costs over those of the baseline with as much memory, where pages are replaced."""
    key = ["trace", "frames"]
    shown = replaced(rows).with_columns(series.alias("series"))
    others = shown.filter(pl.col("series") == baseline).select(*key, pl.col("cost").alias("others"))
    joined = shown.join(others.unique(key), on=key, how="left", maintain_order="left")
    return joined.filter(pl.col("others") > 0).with_columns(
        (pl.col("cost") / pl.col("others")).alias("y")
    )


def _panels(rows: pl.DataFrame, series: tuple[str, ...]) -> dict[str, list[Lines]]:
    """A panel for each trace with pages that are replaced at some memory size."""
    traces = rows["trace"].unique(maintain_order=True).to_list()
    return {trace: [_over_memory(rows, trace, series)] for trace in traces}


def _over_memory(rows: pl.DataFrame, trace: str, series: tuple[str, ...]) -> Lines:
    chosen = rows.filter((pl.col("trace") == trace) & pl.col("series").is_in(series))
    records = (
        chosen.unique(["series", "frames"], keep="first", maintain_order=True)
        .sort("frames", maintain_order=True)
        .select(
            "series",
            (100 * pl.col("memory_share")).alias("x"),
            "y",
            pl.format("{} frames", "frames").alias("at"),
        )
        .to_dicts()
    )
    present = {record["series"] for record in records}
    shown = tuple(name for name in series if name in present)
    return Lines("Weighted count", "relative", "Memory (% of what is touched)", "relative cost",
                 shown, records, False)  # fmt: skip
