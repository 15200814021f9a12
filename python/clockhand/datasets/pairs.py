"""Pairs of what ran on the same traces: one value of each on each trace, and their tests."""

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.datasets.paired import holm, leaning, mean_interval, signed_rank_p
from clockhand.study.facts import base_names
from clockhand.study.phrases import all_of

ALPHA = 0.05


@dataclass(frozen=True)
class Pair:
    """Two that are compared, the one with the lower mean (or higher, where more is better) first.

    Attributes:
        first: It.

        second: The other.

        ratio: The geometric mean over traces of the value of the first over the second's.

        low: The lower end of its 95 % interval.

        high: The upper end.

        ahead: On how many traces the first is better.

        behind: On how many it is worse; on the others they are equal.

        p: Of Wilcoxon's signed-rank test.

        corrected: The same, by Holm's correction for all pairs.

        agrees: Whether the ranks of the test lean as the means do: a few large differences
            may outweigh many small ones in a mean.
    """

    first: str
    second: str
    ratio: float
    low: float
    high: float
    ahead: int
    behind: int
    p: float
    corrected: float
    agrees: bool

    @property
    def is_shown(self) -> bool:
        """Whether a difference is shown, at 5 % for all pairs together, and not two ways."""
        return self.agrees and self.corrected <= ALPHA


def logs_by_trace(
    rows: pl.DataFrame, compared: str, value: str, settings: Sequence[str], names: Sequence[str]
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Return the mean logarithm of each on each trace that all ran on, and what is left out."""
    logs: dict[str, dict[str, float]] = {}
    zeros, incomplete = 0, []
    for (trace,), of_trace in rows.group_by(["trace"], maintain_order=True):
        cells: dict[tuple[object, ...], dict[str, float]] = {}
        for row in of_trace.select(*settings, compared, value).drop_nulls(value).iter_rows():
            *setting, name, number = row
            cells.setdefault(tuple(setting), {}).setdefault(name, number)
        whole = [cell for cell in cells.values() if cell.keys() == set(names)]
        positive = [cell for cell in whole if all(number > 0 for number in cell.values())]
        zeros += len(whole) - len(positive)
        if positive:
            logs[str(trace)] = {
                name: statistics.fmean(math.log(cell[name]) for cell in positive) for name in names
            }
        else:
            incomplete.append(str(trace))
    told = []
    if zeros:
        told.append(f"{zeros} sizes or settings are left out, because a value there is 0.")
    if incomplete:
        short = base_names(incomplete)
        told.append(f"Left out, as not all ran there: {all_of(short.values())}.")
    return logs, told


def pairs_of(
    by_name: Mapping[str, Sequence[float]], sign: int, against: str | None = None
) -> list[Pair]:
    """Return all pairs, or those with one of them, those with the least corrected p first."""
    compared = []
    for one, other in itertools.combinations(by_name, 2):
        if against not in (None, one, other):
            continue
        first, second = one, other
        if sign * statistics.fmean(by_name[other]) < sign * statistics.fmean(by_name[one]):
            first, second = other, one
        differences = [a - b for a, b in zip(by_name[first], by_name[second], strict=True)]
        compared.append((first, second, differences))
    p_values = [signed_rank_p(differences) for _, _, differences in compared]
    pairs = []
    for (first, second, differences), p, corrected in zip(
        compared, p_values, holm(p_values), strict=True
    ):
        low, high = mean_interval(differences)
        pairs.append(
            Pair(
                first=first,
                second=second,
                ratio=math.exp(statistics.fmean(differences)),
                low=math.exp(low),
                high=math.exp(high),
                ahead=sum(sign * difference < 0 for difference in differences),
                behind=sum(sign * difference > 0 for difference in differences),
                p=p,
                corrected=corrected,
                agrees=sign * leaning(differences) < 0,
            )
        )
    return sorted(pairs, key=lambda pair: (pair.corrected, pair.p))
