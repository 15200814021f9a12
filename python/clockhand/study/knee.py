"""Where a curve over sizes bends most."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def knee(frames: "Sequence[int] | pl.Series", values: "Sequence[float] | pl.Series") -> int | None:
    """Return the size at which a falling curve bends most.

    It is the size at which the curve lies farthest below the straight line between its ends, on
    linear axes (Kneedle: Satopää et al. 2011); none where it nowhere does.
    """
    import polars as pl

    sizes, heights = pl.Series(frames, dtype=pl.Float64), pl.Series(values, dtype=pl.Float64)
    if len(sizes) < 3 or heights[0] <= heights[-1]:
        return None
    slope = (heights[-1] - heights[0]) / (sizes[-1] - sizes[0])
    below = heights[0] + slope * (sizes - sizes[0]) - heights
    farthest = below.arg_max()
    return None if farthest is None or below[farthest] <= 0 else int(frames[farthest])
