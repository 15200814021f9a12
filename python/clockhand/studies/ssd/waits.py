"""What requests wait for, and what the slowest of them waited for."""

import math
from dataclasses import dataclass

import polars as pl

WAITS = ("host", "front", "buffer", "collection", "flash", "service")
"""What requests wait for, and the rest of their latency."""

CAUSES = {
    "host": "queue of the host", "front": "front end", "buffer": "place in the buffer",
    "collection": "collection", "flash": "other work of the die", "service": "the operation itself",
}  # fmt: skip
"""What figures call what requests wait for."""

TAIL = 0.99
"""The quantile from which figures and sentences call requests slow."""


@dataclass(frozen=True)
class Tail:
    """The slowest requests: those that reach p99.

    Attributes:
        from_us: Their shortest latency, at most a sixteenth too long.
        requests: How many they are.
        shares: What they waited for, as shares of their latency.
    """

    from_us: float
    requests: int
    shares: dict[str, float]


def tail(classes: pl.DataFrame) -> Tail | None:
    """Return the slowest requests of some classes; none without requests."""
    ordered = classes.sort("most_us").with_columns(pl.col("requests").cum_sum().alias("up_to"))
    if ordered.is_empty():
        return None
    rank = math.ceil(TAIL * ordered["up_to"][-1])
    slow = ordered.filter(pl.col("up_to") >= rank)
    sums = {wait: float(slow[f"{wait}_us"].sum()) for wait in WAITS}
    whole = sum(sums.values()) or 1.0
    shares = {wait: us / whole for wait, us in sums.items()}
    return Tail(float(slow["most_us"][0]), int(slow["requests"].sum()), shares)
