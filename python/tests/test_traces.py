"""`clockhand.Trace`, `clockhand trace info` and `clockhand trace convert`."""

import copy
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import clockhand
import clockhand.traces
from clockhand import (
    ClockhandError,
    Trace,
    UsageError,
    convert_traces,
    locality,
    recommend,
    simulate,
)
from conftest import TEXTBOOK_PAGES, Clockhand, assert_one_sentence, os_course

PAGES = np.array(TEXTBOOK_PAGES)
LACKEY = "==7== lackey\nI  00001000,4\n L 00002000,8\n S 00002ffc,8\n M 00004000,4\n"
COUNTS = ("requests", "read_requests", "write_requests", "references", "footprint_pages")


def rows_of(trace: Trace | Path) -> pl.DataFrame:
    return simulate(trace, policies=["lru", "craw", "min"], frames=[2, 3]).rows.drop("trace")


def counts(trace: Trace | Path) -> list[Any]:
    info = (trace if isinstance(trace, Trace) else Trace(trace)).info()
    return [info[name] for name in COUNTS]


@pytest.mark.parametrize(
    "op",
    [
        PAGES % 2 == 1,
        (PAGES % 2 == 1).tolist(),
        np.where(PAGES % 2, "W", "R"),
        np.where(PAGES % 2, b"w", b"r"),
        pl.Series(["RW"[page % 2] for page in TEXTBOOK_PAGES]),
    ],
    ids=["booleans", "list", "letters", "bytes", "series"],
)
def test_arrays_give_the_rows_of_the_same_trace_in_a_file(op: Any, textbook: Path) -> None:
    trace = Trace.from_arrays(op, PAGES * 4096)
    assert trace.name == "arrays"
    assert_frame_equal(rows_of(trace), rows_of(textbook))


def test_equal_addresses_of_two_streams_are_different_pages() -> None:
    together = Trace.from_arrays([False] * 4, [0, 0, 4096, 0])
    apart = Trace.from_arrays([False] * 4, [0, 0, 4096, 0], stream=[0, 1, 0, 1])
    assert together.info()["footprint_pages"] == 2
    info = apart.info()
    assert (info["footprint_pages"], info["streams"]) == (3, 2)


def test_a_request_touches_every_page_of_its_bytes() -> None:
    info = Trace.from_arrays(["R", "W"], [4095, 8192], [2, 4096], time_ns=[5, 1_000_005]).info()
    assert (info["references"], info["footprint_pages"]) == (3, 3)
    assert (info["span_ns"], info["sorted_by_time"]) == (1_000_000, True)
    assert Trace.from_arrays(["R"], [0], [8192]).info(page_size="8KiB")["references"] == 1


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"op": ["R"], "address": [0, 1]}, "column op has 1 rows and address has 2"),
        ({"op": ["R", "X"], "address": [0, 1]}, "column op, row 1: 'X'"),
        ({"op": [0, 1], "address": [0, 1]}, "column op, row 0: '0'"),
        ({"op": [[True]], "address": [0]}, "column op is not a one-dimensional array"),
        ({"op": ["R"], "address": [-1]}, "column address has values outside 0 to"),
        ({"op": ["R"], "address": [0.5]}, "column address is not a one-dimensional array of whole"),
        ({"op": ["R"], "address": [0], "size": [2**32]}, "column size has values outside"),
        ({"op": ["R"], "address": [0], "stream": [0, 1]}, "column stream has 2 rows"),
    ],
)
def test_columns_that_do_not_fit_are_named(columns: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Trace.from_arrays(**columns)


def test_arrays_without_a_request_are_an_error() -> None:
    for trace in (Trace.from_arrays([], []), Trace.from_arrays(["R"], [0], [0])):
        with pytest.raises(ClockhandError, match="no request"):
            simulate(trace, policies="lru", frames=1)


def test_an_address_near_the_end_of_the_address_space_is_no_panic() -> None:
    trace = Trace.from_arrays(["R"], [2**64 - 1], [4096])
    with pytest.raises(ClockhandError):
        trace.info()


def test_csv_and_parquet_of_a_data_frame_are_traces(tmp_path: Path) -> None:
    frame = pl.DataFrame({"op": ["R", "W", "R"], "address": [0, 4096, 0], "size": [512, 8192, 512]})
    frame.write_csv(tmp_path / "trace.csv")
    frame.write_parquet(tmp_path / "trace.parquet")
    expected = [3, 2, 1, 4, 3]
    assert counts(tmp_path / "trace.csv") == counts(tmp_path / "trace.parquet") == expected


def test_info_is_a_table_for_people_and_a_row_for_programs(
    clockhand: Clockhand, textbook: Path
) -> None:
    table = clockhand("trace", "info", textbook.name)
    assert (table.code, table.err) == (0, "")
    for words in ("os-course", "20: 11 reads, 9 writes", "6 pages, 0.02344 MiB", "no times"):
        assert words in table.out.decode()
    run = clockhand("trace", "info", textbook.name, "--page-size", "8KiB", "--format", "json")
    (row,) = json.loads(run.out)
    assert (row["trace"], row["format"], row["footprint_pages"]) == (textbook.name, "os-course", 4)
    csv = clockhand("trace", "info", textbook.name, "--format", "csv")
    assert pl.read_csv(csv.out)["requests"].to_list() == [20]
    parquet = clockhand("trace", "info", textbook.name, "--format", "parquet")
    assert pl.read_parquet(io.BytesIO(parquet.out))["requests"].to_list() == [20]


def test_a_converted_trace_gives_the_same_counts_and_rows(
    clockhand: Clockhand, textbook: Path
) -> None:
    run = clockhand("trace", "convert", textbook.name, "out.parquet", "--label", "synthetic=yes")
    assert (run.code, run.out, run.err) == (0, b"", "out.parquet: 20 requests as parquet\n")
    converted = textbook.with_name("out.parquet")
    assert counts(converted) == counts(textbook)
    assert_frame_equal(rows_of(converted), rows_of(textbook))
    labels = dict(Trace(converted).info()["labels"])
    assert labels["synthetic"] == "yes"
    assert labels["made by"].startswith("clockhand trace convert textbook.trace out.parquet")
    table = clockhand("simulate", "out.parquet", "--policy", "lru", "--frames", "3").out.decode()
    assert "out.parquet (synthetic): 20 references" in table


def test_several_traces_become_one_timeline_with_streams(
    clockhand: Clockhand, textbook: Path
) -> None:
    textbook.with_name("other.trace").write_text(os_course([1, 2]))
    run = clockhand("trace", "convert", textbook.name, "other.trace", textbook.name, "all.parquet")
    assert (run.code, run.err) == (0, "all.parquet: 42 requests as parquet\n")
    info = Trace(textbook.with_name("all.parquet")).info()
    assert (info["streams"], info["footprint_pages"]) == (3, 6 + 2 + 6)


def test_arrays_are_converted_with_their_times(tmp_path: Path) -> None:
    trace = Trace.from_arrays(["R", "W"], [0, 4096], [512, 512], time_ns=[10, 20])
    (report,) = convert_traces(trace, tmp_path / "out.parquet")["traces"]
    assert report["requests"] == 2
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert written["time_ns"].to_list() == [10, 20]
    assert written["op"].cast(pl.String).to_list() == ["R", "W"]


def test_a_conversion_needs_traces(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a conversion needs traces"):
        convert_traces([], tmp_path / "out.parquet")


def test_a_cpu_cache_stands_only_behind_processor_accesses(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    # The same line is loaded 100 times: memory sees it once.
    (tmp_path / "accesses").write_text(" L 00001000,4\n" * 100)
    (tmp_path / "blocks.csv").write_text("op,address,size\nR,0,4096\n")
    run = clockhand("trace", "convert", "--cpu-cache", "accesses", "out.parquet")
    assert (run.code, run.err.splitlines()[-1]) == (0, "out.parquet: 1 requests as parquet")
    assert Trace(tmp_path / "accesses", cpu_cache=True).info()["requests"] == 1
    assert Trace(tmp_path / "accesses").info()["requests"] == 100
    refused = clockhand("trace", "convert", "--cpu-cache", "blocks.csv", "blocks.parquet")
    assert_one_sentence(refused)
    assert refused.code == 1
    assert not (tmp_path / "blocks.parquet").exists()


def test_lackey_counts_a_modification_as_a_read_and_a_write(tmp_path: Path) -> None:
    (tmp_path / "accesses").write_text(LACKEY)
    info = Trace(tmp_path / "accesses").info()
    assert (info["format"], info["requests"]) == ("lackey", 5)
    # The store crosses into the next page.
    assert (info["read_references"], info["write_references"]) == (3, 3)


@pytest.mark.parametrize(
    "use",
    [
        lambda trace, **words: Trace(trace, **words),
        lambda trace, **words: Trace(trace).part(**words),
        lambda trace, **words: simulate(trace, policies="lru", frames=3, **words),
        lambda trace, **words: locality(Trace(trace), **words),
        lambda trace, **words: recommend(trace, frames=3, **words),
    ],
    ids=["trace", "part", "simulate", "locality", "recommend"],
)
def test_a_misspelt_keyword_is_refused(textbook: Path, use: Callable[..., object]) -> None:
    """Once it was ignored, so that the whole trace was simulated."""
    use(textbook, limit=5)
    with pytest.raises(TypeError, match=r"no keyword argument 'limits'; did you mean 'limit'\?"):
        use(textbook, limits=5)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_traces_are_copied_and_pickled(
    textbook: Path, copied: Callable[[clockhand.Trace], clockhand.Trace]
) -> None:
    trace = clockhand.Trace(textbook, format="os-course", limit=10)
    arrays = clockhand.Trace.from_arrays(["R", "W"], [0, 4096], [512, 512])
    made = clockhand.synthesize("uniform:footprint=1MiB", requests=50, seed=3)
    assert isinstance(made, clockhand.Trace)
    for one in (trace, arrays, made, trace.part(only="writes", skip=1), arrays.part(limit=1)):
        other = copied(one)
        assert other is not one
        assert other.info() == one.info() and other.name == one.name


def test_a_table_is_taken_where_a_trace_is(textbook: Path) -> None:
    columns = {"op": ["R", "W", "R"], "address": [0, 4096, 0], "size": [512, 512, 512]}
    expected = clockhand.Trace.from_arrays(*columns.values()).info()
    for table in (pl.DataFrame(columns), pl.LazyFrame(columns), pandas.DataFrame(columns)):
        [trace] = clockhand.traces.as_traces(table)
        assert trace.info() == expected and trace.name == "table"
    rows = clockhand.simulate(pl.DataFrame(columns), policies="clock", frames="1").rows
    assert rows["references"].to_list() == [3]
    with pytest.raises(clockhand.UsageError, match="the DataFrame has no column 'op', only page"):
        clockhand.simulate(pl.DataFrame({"page": [1]}), policies="clock", frames="1")


def test_a_memory_limit_refuses_what_would_take_more(textbook: Path) -> None:
    huge = textbook.with_name("huge.csv")
    huge.write_text("op,address,size\n" + "".join(f"W,{n << 33},4294967295\n" for n in range(40)))
    trace = clockhand.Trace(huge, memory_limit="64MiB")
    with pytest.raises(clockhand.ClockhandError, match="more than the memory limit of 64MiB"):
        clockhand.simulate(trace, policies="clock", frames="3")
    with pytest.raises(clockhand.ClockhandError, match=r"raise Trace\(\.\.\., memory_limit"):
        trace.info()
