"""Calls of the library: what results show in notebooks, mistakes in Python's terms, progress."""

import importlib.util
import inspect
import os
import pickle
import pty
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair
import polars as pl
import pytest

import clockhand
from clockhand import ClockhandError, UsageError
from clockhand.capture import capture, capture_files
from clockhand.report.reported import Reported
from clockhand.study import drawing, progress
from clockhand.study.options import joined
from clockhand.sweep import read_experiment, run_sweep


def trace(count: int = 3000) -> clockhand.Trace:
    """A trace with more pages than memory, half of them written."""
    pages = [place * place % 61 for place in range(count)]
    return clockhand.Trace.from_arrays(
        [page % 2 == 1 for page in pages], [page * 4096 for page in pages], name="squares"
    )


RESULTS: dict[str, Callable[[], Reported]] = {
    "pages": lambda: clockhand.run_simulation(trace(), policies="clock,lru,craw", frames="4,8"),
    "one size": lambda: clockhand.run_simulation(trace(), policies="clock,craw", frames=4),
    "pagecache": lambda: clockhand.run_pagecache(trace(), policies="clock,lru", frames="4,8"),
    "ssd": lambda: clockhand.run_ssd(trace(), buffers="lru:total=8,fab:total=64"),
    "locality": lambda: clockhand.locality(trace()),
    "sample": lambda: clockhand.locality(trace(), sample=32),
    "translate": lambda: clockhand.translate(trace(), frames=8, ratio=10, page_size="4KiB,8KiB"),
    "filecache": lambda: clockhand.filecache(trace(), capacity="4,8", devices="hdd"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_notebooks_show_a_table_and_the_leading_figure(name: str) -> None:
    result = RESULTS[name]()
    shown = result._repr_html_()
    assert "<table" in shown and "squares" in shown
    figures = result.specifications()
    assert shown.count("data:image/svg+xml;base64,") == (1 if figures else 0)
    charts = result.charts()
    assert list(charts) == list(figures)
    assert all(isinstance(chart, altair.LayerChart) for chart in charts.values())
    for key in list(figures)[-1:]:
        assert result.chart(key).to_dict() == charts[key].to_dict()


def test_the_leading_figure_is_the_chart_that_has_no_name() -> None:
    result = RESULTS["pages"]()
    assert next(iter(result.charts())) == "io_time_ranking"
    assert result.chart().to_dict() == result.chart("io_time_ranking").to_dict()
    with pytest.raises(UsageError, match=r"no figure 'heat'; there are: io_time_ranking, "):
        result.chart("heat")


def test_long_tables_say_how_many_rows_there_are() -> None:
    rows = clockhand.run_simulation(trace(), policies="clock", frames=list(range(1, 31)))
    assert "The first 20 of 30 rows." in rows._repr_html_()


def test_names_of_traces_cannot_put_markup_into_a_notebook() -> None:
    pages = [0, 4096, 8192]
    named = clockhand.Trace.from_arrays(["W"] * 3, pages, name="<script>alert(1)</script>")
    result = clockhand.run_simulation(named, policies="clock", frames=1)
    assert "<script" not in result._repr_html_()


def test_a_recommendation_and_a_player_are_shown_too() -> None:
    recommendation = clockhand.recommend(trace(), memory=0.1)
    shown = recommendation._repr_html_()
    assert "<p>Take " in shown and "as asked" in shown
    assert isinstance(recommendation.chart(), altair.LayerChart)
    player = clockhand.watch_policies(trace(100), policies="clock", frames=3)._repr_html_()
    assert player.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts"' in player


def test_a_trace_shows_what_it_is_like() -> None:
    shown = trace()._repr_html_()
    assert "footprint" in shown and "pages" in shown and "<table>" in shown
    hostile = clockhand.Trace.from_arrays(["W"], [0], name="<script>alert(1)</script>")
    assert "<script" not in hostile._repr_html_()


def test_completion_offers_what_is_of_use() -> None:
    result = clockhand.run_simulation(trace(), policies="clock", frames=1)
    for given, known in ((trace(), "info"), (result, "write_report")):
        offered = [name for name in dir(given) if not name.startswith("__")]
        assert known in offered
        assert not [name for name in offered if name.startswith("_")]
    assert not {"records", "specifications", "report_files"} & set(dir(result))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (0.05, "5%"), (1.0, "100%"), (0.15000000000000002, "15%"), (1 / 3, "33.3333333333%"),
        ([0.05, "20%"], "5%,20%"), (64, "64"), ("1%..100%", "1%..100%"), (None, None),
    ],
)  # fmt: skip
def test_a_float_is_a_share_of_the_footprint(given: object, text: str | None) -> None:
    assert joined(given) == text


def test_memory_may_be_a_float() -> None:
    by_share = clockhand.simulate(trace(), policies="clock", memory=[0.05, 0.5]).rows
    assert by_share["frames"].to_list() == [1, 15]


def test_patterns_name_trace_files(tmp_path: Path) -> None:
    for name in ("b", "a"):
        clockhand.convert_traces(trace(10), tmp_path / f"{name}.parquet")
    rows = clockhand.simulate(f"{tmp_path}/*.parquet", policies="clock", frames=2).rows
    assert [Path(name).name for name in rows["trace"]] == ["a.parquet", "b.parquet"]
    with pytest.raises(ClockhandError, match=r"\*\.none: there is no such file"):
        clockhand.simulate(f"{tmp_path}/*.none", policies="clock", frames=2)


def test_folders_of_a_pattern_are_themselves_whatever_their_names(tmp_path: Path) -> None:
    for name in ("study [v2]", "a*b", "~", "q?"):
        folder = tmp_path / name
        folder.mkdir()
        clockhand.convert_traces(trace(10), folder / "t.parquet")
        rows = clockhand.simulate(f"{folder}/*.parquet", policies="clock", frames=2).rows
        assert rows["trace"].to_list() == [f"{folder}/t.parquet"]
        (folder / "e.toml").write_text(
            'question = "q"\nexpected = "e"\ntraces = "*.parquet"\npolicies = "clock"\nframes = 2\n'
        )
        assert run_sweep(read_experiment(folder / "e.toml")).rows.height == 1


def test_a_misspelt_keyword_is_named_with_the_one_that_was_meant() -> None:
    call: Any = clockhand.simulate
    with pytest.raises(TypeError, match=r"no keyword argument 'policy'; did you mean 'policies'\?"):
        call(trace(), policy="clock", frames=3)
    run: Any = clockhand.run_simulation
    with pytest.raises(TypeError, match=r"'policy'; did you mean 'policies'\?"):
        run(trace(), policy="clock", frames=3)
    with pytest.raises(TypeError, match=r"'xyz'; there are: .*frames.*limit"):
        run(trace(), policies="clock", frames=3, xyz=1)


def test_mistakes_are_told_in_the_words_of_the_call() -> None:
    with pytest.raises(UsageError, match=r"^the memory size is given by frames or by memory"):
        clockhand.simulate(trace(), policies="clock", frames=3, memory="5%")
    with pytest.raises(UsageError, match=r"^seed -1 is out of range"):
        clockhand.run_ssd(trace(), buffers="lru:total=8", seed=-1)
    with pytest.raises(UsageError, match=r"^policies names 3 policies"):
        clockhand.watch_policies(trace(), policies="clock,lru,nru", frames=3)


MADE = clockhand.Trace.from_arrays(["R", "W"] * 50, [page * 4096 for page in range(100)])
NO_TRACE = "not a trace in any format"
PAGED: dict[str, Any] = {"memory": "8MiB"}

MISTAKES: dict[str, list[Callable[[], object]]] = {
    "serve": [
        lambda: clockhand.serve("x", buffer="fab"),
        lambda: clockhand.serve("x", buffer="fab:total=16"),
        lambda: clockhand.serve("x", buffer="fab:total=16,commands=paper"),
        lambda: clockhand.serve("x", buffer="fab:total=16", nvm="y"),
        lambda: clockhand.serve("x", buffer="clock-dnv:total=16"),
        lambda: clockhand.serve("x", buffer="fab:total=16", keep=True),
        lambda: clockhand.serve("x", buffer="fab:total=16", size=100),
        lambda: clockhand.serve("x", buffer="fab:total=16", listen="x"),
        lambda: clockhand.serve("x", buffer="fab:total=16", tls_key="x"),
        lambda: clockhand.serve("x", buffer="fab:total=16", allow_users=["no-such-user"]),
        lambda: clockhand.serve("x", buffer="fab:total=16", connections=0),
        lambda: clockhand.serve("x", buffer="fab:total=16", inherited=True),
    ],
    "tier": [
        lambda: clockhand.tier(MADE),
        lambda: clockhand.tier(MADE, fast="5%", policies="tpp", promote="write"),
        lambda: clockhand.tier(MADE, fast="5%", see="x"),
        lambda: clockhand.tier(MADE, fast="5%", tiers="nosuch"),
    ],
    "Trace": [lambda: clockhand.Trace("x", view="x"), lambda: clockhand.Trace("x", skip=-1)],
    "Trace.part": [
        lambda: MADE.part(streams="x"),
        lambda: MADE.part(skip=-1),
        lambda: MADE.part(only="xx"),
    ],
    "Trace.info": [lambda: clockhand.Trace(NO_TRACE).info()],
    "Trace.check": [lambda: clockhand.Trace(NO_TRACE).check()],
    "Locality.table": [
        lambda: clockhand.locality(MADE).table("nosuch"),
        lambda: clockhand.locality(MADE, sample=32).table("ranks"),
    ],
    "break_even": [lambda: clockhand.break_even(devices="nosuch")],
    "compare": [
        lambda: clockhand.compare(["true"], policies=["kernel"], **PAGED),
        lambda: clockhand.compare(["true"], policies=["clock"], repeat=0, **PAGED),
        lambda: clockhand.compare(["true"], policies=["lru"], **PAGED),
    ],
    "convert_traces": [
        lambda: clockhand.convert_traces(MADE, "out.nosuch"),
        lambda: clockhand.convert_traces(MADE, "out.csv", to="nosuch"),
        lambda: clockhand.convert_traces(NO_TRACE, "out.csv"),
    ],
    "filecache": [
        lambda: clockhand.filecache(MADE, capacity="x", devices="hdd"),
        lambda: clockhand.filecache(MADE, capacity="5%", devices="hdd", writes="x"),
    ],
    "locality": [lambda: clockhand.locality(MADE, sample=2)],
    "measure_memory": [lambda: clockhand.measure_memory(seed=-1)],
    "new_policy": [
        lambda: clockhand.new_policy("Mine"),
        lambda: clockhand.new_policy("mine", folder=Path(__file__).parent),
    ],
    "pagecache": [lambda: clockhand.pagecache(MADE, policies="lru")],
    "plan_storage": [
        lambda: clockhand.plan_storage(".", operations=0),
        lambda: clockhand.plan_storage(".", file_size="x"),
        lambda: clockhand.plan_storage(__file__),
    ],
    "recommend": [
        lambda: clockhand.recommend(MADE),
        lambda: clockhand.recommend(MADE, frames=3, purpose="x"),
        lambda: clockhand.recommend(MADE, frames=3, policies="min"),
    ],
    "run": [
        lambda: clockhand.run(["true"], policy="clock"),
        lambda: clockhand.run(["true"], policy="clock", memory="5%"),
        lambda: clockhand.run(["true"], policy="lru", **PAGED),
        lambda: clockhand.run(["true"], policy="clock", record="x.txt", **PAGED),
        lambda: clockhand.run(["true"], policy="clock", bits="x", **PAGED),
        lambda: clockhand.run(["true"], policy="clock", reserve=-1, **PAGED),
        lambda: clockhand.run(["true"], policy="clock", emulate="hdd", swap="x", **PAGED),
        lambda: clockhand.run([], policy="clock", **PAGED),
    ],
    "run_pagecache": [
        lambda: clockhand.run_pagecache(MADE, policies="lru", memory="9%", flush_every="x"),
        lambda: clockhand.run_pagecache(MADE, policies="lru", memory="9%", dirty_limit="5%"),
    ],
    "run_simulation": [lambda: clockhand.run_simulation(MADE, policies="clock")],
    "recommend_buffer": [
        lambda: clockhand.recommend_buffer(MADE, years=0),
        lambda: clockhand.recommend_buffer(MADE, buffers="none"),
        lambda: clockhand.recommend_buffer(MADE, timed=True, arrivals="rate:1..3"),
    ],
    "run_ssd": [
        lambda: clockhand.run_ssd(MADE, buffers="fab"),
        lambda: clockhand.run_ssd(MADE, buffers="fab:total=3", repeat="x"),
        lambda: clockhand.run_ssd(
            clockhand.Trace.from_arrays("R", [1 << 50]), buffers="fab:total=3"
        ),
    ],
    "simulate": [
        lambda: clockhand.simulate(MADE, policies="clock", frames=3, memory="5%"),
        lambda: clockhand.simulate(MADE, policies="clock", frames=3, page_size=100),
        lambda: clockhand.simulate(MADE, policies="clock", frames=3, device="nosuch"),
        lambda: clockhand.simulate(NO_TRACE, policies="clock", frames=3),
        lambda: clockhand.simulate(NO_TRACE, policies="clock", frames=3, memory_limit="1KiB"),
    ],
    "synthesize": [
        lambda: clockhand.synthesize("nosuch", requests=3),
        lambda: clockhand.synthesize("uniform:footprint=1MiB", requests=3, seed=-2),
        lambda: clockhand.synthesize("uniform:footprint=1MiB", requests=3, arrivals="x"),
    ],
    "translate": [
        lambda: clockhand.translate(MADE),
        lambda: clockhand.translate(MADE, memory="20%", ratio=3, device="scm"),
    ],
    "watch_buffers": [lambda: clockhand.watch_buffers(MADE, buffers="fab:total=3", map="x")],
    "watch_policies": [lambda: clockhand.watch_policies(MADE, policies="clock", frames=0)],
    "capture": [
        lambda: capture(["true"], "x.parquet", front_end="x"),
        lambda: capture([], "x.parquet"),
    ],
    "capture_files": [lambda: capture_files([], "x.parquet")],
    "run_sweep": [lambda: run_sweep(read_experiment(EXPERIMENT), jobs=0)],
}
"""Calls that cannot be done, by what is called."""

WITHOUT_OPTIONS = {
    "check_policy", "devices", "formats", "policies", "policy", "recipes", "ssds",
    "tier_policies", "tier_profiles", "use_policy_library", "write_buffers",
}  # fmt: skip
"""Functions that take a name alone."""

MISTAKES |= {
    f"run_{name}": MISTAKES[name] for name in ("filecache", "locality", "tier", "translate")
}
"""Older names of the same functions."""

EXPERIMENT = Path(__file__).resolve().parents[2] / "experiments/craw/experiment.toml"


@pytest.mark.parametrize("name", MISTAKES)
def test_no_call_tells_of_the_commands_options(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / NO_TRACE).write_text("one line\nand another\n")
    for mistake in MISTAKES[name]:
        with pytest.raises((ClockhandError, OSError)) as raised:
            mistake()
        told = str(raised.value)
        assert not re.search(r"--[a-z]|`?clockhand [a-z]+", told), told


def test_every_call_that_takes_options_is_tried_with_a_mistake() -> None:
    functions = {name for name in clockhand.__all__ if inspect.isfunction(getattr(clockhand, name))}
    assert functions - WITHOUT_OPTIONS <= set(MISTAKES)
    for name in functions - WITHOUT_OPTIONS:
        function = getattr(clockhand, name)
        assert inspect.unwrap(function) is not function, f"{name} tells of options"


def test_unknown_keywords_are_refused_everywhere() -> None:
    for name in ("run", "compare", "synthesize", "convert_traces", "plan_storage"):
        with pytest.raises(TypeError, match="there is no keyword argument 'nosuch'"):
            getattr(clockhand, name)(["true"], nosuch=3)
    with pytest.raises(TypeError, match="there is no keyword argument 'limits'; did you mean"):
        MADE.part(limits=3)  # type: ignore[call-arg]


def test_a_mistake_is_a_value_error_with_its_parts() -> None:
    with pytest.raises(ValueError, match=r"^the memory size") as raised:
        clockhand.simulate(trace(), policies="clock", frames=3, memory="5%")
    error = raised.value
    assert isinstance(error, UsageError)
    assert error.options == ("frames", "memory")
    assert error.problem == "the memory size is given by frames or by memory"
    assert error.remedy == "give one of them"
    assert error.in_command().startswith("the memory size is given by --frames or by --memory;")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.options) == (str(error), error.options)


def test_a_policy_with_parameters_is_its_text() -> None:
    policy = clockhand.Policy("craw", c=13.3, ghosts="literal")
    assert policy == "craw:c=13.3,ghosts=literal"
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert clockhand.Policy("lru") == "lru"
    rows = clockhand.simulate(trace(), policies=[policy, "lru"], frames=4).rows
    assert rows["policy"].to_list() == [policy, "lru"]


def test_what_was_given_is_told_as_it_was_given() -> None:
    with pytest.raises(UsageError, match=r'^frames "--memory" is not a number of page frames'):
        clockhand.simulate(trace(), policies="clock", frames="--memory")


@pytest.mark.parametrize("name", sorted(set(MISTAKES) & set(clockhand.__all__) - {"Trace"}))
def test_help_shows_every_keyword(name: str) -> None:
    function = getattr(clockhand, name)
    parameters = inspect.signature(function).parameters
    assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    text = function.__doc__ or ""
    for keyword in parameters:
        if len(parameters) > 2:
            assert re.search(rf"^    {keyword}: ", text, re.MULTILINE), keyword
    assert ":class:`clockhand.traces.Reading`" not in text


def test_what_is_emphasised_is_among_what_is_compared(tmp_path: Path) -> None:
    result = clockhand.run_simulation(trace(), policies="clock,lru,craw", frames="4,8")
    for draw in (
        lambda: result.chart(highlight=["nosuch"]),
        lambda: result.write_report(tmp_path / "r.html", highlight="nosuch"),
    ):
        with pytest.raises(UsageError, match=r"^highlight 'nosuch' is none of those that are run"):
            draw()
    assert result.chart(highlight="cr*") is not None


def test_simulate_takes_what_run_simulation_takes() -> None:
    whole = inspect.signature(clockhand.run_simulation).parameters
    assert inspect.signature(clockhand.simulate).parameters == whole
    assert whole["frames"].default is None and whole["skip"].default == 0


def test_signatures_stay_as_they_are_written() -> None:
    assert list(inspect.signature(clockhand.run_simulation).parameters)[:3] == [
        "traces", "policies", "frames",
    ]  # fmt: skip
    assert (clockhand.run_simulation.__doc__ or "").startswith("Replay traces against policies")


def test_without_what_draws_rows_come_and_figures_say_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        drawing.importlib.util,
        "find_spec",
        lambda name: None if name in drawing.DRAWING else find(name),
    )
    result = RESULTS["pages"]()
    assert result.rows.height == 6  # type: ignore[attr-defined]
    expected = (
        r"^figures and reports need altair and vl-convert-python, which this Python lacks; "
        r"run: pip install 'clockhand\[report\]'$"
    )
    for draw in (
        result.chart,
        result.charts,
        lambda: result.write_report(tmp_path / "report.html"),
        lambda: result.write_plots(tmp_path / "plots"),
    ):
        with pytest.raises(ClockhandError, match=expected):
            draw()
    assert "<table" in result._repr_html_() and "pip install" in result._repr_html_()
    assert not list(tmp_path.iterdir())


def test_a_call_without_a_place_to_show_it_shows_no_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.watched(None) as told:
        assert told is None
    with progress.watched(False) as told:
        assert told is None
    seen: list[tuple[str, int, int]] = []
    with progress.watched(lambda *step: seen.append(step)) as told:
        assert told is not None
        told("reading", 1, 2)
    assert seen == [("reading", 1, 2)]
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_a_bar_with_percent_and_time_left() -> None:
    script = (
        "from clockhand.study.progress import watched\n"
        "with watched(None) as told:\n"
        "    told('reading', 1, 4)\n"
        "    told('replaying', 1, 2)\n"
    )
    ours, theirs = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", script], stderr=theirs, check=True, timeout=300)
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "replaying" in shown and "50%" in shown


class _Bar:
    """What stands in for marimo's bar."""

    made: list["_Bar"] = []  # noqa: RUF012 - The test looks at it.

    def __init__(self, *, total: int, title: str, **_: object) -> None:
        self.total, self.title, self.done, self.left = total, title, 0, False
        _Bar.made.append(self)

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self.left = True

    def update(self, *, increment: int) -> None:
        self.done += increment


def test_marimo_shows_a_bar_for_each_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    marimo = types.SimpleNamespace(
        running_in_notebook=lambda: True, status=types.SimpleNamespace(progress_bar=_Bar)
    )
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    monkeypatch.setattr(_Bar, "made", [])
    with progress.watched(None) as told:
        assert told is not None
        told("reading", 0, 0)
        told("reading", 10, 100)
        told("reading", 30, 100)
        told("replaying", 5, 7)
    first, second = _Bar.made
    assert (first.title, first.total, first.done) == ("reading the trace", 100, 30)
    assert (second.title, second.total, second.done) == ("replaying", 7, 5)
    assert first.left and second.left


def test_jupyter_shows_one_bar_that_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = types.SimpleNamespace(update=shown.append)

    def show(page: str, *, display_id: bool) -> object:
        assert display_id
        shown.append(page)
        return handle

    ipython = types.SimpleNamespace(
        get_ipython=lambda: types.SimpleNamespace(kernel=object()),
        display=types.SimpleNamespace(HTML=str, display=show),
    )
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.delitem(sys.modules, "marimo", raising=False)
    with progress.watched(None) as told:
        assert told is not None
        told("reading", 1, 4)
        told("reading", 2, 4)
    assert shown[-1] == "" and "25 %" in shown[0] and "50 %" in shown[1] and len(shown) == 3


def test_a_result_can_be_used_as_the_table_of_its_rows() -> None:
    result = clockhand.simulate(trace(), policies=["clock", "lru"], frames=3)
    assert isinstance(result, clockhand.Simulation) and len(result) == result.rows.height == 2
    assert result["policy"].to_list() == ["clock", "lru"] and result.columns == result.rows.columns
    assert result.filter(result["policy"] == "lru").equals(result.rows[1:])
    assert [column.name for column in result] == result.rows.columns
    assert pickle.loads(pickle.dumps(result)).rows.equals(result.rows)
    with pytest.raises(AttributeError, match="no_such"):
        result.no_such  # noqa: B018


def test_rows_of_a_call_with_progress_are_those_without() -> None:
    seen: list[str] = []
    told = clockhand.simulate(
        trace(), policies="clock", frames=3, watch=lambda phase, *_: seen.append(phase)
    ).rows
    assert told.equals(clockhand.simulate(trace(), policies="clock", frames=3, watch=False).rows)
    assert isinstance(told, pl.DataFrame)
