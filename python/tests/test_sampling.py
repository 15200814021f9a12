"""Estimates from samples of the pages: near the exact values as often as their errors say."""

import json
from pathlib import Path

import polars as pl
import pytest

from clockhand import UsageError, run_simulation, simulate
from clockhand.study.sampling import SAMPLE_COLUMNS
from clockhand.sweep import Experiment, read_experiment, run_sweep
from conftest import Clockhand, assert_one_sentence

TRACES = [Path(__file__).parents[2] / "traces" / f"{name}.parquet" for name in ("cc1", "audacious")]
POLICIES = ["lru", "clock", "car", "2q", "cflru", "craw", "lru-wsr", "nru:mode=periodic"]
SIZES = ["10%", "20%", "60%"]


def test_exact_values_lie_within_the_errors_of_estimates_as_often_as_they_should() -> None:
    exact = simulate(TRACES, policies=POLICIES, memory=SIZES, watch=False).rows
    off = []
    for seed in range(3):
        rows = simulate(
            TRACES, policies=POLICIES, memory=SIZES, sample=0.2, seed=seed, watch=False
        ).rows
        for name in ("io_time_us", "misses", "write_ios"):
            assert rows.select("trace", "policy", "frames", "references").equals(
                exact.select("trace", "policy", "frames", "references")
            )
            off.append(
                ((rows[name] - exact[name].cast(pl.Float64)) / rows[f"{name}_standard_error"]).abs()
            )
    far = pl.concat(off)
    assert far.len() == 3 * 3 * exact.height
    # Student's t with 7 degrees of freedom has 66 %, 91 % and 98 %; all policies share 6 samples.
    shares = [(far < errors).mean() for errors in (1, 2, 3)]
    for share, least in zip(shares, (0.5, 0.8, 0.88), strict=True):
        assert share is not None and least <= share, shares
    assert shares[0] is not None and shares[0] <= 0.9, f"{shares}: the errors are too large"


def test_samples_are_the_same_with_the_same_seed_and_others_with_another() -> None:
    one, same, other = (
        simulate(
            TRACES[0], policies="craw", memory="20%", sample=sample, seed=seed, watch=False
        ).rows
        for sample, seed in ((0.2, 1), ("20%", 1), ("20%", 2))
    )
    assert one.equals(same) and not one.equals(other)
    assert one["sample_share"].to_list() == [0.2] and one["replicates"].to_list() == [8]
    whole = simulate(TRACES[0], policies="craw", memory="20%", watch=False).rows
    assert all(whole[name].null_count() == 1 for name in SAMPLE_COLUMNS)
    assert one["footprint_pages"].equals(whole["footprint_pages"])


def test_the_least_sample_keeps_the_error_below_what_was_asked() -> None:
    rows = simulate(
        TRACES[1], policies="lru,craw", memory="5%,90%", sample="auto:5%", watch=False
    ).rows
    assert (rows["io_time_us_standard_error"] <= 0.05 * rows["io_time_us"]).all()
    assert rows["frames"].is_sorted()
    # A twentieth of the small memory is too few frames; the large one needs few pages.
    assert rows["sample_share"][0] == 1.0 and rows["sample_share"][3] < 0.1
    exact = simulate(TRACES[1], policies="lru", memory="5%", watch=False).rows
    assert rows["io_time_us"][0] == exact["io_time_us"][0]


def test_tables_figures_and_reports_say_that_values_are_estimates(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    arguments = ["simulate", TRACES[0], "--policy", "lru,clock", "--sample", "20%"]
    report = tmp_path / "r.html"
    run = clockhand(*arguments, "--memory", "20%,60%", "--report", report)
    said = run.out.decode()
    assert "estimated from 8 samples of 20 % of the pages" in said and "± s" in said
    page = report.read_text()
    assert "estimated from 8 samples of 20 % of the pages" in page
    assert "lines reach two standard errors to either side" in page
    for sizes in ("20%,60%", "20%"):
        simulation = run_simulation(
            TRACES[0], policies="lru,clock", memory=sizes, sample="20%", watch=False
        )
        drawn = json.dumps(simulation.specifications()["io_time"])
        assert '"io_time_low"' in drawn and '"io_time_high"' in drawn, sizes
    exact = clockhand("simulate", TRACES[0], "--policy", "lru", "--memory", "20%").out.decode()
    assert "estimated" not in exact and "± s" not in exact


def test_what_samples_cannot_tell_is_refused(clockhand: Clockhand, tmp_path: Path) -> None:
    for options, words in (
        (["--policy", "clock", "--memory", "1%", "--sample", "1%"], "where 32 are the least"),
        (["--policy", "bound", "--memory", "50%", "--sample", "20%"], "no bound"),
        (["--policy", "lfu", "--memory", "50%", "--sample", "20%"], "scaled memory"),
        (["--policy", "clock", "--memory", "50%", "--sample", "auto"], "auto:1%"),
        (["--policy", "clock", "--memory", "50%", "--sample", "0"], "neither a rate"),
    ):
        run = clockhand("simulate", TRACES[0], *options)
        assert run.code == 2 and words in run.err, run.err
        assert_one_sentence(run)


def experiment(folder: Path, *lines: str) -> Experiment:
    path = folder / "e.toml"
    text = f'question = "q"\nexpected = "e"\ntraces = "{TRACES[0]}"\nmemory = ["20%", "60%"]\n'
    path.write_text(text + "\n".join(lines))
    return read_experiment(path)


def test_a_sweep_keeps_estimates_beside_exact_cells(tmp_path: Path) -> None:
    both = experiment(tmp_path, 'policies = ["lru", "craw"]', "flush_at_end = [false, true]")
    exact = run_sweep(both)
    sampled = experiment(
        tmp_path,
        'policies = ["lru", "craw"]',
        "flush_at_end = [false, true]",
        'sample = ["20%", "auto:5%"]',
    )
    sweep = run_sweep(sampled)
    assert (exact.computed, sweep.computed) == (8, 16)
    for flush in (False, True):
        kept = sweep.rows.filter(pl.col("flush_at_end") == flush)
        for sample in ("20%", "auto:5%"):
            rows = simulate(
                TRACES[0], policies="lru,craw", memory="20%,60%", sample=sample, flush_at_end=flush,
                watch=False,
            ).rows  # fmt: skip
            same = kept.filter(pl.col("sample") == f"{sample} seed 0").select(
                "frames", "policy_resolved", "misses", *SAMPLE_COLUMNS
            )
            assert same.equals(rows.select(same.columns))
    assert run_sweep(sampled).computed == 0
    again = run_sweep(both)
    assert again.computed == 0 and again.rows.equals(exact.rows)
    assert all(exact.rows[name].null_count() == 8 for name in SAMPLE_COLUMNS)
    # Written otherwise it is the same sample, with another seed another one.
    lines = ('policies = ["lru"]', 'sample = "0.2"')
    assert run_sweep(experiment(tmp_path, *lines)).computed == 0
    assert run_sweep(experiment(tmp_path, *lines, "seed = 1")).computed == 2


def test_a_report_of_a_sweep_shows_the_errors_of_its_estimates(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    sampled = experiment(tmp_path, 'policies = ["lru", "clock"]', 'sample = "20%"')
    page = tmp_path / "e.html"
    run = clockhand("sweep", sampled.path, "--html", page)
    assert run.code == 0, run.err
    assert "± s" in run.out.decode()
    assert "lines reach two standard errors to either side" in page.read_text()
    shown = clockhand("report", sampled.dataset).out.decode()
    assert "estimated from 8 samples of 20 % of the pages" in shown and "± s" in shown


def test_what_samples_cannot_tell_is_refused_before_a_sweep_begins(tmp_path: Path) -> None:
    for policy, words in (("bound", "no bound"), ("lfu", "scaled memory"), ("clock", "neither")):
        sample = "0" if policy == "clock" else "20%"
        with pytest.raises(UsageError, match=words) as refused:
            experiment(tmp_path, f'policies = "{policy}"', f'sample = "{sample}"')
        assert "e.toml" in str(refused.value)
