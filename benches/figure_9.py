"""CPU seconds of the SCM paper's Figure 9 as one grid on 2 million references, reading included.

8 page sizes, 4 ratios, 5 memory sizes and 8 sizes of TLB are 1,280 cells; one thread, user and
system time of the process. The goal is 10 s.
"""

import argparse
import json
import os
import resource
import statistics
import sys
from pathlib import Path

from cells import program
from compare import machine

import clockhand

REFERENCES = 2_000_000
TLBS = "8,16,32,64,128,256,512,1024"
MEMORY = "10%,20%,40%,60%,80%"


def cpu_s() -> float:
    """Processor time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def grid(trace: clockhand.Trace) -> int:
    """Run the grid with the paper's page sizes and ratios; how many cells it has."""
    rows = clockhand.translate(
        trace, tlb=TLBS, memory=MEMORY, ratio="1,10,100,1000", jobs=1, limit=REFERENCES
    ).rows
    assert set(rows["references"]) == {REFERENCES}
    return rows.height


def main() -> int:
    """Measure, print and write the result with the machine's facts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/figure-9.json")
    options = parser.parse_args()
    trace, _ = program()
    times, cells = [], 0
    for _ in range(options.rounds):
        before = cpu_s()
        cells = grid(trace)
        times.append(round(cpu_s() - before, 2))
    result = {"cells": cells, "references": REFERENCES, "cpu_s": statistics.median(times),
              "least_cpu_s": min(times), "most_cpu_s": max(times)}  # fmt: skip
    facts = {**machine(), "load": os.getloadavg(), "version": clockhand.__version__}
    options.out.write_text(json.dumps({"facts": facts, "result": result}, indent=1) + "\n")
    json.dump(result, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
