"""Comparisons over traces and of two datasets: tests, intervals, words that do not overclaim."""

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clockhand
from clockhand import UsageError
from clockhand.datasets.over_traces import dataset_over_traces
from clockhand.datasets.paired import (
    holm,
    least_p,
    mean_interval,
    mean_ranks,
    pairs_needed,
    signed_rank_p,
)
from clockhand.sweep import Dataset, differences, over_traces, read_experiment, run_sweep
from conftest import Clockhand, assert_one_sentence, scattered_pages


def by_counting(differences: list[float]) -> float:
    """The same test, from its definition: every way to set the signs is counted."""
    known = [value for value in differences if value]
    ordered = sorted(map(abs, known))
    ranks = [
        sum(at for at, size in enumerate(ordered, 1) if size == abs(value))
        / ordered.count(abs(value))
        for value in known
    ]
    found = sum(rank for rank, value in zip(ranks, known, strict=True) if value > 0)
    sums = [
        sum(rank for rank, is_up in zip(ranks, signs, strict=True) if is_up)
        for signs in itertools.product([False, True], repeat=len(known))
    ]
    less = sum(total <= found + 1e-9 for total in sums) / len(sums)
    more = sum(total >= found - 1e-9 for total in sums) / len(sums)
    return min(1.0, 2 * min(less, more))


def test_wilcoxons_test_is_exact() -> None:
    # Siegel's table of critical values: for 8 pairs a sum of 3, for 10 of 8, at 5 % two-sided.
    assert signed_rank_p([1, 2, -3, 4, 5, 6, 7, 8]) == pytest.approx(10 / 256)
    assert signed_rank_p([-8, *range(1, 8), 9, 10]) == pytest.approx(0.0488, abs=5e-5)
    assert signed_rank_p([0.0, 0.0]) == 1
    draw = random.Random(1)
    for _ in range(60):
        values = [float(draw.randint(-4, 5)) for _ in range(draw.randint(1, 9))]
        assert signed_rank_p(values) == pytest.approx(by_counting(values)), values
    assert 0 < signed_rank_p([float(value) for value in range(1, 401)]) < 1e-100


def test_holm_steps_down_and_never_turns_back() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_least_p_of_few_pairs_and_how_many_it_takes() -> None:
    assert [least_p(pairs) for pairs in (1, 5, 6)] == [1.0, 2 / 32, 2 / 64]
    for tests in (1, 3, 10):
        needed = pairs_needed(tests, 0.05)
        assert least_p(needed) * tests <= 0.05 < least_p(needed - 1) * tests
        assert signed_rank_p([1.0 + at for at in range(needed)]) == least_p(needed)


def test_an_interval_is_that_of_means_of_draws() -> None:
    assert mean_interval([3.0, 3.0, 3.0]) == (3.0, 3.0)
    values = [random.Random(2).gauss(10, 2) for _ in range(400)]
    low, high = mean_interval([10 + 2 * math.sin(at) for at in range(400)])
    # The normal approximation of the mean of so many.
    half = 1.96 * math.sqrt(2) / math.sqrt(400)
    assert (low, high) == pytest.approx((10 - half, 10 + half), abs=0.03)
    assert mean_interval(values) == mean_interval(values)


def test_ranks_of_equal_values_are_shared() -> None:
    assert mean_ranks([[1, 2, 3], [2, 2, 9]]) == [1.25, 1.75, 3]


def rows_of(traces: int, **factors: float) -> pl.DataFrame:
    """Rows of policies whose I/O times are these factors of a trace's, with a little scatter."""
    draw = random.Random(3)
    return pl.DataFrame(
        [
            {
                "trace": f"folder/t{trace}.parquet", "policy": policy, "kind": "bits",
                "frames": frames, "page_bytes": 4096, "device": "slc-nand",
                "io_time_us": 1000.0 * 3**trace * factor * draw.uniform(0.95, 1.05),
                "hit_ratio": 1 - factor / 4,
            }
            for trace in range(traces)
            for frames in (10, 20)
            for policy, factor in factors.items()
        ]
    )  # fmt: skip


def test_what_is_always_ahead_is_shown_to_be_better_with_how_much_and_how_sure() -> None:
    found = over_traces(rows_of(12, clock=1.0, craw=0.5, other=0.5))
    assert list(found.ranks)[-1] == "clock" and found.ranks["clock"] == 3
    shown = {(pair.first, pair.second) for pair in found.pairs if pair.is_shown}
    assert shown == {("craw", "clock"), ("other", "clock")}
    pair = next(pair for pair in found.pairs if (pair.first, pair.second) == ("craw", "clock"))
    assert pair.ahead == 12 and pair.behind == 0
    assert pair.p == least_p(12) and pair.corrected == 3 * least_p(12)
    assert pair.low < pair.ratio < pair.high and pair.ratio == pytest.approx(0.5, rel=0.05)
    said = " ".join(found.sentences())
    assert "Over these 12 traces craw is better than clock: I/O time 0.5" in said
    assert "on 12 of 12 traces; p = 0.0005, 0.001 corrected for 3 pairs." in said
    assert "That does not say that they are equal." in said
    assert "not drawn at random" in said
    assert found._headline().endswith(" is shown to be better than 1 of 2 others over 12 traces")
    # One bar joins the two that nothing tells apart.
    assert len(found.groups()) == 1


def test_means_and_ranks_that_point_two_ways_show_no_difference() -> None:
    """One is a little worse on nearly every trace, and far better on two."""
    ratios = [1.02 + at / 1000 for at in range(20)] + [0.1, 0.2]
    rows = pl.DataFrame(
        [
            {"trace": f"t{at}", "policy": policy, "frames": 8, "io_time_us": 100.0 * factor}
            for at, ratio in enumerate(ratios)
            for policy, factor in (("clock", 1.0), ("other", ratio))
        ]
    )
    [pair] = over_traces(rows).pairs
    assert (pair.first, pair.second) == ("other", "clock") and pair.ratio < 1
    assert pair.corrected < 0.05 and pair.ahead == 2 and pair.behind == 20
    assert not pair.is_shown
    assert not any("is better than" in sentence for sentence in over_traces(rows).sentences())


def test_from_too_few_traces_nothing_is_claimed() -> None:
    found = over_traces(rows_of(5, clock=1.0, craw=0.1, other=0.2))
    said = found.sentences()
    assert found._headline() == "No difference is shown among 3 over 5 traces"
    assert not any(pair.is_shown for pair in found.pairs)
    assert not any("is better than" in sentence for sentence in said)
    assert said[0].startswith("5 traces are too few to show any difference among 3")
    assert "it takes 7 traces" in said[0] and "Intervals from so few are rough." in said[1]
    assert len(over_traces(rows_of(7, clock=1.0, craw=0.1, other=0.2)).sentences()) >= 4


def test_against_one_there_are_fewer_pairs_to_correct_for() -> None:
    rows = rows_of(8, a=1.0, b=0.9, c=0.8, d=0.5, e=0.4)
    assert not any(pair.is_shown for pair in over_traces(rows).pairs)
    found = over_traces(rows, against="a")
    assert len(found.pairs) == 4 and all("a" in (pair.first, pair.second) for pair in found.pairs)
    assert all(pair.corrected == 4 * least_p(8) and pair.is_shown for pair in found.pairs)
    assert list(found.specifications()) == ["ratios"]
    with pytest.raises(UsageError, match="against 'f'"):
        over_traces(rows, against="f")


def test_more_is_better_where_it_is_and_what_cannot_run_does_not_compete() -> None:
    rows = rows_of(9, clock=1.0, craw=0.5)
    assert next(iter(over_traces(rows, value="hit_ratio").ranks)) == "craw"
    future = rows.filter(pl.col("policy") == "craw").with_columns(
        pl.lit("min").alias("policy"), pl.lit("offline").alias("kind")
    )
    assert list(over_traces(pl.concat([rows, future])).ranks) == ["craw", "clock"]


def test_a_trace_is_left_out_where_not_all_ran() -> None:
    rows = rows_of(9, clock=1.0, craw=0.5)
    is_lacking = (pl.col("trace") == "folder/t3.parquet") & (pl.col("policy") == "craw")
    lacking = rows.filter(~is_lacking)
    found = over_traces(lacking)
    assert len(found.traces) == 8
    assert found.sentences()[-1] == "Left out, as not all ran there: t3.parquet."
    with pytest.raises(UsageError, match="at least two"):
        over_traces(rows.filter(pl.col("trace") == "folder/t3.parquet"))
    with pytest.raises(UsageError, match="no column 'waf'"):
        over_traces(rows, value="waf")


EXPERIMENT = """
question = "Is it better?"
expected = "yes"
traces = "t*.parquet"
policies = {policies}
frames = [2, 4]
"""


def swept(folder: Path, name: str, policies: list[str], traces: int = 3) -> Path:
    """A dataset of policies on a few small traces."""
    for number in range(traces):
        pages = scattered_pages(300 + number, 9)
        trace = clockhand.Trace.from_arrays(
            ["W" if at % 3 else "R" for at in range(len(pages))], [4096 * page for page in pages]
        )
        if not (folder / f"t{number}.parquet").exists():
            clockhand.convert_traces(trace, folder / f"t{number}.parquet")
    file = folder / f"{name}.toml"
    file.write_text(EXPERIMENT.format(policies=json.dumps(policies)))
    run_sweep(read_experiment(file), dataset=folder / name)
    return folder / name


def changed(dataset: Path, to: Path, **columns: Any) -> Path:
    """A copy of a dataset, of another version of the numbers, with other values in some columns."""
    kept = Dataset.found(dataset)
    cells = kept.cells().with_columns(pl.col("numbers_version") + 1).with_columns(**columns)
    Dataset(to, kept.layout).append(cells.to_dicts(), kept.facts()[0])
    return to


def test_two_datasets_tell_what_moved_and_by_how_much(tmp_path: Path) -> None:
    first = swept(tmp_path, "first", ["clock", "craw"])
    factor = pl.when(pl.col("policy") == "craw").then(1.5).otherwise(1.0)
    second = changed(first, tmp_path / "second", io_time_us=pl.col("io_time_us") * factor)
    found = differences(first, second)
    assert found.compared == 12 and found.only == (0, 0)
    assert found.moved.to_dicts() == [
        {"column": "io_time_us", "rows": 6, "mean_ratio": pytest.approx(1.5),
         "least_ratio": pytest.approx(1.5), "greatest_ratio": pytest.approx(1.5)},
    ]  # fmt: skip
    assert set(found.rows["policy"]) == {"craw"} and set(found.rows["status"]) == {"moved"}
    said = found.sentences()
    assert said == [
        "Of 12 rows that both have, I/O time moved in 6: by +50.0\u00a0% to +50.0\u00a0%, "
        "+22.5\u00a0% in the geometric mean of all."
    ]
    assert list(found.specifications()) == ["moved"]
    assert differences(first, first).sentences() == [
        "All numbers of the 12 rows that both have are equal."
    ]


def test_rows_of_one_dataset_alone_are_named(tmp_path: Path) -> None:
    first = swept(tmp_path, "first", ["clock", "craw"])
    second = swept(tmp_path, "second", ["clock", "lru"])
    found = differences(first, second)
    assert found.compared == 6 and found.only == (6, 6)
    here, there = found.sentences()[1:]
    assert here.startswith("Only first has 6 rows: t0.parquet craw frames 2; t0.parquet craw")
    assert there.startswith("Only second has 6 rows: t0.parquet lru frames 2; ")
    assert found.rows.filter(pl.col("status") == "only in the first")["policy"].unique().item() == (
        "craw"
    )


def test_the_command_compares_and_writes_all_that_it_can(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    first = swept(tmp_path, "first", ["clock", "craw", "lru"])
    second = changed(first, tmp_path / "second", write_ios=pl.col("write_ios") + 1)
    outputs = ["--report", "r.html", "--plots", "p", "--tables", "t", "--as", "latex"]
    run = clockhand("report", first, second, *outputs, "--theme", "paper")
    assert run.code == 0, run.err
    assert b"I/O time is equal; also moved: write_ios" in run.out
    page = (tmp_path / "r.html").read_text()
    assert "second beside first" in page and str(tmp_path) not in page.partition('id="facts"')[0]
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == ["moved.pdf", "moved.svg"]
    assert r"write\_ios & 18" in next((tmp_path / "t").iterdir()).read_text()
    run = clockhand("report", first, "--over-traces", "--report", "o.html", "--plots", "o")
    assert run.code == 0, run.err
    assert b"3 traces are too few to show any difference among 3" in run.out
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == [
        "mean_ranks.png", "mean_ranks.svg", "ratios.png", "ratios.svg",
    ]  # fmt: skip
    rows = json.loads(clockhand("report", first, "--over-traces", "--format", "json").out)
    assert len(rows) == 3 and {"first", "second", "p_holm"} <= rows[0].keys()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["first", "--against", "lru"], "--over-traces"),
        (["first", "first", "--over-traces"], "one dataset"),
        (["first", "nothing"], "nothing is no dataset"),
        (["first", "--over-traces", "--highlight", "clock", "--plots", "p"], "--highlight"),
    ],
)
def test_what_means_nothing_is_refused(
    clockhand: Clockhand, tmp_path: Path, options: list[str], words: str
) -> None:
    swept(tmp_path, "first", ["clock", "craw"], traces=1)
    run = clockhand("report", *options)
    assert_one_sentence(run)
    assert run.code == 2 and words in run.err


def test_datasets_of_two_studies_are_not_compared(tmp_path: Path) -> None:
    first = swept(tmp_path, "first", ["clock"], traces=1)
    (tmp_path / "ssd.toml").write_text(
        'question = "x"\nexpected = "y"\ntraces = "t0.parquet"\n'
        '[ssd]\nbuffer = ["fab:total=64", "lru:total=64"]\nssd = "small"\n'
    )
    run_sweep(read_experiment(tmp_path / "ssd.toml"), dataset=tmp_path / "ssd")
    with pytest.raises(UsageError, match="of ssd"):
        differences(first, tmp_path / "ssd")
    found = Dataset.found(tmp_path / "ssd")
    rows, facts = found.report()
    with pytest.raises(UsageError, match="at least two on the same two traces"):
        dataset_over_traces(rows, facts, found.layout)
