"""What is drawn in grey behind the figures of reproductions: the papers' own numbers and curves."""

import json
from typing import Any

import polars as pl
import pytest

from clockhand import UsageError
from clockhand.report.appearance import PAGE
from clockhand.report.panel_lines import Lines, lines_chart
from clockhand.reproduce import printed
from clockhand.reproduce.figures import kernel_bars, lines
from clockhand.reproduce.measures.cflru import KERNELS
from clockhand.reproduce.printed import check_printed
from clockhand.reproduce.printed import printed as drawn_behind

PANEL = {
    "title": "I/O time", "x": "memory (%)", "y": "relative", "x_of": "memory_share",
    "x_factor": 100, "y_of": "io_time_us", "over": "clock", "at": "{frames} frames",
    "series": ["clock", "craw"],
}  # fmt: skip
CURVE = {"says": "CRAW", "of": "gedit", "points": [[10, 0.9], [25.5, 0.6], [80, 0.5]], "error": 0.1}


def rows(trace: str) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"trace": trace, "policy": policy, "frames": frames, "memory_share": frames / 100,
             "io_time_us": time}
            for policy, time in (("clock", 10.0), ("craw", 8.0))
            for frames in (10, 50)
        ]
    )  # fmt: skip


def layers(shown: Lines, own: int) -> dict[str, dict[str, Any]]:
    """The layers of a panel by their marks; grey, and as many looks of ours."""
    looks = [(PAGE.muted, (1, 0)), *((color, (1, 0)) for color in PAGE.series[:own])]
    spec = json.loads(json.dumps(lines_chart(shown, "p", looks)))
    return {layer["mark"]["type"]: layer["encoding"] for layer in spec["layer"]}


def test_a_digitised_curve_is_grey_with_a_band_as_wide_as_its_error() -> None:
    [(_, [shown])] = lines([{**PANEL, "paper": [CURVE]}], rows("gedit"))
    assert shown.series == ("paper: CRAW", "clock", "craw"), "it is behind ours"
    curve = [record for record in shown.records if record["series"] == "paper: CRAW"]
    assert [(it["x"], it["y"]) for it in curve] == [(10, 0.9), (25.5, 0.6), (80, 0.5)]
    assert [it["low"] for it in curve] == pytest.approx([0.8, 0.5, 0.4])
    assert [it["high"] for it in curve] == pytest.approx([1.0, 0.7, 0.6])
    drawn = layers(shown, own=2)
    assert set(drawn) == {"area", "line", "point"}
    band = drawn["area"]
    assert (band["y"]["field"], band["y2"]["field"]) == ("low", "high")
    assert band["color"]["scale"]["range"][0] == PAGE.muted
    assert drawn["line"]["color"]["scale"]["range"][0] == PAGE.muted


def test_a_curve_of_another_trace_is_not_there_and_no_band_is_drawn() -> None:
    [(_, [shown])] = lines([{**PANEL, "paper": [CURVE]}], rows("freecell"))
    assert shown.series == ("clock", "craw") and set(layers(shown, own=2)) == {"line", "point"}


def test_a_digitised_bar_has_a_rule_as_long_as_its_error() -> None:
    cells = pl.DataFrame(
        [
            {"trace": "t", "workload": "gcc", "frames": 4096, "policy": policy, "read_ahead": ahead,
             "read_ios": 100, "write_ios": 10}
            for policy, ahead in KERNELS.values()
        ]
    )  # fmt: skip
    panel = {
        "title": "t", "x": "kernel", "y": "pages", "ahead": "file:3-31", "without": "none",
        "bars": {"read": [1, 0]},
        "paper": [{"says": "read", "of": "gcc", "at": "static", "y": 90, "error": 5}],
    }  # fmt: skip
    [(_, [shown])] = kernel_bars([panel], cells)
    [bar] = [record for record in shown.records if record["series"] == "paper: read"]
    assert (bar["at"], bar["low"], bar["high"]) == ("static", 85, 95)
    assert set(layers(shown, own=1)) == {"bar", "rule"}


def test_lines_and_places_reach_from_end_to_end_of_ours() -> None:
    ours = [{"x": 1, "y": 5, "at": "a"}, {"x": 4, "y": 2, "at": "b"}]
    panel = {"paper": [{"says": "h", "y": 3}, {"says": "v", "x": 2, "of": "w"}]}
    found = [(it["x"], it["y"]) for it in drawn_behind(panel, ours, "t", "w")]
    assert found == [(1, 3), (4, 3), (2, 2), (2, 5)]
    assert len(drawn_behind(panel, ours, "t", "other")) == 2
    assert drawn_behind(panel, [], "t", "w") == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"error": None}, "error of reading is missing"),
        ({"error": -0.1}, "below 0"),
        ({"error": 0.5}, "below 0"),
        ({"points": [[80, 0.5], [10, 0.9]]}, "left to right"),
        ({"points": [[10, 0.5], [10, 0.9]]}, "left to right"),
        ({"points": []}, "left to right"),
        ({"points": [[10, 0.5, 1]]}, "not pairs"),
        ({"points": [["ten", 0.5]]}, "not a number"),
        ({"points": [[float("nan"), 0.5]]}, "not a number"),
        ({"y": 0.5}, "several things"),
        ({"points": None}, "nothing that can be drawn"),
        ({"says": None}, "not a text"),
        ({"of": 3}, "not a text"),
        ({"colour": "red"}, "'colour' is unknown"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_its_place(
    change: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {key: value for key, value in {**CURVE, **change}.items() if value is not None}
    panel = {**PANEL, "logarithmic": True, "paper": [entry]}
    report = {"figure": [{"key": "figure-12", "panel": [panel]}]}
    monkeypatch.setattr(printed, "packaged_content", lambda paper, name: report)
    with pytest.raises(UsageError, match=f"report.toml: figure-12, 'I/O time', .*{told}"):
        check_printed("craw")


@pytest.mark.parametrize("paper", ["craw", "cflru", "scm", "clock-dnv"])
def test_what_the_files_say_can_be_drawn(paper: str) -> None:
    check_printed(paper)
