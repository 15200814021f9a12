"""Invented result rows for the tests of the report: plausible in shape, measured nowhere."""

import base64
import gzip
import json
import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from clockhand.report import Facts

POLICIES = {
    "clock": (1.00, 1.00),
    "lru": (0.97, 1.03),
    "cflru:window_share=1/3": (1.10, 0.78),
    "lru-wsr": (1.04, 0.84),
    "car": (0.95, 1.01),
    "craw": (1.02, 0.66),
    "craw-a": (1.01, 0.61),
    "min": (0.70, 0.80),
}
SIZES = (512, 1024, 2048, 4096, 8192, 16384)
FOOTPRINT_PAGES = 20_480
REFERENCES = 1_048_576


def example_row(trace: str, policy: str, frames: int, page_bytes: int = 4096) -> dict[str, Any]:
    """Return one invented row; its counters add up as those of a run would."""
    read_factor, write_factor = POLICIES[policy]
    share = frames / FOOTPRINT_PAGES
    tilt = (len(trace) % 5) / 40
    miss_share = 0.30 * (1 - share) ** 2 + 0.02
    read_misses = int(REFERENCES * 0.7 * miss_share * (1 + (read_factor - 1 + tilt) * (1 - share)))
    write_misses = int(REFERENCES * 0.3 * miss_share * (1 + (write_factor - 1) * 0.3))
    misses = read_misses + write_misses
    write_ios = int(misses * 0.45 * (1 + (write_factor - 1) * (1.3 - share)))
    evictions = misses - frames if misses > frames else 0
    dirty = min(write_ios, evictions)
    return {
        "trace": trace, "policy": policy, "frames": frames, "page_bytes": page_bytes,
        "device": "slc-nand", "references": REFERENCES,
        "read_references": int(REFERENCES * 0.7),
        "write_references": REFERENCES - int(REFERENCES * 0.7),
        "hits": REFERENCES - misses, "misses": misses, "read_misses": read_misses,
        "write_misses": write_misses, "read_ios": misses, "write_ios": write_ios,
        "clean_evictions": evictions - dirty, "dirty_evictions": dirty,
        "io_time_us": misses * 88.0 + write_ios * 263.0,
        "energy_uj": misses * 4.07 + write_ios * 28.83,
        "policy_resolved": policy if ":" in policy else f"{policy}:insert=1" if policy == "clock"
        else policy,
        "hit_ratio": 1 - misses / REFERENCES, "footprint_pages": FOOTPRINT_PAGES,
        "memory_share": share, "write_backs": 0, "flush_writes": write_ios - dirty,
        "bits": "exact", "write_miss": "fetch",
    }  # fmt: skip


def bound_row(trace: str, frames: int | None, page_bytes: int = 4096) -> dict[str, Any]:
    """Return an invented row of the lower bound: null wherever a bound knows nothing."""
    best = example_row(trace, "min", frames or SIZES[0], page_bytes)
    row: dict[str, Any] = dict.fromkeys(best)
    kept = ("trace", "page_bytes", "device", "references")
    row.update({name: best[name] for name in kept}, policy="bound", frames=frames)
    row["read_ios"] = int(best["read_ios"] * 0.93)
    row["write_ios"] = int(best["write_ios"] * 0.7)
    row["io_time_us"] = row["read_ios"] * 88.0 + row["write_ios"] * 263.0
    return row


def example_rows(
    traces: Sequence[str] = ("example-gcc",),
    policies: Sequence[str] = tuple(POLICIES),
    sizes: Sequence[int] = SIZES,
    with_bound: bool = True,
) -> pl.DataFrame:
    """Return invented rows in the order trace, frames, policy."""
    rows = []
    for trace in traces:
        for frames in sizes:
            rows += [example_row(trace, policy, frames) for policy in policies]
            if with_bound:
                rows.append(bound_row(trace, frames))
    return pl.DataFrame(rows, infer_schema_length=None)


def example_facts(
    traces: Sequence[str] = ("example-gcc",), synthetic: Sequence[str] = ("example-gcc",)
) -> Facts:
    """Return invented facts that describe the traces."""
    return {
        "command": "clockhand simulate example-gcc.trace.xz --policy clock --policy craw "
        "--memory 2.5%,5%,10%,20%,40%,80% --device slc-nand --report report.html",
        "version": "0.1.0",
        "created": "2026-01-02T03:04:05+00:00",
        "seed": 1,
        "options": {"view": "paper", "bits": "exact", "write_miss": "fetch", "jobs": 2},
        "traces": [
            {
                "name": trace,
                "format": "lackey",
                "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                "requests": 1_000_000,
                "references": REFERENCES,
                "read_references": int(REFERENCES * 0.7),
                "write_references": REFERENCES - int(REFERENCES * 0.7),
                "footprint_pages": FOOTPRINT_PAGES,
                "dirty_footprint_pages": 9_211,
                "page_bytes": 4096,
                "notes": ["2 lines skipped: comments"],
                "synthetic": trace in synthetic,
            }
            for trace in traces
        ],
        "devices": [
            {
                "name": "slc-nand",
                "resolved": "slc-nand",
                "summary": "Single-level NAND flash with 2 KiB pages",
                "source": "invented for this test",
                "read_time_us": 88.0,
                "write_time_us": 263.0,
                "write_read_ratio": 2.99,
            }
        ],
        "policies": [
            {
                "name": policy,
                "resolved": policy,
                "summary": "An invented summary of this policy.",
                "paper": None if policy == "lru" else "A. Author, An invented paper, 2014",
            }
            for policy in POLICIES
        ],
    }


def unpacked(page: str) -> dict[str, Any]:
    """Return the data of a page, the records of each part row by row."""
    [packed] = re.findall(r'id="report-data">([A-Za-z0-9+/=.]*)</script>', page)
    *parts, tables = (
        json.loads(gzip.decompress(base64.b64decode(text))) for text in packed.split(".")
    )
    data: dict[str, Any] = {"parts": parts, "tables": tables}
    for part in data["parts"]:
        columns = part["rows"]
        part["rows"] = [
            {name: value for name, value in zip(columns, row, strict=True) if value is not None}
            for row in zip(*columns.values(), strict=True)
        ]
    return data
