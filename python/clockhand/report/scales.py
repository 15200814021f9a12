"""Value axes: domains, ticks that people would choose, and where outliers are cut."""

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from clockhand.report.canvas import Spec
from clockhand.report.words import percent, time_text

LOGARITHMIC_SPAN = 50
"""An axis that spans more than this factor is unreadable on a linear scale."""

FLATTENED = 4
"""So is one whose greatest value is this many times the median: it flattens the others."""

OUTLIER = 3
"""From this multiple of the median of all values on, a ratio is cut at the edge of its figure."""

MOST_TICKS = 8

MOST_IS_BEST = (
    "hit_ratio", "iops", "life_years", "life_repetitions", "fast_share", "found_share",
)  # fmt: skip
"""Ends of the names of columns where more is better; in all others, less is."""


class Kind(StrEnum):
    """The kind of a value, which decides how its axis and its numbers are written."""

    COUNT = "count"
    NUMBER = "number"
    SHARE = "share"
    RATIO = "ratio"
    TIME = "time"
    """Microseconds, written in the unit that each value has."""


@dataclass(frozen=True)
class Measure:
    """One quantity that has a figure.

    Attributes:
        key: Its name in files and in the library.

        field: Its column in the records.

        title: What stands above the figure, with the unit.

        note: What the quantity is, in a sentence.

        kind: Its kind; ratios have logarithmic axes and cut outliers.

        has_bound: Whether the lower bound of all policies has a value of it.
    """

    key: str
    field: str
    title: str
    note: str
    kind: Kind
    has_bound: bool = False

    @property
    def most_is_best(self) -> bool:
        """True if more is better."""
        return self.field.endswith(MOST_IS_BEST)


# Counts and amounts as people write them: 950 and 20 k, and 0.1, which SI would call 100m.
_WRITTEN = (
    "abs({value}) >= 1e9 ? format({value} / 1e9, ',.3~r') + '\u00a0G' : "
    "abs({value}) >= 1e6 ? format({value} / 1e6, ',.3~r') + '\u00a0M' : "
    "abs({value}) >= 1e3 ? format({value} / 1e3, ',.3~r') + '\u00a0k' : "
    "{value} == 0 ? '0' : format({value}, ',.4~r')"
)
_TIME = (
    "{value} >= 1e6 ? format({value} / 1e6, ',.3~r') + '\u00a0s' : "
    "{value} >= 1e3 ? format({value} / 1e3, ',.3~r') + '\u00a0ms' : "
    "{value} == 0 ? '0' : format({value}, ',.3~r') + '\u00a0µs'"
)


def label_expression(kind: Kind, value: str = "datum.value") -> str:
    """Return the Vega expression for the labels of an axis, or for another value."""
    match kind:
        case Kind.SHARE:
            return f"format(100 * {value}, '.3~r') + '\u00a0%'"
        case Kind.RATIO:
            return f"format({value}, '.3~r')"
        case Kind.TIME:
            return _TIME.format(value=value)
        case _:
            return _WRITTEN.format(value=value)


def exact_format(kind: Kind) -> str:
    """Return the d3 format of one value where there is room for its digits."""
    match kind:
        case Kind.COUNT:
            return ","
        case Kind.SHARE:
            return ".2%"
        case Kind.RATIO:
            return ".3~f"
        case Kind.NUMBER | Kind.TIME:
            return ",.4~r"


def ratio_text(ratio: float) -> str:
    """Return a ratio for reading: two decimals, fewer where it is large, more where it is tiny."""
    if ratio < 0.0995:
        decimals = max(3, 1 - math.floor(math.log10(ratio))) if ratio > 1e-9 else 3
        return f"{ratio:.{decimals}f}"
    if ratio >= 99.95:
        return f"{ratio:,.0f}"
    return f"{ratio:.1f}" if ratio >= 9.995 else f"{ratio:.2f}"


def value_text(kind: Kind, value: float) -> str:
    """Return one value for reading."""
    match kind:
        case Kind.SHARE:
            return percent(value)
        case Kind.RATIO:
            return ratio_text(value)
        case Kind.TIME:
            return time_text(value)
        case _:
            return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"


def is_spread(sizes: Sequence[float]) -> bool:
    """Tell whether sizes look more even on a logarithmic axis than on a linear one."""
    if len(sizes) < 3 or sizes[0] <= 0:
        return False
    ratios = [after / before for before, after in itertools.pairwise(sizes)]
    steps = [after - before for before, after in itertools.pairwise(sizes)]
    return max(ratios) / min(ratios) < max(steps) / min(steps)


@dataclass(frozen=True)
class ValueAxis:
    """A value axis whose ends are known, so that labels can be placed and outliers cut.

    Attributes:
        low: Its lower end.

        high: Its upper end.

        is_logarithmic: Whether equal distances are equal ratios.

        is_cut: Whether there are values above ``high``.

        least: On an axis that begins at 0 and is logarithmic from about the least other value on,
            that value; 0 on others.
    """

    low: float
    high: float
    is_logarithmic: bool
    is_cut: bool = False
    least: float = 0

    def scale(self) -> Spec:
        """Return it as Vega-Lite's scale."""
        scale: Spec = {"domain": [self.low, self.high], "nice": False}
        if self.least:
            return scale | {"type": "symlog", "constant": self.least}
        return scale | (
            {"type": "log"} if self.is_logarithmic else {"type": "linear", "zero": False}
        )

    def axis(self, kind: Kind) -> Spec:
        """Return its ticks and their labels."""
        axis: Spec = {"labelExpr": label_expression(kind), "labelOverlap": "greedy"}
        if self.least:
            return axis | {"values": [0, *ticks(self.least, self.high)]}
        if self.is_logarithmic:
            values = ticks(self.low, self.high)
            if kind is Kind.RATIO and self.high < LINEAR_SPAN * self.low:
                axis["labelExpr"] = f"format(datum.value, '.{decimals_of_ticks(values)}f')"
            return axis | {"values": values}
        whole = {"tickMinStep": 1} if kind is Kind.COUNT else {}
        return axis | {"tickCount": 5, **whole}

    def share(self, value: float) -> float:
        """Return how far along the axis a value is, from 0 to 1."""
        if self.least:
            return math.log1p(value / self.least) / math.log1p(self.high / self.least)
        if self.is_logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def share_expression(self, value: str) -> str:
        """Return :meth:`share` of a value as a Vega expression."""
        if self.least:
            return f"log(1 + {value} / {self.least!r}) / {math.log1p(self.high / self.least)!r}"
        if self.is_logarithmic:
            return f"log({value} / {self.low!r}) / {math.log(self.high / self.low)!r}"
        return f"({value} - {self.low!r}) / {self.high - self.low!r}"

    def value_expression(self, share: str) -> str:
        """Return :meth:`value` of a share as a Vega expression."""
        if self.least:
            whole = math.log1p(self.high / self.least)
            return f"{self.least!r} * (exp({share} * {whole!r}) - 1)"
        if self.is_logarithmic:
            return f"{self.low!r} * exp({share} * {math.log(self.high / self.low)!r})"
        return f"{self.low!r} + {share} * {self.high - self.low!r}"

    def value(self, share: float) -> float:
        """Return the value at a place of the axis, the inverse of :meth:`share`."""
        if self.least:
            return self.least * math.expm1(share * math.log1p(self.high / self.least))
        if self.is_logarithmic:
            return self.low * math.exp(share * math.log(self.high / self.low))
        return self.low + share * (self.high - self.low)


def value_axis(kind: Kind, values: Iterable[float], anchors: Iterable[float] = ()) -> ValueAxis:
    """Return the axis of values over sizes.

    Args:
        kind: What the values are.

        values: All of them, the anchors among them.

        anchors: Those that stay inside of the figure, however far out they are.
    """
    known = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    if kind is Kind.RATIO and low > 0:
        cut = outlier_cut(known, anchors)
        top = high if cut is None else cut
        return ValueAxis(min(low, 0.98) / 1.04, max(top, 1.02) * 1.04, True, cut is not None)
    if kind is Kind.SHARE:
        margin = 0.06 * (high - low) or 0.01
        return ValueAxis(max(0.0, low - margin), high + margin / 2, is_logarithmic=False)
    if low >= 0 and _is_flattened(known):
        if low > 0:
            return ValueAxis(low / 1.15, high * 1.15, True)
        return ValueAxis(0.0, high * 1.15, False, least=min(value for value in known if value > 0))
    return ValueAxis(min(0.0, low), high * 1.06 if high > 0 else 1.0, False)


def _is_flattened(values: Sequence[float]) -> bool:
    """Tell whether most values would lie at the foot of a linear axis."""
    some = [value for value in values if value > 0]
    if not some:
        return False
    high, low = max(some), min(some)
    return high >= LOGARITHMIC_SPAN * low or high >= FLATTENED * statistics.median(values) > 0


def outlier_cut(values: Iterable[float], anchors: Iterable[float] = ()) -> float | None:
    """Return above which value ratios are cut; none where no value is so far out."""
    known = list(values)
    if not known:
        return None
    cut = max([OUTLIER * max(1.0, statistics.median(known)), *anchors])
    return cut if max(known) > 1.2 * cut else None


LINEAR_SPAN = 6
"""Up to this factor ticks of a logarithmic axis stand at equal steps."""

STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
FACTORS: Sequence[Sequence[float]] = ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
"""Places of ticks within each power of ten, the finest first."""


def decimals_of_ticks(values: Iterable[float]) -> int:
    """Return the decimals that the finest of some ticks needs: all of an axis have as many."""
    return max(len(f"{value:.6g}".partition(".")[2]) for value in values)


def ticks(low: float, high: float) -> list[float]:
    """Return ticks of a logarithmic axis: round numbers, at most eight."""
    size = 10.0 ** math.floor(math.log10(high))
    if high / low < LINEAR_SPAN:
        steps = ([step * size * place for place in range(1, 1000)] for step in STEPS)
    else:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = ([factor * 10.0**decade for decade in decades for factor in factors]
                 for factors in FACTORS)  # fmt: skip
    found: list[float] = []
    for every in steps:
        found = [float(f"{value:.6g}") for value in every if low <= value <= high]
        if len(found) <= MOST_TICKS:
            break
    return found[:: math.ceil(len(found) / MOST_TICKS)] if found else [low, high]
