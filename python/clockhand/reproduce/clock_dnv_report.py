"""The report of the CLOCK-DNV reproduction: every claim with a verdict, and Figures 5 to 8."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from clockhand.report.appearance import PAGE, marks
from clockhand.reproduce.claims import Claim
from clockhand.reproduce.clock_dnv_claims import per_run
from clockhand.reproduce.report import Lines, draw_part, page_of
from clockhand.studies.ssd.findings import geometry_line
from clockhand.study.facts import SsdRunFacts, trace_label
from clockhand.study.policies import name_of

PAGE_TEMPLATE = Path(__file__).with_name("clock_dnv_report.html.j2")

OURS = "clock-dnv"
PAPERS_BUFFERS = ("clock-dnv", "fab", "cbm")
MODES = (
    "clock-dnv", "fab", "fab:clean_padding=false", "fab:cache_reads=false", "cbm:threshold=8",
    "cbm:threshold=16", "cbm:threshold=32", "bplru",
)  # fmt: skip
HYBRID = (
    "clock-dnv", "clock-dnv:nvm_write_hit=promote", "cbm", "cbm:threshold=8", "cbm:threshold=16",
    "cbm:threshold=32",
)  # fmt: skip

# Figure, its title, its text, and its panels: title, column, share, buffers.
FIGURES: tuple[tuple[str, str, str, tuple[tuple[str, str, tuple[str, ...]], ...]], ...] = (
    (
        "figure-5",
        "Figure 5: cache hit ratios",
        "Share of page references, reads and writes, that the buffer served.",
        (
            ("The paper's buffers", "hit_ratio", PAPERS_BUFFERS),
            ("FAB's modes, CBM's thresholds, BPLRU", "hit_ratio", MODES),
        ),
    ),
    (
        "figure-6",
        "Figure 6: pages written to flash",
        "The paper's number of write requests: all pages that the buffer sent on, dirty ones and "
        "clean padding. Batches are how often it sent some.",
        (
            ("Pages, the paper's buffers", "host_writes", PAPERS_BUFFERS),
            ("Pages, FAB's modes, CBM's thresholds, BPLRU", "host_writes", MODES),
            ("Batches", "batches", PAPERS_BUFFERS),
        ),
    ),
    (
        "figure-7",
        "Figure 7: pages written to NVM",
        "Migrations and writes in place; FAB has no NVM.",
        (
            ("The paper's buffers", "nvm_writes", ("clock-dnv", "cbm")),
            ("With CBM's thresholds, and writes that hit NVM moving to DRAM", "nvm_writes", HYBRID),
        ),
    ),
    (
        "figure-8",
        "Figure 8: endurance of the flash",
        "Blocks erased; the paper's lifetime is their inverse. The drive was aged until steady "
        "before, which is not counted, and the trace repeated until it was steady again.",
        (
            ("Erases, the paper's buffers", "erases", PAPERS_BUFFERS),
            ("Erases, FAB's modes, CBM's thresholds, BPLRU", "erases", MODES),
            ("Write amplification", "waf", MODES),
        ),
    ),
)
UNITS = {"hit_ratio": "hit ratio", "batches": "batches", "erases": "blocks", "waf": "WAF"}


def render_clock_dnv(
    *,
    claims: Sequence[Claim],
    paper_tables: Mapping[str, pl.DataFrame],
    ablation: pl.DataFrame,
    rows: pl.DataFrame,
    facts: SsdRunFacts,
) -> str:
    """Return the reproduction as HTML text.

    Args:
        claims: The paper's claims, judged.
        paper_tables: Its tables beside ours, by title.
        ablation: What each mode changes.
        rows: Result rows with the column ``policy``, the buffer without its size.
        facts: How the rows were made; it describes every trace that they name.
    """
    traces = rows["trace"].unique(maintain_order=True).to_list()
    labels = {trace: trace_label(trace, facts) for trace in traces}
    names = [OURS, *dict.fromkeys((*MODES, *PAPERS_BUFFERS, *HYBRID))]
    looks = marks(list(dict.fromkeys(names)), {OURS}, (), PAGE)
    everywhere = {look.policy: look for look in looks}
    parts = []
    for key, title, text, panels in FIGURES:
        of_traces = {
            trace: [_over_sizes(rows, trace, *panel) for panel in panels] for trace in traces
        }
        parts.append(draw_part(key, title, text, of_traces, labels, everywhere))
    tables = {**paper_tables, "CLOCK-DNV's modes: change against its defaults": _modes(ablation)}
    return page_of(
        PAGE_TEMPLATE,
        paper="The CLOCK-DNV paper",
        traces=len(traces),
        claims=claims,
        paper_tables=tables,
        parts=parts,
        facts=facts,
        geometries=[geometry_line(ssd) for ssd in facts["ssds"]],
    )


def _modes(ablation: pl.DataFrame) -> pl.DataFrame:
    """Return CLOCK-DNV's own modes at the second size of each trace; the kept table has all."""
    second = ablation.group_by("trace").agg(
        pl.col("buffer_pages").unique().sort().head(2).last().alias("second")
    )
    modes = [text for text in ablation["buffer"].unique() if name_of(text) == OURS != text]
    of_mode = ablation.filter(pl.col("buffer").is_in(modes))
    at_size = of_mode.join(second, on="trace", maintain_order="left")
    return at_size.filter(pl.col("buffer_pages") == pl.col("second")).drop("second")


def _over_sizes(
    rows: pl.DataFrame, trace: str, title: str, column: str, buffers: Sequence[str]
) -> Lines:
    chosen = rows.filter((pl.col("trace") == trace) & pl.col("policy").is_in(list(buffers)))
    mib = pl.col("buffer_pages") * pl.col("page_bytes") / (1 << 20)
    records = chosen.select(
        pl.col("policy").alias("series"),
        mib.alias("x"),
        per_run(column).cast(pl.Float64).alias("y"),
        pl.format("{} pages", "buffer_pages").alias("at"),
    ).to_dicts()
    present = {record["series"] for record in records}
    series = tuple(buffer for buffer in buffers if buffer in present)
    return Lines(title, "", "buffer (MiB)", UNITS.get(column, "pages"), series, records, False)
