"""The report of the SCM reproduction: every claim with a verdict, and the paper's figures."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from clockhand.report.html import Part
from clockhand.report.words import byte_text, time_unit
from clockhand.reproduce.claims import Claim
from clockhand.reproduce.report import Lines, draw_part, labels_of, page_of
from clockhand.reproduce.scm import ScmRows
from clockhand.reproduce.scm_caching_claims import ADMISSION, COPY, DISK, LRU_CACHE, SCM
from clockhand.reproduce.scm_experiment import Measured
from clockhand.study.facts import Facts

PAGE_TEMPLATE = Path(__file__).with_name("scm_report.html.j2")

MOST_LINES = 3
"""Memory sizes that a panel shows: more lines have no look of their own."""

MOST_RATIOS = 4
NO_CACHE = "no cache"

# Figures 3 to 5: title, device, and what is drawn: a line per rule of admission, or none.
SERVER_PANELS = (
    ("Figure 3: hard disk", DISK, ((NO_CACHE, None), ("LRU cache", LRU_CACHE))),
    ("Figure 4: SCM", SCM, ((NO_CACHE, None), ("LRU cache", LRU_CACHE))),
    ("Figure 5: SCM with admission", SCM,
     ((NO_CACHE, None), ("LRU cache", LRU_CACHE), ("admission", ADMISSION))),
)  # fmt: skip

# Figure, its title, its text, and its panels: title, column, factor, unit, storage ratio.
DESKTOP_FIGURES: tuple[
    tuple[str, str, str, tuple[tuple[str, str, float, str, float], ...]], ...
] = (
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

RATIO_NAMES = {1.0: "as fast as memory"}

MOBILE_PANELS = (
    # Title, column, factor, unit.
    ("Figure 11: TLB hit rate", "tlb_hit_ratio", 100.0, "%"),
    ("Figure 12: page faults", "page_fault_ratio", 100.0, "%"),
)


def render_scm(
    *,
    claims: Sequence[Claim],
    paper_tables: Mapping[str, pl.DataFrame],
    rows: ScmRows,
    facts: Facts,
) -> str:
    """Return the reproduction as HTML text.

    Args:
        claims: The paper's claims, judged.
        paper_tables: Its tables beside ours, by title.
        rows: What they were judged by.
        facts: How the rows were made; it describes every trace that they name.
    """
    parts = [_measured(rows.measured), _servers(rows.servers, facts)]
    parts += [*_desktop(rows.desktop, facts), _mobile(rows.mobile, rows.mobile_tlb, facts)]
    traces = sum(frame["trace"].n_unique() for frame in (rows.servers, rows.desktop, rows.mobile))
    return page_of(
        PAGE_TEMPLATE,
        paper="The SCM paper",
        traces=traces,
        claims=claims,
        paper_tables=paper_tables,
        parts=parts,
        facts=facts,
    )


def _measured(measured: Measured) -> Part:
    series = {"storage": measured.read, "page cache": measured.cached}
    records = [
        {"series": name, "x": size / 1024, "y": point.median_us,
         "at": f"requests of {byte_text(size)}, "
               f"99 % of them within {point.p1_us:.3g} to {point.p99_us:.3g} µs"}
        for name, points in series.items()
        for size, point in sorted(points.items())
    ]  # fmt: skip
    panel = Lines("Median of a read", "µs", "Request (KiB)", "µs", tuple(series), records, True,
                  doubles_x=True)  # fmt: skip
    machine = f"{measured.machine}, measured on {measured.date}"
    return draw_part(
        "figure-1",
        "Figure 1: storage on memory and page cache",
        "A read from a file system whose storage is memory, past the page cache and from it. One "
        "machine, not the paper's.",
        {machine: [panel]},
        {machine: machine},
        {},
    )


def _servers(rows: pl.DataFrame, facts: Facts) -> Part:
    labels = labels_of(rows, facts)
    panels = {
        trace: [_over_capacity(rows, trace, *panel) for panel in SERVER_PANELS] for trace in labels
    }
    return draw_part(
        "figures-3-5",
        "Figures 3 to 5: file caches",
        "Time of all references of a server to its files, over the size of the cache in percent of "
        "the footprint, where inserting a block takes a hit. The traces are stand-ins for the "
        "paper's.",
        panels,
        labels,
        {},
    )


def _over_capacity(
    rows: pl.DataFrame,
    trace: str,
    title: str,
    device: str,
    lines: Sequence[tuple[str, str | None]],
) -> Lines:
    of_device = rows.filter(
        (pl.col("trace") == trace) & (pl.col("device") == device) & (pl.col("insert") == COPY)
    )
    unit, unit_us = time_unit(of_device["time_without_cache_us"])
    records = [
        {"series": name, "x": 100 * row["capacity_share"],
         "y": row["time_us" if admission else "time_without_cache_us"] / unit_us,
         "at": f"{row['capacity']:,} blocks"}
        for name, admission in lines
        for row in of_device.filter(pl.col("admission") == (admission or LRU_CACHE)).to_dicts()
    ]  # fmt: skip
    names = tuple(name for name, _ in lines)
    return Lines(title, unit, "Cache (% of footprint)", unit, names, records, False)


def _desktop(rows: pl.DataFrame, facts: Facts) -> Iterator[Part]:
    labels = labels_of(rows, facts)
    for key, title, text, panels in DESKTOP_FIGURES:
        of_traces = {trace: [_over_pages(rows, trace, *panel) for panel in panels]
                     for trace in labels}  # fmt: skip
        yield draw_part(key, title, text, of_traces, labels, {})


def _over_pages(
    rows: pl.DataFrame, trace: str, title: str, column: str, factor: float, unit: str, ratio: float
) -> Lines:
    memory = rows["memory"].unique(maintain_order=True).to_list()[:MOST_LINES]
    chosen = rows.filter(
        (pl.col("trace") == trace)
        & (pl.col("storage_ratio") == ratio)
        & pl.col("memory").is_in(memory)
    )
    records = [_at_page(row, row["memory"], factor * row[column]) for row in chosen.to_dicts()]
    return Lines(title, unit, "Page size (KiB)", unit, tuple(memory), records, column == "amat_ns",
                 doubles_x=True)  # fmt: skip


def _mobile(rows: pl.DataFrame, tlb_rows: pl.DataFrame, facts: Facts) -> Part:
    labels = {trace: f"{label}, a stand-in" for trace, label in labels_of(rows, facts).items()}
    return draw_part(
        "figures-10-13",
        "Figures 10 to 13: mobile programs",
        "Nothing is swapped out, and there is memory for all pages. Hit rate of the TLB over its "
        "entries and over the page size, page faults in percent of references, and mean time of a "
        "reference for storage of four speeds.",
        {trace: list(_mobile_panels(rows, tlb_rows, trace)) for trace in labels},
        labels,
        {},
    )


def _mobile_panels(rows: pl.DataFrame, tlb_rows: pl.DataFrame, trace: str) -> Iterator[Lines]:
    of_trace = rows.filter(pl.col("trace") == trace)
    entries = [
        {"series": trace, "x": row["tlb_entries"], "y": 100 * row["tlb_hit_ratio"],
         "at": f"{row['tlb_entries']} entries"}
        for row in tlb_rows.filter(pl.col("trace") == trace).to_dicts()
    ]  # fmt: skip
    yield Lines("Figure 10: TLB hit rate", "%", "Entries", "%", (trace,), entries, False)
    ratios = of_trace["storage_ratio"].unique(maintain_order=True).to_list()
    first = of_trace.filter(pl.col("storage_ratio") == ratios[0])
    for title, column, factor, unit in MOBILE_PANELS:
        records = [_at_page(row, trace, factor * row[column]) for row in first.to_dicts()]
        yield Lines(title, unit, "Page size (KiB)", unit, (trace,), records, False, doubles_x=True)
    names = {ratio: RATIO_NAMES.get(ratio, f"{ratio:,.0f} times slower") for ratio in ratios}
    shown = of_trace.filter(pl.col("storage_ratio").is_in(ratios[:MOST_RATIOS])).to_dicts()
    records = [_at_page(row, names[row["storage_ratio"]], row["amat_ns"]) for row in shown]
    yield Lines("Figure 13: access time", "ns", "Page size (KiB)", "ns",
                tuple(names.values())[:MOST_RATIOS], records, True, doubles_x=True)  # fmt: skip


def _at_page(row: dict[str, Any], series: str, value: float) -> dict[str, Any]:
    at = f"pages of {byte_text(row['page_bytes'])}"
    return {"series": series, "x": row["page_bytes"] / 1024, "y": value, "at": at}
