"""The figures, as Vega-Lite charts through Altair: data is inside, nothing is fetched."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from clockhand.report.appearance import BOUND_DASH, Mark, Theme, marks
from clockhand.report.canvas import (
    FADED_OPACITY,
    HIGHLIGHT,
    LOGARITHMIC_SPAN,
    PICTURE,
    PICTURE_HEIGHT,
    PICTURE_WIDTH,
    ROWS,
    Canvas,
    picture,
    themed,
)
from clockhand.report.words import byte_text, unique
from clockhand.studies.pages.comparison import BASELINE, BOUND, OFFLINE
from clockhand.studies.pages.sections import (
    Record,
    Section,
    resolved_name,
    sections,
)
from clockhand.study.facts import Facts
from clockhand.study.files import publish

# With more memory sizes than this, point shapes would hide the lines.
MAXIMUM_SHAPED_SIZES = 24
MAXIMUM_LABELLED_SIZES = 12
BAR_HEIGHT = 26
BAND_OPACITY = 0.2


@dataclass(frozen=True)
class Measure:
    """One quantity that has a figure: its key in the API, its column, and how to print it."""

    key: str
    field: str
    title: str
    note: str
    number_format: str
    counts_from_zero: bool
    has_bound: bool


MEASURES = (
    Measure("io_time", "io_time", "I/O time",
            "What all reads and writes of the device take together; lower is better.",
            "~s", True, True),
    Measure("io_time_relative_to_clock", "relative_io_time", "I/O time relative to CLOCK",
            "Below 1 is less I/O time than CLOCK at the same memory size.",
            ".2~f", False, True),
    Measure("io_time_over_bound", "io_time_over_bound", "I/O time over the lower bound",
            "How many times the I/O time that no policy can go below at the same memory size.",
            ".2~f", False, False),
    Measure("read_ios", "read_ios", "Read I/Os",
            "Pages read from the device; lower is better.", "~s", True, True),
    Measure("write_ios", "write_ios", "Write I/Os",
            "Pages written to the device; lower is better.", "~s", True, True),
    Measure("hit_ratio", "hit_ratio", "Hit ratio",
            "Share of references that found their page in memory; higher is better.",
            ".0~%", False, False),
)  # fmt: skip


def figures(rows: pl.DataFrame, facts: Facts | None = None) -> dict[str, alt.LayerChart]:
    """Draw the figures of result rows.

    With one trace the keys are ``io_time``, ``io_time_relative_to_clock`` (only where CLOCK was
    run), ``io_time_over_bound`` (only where the bound was computed), ``read_ios``, ``write_ios``
    and ``hit_ratio``; with several, each is preceded by the name
    of the trace, as in ``os-gcc-io_time``. Clicking a policy in a legend highlights it.

    Args:
        rows: result rows, one per trace, memory size and policy.
        facts: what is known about the run; a trace that it calls synthetic is labelled so.

    Raises:
        ValueError: the rows lack a column or hold no policy.
    """
    parts = sections(rows, facts)
    everywhere = looks(parts, PICTURE.theme)
    charts = {}
    for section in parts:
        prefix = f"{section.slug}-" if len(parts) > 1 else ""
        for measure in drawable_measures(section):
            charts[prefix + measure.key] = chart(section, measure, everywhere, PICTURE)
    return charts


def write_plots(rows: pl.DataFrame, folder: str | Path, facts: Facts | None = None) -> None:
    """Write every figure as ``<key>.svg`` and ``<key>.png`` into ``folder``, made if absent.

    All files are drawn and on the disk before the first gets its name.

    Raises:
        ValueError: the rows lack a column or hold no policy.
        OSError: the folder or a file could not be written; nothing is left behind.
    """
    publish(pictures(rows, folder, facts), folder=Path(folder))


def pictures(
    rows: pl.DataFrame, folder: str | Path, facts: Facts | None = None
) -> dict[Path, bytes]:
    """Return what :func:`write_plots` would write: the content of each file in ``folder``.

    Raises:
        ValueError: the rows lack a column or hold no policy.
    """
    return {
        Path(folder) / f"{key}.{suffix}": picture(figure, suffix)
        for key, figure in figures(rows, facts).items()
        for suffix in ("svg", "png")
    }


def looks(parts: Sequence[Section], theme: Theme) -> list[Mark]:
    """Return the look of every policy of all sections, so that it is the same everywhere."""
    policies = unique(policy for section in parts for policy in section.policies)
    baselines = {section.baseline for section in parts if section.baseline}
    offline = {
        record["policy"]
        for section in parts
        for record in section.records
        if resolved_name(record) in OFFLINE
    }
    return marks(policies, baselines, offline, theme)


def drawable_measures(section: Section) -> list[Measure]:
    """Return the measures that a section has values for."""
    return [
        measure
        for measure in MEASURES
        if any(record[measure.field] is not None for record in section.records)
    ]


def measure_title(section: Section, measure: Measure) -> str:
    """Return the title of a figure, with its unit where it has one."""
    if measure.field == "io_time":
        return f"{measure.title} ({section.time_unit})"
    if measure.field == "relative_io_time" and section.baseline != BASELINE:
        return measure.title.replace("CLOCK", str(section.baseline))
    return measure.title


def has_bound(section: Section, measure: Measure) -> bool:
    """Tell whether the lower bound is drawn in a figure."""
    return measure.has_bound and any(bound[measure.field] is not None for bound in section.bounds)


def chart(
    section: Section, measure: Measure, everywhere: Sequence[Mark], canvas: Canvas
) -> alt.LayerChart:
    """Draw one measure of one section: lines over memory sizes, or bars at a single size.

    ``everywhere`` has the look of at least the policies of this section.
    """
    present = set(section.policies)
    here = [look for look in everywhere if look.policy in present]
    drawing = _Drawing(section, measure, here, canvas)
    layers = drawing.bars() if len(section.sizes) == 1 else drawing.lines()
    figure = alt.LayerChart(layer=layers, data=drawing.data())
    if canvas.on_page:
        figure = figure.properties(
            width="container", autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
        )
    else:
        figure = figure.properties(
            width=PICTURE_WIDTH,
            title=alt.TitleParams(
                measure_title(section, measure), subtitle=drawing.subtitle(), anchor="start"
            ),
        )
    height = PICTURE_HEIGHT if len(section.sizes) > 1 else BAR_HEIGHT * len(here)
    described = figure.properties(height=height, description=drawing.description())
    return themed(described, canvas.theme)


@dataclass(frozen=True)
class _Drawing:
    """One chart in the making."""

    section: Section
    measure: Measure
    looks: list[Mark]
    canvas: Canvas

    def values(self) -> list[Record]:
        return self.section.records + self.section.bounds

    def data(self) -> alt.InlineData | alt.NamedData:
        """The rows themselves in a picture; on the page a name, as its figures share the rows."""
        if self.canvas.on_page:
            return alt.NamedData(name=ROWS)
        return alt.InlineData(values=self.values())

    def subtitle(self) -> str:
        page = byte_text(self.section.setting["page_bytes"])
        parts = [self.section.label, f"{self.section.setting['device']}", f"{page} pages"]
        if len(self.section.sizes) == 1:
            parts.append(f"{self.section.sizes[0]:,} frames")
        return " · ".join(unique(parts))

    def description(self) -> str:
        sizes = self.section.sizes
        over = f"{sizes[0]:,} frames"
        if len(sizes) > 1:
            over = f"{len(sizes)} memory sizes from {sizes[0]:,} to {sizes[-1]:,} frames"
        names = ", ".join(look.policy for look in self.looks)
        title = measure_title(self.section, self.measure)
        return f"{title} on {self.section.label} at {over} for {names}."

    def lines(self) -> list[alt.Chart]:
        shaped = len(self.section.sizes) <= MAXIMUM_SHAPED_SIZES
        base = (
            alt.Chart()
            .transform_filter(alt.datum.policy != BOUND)
            .encode(x=self._memory(), y=self._value(alt.Y), opacity=self._opacity())
        )
        line = base.mark_line(strokeWidth=1.9, clip=True).encode(
            color=self._scale(alt.Color, lambda look: look.color, "policy:N"),
            strokeDash=self._scale(
                alt.StrokeDash, lambda look: list(look.dash), "policy:N", legend=None
            ),
        )
        point = base.mark_point(filled=True, size=48 if shaped else 14, clip=False).encode(
            color=self._scale(alt.Color, lambda look: look.color, "policy:N"),
            shape=self._scale(alt.Shape, lambda look: look.shape, "policy:N"),
            tooltip=self._tooltip(),
        )
        return [*self._bound_line(), line, point.add_params(self._highlight())]

    def bars(self) -> list[alt.Chart]:
        """Bars from zero, shortest I/O time first in every figure, so that figures line up."""
        order = sorted(
            self.section.records,
            key=lambda record: (record["io_time"] is None, record["io_time"] or 0),
        )
        base = (
            alt.Chart()
            .transform_filter(alt.datum.policy != BOUND)
            .encode(
                x=self._value(alt.X),
                y=alt.Y(
                    "policy:N",
                    title=None,
                    sort=unique(record["policy"] for record in order),
                    axis=alt.Axis(labelLimit=150, ticks=False, domain=False),
                ),
                tooltip=self._tooltip(),
            )
        )
        bar = base.mark_bar(height={"band": 0.72}).encode(
            color=self._scale(alt.Color, lambda look: look.color, "policy:N", legend=None)
        )
        text = base.mark_text(align="left", dx=5, color=self.canvas.theme.ink).encode(
            text=alt.Text(f"{self.measure.field}:Q", format=self._label_format())
        )
        return [bar, text, *self._bound_rule()]

    def _label_format(self) -> str:
        return {
            "relative_io_time": ".3f",
            "io_time_over_bound": ".2f",
            "hit_ratio": ".1%",
            "io_time": ",.4r",
        }.get(self.measure.field, ",")

    def _memory(self) -> alt.X:
        sizes = self.section.sizes
        logarithmic = _evenly_spaced_in_ratio(sizes)
        page = byte_text(self.section.setting["page_bytes"])
        axis = alt.Axis(
            labelExpr=self._memory_label(),
            labelOverlap="greedy",
            labelFlush=False,
            grid=False,
            values=sizes if len(sizes) <= MAXIMUM_LABELLED_SIZES else alt.Undefined,
        )
        scale = alt.Scale(type="log", base=2) if logarithmic else alt.Scale(type="linear")
        scale.nice = False
        scale.domain = [sizes[0], sizes[-1]]
        scale.padding = 14
        share = "" if self.section.footprint_pages is None else ", share of footprint"
        return alt.X("frames:Q", title=f"Memory (frames of {page}{share})", scale=scale, axis=axis)

    def _memory_label(self) -> str:
        """Frames, and under them the share of the footprint."""
        footprint_pages = self.section.footprint_pages
        if footprint_pages is None:
            return "format(datum.value, ',')"
        share = f"datum.value / {footprint_pages!r}"
        return f"[format(datum.value, ','), format(100 * {share}, '.2~r') + '\u00a0%']"

    def _value(self, channel: Callable[..., Any]) -> Any:
        in_bars = len(self.section.sizes) == 1
        zero = in_bars or self.measure.counts_from_zero
        known = [
            record[self.measure.field]
            for record in self.values()
            if record[self.measure.field] is not None
        ]
        scale = alt.Scale(zero=zero, nice=True)
        least = min(known, default=0)
        if not in_bars and zero and least > 0 and max(known) / least >= LOGARITHMIC_SPAN:
            scale = alt.Scale(type="log", nice=True)
        if in_bars:
            # Room for the number at the end of the longest bar.
            scale = alt.Scale(domain=[0, max(known) * 1.18 or 1], nice=False)
        axis = alt.Axis(format=self.measure.number_format, tickCount=5)
        title = None if self.canvas.on_page else measure_title(self.section, self.measure)
        return channel(f"{self.measure.field}:Q", title=title, scale=scale, axis=axis)

    def _scale(
        self,
        channel: Callable[..., Any],
        look_of: Callable[[Mark], Any],
        field: str,
        **options: Any,
    ) -> Any:
        if not options:
            options["legend"] = (
                None if self.canvas.on_page else alt.Legend(title="Policy", labelLimit=260)
            )
        scale = alt.Scale(
            domain=[look.policy for look in self.looks],
            range=[look_of(look) for look in self.looks],
        )
        return channel(field, scale=scale, **options)

    def _highlight(self) -> alt.Parameter:
        """The policies in focus: the page sets them in all figures, a picture from its legend."""
        if self.canvas.on_page:
            return alt.param(name=HIGHLIGHT, value=[])
        return alt.selection_point(name=HIGHLIGHT, fields=["policy"], bind="legend")

    def _opacity(self) -> Any:
        if self.canvas.on_page:
            test = f"length({HIGHLIGHT}) == 0 || indexof({HIGHLIGHT}, datum.policy) >= 0"
            return alt.when(test).then(alt.value(1)).otherwise(alt.value(FADED_OPACITY))
        return alt.when(self._highlight()).then(alt.value(1)).otherwise(alt.value(FADED_OPACITY))

    def _tooltip(self) -> list[alt.Tooltip]:
        fields = [
            ("trace:N", "Trace", None),
            ("policy:N", "Policy", None),
            ("policy_resolved:N", "With defaults", None),
            ("frames:Q", "Memory (frames)", ","),
            ("memory_percent:Q", "Memory (% of footprint)", ".3~r"),
            ("memory_mib:Q", "Memory (MiB)", ",.3~f"),
            ("io_time:Q", f"I/O time ({self.section.time_unit})", ",.6~r"),
            ("relative_io_time:Q", "I/O time relative to CLOCK", ".4f"),
            ("io_time_over_bound:Q", "I/O time over the lower bound", ".4f"),
            ("read_ios:Q", "Read I/Os", ","),
            ("write_ios:Q", "Write I/Os", ","),
            ("hit_ratio:Q", "Hit ratio", ".2%"),
            ("references:Q", "References", ","),
            ("read_references:Q", "Read references", ","),
            ("write_references:Q", "Write references", ","),
            ("hits:Q", "Hits", ","),
            ("misses:Q", "Misses", ","),
            ("read_misses:Q", "Read misses", ","),
            ("write_misses:Q", "Write misses", ","),
            ("clean_evictions:Q", "Clean evictions", ","),
            ("dirty_evictions:Q", "Dirty evictions", ","),
            ("energy_uj:Q", "Energy (µJ)", ",.6~r"),
        ]
        return self._known(fields, self.section.records)

    def _known(
        self, fields: Sequence[tuple[str, str, str | None]], records: Sequence[Record]
    ) -> list[alt.Tooltip]:
        """Leave out what some row does not know: Vega would print a null number as 0."""
        return [
            alt.Tooltip(field, title=title, format=form or alt.Undefined)
            for field, title, form in fields
            if all(record[field.partition(":")[0]] is not None for record in records)
        ]

    def _bound(self) -> alt.Chart:
        tooltip = self._known(
            [
                ("trace:N", "Trace", None),
                ("policy:N", "Lower bound of every policy", None),
                ("frames:Q", "Memory (frames)", ","),
                (
                    f"{self.measure.field}:Q",
                    measure_title(self.section, self.measure),
                    ",.6~r",
                ),
            ],
            self.section.bounds,
        )
        return alt.Chart().transform_filter(alt.datum.policy == BOUND).encode(tooltip=tooltip)

    def _bound_line(self) -> list[alt.Chart]:
        if not has_bound(self.section, self.measure):
            return []
        base = self._bound().encode(x=self._memory(), y=self._value(alt.Y))
        muted = self.canvas.theme.muted
        line = base.mark_line(strokeWidth=1.2, strokeDash=list(BOUND_DASH), color=muted)
        band = [
            base.mark_area(opacity=BAND_OPACITY, color=muted).encode(y2=alt.Y2(upper))
            for upper in self._upper_ends()
        ]
        if self.canvas.on_page:
            return [*band, line]
        # The legend of a picture has no entry for it, so the line bears its name.
        first = min(bound["frames"] for bound in self.section.bounds)
        label = (
            base.transform_filter(alt.datum.frames == first)
            .mark_text(align="left", dy=13, fontStyle="italic", color=muted)
            .encode(text=alt.value(BOUND))
        )
        return [*band, line, label]

    def _upper_ends(self) -> list[str]:
        """The field with the upper end of the bracket, where this measure has one."""
        field = f"{self.measure.field}_feasible"
        return [field] if any(bound.get(field) for bound in self.section.bounds) else []

    def _bound_rule(self) -> list[alt.Chart]:
        if not has_bound(self.section, self.measure):
            return []
        base = self._bound().encode(x=self._value(alt.X))
        theme = self.canvas.theme
        # The halo keeps the thin line visible on bars of any colour.
        halo = base.mark_rule(strokeWidth=4, color=theme.background)
        rule = base.mark_rule(strokeWidth=1.4, strokeDash=list(BOUND_DASH), color=theme.ink)
        band = [
            base.mark_rect(opacity=BAND_OPACITY, color=theme.ink).encode(x2=alt.X2(upper))
            for upper in self._upper_ends()
        ]
        return [*band, halo, rule]


def _evenly_spaced_in_ratio(sizes: Sequence[int]) -> bool:
    """Tell whether memory sizes look more even on a logarithmic axis than on a linear one."""
    if len(sizes) < 3 or sizes[0] <= 0:
        return False
    ratios = [after / before for before, after in itertools.pairwise(sizes)]
    steps = [after - before for before, after in itertools.pairwise(sizes)]
    return max(ratios) / min(ratios) < max(steps) / min(steps)
