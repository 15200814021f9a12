"""Measures policies of one's own beside those of the catalog that they equal.

``.venv/bin/python benches/own_policy.py`` replays one trace, in turn and on one core, with CLOCK of
the catalog, the one that ``clockhand new-policy`` writes in a library, and the one in Python of
``docs/policies.md``, then with LRU of the catalog and in Python, and fails unless they count
the same. Prints CSV: references of one additional cell per CPU second and nanoseconds per fault,
medians of the rounds. The library is built by ``cargo build --release``.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import clockhand

ROOT = Path(__file__).resolve().parent.parent
LRU = """
from collections import OrderedDict
class Lru:
    def __init__(self):
        self.order = OrderedDict()
    def choose_victim(self, frames):
        return self.order.popitem(last=False)[0]
    def loaded(self, frame, page, is_write, frames):
        self.order[frame] = None
    def hit(self, frame, is_write, frames):
        self.order.move_to_end(frame)
"""
PAGES = 100_000
SEED = 42
CELLS = 3


def main() -> None:
    """Measure, and print a line per policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=5_000_000)
    parser.add_argument("--frames", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    trace = zipf(options.references)
    text = (ROOT / "docs/policies.md").read_text(encoding="utf-8")
    [example, *_] = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        mine = Path(folder) / "mine.py"
        mine.write_text(example + LRU, encoding="utf-8")
        library = library_of(Path(folder))
        kinds = {
            "clock": "clock",
            "clock in a library": f"{library}:my-clock",
            "clock in Python": f"{mine}:Clock",
            "lru": "lru",
            "lru in Python": f"{mine}:Lru",
        }
        names = list(kinds.values())
        seconds: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(options.rounds):
            for name in names:
                seconds[name].append(seconds_of_cell(trace, name, options.frames))
        rows = clockhand.simulate(trace, policies=names, frames=options.frames).rows
    print("policy,hit_ratio,references_per_cpu_s,ns_per_fault")
    counts = {}
    for kind, row in zip(kinds, rows.iter_rows(named=True), strict=True):
        median_s = statistics.median(seconds[kinds[kind]])
        rate, fault_ns = options.references / median_s, median_s * 1e9 / row["misses"]
        print(f"{kind},{row['hit_ratio']:.4f},{rate:.0f},{fault_ns:.0f}")
        counts.setdefault(kind.partition(" ")[0], set()).add((row["read_ios"], row["write_ios"]))
    if any(len(different) > 1 for different in counts.values()):
        sys.exit("a policy of one's own counts otherwise than that of the catalog")


def library_of(folder: Path) -> Path:
    """Build the crate that ``clockhand new-policy`` writes."""
    clockhand_command = Path(sys.executable).with_name("clockhand")
    for command, place in (
        ([clockhand_command, "new-policy", "my-clock", "--path", ROOT], folder),
        (["cargo", "build", "--release", "--quiet"], folder / "my-clock"),
    ):
        subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL)
    return folder / "my-clock/target/release/libmy_clock.so"


def zipf(references: int) -> clockhand.Trace:
    """Return references to pages by a Zipf law with exponent 1, of which 30 % write."""
    numbers = np.random.default_rng(SEED)
    weights = np.cumsum(1 / np.arange(1, PAGES + 1))
    pages = np.searchsorted(weights, numbers.random(references) * weights[-1])
    scattered = numbers.permutation(PAGES + 1)[pages].astype(np.uint64)
    return clockhand.Trace.from_arrays(numbers.random(references) < 0.3, scattered * 4096)


def seconds_of_cell(trace: clockhand.Trace, policy: str, frames: int) -> float:
    """Return what one more cell takes: reading the trace is not of interest."""

    def seconds(cells: int) -> float:
        start_s = time.process_time()
        clockhand.simulate(trace, policies=[policy] * cells, frames=frames, jobs=1, watch=False)
        return time.process_time() - start_s

    return (seconds(1 + CELLS) - seconds(1)) / CELLS


if __name__ == "__main__":
    main()
