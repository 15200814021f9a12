"""`run_ssd(timed=True)`: latencies of the same decisions, windows, files, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand.command.ssd import for_people
from clockhand.studies.ssd.findings import findings
from clockhand.studies.ssd.run import SSD_SCHEMA

DRIVE = "small:scheduling=read-first,command_us=0.3,bus_mb_s=400"
TIMES = [
    name for name in SSD_SCHEMA if name in {"iops", "duration_us", "read_p99_us", "bottleneck"}
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
    assert findings(windows, run.facts) == []
    assert "from ms" in for_people(windows).columns


def test_closed_arrivals_and_rates_need_no_times() -> None:
    trace = mixed(200, time_ns=None)
    for arrivals in ("closed:4", "rate:2000"):
        (row,) = clockhand.run_ssd(
            trace, buffers="none", ssds=DRIVE, timed=True, arrivals=arrivals
        ).rows.to_dicts()
        assert row["arrivals"] == arrivals
        assert row["is_saturated"] is (None if arrivals == "closed:4" else False)


def test_what_stands_out_says_how_long_requests_take() -> None:
    run = clockhand.run_ssd(mixed(), buffers="none", ssds=DRIVE, timed=True)
    (sentence,) = [text for text in findings(run.rows, run.facts) if "p99" in text]
    assert "p99 of reads is" in sentence
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
