"""A program that does whatever is hard to page, under several policies, for as long as one likes.

The program is ``python/tests/programs/everything_at_once.c``: threads whose direct reads and
writes, pipes, growing and moving blocks, forks and signals meet, and which verify every word. Each
policy has the same share of the time, with the simulator's counts of the same run beside. It is no
measurement, and ends with an error when anything is wrong.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POLICIES = "clock,craw,cfclock,sieve,car"
SOURCE = Path(__file__).parents[1] / "python/tests/programs/everything_at_once.c"
COUNTS = ("misses", "pages_read", "pages_rescued", "pages_written", "discarded_pages")


def soaked(program: Path, policy: str, options: argparse.Namespace, seconds: int) -> str:
    """Run the program under a policy, and return what it and the pager counted."""
    folder = program.parent
    rows = folder / "rows.json"
    run = ["run", f"--policy={policy}", f"--memory={options.memory}", f"--bits={options.bits}"]
    files = [f"--swap={folder / 'swap'}", "--format=json", f"--out={rows}"]
    clockhand = Path(sys.executable).with_name("clockhand")
    words = [str(program), str(seconds), str(options.seed), str(folder)]
    done = subprocess.run(
        [str(clockhand), *run, *files, "--", *words], stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise SystemExit(
            f"{policy}, seed {options.seed}: exit code {done.returncode}\n{done.stdout}"
        )
    processes = json.loads(rows.read_text())
    counts = [f"{sum(row[name] for row in processes):,} {name}" for name in COUNTS]
    return f"{done.stdout}{len(processes)} processes, {', '.join(counts)}"


def main() -> None:
    """Soak each policy in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float, help="for all policies together")
    parser.add_argument("seed", type=int, nargs="?", default=int(time.time()))
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--memory", default="2MiB")
    parser.add_argument("--bits", default="sensed")
    options = parser.parse_args()
    policies = options.policies.split(",")
    seconds = max(1, round(60 * options.minutes / len(policies)))
    # Not in /tmp, which may be in memory.
    built = Path(__file__).parents[1] / "target"
    built.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=built) as folder:
        program = Path(folder) / "everything_at_once"
        subprocess.run(["cc", "-O1", "-pthread", "-o", program, SOURCE], check=True)
        for policy in policies:
            load = os.getloadavg()[0]
            told = soaked(program, policy, options, seconds)
            print(
                f"{policy}, {seconds} s, seed {options.seed}, load {load:.1f}:\n{told}\n",
                flush=True,
            )


if __name__ == "__main__":
    main()
