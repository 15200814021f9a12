"""Time against the price of slow memory: what the counts of a run say of other latencies.

Counts are priced, not replayed: what each latency of slow memory takes beyond that of fast memory
is multiplied. No policy but those that look at prices would do anything else then, and the best
placement that never changes stays the best.
"""

from dataclasses import dataclass

import polars as pl

from clockhand.studies.tier.findings import BOUND, NAMES, alone_ns, still_and_moving
from clockhand.study.records import Fields, Record

RATIOS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Prices of a slow access, in fast ones, that figures show."""

FINE_RATIOS = tuple(1.02**step for step in range(1, 350))
"""Prices that are tried to find where migration pays: up to about 1000."""


@dataclass(frozen=True)
class Priced:
    """The time of a reference in a cell, as a function of the price of slow memory.

    Attributes:
        fast_ns: The access time with fast memory alone.

        ratio: The price of a slow access, in fast ones, for the reads and writes of the trace.

        slow_ns: What slow memory adds to the access time at that price.

        other_ns: Migrations, overhead and storage.
    """

    fast_ns: float
    ratio: float
    slow_ns: float
    other_ns: float

    def access_ns(self, ratio: float) -> float:
        """Return the access time at another price."""
        return self.fast_ns + self.slow_ns * (ratio - 1) / (self.ratio - 1)

    def mean_ns(self, ratio: float) -> float:
        """Return the time of a reference at another price."""
        return self.access_ns(ratio) + self.other_ns


def priced(row: Record) -> Priced | None:
    """Return the time of a cell as a function of the price; none if slow memory is not slower."""
    if not row["references"] or row["fast_reads"] is None:
        return None
    fast_ns, slow_ns = alone_ns(row, "fast"), alone_ns(row, "slow")
    if slow_ns <= fast_ns:
        return None
    access_ns, mean_ns = row["mean_access_ns"], row["mean_ns"]
    return Priced(fast_ns, slow_ns / fast_ns, access_ns - fast_ns, mean_ns - access_ns)


def price_records(cells: pl.DataFrame) -> list[Fields]:
    """Return the times of rows with one size of fast memory at several prices of slow memory."""
    records: list[Fields] = []
    for row in cells.unique(NAMES, keep="first", maintain_order=True).to_dicts():
        found = priced(row)
        if found is None or row["policy"] == BOUND:
            continue
        records += [
            {
                "policy": row["line"],
                "ratio": ratio,
                "priced_access_ns": found.access_ns(ratio),
                "priced_mean_ns": found.mean_ns(ratio),
            }
            for ratio in RATIOS
        ]
    return records


def pays_from(cells: pl.DataFrame) -> float | None:
    """Return the price of a slow access, in fast ones, from which migration pays at one size.

    Returns:
        1 if it pays at any price, infinity if at none; none if nothing moves, nothing stays, or
        slow memory is not slower.
    """
    still, moving = (
        [found for row in rows if (found := priced(row)) is not None]
        for rows in still_and_moving(cells)
    )
    if not still or not moving:
        return None
    for ratio in FINE_RATIOS:
        if min(one.mean_ns(ratio) for one in moving) < min(one.mean_ns(ratio) for one in still):
            return 1.0 if ratio == FINE_RATIOS[0] else ratio
    return float("inf")
