"""The figures of simulations, in Vega-Lite: data is inside, nothing is fetched."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from clockhand.report.appearance import Mark, Theme, marks
from clockhand.report.bars import bars_chart, bars_note
from clockhand.report.canvas import PICTURE, Canvas, Spec, as_chart, picture_files
from clockhand.report.compared import Compared, SizeAxis, is_drawable
from clockhand.report.emphasis import emphasised, kept
from clockhand.report.lines import lines_chart
from clockhand.report.measures import caption
from clockhand.report.over_time import Over, OverTime, per_reference
from clockhand.report.overview import Overview, of_each, overview
from clockhand.report.overview_charts import overview_charts
from clockhand.report.places import Place
from clockhand.report.scales import Kind, Measure
from clockhand.report.words import byte_text, unique
from clockhand.studies.pages.findings import finding
from clockhand.studies.pages.sections import Section, meaning, sections
from clockhand.study.facts import Facts
from clockhand.study.files import publish
from clockhand.study.policies import BASELINE, BOUND, FEASIBLE, called, reads_the_future
from clockhand.study.records import Fields

if TYPE_CHECKING:
    import altair as alt

OVER_TIME = OverTime(
    ("policy", "frames", "page_bytes", "device"),
    Over("hit-ratio", "hit_ratio", "Hit ratio",
         "Share of the interval's references that were in memory."),
    per_reference("io-time", "io_time_us", "I/O time per reference (µs)"),
    per_reference("write-ios", "write_ios", "Pages written per reference"),
)  # fmt: skip
"""What the rows of intervals show."""


LOWER_BOUND = "lower bound"
WHICH = "Which policy, where, by how much"
OVER_BOUND = "How far from the lower bound"

MEASURES = (
    Measure("io_time", "io_time", "I/O time",
            "What all reads and writes of the device take together; lower is better.",
            Kind.NUMBER, True),
    Measure("io_time_relative_to_clock", "relative_io_time", "I/O time relative to clock",
            "Below 1 is less I/O time than clock at the same memory size.",
            Kind.RATIO, True),
    Measure("io_time_over_bound", "io_time_over_bound", "I/O time over the lower bound",
            "How many times the I/O time that no policy can go below at the same memory size.",
            Kind.RATIO),
    Measure("read_ios", "read_ios", "Read I/Os",
            "Pages read from the device; lower is better.", Kind.COUNT, True),
    Measure("write_ios", "write_ios", "Write I/Os",
            "Pages written to the device; lower is better.", Kind.COUNT, True),
    Measure("hit_ratio", "hit_ratio", "Hit ratio",
            "Share of references that found their page in memory; higher is better.",
            Kind.SHARE),
)  # fmt: skip

TOOLTIP: tuple[tuple[str, str, str | None], ...] = (
    ("trace", "Trace", None),
    ("policy", "Policy", None),
    ("policy_resolved", "With defaults", None),
    ("frames", "Memory (frames)", ","),
    ("memory_percent", "Memory (% of footprint)", ".3~r"),
    ("memory_mib", "Memory (MiB)", ",.3~f"),
    ("io_time", "I/O time", ",.6~r"),
    ("io_time_standard_error", "± standard error", ",.3~r"),
    ("relative_io_time", "I/O time relative to clock", ".4f"),
    ("io_time_over_bound", "I/O time over the lower bound", ".4f"),
    ("read_ios", "Read I/Os", ","),
    ("write_ios", "Write I/Os", ","),
    ("hit_ratio", "Hit ratio", ".2%"),
    ("misses", "Misses", ","),
    ("read_misses", "Read misses", ","),
    ("write_misses", "Write misses", ","),
    ("clean_evictions", "Clean evictions", ","),
    ("dirty_evictions", "Dirty evictions", ","),
    ("energy_uj", "Energy (µJ)", ",.6~r"),
)
"""Columns in a point's tooltip; the table of all rows has everything else."""

IN_TIME_UNIT = ("io_time", "io_time_standard_error")
"""Of those, what is in the unit of the section's times."""


def figures(
    rows: pl.DataFrame, facts: Facts | None = None, highlight: Sequence[str] = ()
) -> "dict[str, alt.LayerChart]":
    """Draw the figures of result rows.

    First come ``io_time_ranking`` and ``io_time_heat_map``, the ranking of all policies over
    everything that can be compared, with the range over traces, and the heat map; where the bound
    was computed, ``over_bound_ranking`` and ``over_bound_heat_map`` too. With one trace the other
    keys are ``io_time``, ``io_time_relative_to_clock`` (only where CLOCK was
    run), ``io_time_over_bound`` (only where the bound was computed), ``read_ios``, ``write_ios``
    and ``hit_ratio``; with several, each is preceded by the name
    of the trace, as in ``os-gcc-io_time``. Clicking a policy in a legend highlights it.

    Args:
        rows: result rows, one per trace, memory size and policy.
        facts: what is known about the run; a trace that it calls synthetic is labelled so.
        highlight: policies that are emphasised, besides the best and CLOCK.

    Raises:
        ValueError: the rows lack a column or hold no policy.
    """
    drawn = specifications(rows, facts, highlight)
    return {key: as_chart(figure) for key, figure in drawn.items()}


def specifications(
    rows: pl.DataFrame, facts: Facts | None, highlight: Sequence[str] = ()
) -> dict[str, Spec]:
    """Return the figures as Vega-Lite, by the keys of :func:`figures`."""
    parts = sections(rows, facts)
    names = called(rows["policy"])
    highlight = [names.get(name, name) for name in highlight]
    everywhere = looks(parts, PICTURE.theme)
    label = parts[0].label if len(parts) == 1 else f"{len(parts)} inputs"
    charts: dict[str, Spec] = {}
    for summed in overviews(parts):
        charts |= overview_charts(summed, PICTURE, label)
    for section in parts:
        prefix = f"{section.slug}-" if len(parts) > 1 else ""
        compared = compared_of(section, everywhere, PICTURE, highlight)
        for measure in drawable_measures(section):
            charts[prefix + measure.key] = chart(section, compared, measure, PICTURE)
        for ranged in section.ranges:
            charts[prefix + ranged.key] = ranged.chart(PICTURE, section.label)
    return charts


def recommendation_chart(rows: pl.DataFrame, policy: str) -> Spec:
    """Draw the I/O time of all policies at one memory size: the recommended one stands out."""
    [section] = sections(rows, None)
    policy = called(rows["policy"]).get(policy, policy)
    everywhere = looks([section], PICTURE.theme)
    shown = [policy, *([section.baseline] if section.baseline else [])]
    compared = replace(compared_of(section, everywhere, PICTURE, [policy]), focus=shown)
    first = titled(section, MEASURES[0])
    found = finding(section)
    heading = replace(first, title=f"Take {policy}: {first.title} by policy")
    figure = bars_chart(compared, heading, PICTURE)
    lines = [compared.label, found.lead, bars_note(compared, first)]
    figure["title"]["subtitle"] = [line for line in lines if line]
    return figure


def write_plots(rows: pl.DataFrame, folder: str | Path, facts: Facts | None = None) -> None:
    """Write every figure as ``<key>.svg`` and ``<key>.png`` into ``folder``, made if absent.

    All files are drawn and on the disk before the first gets its name.

    Raises:
        ValueError: the rows lack a column or hold no policy.
        OSError: the folder or a file could not be written; nothing is left behind.
    """
    publish(pictures(rows, folder, facts), Path(folder))


def pictures(
    rows: pl.DataFrame,
    folder: str | Path,
    facts: Facts | None = None,
    highlight: Sequence[str] = (),
) -> dict[Path, bytes]:
    """Return what :func:`write_plots` would write: the content of each file in ``folder``.

    Raises:
        ValueError: the rows lack a column or hold no policy.
    """
    return picture_files(folder, specifications(rows, facts, highlight))


def is_offline(section: Section) -> set[str]:
    """Return the policies of a section that know the future."""
    return {record["policy"] for record in section.records if reads_the_future(meaning(record))}


def looks(parts: Sequence[Section], theme: Theme) -> list[Mark]:
    """Return the look of every policy of all sections, so that it is the same everywhere."""
    return marks(unique(policy for section in parts for policy in section.policies), theme)


def focus(section: Section, highlight: Sequence[str]) -> list[str]:
    """Return the policies that are emphasised in the figures of a section."""
    return emphasised(*_wanted(section, highlight))


def _wanted(
    section: Section, highlight: Sequence[str]
) -> tuple[list[str], list[str], list[str], Sequence[str]]:
    always = [section.baseline] if section.baseline else []
    return section.policies, ranked(section), always, highlight


def ranked(section: Section) -> list[str]:
    """Return the policies that can run, the one with the least relative I/O time first."""
    offline = is_offline(section)
    summed = _overview([section], "ranking", "relative")
    names = [entry.name for entry in summed.entries] if summed else section.policies
    return [name for name in names if name in section.policies and name not in offline]


def drawable_measures(section: Section) -> list[Measure]:
    """Return the measures that a section has values for."""
    return [measure for measure in MEASURES if is_drawable(section.records, measure)]


def measure_title(section: Section, measure: Measure) -> str:
    """Return the title of a figure, with its unit where it has one."""
    if measure.field == "io_time":
        return f"{measure.title} ({section.time_unit})"
    if measure.field == "relative_io_time" and section.baseline != BASELINE:
        return measure.title.replace("clock", str(section.baseline))
    return measure.title


def compared_of(
    section: Section, everywhere: Sequence[Mark], canvas: Canvas, highlight: Sequence[str]
) -> Compared:
    """Return what the figures of a section share.

    ``everywhere`` has the look of at least the policies of this section.
    """
    present = set(section.policies)
    emphasised_here = focus(section, highlight)
    tooltip = [
        (name, f"{title} ({section.time_unit})" if name in IN_TIME_UNIT else title, form)
        for name, title, form in TOOLTIP
    ]
    return Compared(
        label=section.label if canvas.on_page else _subtitle(section),
        word="Policy",
        records=section.records,
        sizes=_memory(section),
        looks=[look for look in everywhere if look.policy in present],
        focus=emphasised_here,
        anchors=kept(*_wanted(section, highlight)),
        tooltip=tooltip,
        bounds=section.bounds,
        bound=BOUND,
    )


def chart(section: Section, compared: Compared, measure: Measure, canvas: Canvas) -> Spec:
    """Draw one measure of one section: lines over memory sizes, or bars at a single size."""
    measured = titled(section, measure)
    if len(section.sizes) > 1:
        return lines_chart(compared, measured, canvas)
    beside = None
    if measure.field == "io_time" and section.baseline is not None:
        beside = ("relative_io_time", f"\u00d7 {section.baseline}")
    return bars_chart(compared, measured, canvas, by="io_time", beside=beside)


def note(section: Section, compared: Compared, measure: Measure) -> str:
    """Return the caption of a figure, with what is cut at its edge."""
    return caption(compared, titled(section, measure))


def titled(section: Section, measure: Measure) -> Measure:
    """Return a measure with its unit, and with the name of the baseline."""
    return replace(measure, title=measure_title(section, measure))


def _subtitle(section: Section) -> str:
    page = byte_text(section.setting["page_bytes"])
    parts = [section.label, f"{section.setting['device']}", f"{page} pages"]
    if len(section.sizes) == 1:
        parts.append(f"{section.sizes[0]:,} frames")
    return " · ".join(unique(parts))


def _memory(section: Section) -> SizeAxis:
    page = byte_text(section.setting["page_bytes"])
    footprint_pages = section.footprint_pages
    share, label = "", "format(datum.value, ',')"
    if footprint_pages is not None:
        # Frames, and under them the share of the footprint.
        share = ", share of footprint"
        part = f"100 * datum.value / {footprint_pages!r}"
        written = f"{part} > 100 ? 'fits' : format({part}, '.2~r') + '\u00a0%'"
        label = f"[format(datum.value, ','), {written}]"
    return SizeAxis("frames", f"Memory (frames of {page}{share})", section.sizes, label)


def overviews(parts: Sequence[Section]) -> list[Overview]:
    """Return the rankings with heat maps of sections together: over CLOCK, and over the bound.

    Each device has its own.
    """
    return of_each(
        {
            device: [
                summed
                for key, kind in (("io_time", "relative"), ("over_bound", "bound"))
                if (summed := _overview(of_device, key, kind)) is not None and summed.has_ranges
            ]
            for device, of_device in by_device(parts).items()
        }
    )


def by_device(parts: Sequence[Section]) -> dict[str, list[Section]]:
    """Return the sections of each device, in the order of the parts."""
    found: dict[str, list[Section]] = {}
    for section in parts:
        found.setdefault(str(section.setting["device"]), []).append(section)
    return found


def _feasible(bound: Fields) -> Fields:
    """Return the record of the schedule that is known to work, as far as the bound's has it."""
    time, reached = bound["io_time"], bound.get("io_time_feasible")
    return {
        **bound,
        "io_time": reached,
        "relative_io_time": bound.get("relative_io_time_feasible"),
        "io_time_over_bound": reached / time if time and reached else None,
    }


def _overview(parts: Sequence[Section], key: str, kind: str) -> Overview | None:
    baselines = {section.baseline for section in parts}
    has_baseline = None not in baselines
    values: dict[tuple[str, Place], float] = {}
    notes: dict[str, str] = {}
    for section in parts:
        notes |= dict.fromkeys(is_offline(section), "knows the future")
        if section.baseline:
            notes[section.baseline] = "baseline"
        for name, place, value in _ratios(section, kind, has_baseline):
            values.setdefault((name, place), value)
    notes |= {LOWER_BOUND: "no policy can pass it", FEASIBLE: "knows the future"}
    over = "clock" if has_baseline else "the best policy of each size"
    if len(baselines) == 1 and has_baseline and BASELINE not in baselines:
        over = str(*baselines)
    unit = "I/O time over the lower bound" if kind == "bound" else f"I/O time over {over}"
    return overview(
        values,
        key=key,
        title=OVER_BOUND if kind == "bound" else WHICH,
        unit=unit,
        word="Policy",
        size_word="memory (frames and share)" if len(parts) == 1 else "memory",
        size_text=lambda size: f"{size:,.0f}",
        notes=notes,
        is_diverging=kind != "bound",
    )


def _ratios(section: Section, kind: str, has_baseline: bool) -> list[tuple[str, Place, float]]:
    """Return the ratios of a section, those of the lower bound among them."""
    field = "relative_io_time" if kind == "relative" else "io_time_over_bound"
    least: dict[int, float] = {}
    if kind == "relative" and not has_baseline:
        offline = is_offline(section)
        for record in section.records:
            if record["io_time"] and record["policy"] not in offline:
                frames = record["frames"]
                least[frames] = min(record["io_time"], least.get(frames, record["io_time"]))
    listed = [(record, str(record["policy"])) for record in section.records]
    if kind == "relative":
        listed += [(bound, LOWER_BOUND) for bound in section.bounds]
    listed += [(_feasible(bound), FEASIBLE) for bound in section.bounds]
    result = []
    for record, name in listed:
        value: float | None = record[field]
        if least:
            time, reference = record["io_time"], least.get(record["frames"])
            value = None if time is None or reference is None else time / reference
        if value is not None and record["frames"] in section.sizes:
            percentage = record["memory_percent"]
            share = None if percentage is None else percentage / 100
            result.append((name, Place(section.place, record["frames"], share), value))
    return result
