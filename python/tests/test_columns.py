"""The columns of rows: declared in the engine, documented, and what commands print."""

import errno
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import clockhand
from clockhand import _engine
from clockhand.study.columns import ColumnParts, page, rows_as_columns, schema
from clockhand.study.policies import kind_in_rows

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_columns_is_what_the_engine_declares() -> None:
    assert (ROOT / "docs/columns.md").read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("study", _engine.columns())
def test_every_column_has_a_type(study: str) -> None:
    assert all(issubclass(kind, pl.DataType) for kind in schema(study).values())


KINDS = {"name": "text", "count": "u64", "share": "f64", "is_known": "bool"}


def parts() -> list[dict[str, Any]]:
    """Arrays of more rows than a group of a file has, no rows, lists, and a value for all."""
    rows = 70_000
    counts = np.arange(rows, dtype=np.uint64) * 3 % 1000 + 2**63
    shares = np.arange(rows) / 7
    shares[[0, 8191, 8192, 65_536]] = np.nan
    none = np.empty(0, dtype=np.uint64)
    few = {"name": ["é", None, ""], "count": [None, 0, 2**64 - 1], "share": [0.1, None, -0.0]}
    return [
        {"name": "a", "count": counts, "share": shares, "is_known": None},
        {"name": "b", "count": none, "share": None, "is_known": True},
        {**few, "is_known": [True, None, False]},
        {"name": None, "count": 5, "share": [1.5, 2.5], "is_known": False},
    ]


def written(table: ColumnParts) -> io.BytesIO:
    """Return a table as Parquet, at its beginning."""
    file = io.BytesIO()
    table.write_parquet(file)
    file.seek(0)
    return file


def test_the_engine_writes_the_rows_of_which_polars_makes_a_table() -> None:
    table = ColumnParts(KINDS, parts()).table()
    assert (table.height, table["share"].null_count()) == (70_005, 5)
    read = pl.read_parquet(written(ColumnParts(KINDS, parts())))
    assert_frame_equal(read, table, check_exact=True)


@pytest.mark.parametrize("chosen", [[], *[[part] for part in parts()]])
def test_every_reader_sees_the_types_that_polars_writes(chosen: list[dict[str, Any]]) -> None:
    columns, by_polars = ColumnParts(KINDS, chosen), io.BytesIO()
    columns.table().write_parquet(by_polars)
    seen = [pq.read_table(file) for file in (written(columns), by_polars)]
    assert seen[0].equals(seen[1])


def test_rows_that_are_mappings_keep_what_is_not_a_number() -> None:
    rows = [{"share": float("nan"), "name": "x"}, {"share": None, "name": None}]
    kinds = {"name": "text", "share": "f64"}
    read = pl.read_parquet(written(rows_as_columns(kinds, rows)))
    expected = pl.DataFrame(rows, schema={"name": pl.String, "share": pl.Float64})
    assert_frame_equal(read, expected)


def test_groups_of_rows_are_small_enough_to_be_encoded_in_little_memory() -> None:
    groups = pq.read_metadata(written(ColumnParts(KINDS, parts()))).to_dict()["row_groups"]
    assert [group["num_rows"] for group in groups] == [65_536, 4_469]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_the_error_of_the_file() -> None:
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(OSError, match="No space") as raised,
    ):
        ColumnParts(KINDS, parts()).write_parquet(full)
    assert raised.value.errno == errno.ENOSPC


def test_columns_of_unequal_length_are_refused() -> None:
    part = {"name": ["a", "b"], "count": np.zeros(3, dtype=np.uint64)}
    with pytest.raises(ValueError, match="of 2 and of 3 rows"):
        written(ColumnParts({"name": "text", "count": "u64"}, [part]))


def test_the_kind_of_a_row_is_that_of_the_catalog() -> None:
    policies = [entry["name"] for entry in _engine.policies()]
    trace = clockhand.Trace.from_arrays(["R", "W"] * 50, [page % 7 * 4096 for page in range(100)])
    rows = clockhand.simulate(trace, policies=policies, frames=3, bound_effort=0).rows
    told = dict(rows.select("policy", "kind").iter_rows())
    assert told == {name: kind_in_rows(name) for name in policies}
    assert set(told.values()) == {"bits", "access", "offline", "bound"}
    can_run = ["clock", "lru", "min"]
    for others in (
        clockhand.pagecache(trace, policies=can_run, frames=3).rows,
        clockhand.translate(trace, policies=can_run, frames=3, ratio=10).rows,
        clockhand.filecache(trace, policies=can_run, capacity="3", devices="hdd").rows,
    ):
        assert set(others.select("policy", "kind").iter_rows()) == {
            ("clock", "bits"), ("lru", "access"), ("min", "offline"),
        }  # fmt: skip


def as_text(table: ColumnParts, format: str) -> bytes:
    """Return a table as the engine writes it."""
    file = io.BytesIO()
    {"json": table.write_json, "csv": table.write_csv}[format](file)
    return file.getvalue()


@pytest.mark.parametrize("chosen", [[], parts(), *[[part] for part in parts()]])
def test_the_engine_writes_the_text_that_the_libraries_write(chosen: list[dict[str, Any]]) -> None:
    columns = ColumnParts(KINDS, chosen)
    table = columns.table()
    assert as_text(columns, "csv").decode() == table.write_csv()
    expected = json.dumps(table.to_dicts(), indent=1, ensure_ascii=False) + "\n"
    assert as_text(columns, "json").decode() == expected


def test_numbers_and_texts_of_any_kind_are_written_as_the_libraries_do() -> None:
    draw = random.Random(5)
    numbers = [0.0, -0.0, 1e-5, 9.9e-6, 1e-4, 9.9e-5, 1e16, 9.9e15, 5e-324, 1.5e300, float("inf")]
    # Between 10^13 and 2^53 two texts may be as short and as close as each other.
    scales = [*range(-30, 13), *range(17, 30)]
    numbers += [draw.uniform(-1, 1) * 10.0 ** draw.choice(scales) for _ in range(3000)]
    texts = ["", " ", 'x"y', "a,b", "l\nm", "c\rd", "\t\b\f\x01\x7f", "\\", "\N{SNOWMAN}", "a'b"]
    rows = [{"n": number, "t": draw.choice(texts), "m": None} for number in numbers]
    columns = rows_as_columns({"n": "f64", "t": "text", "m": "u64"}, rows)
    assert as_text(columns, "csv").decode() == columns.table().write_csv()
    expected = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    assert as_text(columns, "json").decode() == expected
    names = rows_as_columns({'a,"b': "u64"}, [{'a,"b': 1}])
    assert as_text(names, "csv") == b'"a,""b"\n1\n'
    assert json.loads(as_text(names, "json")) == [{'a,"b': 1}]
