"""Made-up runs and comparisons of paged programs, from statistics as the engine gives them."""

from typing import Any

import polars as pl

from clockhand.capture.programs import Program
from clockhand.studies.programs.rows import process_rows
from clockhand.studies.programs.samples import Samples
from clockhand.studies.programs.turns import COMPARED_SAMPLE_SCHEMA, COMPARISON_SCHEMA
from clockhand.study.facts import PagedRunFacts
from conftest import EXECUTABLE

COUNTS = (
    "references", "read_references", "write_references", "misses", "read_misses", "write_misses",
    "minor_faults", "write_protect_faults", "clean_evictions", "dirty_evictions", "write_backs",
    "pages_read", "pages_zero_filled", "pages_rescued", "pages_written", "pages_not_written",
    "pages_copied_for_forks", "write_operations", "write_errors", "bytes_read", "bytes_written",
    "resident_pages", "footprint_pages", "discarded_pages", "swap_bytes",
    "pages_read_ahead", "pages_read_in_vain", "read_ahead", "zero_pages_not_written",
    "read_operations", "sensed_references",
)  # fmt: skip
TIMES = (
    "read_wait_us", "write_wait_us", "service_us", "fault_us_p50", "fault_us_p90", "fault_us_p99",
)  # fmt: skip

PROGRAM = Program(["sort"], EXECUTABLE, EXECUTABLE, "x86_64", False)
AGREEING = {
    "mapped_misses": 100,
    "mapped_clean_evictions": 10,
    "mapped_dirty_evictions": 30,
    "mapped_read_ios": 100,
    "mapped_write_ios": 30,
    "exact_misses": 90,
    "exact_clean_evictions": 5,
    "exact_dirty_evictions": 25,
    "exact_read_ios": 90,
    "exact_write_ios": 33,
}


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
        "device_reads": None,
        "unpaged_bytes": 0,
        "policy_resolved": "clock:insert_ref=0",
        "frames": 64,
        "reserve": 4,
        "bits": "mapped",
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


def rows_of(*processes: dict[str, Any], **simulated: int) -> pl.DataFrame:
    rows = process_rows(processes, "clock", PROGRAM)
    return rows.with_columns(
        pl.lit(value, pl.UInt64).alias(name) for name, value in simulated.items()
    )


def facts(**changes: Any) -> PagedRunFacts:
    made: dict[str, Any] = {
        "command": "clockhand run --policy clock --memory 256KiB --swap-in-ram -- sort",
        "version": "0",
        "created": "2026-01-01T00:00:00+00:00",
        "seed": 0,
        "options": {},
        "program": "sort",
        "exit_code": 0,
        "seconds": 2.0,
        "notes": [],
        "traces": [],
        "devices": [],
        "policies": [],
        **changes,
    }
    return made  # type: ignore[return-value]


def compared(*runs: tuple[str, float, int, int], **changes: Any) -> pl.DataFrame:
    """Rows of contenders with seconds, pages read and pages written."""
    rows = [
        {
            **dict.fromkeys(COMPARISON_SCHEMA),
            "policy": policy,
            "run": 1 + sum(before[0] == policy for before in runs[:place]),
            "seconds": seconds,
            "faults": reads,
            "pages_read": reads,
            "pages_written": writes,
            "exit_code": 0,
            "output_sha256": "same",
            **changes,
        }
        for place, (policy, seconds, reads, writes) in enumerate(runs)
    ]
    return pl.DataFrame(rows, schema=COMPARISON_SCHEMA)


def sampled(*moments: tuple[float, dict[str, Any]]) -> Samples:
    """What was seen of one process: seconds, and changes of its statistics."""
    samples = Samples(type("Pager", (), {"statistics": None})())
    for seconds, changes in moments:
        samples.take(seconds, [statistics(**changes)])
    return samples


def courses(*policies: str) -> pl.DataFrame:
    """Samples of contenders that fault, read and write ever faster."""
    rows = [
        {
            "policy": policy,
            "seconds": float(second),
            "faults": 100 * second**2,
            "pages_read": 80 * second**2,
            "pages_written": 50 * second**2,
        }
        for policy in policies
        for second in range(5)
    ]
    return pl.DataFrame(rows, schema=COMPARED_SAMPLE_SCHEMA)
