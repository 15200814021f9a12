"""Replay speed of Clockhand and of libCacheSim on one synthetic trace, in turn and on one core.

See README.md for what the numbers mean and what may mislead. The trace is synthetic, with Zipf
popularity.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import clockhand

PAGES = 1_000_000
WRITE_SHARE = 0.3
SEED = 42
PAGE_BYTES = 4096
FRAMES = (10_000, 100_000)
MORE_CELLS = 3
# Each policy with the class of libCacheSim that it is compared with: its own, or CLOCK.
PEERS = {
    "fifo": "FIFO",
    "lru": "LRU",
    "clock": "Clock",
    "car": "Car",
    "arc": "ARC",
    "s3-fifo": "S3FIFO",
    "sieve": "Sieve",
    "nru": "Clock",
    "cfclock": "Clock",
    "craw": "Clock",
    "craw-a": "Clock",
}


def zipf(references: int) -> tuple[np.ndarray, np.ndarray]:
    """Return page numbers of Zipf popularity with exponent 1, and whether each reference writes."""
    random = np.random.default_rng(SEED)
    cumulative = np.cumsum(1 / np.arange(1, PAGES + 1))
    ranks = np.searchsorted(cumulative / cumulative[-1], random.random(references))
    pages = random.permutation(PAGES)[ranks].astype(np.uint64)
    return pages, random.random(references) < WRITE_SHARE


def write_oracle_general(pages: np.ndarray, path: Path) -> None:
    """Write the pages as a file that libCacheSim reads: no writes, no next access."""
    fields = [("time", "<u4"), ("page", "<u8"), ("size", "<u4"), ("next", "<i8")]
    records = np.zeros(len(pages), dtype=fields)
    records["page"] = pages + 1
    records["size"] = 1
    records["next"] = -1
    records.tofile(path)


def cpu_seconds(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def of_clockhand(trace: clockhand.Trace, policy: str, frames: int) -> tuple[float, float]:
    """Return the CPU seconds of a replay, and of everything for one cell."""

    def cells(count: int) -> float:
        policies = [policy] * count
        return cpu_seconds(
            lambda: clockhand.simulate(trace, policies=policies, frames=frames, jobs=1)
        )

    one = cells(1)
    return (cells(1 + MORE_CELLS) - one) / MORE_CELLS, one


def of_libcachesim(library: Any, file: Path, name: str, frames: int) -> float | None:
    """Return the CPU seconds of libCacheSim's own loop, or None if it lacks the policy."""
    if library is None or not hasattr(library, name):
        return None
    options = library.ReaderInitParam(ignore_obj_size=True)
    reader = library.TraceReader(str(file), library.TraceType.ORACLE_GENERAL_TRACE, options)
    cache = getattr(library, name)(frames)
    return cpu_seconds(lambda: cache.process_trace(reader))


def machine() -> dict[str, Any]:
    """Return the facts of the machine that a figure depends on."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown",
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "clockhand": clockhand.__version__,
    }


def measure(references: int, rounds: int) -> list[dict[str, Any]]:
    """Measure every policy at every size, both programs in turn, ``rounds`` times; medians."""
    try:
        import libcachesim
    except ImportError:
        libcachesim = None
        print("libcachesim is not installed, so there is no comparison: pip install libcachesim")
    pages, is_write = zipf(references)
    trace = clockhand.Trace.from_arrays(is_write, pages * PAGE_BYTES, name="zipf (synthetic)")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "zipf.oracleGeneral.bin"
        write_oracle_general(pages, file)
        for frames in FRAMES:
            for policy, peer in PEERS.items():
                own, theirs = [], []
                for _ in range(rounds):
                    own.append(of_clockhand(trace, policy, frames))
                    theirs.append(of_libcachesim(libcachesim, file, peer, frames))
                replay = statistics.median(seconds for seconds, _ in own)
                everything = statistics.median(seconds for _, seconds in own)
                row = {
                    "policy": policy,
                    "frames": frames,
                    "replay_million_per_cpu_second": references / replay / 1e6,
                    "all_million_per_cpu_second": references / everything / 1e6,
                    "peer": f"libCacheSim {peer}",
                }
                known = [seconds for seconds in theirs if seconds is not None]
                if known:
                    peer_seconds = statistics.median(known)
                    row["peer_million_per_cpu_second"] = references / peer_seconds / 1e6
                    row["replay_ratio"] = peer_seconds / replay
                    row["all_ratio"] = peer_seconds / everything
                rows.append(row)
                print(
                    "  ".join(f"{name}={shown(value)}" for name, value in row.items()), flush=True
                )
    return rows


def shown(value: Any) -> str:
    """Return a number with one decimal, or the text."""
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def main() -> None:
    """Read the options, measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    default_out = Path(__file__).parent / "results" / "compare.json"
    parser.add_argument("--out", type=Path, default=default_out)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows = measure(options.references, options.rounds)
    result = {
        "command": f"benches/compare.py --references {options.references} "
        f"--rounds {options.rounds}",
        "trace": f"synthetic: Zipf, exponent 1, {PAGES} pages, 30 % writes, seed {SEED}",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "rows": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
