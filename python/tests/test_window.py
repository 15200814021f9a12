"""The window study: ``clockhand locality --rows window``."""

import json
from pathlib import Path

import pytest

from conftest import Clockhand


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A dirty page, a clean one, and a third that makes the first leave."""
    path = tmp_path / "three.csv"
    path.write_text("op,address,size\nW,0,1\nR,4096,1\nR,8192,1\n")
    return path


def test_a_clean_page_behind_a_dirty_one_makes_a_window(clockhand: Clockhand, trace: Path) -> None:
    run = clockhand("locality", trace, "--rows", "window", "--frames", "2", "--format", "json")
    assert run.code == 0, run.err
    rows = json.loads(run.out)
    assert [row["position"] for row in rows] == [1, 2]
    assert [row["future_reference_probability"] for row in rows] == [0.0, 0.0]
    assert [row["benefit_us"] for row in rows] == [0.0, 400.0]
    assert [row["predicted_window"] for row in rows] == [2, 2]


# A list of 2^31 positions took 17 GB and ended in an abort.
def test_there_are_no_more_positions_than_pages(clockhand: Clockhand, trace: Path) -> None:
    words = ("locality", trace, "--rows", "window", "--format", "json", "--frames")
    run = clockhand(*words, "4294967294")
    rows = json.loads(run.out)
    assert [(row["position"], row["benefit_us"]) for row in rows] == [(1, 0), (2, 0), (3, 0)]
    assert {row["frames"] for row in rows} == {4294967294}
    few = json.loads(clockhand(*words, "3").out)
    assert [{**row, "frames": 3} for row in rows] == few


def test_the_window_study_has_no_figures_and_needs_its_rows(
    clockhand: Clockhand, trace: Path
) -> None:
    options = ("--rows", "window", "--frames", "2", "--report", "window.html")
    for refused, sentence in (
        (clockhand("locality", trace, *options), "has no figures; leave --report"),
        (clockhand("locality", trace, "--frames", "2"), "add --rows window"),
        (clockhand("locality", trace, "--rows", "window"), "by --frames or by --memory"),
    ):
        assert (refused.code, refused.out) == (2, b"")
        assert sentence in refused.err
