"""`recommend --ssd` and `recommend_buffer`: the answer is what single runs say."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand import BufferRecommendation, Trace, UsageError, recommend_buffer
from clockhand.studies.ssd.recommendation import candidates
from conftest import Clockhand, assert_one_sentence

BUFFERS = ["fab", "lb-clock", "clc"]
SIZES = "total=32..512"


def skewed(count: int = 6000) -> Trace:
    """Overwrites of the drive `small`, four of five in a fifth of it, one every 100 µs."""
    random = np.random.default_rng(3)
    hot = random.random(count) < 0.8
    pages = np.where(hot, random.integers(0, 700, count), random.integers(0, 3500, count))
    return Trace.from_arrays(
        np.full(count, fill_value=True), pages.astype(np.uint64) * 4096, name="skewed",
        time_ns=np.arange(count, dtype=np.uint64) * 100_000,
    )  # fmt: skip


@pytest.fixture(scope="module")
def answer() -> BufferRecommendation:
    return recommend_buffer(
        skewed(), ssd="small", buffers=[f"{name}:{SIZES}" for name in BUFFERS], timed=True
    )


def test_each_size_names_the_buffer_that_single_runs_find_best(
    answer: BufferRecommendation,
) -> None:
    alone = clockhand.run_ssd(
        skewed(), buffers=[f"{name}:{SIZES}" for name in [*BUFFERS, "lru"]], ssds="small",
        drain=True,
    ).rows  # fmt: skip
    assert answer.sizes["buffer_pages"].to_list() == [32, 64, 128, 256, 512]
    for size in answer.sizes.iter_rows(named=True):
        of_size = alone.filter(buffer_pages=size["buffer_pages"])
        assert size["host_writes"] == of_size["host_writes"].min()
        assert size["erases"] == of_size["erases"].min()
        assert (
            size["lru_host_writes"]
            == of_size.filter(pl.col("buffer").str.starts_with("lru"))["host_writes"][0]
        )
        more = of_size.filter(pl.col("host_writes") > size["host_writes"])["host_writes"]
        assert size["next_best_host_writes"] == more.min()
        assert size["write_p99_us"] is not None


def test_the_knee_is_recommended_and_compared_with_the_next_best_and_lru(
    answer: BufferRecommendation,
) -> None:
    (knee,) = answer.sizes.filter("is_knee").to_dicts()
    assert answer.buffer == knee["best"] == knee["recommended"]
    first, second = answer.sentences[:2]
    assert first.startswith(f"Take {answer.buffer} on drive small for skewed: with ")
    assert f"{knee['next_best']}, the next best of that size" in first
    worst = answer.rows.filter(buffer_pages=knee["buffer_pages"]).sort("host_writes")["buffer"][-1]
    assert worst in (knee["next_best"], f"lru:total={knee['buffer_pages']}") or worst not in first
    assert second.startswith("That is the knee: ") and " more; " in second
    assert answer.sizes["answer"][0] == " ".join(answer.sentences)


def test_the_smallest_that_lives_long_enough_is_recommended() -> None:
    given = {
        "ssd": "small", "buffers": f"fab:{SIZES}", "endurance": 3000, "precondition": "random",
        "repeat": "until-steady",
    }  # fmt: skip
    free = recommend_buffer(skewed(), **given)
    lives = free.rows.filter(pl.col("buffer").str.starts_with("fab")).sort("buffer_pages")
    years = lives["life_years"][2]
    wanted = recommend_buffer(skewed(), **given, years=years)
    alive = free.rows.filter(pl.col("life_years") >= years)["buffer_pages"].min()
    (chosen,) = wanted.sizes.drop_nulls("recommended").to_dicts()
    assert chosen["buffer_pages"] == alive
    assert any(text.startswith("It is the smallest that lives") for text in wanted.sentences)
    never = recommend_buffer(skewed(), **given, years=1e6)
    assert never.buffer == free.buffer
    assert any("No buffer here lives 1e+06 years" in text for text in never.sentences)


def test_why_no_years_are_known_is_said() -> None:
    told = recommend_buffer(skewed(200), ssd="small", buffers="fab:total=32", years=5)
    (why,) = [text for text in told.sentences if "not known" in text]
    assert "no block was erased" in why


def test_lru_is_compared_at_every_size_and_sizes_have_defaults() -> None:
    assert candidates("fab:total=4MiB,16MiB") == [
        "fab:total=4MiB", "fab:total=16MiB", "lru:total=4MiB", "lru:total=16MiB",
    ]  # fmt: skip
    assert candidates("lru:total=9") == ["lru:total=9"]
    assert candidates("none,fab:mode=x")[:2] == ["fab:total=1%,mode=x", "fab:total=2%,mode=x"]
    everything = candidates("all")
    listed = clockhand.write_buffers().to_dicts()
    names = [entry["name"] for entry in listed if "offline" not in entry["kind"]]
    assert len(listed) == len(names) + 1, "block-min needs the future"
    assert len(everything) == 5 * len(names)
    with pytest.raises(UsageError, match="no write buffer is given"):
        candidates("none")


def test_figures_begin_with_the_frontier(answer: BufferRecommendation, tmp_path: Path) -> None:
    figures = answer.specifications()
    assert list(figures)[:3] == ["host_writes", "erases", "write_p99_us"]
    least = [
        record["host_writes"]
        for record in figures["host_writes"]["data"]["values"]
        if record["policy"] == "frontier"
    ]
    assert least == answer.sizes["host_writes"].cum_min().to_list()
    assert answer.chart() is not None
    answer.write_report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert f"Take {answer.buffer} on drive small for skewed" in text and "the frontier" in text
    assert "recommended" not in answer._repr_html_() and "is_knee" in answer._repr_html_()


def test_the_command_prints_the_answer_and_writes_files(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    trace = tmp_path / "skewed.parquet"
    write_trace(trace)
    given = ["recommend", str(trace), "--ssd", "small", "--buffer", f"fab:{SIZES}"]
    run = clockhand(
        *given, "--report", str(tmp_path / "r.html"), "--figure", str(tmp_path / "f.svg")
    )
    assert run.code == 0, run.err
    assert b"Take lru:total=256 on" in run.out and b"what each size allows" in run.out
    assert (tmp_path / "r.html").exists() and (tmp_path / "f.svg").exists()
    rows = json.loads(clockhand(*given, "--format", "json").out)
    assert [row["buffer_pages"] for row in rows] == [32, 64, 128, 256, 512]


def write_trace(path: Path) -> None:
    clockhand.convert_traces(skewed(), path)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--memory 10% --years 3", "--years is for write buffers; add --ssd DRIVE"),
        ("--ssd small --memory 10%", "--memory is for policies of memory"),
        ("--ssd small --years 0", "--years 0.0 is no time to live; give a number above 0"),
        ("--ssd small --buffer fab:total=9..3", "is no range of sizes, it runs backwards"),
        ("--ssd small --buffer none", "no write buffer is given"),
        ("--ssd nothing", "nothing"),
        ("--ssd small --arrivals rate:9", "--arrivals is for runs in time; add --timed"),
        ("--ssd small --timed --arrivals rate:1,rate:9", "one kind of arrivals"),
    ],
)
def test_wrong_usage_is_one_sentence(
    clockhand: Clockhand, tmp_path: Path, options: str, sentence: str
) -> None:
    trace = tmp_path / "skewed.parquet"
    write_trace(trace)
    run = clockhand("recommend", str(trace), *options.split())
    assert run.code == 2
    assert_one_sentence(run)
    assert sentence in run.err
