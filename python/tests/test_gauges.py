"""Gauges, hand movements and the software overhead, from Python and from the command."""

from pathlib import Path

import polars as pl
import pytest

import clockhand
from clockhand.study.columns import schema
from conftest import Clockhand, assert_one_sentence

CRAW_GAUGES = {
    "S_R_pages", "S_W1_pages", "S_W2_pages", "R_pages", "W1_pages", "W2_pages",
    "R_ghosts", "W1_ghosts", "W2_ghosts", "R_ghost_hits",
}  # fmt: skip


def test_gauges_come_at_faults_with_the_names_of_the_paper(textbook: Path) -> None:
    run = clockhand.run_simulation(textbook, policies=["craw", "clock"], frames=3, gauge_every=4)
    assert run.gauges.schema == pl.Schema(schema("pages gauges"))
    assert set(run.gauges["gauge"]) == CRAW_GAUGES
    assert set(run.gauges["policy"]) == {"craw"}
    misses = run.rows.filter(pl.col("policy") == "craw")["misses"][0]
    assert run.gauges["fault"].unique().to_list() == list(range(1, misses + 1, 4))
    desired = run.gauges.filter(pl.col("gauge").str.starts_with("S_"))
    assert desired.group_by("fault").agg(pl.col("value").sum())["value"].min() >= 3


def test_no_gauges_are_no_rows(textbook: Path) -> None:
    run = clockhand.run_simulation(textbook, policies="craw", frames=3)
    assert run.gauges.is_empty() and run.gauges.schema == pl.Schema(schema("pages gauges"))
    assert run.rows["hand_movements"].null_count() == run.rows.height


def test_the_overhead_is_hand_movements_times_their_price(textbook: Path) -> None:
    policies = ["clock", "craw", "lru", "bound"]
    free, priced = (
        clockhand.simulate(textbook, policies=policies, frames=[2, 3], hand_ns=hand_ns).rows
        for hand_ns in (0, 1500)
    )
    added_us = priced["io_time_us"] - free["io_time_us"]
    expected_us = free["hand_movements"].fill_null(0) * 1.5
    assert added_us.to_list() == pytest.approx(expected_us.to_list())
    assert free["hand_movements"].sum() > 0
    same = [name for name in free.columns if name != "io_time_us"]
    assert free.select(same).equals(priced.select(same))


def test_the_command_writes_gauges(textbook: Path, tmp_path: Path, clockhand: Clockhand) -> None:
    arguments = ["simulate", textbook, "--policy", "car", "--frames", "3"]
    for name in ("g.parquet", "g.csv"):
        run = clockhand(*arguments, "--gauges", name)
        assert run.code == 0, run.err
    gauges = pl.read_parquet(tmp_path / "g.parquet")
    assert set(gauges["gauge"]) == {"p_pages", "T1_pages", "T2_pages", "B1_ghosts", "B2_ghosts"}
    assert pl.read_csv(tmp_path / "g.csv").height == gauges.height
    few = clockhand(*arguments, "--gauges", "few.parquet", "--gauge-every", "5", "--hand-ns", "10")
    assert few.code == 0
    assert 0 < pl.read_parquet(tmp_path / "few.parquet").height < gauges.height


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--gauge-every 3", "--gauges FILE"),
        ("--gauges g.parquet --gauge-every 0", "--gauge-every 0"),
        ("--hand-ns -1", "--hand-ns -1"),
        ("--gauges g.csv --out g.csv", "--out and --gauges both name g.csv"),
        ("--gauges absent/g.parquet", "make its folder"),
    ],
)
def test_wrong_options_are_refused(
    textbook: Path, clockhand: Clockhand, arguments: str, words: str
) -> None:
    run = clockhand("simulate", textbook, "--policy", "car", "--frames", "3", *arguments.split())
    assert run.code in (1, 2)
    assert_one_sentence(run)
    assert words in run.err
