"""`clockhand.simulate`: its rows, its options, and how it can be watched and stopped."""

import random
import shlex
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import clockhand
from clockhand.study.columns import schema
from conftest import TEXTBOOK_PAGES, Clockhand

PROFILE = """summary = "a drive of one's own"
source = "measured"
charged = "per-page"
[read]
time_us = 3
[write]
time_us = 7
"""


@pytest.fixture
def pages() -> clockhand.Trace:
    """The textbook string; odd pages are written."""
    numbers = np.array(TEXTBOOK_PAGES)
    return clockhand.Trace.from_arrays(numbers % 2 == 1, numbers * 4096, name="textbook")


@pytest.fixture(scope="module")
def long_trace() -> clockhand.Trace:
    """A million references without locality."""
    random = np.random.default_rng(1)
    addresses = random.integers(0, 50_000, 1_000_000) * 4096
    return clockhand.Trace.from_arrays(random.random(1_000_000) < 0.3, addresses, name="long")


def test_rows_have_the_schema_and_add_up(pages: clockhand.Trace) -> None:
    rows = clockhand.simulate(pages, policies=["clock", "lru", "craw"], frames=[1, 3, 6]).rows
    assert rows.schema == pl.Schema(schema("pages"))
    assert rows.filter(pl.col("hits") + pl.col("misses") != pl.col("references")).is_empty()
    assert rows.filter(
        pl.col("read_misses") + pl.col("write_misses") != pl.col("misses")
    ).is_empty()
    assert rows["trace"].unique().to_list() == ["textbook"]


def test_memory_sizes_may_be_text_numbers_or_arrays(pages: clockhand.Trace) -> None:
    for frames in ("2,4", [2, 4], (2, 4), np.array([2, 4]), pl.Series([2, 4])):
        assert clockhand.simulate(pages, policies="lru", frames=frames).rows[
            "frames"
        ].to_list() == [
            2,
            4,
        ]
    assert clockhand.simulate(pages, policies="lru", frames=2).rows["frames"].to_list() == [2]


def test_shares_of_the_footprint_are_rounded_down_to_at_least_one_frame(
    pages: clockhand.Trace,
) -> None:
    rows = clockhand.simulate(pages, policies="lru", memory="1%..100%").rows
    assert rows["frames"].to_list() == [max(1, 6 * percent // 100) for percent in range(1, 101)]
    rows = clockhand.simulate(pages, policies="lru", memory=["50%", "8KiB", "1GiB"]).rows
    assert rows["frames"].to_list() == [3, 2, 2**18]
    assert rows["memory_share"][0] == 0.5


def test_larger_pages_make_a_smaller_footprint(pages: clockhand.Trace) -> None:
    for page_size, footprint_pages in ((4096, 6), ("4KiB", 6), ("8KiB", 4), (1 << 20, 1)):
        rows = clockhand.simulate(pages, policies="lru", frames=1, page_size=page_size).rows
        assert rows["footprint_pages"].to_list() == [footprint_pages]


def test_devices_price_reads_and_writes(pages: clockhand.Trace, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PROFILE)
    for device, read_us, write_us in (
        ("scm:ratio=1", 3.2, 3.2),
        ("scm:ratio=100", 320, 320),
        ("slc-nand", 50, 400),
        ("cflru-nand", 284.2, 1833),
        (tmp_path / "own.toml", 3, 7),
    ):
        row = clockhand.simulate(pages, policies="lru", frames=3, device=device).rows.row(
            0, named=True
        )
        expected = row["read_ios"] * read_us + row["write_ios"] * write_us
        assert row["device"] == str(device)
        assert row["io_time_us"] == pytest.approx(expected)


def test_energy_is_there_where_the_profile_states_it(pages: clockhand.Trace) -> None:
    row = clockhand.simulate(pages, policies="lru", frames=3, device="cflru-nand").rows.row(
        0, named=True
    )
    assert row["energy_uj"] == pytest.approx(row["read_ios"] * 9.4 + row["write_ios"] * 59.6)
    assert clockhand.simulate(pages, policies="lru", frames=3).rows["energy_uj"].to_list() == [None]


def test_an_erase_makes_writes_dearer(pages: clockhand.Trace) -> None:
    plain, erasing = (
        clockhand.simulate(pages, policies="lru", frames=3, device=device).rows["io_time_us"][0]
        for device in ("cflru-nand", "cflru-nand:erase=true")
    )
    assert erasing > plain


def test_a_reserve_leaves_policies_the_rest_of_the_frames(pages: clockhand.Trace) -> None:
    policies = ["clock", "craw", "lru", "min", "bound"]
    rest = clockhand.simulate(pages, policies=policies, frames=[2, 3]).rows
    rows = clockhand.simulate(pages, policies=policies, frames=[4, 5], reserve=2).rows
    assert rows["frames"].unique().to_list() == [4, 5]
    assert rows["reserve"].unique().to_list() == [2]
    differing = ["frames", "memory_share", "reserve"]
    assert_frame_equal(rows.drop(differing), rest.drop(differing))
    assert rest["reserve"].unique().to_list() == [0]


def test_a_blind_write_miss_reads_nothing(pages: clockhand.Trace) -> None:
    fetch, blind = (
        clockhand.simulate(pages, policies="lru", frames=3, write_miss=rule).rows.row(0, named=True)
        for rule in ("fetch", "blind")
    )
    assert fetch["read_ios"] == fetch["misses"]
    assert blind["read_ios"] == blind["read_misses"] < fetch["read_ios"]
    assert (blind["misses"], blind["write_miss"]) == (fetch["misses"], "blind")


def test_a_flush_at_the_end_writes_what_is_dirty(pages: clockhand.Trace) -> None:
    row = clockhand.simulate(pages, policies="lru", frames=3, flush_at_end=True).rows.row(
        0, named=True
    )
    # The string ends with 7 0 1, and of these the pages 7 and 1 were written.
    assert row["flush_writes"] == 2
    assert row["write_ios"] == row["dirty_evictions"] + row["write_backs"] + 2


def test_mapped_bits_differ_from_the_papers_rule(pages: clockhand.Trace) -> None:
    exact, mapped = (
        clockhand.simulate(pages, policies="clock", frames=3, bits=bits).rows.row(0, named=True)
        for bits in ("exact", "mapped")
    )
    assert (exact["bits"], mapped["bits"]) == ("exact", "mapped")
    assert exact["misses"] != mapped["misses"]


def test_sensed_bits_differ_from_mapped_ones_where_a_first_write_shows_a_read() -> None:
    numbers = random.Random(1)
    pages = [4096 * numbers.randrange(12) for _ in range(600)]
    ops = [numbers.choice("RW") for _ in pages]
    trace = clockhand.Trace.from_arrays(ops, pages)
    mapped, sensed = (
        clockhand.simulate(trace, policies=["clock", "craw"], frames=6, bits=bits).rows
        for bits in ("mapped", "sensed")
    )
    assert sensed["bits"].to_list() == ["sensed"] * 2
    assert mapped["permission_faults"].min() > 0 and sensed["permission_faults"].null_count() == 2
    mapped, sensed = (rows.drop("bits", "permission_faults") for rows in (mapped, sensed))
    assert mapped[0].equals(sensed[0])
    assert not mapped[1].equals(sensed[1])


def test_one_thread_and_two_give_the_same_rows(pages: clockhand.Trace) -> None:
    one, two = (
        clockhand.simulate(
            pages, policies=["craw", "min", "car"], memory="1%..100%", jobs=jobs
        ).rows
        for jobs in (1, 2)
    )
    assert_frame_equal(one, two)


def test_facts_carry_a_command_that_gives_the_same_rows(
    clockhand: Clockhand, textbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clockhand import run_simulation

    monkeypatch.chdir(textbook.parent)
    simulation = run_simulation(
        textbook.name, policies=["craw:c=3", "clock"], memory="50%,100%", page_size="8KiB",
        device="scm:ratio=10", bits="mapped", write_miss="blind", flush_at_end=True, seed=7,
        reserve=1, gauge_every=2,
        trace_format="os-course",
    )  # fmt: skip
    program, *arguments = shlex.split(simulation.facts["command"])
    assert program == "clockhand"
    run = clockhand(*arguments, "--format", "csv")
    assert run.out.decode() == simulation.rows.write_csv()
    assert pl.read_parquet(textbook.parent / "gauges.parquet").equals(simulation.gauges)
    (trace,) = simulation.facts["traces"]
    assert (trace["format"], trace["requests"], trace["footprint_pages"]) == ("os-course", 20, 4)
    assert [policy["resolved"] for policy in simulation.facts["policies"]][1] == (
        "clock:insert_ref=0"
    )


def test_the_files_of_a_report_are_written_whole(pages: clockhand.Trace, tmp_path: Path) -> None:
    simulation = clockhand.run_simulation(pages, policies=["clock", "craw"], frames=[3, 4])
    simulation.write_report(tmp_path / "report.html")
    simulation.write_plots(tmp_path / "figures")
    assert "textbook" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "figures/io_time.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frames": 0}, "from 1 to"),
        ({"frames": []}, "^frames "),
        ({}, "frames or by memory"),
        ({"frames": 3, "memory": "5%"}, "frames or by memory"),
        ({"frames": 3, "policies": []}, "no policy is given"),
        ({"frames": 3, "policies": "crow"}, '"craw"'),
        ({"frames": 3, "page_size": 3000}, "power of two"),
        ({"frames": 3, "jobs": 0}, "from 1 to 1024"),
        ({"frames": 3, "seed": 2**64}, "from 0 to"),
        ({"frames": 3, "seed": -1}, "from 0 to"),
        ({"frames": 3, "device": "absent"}, r"clockhand\.devices\(\)"),
        ({"frames": 3, "bits": "some"}, "exact, mapped or sensed"),
        ({"frames": 3, "reserve": -1}, "from 0 to"),
        ({"frames": 3, "reserve": 2**32}, "from 0 to"),
        ({"frames": [4, 3], "reserve": 3}, "whose memory is 3 frames; give a reserve below 3"),
    ],
)
def test_wrong_options_are_usage_errors(
    pages: clockhand.Trace, options: dict[str, object], words: str
) -> None:
    with pytest.raises(clockhand.UsageError, match=words):
        clockhand.simulate(pages, **{"policies": "lru", **options})


def test_no_trace_is_a_usage_error() -> None:
    with pytest.raises(clockhand.UsageError, match="no trace is given"):
        clockhand.simulate([], policies="lru", frames=3)


def test_a_trace_that_cannot_be_read_is_an_error_but_no_usage_error(tmp_path: Path) -> None:
    with pytest.raises(clockhand.ClockhandError, match="there is no such file") as raised:
        clockhand.simulate(tmp_path / "absent", policies="lru", frames=3)
    assert not isinstance(raised.value, clockhand.UsageError)


def test_a_long_run_is_watched(long_trace: clockhand.Trace) -> None:
    seen = []
    clockhand.simulate(
        long_trace, policies=["car"] * 20, memory=["5%", "20%"], jobs=1,
        watch=lambda phase, done, total: seen.append((phase, done, total)),
    )  # fmt: skip
    replaying = [(done, total) for phase, done, total in seen if phase == "replaying"]
    assert {phase for phase, _, _ in seen} <= {"reading", "replaying"}
    assert len(replaying) >= 2
    assert replaying == sorted(replaying)
    assert all(done <= total for done, total in replaying)


def test_an_exception_of_the_watcher_stops_the_run(long_trace: clockhand.Trace) -> None:
    class EnoughError(Exception):
        pass

    def stop(phase: str, done: int, total: int) -> None:
        raise EnoughError

    started = time.monotonic()
    with pytest.raises(EnoughError):
        clockhand.simulate(
            long_trace, policies=["car"] * 100, memory="1%..100%", jobs=1, watch=stop
        )
    assert time.monotonic() - started < 10


def test_other_threads_of_python_run_meanwhile(long_trace: clockhand.Trace) -> None:
    ended = threading.Event()
    ticks = []

    def tick() -> None:
        while not ended.wait(0.005):
            ticks.append(time.monotonic())

    ticking = threading.Thread(target=tick)
    ticking.start()
    started = time.monotonic()
    clockhand.simulate(long_trace, policies=["car"] * 4, memory=["5%", "20%"], jobs=1)
    duration = time.monotonic() - started
    ended.set()
    ticking.join()
    middle = [at for at in ticks if 0.2 < (at - started) / duration < 0.8]
    assert len(middle) >= 10
