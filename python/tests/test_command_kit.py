"""What all commands share: --quiet, progress for logs, columns of numbers, lists as data."""

import io
import json
import re
import time
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from clockhand.command.pages import for_people
from clockhand.command.progress import Lines
from clockhand.command.tables import print_table, show_all_columns
from clockhand.study.policies import called
from clockhand.study.progress import seconds_left, terminal_bar
from conftest import Clockhand
from report_example import example_rows

TRACE = "op,address,size\n" + "W,0,4096\nR,4096,4096\nR,8192,0\n" * 3


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(TRACE)
    return path


def test_a_quiet_command_prints_its_result_and_no_note(clockhand: Clockhand, trace: Path) -> None:
    asked = ("simulate", trace, "--policy", "clock", "--frames", "1", "--format", "csv")
    loud, quiet = clockhand(*asked), clockhand(*asked, "--quiet")
    assert "size 0" in loud.err
    assert (quiet.code, quiet.err, quiet.out) == (0, "", loud.out)


def test_a_quiet_command_prints_its_error(clockhand: Clockhand) -> None:
    run = clockhand("simulate", "none.csv", "--policy", "clock", "--frames", "1", "--quiet")
    assert run.code == 1
    assert run.err.startswith("clockhand: none.csv: ")


def test_every_list_is_data_too(clockhand: Clockhand) -> None:
    kinds = {
        "policies": {"policy", "write buffer", "tier policy"},
        "devices": {"device", "flash drive", "tiers"},
        "formats": {"trace format"},
    }
    for command, expected in kinds.items():
        run = clockhand(command, "--format", "json")
        assert run.code == 0
        rows = json.loads(run.out)
        assert {row["what"] for row in rows} == expected
        assert all(row["name"] for row in rows)


def test_the_list_of_recipes_is_data_too(clockhand: Clockhand) -> None:
    run = clockhand("trace", "synthesize", "--list", "--format", "json")
    assert {"name", "summary", "stands_for"} <= set(json.loads(run.out)[0])
    run = clockhand(
        "trace", "synthesize", "uniform:footprint=1MiB", "o.parquet", "--format", "json"
    )
    assert run.code == 2
    assert "--format is for --list" in run.err


def test_a_page_of_text_has_no_format(clockhand: Clockhand) -> None:
    run = clockhand("policies", "craw", "--format", "json")
    assert run.code == 2
    assert "--format is for the list, and craw has a page of text" in run.err


def printed(rows: pl.DataFrame) -> str:
    text = io.StringIO()
    print_table("t", rows, Console(file=text, width=200))
    return text.getvalue()


def test_the_numbers_of_a_column_have_as_many_decimals_each() -> None:
    text = printed(pl.DataFrame({"a": [0.0123, 12.5, None], "b": [1.5, 1234.0, 2.25]}))
    assert [line.split()[0] for line in text.splitlines()[4:7]] == ["0.0123", "12.5000", "–"]
    assert [line.split()[1] for line in text.splitlines()[4:7]] == ["1.500", "1,234.000", "2.250"]


def test_a_narrow_terminal_leaves_columns_out_and_says_which() -> None:
    columns = {name: [name * 9, "x"] for name in "abcdefgh"} | {"same": [1, 1]}

    def shown() -> str:
        text = io.StringIO()
        print_table("t", columns, Console(file=text, width=80, force_terminal=True))
        return re.sub("\x1b\\[[0-9;]*m", "", text.getvalue())

    narrow = shown()
    assert max(len(line) for line in narrow.splitlines()) <= 80
    assert "left out to fit: g, h, same 1; --wide shows all" in narrow
    show_all_columns(True)
    try:
        assert "h" * 9 in shown() and "left out" not in shown()
    finally:
        show_all_columns(False)
    assert "h" * 9 in printed(pl.DataFrame(columns)), "only terminals are narrow"


def test_headings_of_several_words_fit_a_narrow_terminal_too() -> None:
    columns = {"buffer": ["credit-clock:total=4MiB", "x"]}
    for name in ("pages", "hits %", "write hits %", "to flash", "clean", "batches", "NVM writes"):
        columns[name] = ["31,246", "1"]
    text = io.StringIO()
    print_table("t", columns, Console(file=text, width=80, force_terminal=True))
    shown = re.sub("\x1b\\[[0-9;]*m", "", text.getvalue())
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "left out to fit: batches, NVM writes; --wide shows all" in shown


def test_large_numbers_have_no_decimals_that_nobody_reads() -> None:
    text = printed(pl.DataFrame({"a": [1_371_086_781.4933333, 0.003]}))
    assert "1,371,086,781" in text and "781.4" not in text


def test_own_policies_are_called_by_their_class() -> None:
    assert called(["a/mine.py:Oldest", "clock"]) == {
        "a/mine.py:Oldest": "Oldest", "clock": "clock",
    }  # fmt: skip
    same = ["a/mine.py:Oldest", "b/mine.py:Oldest", "mine.py:clock"]
    assert called(same) == {name: name for name in same}
    text = printed(pl.DataFrame({"policy": ["a/mine.py:Oldest:depth=2"], "frames": [3]}))
    assert "Oldest:depth=2" in text and "mine.py" not in text


def test_memory_beyond_the_footprint_fits() -> None:
    rows = example_rows(policies=("clock",), sizes=(2048, 20_480, 30_000), with_bound=False)
    assert for_people(rows.to_dicts())["memory"] == ["10.0 %", "100.0 %", "fits"]


def test_the_time_left_is_told_as_soon_as_it_is_known() -> None:
    assert seconds_left(25, 100, 2.0) == 6.0
    assert seconds_left(100, 100, 2.0) == 0.0
    assert seconds_left(0, 100, 2.0) is None
    assert seconds_left(25, 0, 2.0) is None
    shown = io.StringIO()
    with terminal_bar(Console(file=shown, force_terminal=True, width=100)) as told:
        told("reading", 0, 0)
        told("reading", 1, 1000)
        told("reading", 10, 1000)
        time.sleep(0.2)
        told("reading", 11, 1000)
    assert "1%" in shown.getvalue() and " left" in shown.getvalue()
    assert "-:--" not in shown.getvalue()


def test_without_a_terminal_progress_is_a_line_every_ten_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = iter([0.0, 1.0, 5.0, 11.0, 15.0, 30.0, 41.0])
    lines = Lines(clock=lambda: next(now))
    for done in (1, 5, 11, 15, 30):
        lines.update("replaying", done, 60)
    lines.update("reading the trace", 1_000_000, 0)
    assert capsys.readouterr().err.splitlines() == [
        "replaying: 18 %, about 45 s left",
        "replaying: 50 %, about 29 s left",
        "reading the trace: 1,000,000",
    ]
