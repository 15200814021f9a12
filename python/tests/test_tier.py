"""`clockhand tier` and `tier`: rows, sweeps, report, and what is refused."""

import json
from pathlib import Path

import polars as pl
import pytest

import clockhand
from clockhand.studies.tier.findings import replaceable
from clockhand.studies.tier.run import TIER_SCHEMA
from conftest import Clockhand, assert_one_sentence

GZIP = Path(__file__).resolve().parents[2] / "traces/tar-gzip.parquet"
GOLDEN = Path(__file__).resolve().parents[2] / "crates/sim/tests/golden"


def trace_of(references: list[str], name: str = "golden") -> clockhand.Trace:
    pages = [int(word[1:]) * 4096 for word in references]
    return clockhand.Trace.from_arrays([word[0] == "W" for word in references], pages, name=name)


def test_a_golden_vector_gives_its_counts_and_times() -> None:
    golden = json.loads((GOLDEN / "tier_storage.json").read_text())
    run = clockhand.tier(
        trace_of(golden["trace"]), fast_frames=1, slow_frames=2, tiers="pcm", promote="write",
        placement="make-room",
    )  # fmt: skip
    (row,) = run.rows.to_dicts()
    expected = golden["result"]
    for name in ("promotions", "demotions", "evictions", "storage_writes", "slow_entries"):
        assert row[name] == expected[name]
    assert row["time_ns"] == float(expected["time_ns"])
    assert run.rows.schema == TIER_SCHEMA


def test_rows_come_in_the_order_of_the_grid_and_own_ways_have_nulls() -> None:
    trace = trace_of(["R1", "W2", "R3", "R1", "W2", "R3"] * 20)
    run = clockhand.tier(
        trace, fast_frames="1,2", policies="lru,tpp,static,bound", promote="never,write",
        tiers="cxl,pcm",
    )  # fmt: skip
    cells = run.rows.select("fast_frames", "policy", "promote", "tiers").rows()
    of_size = [
        *(("lru", rule, tiers) for rule in ("never", "write") for tiers in ("cxl", "pcm")),
        *((name, None, tiers) for name in ("tpp", "static", "bound") for tiers in ("cxl", "pcm")),
    ]
    assert cells == [(size, *cell) for size in (1, 2) for cell in of_size]
    bound = run.rows.filter(pl.col("policy") == "bound")
    assert bound["fast_hits"].null_count() == bound.height
    assert bound["mean_ns"].null_count() == 0
    best = run.rows.filter(pl.col("policy") != "bound").group_by("fast_frames", "tiers").agg(
        (pl.col("access_ns") + pl.col("migration_ns")).min().alias("least")
    )  # fmt: skip
    joined = best.join(bound, on=["fast_frames", "tiers"])
    assert (joined["time_ns"] <= joined["least"] + 1e-9).all()


def test_a_captured_trace_gets_findings_figures_and_a_report(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    report = tmp_path / "tiers.html"
    done = clockhand(
        "tier", str(GZIP), "--fast", "10%,100%", "--policy", "lru,clock-dwf,memtis", "--promote",
        "never,first-touch", "--report", str(report),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "Fastest for" in done.out.decode()
    page = report.read_text()
    assert "two tiers of memory" in page and "memtis" in page


def test_the_memory_that_slow_memory_replaces_is_found() -> None:
    trace = trace_of(["R1", "R2", "R1", "R2", "R3", "R1"] * 50)
    run = clockhand.tier(trace, fast_frames="0,1,2,3", policies="lru", promote="never")
    table = replaceable(run.rows)
    assert table.height == 3
    assert table["fast_memory_share"].to_list()[0] == 1.0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--fast-frames", "0", "--slow-frames", "0"], "both have no frame"),
        (["--fast", "10%", "--policy", "linux-lru"], "kernel's reclaim"),
        (["--fast", "10%", "--policy", "clock", "--promote", "tinylfu"], "tinylfu compares"),
        (["--fast", "10%", "--policy", "min", "--see", "sample:3"], "must see every reference"),
        (["--fast", "10%", "--policy", "tpp", "--placement", "make-room"], "make-room is for"),
        (["--fast", "10%", "--policy", "static", "--placement", "slow"], "--placement has no"),
        (["--fast", "10%", "--policy", "tpp", "--promote", "write"], "--promote and --see are"),
        (["--fast", "10%", "--policy", "static", "--slow-frames", "0"], "static needs a slow"),
        (["--fast", "10%", "--policy", "bound", "--slow", "50%"], "as many slow frames"),
        (["--fast", "10%", "--migrate-limit", "3MB/s"], "no times"),
        (["--fast", "10%", "--see", "bits:0"], "not what a policy can see"),
        (["--fast", "10%", "--promote", "k-touch:0"], "whole number from 1"),
        (["--fast", "10%", "--policy", "tpp:low_share=2"], "low_share=2"),
        (["--fast", "10%", "--tiers", "cxl:slow_speed=3"], "there is no option slow_speed"),
        (["--fast", "10%", "--fast-frames", "3"], "give one of them"),
        ([], "no size of the fast tier"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    clockhand: Clockhand, tmp_path: Path, words: list[str], expected: str
) -> None:
    path = tmp_path / "few.trace"
    path.write_text("00001000 R\n00002000 W\n00001000 R\n" * 20)
    done = clockhand("tier", str(path), "--trace-format", "os-course", *words)
    assert done.code == 2
    assert_one_sentence(done)
    assert expected in done.err


def test_a_sweep_of_tiers_keeps_and_finds_its_cells(clockhand: Clockhand, tmp_path: Path) -> None:
    file = tmp_path / "tiers.toml"
    file.write_text(
        'question = "?"\nexpected = "?"\n'
        f'traces = ["{GZIP}"]\n'
        '[tier]\nfast = ["10%", "50%"]\npolicies = ["lru", "tpp"]\ntiers = ["cxl", "pcm"]\n'
    )
    first = clockhand("sweep", str(file), "--format", "json")
    assert first.code == 0, first.err
    rows = json.loads(first.out)
    assert len(rows) == 8
    again = clockhand("sweep", str(file), "--format", "json")
    assert json.loads(again.out) == rows
