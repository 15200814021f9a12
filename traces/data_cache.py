"""Capture programs behind write-back caches of several sizes: does a cache blur recency of writes,
and does what CRAW saves depend on it?

    .venv/bin/python traces/data_cache.py

Section III.A of the CRAW paper conjectures that "it is due to the write-back operation of the CPU
cache memory" that its traces' writes have weak temporal locality. If so, writes are the less in
order by recency the larger the cache is. It needs valgrind, and takes some minutes.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from captured import CLOCKHAND
from sessions import SESSIONS, Session

import clockhand
from clockhand.report.paper_tables import PaperTable, table_files
from clockhand.reproduce.measures.compared import Compared
from clockhand.reproduce.measures.noise import BLOCKS, inversion
from clockhand.studies.locality.run import locality_with
from clockhand.study.run import called

NAMES = ("tar-gzip", "sqlite3")
"""Sessions without a window, whose captures are small."""

CACHES = ("128", "1KiB", "4KiB", "16KiB", "64KiB", "256KiB")
"""Data caches of lines of 32 bytes and 4 ways, from four lines on; the study's has 16 KiB."""

MEMORY = "10%,20%,40%,60%,80%"

RESULTS = Path(__file__).resolve().parents[1] / "experiments/results/craw"


def captured(session: Session, folder: Path, cache: str) -> list[Path]:
    """Run a session's commands behind a data cache; a trace for each."""
    folder.mkdir()
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    traces = []
    for number, command in enumerate(session.prepare(folder)):
        out = folder / f"part-{number}.parquet"
        capture = [CLOCKHAND, "trace", "capture", "--out", out, "--data-cache", cache, "--quiet"]
        subprocess.run([*capture, "--", *command], cwd=folder, env=environment, check=True)
        traces.append(out)
    session.check(folder)
    return traces


def rows_of(session: Session, trace: Path, cache: str) -> Iterator[dict[str, Any]]:
    """How far writes are out of order by recency, and how much of it chance explains."""
    for view in ("paper", "fault"):
        study = locality_with(("summary",), blocks=BLOCKS)
        found = called(study, [trace], {"view": view, "watch": False})
        is_write = (pl.col("ranking") == "recency") & (pl.col("op") == "write")
        [summary] = found.summary.filter(is_write).to_dicts()
        order = inversion(found.rank_blocks()[summary["trace"], "recency", "write"])
        yield {
            "session": session.name,
            "command": trace.stem,
            "view": view,
            "data_cache": cache,
            "writes": summary["references"],
            "out_of_order_share": order.share,
            "by_chance_at_most": order.null_high,
            "top_10_percent_share": summary["top_10_percent_share"],
            "craw_over_clock": craw_over_clock(trace, view, flush=False),
            "craw_over_clock_flushed": craw_over_clock(trace, view, flush=True),
        }


def craw_over_clock(trace: Path, view: str, *, flush: bool) -> float:
    """CRAW's I/O time over CLOCK's, the mean over memory sizes."""
    rows = clockhand.simulate(
        trace, policies=["clock", "craw"], memory=MEMORY, view=view, flush_at_end=flush, watch=False
    ).rows
    return float(Compared(rows).ratios("craw", "clock")["ratio"].mean())  # type: ignore[arg-type]


def main() -> None:
    """Capture, analyse, and write the table."""
    rows: list[dict[str, Any]] = []
    known = {session.name: session for session in SESSIONS}
    with tempfile.TemporaryDirectory(prefix="data-cache-") as name:
        for session in (known[name] for name in NAMES):
            for cache in CACHES:
                print(session.name, cache, flush=True)
                for trace in captured(session, Path(name) / f"{session.name}-{cache}", cache):
                    rows += rows_of(session, trace, cache)
    facts: Any = {
        "command": ".venv/bin/python traces/data_cache.py",
        "version": clockhand.__version__,
        "traces": [],
    }
    title = "Writes by recency behind data caches of several sizes"
    table = PaperTable(title, "data-cache", pl.DataFrame(rows))
    for file, content in table_files(RESULTS, [table], facts).items():
        file.write_bytes(content)


if __name__ == "__main__":
    main()
