"""Which result rows can be compared, and how far each is from the lower bound."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from clockhand.report.words import byte_text
from clockhand.study.policies import BOUND, FEASIBLE, end_of_bracket
from clockhand.study.records import Record

if TYPE_CHECKING:
    import polars as pl

SETTINGS: dict[str, Callable[[Any], str]] = {
    "device": str,
    "page_bytes": lambda size: f"{byte_text(size)} pages",
    "bits": lambda bits: f"{bits} bits",
    "write_miss": lambda way: f"write miss {way}",
    "reserve": lambda frames: f"reserve {frames:,}" if frames else "no reserve",
    "view": lambda view: f"view {view}",
    "flush_at_end": lambda flush: f"dirty pages {'written' if flush else 'left'} at the end",
    "hand_ns": lambda ns: (
        "hand movements cost nothing" if ns is None else f"{ns} ns per hand movement"
    ),
    "fault_ns": lambda ns: (
        "permission faults cost nothing" if ns is None else f"{ns} ns per such fault"
    ),
    "sample": lambda sample: "every page followed" if sample is None else f"sample {sample}",
}
"""Rows that differ in one of these columns are not comparable; its value in words."""

SETTING_COLUMNS = tuple(SETTINGS)


def bracket_sentence(rows: Iterable[Record]) -> str | None:
    """Say how narrow the bracket of the optimum is at each memory size of one trace and setting.

    ``None`` if the rows lack one of its ends.
    """
    ends: dict[str, dict[int, float]] = {BOUND: {}, FEASIBLE: {}}
    for row in rows:
        policy, frames, time_us = row["policy"], row["frames"], row["io_time_us"]
        end = end_of_bracket(policy)
        if end is not None:
            narrower = max if end == BOUND else min
            ends[end][frames] = narrower(time_us, ends[end].get(frames, time_us))
    sizes = [frames for frames in ends[BOUND] if frames in ends[FEASIBLE]]
    if not sizes:
        return None
    gaps = [_gap(ends[BOUND][frames], ends[FEASIBLE][frames], frames) for frames in sizes]
    return f"The optimum is between {BOUND} and {FEASIBLE}: {', '.join(gaps)}."


def _gap(bound_us: float, feasible_us: float, frames: int) -> str:
    if feasible_us == bound_us:
        return f"exactly known at {frames:,} frames"
    if not bound_us:
        return f"no finite gap at {frames:,} frames within this effort"
    return f"{100 * (feasible_us / bound_us - 1):.2f} % apart at {frames:,} frames"


def io_time_over_bound(rows: "pl.DataFrame") -> "pl.Series":
    """Return :func:`times_over_bound` of rows, as a column."""
    import polars as pl

    must_match = [name for name in SETTING_COLUMNS if name in rows.columns]
    records = rows.select("trace", "policy", "io_time_us", "frames", *must_match).to_dicts()
    return pl.Series("io_time_over_bound", times_over_bound(records), dtype=pl.Float64)


def times_over_bound(records: Sequence[Record]) -> list[float | None]:
    """Return how many times the I/O time of the lower bound each row takes.

    The bound is the row of the policy ``bound`` with the same trace, memory size and setting; where
    it leaves its memory size or a setting null, it holds for all of them. The result is ``None``
    for the bound itself, and where there is no bound or its time is 0.
    """
    columns = records[0].keys() if records else ()
    must_match = ["frames", *(name for name in SETTING_COLUMNS if name in columns)]
    bounds: dict[tuple[object, object], list[Record]] = {}
    for record in records:
        if end_of_bracket(record["policy"]) == BOUND and record["io_time_us"]:
            bounds.setdefault((record["trace"], record["frames"]), []).append(record)
    for tightest_first in bounds.values():
        tightest_first.sort(key=lambda bound: -bound["io_time_us"])

    def ratio(record: Record) -> float | None:
        if end_of_bracket(record["policy"]) == BOUND or record["io_time_us"] is None:
            return None
        trace = record["trace"]
        for bound in bounds.get((trace, record["frames"]), []) + bounds.get((trace, None), []):
            if all(bound[name] in (None, record[name]) for name in must_match):
                return float(record["io_time_us"] / bound["io_time_us"])
        return None

    return [ratio(record) for record in records]
