"""Made-up statistics of paged processes, as the engine gives them."""

from typing import Any

COUNTS = (
    "references", "read_references", "write_references", "misses", "read_misses", "write_misses",
    "minor_faults", "write_protect_faults", "clean_evictions", "dirty_evictions", "write_backs",
    "pages_read", "pages_zero_filled", "pages_rescued", "pages_written", "pages_not_written",
    "pages_copied_for_forks", "write_operations", "write_errors", "bytes_read", "bytes_written",
    "resident_pages", "footprint_pages", "discarded_pages", "swap_bytes",
)  # fmt: skip
TIMES = (
    "read_wait_us", "write_wait_us", "service_us", "fault_us_p50", "fault_us_p90", "fault_us_p99",
)  # fmt: skip


def statistics(**changes: Any) -> dict[str, Any]:
    """A process that ended well after 300 references; `changes` are what else is known of it."""
    return {
        **dict.fromkeys(COUNTS, 0),
        **dict.fromkeys(TIMES, 0.0),
        "process": 4711,
        "name": "sort",
        "forked": False,
        "running": False,
        "failure": None,
        "policy_resolved": "clock:insert_ref=0",
        "frames": 64,
        "reserve": 4,
        "seconds": 1.5,
        "references": 300,
        "misses": 100,
        "minor_faults": 150,
        "write_protect_faults": 50,
        "clean_evictions": 10,
        "dirty_evictions": 30,
        "pages_read": 40,
        "pages_zero_filled": 55,
        "pages_rescued": 5,
        "pages_written": 28,
        "pages_not_written": 2,
        "resident_pages": 60,
        "footprint_pages": 90,
        "gauges": {"R_pages": 40.0, "R_ghosts": 7.0},
        **changes,
    }
