"""Disorder of a curve of counts by rank, compared with that of an ordered one under chance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCKS = 50
"""Of equally many references, in which counts are taken: longer than a burst, and many."""

DRAWS = 100
"""Curves that are drawn for the null."""

QUANTILE = 0.975
SEED = 2014

Counts = npt.NDArray[Any]
"""References by rank, the best rank first."""

Ended = Sequence[Counts]
"""Counts when each block of time ended: those before it included, so that the last are all."""


@dataclass(frozen=True)
class Inversion:
    """The disorder of a curve, and the disorder that chance alone gives an ordered one.

    Attributes:
        share: The share of the references that would have to move to an earlier rank for a curve
            that never rises.

        null_mean: The mean of the same share over curves that are redrawn as :func:`redrawings`
            does.

        null_high: Their 97.5 % quantile.
    """

    share: float
    null_mean: float
    null_high: float

    @property
    def is_within_noise(self) -> bool:
        """True if chance puts an ordered curve as much out of order."""
        return self.share <= self.null_high


def inversion(ended: Ended) -> Inversion:
    """Hold a curve against its null."""
    rows = np.zeros((len(ended), max(map(len, ended), default=0)))
    for row, counts in zip(rows, ended, strict=True):
        row[: len(counts)] = counts
    blocks = np.diff(rows, axis=0, prepend=0)
    fit, share = closest_falling(blocks.sum(axis=0))
    shares = [closest_falling(redrawn)[1] for redrawn in redrawings(blocks, fit)]
    return Inversion(share, float(np.mean(shares)), float(np.quantile(shares, QUANTILE)))


def redrawings(blocks: Counts, fit: Counts) -> Iterator[Counts]:
    """Redraw a curve as if it were ordered, with references that come in bursts.

    In an ordered curve the ranks of one level of the fit differ by chance alone: each block's
    counts are turned round within a level by a random number of ranks, so that what a block refers
    to often stays together. What a level has in all is that of blocks drawn with repetition (block
    bootstrap: Künsch 1989).

    Args:
        blocks: The counts of each block, a row each.
        fit: The closest curve that never rises.
    """
    random = np.random.default_rng(SEED)
    starts = np.flatnonzero(np.diff(fit, prepend=np.inf))
    lengths = np.diff(starts, append=len(fit))
    level = np.repeat(np.arange(len(starts)), lengths)
    block, rank = np.nonzero(blocks)
    counts, of_rank = blocks[block, rank], level[rank]
    first, length = starts[of_rank], lengths[of_rank]
    of_level = np.add.reduceat(blocks, starts, axis=1) if len(starts) else blocks
    whole = np.maximum(of_level.sum(axis=0), 1)
    for _ in range(DRAWS):
        turned = random.integers(lengths, size=of_level.shape)[block, of_rank]
        ranks = first + (rank - first + turned) % length
        drawn = of_level[random.integers(len(blocks), size=len(blocks))].sum(axis=0) / whole
        yield np.bincount(ranks, weights=counts, minlength=len(fit)) * drawn[level]


def closest_falling(counts: Counts) -> tuple[Counts, float]:
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
