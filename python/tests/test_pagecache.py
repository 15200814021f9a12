"""Page caches: the command, the library, tables and reports."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clockhand
from clockhand.studies.pagecache.findings import findings
from clockhand.studies.pagecache.run import run_pagecache
from clockhand.study.columns import schema

EVENTS = """\
# object f1: /var/log/the log
@0 length f1 8192
@0 cw f1 0 100
@1 mw a1 0 8
@1 mw a1 4096 8
@2 cr f1 4096 100
@4 sync f1
@5 cw f1 8192 4096
@6 mr a1 0 8
@9 truncate f1 8192
@9 dr f1 0 8192
@12 release a1
"""
FIRST_COLUMNS = [
    "trace",
    "policy",
    "frames",
    "page_bytes",
    "device",
    "references",
    "read_references",
    "write_references",
    "hits",
    "misses",
    "read_misses",
    "write_misses",
    "read_ios",
    "write_ios",
    "clean_evictions",
    "dirty_evictions",
    "io_time_us",
    "energy_uj",
    "anon_read_ios",
    "anon_write_ios",
    "file_read_ios",
    "file_write_ios",
    "zero_fills",
    "blind_fills",
    "readahead_ios",
    "readahead_unused",
    "sync_writes",
    "flusher_writes",
    "dropped_dirty",
    "dropped_clean",
    "direct_read_ios",
    "direct_write_ios",
    "dirty_pages_peak",
    "dirty_pages_mean",
    "dirty_age_max",
]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A small trace of events."""
    path = tmp_path / "work.events"
    path.write_text(EVENTS)
    return path


def rows_of(output: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(output)
    return rows


def test_the_rows_have_the_columns_of_the_contract(clockhand: Any, events: Path) -> None:
    run = clockhand(
        "pagecache", events, "--policy", "lru", "--policy", "min", "--frames", "2,9", "--format",
        "json",
    )  # fmt: skip
    assert run.code == 0, run.err
    rows = rows_of(run.out)
    assert list(rows[0])[: len(FIRST_COLUMNS)] == FIRST_COLUMNS
    assert [(row["policy"], row["frames"]) for row in rows] == [
        ("lru", 2), ("min", 2), ("lru", 9), ("min", 9),
    ]  # fmt: skip
    roomy = rows[2]
    assert (roomy["references"], roomy["hits"], roomy["misses"]) == (6, 1, 5)
    assert (roomy["read_ios"], roomy["zero_fills"], roomy["blind_fills"]) == (2, 2, 1)
    assert (roomy["write_ios"], roomy["sync_writes"]) == (1, 1)
    assert (roomy["dropped_dirty"], roomy["dropped_clean"]) == (3, 0)
    assert (roomy["direct_read_ios"], roomy["dirty_age_max"]) == (2, 4.0)


def test_the_flusher_and_both_devices(clockhand: Any, events: Path) -> None:
    run = clockhand(
        "pagecache", events, "--policy", "lru", "--frames", "9", "--device", "unit",
        "--file-device", "cflru-nand:erase=true", "--flush-every", "3s", "--format", "json",
    )  # fmt: skip
    assert run.code == 0, run.err
    [row] = rows_of(run.out)
    assert row["flusher_writes"] == 2
    assert row["anon_write_ios"] == 0
    assert row["flusher"] == "every=3s,age=0s"
    assert (row["device"], row["file_device"]) == ("unit", "cflru-nand:erase=true")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--read-ahead", "file:3"], "give pages with 1 <= MIN <= MAX"),
        (["--read-ahead", "swap:3"], "give a power of two"),
        (["--flush-age", "5s"], "--flush-age needs a flusher; add --flush-every"),
        (["--flush-every", "5"], "give seconds of trace time such as 5s"),
        (["--flush-every", "5s", "--flush-age", "3r"], "have different units"),
        (["--flush-every", "5s", "--dirty-limit", "2"], "is no share"),
        (["--first-touch", "maybe"], "neither zero nor read"),
        (["--zero-clean", "maybe"], "neither drop nor read"),
        (["--policy", "bound"], "the bound is not known for page caches"),
        (["--policy", "crow"], "did you mean"),
    ],
)
def test_wrong_options_are_one_sentence(
    clockhand: Any, events: Path, options: list[str], sentence: str
) -> None:
    run = clockhand("pagecache", events, "--policy", "lru", "--frames", "2", *options)
    assert (run.code, run.out) == (2, b"")
    assert sentence in run.err
    assert len(run.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "options", "sentence", "code"),
    [
        ("cr f1 0 5\ncr f1 0\ncr f1 0 5\n", [], "line 2: the line ends before the size", 1),
        ("cr f1 9223372036854775808 5\n", ["--trace-format", "events"], "beyond byte 2^63", 1),
        ("cr f1 0 5\nsync f2\n", [], "line 2: the line syncs a file that no event before", 1),
        ("mr a1 0 5\n", ["--read-ahead", "file:3-31"], "has no files to read ahead", 2),
        ("cr f1 0 5\n", ["--flush-every", "5s"], "the trace has no times", 2),
    ],
)
def test_bad_traces_are_one_sentence(
    clockhand: Any, tmp_path: Path, text: str, options: list[str], sentence: str, code: int
) -> None:
    path = tmp_path / "bad.events"
    path.write_text(text)
    run = clockhand("pagecache", path, "--policy", "lru", "--frames", "2", *options)
    assert (run.code, run.out) == (code, b"")
    assert sentence in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_a_time_that_runs_back_is_named(clockhand: Any, tmp_path: Path) -> None:
    path = tmp_path / "back.events"
    path.write_text("@5 cr f1 0 5\n@4 cr f1 0 5\n@6 cr f1 0 5\n")
    run = clockhand("pagecache", path, "--policy", "lru", "--frames", "2")
    assert run.code == 0
    assert "1 times run back, the first at event 2" in run.err


def test_other_commands_name_what_they_leave_out(clockhand: Any, events: Path) -> None:
    run = clockhand("simulate", events, "--policy", "lru", "--frames", "2", "--format", "json")
    assert run.code == 0, run.err
    assert rows_of(run.out)[0]["references"] == 6
    assert "lengths of files (1), syncs (1), truncations (1), O_DIRECT reads (1)" in run.err


def test_info_shows_files_and_events(clockhand: Any, events: Path) -> None:
    run = clockhand("trace", "info", events)
    assert run.code == 0, run.err
    for words in (
        "(/var/log/the log)",
        "1 reads, 2 writes; file, 8,192 bytes at the end",
        "(a1)",
        "1 reads, 2 writes; anonymous",
        "1 lengths of files, 1 syncs, 1 truncations, 1 O_DIRECT reads, 1 releases of memory",
    ):
        assert words in run.out.decode()


def test_conversion_keeps_every_event(clockhand: Any, events: Path, tmp_path: Path) -> None:
    table, text = tmp_path / "work.parquet", tmp_path / "again.events"
    for source, target in ((events, table), (table, text)):
        run = clockhand("trace", "convert", source, target)
        assert run.code == 0, run.err
        assert "lost" not in run.err
    lines = [line for line in text.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == len(EVENTS.splitlines()) - 1
    results = [
        clockhand(
            "pagecache", path, "--policy", "lru", "--frames", "2", "--format", "json"
        ).out.replace(str(path).encode(), b"")
        for path in (events, table, text)
    ]
    assert results[0] == results[1] == results[2]


def test_a_plain_trace_counts_as_in_simulate(clockhand: Any, textbook: Path) -> None:
    options = ("--policy", "lru", "--policy", "clock", "--frames", "3", "--format", "json")
    cached = rows_of(clockhand("pagecache", textbook, *options, "--first-touch", "read").out)
    simulated = rows_of(clockhand("simulate", textbook, *options).out)
    for row, expected in zip(cached, simulated, strict=True):
        for column in ("misses", "read_ios", "write_ios", "io_time_us", "policy_resolved"):
            assert row[column] == expected[column]


def test_the_library_gives_rows_and_what_stands_out(events: Path) -> None:
    rows = clockhand.pagecache(str(events), policies=["lru", "clock"], frames=[2, 9]).rows
    assert rows.schema == pl.Schema(schema("pagecache"))
    sentences = findings(rows)
    assert any(
        text.startswith("All policies take the same I/O time") and "with 9 frames" in text
        for text in sentences
    )
    assert any("a power failure" in text for text in sentences)


def test_the_report_and_the_pictures(events: Path, tmp_path: Path) -> None:
    run = run_pagecache(str(events), policies=["lru", "cflru", "min"], frames="2,3,9")
    assert run.facts["command"].startswith("clockhand pagecache ")
    page = tmp_path / "report.html"
    plots = tmp_path / "plots"
    plots.mkdir()
    for path, content in run.report_files(page, plots).items():
        path.write_bytes(content)
    html = page.read_text()
    for words in ("Clockhand report on page caches", "I/O time (ms)", "What became of dirty pages"):
        assert words in html
    assert {path.name for path in plots.iterdir()} >= {"io_time.svg", "reasons.png"}


def test_the_title_is_about_all_memory_sizes(events: Path, tmp_path: Path) -> None:
    several = run_pagecache(str(events), policies=["clock", "cflru"], frames="2,3,9")
    one = run_pagecache(str(events), policies=["clock", "cflru"], frames="3")
    titles = []
    for run in (several, one):
        run.report(tmp_path / "report.html")
        titles += re.findall("<h1.*?>(.*)</h1>", (tmp_path / "report.html").read_text())
    assert titles[0] == "None needs less I/O time than clock on work.events"
    assert titles[1].endswith(" with 3 frames")


def test_the_table_for_people_leaves_out_what_did_not_happen(clockhand: Any, events: Path) -> None:
    run = clockhand("pagecache", events, "--policy", "lru", "--frames", "2,9")
    assert run.code == 0
    assert "by syncs" in run.out.decode()
    assert "by flusher" not in run.out.decode()
