"""Paired comparisons: Wilcoxon's signed ranks, Holm's correction, and intervals by bootstrap.

The exact test is these few lines; the library that has it (SciPy) weighs more than all that
Clockhand installs.
"""

import math
from collections.abc import Sequence

import numpy as np

RESAMPLES = 10_000
LEVEL = 0.95

TIED = 1e-12
"""Differences that are smaller are rounding, and count as none."""


def signed_rank_p(differences: Sequence[float]) -> float:
    """Return the exact two-sided p-value of Wilcoxon's signed-rank test.

    Differences of 0 are left out, as Wilcoxon did; equal ones share their mean rank. Each of the
    signs of the ranks is as likely as the other without a difference, and all ways to set them are
    counted.
    """
    known = [value for value in differences if abs(value) > TIED]
    if not known:
        return 1.0
    doubled = _doubled_ranks([abs(value) for value in known])
    ways = np.ones(1)
    for rank in doubled:
        # Halved each time, so that they are shares of all ways and never overflow.
        longer = np.zeros(len(ways) + rank)
        longer[: len(ways)] += ways / 2
        longer[rank:] += ways / 2
        ways = longer
    above = sum(rank for rank, value in zip(doubled, known, strict=True) if value > 0)
    less, more = ways[: above + 1].sum(), ways[above:].sum()
    return min(1.0, 2 * float(min(less, more)))


def leaning(differences: Sequence[float]) -> int:
    """Return the sign of the sum of signed ranks: which way the test's difference goes, if any."""
    known = [value for value in differences if abs(value) > TIED]
    ranks = _doubled_ranks([abs(value) for value in known])
    total = sum(rank if value > 0 else -rank for rank, value in zip(ranks, known, strict=True))
    return (total > 0) - (total < 0)


def _doubled_ranks(sizes: Sequence[float]) -> list[int]:
    """Return twice the rank of each, so that the mean rank of equal ones is a whole number."""
    ordered = sorted(sizes)
    ranks = []
    for size in sizes:
        equal = [at for at, other in enumerate(ordered, 1) if math.isclose(other, size)]
        ranks.append(equal[0] + equal[-1])
    return ranks


def least_p(pairs: int) -> float:
    """Return the least p-value that this number of pairs can give, if all differ one way."""
    return min(1.0, 2 * 0.5**pairs)


def pairs_needed(tests: int, alpha: float) -> int:
    """Return how many pairs it takes to show a difference at all, if each differs one way."""
    return next(pairs for pairs in range(1, 1000) if least_p(pairs) * tests <= alpha)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's step-down method, in the order given."""
    corrected = [0.0] * len(p_values)
    highest = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for place, at in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[at]))
        corrected[at] = highest
    return corrected


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a 95 % percentile interval of the mean, by bootstrap over the values.

    The values are one of each trace, or of whatever is drawn again; the draws are always the same.
    """
    known = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(0).integers(len(known), size=(RESAMPLES, len(known)))
    means = known[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def mean_ranks(table: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean rank of each column over the rows; the least value of a row has rank 1."""
    columns = len(table[0])
    summed = [0.0] * columns
    for row in table:
        for at, rank in enumerate(_doubled_ranks(row)):
            summed[at] += rank / 2
    return [total / len(table) for total in summed]
