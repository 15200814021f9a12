"""Charts of results in notebooks: each is drawn, saved and changed as Altair's own are."""

import copy
import functools
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair
import polars as pl
import pytest

import clockhand
from clockhand.report import figures
from clockhand.report.canvas import picture
from clockhand.report.reported import Reported
from clockhand.studies.locality.window import predict_window
from clockhand.studies.programs.comparison import PagedComparison
from clockhand.studies.programs.result import PagedRun
from clockhand.sweep import read_experiment, run_sweep
from programs_example import AGREEING, compared, courses, facts, rows_of, sampled, statistics
from test_library_calls import RESULTS, trace


def paged() -> PagedRun:
    """A program under a policy, sampled four times."""
    samples = sampled(
        *((float(at), {"references": 100 * at, "misses": 9 * at}) for at in (1, 2, 4))
    )
    rows = rows_of(statistics(), **AGREEING)
    return PagedRun(rows, samples.counts(), samples.gauges(), facts(), [], [], 0, False)


def comparison() -> PagedComparison:
    """A program under three policies."""
    runs = compared(("clock", 2.0, 30, 10), ("craw", 1.5, 40, 5), ("kernel", 1.0, 20, 9))
    return PagedComparison(runs, courses("clock", "craw", "kernel"), facts(), [], 0, False)


SEVERAL_SIZES: dict[str, Callable[[], Reported]] = {
    "bound": lambda: clockhand.run_simulation(
        trace(), policies="clock,craw,min,bound,opt-feasible", memory="1%..100%", bound_effort=0
    ),
    "samples": lambda: clockhand.run_simulation(
        trace(), policies="clock,lru", frames="8,16", sample=32
    ),
    "window": lambda: clockhand.run_simulation(
        trace(), policies=[f"cflru:window_pages={pages}" for pages in range(1, 5)], frames="4,8"
    ),
    "wear": lambda: clockhand.run_ssd(
        trace(),
        buffers="lru:total=8,lru:total=16,fab:total=64,fab:total=128",
        repeat="until-steady",
    ),
    "translate": lambda: clockhand.translate(
        trace(), frames="4,8", ratio=10, page_size="4KiB,8KiB", tlb="4,8"
    ),
    "two traces": lambda: clockhand.run_simulation(
        [trace(), trace(200)], policies="clock,lru", frames="4,8"
    ),
    "paged": paged,
    "comparison": comparison,
}
"""Results with more lines and kinds of figures than those of the other tests."""

ALL = RESULTS | SEVERAL_SIZES


@functools.cache
def made(name: str) -> Any:
    """A result, which all tests share: none of them changes it."""
    return (ALL | OTHERS)[name]()


@pytest.mark.parametrize("name", ALL)
def test_every_chart_of_every_study_is_drawn_and_saved(name: str, tmp_path: Path) -> None:
    """All charts with lines were blank: Altair gave the selection of a layer to all of them."""
    result = made(name)
    specifications, charts = result.specifications(), result.charts()
    assert list(charts) == list(specifications) and charts
    for place, (key, chart) in enumerate(charts.items()):
        # PNG and PDF are made of the same SVG: the first figures as both, the others in turn.
        for suffix in ("svg", *(("png", "pdf") if place == 0 else (("png", "pdf")[place % 2],))):
            chart.save(tmp_path / f"chart.{suffix}")
            assert (tmp_path / f"chart.{suffix}").stat().st_size > 1000, key
        drawn = (tmp_path / "chart.svg").read_text()
        figure = picture(specifications[key], "svg").decode()
        assert drawn.count("<path") == figure.count("<path") > 1, key


def test_a_chart_can_be_changed_as_any_of_altair(tmp_path: Path) -> None:
    chart = made("pages").chart("io_time")
    threshold = altair.Chart(altair.Data(values=[{"frames": 5}])).mark_rule().encode(x="frames:Q")
    changed: dict[str, Any] = {
        "zoomed": chart.interactive(),
        "sized": chart.properties(width=200, title="ours"),
        "configured": chart.configure_axis(grid=False),
        "with a rule": chart + threshold,
    }
    for name, altered in changed.items():
        altered.save(tmp_path / f"{name}.svg")
    assert "ours" in (tmp_path / "sized.svg").read_text()
    figures(made("pages").rows)["io_time"].save(tmp_path / "figure.svg")  # type: ignore[attr-defined]


def test_a_legend_fades_the_lines_that_are_not_clicked() -> None:
    drawn = made("pages").chart("io_time").to_dict()
    [selection] = drawn["params"]
    assert selection["bind"] == "legend"
    assert selection["views"] == [layer["name"] for layer in drawn["layer"] if "name" in layer]
    assert json.dumps(drawn["layer"]).count('"param": "highlight"') >= 2


OTHERS: dict[str, Callable[[], Any]] = {
    "recommendation": lambda: clockhand.recommend(trace(), frames=8),
    "gauges": lambda: clockhand.run_simulation(
        trace(), policies="craw", frames=8, gauge_every=5, watch=False
    ),
    "window prediction": lambda: predict_window(trace(), frames=8),
    "player": lambda: clockhand.watch_policies(trace(50), policies="clock", frames=3),
    "player of buffers": lambda: clockhand.watch_buffers(trace(50), buffers="fab:total=64"),
}


@pytest.mark.parametrize("name", [*ALL, *OTHERS])
def test_every_result_survives_pickling(name: str) -> None:
    """Results of `simulate` and `locality` held a function that no other process knows."""
    result = made(name)
    for kept in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert repr(kept) == repr(result)
        assert getattr(kept, "facts", None) == getattr(result, "facts", None)
        for table in ("rows", "gauges", "miss_curve", "summary"):
            if isinstance(rows := getattr(result, table, None), pl.DataFrame):
                assert rows.equals(getattr(kept, table)), table
        if isinstance(result, Reported):
            assert kept.specifications() == result.specifications()


def test_what_a_sweep_gives_survives_pickling(tmp_path: Path) -> None:
    clockhand.convert_traces(trace(100), tmp_path / "t.parquet")
    (tmp_path / "e.toml").write_text(
        'question = "q"\nexpected = "e"\ntraces = "t.parquet"\npolicies = "clock"\n'
        "frames = [2, 3]\n"
    )
    swept = run_sweep(read_experiment(tmp_path / "e.toml"))
    kept = pickle.loads(pickle.dumps(swept))
    assert kept.rows.equals(swept.rows)
    assert kept.reported().chart().to_dict() == swept.reported().chart().to_dict()
    assert pickle.loads(pickle.dumps(swept.reported())).rows.equals(swept.reported().rows)


def test_a_result_says_its_answer_and_offers_what_is_of_use() -> None:
    result = made("pages")
    assert repr(result).startswith("Simulation of 6 rows: ")
    assert "I/O time" in repr(result) and "\n" not in repr(result)
    assert repr(result).partition(": ")[2].rstrip(".") in result._repr_html_()
    assert {"rows", "facts", "chart", "write_report"} <= set(dir(result))
    assert not {"compared_by", "records", "report_files", "specifications"} & set(dir(result))
    assert {"simulate", "Trace", "__version__"} <= set(dir(clockhand))
    assert not {"TYPE_CHECKING", "importlib", "_PLACES"} & set(dir(clockhand))


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_told_in_one_line(name: str) -> None:
    told = repr(made(name))
    assert " row" in told and "\n" not in told and len(told) < 600


def test_a_recommendation_prints_as_what_it_says() -> None:
    answer = made("recommendation")
    assert str(answer).splitlines() == list(answer.sentences)
    assert repr(answer) == f"Recommendation: {answer.sentences[0]}"


def test_a_trace_tells_its_name_and_how_it_is_read() -> None:
    assert repr(trace()) == f"Trace({trace().name!r})"
    assert repr(clockhand.Trace("a.csv", format="csv", limit=5)) == (
        "Trace('a.csv', format='csv', limit=5)"
    )


def test_a_name_with_an_ending_is_one_picture(tmp_path: Path) -> None:
    starts = {"p.pdf": b"%PDF", "p.svg": b"<svg", "p.png": b"\x89PNG"}
    for name, start in starts.items():
        made("pages").write_plots(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    assert {path.name for path in tmp_path.iterdir()} == set(starts)
