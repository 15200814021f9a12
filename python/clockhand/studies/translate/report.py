"""The report of address translation: best page sizes, the SCM paper's figures, then every row."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.appearance import PAGE
from clockhand.report.canvas import CANVAS, PICTURE, Spec
from clockhand.report.html import Figure, Part, study_page
from clockhand.report.table import table_without_filter
from clockhand.report.words import free_slug, unique
from clockhand.studies.translate.charts import (
    OVER_TIME,
    Graph,
    looks,
    overviews,
    panel_chart,
    panel_records,
    panels,
)
from clockhand.studies.translate.findings import findings, headline
from clockhand.study.facts import Facts, printable, trace_label
from clockhand.study.records import Fields
from clockhand.study.sizes import bytes_text

HEADINGS = {
    "page_bytes": "page (bytes)",
    "tlb_entries": "TLB entries",
    "tlb_hits": "TLB hits",
    "tlb_misses": "TLB misses",
    "t_addr_ns": "address translation (ns)",
    "t_data_ns": "data access (ns)",
    "amat_ns": "mean access time (ns)",
    "storage_ratio": "storage, times slower",
    "tlb2_hits": "second-level hits",
    "walk_accesses": "page-table reads",
    "write_ios": "write I/Os (pages)",
    "promotion_fetches": "fetched for promotion (pages)",
    "prefetched": "prefetched (pages)",
    "prefetched_in_vain": "prefetched in vain (pages)",
    "page_table_bytes": "page tables (bytes)",
    "policy_resolved": "policy with defaults",
    "tlb": "TLB",
    "tlb2": "second level",
    "tlb_hit_ratio": "TLB hit rate",
    "page_fault_ratio": "page fault rate",
    "footprint_pages": "footprint (pages)",
    "memory_share": "share of footprint",
    "device_resolved": "device with options",
}


@dataclass(frozen=True)
class _Section:
    """The rows of one trace and policy, ready to be drawn."""

    slug: str
    label: str
    summary: str
    rows: pl.DataFrame

    @property
    def panels(self) -> list[Graph]:
        """Its figures."""
        return panels(self.rows)


def render(
    rows: pl.DataFrame,
    facts: Facts,
    _: Sequence[str] = (),
    intervals: pl.DataFrame | None = None,
) -> str:
    """Return the report of result rows as HTML text.

    Args:
        rows: Result rows, one per cell, in the order given.
        facts: How the rows were made; it describes every trace that the rows name.
        _: Nothing is emphasised.
        intervals: The rows of intervals, if they were asked for.
    """
    parts: list[Part] = []
    split = _sections(rows, facts)
    for section in split:
        parts.append(_part(section, sum(len(part.figures) for part in parts)))
    sentences = findings(rows, facts)
    labels = unique(part.title for part in parts)
    what = labels[0] if len(labels) == 1 else f"{len(labels)} inputs"
    shown = rows.select(column for column in rows if column.null_count() < len(column))
    table = table_without_filter(shown, facts, HEADINGS)
    parts += OVER_TIME.parts(intervals, facts, parts)
    return study_page(
        overline="address translation and page size",
        title=headline(rows, what),
        sentences=sentences,
        parts=parts,
        leading=overviews({it.label: it.rows for it in split}) if len(split) > 1 else [],
        facts=facts,
        table=table,
    )


def specifications(rows: pl.DataFrame, facts: Facts, _: Sequence[str] = ()) -> dict[str, Spec]:
    """Return every figure in Vega-Lite, by its key; the leading one first."""
    split = _sections(rows, facts)
    drawn: dict[str, Spec] = {}
    for section in split:
        prefix = f"{section.slug}-" if len(split) > 1 else ""
        for panel in section.panels:
            drawn[prefix + panel.key] = panel_chart(panel, panel.key, PICTURE, section.label)
    return drawn


def _sections(rows: pl.DataFrame, facts: Facts) -> list[_Section]:
    result: list[_Section] = []
    several_policies = rows["policy"].n_unique() > 1
    for group in rows.partition_by("trace", "policy", maintain_order=True):
        first = group.row(0, named=True)
        label = trace_label(first["trace"], facts)
        if several_policies:
            label += f" · {printable(first['policy'])}"
        footprint = first["footprint_pages"] * first["page_bytes"] / (1 << 20)
        summary = (
            f"{first['references']:,} references, {first['write_references']:,} writes · "
            f"footprint {footprint:,.4g} MiB in pages of {first['page_bytes']:,} bytes · memory "
            f"under {printable(first['policy'])}{_shares(group)}"
        )
        slug = free_slug(label, [section.slug for section in result])
        result.append(_Section(slug, label, summary, group))
    return result


def _shares(group: pl.DataFrame) -> str:
    """Say what shares of memory are of, where they are more than one number of bytes."""
    texts = []
    for (share,), sizes in group.group_by("memory", maintain_order=True):
        known = (sizes["frames"] * sizes["page_bytes"]).drop_nulls().unique().sort().to_list()
        if str(share).endswith("%") and len(known) > 1:
            ends = f"{bytes_text(known[0])} to {bytes_text(known[-1])}"
            texts.append(f"{str(share)[:-1]}\u00a0%: {ends}")
    if not texts:
        return ""
    return f", a share of the footprint at each page size ({', '.join(texts)})"


def _part(section: _Section, before: int) -> Part:
    figures: list[Figure] = []
    records: list[Fields] = []
    for number, panel in enumerate(section.panels, before + 1):
        identity = f"{section.slug}-{panel.key}"
        figures.append(
            Figure(
                identity,
                panel.title,
                f"{panel.y_title}. {panel.caption}",
                panel_chart(panel, identity, CANVAS, section.label),
                number,
                series=[
                    (look.policy, look.color, () if panel.is_stacked else look.dash)
                    for look in looks(panel, PAGE)
                ],
            )
        )
        records += panel_records(panel, identity)
    ranked = overviews({section.label: section.rows})
    return Part(
        section.slug, section.label, section.summary, [("", figures)], records, overviews=ranked
    )
