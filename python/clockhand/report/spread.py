"""The range of a row of a ranking: its ends, and where the page draws them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clockhand.report.scales import LINEAR_SPAN, decimals_of_ticks, outlier_cut, ratio_text, ticks

RANGE_WIDTH = 150
RANGE_HEIGHT = 18
RANGE_MARGIN = 8


@dataclass(frozen=True)
class Range:
    """The least and the greatest of what a mean was made of, and where the page draws them."""

    least: float
    least_at: str
    most: float
    most_at: str
    mean_x: float
    least_x: float
    most_x: float
    is_cut: bool
    is_mean_cut: bool

    @property
    def least_text(self) -> str:
        """The least in words."""
        return ratio_text(self.least)

    @property
    def most_text(self) -> str:
        """The greatest in words."""
        return ratio_text(self.most)

    @property
    def text(self) -> str:
        """The range in words."""
        return (
            f"from {ratio_text(self.least)} ({self.least_at}) to {ratio_text(self.most)} "
            f"({self.most_at})"
        )


@dataclass(frozen=True)
class RangeAxis:
    """The axis of the ranges, in pixels of their drawings."""

    low: float
    high: float
    is_cut: bool

    @classmethod
    def over(cls, values: Iterable[float]) -> "RangeAxis":
        known = [value for value in values if not math.isnan(value)]
        cut = outlier_cut(known)
        low, high = min([*known, 0.95]), max([*known, 1.05]) if cut is None else cut
        return cls(low / 1.02, high * 1.02, cut is not None)

    def x(self, value: float) -> float:
        share = math.log(min(value, self.high) / self.low) / math.log(self.high / self.low)
        return round(RANGE_MARGIN + share * (RANGE_WIDTH - 2 * RANGE_MARGIN), 1)

    def labelled(self) -> list[tuple[float, str]]:
        wanted = ticks(self.low, self.high)
        few = [value for value in wanted if value != 1][:: max(1, len(wanted) // 3)]
        result: list[tuple[float, str]] = [(self.x(1.0), "1")]
        for value in few:
            if all(abs(self.x(value) - x) > 26 for x, _ in result):
                result.append((self.x(value), f"{value:.3g}"))
        decimals = decimals_of_ticks([1, *map(float, (text for _, text in result))])
        if self.high < LINEAR_SPAN * self.low:
            result = [(x, f"{float(text):.{decimals}f}") for x, text in result]
        return sorted(result)


def range_of(mean: float, spread: Sequence[tuple[float, str]], axis: RangeAxis) -> Range:
    known = [(value, label) for value, label in spread if not math.isnan(value)]
    least, least_at = min(known, key=lambda entry: entry[0])
    most, most_at = max(known, key=lambda entry: entry[0])
    return Range(
        least=least,
        least_at=least_at.replace("\n", ", "),
        most=most,
        most_at=most_at.replace("\n", ", "),
        mean_x=axis.x(mean),
        least_x=axis.x(least),
        most_x=axis.x(most),
        is_cut=most > axis.high,
        is_mean_cut=mean > axis.high,
    )
