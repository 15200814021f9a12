"""What a run of two tiers gives: rows, and counts over time."""

from collections.abc import Mapping

import polars as pl

from clockhand.studies.result import StudyResult
from clockhand.studies.tier.findings import BOUND
from clockhand.study.facts import Facts
from clockhand.study.records import Record
from clockhand.study.run import Ran

COURSE_SCHEMA: Mapping[str, pl.DataType] = dict.fromkeys(
    (
        "course_references", "course_fast_hits", "course_promotions", "course_demotions",
        "course_group_pages", "course_fast_pages",
    ),
    pl.List(pl.UInt64()),
)  # fmt: skip
"""Columns that a dataset keeps beside those of a result: what happened over time."""


class Tiering(StudyResult):
    """The result of :func:`run_tier`, with the attributes of :class:`~.result.StudyResult`.

    Rows are in the order trace, page size, fast size, policy, promotion, tiers. Times are in
    nanoseconds. The row of ``bound`` has references and times alone.

    Attributes:
        courses: Counts over time, one row per cell. Some lists are over windows of about the same
            number of references: their ends, and the references found in fast memory, promotions
            and demotions of each. Others are over groups of pages, those referenced most often
            first: their number, and the number in fast memory at the end of each window, null if it
            was not counted. The lists of ``bound`` are empty.
    """

    leading = (
        "trace", "policy", "promote", "fast_frames", "tiers", "fast_share", "promotions",
        "demotions", "mean_ns",
    )  # fmt: skip

    def __init__(self, ran: Ran) -> None:
        super().__init__(ran)
        # A dataset keeps both together.
        cells = ran.cells.drop(COURSE_SCHEMA, strict=False)
        known = (pl.col("policy") != BOUND) | pl.col("mean_ns").is_not_null()
        courses = pl.DataFrame(ran.result["courses"], schema=COURSE_SCHEMA)
        self.courses = courses.filter(cells.select(known).to_series())
        self.warnings = [*ran.warnings, *_left_out(cells.filter(~known))]
        self.cells = cells.filter(known)
        is_whole = ran.rows is ran.cells
        self.rows = self.cells if is_whole else ran.rows.drop(COURSE_SCHEMA, strict=False)

    def _shown(self) -> tuple[tuple[pl.DataFrame, pl.DataFrame, Facts], pl.DataFrame | None]:
        return (self.cells, self.courses, self.facts), self.intervals


def _left_out(rows: pl.DataFrame) -> list[str]:
    """Say where the bound was to be computed if possible, and is not."""
    return [
        f"{trace} has {references:,} references: bound is left out; --policy bound says why"
        for trace, references in rows.select("trace", "references").unique().rows()
    ]


def result_of(rows: pl.DataFrame) -> Record:
    """The courses of rows that have them beside their columns, as the engine's result has them."""
    return {"courses": rows.select(list(COURSE_SCHEMA)).to_dicts()}
