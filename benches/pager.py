"""Whole programs under the pager and under the kernel's own swap, at a third of their memory.

A program's memory is its footprint in a run in which all of it has room. Contenders take turns.
``docs/running.md`` says what equal memory is. With ``--small`` other programs run, most of which
take less memory; with ``--loop`` one of these in several memory sizes. See README.md.
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
LOOP_CONTENDERS = "clock,kernel"
AMPLE_MEMORY = "1GiB"
SHARES = {"a third": 1 / 3, "half": 1 / 2}
SMALL_SHARES = {"a third": 1 / 3}
# At a third it takes minutes under every contender.
SHARES_OF = {"xz": {"97 %": 0.97}}
LOOP = "C, matrices"
LOOP_FRAMES = (1400, 1110, 1060, 1000, 958, 920, 880, 840)
XZ_BYTES = 2_500_000
COUNTS = ("faults", "pages_read", "pages_written", "block_requests", "zero_pages_not_written")
TIMES = ("seconds", "cpu_seconds")
SEEN = ("program", "frames", "policy", *TIMES, "over_kernel", "pages_read", "pages_written")
FAULT_COLUMNS = ("kind", "bits", "store", "faults_per_s", "p50_us", "p90_us", "p99_us")
LINES = 150_000
RESULTS = Path(__file__).parent / "results"
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
PERL_JOB = (
    'my %names; $names{$_ * 7919 % 1000003} = "x$_" for 1 .. 20000; '
    "my $sum = 0; $sum += length $names{$_} for sort keys %names; print $sum"
)
AWK_JOB = (
    'BEGIN { for (i = 0; i < 30000; i++) names[i * 7919 % 1000003] = i "x"; '
    "for (name in names) sum += length(names[name]); print sum }"
)
PYTHON_MATRICES = """
side = range(110)
a = [[i * j % 7 + 0.5 for j in side] for i in side]
b = [[i + j + 0.25 for j in side] for i in side]
print(sum(sum(a[i][k] * b[k][j] for k in side) for i in side for j in side))
"""
# Writes to each of 12,288 pages: one after the other, in a random order, and one after the other.
PYTHON_WRITES = """
import random
pages = 48 << 8
block = bytearray(pages << 12)
for turn in range(3):
    order = list(range(pages))
    if turn == 1:
        random.Random(1).shuffle(order)
    for page in order:
        block[(page << 12) + turn] = page >> turn & 255
print([sum(block[turn::4096]) for turn in range(3)])
"""
# The factor b is read again for each row of a: a loop of 957 pages.
C_MATRICES = """
#include <stdio.h>
#include <stdlib.h>
#define SIDE 700
int main(void) {
    double *a = malloc(sizeof *a * SIDE * SIDE), *b = malloc(sizeof *b * SIDE * SIDE);
    double *c = calloc(SIDE * SIDE, sizeof *c), sum = 0;
    for (int i = 0; i < SIDE * SIDE; i++) a[i] = i % 7, b[i] = i % 5;
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            for (int j = 0; j < SIDE; j++) c[i * SIDE + j] += a[i * SIDE + k] * b[k * SIDE + j];
    for (int i = 0; i < SIDE * SIDE; i++) sum += c[i];
    printf("%g\\n", sum);
}
"""
C_FUNCTION = """
int f{number}(int a, int b) {{
    int sum = {number};
    for (int i = 0; i < a; i++) {{ sum += i * b ^ {number}; if (sum > 7 * i) sum -= b; }}
    return sum;
}}
"""


def lines(folder: Path) -> Path:
    """Make a file of random lines in the folder."""
    numbers = random.Random(1)
    text = folder / "lines"
    text.write_text("".join(f"{numbers.getrandbits(200):x}\n" for _ in range(LINES)))
    return text


def programs(folder: Path) -> dict[str, list[str]]:
    """Return commands by name; the input is made in the folder."""
    text = lines(folder)
    return {
        "python3, a dictionary": ["/usr/bin/python3", "-c", PYTHON_JOB],
        "sort": ["sort", "--parallel=1", "--buffer-size=16M", str(text)],
        "sqlite3, in memory": ["sqlite3", ":memory:", SQL],
    }


def small_programs(folder: Path) -> dict[str, list[str]]:
    """Return commands by name, mostly of small programs; the input is made in the folder."""
    (folder / "functions.c").write_text("".join(C_FUNCTION.format(number=n) for n in range(2500)))
    (folder / "matrices.c").write_text(C_MATRICES)
    matrices = str(folder / "matrices")
    subprocess.run(["gcc", "-O2", f"{matrices}.c", "-o", matrices], check=True)
    text = lines(folder).read_text()
    part = folder / "part"
    part.write_text(text[:XZ_BYTES])
    base = text.splitlines(keepends=True)[:30_000]
    (folder / "base").write_text("".join(base))
    for name, first in {"ours": 10, "theirs": 60}.items():
        changed = ("changed\n" if n % 100 == first else line for n, line in enumerate(base))
        (folder / name).write_text("".join(changed))
    return {
        "perl, a hash": ["perl", "-e", PERL_JOB],
        "awk, an array": ["awk", AWK_JOB],
        "gcc, 2,500 functions": ["gcc", "-O1", "-c", f"{folder}/functions.c", "-o", "/dev/null"],
        "git, a merge of files": ["git", "merge-file", "-p"]
        + [str(folder / name) for name in ("ours", "base", "theirs")],
        "python3, matrices": ["/usr/bin/python3", "-c", PYTHON_MATRICES],
        "writes, by python3": ["/usr/bin/python3", "-c", PYTHON_WRITES],
        "C, matrices": [matrices],
        "xz": ["xz", "-6", "--threads=1", "--stdout", str(part)],
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
    """Return how many pages the largest process uses of its paged memory if all have room."""
    options = ["--policy=clock", f"--memory={AMPLE_MEMORY}", "--no-simulate"]
    rows = run_rows(options, command, folder)
    return int(rows.select(pl.col("footprint_pages").max()).item())


def compared(
    name: str,
    share: str,
    frames: int,
    command: list[str],
    folder: Path,
    rounds: int,
    contenders: str = CONTENDERS,
) -> pl.DataFrame:
    """Return a row per contender with medians and ranges, also of the time over the kernel's."""
    options = [f"--compare={contenders}", f"--repeat={rounds}", f"--frames={frames}"]
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
            pl.col("seconds").count().alias("runs_that_ended"),
            pl.col("problem").drop_nulls().first(),
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


def named(commands: dict[str, list[str]], only: str | None) -> dict[str, list[str]]:
    """Return the programs whose names begin with a word of a list; all without a list."""
    words = tuple(only.split(",")) if only else ("",)
    chosen = {name: command for name, command in commands.items() if name.startswith(words)}
    if not chosen:
        raise SystemExit(f"--only {only}: no program begins so; there are: {'; '.join(commands)}")
    return chosen


def in_shares(
    commands: dict[str, list[str]], shares: dict[str, float], folder: Path, rounds: int
) -> pl.DataFrame:
    """Return what is measured of each program in shares of its memory."""
    tables = []
    for name, command in commands.items():
        pages = footprint(command, folder)
        for share, part in SHARES_OF.get(name, shares).items():
            tables.append(compared(name, share, int(pages * part), command, folder, rounds))
            print(tables[-1].select(SEEN), file=sys.stderr)  # Others may take long.
    return pl.concat(tables, how="vertical_relaxed")


def in_frames(name: str, command: list[str], folder: Path, rounds: int) -> pl.DataFrame:
    """Return what is measured of a program in the sizes of memory for a loop."""
    tables = [
        compared(name, f"{frames} frames", frames, command, folder, rounds, LOOP_CONTENDERS)
        for frames in LOOP_FRAMES
    ]
    return pl.concat(tables, how="vertical_relaxed")


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", default="bench", help="how the bench of faults is built")
    measured = parser.add_mutually_exclusive_group()
    measured.add_argument("--small", action="store_true", help="measure other, small programs")
    measured.add_argument("--loop", action="store_true", help="measure a loop around its size")
    parser.add_argument("--only", help="the programs whose names begin so, such as gcc,awk")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    suffix = "-small" if options.small else "-loop" if options.loop else ""
    out = options.out or RESULTS / f"pager{suffix}.json"
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=out.resolve().parent) as temporary:
        folder = Path(temporary)
        if options.loop:
            rows = in_frames(LOOP, small_programs(folder)[LOOP], folder, options.rounds)
        elif options.small:
            chosen = named(small_programs(folder), options.only)
            rows = in_shares(chosen, SMALL_SHARES, folder, options.rounds)
        else:
            rows = in_shares(named(programs(folder), options.only), SHARES, folder, options.rounds)
    kinds = pl.DataFrame() if suffix else faults(options.profile)
    machine: dict[str, Any] = {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "load_average_before": load,
        "load_average_after": os.getloadavg()[0],
        "clockhand": __version__,
    }
    words = f"benches/pager.py --rounds {options.rounds} --profile {options.profile}"
    words += suffix and f" -{suffix}"
    words += f" --only {options.only}" if options.only else ""
    result = {
        "command": words,
        "machine": machine,
        "rows": rows.to_dicts(),
        "faults": kinds.to_dicts(),
    }
    out.write_text(json.dumps(result, indent=1) + "\n")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200):
        print(rows)
        if not suffix:
            print(kinds)


if __name__ == "__main__":
    main()
