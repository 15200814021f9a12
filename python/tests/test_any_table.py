"""Tables of which the user names the columns, and several files as one trace."""

import json
from pathlib import Path

import polars as pl
import pytest

import clockhand
from clockhand import Trace, UsageError
from conftest import Clockhand, assert_one_sentence

LOG = "when_ms;cmd;lba;nsect;vm\n1;RD;8;8;a\n2;WS;16;8;b\n3;RD;8;8;a\n"
WORDS = {
    "sep": ";",
    "op": "cmd",
    "address": "lba*512",
    "size": "nsect*512",
    "time": "when_ms:ms",
    "stream": "vm",
    "read": "RD",
    "write": ["W", "WS"],
}
TEXT = (
    "csv:sep=;,op=cmd,address=lba*512,size=nsect*512,time=when_ms:ms,stream=vm,read=RD,write=W|WS"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.txt"
    path.write_text(LOG)
    return path


def test_a_table_is_read_by_its_columns_in_the_command(clockhand: Clockhand, log: Path) -> None:
    run = clockhand("trace", "info", log, "--trace-format", TEXT)
    assert run.code == 0, run.err
    out = run.out.decode()
    assert "reads 4,096 bytes at byte 4,096, stream a, at 0.001 s" in out
    [row] = json.loads(
        clockhand("trace", "info", log, "--trace-format", TEXT, "--format", "json").out
    )
    assert (row["requests"], row["write_requests"], row["streams"]) == (3, 1, 2)


def test_the_error_of_an_unknown_table_offers_the_line(clockhand: Clockhand, log: Path) -> None:
    run = clockhand("trace", "info", log)
    assert run.code == 1
    assert_one_sentence(run)
    assert "csv:sep=;,header=yes,op=cmd,read=WORDS,write=WORDS,address=lba*512" in run.err


def test_columns_are_named_by_the_same_words_in_python(log: Path) -> None:
    for format in (TEXT, WORDS):
        info = Trace(log, format=format).info(watch=False)
        assert (info["requests"], info["write_requests"], info["span_ns"]) == (3, 1, 2_000_000)
    rows = clockhand.simulate(log, policies="lru", frames="1", trace_format=WORDS).rows
    assert rows["references"].to_list() == [3]


def test_columns_are_named_by_the_same_words_in_an_experiment(
    clockhand: Clockhand, log: Path, tmp_path: Path
) -> None:
    head = (
        'question = "x"\nexpected = "y"\ntraces = ["log.txt"]\npolicies = ["lru"]\nframes = [1]\n'
    )
    table = "[trace_format]\n" + "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in WORDS.items()
    )
    for name, text in (
        ("table", head + table),
        ("text", head + f"trace_format = {json.dumps(TEXT)}\n"),
    ):
        (tmp_path / f"{name}.toml").write_text(text)
        run = clockhand("sweep", f"{name}.toml")
        assert run.code == 0, run.err


def test_a_mistake_in_the_notation_is_wrong_usage(clockhand: Clockhand, log: Path) -> None:
    run = clockhand("trace", "info", log, "--trace-format", "csv:op=cmd,address=lba,time=when_ms")
    assert run.code == 2
    assert "time=when_ms:s" in run.err


def test_data_frames_take_the_names_and_words_of_csv() -> None:
    frame = pl.DataFrame(
        {
            "Operation": ["read", "WRITE", "r"],
            "offset": [0, 4096, 0],
            "bytes": [4096, 4096, 8],
            "disk": ["sda", "sdb", "sda"],
            "time_ms": [0.5, 1.0, 2.0],
        }
    )
    info = Trace.from_table(frame).info(watch=False)
    assert (info["requests"], info["write_requests"], info["streams"]) == (3, 1, 2)
    assert info["span_ns"] == 1_500_000
    with pytest.raises(UsageError, match="neither R nor W"):
        Trace.from_table({"op": ["X"], "address": [0]})


def test_malformed_lines_are_counted_in_rows(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("op,address,size\n" + "R,0,4096\nW,4096,4096\n" * 4 + "X,0,1\n")
    asked = ("t.csv", "--format", "json", "--quiet")
    commands = (
        ("simulate", *asked, "--policy", "lru", "--frames", "2"),
        ("filecache", *asked, "--policy", "lru", "--capacity", "2", "--device", "hdd"),
        ("pagecache", *asked, "--policy", "lru", "--frames", "2"),
        ("translate", *asked, "--frames", "2"),
        ("ssd", *asked, "--buffer", "fab:total=2", "--ssd", "small", "--precondition", "none"),
    )
    for command in commands:
        run = clockhand(*command)
        assert run.code == 0, run.err
        assert json.loads(run.out)[0]["skipped_requests"] == 1, command


def test_files_as_one_trace_are_merged_by_time_or_follow_one_another(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    for name, times in (("0", (1, 3)), ("1", (2, 4))):
        lines = "".join(f"R,{4096 * time},4096,sda,{time}\n" for time in times)
        (tmp_path / "a" / f"{name}.csv").write_text("op,address,size,stream,time_s\n" + lines)
    for order, is_sorted in (("time", True), ("files", False)):
        info = Trace.joined([tmp_path / "a"], order=order).info(watch=False)
        assert (info["requests"], info["streams"], info["sorted_by_time"]) == (4, 1, is_sorted)
    run = clockhand("trace", "info", "a/0.csv", "a/1.csv", "--as-one", "--format", "json")
    [row] = json.loads(run.out)
    assert (row["requests"], row["footprint_pages"]) == (4, 4)
    run = clockhand("trace", "info", "a/0.csv", "a/1.csv")
    assert run.code == 2 and "--as-one" in run.err
    run = clockhand(
        "simulate", "a", "--as-one", "--policy", "lru", "--frames", "2", "--format", "json"
    )
    assert json.loads(run.out)[0]["references"] == 4


def test_programs_share_a_memory_in_turns(clockhand: Clockhand, tmp_path: Path) -> None:
    for name, op in (("a", "R"), ("b", "W")):
        lines = "".join(f"{op},{4096 * page},4096,{page}\n" for page in range(4))
        (tmp_path / f"{name}.csv").write_text("op,address,size,time_s\n" + lines)
    mix = ("a.csv", "b.csv", "--as-one", "--order", "turns:2")
    run = clockhand("simulate", *mix, "--policy", "lru", "--frames", "4", "--format", "json")
    [row] = json.loads(run.out)
    # Pages of equal addresses are those of two programs.
    assert (row["references"], row["footprint_pages"], row["hits"]) == (8, 8, 0)
    assert "in turns of 2 requests" in run.err
    assert clockhand("trace", "convert", *mix, "mix.csv").code == 0
    lines = [line for line in (tmp_path / "mix.csv").read_text().splitlines() if line[0] != "#"]
    columns = lines[0].split(",")
    streams = [line.split(",")[columns.index("stream")] for line in lines[1:]]
    assert streams == ["0", "0", "1", "1"] * 2 and "time" not in lines[0]
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    orders = ("turns:2", "turns:3", "files")
    known = {Trace.joined(files, order=order).info(watch=False)["sha256"] for order in orders}
    assert len(known) == 3
    for order in ("turns:0", "turns", "round"):
        run = clockhand("trace", "info", *mix[:4], order)
        assert run.code == 2 and "turns:1000" in run.err, order


OBJECTS = "0,k,set,100,10\n5,k,get,100,0\n100,k,get,100,0\n100,big,set,9000,0\n101,big,get,9000,0\n"
OF_OBJECTS = "csv:header=no,time=1:s,object=2,op=3,size=4,ttl=5:s"


def test_a_file_cache_heeds_objects_and_other_studies_say_what_they_leave_out(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    path = tmp_path / "kv.txt"
    path.write_text(OBJECTS + "102,big,delete,,\n103,big,get,9000,0\n")
    words = [path, "--trace-format", OF_OBJECTS, "--format", "json"]
    run = clockhand(
        "filecache", *words, "--capacity", "10", "--admission", "always", "--device", "hdd"
    )
    [row] = json.loads(run.out)
    # k hits once and has run out; the three blocks of big hit, and are gone after the delete.
    assert (row["references"], row["hits"], row["footprint_blocks"]) == (12, 4, 4)
    assert (row["dropped_dirty"], row["dropped_clean"]) == (4, 0)
    assert "1 deletes" in run.err and "(TTL) had run out" in run.err
    run = clockhand("simulate", *words, "--policy", "lru", "--frames", "10")
    [row] = json.loads(run.out)
    assert (row["references"], row["hits"]) == (6, 4)
    assert "deletes (1)" in run.err and "an object that has expired still hits" in run.err


def test_the_error_of_an_unknown_table_of_objects_offers_their_keys(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    path = tmp_path / "kv.txt"
    path.write_text(OBJECTS)
    run = clockhand("trace", "info", path)
    assert run.code == 1 and "op=3,object=COLUMN" in run.err
