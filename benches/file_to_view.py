"""Requests per second from a file to its page view, for formats with a goal.

The Zipf trace of compare.py is written as oracleGeneral, csv, msr and Parquet, of one stream and
with times, and each file is read in a process of its own, in turn, by the example ``file_to_view``
of the crate of traces, which is built for release first; the csv once more with its columns named.
See README.md for what the numbers mean.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from compare import PAGE_BYTES, write_oracle_general, write_rows, zipf

import clockhand

SEED = 7
GAP_NS = 100_000
TEXTS = ("csv", "msr", "parquet")
NAMED = "csv:op=op,address=address,size=size,time=time_ns:ns,stream=stream"
ROOT = Path(__file__).parent.parent


def built() -> Path:
    """Build the example; its path."""
    target = ["--package", "clockhand-trace", "--example", "file_to_view"]
    command = ["cargo", "build", "--release", "--locked", *target, "--message-format", "json"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    messages = [json.loads(line) for line in said.stdout.splitlines()]
    return Path([it["executable"] for it in messages if it.get("executable")][-1])


def write_all(folder: Path, references: int) -> dict[str, Path]:
    """Write the trace in each format; the files by format."""
    pages, is_write = zipf(references)
    paths = {name: folder / name for name in ("oracle-general", *TEXTS)}
    write_oracle_general(pages, paths["oracle-general"])
    gaps_ns = np.random.default_rng(SEED).integers(GAP_NS, size=references).astype(np.uint64)
    trace = clockhand.Trace.from_arrays(
        is_write,
        pages * PAGE_BYTES,
        np.full(references, PAGE_BYTES, dtype=np.uint32),
        time_ns=np.uint64(1_577_808_000 * 10**9) + np.cumsum(gaps_ns),
    )
    for name in TEXTS:
        clockhand.convert_traces(trace, paths[name], to=name)
    return paths


def main() -> None:
    """Measure, print a row per format, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--program", type=Path, help="the example, if it is built already")
    out = Path(__file__).parent / "results/file-to-view.json"
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args()
    program = options.program or built()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        paths = write_all(Path(folder), options.references)
        for turn in range(options.rounds):
            for name, path in [*paths.items(), (NAMED, paths["csv"])]:
                command = [str(program), str(path), name]
                said = subprocess.run(command, capture_output=True, check=True, text=True)
                requests, wall_s, cpu_s, view_bytes = map(float, said.stdout.split())
                row = {
                    "format": name,
                    "round": turn + 1,
                    "million_requests_per_second": round(requests / wall_s / 1e6, 2),
                    "million_requests_per_cpu_second": round(requests / cpu_s / 1e6, 2),
                    "view_bytes_per_reference": view_bytes,
                    "load_average": os.getloadavg()[0],
                }
                print(row, file=sys.stderr)
                rows.append(row)
    write_rows(options, rows)


if __name__ == "__main__":
    main()
