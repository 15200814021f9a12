"""Ranges of parameters through the executable: rows, figures, predicted windows, other studies."""

import json
from pathlib import Path

import pytest

from clockhand.study.ranges import each_value
from clockhand.sweep import read_experiment
from conftest import Clockhand, os_course


def _rows(run_output: bytes) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(run_output)
    return rows


def _trace(folder: Path) -> Path:
    path = folder / "t.trace"
    path.write_text(os_course([page * 7 % 13 for page in range(300)]))
    return path


def test_a_range_is_a_row_per_value_in_every_study_of_policies(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    trace = _trace(tmp_path)
    expected = ["cflru:window_share=0", "cflru:window_share=1/2", "cflru:window_share=1", "lru"]
    text = "cflru:window_share=0..1/2,lru"
    for command in (
        ("simulate", trace, "--policy", text, "--frames", "6"),
        ("pagecache", trace, "--policy", text, "--frames", "6"),
        ("translate", trace, "--policy", text, "--frames", "6", "--tlb", "4"),
        ("filecache", trace, "--policy", text, "--capacity", "6", "--device", "hdd"),
    ):
        run = clockhand(*command, "--format", "json")
        assert run.code == 0, run.err
        policies = list(dict.fromkeys(row["policy"] for row in _rows(run.out)))
        assert policies == expected, command[0]


def test_the_report_draws_cost_against_the_window(clockhand: Clockhand, tmp_path: Path) -> None:
    trace = _trace(tmp_path)
    for command in ("simulate", "pagecache"):
        others = "min,lru" if command == "pagecache" else "min,lru,bound"
        run = clockhand(
            command, trace, "--policy", f"cflru:window_pages=0..6,{others}", "--frames", "6,8",
            *("--report", "r.html", "--plots", "plots", "--format", "json"),
        )  # fmt: skip
        assert run.code == 0, run.err
        page = (tmp_path / "r.html").read_text()
        assert "I/O time of cflru against window_pages" in page
        assert "(predicted " in page
        drawn = [path.name for path in (tmp_path / "plots").iterdir()]
        assert any("io-time-window" in name for name in drawn), drawn


def test_a_range_that_is_none_is_refused_in_one_sentence(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    trace = _trace(tmp_path)
    run = clockhand("simulate", trace, "--policy", "cflru:window_share=1..0/20", "--frames", "6")
    assert (run.code, run.out) == (2, b"")
    assert "runs backwards; give FROM..TO/STEPS" in run.err


@pytest.mark.parametrize(
    ("text", "values"),
    [("0.1..0.5/2", ["1/10", "3/10", "1/2"]), ("1/4..1/2/2", ["1/4", "3/8", "1/2"])],
)
def test_ends_of_a_range_are_decimal_numbers_or_fractions(text: str, values: list[str]) -> None:
    expanded = each_value("policy", f"cflru:window_share={text}")
    assert expanded == [f"cflru:window_share={value}" for value in values]


def test_a_sweep_takes_ranges(tmp_path: Path) -> None:
    _trace(tmp_path)
    path = tmp_path / "e.toml"
    path.write_text(
        'question = "Which window?"\nexpected = "Some."\ntraces = ["t.trace"]\nframes = [6]\n'
        'policies = ["cflru:window_pages=1..3", { craw = { c = "8..9" } }]\n'
    )
    windows = [f"cflru:window_pages={pages}" for pages in (1, 2, 3)]
    assert read_experiment(path).policies == (*windows, "craw:c=8", "craw:c=9")


@pytest.mark.parametrize("study", ["pages", "pagecache"])
def test_a_dataset_s_report_draws_the_predicted_window_of_each_setting(
    study: str, clockhand: Clockhand, tmp_path: Path
) -> None:
    _trace(tmp_path)
    sizes = 'page_sizes = ["512", "4KiB"]'
    (tmp_path / "e.toml").write_text(
        'question = "Which window?"\nexpected = "Some."\ntraces = ["t.trace"]\n'
        f'[{study}]\nframes = [6, 8]\n{sizes}\npolicies = ["cflru:window_pages=0..6", "lru"]\n'
    )
    run = clockhand("sweep", "e.toml", "--html", "sweep.html")
    assert run.code == 0, run.err
    again = clockhand("sweep", "e.toml", "--html", "again.html")
    assert "0 cells computed now" in again.err
    report = clockhand("report", "datasets/e", "--html", "report.html")
    assert report.code == 0, report.err
    alone = 0
    for size in ("512", "4KiB"):
        name = {"pages": "simulate"}.get(study, study)
        one = clockhand(
            name, "t.trace", "--policy", "cflru:window_pages=0..6,lru", "--frames", "6,8",
            *("--page-size", size, "--report", "r.html"),
        )  # fmt: skip
        assert one.code == 0, one.err
        alone += (tmp_path / "r.html").read_text().count("(predicted ")
    assert alone > 0
    for page in ("sweep.html", "again.html", "report.html"):
        assert (tmp_path / page).read_text().count("(predicted ") == alone, page
