"""Time and peak memory of a trace that is larger than memory, with its references in files.

The references are synthetic (a recipe), made while they are read, and replayed under CLOCK at two
sizes. Each run is a process of its own; some are repeated in memory, for comparison. The result is
printed, and kept in a file if one is named.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from typing import Any

RECIPE = "zipf:skew=0.9,footprint=4GiB"
FRAMES = "10000,100000"
RUN = """
import sys, clockhand
requests, frames, scratch = sys.argv[1:4]
trace = clockhand.synthesize(%r, requests=requests)
given = {"policies": "clock", "frames": frames, "scratch": scratch or None, "watch": False}
rows = clockhand.simulate(trace, **given)
rows = rows.select("frames", "references", "misses", "dirty_evictions")
print(rows.write_json())
"""


def measured(requests: str, scratch: str) -> dict[str, Any]:
    """Run once; seconds, CPU seconds, the most memory, and the counts."""
    command = [sys.executable, "-c", RUN % RECIPE, requests, FRAMES, scratch]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"the run of {requests} requests failed")
    return {
        "requests": requests,
        "references_in": "files" if scratch else "memory",
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "system_seconds": round(usage.ru_stime, 1),
        "peak_mebibytes": round(usage.ru_maxrss / 1024),
        "load": [round(load, 1) for load in os.getloadavg()],
        "rows": json.loads(said),
    }


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", nargs="+", default=["1k", "100M"])
    parser.add_argument("--in-memory", nargs="*", default=["100M"], help="the same, in memory")
    parser.add_argument("--scratch", help="the folder of the files; a temporary one if not given")
    parser.add_argument("--out", help="a file for the result")
    given = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        for requests in given.requests:
            runs.append(measured(requests, folder))
            print(json.dumps(runs[-1]), flush=True)
    for requests in given.in_memory:
        runs.append(measured(requests, ""))
        print(json.dumps(runs[-1]), flush=True)
    result = {
        "recipe": RECIPE,
        "stands_for": "no real workload: a synthetic trace",
        "policy": "clock",
        "frames": FRAMES,
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
        },
        "runs": runs,
    }
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
