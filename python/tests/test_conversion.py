"""`clockhand trace convert` to every format, parts of traces, and operations that are assumed."""

import json
import struct
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import clockhand as library
from clockhand import ClockhandError, Trace, UsageError, convert_traces, run_simulation
from conftest import Clockhand, assert_one_sentence

EXCERPTS = Path(__file__).resolve().parents[2] / "crates/trace/tests/excerpts"
SPC = "".join(
    f"{index % 3},{index * 8},{4096 * (1 + index % 2)},{'w' if index % 4 == 0 else 'R'},{index}.5\n"
    for index in range(30)
)
ORACLE = b"".join(struct.pack("<IQIq", second, 7 + second % 3, 4096, -1) for second in range(9))
DRIVE = ("--ssd", "small", "--map", "compact")
SUMS = ("requests", "read_requests", "write_requests", "read_bytes", "written_bytes", "streams")


@pytest.fixture
def spc(tmp_path: Path) -> Path:
    """A block trace of 30 requests and three units."""
    path = tmp_path / "blocks.spc"
    path.write_text(SPC)
    return path


def counts(path: Path, format: str | None = None) -> list[Any]:
    info = Trace(path, format=format).info()
    return [info[name] for name in SUMS]


def writable() -> list[str]:
    names = library.formats().filter(pl.col("writes") != "no")["writes"]
    return [target for cell in names for target in cell.split(", ")]


def test_polars_and_duckdb_see_in_our_parquet_what_info_tells(spc: Path) -> None:
    out = spc.with_name("out.parquet")
    convert_traces(spc, out)
    query = f"""select count(*), count(*) filter (op = 'R'), count(*) filter (op = 'W'),
        sum(size) filter (op = 'R'), sum(size) filter (op = 'W'), count(distinct stream),
        max(time_ns) - min(time_ns), sum(address) from '{out}'"""
    (seen_by_duckdb,) = duckdb.sql(query).fetchall()
    rows = pl.read_parquet(out)
    reads, writes = (rows.filter(pl.col("op").cast(pl.String) == op) for op in "RW")
    seen_by_polars = (
        len(rows),
        len(reads),
        len(writes),
        reads["size"].sum(),
        writes["size"].sum(),
        rows["stream"].n_unique(),
        rows["time_ns"].max() - rows["time_ns"].min(),  # type: ignore[operator]
        rows["address"].sum(),
    )
    columns = [name for name, *_ in duckdb.sql(f"describe from '{out}'").fetchall()]
    assert columns == rows.columns == ["op", "address", "size", "stream", "time_ns"]
    assert seen_by_duckdb == seen_by_polars
    assert list(seen_by_polars[:6]) == counts(spc) == counts(out)
    assert seen_by_polars[6] == Trace(out).info()["span_ns"] == 29 * 10**9


@pytest.mark.parametrize("target", writable())
def test_every_writable_format_holds_the_reads_and_writes_of_a_stream(
    spc: Path, target: str
) -> None:
    out = spc.with_name("out.zst") if target != "parquet" else spc.with_name("out")
    if target == "ramulator":
        with pytest.raises(ClockhandError, match="request 0 writes without a read before it"):
            convert_traces(Trace(spc, streams=[0]), out, to=target)
        assert not out.exists()
        return
    converted = convert_traces(Trace(spc, streams=[0]), out, to=target)
    assert converted["format"] == target
    format = next(row["name"] for row in library.formats().to_dicts() if target in row["writes"])
    info = Trace(out, format=format).info()
    whole = Trace(spc, streams=[0]).info()
    for name in ("references", "read_references", "write_references", "footprint_pages"):
        assert info[name] == whole[name], name


@pytest.mark.parametrize("log", ["fio-iolog.log", "etw.csv", "blkparse.txt"])
def test_a_block_log_as_text_of_events_is_read_again(
    clockhand: Clockhand, tmp_path: Path, log: str
) -> None:
    excerpt = EXCERPTS / log
    run = clockhand("trace", "convert", excerpt, "text.events", "--to", "events")
    assert run.code == 0, run.err
    assert "flushes of what is no file are written as `sync *`, of all" in run.err
    rows = [
        clockhand("ssd", trace, "--buffer", "lru:total=1MiB", *DRIVE, "--format", "json")
        for trace in (excerpt, "text.events")
    ]
    assert [row.code for row in rows] == [0, 0], rows
    before, after = (json.loads(row.out)[0] for row in rows)
    assert {**before, "trace": ""} == {**after, "trace": ""}


def test_the_ending_tells_format_and_compression(clockhand: Clockhand, spc: Path) -> None:
    run = clockhand("trace", "convert", spc.name, "out.tencent.gz")
    assert run.code == 0
    assert run.err.splitlines() == [
        "out.tencent.gz: 30 times are cut to whole seconds",
        "out.tencent.gz: labels are lost: made by",
        "out.tencent.gz: 30 requests as tencent",
    ]
    out = spc.with_name("out.tencent.gz")
    assert out.read_bytes()[:2] == b"\x1f\x8b"
    # Its times begin at 0, which the format's own never do: such a file is named.
    assert counts(out, "tencent") == counts(spc)


def test_labels_of_a_trace_stay_with_it(clockhand: Clockhand, spc: Path) -> None:
    assert (
        clockhand("trace", "convert", spc.name, "a.parquet", "--label", "synthetic=zipf").code == 0
    )
    assert clockhand("trace", "convert", "a.parquet", "b.csv").code == 0
    assert clockhand("trace", "convert", "b.csv", "c.parquet").code == 0
    pairs = Trace(spc.with_name("c.parquet")).info()["labels"]
    labels = dict(pairs)
    assert labels["synthetic"] == "zipf"
    assert labels["made by"] == "clockhand trace convert b.csv c.parquet"
    assert {value for key, value in pairs if key == "made from"} == {
        "clockhand trace convert blocks.spc a.parquet --label synthetic=zipf",
        "clockhand trace convert a.parquet b.csv",
    }
    lost = clockhand("trace", "convert", "b.csv", "d.spc").err
    assert "d.spc: labels are lost: made by, made from, synthetic" in lost


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("blocks.spc out.trace", 2, "--to"),
        ("blocks.spc out", 2, "traces can be written as alibaba"),
        ("blocks.spc out --to champsim", 2, "can be read and not written"),
        ("blocks.spc out --to spcc", 2, 'did you mean "spc"?'),
        ("blocks.spc out.parquet.gz", 2, "compressed inside"),
        ("blocks.spc out.lackey", 1, "--streams"),
        ("odd.csv out.tencent", 1, "request 1 begins at byte 4097"),
        ("blocks.spc out.csv --only rites", 2, "reads"),
        ("blocks.spc out.csv --streams 5-3", 2, "such as 0,3-5"),
        ("blocks.spc out.csv --skip -1", 2, "skip"),
        ("blocks.spc out.csv --skip 99", 1, "none of the 30 requests"),
        ("objects.bin out.csv", 1, "--assume-reads"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_leaves_nothing(
    clockhand: Clockhand, spc: Path, arguments: str, code: int, words: str
) -> None:
    spc.with_name("odd.csv").write_text("op,address,size\nR,0,512\nW,4097,100\n")
    spc.with_name("objects.bin").write_bytes(ORACLE)
    before = sorted(spc.parent.iterdir())
    run = clockhand("trace", "convert", *arguments.split())
    assert_one_sentence(run)
    assert (run.code, words in run.err) == (code, True), run.err
    assert sorted(spc.parent.iterdir()) == before


def test_odd_requests_are_widened_when_asked(clockhand: Clockhand, spc: Path) -> None:
    spc.with_name("odd.csv").write_text("op,address,size\nR,0,512\nW,4097,100\n")
    run = clockhand("trace", "convert", "odd.csv", "out.tencent", "--widen")
    assert "out.tencent: 1 requests were widened to units of 512 bytes" in run.err
    assert "the trace has no times: requests are written 1 µs apart" in run.err
    assert spc.with_name("out.tencent").read_text() == "0,0,1,0,0\n0,8,1,1,0\n"


def test_info_lists_streams_and_what_they_are(clockhand: Clockhand, spc: Path) -> None:
    table = " ".join(clockhand("trace", "info", spc.name).out.decode().split())
    for words in ("3, by ASU", "stream 0 7 reads, 3 writes", "stream 2 8 reads, 2 writes"):
        assert words in table
    text = "".join(f"1,srv,{disk},Read,0,512,0\n" for disk in range(20))
    spc.with_name("volumes").write_text(text)
    named = " ".join(clockhand("trace", "info", "volumes").out.decode().split())
    for words in ("20, by volume", "stream 15 (srv_15) 1 reads", "other streams 4"):
        assert words in named
    assert "(srv_16)" not in named
    (row,) = json.loads(clockhand("trace", "info", spc.name, "--format", "json").out)
    assert row["stream_counts"].startswith("stream 0: 7 reads, 3 writes; stream 1: 7 reads")


def test_a_part_is_chosen_first_and_counted_then(clockhand: Clockhand, spc: Path) -> None:
    part = ["--streams", "0,2", "--only", "reads", "--skip", "2", "--limit", "5"]
    table = clockhand("trace", "info", spc.name, *part).out.decode()
    assert "5: 5 reads, 0 writes" in table
    assert "a part of the trace: 5 of 30 requests; 15 are left out by operation or stream" in table
    run = clockhand("trace", "convert", spc.name, "part.csv", *part)
    assert "a part of the trace: 5 of 30" in run.err
    addresses = pl.read_csv(spc.with_name("part.csv"), comment_prefix="#")["address"]
    chosen = [index for index in range(30) if index % 3 != 1 and index % 4 != 0][2:7]
    assert addresses.to_list() == [index * 8 * 512 for index in chosen]
    info = Trace(spc).part(streams="0,2", only="reads", skip=2, limit=5).info()
    assert (info["requests"], info["left_out_requests"]) == (5, 25)
    assert info["sha256"] == Trace(spc).check()["sha256"]


def test_a_simulation_of_a_part_says_so_in_facts_and_command(
    clockhand: Clockhand, spc: Path
) -> None:
    simulation = run_simulation(
        spc, policies="lru", frames=2, only="writes", streams=[0, 1], limit=4
    )
    assert simulation.rows["references"].item() == 4
    (trace,) = simulation.facts["traces"]
    (note,) = (note for note in trace["notes"] if note.startswith("a part of the trace"))
    assert any(note in warning for warning in simulation.warnings)
    command = simulation.facts["command"]
    assert "--only writes --streams 0,1 --limit 4" in command
    run = clockhand(*command.split()[1:], "--format", "json")
    assert run.code == 0 and note in run.err
    assert json.loads(run.out)[0]["references"] == 4


def test_a_part_of_arrays_is_a_part(tmp_path: Path) -> None:
    trace = Trace.from_arrays(["R", "W", "R"], [0, 4096, 8192]).part(skip=1)
    assert trace.info()["requests"] == 2
    assert trace.part(limit=1).info()["write_requests"] == 1
    with pytest.raises(UsageError, match='only "both" is unknown'):
        trace.part(only="both")
    with pytest.raises(UsageError, match="limit -1 is out of range"):
        trace.part(limit=-1)


def test_operations_are_assumed_only_when_asked(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "objects.bin").write_bytes(ORACLE)
    simulate = ["simulate", "objects.bin", "--policy", "lru", "--frames", "2", "--format", "json"]
    refused = clockhand(*simulate)
    assert_one_sentence(refused)
    assert (refused.code, "--assume-reads" in refused.err) == (1, True)
    run = clockhand(*simulate, "--assume-reads")
    assert json.loads(run.out)[0]["read_references"] == 9
    assert "9 requests of which the trace tells no operation are taken as reads" in run.err
    assert Trace(tmp_path / "objects.bin", assume_reads=True).info()["assumed_reads"] == 9
    simulation = run_simulation(
        tmp_path / "objects.bin", policies="lru", frames=2, assume_reads=True
    )
    assert simulation.facts["command"].endswith("--assume-reads")
