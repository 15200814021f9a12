"""`clockhand filecache`, `filecache` and `break_even`: rows, files, report, and what is refused."""

import json
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand.report.table import SHOWN_ROWS
from clockhand.studies.filecache.findings import findings, time_text
from clockhand.study.columns import schema
from conftest import Clockhand, assert_one_sentence, os_course

WEB = Path(__file__).resolve().parents[2] / "traces/servers/web.parquet"
CONTRACT = ["trace", "policy", "capacity", "references", "hits", "misses", "admitted", "time_us"]
# A-61's rule on this string: `spec/golden/filecache_second_touch`.
TOUCHES = "R1 R2 R1 R3 R4 R5 R1 R2 W3 R3 R2 R3"


def trace_of(references: str, name: str = "touches") -> clockhand.Trace:
    words = references.split()
    addresses = np.array([int(word[1:]) * 4096 for word in words], dtype=np.uint64)
    return clockhand.Trace.from_arrays([word[0] == "W" for word in words], addresses, name=name)


def loop(rounds: int = 40, blocks: int = 60) -> clockhand.Trace:
    """Few blocks again and again, and many once."""
    rng = np.random.default_rng(3)
    hot = rng.integers(0, blocks, rounds * blocks)
    cold = np.arange(rounds * blocks) + 1000
    pages = np.where(rng.random(rounds * blocks) < 0.5, hot, cold).astype(np.uint64)
    return clockhand.Trace.from_arrays([False] * len(pages), pages * 4096, name="loop")


@pytest.fixture
def block_trace(tmp_path: Path) -> Path:
    path = tmp_path / "block.trace"
    path.write_text(os_course((0, 1, 3, 1, 64, 65, 1, 129, 0, 3)))
    return path


def test_second_touch_admits_what_its_history_remembers() -> None:
    run = clockhand.filecache(
        trace_of(TOUCHES), capacity=2, admissions="second-touch", history=3, devices="scm:ratio=1",
        insert="half",
    )  # fmt: skip
    (row,) = run.rows.to_dicts()
    counts = [row[name] for name in ("hits", "misses", "admitted", "bypassed", "evictions")]
    assert counts == [2, 10, 3, 7, 1]
    assert row["time_us"] == pytest.approx(33 / 2 * 3.2, rel=1e-15)
    assert row["time_without_cache_us"] == pytest.approx(78 / 5 * 3.2, rel=1e-15)
    assert row["required_hits"] == 2
    resolved = "second-touch:admit_after=1,history=3,forget_on_admit=false"
    assert row["admission_resolved"] == resolved
    assert run.rows.schema == schema("filecache")
    assert "--history 3" in run.facts["command"] and "--jobs" not in run.facts["command"]


@pytest.mark.usefixtures("block_trace")
def test_json_is_an_array_of_rows_with_the_columns_of_the_contract_first(
    clockhand: Clockhand,
) -> None:
    run = clockhand(
        "filecache", "block.trace", "--capacity", "0,2,50%", "--admission",
        "always,write-around", "--policy", "lru,cflru:window_pages=1", "--device",
        "hdd,scm:ratio=1", "--insert", "all", "--break-even", "--format", "json",
    )  # fmt: skip
    assert (run.code, run.err) == (0, "")
    rows = json.loads(run.out)
    assert [row["insert"] for row in rows[:6]] == ["half", "copy", "storage"] * 2
    assert [row["required_hits"] for row in rows[:6]] == [1, 1, 1, 2, 4, 5]
    rows = [row for row in rows if row["insert"] == "copy"]
    order = [(row["capacity"], row["policy"], row["admission"], row["device"]) for row in rows]
    assert order == [
        (capacity, policy, admission, device)
        for capacity in (0, 2, 3)
        for policy in ("lru", "cflru:window_pages=1")
        for admission in ("always", "write-around")
        for device in ("hdd", "scm:ratio=1")
    ]
    assert list(rows[0])[: len(CONTRACT)] == CONTRACT
    assert list(rows[0]) == list(schema("filecache"))
    assert all(row["misses"] == row["admitted"] + row["bypassed"] for row in rows)


@pytest.mark.usefixtures("block_trace")
def test_always_counts_what_simulate_counts(clockhand: Clockhand) -> None:
    cached = clockhand(
        "filecache", "block.trace", "--capacity", "3,50%", "--policy", "lru,clock,craw",
        "--device", "slc-nand", "--format", "json",
    )  # fmt: skip
    simulated = clockhand(
        "simulate", "block.trace", "--frames", "3", "--policy", "lru", "--policy", "clock",
        "--policy", "craw", "--device", "slc-nand", "--format", "json",
    )  # fmt: skip
    expected = [(row["hits"], row["misses"]) for row in json.loads(simulated.out)]
    assert [(row["hits"], row["misses"]) for row in json.loads(cached.out)] == expected * 2


@pytest.mark.usefixtures("block_trace")
def test_the_table_ends_with_whether_a_cache_pays(clockhand: Clockhand) -> None:
    run = clockhand(
        "filecache", "block.trace", "--capacity", "50%", "--admission", "all", "--device",
        "hdd,scm:ratio=1,scm:ratio=1", "--break-even", "--stack-share", "0",
    )  # fmt: skip
    assert (run.code, run.err) == (0, "")
    text = run.out.decode()
    assert "After how many hits caching a block pays" in text
    assert "On hdd a cache pays for block.trace:" in text
    assert "On scm:ratio=1 no cache pays for block.trace:" in text
    assert "however often a block is hit, caching it does not pay." in text


def test_break_even_needs_no_trace(clockhand: Clockhand) -> None:
    run = clockhand(
        "filecache", "--break-even", "--device", "hdd,scm:ratio=1", "--page-size", "4KiB,64KiB",
        "--insert", "half,scm:ratio=2", "--format", "json",
    )  # fmt: skip
    assert (run.code, run.err) == (0, "")
    rows = json.loads(run.out)
    assert list(rows[0]) == list(schema("break-even"))
    known = [
        (row["device"], row["block_bytes"], row["insert"], row["required_hits"]) for row in rows
    ]
    # A read of scm:ratio=2 takes two hits: h > 2 / 0.3.
    assert known == [
        (device, block_bytes, insert, hits)
        for block_bytes in (4096, 65536)
        for device, counts in (("hdd", (1, 1)), ("scm:ratio=1", (2, 7)))
        for insert, hits in zip(("half", "scm:ratio=2"), counts, strict=True)
    ]
    assert rows[2]["bypass_time_us"] == pytest.approx(4.16)
    assert rows[2]["admit_time_us"] == pytest.approx(5.76)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--capacity", "x"], "--capacity 'x' is not a capacity".replace("'", '"')),
        (["--capacity", "0%"], "is not a capacity"),
        (["--capacity", "5", "--admission", "secnd-touch"], 'did you mean "second-touch"?'),
        (["--capacity", "5", "--admission", "z*"], "matches nothing; there are: always"),
        (["--capacity", "5", "--admission", "tinylfu", "--policy", "clock"], "use fifo, lru"),
        (["--capacity", "5", "--policy", "bound:effort=3"], "--policy bound takes no effort"),
        (["--capacity", "5", "--admission", "belady"], "use --policy min with belady"),
        (["--capacity", "5", "--reuse", "0"], "--reuse 0 is out of range"),
        (["--capacity", "5", "--insert", "thrice"], "give half, copy, storage, all, or a device"),
        (["--capacity", "5", "--insert", "half", "--insert-ns", "3"], "give one of them"),
        (["--capacity", "5", "--device", "scm:ratio=1/2"], "is below 1; give a number from 1"),
        (["--capacity", "5", "--history", "0"], "--history 0 is out of range"),
        (["--capacity", "5", "--admit-after", "-1"], "--admit-after -1 is out of range"),
        (["--capacity", "5", "--insert-ns", "-1"], "--insert-ns -1 is out of range"),
        (["--capacity", "5", "--stack-share", "-1"], "--stack-share"),
        (["--capacity", "5", "--writes", "dear"], "give free or cost"),
        (["--capacity", "5", "--page-size", "3000"], "--page-size"),
        (["--capacity", "5", "--device", "hdd,,"], "names nothing at one place"),
        ([], "no capacity is given"),
    ],
)
def test_what_cannot_be_run_is_refused(
    clockhand: Clockhand, block_trace: Path, arguments: list[str], part: str
) -> None:
    run = clockhand("filecache", block_trace.name, *arguments, "--device", "hdd")
    assert_one_sentence(run)
    assert run.code == 2
    assert part in run.err


def test_a_run_without_trace_or_device_says_what_is_missing(clockhand: Clockhand) -> None:
    run = clockhand("filecache", "--device", "hdd", "--capacity", "5")
    assert (run.code, "no trace is given" in run.err) == (2, True)
    run = clockhand("filecache", "--break-even")
    assert (run.code, "no device is given" in run.err) == (2, True)
    run = clockhand("filecache", "some.csv")
    assert "no device is given, and no capacity" in run.err
    run = clockhand("filecache", "--break-even", "--device", "hdd", "--report", "x.html")
    assert (run.code, "--report and --plots show a trace" in run.err) == (2, True)


def test_findings_say_which_admission_saves_most() -> None:
    run = clockhand.filecache(
        loop(), capacity="1%,2%", admissions="all", devices=["hdd", "scm:ratio=1"]
    )
    sentences = findings(run.rows, run.facts)
    on_hdd = [sentence for sentence in sentences if sentence.startswith("On hdd")]
    assert "a cache pays for loop" in on_hdd[0]
    assert "less than always for loop" in on_hdd[1]


def test_a_report_has_every_figure_and_row(tmp_path: Path) -> None:
    run = clockhand.filecache(
        [loop(), trace_of(TOUCHES)],
        capacity="1%,2%,50%",
        admissions="all",
        policies="lru,fifo",
        devices=["hdd", "scm:ratio=1"],
        page_size="4KiB,8KiB",
    )
    run.write_report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    # Hits that pay, a hit ratio and a time on each device, or at one size a table of the last
    # three; a ranking for each device where sizes differ.
    groups = run.rows.partition_by("trace", "block_bytes")
    assert all(group["required_hits"].n_unique() > 1 for group in groups)
    several = sum(group["capacity"].n_unique() > 1 for group in groups)
    assert page.count("<figure ") == several * (1 + 1 + 2) + (4 - several) * (1 + 1) + 2 * (
        several + 1
    )
    assert "<h1>A file cache pays" in page
    assert page.count("<tr><td") >= min(run.rows.height, SHOWN_ROWS)
    run = clockhand.filecache(loop(), capacity="1%,2%", devices="hdd,scm:ratio=1")
    run.write_plots(tmp_path / "plots")
    names = {path.name for path in (tmp_path / "plots").iterdir()}
    keys = ("required-hits", "hit-ratio", "time-hdd", "time-scm-ratio-1", "time_hdd_ranking",
            "time_hdd_heat_map", "time_scm-ratio-1_ranking",
            "time_scm-ratio-1_heat_map")  # fmt: skip
    assert names == {f"{key}.{suffix}" for key in keys for suffix in ("svg", "png")}


def test_no_cache_that_knows_the_future_beats_the_bound(tmp_path: Path) -> None:
    run = clockhand.filecache(
        loop(), capacity="1%,2%", policies="min,bound", admissions="always,belady",
        devices="scm:ratio=1,hdd", insert="half,copy",
    )  # fmt: skip
    bounds = run.rows.filter(policy="bound")
    assert bounds["admission"].to_list() == [None] * 2 * 2 * 2
    least = bounds.select("capacity", "device", "insert", least="time_us", most="hits")
    beside = run.rows.filter(policy="min").join(least, on=["capacity", "device", "insert"])
    assert beside.height == 2 * 2 * 2 * 2
    assert (beside["least"] <= beside["time_us"]).all() and (beside["most"] >= beside["hits"]).all()
    belady = run.rows.filter(admission="belady", device="scm:ratio=1")
    assert set(belady["admission_resolved"]) == {"belady:reuse=2", "belady:reuse=4"}
    sentences = findings(run.rows, run.facts)
    assert any(
        sentence.startswith("On scm:ratio=1 (insertion: half) no cache of")
        for sentence in sentences
    )
    run.write_report(tmp_path / "report.html")
    assert "bound" in (tmp_path / "report.html").read_text()


def test_a_disk_seeks_once_for_a_record_of_several_blocks() -> None:
    addresses = np.array([0, 0, 8 * 4096], dtype=np.uint64)
    sizes = np.array([8 * 4096, 8 * 4096, 4096], dtype=np.uint32)
    trace = clockhand.Trace.from_arrays([False] * 3, addresses, sizes, name="records")
    (row,) = clockhand.filecache(trace, capacity=8, devices="hdd").rows.to_dicts()
    assert (row["hits"], row["misses"]) == (8, 9)
    seek_us, page_us, stack_us, hit_us = 34_700 / 3, 20.48, 0.3 * 3.2, 3.2
    misses_us = 2 * seek_us + 9 * (page_us + stack_us)
    assert row["time_us"] == pytest.approx(misses_us + 9 * hit_us + 8 * hit_us, rel=1e-12)
    without_us = 3 * seek_us + 17 * (page_us + stack_us)
    assert row["time_without_cache_us"] == pytest.approx(without_us, rel=1e-12)


def hits_of_lru(blocks: list[int], capacity: int, touches: int) -> int:
    """LRU that admits a block with this many earlier references, written down plainly."""
    cached: OrderedDict[int, None] = OrderedDict()
    seen: Counter[int] = Counter()
    hits = 0
    for block in blocks:
        if block in cached:
            hits += 1
            cached.move_to_end(block)
        elif seen[block] >= touches:
            if len(cached) == capacity:
                cached.popitem(last=False)
            cached[block] = None
        seen[block] += 1
    return hits


def test_the_web_server_s_trace_has_the_hits_of_a_plain_lru() -> None:
    requests = pl.read_parquet(WEB, columns=["address", "size"]).rows()
    blocks = [
        block
        for address, size in requests
        for block in range(address // 4096, (address + size - 1) // 4096 + 1)
    ]
    run = clockhand.filecache(
        WEB, capacity="100,400,1202", admissions="always,second-touch", devices="hdd"
    )
    for row in run.rows.to_dicts():
        touches = int(row["admission"] == "second-touch")
        assert row["hits"] == hits_of_lru(blocks, row["capacity"], touches), row["capacity"]
    assert run.rows["references"][0] == len(blocks) == 52_341


def test_times_are_written_in_units_that_suit_them() -> None:
    shown = [time_text(time_us) for time_us in (0.25, 3.2, 4500, 2.5e6, 1.2e8)]
    assert shown == ["250 ns", "3.2 µs", "4.5 ms", "2.5 s", "120 s"]
