"""One cell from the file to the answer, whole commands: Clockhand and libCacheSim.

The Zipf trace of compare.py is written as oracleGeneral, and CLOCK, LRU and FIFO are run on it at
two memory sizes: by ``clockhand simulate``, and by a Python process that runs libCacheSim, with
the hash table of its package's default and with one that fits. They take turns; start-up counts.
Python's modules are compiled before, as those of installed packages are: an editable install in an
environment that forbids to write bytecode compiles all of them at each start.
The run fails unless both count the same misses. See README.md for what the numbers mean.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from compare import fitting_hashpower, write_oracle_general, write_rows, zipf

POLICIES = {"clock": "Clock", "lru": "LRU", "fifo": "FIFO"}
FRAMES = (10_000, 100_000)
WARMING = 1000
"""References of a first run, which is not counted."""
PEER = """
import sys
import libcachesim as library
path, policy, frames, *power = sys.argv[1:]
reading = library.ReaderInitParam(ignore_obj_size=True)
reader = library.TraceReader(path, library.TraceType.ORACLE_GENERAL_TRACE, reading)
options = {"hashpower": int(power[0])} if power else {}
print(getattr(library, policy)(int(frames), **options).process_trace(reader)[0])
"""


def measured(command: list[str], bytecode: str) -> tuple[float, float, str]:
    """Run a command; seconds on the clock, CPU seconds, and what it printed."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu_s, run.stdout


def round_of(file: Path, policy: str, frames: int, peer: Path) -> dict[str, tuple[float, float]]:
    """Run a cell in all programs; seconds on the clock and CPU seconds of each."""
    clockhand = str(Path(sys.executable).with_name("clockhand"))
    words = ["--policy", policy, "--frames", str(frames), "--assume-reads", "--format", "json"]
    bytecode = str(file.with_name("bytecode"))
    own_call = [clockhand, "simulate", str(file), "--trace-format", "oracle-general", *words]
    own = measured(own_call, bytecode)
    row = json.loads(own[2])[0]
    miss_ratio = row["misses"] / row["references"]
    runs = {"clockhand": own[:2]}
    for name, power in (("peer", []), ("tuned_peer", [str(fitting_hashpower(frames))])):
        call = [str(peer), "-c", PEER, str(file), POLICIES[policy], str(frames), *power]
        *seconds, said = measured(call, bytecode)
        if abs(float(said) - miss_ratio) > 1e-9:
            raise SystemExit(f"{policy}, {frames}: misses {miss_ratio} and {said.strip()} differ")
        runs[name] = (seconds[0], seconds[1])
    return runs


def row_of(policy: str, frames: int, runs: list[dict[str, tuple[float, float]]]) -> dict[str, Any]:
    """Return medians, and the medians of the ratios of each round."""
    row: dict[str, Any] = {"policy": policy, "frames": frames}
    for name in runs[0]:
        row[f"{name}_seconds"] = round(statistics.median(run[name][0] for run in runs), 3)
        row[f"{name}_cpu_seconds"] = round(statistics.median(run[name][1] for run in runs), 3)
    for name in ("peer", "tuned_peer"):
        for place, what in enumerate(("", "cpu_")):
            ratios = [run[name][place] / run["clockhand"][place] for run in runs]
            row[f"{name}_{what}ratio"] = round(statistics.median(ratios), 2)
    return row


def main() -> None:
    """Measure, print a row per cell, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    peer_help = "the Python that has libcachesim"
    parser.add_argument("--peer-python", type=Path, default=Path(sys.executable), help=peer_help)
    out = Path(__file__).parent / "results/one-cell.json"
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "zipf.oracleGeneral.bin"
        pages, _ = zipf(options.references)
        write_oracle_general(pages[:WARMING], file)
        round_of(file, "fifo", FRAMES[0], options.peer_python)
        write_oracle_general(pages, file)
        for frames in FRAMES:
            for policy in POLICIES:
                runs = [
                    round_of(file, policy, frames, options.peer_python)
                    for _ in range(options.rounds)
                ]
                row = {**row_of(policy, frames, runs), "load_average": round(os.getloadavg()[0], 1)}
                print(row, file=sys.stderr)
                rows.append(row)
    write_rows(options, rows)


if __name__ == "__main__":
    main()
