"""The sizes of a recommendation: what is best at each, and which of them lie on the frontier."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.studies.ssd.time_findings import BASELINE
from clockhand.study.columns import schema
from clockhand.study.policies import name_of
from clockhand.study.records import Record

SIZES_SCHEMA = schema("ssd sizes")
"""Names, order and types of the columns of :attr:`~clockhand.BufferRecommendation.sizes`."""

Row = Record


@dataclass(frozen=True)
class Size:
    """The rows of every buffer of one size, the fewest pages to flash first."""

    pages: int
    rows: Sequence[Row]

    @property
    def best(self) -> Row:
        return self.rows[0]

    @property
    def next_best(self) -> Row | None:
        """The best one that writes more, or else any other one."""
        more = [row for row in self.rows if row["host_writes"] > self.best["host_writes"]]
        return next(iter([*more, *self.rows[1:]]), None)

    @property
    def lru(self) -> Row | None:
        return next((row for row in self.rows if name_of(row["buffer"]) == BASELINE), None)

    def least(self, column: str, *, most: bool = False) -> Row | None:
        """The row with the least of a column, or the most; of equals the best one."""
        known = [row for row in self.rows if row[column] is not None]
        sign = -1 if most else 1
        return min(known, key=lambda row: sign * row[column], default=None)


def sizes_of(rows: pl.DataFrame) -> list[Size]:
    ordered = rows.sort("host_writes", "erases", "write_p99_us", maintain_order=True)
    by_size: dict[int, list[Row]] = {}
    for row in ordered.iter_rows(named=True):
        by_size.setdefault(row["buffer_pages"], []).append(row)
    return [Size(pages, by_size[pages]) for pages in sorted(by_size)]


def frontier_of(sizes: Sequence[Size]) -> list[Size]:
    """The sizes that write fewer pages than every smaller one."""
    frontier: list[Size] = []
    for size in sizes:
        if not frontier or size.best["host_writes"] < frontier[-1].best["host_writes"]:
            frontier.append(size)
    return frontier


def smallest_that_lives(sizes: Sequence[Size], years: float) -> tuple[Size, Row] | None:
    """The smallest size at which a buffer lives so long, and the best of those that do."""
    for size in sizes:
        alive = [row for row in size.rows if (row["life_years"] or 0) >= years]
        if alive:
            return size, alive[0]
    return None


def table_of(
    sizes: Sequence[Size],
    frontier: Sequence[Size],
    bend: int | None,
    chosen: Row,
    sentences: Sequence[str],
) -> pl.DataFrame:
    records = []
    for place, size in enumerate(sizes):
        best, next_best, lru = size.best, size.next_best, size.lru
        erases, p99 = size.least("erases"), size.least("write_p99_us")
        life = size.least("life_years", most=True)
        records.append(
            {
                "trace": best["trace"],
                "ssd": best["ssd"],
                "buffer_pages": size.pages,
                "buffer_bytes": size.pages * best["page_bytes"],
                "best": best["buffer"],
                "host_writes": best["host_writes"],
                "next_best": next_best and next_best["buffer"],
                "next_best_host_writes": next_best and next_best["host_writes"],
                "lru_host_writes": lru and lru["host_writes"],
                "fewest_erases": erases and erases["buffer"],
                "erases": erases and erases["erases"],
                "shortest_write_p99": p99 and p99["buffer"],
                "write_p99_us": p99 and p99["write_p99_us"],
                "longest_life": life and life["buffer"],
                "life_years": life and life["life_years"],
                "is_on_frontier": size in frontier,
                "is_knee": size.pages == bend,
                "recommended": chosen["buffer"] if chosen in size.rows else None,
                "answer": " ".join(sentences) if place == 0 else None,
            }
        )
    return pl.DataFrame(records, schema=SIZES_SCHEMA)
