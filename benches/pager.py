"""Whole programs under the pager and under the kernel's own swap, with equal memory, in one run.

It runs ``clockhand run --compare``: docs/pager.md says what equal memory is. Single faults are
measured by ``cargo bench -p clockhand-pager --bench faults``. See README.md.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from clockhand import __version__

CONTENDERS = "clock,craw,cfclock,kernel"
READ_AHEAD = (0, 64)
"""Frames for pages that the pager reads ahead; the kernel reads ahead as it is set."""
LINES = 150_000
PYTHON_JOB = """
names = {number: str(number) * 3 for number in range(200_000)}
ordered = sorted(names.values())
for turn in range(3):
    for number in range(0, 200_000, 7):
        names[number] = names[number][::-1]
print(sum(map(len, names.values())), ordered[1234])
"""
SQL = (
    "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); "
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 150000) "
    "INSERT INTO t SELECT x, hex(x * 2654435761 % 4294967296) FROM c; "
    "CREATE INDEX i ON t(b); UPDATE t SET b = b || 'x' WHERE a % 5 = 0; "
    "SELECT count(*), sum(length(b)) FROM t; SELECT b FROM t ORDER BY b LIMIT 5000;"
)


def programs(folder: Path) -> dict[str, tuple[str, list[str]]]:
    """Return memory and command by name; the input is made in the folder."""
    numbers = random.Random(1)
    text = folder / "lines"
    text.write_text("".join(f"{numbers.getrandbits(200):x}\n" for _ in range(LINES)))
    return {
        "python3, a dictionary": ("16MiB", ["/usr/bin/python3", "-c", PYTHON_JOB]),
        "sort": ("8MiB", ["sort", "--parallel=1", "--buffer-size=16M", str(text)]),
        "sqlite3, in memory": ("8MiB", ["sqlite3", ":memory:", SQL]),
        "zstd -T2": ("16MiB", ["zstd", "-T2", "-q", "-c", str(text)]),
    }


def compared(
    name: str, memory: str, command: list[str], read_ahead: int, folder: Path, rounds: int
) -> pl.DataFrame:
    """Return a row per contender: medians, and the time over the kernel's."""
    rows = folder / "rows.json"
    run = ["run", f"--compare={CONTENDERS}", f"--repeat={rounds}", f"--memory={memory}"]
    run.append(f"--read-ahead={read_ahead}")
    files = [f"--swap={folder / 'swap'}", "--format=json", f"--out={rows}"]
    clockhand = Path(sys.executable).with_name("clockhand")
    words = [str(clockhand), *run, *files, "--", *command]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    medians = (
        pl.DataFrame(json.loads(rows.read_text()), infer_schema_length=None)
        .group_by("policy", maintain_order=True)
        .agg(
            pl.col("seconds", "faults", "pages_read", "pages_written").median(),
            pl.col("output_sha256").n_unique().alias("different_outputs"),
            pl.col("problem").first(),
        )
    )
    kernel = medians.filter(pl.col("policy") == "kernel")["seconds"][0]
    over_kernel = (pl.col("seconds") / kernel).alias("seconds_over_kernel")
    return medians.select(
        pl.lit(name).alias("program"),
        pl.lit(memory).alias("memory"),
        pl.lit(read_ahead).alias("read_ahead"),
        pl.all(),
        over_kernel,
    )


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/pager.json")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=options.out.resolve().parent) as temporary:
        folder = Path(temporary)
        tables = [
            compared(name, memory, command, read_ahead, folder, options.rounds)
            for name, (memory, command) in programs(folder).items()
            for read_ahead in READ_AHEAD
        ]
    rows = pl.concat(tables, how="vertical_relaxed")
    machine: dict[str, Any] = {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "load_average_before": load,
        "clockhand": __version__,
    }
    command = f"benches/pager.py --rounds {options.rounds}"
    result = {"command": command, "machine": machine, "rows": rows.to_dicts()}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=140):
        print(rows)


if __name__ == "__main__":
    main()
