"""Which result rows can be compared, and how far each is from the lower bound."""

from typing import Any

import polars as pl

BOUND = "bound"
BASELINE = "clock"
OPTIMUM = "min"
# They read the future: no running system can use them, so no finding may recommend them.
OFFLINE = (OPTIMUM, "opt")
# Rows that differ in one of these are not comparable.
SETTING_COLUMNS = (
    "device", "page_bytes", "bits", "write_miss", "reserve", "view", "flush_at_end", "hand_ns",
)  # fmt: skip


def io_time_over_bound(rows: pl.DataFrame) -> pl.Series:
    """Return how many times the I/O time of the lower bound each row takes.

    The bound is the row of the policy ``bound`` with the same trace, memory size and setting; where
    it leaves its memory size or a setting null, it holds for all of them. The result is null for
    the bound itself, and where there is no bound or its time is 0.
    """
    must_match = ["frames", *(name for name in SETTING_COLUMNS if name in rows.columns)]
    records = rows.select("trace", "policy", "io_time_us", *must_match).to_dicts()
    bounds: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for record in records:
        if record["policy"] == BOUND and record["io_time_us"]:
            bounds.setdefault((record["trace"], record["frames"]), []).append(record)

    def ratio(record: dict[str, Any]) -> float | None:
        if record["policy"] == BOUND or record["io_time_us"] is None:
            return None
        trace = record["trace"]
        for bound in bounds.get((trace, record["frames"]), []) + bounds.get((trace, None), []):
            if all(bound[name] in (None, record[name]) for name in must_match):
                return float(record["io_time_us"] / bound["io_time_us"])
        return None

    values = [ratio(record) for record in records]
    return pl.Series("io_time_over_bound", values, dtype=pl.Float64)
