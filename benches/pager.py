"""Whole programs under the pager and under the kernel's own swap, at a third of their memory.

What a program needs is the footprint of a run in which all of it has room. Contenders take turns.
It runs ``clockhand run --compare``: docs/pager.md says what equal memory is. Single faults by kind
are those of ``cargo bench -p clockhand-pager --bench faults``. See README.md.
"""

import argparse
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from clockhand import __version__

CONTENDERS = "clock,craw,cfclock,kernel"
AMPLE_MEMORY = "1GiB"
SHARES = {"a third": 1 / 3, "half": 1 / 2}
COUNTS = ("faults", "pages_read", "pages_written", "block_requests", "zero_pages_not_written")
TIMES = ("seconds", "cpu_seconds")
FAULT_COLUMNS = ("kind", "bits", "store", "faults_per_s", "p50_us", "p90_us", "p99_us")
LINES = 150_000
PYTHON_JOB = """
names = {number: str(number) * 3 for number in range(200_000)}
ordered = sorted(names.values())
for turn in range(3):
    for number in range(0, 200_000, 7):
        names[number] = names[number][::-1]
print(sum(map(len, names.values())), ordered[1234])
"""
# Sorts for its index in memory: of a temporary file the page cache would be charged to the kernel.
SQL = (
    "PRAGMA cache_size = -65536; "
    "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); "
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 150000) "
    "INSERT INTO t SELECT x, hex(x * 2654435761 % 4294967296) FROM c; "
    "CREATE INDEX i ON t(b); UPDATE t SET b = b || 'x' WHERE a % 5 = 0; "
    "SELECT count(*), sum(length(b)) FROM t; SELECT b FROM t ORDER BY b LIMIT 5000;"
)


def programs(folder: Path) -> dict[str, list[str]]:
    """Return commands by name; the input is made in the folder."""
    numbers = random.Random(1)
    text = folder / "lines"
    text.write_text("".join(f"{numbers.getrandbits(200):x}\n" for _ in range(LINES)))
    return {
        "python3, a dictionary": ["/usr/bin/python3", "-c", PYTHON_JOB],
        "sort": ["sort", "--parallel=1", "--buffer-size=16M", str(text)],
        "sqlite3, in memory": ["sqlite3", ":memory:", SQL],
    }


def run_rows(options: list[str], command: list[str], folder: Path) -> pl.DataFrame:
    """Return the rows of ``clockhand run`` with these options."""
    rows = folder / "rows.json"
    files = [f"--swap={folder / 'swap'}", "--format=json", f"--out={rows}"]
    clockhand = Path(sys.executable).with_name("clockhand")
    words = [str(clockhand), "run", *options, *files, "--", *command]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return pl.DataFrame(json.loads(rows.read_text()), infer_schema_length=None)


def footprint(command: list[str], folder: Path) -> int:
    """Return how many pages the program uses of its paged memory if all of them have room."""
    options = ["--policy=clock", f"--memory={AMPLE_MEMORY}", "--no-simulate"]
    return int(run_rows(options, command, folder)["footprint_pages"].sum())


def compared(
    name: str, share: str, frames: int, command: list[str], folder: Path, rounds: int
) -> pl.DataFrame:
    """Return a row per contender with medians and ranges, also of the time over the kernel's."""
    options = [f"--compare={CONTENDERS}", f"--repeat={rounds}", f"--frames={frames}"]
    runs = run_rows(options, command, folder)
    kernel = runs.filter(pl.col("policy") == "kernel").select("run", kernel="seconds")
    over_kernel = (pl.col("seconds") / pl.col("kernel")).alias("over_kernel")
    shown = [*TIMES, "over_kernel"]
    return (
        runs.join(kernel, on="run")
        .with_columns(over_kernel)
        .group_by("policy", maintain_order=True)
        .agg(
            pl.col(*shown).median(),
            pl.col(*shown).min().name.suffix("_least"),
            pl.col(*shown).max().name.suffix("_most"),
            pl.col(*COUNTS).median(),
            pl.col("output_sha256").n_unique().alias("different_outputs"),
            pl.col("problem").first(),
        )
        .select(
            pl.lit(name).alias("program"),
            pl.lit(share).alias("share"),
            pl.lit(frames).alias("frames"),
            pl.all(),
        )
    )


def faults(profile: str) -> pl.DataFrame:
    """Return faults per second and percentiles of their latencies, a row per kind and store."""
    words = ["cargo", "bench", "--quiet", "--locked", f"--profile={profile}"]
    words += ["--package=clockhand-pager", "--bench=faults"]
    printed = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    table = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()]
    wanted = [line for line in table if len(line) == len(FAULT_COLUMNS)]
    return pl.DataFrame(wanted, schema=FAULT_COLUMNS, orient="row").with_columns(
        pl.col(FAULT_COLUMNS[3:]).cast(pl.Float64)
    )


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", default="bench", help="how the bench of faults is built")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/pager.json")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=options.out.resolve().parent) as temporary:
        folder = Path(temporary)
        tables = []
        for name, command in programs(folder).items():
            pages = footprint(command, folder)
            tables += [
                compared(name, share, int(pages * part), command, folder, options.rounds)
                for share, part in SHARES.items()
            ]
    rows = pl.concat(tables, how="vertical_relaxed")
    kinds = faults(options.profile)
    machine: dict[str, Any] = {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "load_average_before": load,
        "load_average_after": os.getloadavg()[0],
        "clockhand": __version__,
    }
    command = f"benches/pager.py --rounds {options.rounds} --profile {options.profile}"
    result = {
        "command": command,
        "machine": machine,
        "rows": rows.to_dicts(),
        "faults": kinds.to_dicts(),
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200):
        print(rows)
        print(kinds)


if __name__ == "__main__":
    main()
