"""Replay speed of Clockhand and of libCacheSim on one synthetic trace, in turn and on one core.

See README.md for what the numbers mean and what may mislead. The trace is synthetic, with Zipf
popularity. At the end comes a table of the ratios beside the goals, which is in the result as well:
first to libCacheSim with a hash table that fits the memory, then to that of its default.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import clockhand

PAGES = 1_000_000
WRITE_SHARE = 0.3
SEED = 42
PAGE_BYTES = 4096
FRAMES = (10_000, 100_000)
MORE_CELLS = 3
# Each policy with the class of libCacheSim that it is compared with: its own; ARC for CAR, which
# the library has but its Python package does not offer; CLOCK for what the library does not have.
PEERS = {
    "fifo": "FIFO",
    "lru": "LRU",
    "clock": "Clock",
    "car": "ARC",
    "arc": "ARC",
    "s3-fifo": "S3FIFO",
    "sieve": "Sieve",
    "nru": "Clock",
    "cfclock": "Clock",
    "craw": "Clock",
    "craw-a": "Clock",
}
# How many times as fast as libCacheSim a replay is to be, at each number of FRAMES: with a hash
# table that fits ("tuned"), and with its default one. FIFO has no goal.
GOALS = {
    "clock": {"tuned": (6, 15), "default": (18, 18)},
    "sieve": {"tuned": (6, 15)},
    "lru": {"tuned": (4, 10), "default": (12, 12)},
    "arc": {"tuned": (4, 9), "default": (9, 9)},
    "car": {"tuned": (4, 9), "default": (9, 9)},
    "s3-fifo": {"tuned": (4, 9)},
    "nru": {"tuned": (3, 10)},
    "cfclock": {"tuned": (3, 10)},
    "craw": {"tuned": (2, 4), "default": (6, 6)},
    "craw-a": {"tuned": (2, 4), "default": (6, 6)},
}
CAPTURED = Path(__file__).parent.parent / "traces"
# Policies that both define alike, to the last miss.
SAME_ALGORITHM = ("fifo", "lru", "clock")


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


def of_clockhand(trace: clockhand.Trace, policy: str, frames: int) -> tuple[float, float, float]:
    """Return the CPU seconds of a replay, those of everything for one cell, and the miss ratio."""
    miss_ratios = []

    def cells(count: int) -> None:
        rows = clockhand.simulate(trace, policies=[policy] * count, frames=frames, jobs=1).rows
        miss_ratios.append(rows["misses"][0] / rows["references"][0])

    one = cpu_seconds(lambda: cells(1))
    more = cpu_seconds(lambda: cells(1 + MORE_CELLS))
    return (more - one) / MORE_CELLS, one, miss_ratios[0]


def of_libcachesim(
    library: Any, file: Path, name: str, frames: int, **options: int
) -> tuple[float, float]:
    """Return the CPU seconds of libCacheSim's own loop, and the miss ratio."""
    reading = library.ReaderInitParam(ignore_obj_size=True)
    reader = library.TraceReader(str(file), library.TraceType.ORACLE_GENERAL_TRACE, reading)
    cache = getattr(library, name)(frames, **options)
    miss_ratios = []
    seconds = cpu_seconds(lambda: miss_ratios.append(cache.process_trace(reader)[0]))
    return seconds, miss_ratios[0]


def fitting_hashpower(frames: int) -> int:
    """Return the power of two of hash buckets that libCacheSim needs for at least two per page."""
    return (2 * frames - 1).bit_length()


def write_rows(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Write what a bench of the Zipf trace measured, with its machine and its settings."""
    settings = {"references": options.references, "rounds": options.rounds}
    result = {"machine": machine(), "settings": settings, "rows": rows}
    options.out.write_text(json.dumps(result, indent=1) + "\n")


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
        "numpy": np.__version__,
        "clockhand": clockhand.__version__,
        "libcachesim": version("libcachesim") if find_spec("libcachesim") else None,
    }


def measure(references: int, rounds: int) -> list[dict[str, Any]]:
    """Measure every policy at every size, both programs in turn, ``rounds`` times; medians."""
    library = None
    if find_spec("libcachesim"):
        import libcachesim as library
    else:
        print("libcachesim is not installed, so there is no comparison: pip install libcachesim")
    pages, is_write = zipf(references)
    trace = clockhand.Trace.from_arrays(is_write, pages * PAGE_BYTES, name="zipf (synthetic)")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "zipf.oracleGeneral.bin"
        write_oracle_general(pages, file)
        for frames in FRAMES:
            for policy, peer in PEERS.items():
                runs = []
                for _ in range(rounds):
                    run = {"own": of_clockhand(trace, policy, frames)}
                    if library:
                        run["peer"] = of_libcachesim(library, file, peer, frames)
                        power = fitting_hashpower(frames)
                        run["tuned"] = of_libcachesim(library, file, peer, frames, hashpower=power)
                    runs.append(run)
                rows.append(row_of(policy, frames, peer, references, runs))
                shown_row = (f"{name}={shown(value)}" for name, value in rows[-1].items())
                print("  ".join(shown_row), flush=True)
    return rows


def row_of(
    policy: str, frames: int, peer: str, references: int, runs: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return one row of medians, after both programs' misses have been compared."""

    def median_seconds(program: str, column: int) -> float:
        return statistics.median(run[program][column] for run in runs)

    def per_second(seconds: float) -> float:
        return references / seconds / 1e6

    def ratios(program: str) -> list[float]:
        return sorted(run[program][0] / run["own"][0] for run in runs)

    replay, everything = median_seconds("own", 0), median_seconds("own", 1)
    row: dict[str, Any] = {"policy": policy, "frames": frames}
    if "peer" in runs[0]:
        row |= {
            "replay_ratio_to_tuned": statistics.median(ratios("tuned")),
            "replay_ratio_to_tuned_range": [ratios("tuned")[0], ratios("tuned")[-1]],
            "replay_ratio": statistics.median(ratios("peer")),
            "replay_ratio_range": [ratios("peer")[0], ratios("peer")[-1]],
        }
    row |= {
        "miss_ratio": runs[0]["own"][2],
        "replay_million_per_cpu_second": per_second(replay),
        "all_million_per_cpu_second": per_second(everything),
    }
    if "peer" in runs[0]:
        peer_seconds, tuned_seconds = median_seconds("peer", 0), median_seconds("tuned", 0)
        row |= {
            "peer": f"libCacheSim {peer}",
            "peer_miss_ratio": runs[0]["peer"][1],
            "peer_million_per_cpu_second": per_second(peer_seconds),
            "tuned_peer_million_per_cpu_second": per_second(tuned_seconds),
            "all_ratio_to_tuned": tuned_seconds / everything,
            "all_ratio": peer_seconds / everything,
        }
        if policy in SAME_ALGORITHM and abs(row["miss_ratio"] - row["peer_miss_ratio"]) > 1e-9:
            raise SystemExit(f"{policy} and {row['peer']} miss differently: one is wrong")
    return row


def verdicts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the ratio of each goal, and whether it is met."""
    columns = {"tuned": "replay_ratio_to_tuned", "default": "replay_ratio"}
    found = []
    for table, column in columns.items():
        for row in (row for row in rows if column in row):
            goals = GOALS.get(row["policy"], {}).get(table)
            if goals is None:
                continue
            goal, ratio = goals[FRAMES.index(row["frames"])], row[column]
            found.append(
                {
                    "policy": row["policy"],
                    "frames": row["frames"],
                    "hash_table": table,
                    "ratio": ratio,
                    "least_ratio": row[f"{column}_range"][0],
                    "greatest_ratio": row[f"{column}_range"][1],
                    "goal": goal,
                    "is_met": ratio >= goal,
                }
            )
    return found


def print_table(found: list[dict[str, Any]]) -> None:
    """Print the goals as Markdown, a line for each policy and hash table."""
    sizes = [f"{frames:,} frames | goal |" for frames in FRAMES]
    print(f"\n| replay over libCacheSim | its hash table | {' '.join(sizes)} met |")
    print("|---|---|---|---|---|---|---|")
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for verdict in found:
        lines.setdefault((verdict["hash_table"], verdict["policy"]), []).append(verdict)
    for (table, policy), of_line in lines.items():
        cells = [
            f"{one['ratio']:.1f} ({one['least_ratio']:.1f} to {one['greatest_ratio']:.1f}) | "
            f"{one['goal']} |"
            for one in of_line
        ]
        met = ", ".join("yes" if one["is_met"] else "no" for one in of_line)
        print(f"| `{policy}` | {table} | {' '.join(cells)} {met} |")


def folding() -> dict[str, float]:
    """Return the references per record of each captured trace: what a replay gains from runs."""
    factors = {}
    for trace in sorted(CAPTURED.glob("*.parquet")):
        columns = pl.read_parquet(trace).filter(pl.col("class").cast(pl.String) != "A")
        page = pl.struct("stream", pl.col("address") // PAGE_BYTES)
        records = columns.select((page != page.shift()).fill_null(True).sum()).item()
        factors[trace.stem] = columns.height / records
    return factors


def shown(value: Any) -> str:
    """Return a number with three digits, a range of two, or the text."""
    if isinstance(value, list):
        return f"{value[0]:.3g}..{value[1]:.3g}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Read the options, measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    default_out = Path(__file__).parent / "results" / "compare.json"
    parser.add_argument("--out", type=Path, default=default_out)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    folded = folding()
    print(
        "references per folded record  "
        + "  ".join(f"{name}={shown(value)}" for name, value in folded.items())
    )
    load = [os.getloadavg()[0]]
    rows = measure(options.references, options.rounds)
    load.append(os.getloadavg()[0])
    found = verdicts(rows)
    if found:
        print_table(found)
    result = {
        "command": f"benches/compare.py --references {options.references} "
        f"--rounds {options.rounds}",
        "trace": f"synthetic: Zipf, exponent 1, {PAGES} pages, 30 % writes, seed {SEED}",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "load_before_and_after": load,
        "folding": folded,
        "goals": found,
        "rows": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
