"""Disorder of a curve of counts by rank, compared with that of an ordered one under chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DRAWS = 100
"""Curves that are drawn for the null."""

QUANTILE = 0.975
SEED = 2014


@dataclass(frozen=True)
class Inversion:
    """The disorder of a curve, and the disorder that chance alone gives an ordered one.

    Attributes:
        share: The share of the references that would have to move to an earlier rank for a curve
            that never rises.

        null_mean: The mean of the same share over curves that are drawn around the closest curve
            that never rises, each count by a Poisson distribution with its mean.

        null_high: Their 97.5 % quantile.
    """

    share: float
    null_mean: float
    null_high: float

    @property
    def is_within_noise(self) -> bool:
        """True if chance puts an ordered curve as much out of order."""
        return self.share <= self.null_high


def inversion(counts: Sequence[int]) -> Inversion:
    """Hold a curve against its null.

    Args:
        counts: References by rank, the best rank first.
    """
    fit, share = closest_falling(np.asarray(counts, dtype=np.float64))
    random = np.random.default_rng(SEED)
    shares = [closest_falling(drawn)[1] for drawn in random.poisson(fit, (DRAWS, len(fit)))]
    return Inversion(share, float(np.mean(shares)), float(np.quantile(shares, QUANTILE)))


def closest_falling(counts: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], float]:
    """Return the least-squares fit among all curves that never rise, and what it has to move.

    Adjacent violators are pooled (Ayer et al. 1955), as the engine does for the locality tables.

    Returns:
        The fit, and the share of the references above it.
    """
    totals: list[float] = []
    ranks: list[int] = []
    for count in counts.tolist():
        total, length = float(count), 1
        while totals and totals[-1] * length < total * ranks[-1]:
            total += totals.pop()
            length += ranks.pop()
        totals.append(total)
        ranks.append(length)
    fit = np.repeat(np.array(totals) / np.array(ranks, dtype=np.float64), ranks)
    whole = float(counts.sum())
    return fit, float(np.maximum(counts - fit, 0).sum() / whole) if whole else 0.0
