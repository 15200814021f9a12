"""Does a counted cost order policies as the time does that their I/O takes on a real device?

    .venv/bin/python experiments/io_time.py FILE

Each policy runs on each trace once, and ``--io-log`` writes what it reads and writes. fio replays
that on FILE, a file of 256 MiB on the device, with O_DIRECT, one request at a time. The least time
of this run and of those before counts: run it again while the machine is quiet. One table has the
counted cost beside that time; a second one has the rank correlation (Spearman's) of both over the
policies of a trace.
"""

import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from kept import keep

import clockhand

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments/results/io-time"
TRACES = ("tar-gzip", "sqlite3", "cc1")
POLICIES = (
    "clock", "lru", "arc", "sieve", "cflru", "cfclock", "lru-wsr", "craw", "weighted-clock",
    "credit-clock",
)  # fmt: skip
MEMORY = "10%"

SIZE = 256 << 20


def replayed_us(log: Path, file: Path) -> float:
    """Return how long fio takes for a log, in microseconds."""
    command = [
        "fio", "--name=replay", f"--read_iolog={log}", f"--replay_redirect={file}",
        "--replay_no_stall=1", "--direct=1", "--ioengine=psync", "--output-format=json",
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    [job] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    return 1e3 * float(job["job_runtime"])


def counted(folder: Path) -> pl.DataFrame:
    """Run each policy on each trace, and write its log; return the counts."""
    rows = []
    for trace in TRACES:
        for policy in POLICIES:
            log = folder / f"{trace}-{policy}.iolog"
            [row] = clockhand.simulate(
                ROOT / f"traces/{trace}.parquet", policies=policy, memory=MEMORY,
                flush_at_end=True, io_log=log, watch=False,
            ).rows.to_dicts()  # fmt: skip
            reads, writes = row["read_ios"], row["write_ios"]
            rows.append(
                {"trace": trace, "policy": policy, "frames": row["frames"], "reads": reads,
                 "writes": writes, "cost_of_8": reads + 8 * writes, "cost_of_1": reads + writes}
            )  # fmt: skip
    return pl.DataFrame(rows)


def measured(rows: pl.DataFrame, folder: Path, file: Path) -> pl.DataFrame:
    """Replay all logs in turn; return the rows with the least time of each so far."""
    key = ["trace", "policy", "reads", "writes"]
    times = pl.Series(
        [replayed_us(folder / f"{trace}-{policy}.iolog", file)
         for trace, policy in rows.select("trace", "policy").iter_rows()]
    )  # fmt: skip
    now = rows.with_columns(time_us=times)
    kept = RESULTS / "times.csv"
    if not kept.exists():
        return now
    before = pl.read_csv(kept, comment_prefix="#").select(*key, pl.col("time_us").alias("before"))
    both = now.join(before, on=key, how="left", maintain_order="left")
    return both.with_columns(time_us=pl.min_horizontal("time_us", "before")).drop("before")


def correlated(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rank correlation of each cost with the time, for each trace."""
    return rows.group_by("trace", maintain_order=True).agg(
        pl.len().alias("policies"),
        *(
            pl.corr(cost, "time_us", method="spearman").round(3).alias(f"rank_correlation_{cost}")
            for cost in ("cost_of_8", "cost_of_1")
        ),
        (pl.col("time_us").max() / pl.col("time_us").min()).round(3).alias("longest_over_shortest"),
    )


def main() -> None:
    """Count, replay, and write both tables."""
    file = Path(sys.argv[1])
    if not file.exists() or file.stat().st_size < SIZE:
        with file.open("wb") as content:  # Written, so that no block of it is a hole.
            for _ in range(SIZE >> 20):
                content.write(bytes(1 << 20))
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(counted(Path(folder)), Path(folder), file)
    date = datetime.datetime.now(datetime.UTC).date()
    fio = subprocess.run(["fio", "--version"], check=True, capture_output=True, text=True)
    how = f"{date}; {fio.stdout.strip()}; a file of {SIZE >> 20} MiB, O_DIRECT"
    for name, table in (("times", rows), ("correlations", correlated(rows))):
        command = "python experiments/io_time.py FILE"
        keep(RESULTS / f"{name}.csv", table, command, measured=how)
    print(correlated(rows))


if __name__ == "__main__":
    main()
