"""Rows of a sweep of page policies, compared policy with policy where memory is short."""

from collections.abc import Callable, Iterable

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.judge import Evidence

MOST_SHARE = 0.995
"""From this share of the footprint on nothing is replaced, and only equality matters."""

BANDS = {"≤ 10 %": (0, 10), "20–40 %": (20, 40), "≥ 60 %": (60, 100)}
"""Percent of the footprint, both ends included: small memory, where most is replaced, and more."""


class Compared:
    """The rows of one page size and device, with one row per trace, memory size and policy."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows
        self.traces: list[str] = rows["trace"].unique(maintain_order=True).to_list()

    def reads_per_write(self, trace: str) -> float:
        """Return the read references per write reference of a trace."""
        row = self.rows.filter(
            (pl.col("trace") == trace) & pl.col("write_references").is_not_null()
        ).row(0, named=True)
        return float(row["read_references"] / max(1, row["write_references"]))

    def ratios(self, policy: str, other: str, value: str = "io_time_us") -> pl.DataFrame:
        """Return ``value`` of one policy over that of another, where memory is short.

        Returns:
            The columns trace, memory_share and ratio, without sizes that give the other 0.
        """
        key = ["trace", "memory_share", "frames"]
        left, right = (
            self.rows.filter(pl.col("policy") == name).select(*key, pl.col(value).alias(alias))
            for name, alias in ((policy, "mine"), (other, "others"))
        )
        # Several percentages of a small footprint may be the same number of frames.
        both = left.unique(key, maintain_order=True).join(
            right.unique(key), on=key, maintain_order="left"
        )
        return both.filter((pl.col("memory_share") < MOST_SHARE) & (pl.col("others") > 0)).select(
            "trace", "memory_share", (pl.col("mine") / pl.col("others")).alias("ratio")
        )

    def reductions(self, policy: str, other: str) -> pl.DataFrame:
        """Return how much less I/O time a policy needs than another, as shares of the other's.

        Returns:
            A row per trace: the mean over memory sizes, the least (below 0 where the policy needs
            more) and the greatest, each with its memory size (``least_at``, ``greatest_at``).
        """
        reduction, at = 1 - pl.col("ratio"), pl.col("memory_share")
        return (
            self.ratios(policy, other)
            .group_by("trace", maintain_order=True)
            .agg(
                reduction.mean().alias("mean"),
                reduction.min().alias("least"),
                at.get(reduction.arg_min()).alias("least_at"),
                reduction.max().alias("greatest"),
                at.get(reduction.arg_max()).alias("greatest_at"),
            )
        )

    def mean_ratio(self, policy: str, other: str, value: str, traces: Iterable[str]) -> float:
        """Return the mean over memory sizes and some traces, each trace weighing the same."""
        ratios = self.ratios(policy, other, value).filter(pl.col("trace").is_in(list(traces)))
        mean = ratios.group_by("trace").agg(pl.col("ratio").mean())["ratio"].mean()
        return float("nan") if mean is None else float(str(mean))

    def select_traces(self, wanted: Callable[[str], bool]) -> list[str]:
        """Return the traces for which something holds, in order."""
        return [trace for trace in self.traces if wanted(trace)]


def reduction_table(reductions: pl.DataFrame) -> Evidence:
    """Return reductions of I/O time as text, a row per trace."""
    heads = ("trace", "mean reduction", "worst", "at memory", "greatest", "at memory")
    return (heads, *((trace, *map(percent, shares)) for trace, *shares in reductions.iter_rows()))


def in_band(share: pl.Expr, band: str) -> pl.Expr:
    """Say which shares of the footprint belong to a band."""
    # A share is whole frames over pages: a little less than the percentage that was asked for.
    return (100 * share).round().is_between(*BANDS[band])
