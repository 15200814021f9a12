"""Measures policies in Python beside those of the catalog that they equal.

``.venv/bin/python benches/own_policy.py`` replays one trace, in turn and on one core, with CLOCK
and LRU of the catalog and with the same in Python (CLOCK is that of ``docs/own-policies.md``), and
fails unless they count the same. Prints CSV: references of one additional cell per CPU second,
medians of the rounds.
"""

import argparse
import re
import statistics
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
    text = (ROOT / "docs/own-policies.md").read_text(encoding="utf-8")
    [example, *_] = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        mine = Path(folder) / "mine.py"
        mine.write_text(example + LRU, encoding="utf-8")
        pairs = {"clock": f"{mine}:Clock", "lru": f"{mine}:Lru"}
        names = [name for pair in pairs.items() for name in pair]
        seconds: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(options.rounds):
            for name in names:
                seconds[name].append(seconds_of_cell(trace, name, options.frames))
        rows = clockhand.simulate(trace, policies=names, frames=options.frames)
    counts = dict(zip(names, rows.select("read_ios", "write_ios").iter_rows(), strict=True))
    print("policy,hit_ratio,references_per_cpu_s")
    for name, ratio in zip(names, rows["hit_ratio"], strict=True):
        rate = options.references / statistics.median(seconds[name])
        print(f"{name.rpartition('/')[2]},{ratio:.4f},{rate:.0f}")
    if any(counts[own] != counts[mine] for own, mine in pairs.items()):
        sys.exit("a policy in Python counts otherwise than that of the catalog")


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
        clockhand.simulate(trace, policies=[policy] * cells, frames=frames, jobs=1)
        return time.process_time() - start_s

    return (seconds(1 + CELLS) - seconds(1)) / CELLS


if __name__ == "__main__":
    main()
