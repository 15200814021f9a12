"""The bracket of the optimum, from the executable to the report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand import UsageError
from clockhand.studies.pages.charts import figures
from clockhand.studies.pages.comparison import bracket_sentence, io_time_over_bound
from clockhand.studies.pages.sections import sections
from conftest import Clockhand
from report_example import bound_row, example_row, example_rows

ENDS = ("bound", "opt-feasible")


@pytest.fixture
def mixed() -> clockhand.Trace:
    """2,000 references near a moving centre, a third of them writes."""
    numbers = np.random.default_rng(18)
    pages = np.arange(2000) // 40 + numbers.integers(0, 30, 2000)
    return clockhand.Trace.from_arrays(numbers.random(2000) < 0.33, pages * 4096, name="mixed")


def times_us(trace: clockhand.Trace, *policies: str, **options: object) -> dict[str, float]:
    rows = clockhand.simulate(
        trace,
        policies=list(policies),
        frames=12,
        device="unit",
        **options,  # type: ignore[arg-type]
    ).rows
    return dict(rows.select("policy", "io_time_us").iter_rows())


def test_every_policy_is_above_the_bracket_and_more_effort_narrows_it(
    mixed: clockhand.Trace,
) -> None:
    online = [name for name in clockhand.policies()["name"] if name not in ENDS]
    for flush_at_end in (False, True):
        times = times_us(
            mixed, *ENDS, "bound:effort=0", *online, bound_effort=0.1, flush_at_end=flush_at_end
        )
        assert times["bound:effort=0"] < times["bound"] <= times["opt-feasible"]
        assert times["opt-feasible"] <= min(times[policy] for policy in online)
        assert times["opt-feasible"] / times["bound"] < 1.1


def test_the_effort_is_a_number_of_steps_so_that_results_can_be_repeated(
    mixed: clockhand.Trace,
) -> None:
    once, again = (times_us(mixed, *ENDS, bound_effort="0.01") for _ in range(2))
    assert once == again
    rows = clockhand.simulate(mixed, policies=["bound", "opt-feasible:effort=1"], frames=12).rows
    assert rows["policy_resolved"].to_list() == ["bound:effort=2", "opt-feasible:effort=1"]


def test_without_effort_the_row_is_the_one_of_reads_and_writes(mixed: clockhand.Trace) -> None:
    rows = clockhand.simulate(
        mixed, policies=["bound", "bound:effort=0"], frames=[3, 12, 40], device="unit"
    ).rows
    tight, plain = rows.partition_by("policy", maintain_order=True)
    for column in ("references", "read_ios", "write_ios"):
        assert tight[column].to_list() == plain[column].to_list()
    weighted = plain["read_ios"] + 8 * plain["write_ios"]
    assert plain["io_time_us"].to_list() == weighted.cast(pl.Float64).to_list()
    assert (tight["io_time_us"] >= plain["io_time_us"]).all()


@pytest.mark.usefixtures("textbook")
def test_the_command_prints_the_gap(clockhand: Clockhand) -> None:
    command = ["simulate", "textbook.trace", "--frames", "3", "--bound-effort", "0.01"]
    run = clockhand(*command, "--policy", "bound", "--policy", "opt-feasible", "--policy", "clock")
    assert run.code == 0, run.err
    assert "The optimum is between bound and opt-feasible: " in run.out.decode()
    alone = clockhand(*command, "--policy", "bound").out.decode()
    assert "The optimum" not in alone


@pytest.mark.usefixtures("textbook")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--bound-effort", "-1"], "--bound-effort -1 is out of range"),
        (["--bound-effort", "soon"], "--bound-effort soon is out of range"),
        (["--policy", "bound:effort=4000"], "policy bound: effort=4000 is out of range"),
        (["--policy", "opt-feasible:c=8"], "it takes effort=SECONDS"),
    ],
)
def test_an_effort_that_is_none_is_refused(
    clockhand: Clockhand, words: list[str], sentence: str
) -> None:
    run = clockhand("simulate", "textbook.trace", "--frames", "3", "--policy", "bound", *words)
    assert (run.code, run.out) == (2, b"")
    assert sentence in run.err and run.err.count("\n") == 1


@pytest.mark.usefixtures("textbook")
def test_a_sweep_takes_an_effort_and_keeps_cells_of_different_efforts_apart(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    experiment = tmp_path / "e.toml"
    text = (
        'question = "q"\nexpected = "e"\ntraces = "textbook.trace"\n'
        'policies = ["bound", "opt-feasible"]\nframes = 3\nbound_effort = '
    )
    resolved = []
    for effort in ("0", "0.5"):
        experiment.write_text(text + effort)
        run = clockhand("sweep", "e.toml", "--format", "json")
        assert run.code == 0, run.err
        resolved.append([row["policy_resolved"] for row in json.loads(run.out)])
    assert resolved == [
        ["bound:effort=0", "opt-feasible:effort=0"],
        ["bound:effort=1/2", "opt-feasible:effort=1/2"],
    ]
    experiment.write_text(text + '"x"')
    refused = clockhand("sweep", "e.toml")
    assert refused.code == 2 and "out of range" in refused.err


def test_without_effort_the_bound_so_far_is_told(clockhand: Clockhand, tmp_path: Path) -> None:
    numbers = np.random.default_rng(5)
    lines = [f"{'RW'[int(is_write)]},{page * 4096},4096" for page, is_write in zip(
        numbers.integers(0, 40, 500), numbers.random(500) < 0.4, strict=True
    )]  # fmt: skip
    (tmp_path / "mixed.csv").write_text("\n".join(["op,address,size", *lines]))
    command = ["simulate", "mixed.csv", "--frames", "8", "--policy", "bound,opt-feasible"]
    for more in ([], ["--write-miss", "blind"], ["--flush-at-end"]):
        run = clockhand(*command, "--bound-effort", "0", *more)
        assert run.code == 0, run.err
        assert " % apart at 8 frames." in run.out.decode()


def test_a_ratio_below_one_is_one_sentence(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "cheap.toml").write_text(
        'summary = "s"\nsource = "s"\nlimits = "l"\ncharged = "per-page"\n'
        "[read]\ntime_us = 2\n[write]\ntime_us = 1\n"
    )
    (tmp_path / "t.csv").write_text("op,address,size\nR,0,4096\nW,4096,4096\nR,8192,4096\n")
    command = ["simulate", "t.csv", "--frames", "2", "--policy"]
    for words in (["credit-clock:c=0.9"], ["credit-clock", "--device", "cheap.toml"]):
        refused = clockhand(*command, *words)
        assert (refused.code, refused.out) == (2, b"")
        assert "from 1" in refused.err and refused.err.count("\n") == 1
    ends = clockhand(*command, "bound,opt-feasible", "--device", "cheap.toml")
    assert ends.code == 0 and "The optimum is between" in ends.out.decode()


def test_a_trace_of_more_than_2_32_steps_is_one_sentence(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    # 600 requests of 2^23 pages each; their steps alone would take 20 GB.
    (tmp_path / "long.csv").write_text("op,address,size\n" + "R,0,4294967295\n" * 600)
    words = ["--page-size", "512", "--frames", "3", "--policy", "bound", "--memory-limit", "64MiB"]
    run = clockhand("simulate", "long.csv", *words)
    assert (run.code, run.out) == (1, b"")
    assert "memory limit" in run.err and run.err.count("\n") == 1


def with_ends(bound_us: float, feasible_us: float | None) -> list[dict[str, Any]]:
    rows = [{**bound_row("t", 64), "io_time_us": bound_us}]
    if feasible_us is not None:
        rows.append({**bound_row("t", 64), "policy": "opt-feasible", "io_time_us": feasible_us})
    return rows


def test_the_sentence_says_how_narrow_the_bracket_is() -> None:
    start = "The optimum is between bound and opt-feasible: "
    assert bracket_sentence(with_ends(100, 102)) == f"{start}2.00 % apart at 64 frames."
    assert bracket_sentence(with_ends(100, 100)) == f"{start}exactly known at 64 frames."
    no_gap = "no finite gap at 64 frames within this effort"
    assert bracket_sentence(with_ends(0, 100)) == f"{start}{no_gap}."
    assert bracket_sentence(with_ends(100, None)) is None


def test_a_report_draws_the_bracket_as_a_band_and_not_as_a_policy() -> None:
    rows = example_rows()
    schedules = [
        {
            **example_row("example-gcc", "min", frames),
            "policy": "opt-feasible",
            "policy_resolved": "opt-feasible:effort=2",
        }
        for frames in rows["frames"].unique()
    ]
    rows = pl.concat([rows, pl.DataFrame(schedules)], how="diagonal_relaxed")
    [section] = sections(rows, None)
    assert "opt-feasible" not in section.policies
    assert all(bound["io_time_feasible"] > 0 for bound in section.bounds)
    charts = figures(rows)
    assert "io_time_feasible" in charts["io_time"].to_json()
    assert "write_ios_feasible" not in charts["write_ios"].to_json()
    without_bound = rows.filter(pl.col("policy") != "bound")
    assert "opt-feasible" in sections(without_bound, None)[0].policies


def test_the_distance_is_that_to_the_tightest_bound() -> None:
    rows = pl.DataFrame(
        [
            {**example_row("t", "craw", 64), "io_time_us": 300.0},
            {**bound_row("t", 64), "policy": "bound:effort=0", "io_time_us": 100.0},
            {**bound_row("t", 64), "io_time_us": 150.0},
        ],
        infer_schema_length=None,
    )
    assert io_time_over_bound(rows).to_list() == [2.0, None, None]


def test_a_policy_of_neither_end_is_refused_by_name(mixed: clockhand.Trace) -> None:
    with pytest.raises(UsageError, match='did you mean "bound"'):
        clockhand.simulate(mixed, policies="bounds", frames=3)
