"""How long do programs take whose swap is emulated flash, under the kernels of the CFLRU paper?

    .venv/bin/python experiments/swap_time.py

The swap half of Figure 7, in time: the applications of section 6 (`traces/timelines/capture.py`)
run with their memory on emulated NAND (`run --emulate cflru-nand`), the kernels in turns. Their
files are the machine's own. A program whose memory is not short writes no page, and says nothing.
Each call adds a run of every kernel to the table of this machine: one on a quiet machine is short.
"""

import datetime
import sys
import tempfile
from pathlib import Path

import polars as pl
from kept import keep

import clockhand
from clockhand.study.facts import machine

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "experiments/results/cflru/swap-time.csv"
KERNELS = {
    "plain": ("linux24", 8),
    "no read-ahead": ("linux24", 0),
    "CFLRU-static": ("linux24-cflru", 0),
    "CFLRU-dynamic": ("linux24-cflru:dynamic=true", 0),
}
"""Each with the pages that its swap reads ahead."""

PROGRAMS = ("gcc",)
"""Of section 6 those whose own memory is short with as much as this."""

MEMORY = ("6MiB",)


def kept(machine_line: str) -> list[dict[str, object]]:
    """Return the runs that the table has of this machine."""
    text = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
    if machine_line not in text.splitlines():
        return []
    return pl.read_csv(TABLE, comment_prefix="#").to_dicts()


def main() -> None:
    """Run, and write the table."""
    sys.path.append(str(ROOT / "traces/timelines"))
    from capture import timelines  # type: ignore[import-not-found]

    machine_line = f"# machine: {machine()}"
    rows = kept(machine_line)
    run = 1 + max((int(str(row["run"])) for row in rows), default=0)
    sessions = {session.name: session for session in timelines()}
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix=f"swap-time-{name}-") as folder:
            sessions[name].prepare(Path(folder))
            command = ["sh", "-e", "-c", f"cd {folder}; {sessions[name].script}"]
            for memory in MEMORY:
                for kernel, (policy, ahead) in KERNELS.items():
                    made = clockhand.run(
                        command, policy=policy, memory=memory, read_ahead=ahead or None,
                        emulate="cflru-nand", simulate=False,
                    )  # fmt: skip
                    counts = made.rows.select(pl.col("pages_read", "pages_written").sum())
                    seconds = made.facts["seconds"]
                    row = {"program": name, "memory": memory, "run": run, "kernel": kernel}
                    rows.append({**row, **counts.row(0, named=True), "seconds": seconds})
                    print(rows[-1], flush=True)
    date = f"date: {datetime.datetime.now(datetime.UTC).date()}"
    table = pl.DataFrame(rows).with_columns(pl.selectors.float().round(3))
    keep(TABLE, table, ".venv/bin/python experiments/swap_time.py", date)


if __name__ == "__main__":
    main()
