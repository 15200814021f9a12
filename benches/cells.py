"""CPU seconds of one further cell of page caches with calls, and of translation through one TLB.

A cell's time is the difference between a run of several cells and a run of one, divided: reading
the trace and making its view are not in it. CPU seconds of one thread are steadier than wall time
on a machine with other work.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from compare import machine

import clockhand

PAGES = 100_000
EVENTS = 1_000_000
FRAMES = (80_000, 5_000)
FURTHER_CELLS = 4
POLICIES = (
    "lru", "cflru", "clock", "craw", "linux24", "linux24-cflru", "linux-lru", "linux-mglru",
)  # fmt: skip
TLBS = ("64", "64/4", "64:fifo")
SEED = 42


def write_calls(path: Path) -> None:
    """Write Zipf events: two of three are calls on sixteen files, each thousandth syncs."""
    random = np.random.default_rng(SEED)
    weights = 1 / np.arange(1, PAGES + 1)
    ranks = random.choice(PAGES, size=EVENTS, p=weights / weights.sum())
    pages = random.permutation(PAGES)[ranks]
    writes = random.random(EVENTS) < 0.3
    lines = [f"length f{file} 0x8000000000" for file in range(16)]
    for event, (page, is_write) in enumerate(zip(pages, writes, strict=True)):
        letter = "w" if is_write else "r"
        if page % 3 == 0:
            lines.append(f"m{letter} a1 {page}p 8")
        else:
            lines.append(f"c{letter} f{page % 16} {page}p 4096")
        if event % 1000 == 999:
            lines.append(f"sync f{event // 1000 % 16}")
    path.write_text("\n".join(lines) + "\n")


def page_cache(calls: Path, policy: str, frames: int, cells: int) -> None:
    """Run equal cells of a page cache."""
    clockhand.pagecache(calls, policies=[policy] * cells, frames=frames, jobs=1)


def one_tlb(trace: clockhand.Trace, tlb: str, cells: int) -> None:
    """Run cells of one TLB and page size, each with a memory of its own."""
    frames = list(range(2048 - cells, 2048))
    clockhand.translate(trace, page_size=4096, tlb=tlb, frames=frames, ratio=[1], jobs=1)


def program() -> tuple[clockhand.Trace, int]:
    """Return a working set of 48 pages that moves through 16 MiB in runs of lines, and its size."""
    random = np.random.default_rng(SEED)
    runs = 800_000
    centre = np.arange(runs) // 1000 * 4
    page = (centre + random.integers(0, 48, runs)) % 4096
    first = random.integers(0, 60, runs)
    lengths = random.integers(1, 5, runs)
    within = np.concatenate([np.arange(length) for length in lengths])
    address = np.repeat(page * 4096 + first * 64, lengths) + within * 64
    writes = random.integers(0, 4, address.size) == 0
    ops = np.where(writes, "W", "R")
    return clockhand.Trace.from_arrays(ops, address.astype(np.uint64)), address.size


def millions_per_second(events: int, run: Callable[[int], object], rounds: int) -> list[float]:
    """Return events per CPU microsecond of one further cell, a number per round."""

    def seconds(cells: int) -> float:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        run(cells)
        return resource.getrusage(resource.RUSAGE_SELF).ru_utime - before

    found = []
    for _ in range(rounds):
        further = (seconds(1 + FURTHER_CELLS) - seconds(1)) / FURTHER_CELLS
        found.append(events / max(further, 1e-9) / 1e6)
    return found


def main() -> int:
    """Measure, print a table and write it with the machine's facts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/cells.json")
    options = parser.parse_args()
    rows = []

    def measure(what: str, at: str, events: int, run: Callable[[int], object]) -> None:
        values = millions_per_second(events, run, options.rounds)
        median = statistics.median(values)
        rows.append({"what": what, "at": at, "millions_per_cpu_second": round(median, 1),
                     "least": round(min(values), 1), "most": round(max(values), 1)})  # fmt: skip
        print(rows[-1], file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "calls.events"
        write_calls(calls)
        for frames in FRAMES:
            for policy in POLICIES:
                run = partial(page_cache, calls, policy, frames)
                measure(f"pagecache {policy}", f"{frames} frames", EVENTS, run)
    trace, references = program()
    for tlb in TLBS:
        measure(f"translate --tlb {tlb}", "2048 frames", references, partial(one_tlb, trace, tlb))
    facts = {**machine(), "load": os.getloadavg(), "version": clockhand.__version__}
    options.out.write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    print(pl.DataFrame(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
