"""How many blocks do page policies erase? The CFLRU paper estimates it from the pages written.

    .venv/bin/python experiments/erases.py

Each policy runs on each committed trace once with a tenth of its pages in memory, and ``--io-log``
writes what it reads and writes. That goes to a flash drive as large as the program, filled before,
again and again until its write amplification is steady. The table is kept in
``experiments/results/io-time/erases.csv``.
"""

import tempfile
from pathlib import Path

import polars as pl
from io_time import MEMORY, POLICIES, RESULTS, ROOT
from kept import keep

import clockhand

MIB = 1 << 20


def erased(trace: Path, policy: str, log: Path) -> dict[str, object]:
    """Return what a policy writes and erases in one run of a trace, in the mean of those needed."""
    [row] = clockhand.simulate(
        trace, policies=policy, memory=MEMORY, flush_at_end=True, io_log=log, watch=False
    ).rows.to_dicts()
    size_mib = -(-row["footprint_pages"] * row["page_bytes"] // MIB)
    [drive] = clockhand.run_ssd(
        log, buffers="none", ssds=f"small:size={size_mib}MiB", map="compact", repeat="until-steady"
    ).rows.to_dicts()
    runs = drive["repetitions"]
    assert drive["host_writes"] == runs * row["write_ios"], "each page written reaches the drive"
    return {
        "trace": trace.stem, "policy": policy, "drive_mib": size_mib, "writes": row["write_ios"],
        "erases": round(drive["erases"] / runs, 1), "waf": round(drive["steady_waf"], 3),
    }  # fmt: skip


def main() -> None:
    """Run all policies, and keep the table."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "pages.iolog"
        traces = sorted((ROOT / "traces").glob("*.parquet"))
        rows = pl.DataFrame([erased(trace, policy, log) for trace in traces for policy in POLICIES])
    of_clock = rows.filter(policy="clock").select("trace", "^writes|erases$")
    beside = rows.join(of_clock, on="trace", suffix="_of_clock", maintain_order="left")
    change = [
        (pl.col(count) / pl.col(f"{count}_of_clock")).round(3).alias(f"{count}_over_clock")
        for count in ("writes", "erases")
    ]
    table = beside.with_columns(change).select(pl.exclude("^.*_of_clock$"))
    keep(RESULTS / "erases.csv", table, "python experiments/erases.py")
    with pl.Config(tbl_rows=-1):
        print(table)


if __name__ == "__main__":
    main()
