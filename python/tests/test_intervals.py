"""Warm-up and intervals: rows of the command, Python and experiments, and figures over time."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand.sweep import read_experiment, run_sweep
from conftest import Clockhand

INTERVAL = ["interval", "from_reference", "from_us"]


def columns() -> tuple[Any, Any, Any]:
    """Two phases of 500 references, 1 ms apart: a loop over 8 pages, then one over 64."""
    pages = np.concatenate([np.arange(500) % 8, 1000 + np.arange(500) % 64]).astype(np.uint64)
    return np.arange(1000) % 5 == 0, pages * 4096, np.arange(1000, dtype=np.uint64) * 10**6


def phases() -> clockhand.Trace:
    writes, addresses, time_ns = columns()
    return clockhand.Trace.from_arrays(writes, addresses, time_ns=time_ns, name="phases")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "phases.csv"
    requests = zip(*(it.tolist() for it in columns()), strict=True)
    lines = (f"{'RW'[w]},{address},4096,{ns}" for w, address, ns in requests)
    path.write_text("\n".join(["op,address,size,time_ns", *lines]))
    return path


STUDIES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "simulate": (clockhand.run_simulation, {"policies": "lru,clock", "frames": 16}, "misses"),
    "filecache": (
        clockhand.filecache, {"capacity": 16, "admissions": "always", "devices": "hdd"}, "misses",
    ),
    "translate": (
        clockhand.translate, {"frames": 16, "tlb": 4, "ratio": 10}, "tlb_misses",
    ),
    "pagecache": (clockhand.run_pagecache, {"policies": "lru", "frames": 16}, "misses"),
    "tier": (
        clockhand.tier, {"policies": "lru", "fast_frames": 16, "tiers": "cxl"}, "promotions",
    ),
    "ssd": (
        clockhand.run_ssd,
        {"buffers": "lru:total=16", "ssds": "small", "precondition": "none", "map": "compact"},
        "host_writes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("study", STUDIES)
def test_rows_are_of_intervals_which_add_up_to_the_cells(study: str, tmp_path: Path) -> None:
    run, options, column = STUDIES[study]
    whole = run(phases(), **options, watch=False)
    found = run(phases(), **options, every=250, watch=False)
    assert whole.intervals is None and whole.cells is whole.rows
    assert whole.rows[column].to_list() == found.cells[column].to_list()
    cells = len(found.cells)
    assert found.rows["interval"].to_list() == [0, 1, 2, 3] * cells
    assert found.rows["from_reference"].to_list() == [0, 250, 500, 750] * cells
    assert found.rows["from_us"].to_list() == [0.0, 250e3, 500e3, 750e3] * cells
    assert found.rows[column].sum() == found.cells[column].sum()
    assert found.rows.columns == found.cells.columns
    warm = run(phases(), **options, warm_up=0.25, watch=False)
    first = found.rows.filter(pl.col("interval") == 0)[column]
    assert (whole.rows[column] - first).to_list() == warm.rows[column].to_list()
    assert "--every 250" in found.facts["command"] and found.facts["options"]["every"] == "250"
    assert "--warm-up 0.25" in warm.facts["command"]
    # The second phase does not fit: its figures rise where it begins.
    assert any("over-time" in key for key in found.charts())
    found.write_report(tmp_path / "report.html")
    assert "over time" in (tmp_path / "report.html").read_text()


def test_the_command_prints_a_row_per_interval(clockhand: Clockhand, file: Path) -> None:
    words = ["simulate", file, "--policy", "lru", "--frames", "16", "--every", "100ms"]
    rows = json.loads(clockhand(*words, "--warm-up", "50ms", "--format", "json").out)
    assert [row["interval"] for row in rows] == list(range(10))
    assert [row["references"] for row in rows] == [100] * 9 + [50]
    assert [row["from_us"] for row in rows] == [50e3 + 100e3 * place for place in range(10)]
    # The loop over 8 pages is in memory after the warm-up.
    assert [row["misses"] for row in rows][:4] == [0] * 4
    table = clockhand(*words).out.decode()
    assert "by interval" in table and "from_reference" in table


def test_locality_gives_a_table_of_intervals(clockhand: Clockhand, file: Path) -> None:
    rows = json.loads(clockhand("locality", file, "--every", "500", "--format", "json").out)
    assert [(row["pages"], row["new_pages"]) for row in rows] == [(8, 8), (64, 64)]
    assert rows[0]["skipped_requests"] == 0
    found = clockhand("locality", file, "--rows", "intervals", "--warm-up", "4", "--format", "json")
    (row,) = json.loads(found.out)
    assert row["from_reference"] == 4 and row["new_pages"] == 68
    refused = clockhand("locality", file, "--rows", "intervals")
    assert refused.code == 2 and "add --every" in refused.err
    refused = clockhand("locality", file, "--rows", "summary", "--warm-up", "4")
    assert refused.code == 2 and "--rows intervals" in refused.err


def test_locality_draws_where_phases_begin(tmp_path: Path) -> None:
    found = clockhand.locality(phases(), every=100, watch=False)
    assert found.intervals["new_pages"].to_list() == [8, 0, 0, 0, 0, 64, 0, 0, 0, 0]
    assert "over-time-new-pages" in found.charts()
    found.write_report(tmp_path / "report.html")


@pytest.mark.parametrize(
    ("study", "table", "column"),
    [
        ("pages", 'policies = ["lru"]\nframes = [16]', "misses"),
        ("filecache", 'capacity = [16]\nadmissions = ["always"]\ndevices = ["hdd"]', "misses"),
        ("ssd", 'buffers = ["lru:total=16"]\nssds = ["small"]\nprecondition = "none"\n'
                'map = "compact"', "host_writes"),
        ("locality", 'rows = "intervals"', "references"),
    ],
)  # fmt: skip
def test_experiments_keep_the_rows_of_intervals(
    study: str, table: str, column: str, file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "over-time.toml"
    path.write_text(
        'question = "When?"\nexpected = "In the second phase."\n'
        f'traces = ["{file}"]\n[{study}]\n{table}\nevery = ["250", "500"]\n'
    )
    swept = run_sweep(read_experiment(path), dataset=tmp_path / "cells", jobs=1)
    assert swept.computed == 2
    shown = swept.layout.shown(swept.rows)
    assert shown["interval"].to_list() == [0, 1, 2, 3, 0, 1]
    by_length = [shown[column][:4].sum(), shown[column][4:].sum()]
    assert by_length[0] == by_length[1] > 0
    again = run_sweep(read_experiment(path), dataset=tmp_path / "cells", jobs=1)
    assert again.computed == 0 and again.rows.equals(swept.rows)
    files = again.reported().report_files(tmp_path / "report.html", None)
    assert b"over time" in files[tmp_path / "report.html"]


def test_an_experiment_on_intervals_without_their_length_is_refused(
    clockhand: Clockhand, file: Path, tmp_path: Path
) -> None:
    """It had no rows, and nothing said why."""
    path = tmp_path / "over-time.toml"
    path.write_text(
        f'question = "When?"\nexpected = "?"\ntraces = ["{file}"]\n[locality]\nrows = "intervals"\n'
    )
    refused = clockhand("sweep", path, "--dataset", tmp_path / "cells")
    assert refused.code == 2 and "add every, such as every = 10000" in refused.err
    assert not (tmp_path / "cells").exists()


def test_warm_up_and_intervals_are_named_in_words_of_python() -> None:
    with pytest.raises(clockhand.UsageError, match="is no interval"):
        clockhand.simulate(phases(), policies="lru", frames=4, every="often", watch=False)
    with pytest.raises(clockhand.UsageError, match="knows only a whole trace"):
        clockhand.simulate(phases(), policies="bound", frames=4, every=10, watch=False)
