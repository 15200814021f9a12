"""The report: one HTML file with its figures, table and facts, which opens without a network."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from clockhand.report.appearance import BOUND_DASH, PAGE, Mark
from clockhand.report.canvas import CANVAS
from clockhand.report.html import Figure, Part, focus_of, payload, template
from clockhand.report.overview import Overview, less_text
from clockhand.report.scales import Measure
from clockhand.report.singles import is_single, singles
from clockhand.report.table import Table
from clockhand.report.words import byte_text, percent, size_share_text, size_text, unique
from clockhand.studies.pages.charts import (
    MEASURES,
    OVER_TIME,
    TOOLTIP,
    WHICH,
    by_device,
    chart,
    compared_of,
    drawable_measures,
    looks,
    measure_title,
    note,
    overviews,
    titled,
)
from clockhand.studies.pages.findings import NOTICEABLE, Finding, finding
from clockhand.studies.pages.sections import Section, sections
from clockhand.studies.pages.table import table
from clockhand.study.facts import Facts, printable
from clockhand.study.files import publish
from clockhand.study.phrases import MOST_LISTED, all_of, counted
from clockhand.study.policies import called
from clockhand.study.records import Fields

DRAWN = (
    *(name for name, _, _ in TOOLTIP), "io_time_feasible", "relative_io_time_feasible",
    *(f"{name}_{end}" for name in ("io_time", "read_ios", "write_ios") for end in ("low", "high")),
)  # fmt: skip
"""Columns of records that figures show."""

PAGE_TEMPLATE = Path(__file__).with_name("report.html.j2")


@dataclass(frozen=True)
class SectionPart(Part):
    """A part about one trace under one setting."""

    section: Section = field(kw_only=True)
    found: Finding = field(kw_only=True)


def write_report(rows: pl.DataFrame, facts: Facts, path: str | Path) -> None:
    """Write the report of result rows as one self-contained HTML file.

    The file is written beside its place and renamed when it is whole.

    Args:
        rows: result rows, one per trace, memory size and policy, in the order given.
        facts: how the rows were made; it describes every trace that the rows name.
        path: the file to write; its folder exists.

    Raises:
        ValueError: the rows lack a column or hold no policy, or the facts lack a trace.
        OSError: the file could not be written; nothing is left behind.
    """
    publish({Path(path): render(rows, facts).encode()})


def render(
    rows: pl.DataFrame,
    facts: Facts,
    highlight: Sequence[str] = (),
    intervals: pl.DataFrame | None = None,
    answer: "Answer | None" = None,
) -> str:
    """Return the report as HTML text.

    Args:
        rows: result rows, one per trace, memory size and policy, in the order given.

        facts: how the rows were made; it describes every trace that the rows name.

        highlight: policies that are emphasised, besides the best and CLOCK.

        intervals: The rows of intervals, if they were asked for.
        answer: What leads the report, if it is not what the rows show.
    """
    split = sections(rows, facts)
    names = called(rows["policy"])
    highlight = [names.get(name, name) for name in highlight]
    everywhere = looks(split, PAGE)
    parts: list[SectionPart] = []
    drawn = 0
    for section in split:
        part = _part(section, everywhere, highlight, drawn)
        drawn += sum(figure.is_drawn for figure in part.figures)
        parts.append(part)
    laid_out = table(rows, facts)
    leading = overviews(split) if len(split) > 1 else []
    # With several devices, findings about one of them lead; distances from the bound follow.
    devices = len(by_device(split))
    first = leading[:devices]
    over_time = OVER_TIME.parts(intervals, facts, parts)
    return template(PAGE_TEMPLATE).render(
        title=_title(parts, first) if answer is None else answer.title,
        answer=answer,
        against=next((it.found.verdict.against for it in parts if it.found.verdict), "clock"),
        parts=parts,
        over_time=over_time,
        leading=first,
        following=leading[len(first) :],
        setting=_setting(split),
        facts=printable(facts),
        table=laid_out,
        payload=payload([*parts, *over_time], {"rows-heading": laid_out}),
    )


@dataclass(frozen=True)
class Answer:
    """A recommendation: its title, its sentences, and the situations it was tried in."""

    title: str
    sentences: Sequence[str]
    situations: Table


def _title(parts: Sequence[SectionPart], leading: Sequence[Overview]) -> str:
    """Return the answer in a line; where devices are compared, it is about how many of them."""
    if len(parts) == 1:
        return parts[0].found.lead.rstrip(".")
    inputs = _inputs(parts, per=max(1, len(leading)) if _are_of_devices(leading) else 1)
    ahead = [entry for summed in leading for entry in summed.entries if not entry.note]
    policies = {policy for part in parts for policy in part.section.policies}
    if len(policies) == 1:
        return f"Only {policies.pop()} was run, on {inputs}"
    if not leading or not ahead or not leading[0].unit.endswith("clock"):
        return f"Memory-replacement policies compared on {inputs}"
    if not _are_of_devices(leading):
        if 1 - ahead[0].mean <= NOTICEABLE:
            return f"No policy needs less I/O time than clock over {inputs}"
        said = less_text({entry.name: entry.mean for entry in ahead}, "I/O time")
        return f"{said} than clock over {inputs}"
    best = [
        next(entry.name for entry in summed.entries if not entry.note or entry.note == "baseline")
        for summed in leading
    ]
    most = max(best, key=best.count)
    where = counted(best.count(most), len(best), "devices")
    return f"{most} needs the least I/O time on {where}, over {inputs}"


def _are_of_devices(leading: Sequence[Overview]) -> bool:
    return len({summed.key for summed in leading if summed.title.startswith(f"{WHICH}:")}) > 1


def _inputs(parts: Sequence[SectionPart], per: int) -> str:
    """Return what was compared over: traces, if nothing else differs."""
    traces = len({part.section.trace for part in parts})
    if traces * per != len(parts):
        return f"{len(parts)} inputs"
    return "1 trace" if traces == 1 else f"{traces} traces"


def _part(
    section: Section, everywhere: Sequence[Mark], highlight: Sequence[str], drawn: int
) -> SectionPart:
    figures: list[Figure] = []
    number = drawn
    drawable = drawable_measures(section)
    compared = compared_of(section, everywhere, CANVAS, highlight)
    is_table = is_single(compared) and len(drawable) > 1
    for measure in () if is_table else MEASURES:
        identity = f"{section.slug}-{measure.key}"
        if measure not in drawable:
            missing = _missing(section, measure)
            figures.append(Figure(identity, measure.title, "", None, missing=missing))
            continue
        number += 1
        specification = chart(section, compared, measure, CANVAS)
        title = measure_title(section, measure)
        caption = note(section, compared, measure)
        figures.append(Figure(identity, title, caption, specification, number))
    for ranged in section.ranges:
        number += 1
        specification = ranged.chart(CANVAS, section.label)
        identity = f"{section.slug}-{ranged.key}"
        figures.append(Figure(identity, ranged.title, ranged.caption, specification, number))
    bounded = any(compared.has_bound(measure) for measure in drawable)
    found = finding(section)
    return SectionPart(
        slug=section.slug,
        title=section.label,
        text=_summary(section),
        rows=[("", figures)],
        records=[_drawn(record) for record in compared.everything()],
        looks=compared.looks if len(section.sizes) > 1 else [],
        focus=focus_of(figures, compared.focus),
        word="policy",
        overviews=overviews([section]),
        singles=singles([(compared, titled(section, it)) for it in drawable]) if is_table else None,
        bound_dash=BOUND_DASH if bounded else (),
        section=section,
        finding=f"{found.lead} {found.detail}",
        found=found,
    )


def _drawn(record: Fields) -> Fields:
    """Return what figures show of a record, which is far less than there is."""
    return {name: record[name] for name in DRAWN if record.get(name) is not None}


def _missing(section: Section, measure: Measure) -> str:
    if measure.field == "relative_io_time" and section.baseline is None:
        return (
            "The policy clock was not run on this input, so nothing can be shown relative to it. "
            "Add --policy clock for this figure."
        )
    if measure.field == "io_time_over_bound" and not section.bounds:
        return (
            "The lower bound was not computed, so no policy's distance to it is known. "
            "Add --policy bound for this figure."
        )
    return f"The rows hold no {measure.title}, so there is nothing to draw."


SAME_MEMORY = 1.03
"""Shares of footprints that differ by less than this factor were asked for as one."""


def _setting(split: Sequence[Section]) -> str:
    """Return what holds for all inputs: memory, page size and device."""
    shares = {share for it in split for record in it.records if (share := record["memory_share"])}
    # The same percentage of two footprints is not quite the same share.
    distinct: list[float] = []
    for share in sorted(shares):
        if not distinct or share > SAME_MEMORY * distinct[-1]:
            distinct.append(share)
    sizes = [size_share_text(share) for share in distinct]
    pages = unique(byte_text(section.setting["page_bytes"]) for section in split)
    texts = [f"pages of {all_of(pages)}", f"device {all_of(by_device(split))}"]
    if sizes:
        few = len(sizes) <= MOST_LISTED
        memory = all_of(sizes) if few else f"{sizes[0]} to {sizes[-1]}"
        texts.insert(0, f"memory {memory} of each footprint")
    return " · ".join(texts)


def _summary(section: Section) -> str:
    first = section.records[0]
    texts = []
    if first["references"]:
        writes = (first["write_references"] or 0) / first["references"]
        texts.append(f"{first['references']:,} references, {percent(writes)} writes")
    if section.footprint_pages is not None:
        pages = section.footprint_pages
        size = size_text(pages * section.setting["page_bytes"])
        texts.append(f"footprint {pages:,.0f} pages ({size})")
    texts.append(f"pages of {byte_text(section.setting['page_bytes'])}")
    texts.append(f"device {section.setting['device']}")
    return " · ".join(texts)
