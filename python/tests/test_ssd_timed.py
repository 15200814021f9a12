"""`run_ssd(timed=True)`: latencies of the same decisions, windows, files, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand.command.ssd import for_people
from clockhand.report.words import time_text
from clockhand.studies.ssd.findings import findings
from clockhand.studies.ssd.result import SsdRun
from clockhand.studies.ssd.time_records import timed_place
from clockhand.studies.ssd.waits import WAITS
from clockhand.study.columns import schema
from clockhand.sweep import read_experiment, run_sweep

DRIVE = "small:scheduling=read-first,command_us=0.3,bus_mb_s=400"
TIMES = [
    name for name in schema("ssd") if name in {"iops", "duration_us", "read_p99_us", "bottleneck"}
]


def mixed(count: int = 3000, **columns: Any) -> clockhand.Trace:
    """Random reads and writes of most of the drive `small`, one every 100 µs."""
    random = np.random.default_rng(5)
    pages = random.integers(0, 3500, count).astype(np.uint64)
    columns.setdefault("time_ns", np.arange(count, dtype=np.uint64) * 100_000 + 7)
    return clockhand.Trace.from_arrays(
        random.integers(0, 2, count).astype(bool), pages * 4096, name="mixed", **columns
    )


def test_timed_runs_count_what_others_count_and_tell_of_time() -> None:
    for buffer in ("none", "fab:total=64", "clock-dnv:total=64,commands=safe"):
        (timed,) = clockhand.run_ssd(
            mixed(), buffers=buffer, ssds=DRIVE, timed=True, drain=True
        ).rows.to_dicts()
        (counted,) = clockhand.run_ssd(
            mixed(), buffers=buffer, ssds=DRIVE, drain=True
        ).rows.to_dicts()
        same = {name: value for name, value in counted.items() if value is not None}
        assert {name: timed[name] for name in same} == same
        assert all(counted[name] is None for name in TIMES)
        assert timed["requests"] == timed["requests_served"] == 3000
        assert timed["read_p50_us"] <= timed["read_p99_us"] <= timed["read_max_us"]
        assert 0 < timed["die_utilisation"] <= 1
        assert timed["bottleneck"] in ("die 0", "channel 0")
        assert timed["drain_us"] is not None


def test_latencies_are_a_row_per_request_in_both_formats(tmp_path: Path) -> None:
    parts = {}
    for ending in ("csv", "parquet"):
        file = tmp_path / f"latencies.{ending}"
        run = clockhand.run_ssd(
            mixed(300), buffers=["none", "lru:total=9"], ssds=DRIVE, timed=True, latencies=file
        )
        parts[ending] = pl.read_csv(file) if ending == "csv" else pl.read_parquet(file)
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    rows = parts["parquet"]
    assert rows.equals(parts["csv"].cast(dict(rows.schema.items())))
    assert rows["index"].to_list() == [*range(300), *range(300)]
    waits = sum(rows[name] for name in rows.columns if name.endswith("_wait_ns"))
    latency = rows["end_ns"] - rows["arrival_ns"]
    assert (waits + rows["service_ns"] == latency).all()
    # Little's law: requests inside, over time, are the sum of latencies.
    longest = run.rows.filter(buffer="none")["write_max_us"][0]
    of_writes = rows.filter((pl.col("buffer") == "none") & (pl.col("op") == "W"))
    assert longest == (of_writes["end_ns"] - of_writes["arrival_ns"]).max() / 1000


def test_windows_add_up_to_the_run() -> None:
    given: dict[str, Any] = {"buffers": "lru:total=9", "ssds": DRIVE, "timed": True}
    (whole,) = clockhand.run_ssd(mixed(), **given).rows.to_dicts()
    run = clockhand.run_ssd(mixed(), **given, every="50ms")
    windows = run.rows
    assert windows["window_us"].to_list() == [50_000.0 * index for index in range(len(windows))]
    for column in ("requests", "host_writes", "relocations", "erases"):
        assert windows[column].sum() == whole[column]
    assert windows["hit_ratio"].null_count() == len(windows)
    (sentence,) = findings(windows, run.facts, run.classes)
    slowest = windows.sort("write_p99_us", descending=True).row(0, named=True)
    assert f"in the slowest of {len(windows)} windows, from" in sentence
    assert time_text(slowest["write_p99_us"]) in sentence
    assert {"window_write_p99", "window_relocations", "cdf_write"} <= run.specifications().keys()
    assert "from ms" in for_people(windows).columns


def test_closed_arrivals_and_rates_need_no_times() -> None:
    trace = mixed(200, time_ns=None)
    for arrivals in ("closed:4", "rate:2000"):
        (row,) = clockhand.run_ssd(
            trace, buffers="none", ssds=DRIVE, timed=True, arrivals=arrivals
        ).rows.to_dicts()
        assert row["arrivals"] == arrivals
        assert row["is_saturated"] is (None if arrivals == "closed:4" else False)


def test_what_stands_out_says_how_long_requests_take_and_why() -> None:
    for arrivals, why in (("trace", "waiting in the host's queue"), ("rate:200", "collection")):
        run = clockhand.run_ssd(
            mixed(), buffers="none", ssds=DRIVE, timed=True, arrivals=arrivals,
            precondition="random",
        )  # fmt: skip
        told = findings(run.rows, run.facts, run.classes)
        (sentence,) = [text for text in told if "p99" in text]
        assert "p99 of reads is" in sentence
        assert f"almost all of it {why};" in sentence
        assert "the busiest part is die 0" in sentence


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"timed": False, "arrivals": "closed:3"}, "arrivals is for runs in time; add timed"),
        ({"ssds": "small:queue_depth=0"}, "queue_depth '0' is not possible"),
        ({"ssds": "small:suspend=erase"}, "add scheduling=read-first"),
        ({"ssds": "samsung-970-pro-512gb:size=1GiB"}, "erase_us is not given"),
        ({"arrivals": "rate:0.000000001"}, "would arrive after more than 146 years"),
        ({"ssds": "small:collection=background"}, "add background_free"),
        ({"arrivals": "rate:0"}, "is unknown; give trace, trace:SPEED, rate:X"),
        ({"arrivals": "rate:9..3/2"}, "'9..3/2' is no range, it runs backwards"),
        ({"arrivals": "rate:1..2/7"}, "is unknown; give trace, trace:SPEED, rate:X"),
        ({"arrivals": []}, "no kind of arrivals is given"),
        (
            {"arrivals": "closed:1,closed:2", "latencies": "out.csv"},
            "would hold requests of several arrivals",
        ),
        ({"every": "10"}, "is no span of time"),
        ({"latencies": "out.txt"}, "give a name that ends in .parquet or .csv"),
    ],
)
def test_what_cannot_be_timed_is_refused_in_one_sentence(
    given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(clockhand.UsageError) as refused:
        clockhand.run_ssd(mixed(50), **{"buffers": "none", "ssds": DRIVE, "timed": True, **given})
    assert sentence in str(refused.value)


def test_times_must_be_there_and_in_order() -> None:
    with pytest.raises(clockhand.UsageError, match="has no times of its own"):
        clockhand.run_ssd(mixed(50, time_ns=None), buffers="none", ssds=DRIVE, timed=True)
    times_ns = np.array([5, 3, 9], dtype=np.uint64)
    trace = mixed(3, time_ns=times_ns)
    with pytest.raises(clockhand.UsageError, match="add clamp_times"):
        clockhand.run_ssd(trace, buffers="none", ssds=DRIVE, timed=True)
    run = clockhand.run_ssd(trace, buffers="none", ssds=DRIVE, timed=True, clamp_times=True)
    assert run.rows["requests_served"].to_list() == [3]


@pytest.fixture(scope="module")
def loaded() -> SsdRun:
    """Two buffers of two sizes and no buffer, each under three loads."""
    return clockhand.run_ssd(
        mixed(),
        buffers=["none", "fab:total=64,256", "lru:total=64,256"],
        ssds=DRIVE,
        timed=True,
        arrivals=["rate:200..1000/2", "rate:20000"],
    )


def test_each_load_of_a_sweep_is_a_row(loaded: SsdRun) -> None:
    (alone,) = clockhand.run_ssd(
        mixed(), buffers="fab:total=256", ssds=DRIVE, timed=True, arrivals="rate:600"
    ).rows.to_dicts()
    rates = ["rate:200", "rate:600", "rate:1000", "rate:20000"]
    assert loaded.rows["arrivals"].to_list() == 5 * rates
    (same,) = loaded.rows.filter(buffer="fab:total=256", arrivals="rate:600").to_dicts()
    assert same == alone
    slow, fast = (
        loaded.rows.filter(buffer="none", arrivals="rate:200"),
        loaded.rows.filter(buffer="none", arrivals="rate:20000"),
    )
    assert slow["read_p99_us"][0] < fast["read_p99_us"][0]
    assert fast["is_saturated"][0] and not slow["is_saturated"][0]


def test_classes_of_latency_hold_every_request_and_what_it_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "latencies.parquet"
    run = clockhand.run_ssd(mixed(), buffers="fab:total=64", ssds=DRIVE, timed=True, latencies=file)
    requests = pl.read_parquet(file).with_columns(
        latency_ns=pl.col("end_ns") - pl.col("arrival_ns")
    )
    for op, letter in (("read", "R"), ("write", "W")):
        classes = run.classes.filter(op=op).sort("most_us")
        of_op = requests.filter(op=letter)
        up_to = [
            (of_op["latency_ns"] <= round(1000 * most_us)).sum() for most_us in classes["most_us"]
        ]
        assert classes["requests"].cum_sum().to_list() == up_to
        for wait in WAITS:
            column = f"{wait}_ns" if wait == "service" else f"{wait}_wait_ns"
            assert 1000 * classes[f"{wait}_us"].sum() == pytest.approx(of_op[column].sum())
        assert classes["longest_us"].max() == run.rows[f"{op}_max_us"][0]
        moments = run.moments.filter(op=op)
        assert moments["requests"].sum() == of_op.height
        assert moments["longest_us"].max() == run.rows[f"{op}_max_us"][0]
        assert moments["relocations"].sum() == run.rows["relocations"][0]
    busiest = run.parts.sort("utilisation", descending=True, maintain_order=True)
    assert busiest["part"][0] == run.rows["bottleneck"][0]


def test_buffers_are_compared_where_none_is_saturated(loaded: SsdRun) -> None:
    place = timed_place(loaded.rows)
    assert place is not None and (place.pages, place.arrivals) == (64, "rate:1000")


def test_figures_of_time_come_first_and_loads_have_theirs(loaded: SsdRun) -> None:
    overviews = ("_ranking", "_heat_map")
    keys = [key for key in loaded.specifications() if not key.endswith(overviews)]
    assert keys[:7] == [
        "cdf_write", "cdf_read", "tail_write", "tail_read", "load_write_p99", "load_read_p99",
        "load_iops",
    ]  # fmt: skip
    assert {"course_write_1", "course_read_3", "parts", "write_p99_us", "host_writes"} <= {*keys}
    cdf = loaded.specifications()["cdf_read"]["data"]["values"]
    assert {record["policy"] for record in cdf} == {"none", "fab", "lru"}
    assert max(record["cdf_share"] for record in cdf) == 1
    assert loaded.chart("load_read_p99") is not None


def test_a_report_of_loads_says_what_is_slow_and_what_is_full(
    loaded: SsdRun, tmp_path: Path
) -> None:
    sentences = findings(loaded.rows, loaded.facts, loaded.classes)
    assert any("it has the shortest p99 of writes: " in text for text in sentences)
    assert any("the next best" in text and "times as long" in text for text in sentences)
    (full,) = [text for text in sentences if "arrive faster than they are served" in text]
    assert "with arrivals rate:20000" in full
    loaded.write_report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "What the slowest writes wait for" in text and "How busy channels and dies are" in text


def test_a_sweep_keeps_what_reports_of_time_need(tmp_path: Path) -> None:
    clockhand.convert_traces(mixed(300), tmp_path / "mixed.parquet")
    experiment = tmp_path / "timed.toml"
    experiment.write_text(
        f"""
question = "How long do requests wait?"
expected = "Longer under load."
traces = "mixed.parquet"
dataset = "cells"
[ssd]
buffers = ["lru:total=64"]
ssds = "{DRIVE}"
timed = true
arrivals = ["rate:200", "rate:5000"]
"""
    )
    sweep = run_sweep(read_experiment(experiment))
    assert sweep.rows["arrivals"].to_list() == ["rate:200", "rate:5000"]
    report = sweep.reported()
    direct = clockhand.run_ssd(
        tmp_path / "mixed.parquet", buffers="lru:total=64", ssds=DRIVE, timed=True,
        arrivals=["rate:200", "rate:5000"],
    )  # fmt: skip
    for name in ("classes", "moments", "parts"):
        kept, made = getattr(report, name), getattr(direct, name)
        assert kept.drop("trace").sort(pl.all()).equals(made.drop("trace").sort(pl.all()))
