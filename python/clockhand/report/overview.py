"""The head of a report: who is ahead, where and by how much, as a ranking beside a heat map."""

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from clockhand.report.places import Place, groups_of, size_name
from clockhand.report.scales import ratio_text
from clockhand.report.spread import Range, RangeAxis, range_of
from clockhand.report.words import UNKNOWN, free_slug, percent, unique
from clockhand.study.phrases import all_of

STRONGEST = math.log(2)
"""The logarithm of the ratio at which a cell has the full colour, at least: half, or twice."""

NEAR = 0.03
"""Means within this share of the best one hardly differ."""

BASELINE = "baseline"
"""The note on what others are compared with."""

MOST_NAMED = 5
"""Series that were not run everywhere and are named."""

ROW_HEIGHT = 25
HEAD_HEIGHT = 120
"""Pixels of a row, and of what stands above the rows."""


@dataclass(frozen=True)
class Cell:
    """A number of a heat map; ``heat`` is from -1 (far less) over 0 to 1 (far more)."""

    text: str
    heat: float
    hint: str = ""

    @property
    def strength(self) -> int:
        """The strength of the colour, in percent."""
        return round(100 * abs(self.heat))


@dataclass(frozen=True)
class Entry:
    """One row: a series, its mean, its range, and its cells, group by group.

    Attributes:
        name: The series.

        note: What it is, where it is no competitor: the baseline, a bound.

        mean: Its geometric mean.

        cell: The mean as a cell.

        range: Over what it was made of.

        cells: A cell per column; none without a value.

        values: The numbers in the cells.
    """

    name: str
    note: str
    mean: float
    cell: Cell
    range: Range
    cells: Sequence[Cell | None]
    values: Sequence[float | None]


@dataclass(frozen=True)
class Overview:
    """The ranking of all series beside the heat map.

    Attributes:
        key: Its name in files and on the page.

        title: What stands above it.

        caption: What it shows, in a sentence or two.

        word: What a series is.

        unit: What one value is, such as "I/O time over clock".

        of: What the ranges are over.

        groups: Heading and columns of each group.

        entries: The rows, the least mean first.

        range_ticks: Ticks of the ranges: place and label.

        one_x: Where 1 is in the ranges.

        has_ranges: Whether there is more than one place, and so a range at all.

        part: Of how many places its means are, such as "at 2 of 3 sizes"; nothing if of all.
    """

    key: str
    title: str
    caption: str
    word: str
    unit: str
    of: str
    groups: Sequence[tuple[str, Sequence[str]]]
    entries: Sequence[Entry]
    range_ticks: Sequence[tuple[float, str]]
    one_x: float
    has_ranges: bool
    part: str = ""

    @property
    def starts(self) -> set[int]:
        """The places of the columns with which groups begin."""
        lengths = [0, *(len(columns) for _, columns in self.groups)]
        return set(itertools.accumulate(lengths[:-1]))

    @property
    def height(self) -> int:
        """About the pixels that it takes on a page."""
        return HEAD_HEIGHT + ROW_HEIGHT * len(self.entries)

    @property
    def columns(self) -> list[str]:
        """The columns of all groups."""
        return [column for _, columns in self.groups for column in columns]


Values = dict[tuple[str, Place], float]
"""The ratio of each series at each place."""


Leading = Sequence[tuple[str, Sequence[tuple[str, Mapping[str, str]]]]]
"""Groups of columns with texts of their own: heading, and by column a text for each series."""


def overview(
    values: Values,
    *,
    key: str,
    title: str,
    unit: str,
    word: str,
    size_word: str,
    size_text: Callable[[float], str],
    notes: dict[str, str],
    is_diverging: bool = True,
    place_word: str = "trace",
    least_series: int = 2,
    first: Leading = (),
    sizes_word: str = "sizes",
) -> Overview | None:
    """Sum up ratios of many traces and sizes; none where nothing can be compared.

    Args:
        values: The ratios; a place where one of them is 0 is not compared.

        key: A name for files and pages.

        title: What stands above it.

        unit: What one value is.

        word: What a series is.

        size_word: What a size is, such as memory.

        size_text: Writes a size that is not a share.

        notes: Series outside the competition, and what they are.

        is_diverging: Whether 1 is the middle, not the least.

        place_word: What is compared as traces are, if it is something else.

        least_series: The least number of rows.

        first: Columns before those of sizes: a heading, and by column a text for each series.

        sizes_word: What several sizes are called.
    """
    series, left_out = _run_everywhere(values)
    known = {entry: value for entry, value in values.items() if value > 0 and entry[0] in series}
    found = unique(place for _, place in known)
    places = [place for place in found if all((name, place) in known for name in series)]
    if len(series) < least_series or not places:
        return None
    traces = unique(place.trace for place in places)
    groups = groups_of(places, traces, size_word, size_text, place_word)
    parts = (
        [(trace, [place for place in places if place.trace == trace]) for trace in traces]
        if len(traces) > 1
        else [(size_name(place, size_text), [place]) for place in places]
    )
    means = {name: _mean(known, name, places) for name in series}
    order = sorted(series, key=lambda name: means[name])
    spread = {name: [(_mean(known, name, at), label) for label, at in parts] for name in series}
    axis = RangeAxis.over(value for of_series in spread.values() for value, _ in of_series)
    full = _full(known.values(), is_diverging)
    entries = []
    for name in order:
        row = [_mean(known, name, at) if at else None for _, columns in groups for _, at in columns]
        drawn = range_of(means[name], spread[name], axis)
        entries.append(_entry(name, notes.get(name, ""), means[name], drawn, first, row, full))
    of = f"{len(traces)} {place_word}s" if len(traces) > 1 else f"{len(places)} {sizes_word}"
    idle = _without_need(values, series)
    known_places = len(idle) + len(places)

    def named(place: Place) -> str:
        size = size_name(place, size_text).split("\n")
        text = f"{size_word} {size[0]}" + (f" ({size[1]})" if len(size) > 1 else "")
        return f"{text} on {place.trace}" if len(traces) > 1 else text

    shown = sum(len(columns) for heading, columns in groups if heading.startswith("by "))
    return Overview(
        key=key,
        title=title,
        caption=_caption(unit, places, traces, shown, place_word, sizes_word)
        + _ties(entries)
        + _left_out(left_out)
        + _not_compared({named(place): names for place, names in idle.items()}, known_places),
        word=word,
        unit=unit,
        of=of,
        groups=[(heading, [label for label, _ in it]) for heading, it in (*first, *groups)],
        entries=entries,
        range_ticks=axis.labelled(),
        one_x=axis.x(1.0),
        has_ranges=len(places) > 1,
        part=f"at {len(places)} of {known_places} {sizes_word}" if idle else "",
    )


def _entry(
    name: str,
    note: str,
    mean: float,
    drawn: Range,
    first: Leading,
    row: Sequence[float | None],
    full: float,
) -> Entry:
    """Return a row: the texts of its first columns, and its values, each with its colour."""
    texts = [by_series.get(name, UNKNOWN) for _, columns in first for _, by_series in columns]
    return Entry(
        name=name,
        note=note,
        mean=mean,
        cell=_cell(mean, full),
        range=drawn,
        cells=[
            *(Cell(text, 0) for text in texts),
            *(None if value is None else _cell(value, full) for value in row),
        ],
        values=[*(None for _ in texts), *row],
    )


def of_each(overviews: Mapping[str, Sequence[Overview]]) -> list[Overview]:
    """Return the overviews of each device, which are named after it where there are several.

    A mean over a disk and flash would be about neither.

    Args:
        overviews: Those of each device; the same overview of all of them stands together.
    """
    if len(overviews) == 1:
        return [summed for of_device in overviews.values() for summed in of_device]
    named = [
        (summed.key, replace(
            summed,
            key=f"{summed.key}_{free_slug(device, [])}",
            title=f"{summed.title}: {device}",
        ))
        for device, of_device in overviews.items()
        for summed in of_device
    ]  # fmt: skip
    keys = unique(key for key, _ in named)
    return [summed for key in keys for of_key, summed in named if of_key == key]


def _caption(
    unit: str,
    places: Sequence[Place],
    traces: Sequence[str],
    shown: int,
    place_word: str,
    sizes_word: str,
) -> str:
    sizes = len({(place.share or place.size) for place in places})
    over = "1 size" if len(places) == 1 else f"{len(places)} {sizes_word}"
    if len(traces) > 1:
        over = f"{len(traces)} {place_word}s"
        if len(places) > len(traces):
            over = f"{len(places):,} places, {over}"
    ranged = f"means of the {place_word}s" if len(traces) > 1 else sizes_word
    text = (
        f"{unit}; less is better. The mean is geometric, over {over}, and the range is over the "
        f"{ranged}."
    )
    if len(traces) == 1 and sizes > shown:
        text += f" {shown} of {sizes} sizes have a column."
    return text


def less_text(means: Mapping[str, float], what: str) -> str:
    """Return who needs how much less than a baseline: all whose ratios to it are printed alike.

    Args:
        means: The ratios, the least first.
        what: What there is less of.
    """
    (first, least), *_ = means.items()
    alike = [name for name, mean in means.items() if ratio_text(mean) == ratio_text(least)]
    if len(alike) == 1:
        return f"{first} needs {percent(1 - least)} less {what}"
    return f"{all_of(alike)}, alike, need about {100 * (1 - least):.0f}\u00a0% less {what}"


def _ties(entries: Sequence[Entry]) -> str:
    """Name those that hardly differ from the best, which a ranking would tell apart."""
    can_run = [entry for entry in entries if entry.note in ("", BASELINE)]
    near = [entry.name for entry in can_run if entry.mean <= (1 + NEAR) * can_run[0].mean]
    if len(near) < 2:
        return ""
    return f" Within {100 * NEAR:.0f}\u00a0% of the best: {all_of(near)}."


def _left_out(names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f" Left out, as not run everywhere: {shown}{more}."


def _without_need(values: Values, series: Sequence[str]) -> dict[Place, list[str]]:
    """Return the places where some need nothing, so that no ratio counts, with their names."""
    idle: dict[Place, list[str]] = {}
    for (name, place), value in values.items():
        if value <= 0 and name in series:
            idle.setdefault(place, []).append(name)
    return idle


def _not_compared(idle: Mapping[str, Sequence[str]], every: int) -> str:
    """Say which places the mean leaves out, and why; of many, how many."""
    if not idle:
        return ""
    if len(idle) > MOST_NAMED:
        return (
            f" Left out of the mean, as one of them needs nothing: {len(idle)} of {every} places."
        )
    places = (
        f"{place}, where {all_of(names)} {'needs' if len(names) == 1 else 'need'} nothing"
        for place, names in idle.items()
    )
    return f" Left out of the mean: {'; '.join(places)}."


def _run_everywhere(values: Values) -> tuple[list[str], list[str]]:
    """Return the series that have a value wherever any has one, and the others.

    If no series has all values, those with the most count as complete.
    """
    count: dict[str, int] = {}
    for name, _ in values:
        count[name] = count.get(name, 0) + 1
    most = max(count.values(), default=0)
    whole = [name for name, places in count.items() if places == most]
    return whole, [name for name in count if name not in whole]


def _mean(known: Values, name: str, places: Iterable[Place]) -> float:
    logs = [math.log(known[name, place]) for place in places if (name, place) in known]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def _full(values: Iterable[float], is_diverging: bool) -> float:
    """Return the logarithm of the ratio that has the full colour: nine of ten have less.

    Over a bound everything is 1 or more; there it is four times as much at the least.
    """
    known = sorted(abs(math.log(value)) for value in values if value > 0)
    least = STRONGEST if is_diverging else 2 * STRONGEST
    return max(least, known[(9 * (len(known) - 1)) // 10]) if known else least


def _cell(value: float, full: float) -> Cell:
    if math.isnan(value):
        return Cell("–", 0)
    heat = max(-1.0, min(1.0, math.log(value) / full))
    return Cell(ratio_text(value), heat, f"{value:,.4g}")
