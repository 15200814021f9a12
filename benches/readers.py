"""Requests per second of the readers, beside the CSV readers of polars and pandas on the same file.

A synthetic trace is written in every format that can be written, and read again, in turn, by
Clockhand, by polars with all threads and with one, and by pandas. See README.md for what the
numbers mean and what may mislead.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from compare import machine

import clockhand

SEED = 42
FOOTPRINT_PAGES = 1 << 20
PAGE_BYTES = 4096
WRITE_SHARE = 0.3
STREAMS = 4
# Formats whose lines a CSV reader can split: separator, and whether a header stands before them.
TABLES = {
    "alibaba": (",", False),
    "csv": (",", True),
    "dinero": (" ", False),
    "disksim": (" ", False),
    "dramsim2": (" ", False),
    "fiu": (" ", False),
    "heimdall-raw": (" ", False),
    "heimdall-replay": (",", False),
    "mqsim": (" ", False),
    "msr": (",", False),
    "msr-req": (" ", False),
    "os-course": (" ", False),
    "spc": (",", False),
    "systor17": (",", True),
    "tencent": (",", False),
    "ucsd": (" ", False),
}
FORMATS = {"vscsi-v1": "vscsi", "vscsi-v2": "vscsi", "fio-iolog-v2": "fio-iolog"}
FORMATS["fio-iolog-v3"] = "fio-iolog"
# Not written by `trace convert`: a table whose columns are named, and what blktrace writes.
FORMATS["csv-named"] = (
    "csv:sep=;,header=no,op=2,address=3*512,size=4*512,time=1:us,stream=5,read=RD,write=WR"
)
TABLES["csv-named"] = (";", False)
BINARY = ("lcs", "oracle-general-opns", "parquet", "vscsi-v1", "vscsi-v2")
# A write needs a read before it there.
PAIRED = "ramulator"


def synthetic(requests: int, streams: int, *, paired: bool) -> clockhand.Trace:
    """Return a trace whose requests are of whole pages, with times 50 µs apart on average."""
    random = np.random.default_rng(SEED)
    pages = random.integers(FOOTPRINT_PAGES, size=requests).astype(np.uint64)
    writes = random.random(requests) < WRITE_SHARE
    if paired:
        writes = np.arange(requests) % 2 == 1
    gaps_ns = random.integers(100_000, size=requests).astype(np.uint64)
    return clockhand.Trace.from_arrays(
        writes,
        pages * PAGE_BYTES,
        np.full(requests, 64 if paired else PAGE_BYTES, dtype=np.uint32),
        stream=random.integers(streams, size=requests).astype(np.uint32),
        time_ns=np.uint64(1_577_808_000 * 10**9) + np.cumsum(gaps_ns),
    )


def write_all(folder: Path, requests: int) -> dict[str, Path]:
    """Write the trace in every format that can be written."""
    names = clockhand.formats().filter(pl.col("writes") != "no")["writes"]
    paths = {}
    traces = {streams: synthetic(requests, streams, paired=False) for streams in (1, STREAMS)}
    for target in [target for cell in names for target in cell.split(", ")]:
        path = folder / target
        trace = synthetic(requests, 1, paired=True) if target == PAIRED else traces[STREAMS]
        try:
            clockhand.convert_traces(trace, path, to=target)
        except clockhand.ClockhandError as error:
            if "streams=" not in str(error):
                raise
            clockhand.convert_traces(traces[1], path, to=target)
        paths[target] = path
    return paths


def write_others(folder: Path, requests: int) -> dict[str, Path]:
    """Write the same requests as a table of a logger's own, and as blktrace does."""
    random = np.random.default_rng(SEED)
    sectors = random.integers(FOOTPRINT_PAGES, size=requests) * (PAGE_BYTES // 512)
    writes = random.random(requests) < WRITE_SHARE
    times_us = np.cumsum(random.integers(100, size=requests))
    streams = random.integers(STREAMS, size=requests)
    table = pl.DataFrame(
        {
            "time": times_us,
            "op": np.where(writes, "WR", "RD"),
            "sector": sectors,
            "sectors": np.full(requests, PAGE_BYTES // 512),
            "stream": streams,
        }
    )
    table.write_csv(folder / "csv-named", include_header=False, separator=";")
    layout = [
        ("magic", "<u4"), ("sequence", "<u4"), ("time", "<u8"), ("sector", "<u8"),
        ("bytes", "<u4"), ("action", "<u4"), ("pid", "<u4"), ("device", "<u4"), ("cpu", "<u4"),
        ("error", "<u2"), ("more", "<u2"),
    ]  # fmt: skip
    records = np.zeros(requests, dtype=layout)
    records["magic"] = 0x65617407
    records["time"] = times_us * 1000
    records["sector"] = sectors
    records["bytes"] = PAGE_BYTES
    records["action"] = np.where(writes, 0x20001, 0x10001)
    records["device"] = 8 << 20
    records.tofile(folder / "blktrace")
    return {name: folder / name for name in ("csv-named", "blktrace")}


def seconds_of(work: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of one call on the clock, and of all threads together."""
    start, cpu_start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu_start


def read_by(reader: str, path: Path) -> tuple[float, float]:
    """Return the seconds that a reader takes for a file."""
    target = path.name
    separator, has_header = TABLES.get(target, (",", False))
    if reader == "clockhand":
        trace = clockhand.Trace(path, format=FORMATS.get(target, target))
        return seconds_of(trace.check)
    if reader == "pandas":
        header = 0 if has_header else None
        return seconds_of(lambda: pd.read_csv(path, sep=separator, header=header))
    return seconds_of(lambda: pl.read_csv(path, separator=separator, has_header=has_header))


def measured(reader: str, path: Path) -> tuple[float, float]:
    """Read once in a process of its own, so that one reader's threads and memory are its own."""
    environment = dict(os.environ)
    if reader == "polars, 1 thread":
        environment["POLARS_MAX_THREADS"] = "1"
    command = [sys.executable, __file__, "--read", str(path), "--reader", reader]
    result = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    wall, cpu = result.stdout.split()
    return float(wall), float(cpu)


def compare_readers(paths: dict[str, Path], requests: int, rounds: int) -> list[dict[str, Any]]:
    """Return a row per format: millions of requests per second, on the clock and per CPU second."""
    rows = []
    for target, path in paths.items():
        others = ["polars", "polars, 1 thread", "pandas"] if target in TABLES else []
        best: dict[str, list[float]] = {}
        for _ in range(rounds):
            for reader in ["clockhand", *others]:
                seconds = measured(reader, path)
                best[reader] = [
                    min(pair) for pair in zip(best.get(reader, seconds), seconds, strict=True)
                ]
        row: dict[str, Any] = {"format": target, "bytes": path.stat().st_size}
        for reader, (wall, cpu) in best.items():
            row[reader] = round(requests / wall / 1e6, 2)
            row[f"{reader}, per CPU second"] = round(requests / cpu / 1e6, 2)
        print(row, file=sys.stderr)
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the Markdown table of the README."""
    readers = ["clockhand", "polars", "polars, 1 thread", "pandas"]
    lines = [f"| format | {' | '.join(readers)} |", "|---|" + "---|" * len(readers)]
    for row in rows:
        cells = [
            f"{row[reader]:.1f} ({row[f'{reader}, per CPU second']:.1f})" if reader in row else ""
            for reader in readers
        ]
        lines.append(f"| `{row['format']}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/readers.json")
    parser.add_argument("--only", nargs="+", help="measure these formats alone")
    parser.add_argument("--read", type=Path, help="read this file once, for the parent process")
    parser.add_argument("--reader", default="clockhand")
    options = parser.parse_args()
    if options.read:
        print(*read_by(options.reader, options.read))
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = write_all(Path(folder), options.requests)
        paths |= write_others(Path(folder), options.requests)
        if options.only:
            paths = {target: paths[target] for target in options.only}
        rows = compare_readers(paths, options.requests, options.rounds)
    facts = machine() | {"polars": pl.__version__, "pandas": pd.__version__}
    settings = {"requests": options.requests, "rounds": options.rounds, "seed": SEED}
    result = {"machine": facts, "settings": settings, "rows": rows}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
