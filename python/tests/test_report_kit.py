"""The parts that all reports share: axes, emphasis, series, rankings, heat maps, packed data."""

import math
import os
import signal
from pathlib import Path

import altair as alt
import polars as pl
import pytest

from clockhand import ClockhandError, UsageError
from clockhand.report import figures
from clockhand.report.appearance import LIGHT, marks
from clockhand.report.bars import best_first
from clockhand.report.canvas import SCHEMA_VERSION, VEGA_LITE
from clockhand.report.compared import Compared, SizeAxis
from clockhand.report.emphasis import emphasised, in_figure, kept
from clockhand.report.html import _library
from clockhand.report.measures import drawable, same_everywhere
from clockhand.report.overview import Overview, overview
from clockhand.report.places import Place
from clockhand.report.scales import Kind, Measure, outlier_cut, ratio_text, ticks, value_axis
from clockhand.report.series import first_spellings
from clockhand.report.table import plain_table
from clockhand.report.words import reads_text, short_names, thinned, titled
from clockhand.studies.pages.charts import specifications
from clockhand.studies.pages.report import render
from clockhand.studies.pages.sections import sections
from clockhand.study import drawing
from clockhand.study.facts import base_names
from clockhand.study.selections import highlighted, matching
from conftest import Clockhand
from report_example import POLICIES, example_facts, example_rows, unpacked

TWENTY_FIVE = [f"policy-{number}" for number in range(25)]


def test_ticks_of_a_logarithmic_axis_are_round_and_few() -> None:
    assert ticks(0.55, 1.05) == [0.6, 0.7, 0.8, 0.9, 1]
    assert ticks(0.3, 3.2) == [0.3, 0.5, 0.7, 1, 1.5, 2, 3]
    assert ticks(900, 150_000) == [1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
    for low in (1e-6, 0.03, 0.97, 7.0, 12_345.0):
        for span in (1.01, 1.3, 4.0, 55.0, 1e7):
            found = ticks(low, low * span)
            assert 1 <= len(found) <= 8, (low, span, found)


def test_an_axis_of_ratios_is_logarithmic_and_cuts_what_lies_far_out() -> None:
    usual = [0.6, 0.8, 1.0, 1.1, 1.2]
    assert value_axis(Kind.RATIO, usual).is_logarithmic
    assert not value_axis(Kind.RATIO, usual).is_cut
    cut = value_axis(Kind.RATIO, [*usual, 150.0])
    assert cut.is_cut and cut.high < 4
    # The baseline is never cut.
    assert value_axis(Kind.RATIO, [*usual, 150.0], anchors=[150.0]).high > 150
    assert outlier_cut([]) is None


def test_an_axis_gives_back_the_value_at_each_place() -> None:
    flattened = value_axis(Kind.COUNT, [0, 3, 4, 5, 7000])
    for axis in (value_axis(Kind.RATIO, [0.2, 5]), value_axis(Kind.COUNT, [0, 70]), flattened):
        for value in (axis.low, (axis.low + axis.high) / 2, axis.high):
            assert axis.value(axis.share(value)) == pytest.approx(value)


def test_an_outlier_does_not_flatten_the_others() -> None:
    assert not value_axis(Kind.COUNT, [20, 30, 40, 60]).is_logarithmic
    assert value_axis(Kind.COUNT, [20, 30, 40, 600]).is_logarithmic
    # An axis from 0 on is logarithmic from about the least other value on.
    flattened = value_axis(Kind.COUNT, [0, 3, 4, 5, 7000])
    assert flattened.scale()["type"] == "symlog" and flattened.low == 0
    assert flattened.share(4) > 0.08 and flattened.axis(Kind.COUNT)["values"][0] == 0
    assert value_axis(Kind.COUNT, [0, 3, 4, 5, 7]).scale()["type"] == "linear"


def test_a_ratio_has_fewer_decimals_where_it_is_large() -> None:
    assert [ratio_text(value) for value in (0.723, 9.99, 12.34, 157.4, 0.00127, 0.0523, 0.0)] == [
        "0.72", "9.99", "12.3", "157", "0.0013", "0.052", "0.000",
    ]  # fmt: skip


def test_at_most_six_series_are_emphasised() -> None:
    few = TWENTY_FIVE[:6]
    assert emphasised(few, few, (), ()) == few
    best = ["policy-9", "policy-3", "policy-5", "policy-1"]
    found = emphasised(TWENTY_FIVE, best, ["policy-0"], ())
    assert found == ["policy-0", "policy-3", "policy-5", "policy-9"]
    named = emphasised(TWENTY_FIVE, best, ["policy-0"], ["policy-2?"])
    assert len(named) == 6
    assert {f"policy-{number}" for number in range(20, 25)} <= set(named)


def test_a_figure_emphasises_what_differs_in_it() -> None:
    heights = {name: float(place) for place, name in enumerate(TWENTY_FIVE)}
    best = ["policy-24", "policy-23", "policy-22"]
    always = kept(TWENTY_FIVE, best, ["policy-10"], ())
    assert always == ["policy-10", "policy-24"]
    assert in_figure(heights, always, most_is_best=False) == [
        "policy-0", "policy-1", "policy-2", "policy-10", "policy-24",
    ]  # fmt: skip
    assert in_figure(heights, always, most_is_best=True) == [
        "policy-0", "policy-10", "policy-22", "policy-23", "policy-24",
    ]  # fmt: skip


def test_a_line_of_nothing_but_zeros_is_emphasised_only_if_every_figure_names_it() -> None:
    names = [*POLICIES, "lirs", "2q"]
    records = [
        {"policy": name, "frames": frames, "pages": pages * frames}
        for name, pages in zip(names, (0, 0, 3, 0, 0, 4, 0, 0, 0, 0), strict=True)
        for frames in (1, 2)
    ]
    sizes, looks = SizeAxis("frames", "Frames", [1, 2]), marks(names, LIGHT)
    compared = Compared("t", "Policy", records, sizes, looks, names[:6], anchors=["lru"])
    drawn = Measure("pages", "pages", "Pages", "", Kind.COUNT)
    assert compared.emphasised(drawn) == ["lru", "cflru:window_share=1/3", "craw"]


def test_highlight_takes_names_and_patterns_of_what_is_run() -> None:
    given = ["clock", "clock-pro", "clock-dnv:dram_share=0.1,total=8", "lru"]
    assert highlighted(["clock,lru"], given) == ["clock", "lru"]
    assert matching(["clock"], given) == ["clock"]
    assert matching(["clock-dnv", "clock*"], given) == [given[2], given[0], given[1]]
    with pytest.raises(UsageError, match=r"--highlight 'arc' is none of those that are run; .*lru"):
        highlighted(["arc"], given)
    with pytest.raises(UsageError, match="names 25 of those that are run; give at most 6"):
        highlighted(["*"], TWENTY_FIVE)


def test_highlight_without_a_figure_is_wrong_usage(clockhand: Clockhand, tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("op,address,size\nR,0,4096\nW,4096,4096\n")
    run = clockhand("simulate", trace, "--policy", "clock", "--frames", "1", "--highlight", "lru")
    assert run.code == 2
    assert "--highlight is about figures; add --report FILE.html" in run.err


def test_spellings_that_mean_the_same_everywhere_are_one_series() -> None:
    cells = [
        ("clock-dnv", 8, "clock-dnv:dram_share=0.1"),
        ("clock-dnv:dram_share=0.1", 8, "clock-dnv:dram_share=0.1"),
        ("craw", 8, "craw:c=8"),
        ("craw", 16, "craw:c=2"),
        ("craw:c=8", 8, "craw:c=8"),
        ("craw:c=8", 16, "craw:c=8"),
    ]
    assert first_spellings(cells) == {
        "clock-dnv": "clock-dnv",
        "clock-dnv:dram_share=0.1": "clock-dnv",
        "craw": "craw",
        "craw:c=8": "craw:c=8",
    }


def test_two_spellings_of_a_policy_are_one_line() -> None:
    rows = example_rows(policies=("clock", "craw"))
    second = rows.filter(pl.col("policy") == "craw").with_columns(policy=pl.lit("craw:k=1"))
    [section] = sections(pl.concat([rows, second]), None)
    assert section.policies == ["clock", "craw"]


def summed(values: dict[tuple[str, Place], float]) -> Overview:
    found = overview(
        values,
        key="time",
        title="Which policy",
        unit="I/O time over CLOCK",
        word="Policy",
        size_word="memory",
        size_text=lambda size: f"{size:,.0f}",
        notes={"clock": "baseline"},
    )
    assert found is not None
    return found


def test_the_ranking_is_by_the_geometric_mean_with_the_range_over_traces() -> None:
    places = {
        (trace, share): Place(trace, frames, share)
        for trace, frames in (("traces/a.parquet", 10), ("traces/b.parquet", 37))
        for share in (0.05, 0.2)
    }
    places = {key: Place(place.trace, place.size * key[1], key[1]) for key, place in places.items()}
    craw = dict(zip(places.values(), (0.5, 1.0, 0.25, 0.5), strict=True))
    values = {("clock", place): 1.0 for place in places.values()}
    values |= {("craw", place): value for place, value in craw.items()}
    found = summed(values)
    assert [entry.name for entry in found.entries] == ["craw", "clock"]
    first = found.entries[0]
    assert first.mean == pytest.approx(0.5)
    assert (first.range.least, first.range.most) == pytest.approx((0.125**0.5, 0.5**0.5))
    assert found.groups == [("by memory", ["5\u00a0%", "20\u00a0%"]), ("by trace", ["a", "b"])]
    expected = [0.125**0.5, 0.5**0.5, 0.5**0.5, 0.125**0.5]
    assert [value or math.nan for value in first.values] == pytest.approx(expected)
    assert found.entries[1].note == "baseline"
    assert found.of == "2 traces"


def test_what_was_not_run_everywhere_is_left_out_and_named() -> None:
    places = [Place("t", size) for size in (8, 16)]
    values = {(name, place): 1.0 for name in ("clock", "lru") for place in places}
    values["craw", places[0]] = 0.5
    found = summed(values)
    assert [entry.name for entry in found.entries] == ["clock", "lru"]
    assert found.caption.endswith("Left out, as not run everywhere: craw.")


def test_a_place_where_a_policy_needs_no_time_is_not_compared() -> None:
    places = [Place("t", size) for size in (8, 16, 32)]
    values = {("clock", place): 1.0 for place in places}
    values |= dict(zip([("craw", place) for place in places], (0.5, 0.5, 0.0), strict=True))
    found = summed(values)
    assert found.entries[0].mean == pytest.approx(0.5)
    assert found.columns == ["8", "16"]


def test_of_a_hundred_sizes_ten_have_a_column() -> None:
    values = {(name, Place("t", size)): 1.0 for name in ("clock", "craw") for size in range(1, 101)}
    found = summed(values)
    assert len(found.columns) == 10
    assert (found.columns[0], found.columns[-1]) == ("1", "100")
    assert "10 of 100 sizes have a column" in found.caption


def test_names_of_files_are_shortened_where_they_still_differ() -> None:
    assert short_names(["traces/tar-gzip.parquet", "msr.csv.gz · slc"]) == ["tar-gzip", "msr · slc"]
    assert short_names(["a/t.csv", "b/t.csv"]) == ["a/t.csv", "b/t.csv"]
    assert thinned(list(range(100)), 3) == [0, 50, 99]


def test_an_outlier_is_told_in_the_caption_and_at_the_edge() -> None:
    lru = pl.when(pl.col("policy") == "lru", pl.col("frames") == 2048)
    clock_us = example_rows().filter(pl.col("policy") == "clock", pl.col("frames") == 2048)
    slow = lru.then(150 * clock_us["io_time_us"][0]).otherwise("io_time_us").alias("io_time_us")
    rows = example_rows().with_columns(slow)
    text = render(rows, example_facts())
    assert "beyond it go, at most: lru 150." in text
    figure = figures(rows)["io_time_relative_to_clock"].to_json()
    assert "lru 150 ▲" in figure or "▲ lru 150" in figure
    # To clip a line takes as long as to draw all others: a picture clips what goes beyond alone.
    layers = figures(rows)["io_time_relative_to_clock"].to_dict()["layer"]
    lines = [layer for layer in layers if layer["mark"]["type"] == "line"]
    clipped = [layer for layer in lines if layer["mark"]["clip"]]
    assert 0 < len(clipped) < len(lines)
    for layer in clipped:
        assert '&& indexof(["lru"], datum.policy) >= 0' in layer["transform"][0]["filter"]


def test_a_sweep_over_eight_traces_and_a_hundred_sizes_is_a_report_under_two_megabytes() -> None:
    traces = [f"trace-{number}" for number in range(8)]
    sizes = tuple(range(200, 20_200, 200))
    rows = example_rows(traces, sizes=sizes)
    page = render(rows, example_facts(traces))
    assert rows.height == 7200
    assert len(page.encode()) < 2_000_000
    data = unpacked(page)
    assert len(data["parts"]) == 8
    [columns] = data["tables"].values()
    assert len(columns[0]) == 7200 - 100


def test_the_page_draws_with_the_version_of_vega_lite_that_altair_has() -> None:
    assert f"v{SCHEMA_VERSION}" == alt.SCHEMA_VERSION
    assert SCHEMA_VERSION.startswith(VEGA_LITE)


def test_a_damaged_copy_of_the_drawing_library_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _library.cache_clear()
    whole = _library()
    [kept] = tmp_path.rglob("vega-*.js")
    kept.write_text(whole[: len(whole) // 2])
    _library.cache_clear()
    assert _library() == whole
    assert kept.read_text() == whole
    _library.cache_clear()


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        ("8", "8 reads"),
        ("1", "as much as a read"),
        ("232259/217259", "1.069 reads"),
        (None, "– reads"),
    ],
)
def test_what_a_write_costs_is_not_told_as_a_fraction(ratio: str | None, text: str) -> None:
    assert reads_text(ratio) == text


def test_what_is_the_title_is_not_said_again_below_it() -> None:
    assert titled(["A is best.", "B is not."], 1, "All") == ("A is best", ["B is not."])
    assert titled(["A is best.", "B is not."], 2, "All") == ("All", ["A is best.", "B is not."])
    assert titled([], 1, "All") == ("All", [])


def test_a_long_sentence_is_a_title_of_one_line() -> None:
    said = "With 833 frames, craw takes the least I/O time on gcc: 1.72 s, 11.3 % less than lru."
    title, below = titled([said, "More."], 1, "All")
    assert title == "With 833 frames, craw takes the least I/O time on gcc"
    assert below == [said, "More."]
    waits = (
        "With cbm:total=1MiB on a week of requests, p99 of writes is 1.77 ms, almost all of it "
        "waiting; p99 of reads is 50 µs."
    )
    title, _ = titled([waits], 1, "All")
    assert title == "With cbm:total=1MiB on a week of requests, p99 of writes is 1.77 ms"


def test_a_table_has_percent_and_one_unit_in_a_column() -> None:
    rows = pl.DataFrame(
        {
            "hit_ratio": [0.8639, None], "io_time_us": [13_007_800.0, 500.0],
            "waf": [1.5, 12.25], "pages": [1, 20_000], "years": [1_371_086_781.4933333, 0.003],
        }
    )  # fmt: skip
    table = plain_table(rows, {"io_time_us": "I/O time (µs)"})
    assert [column.heading for column in table.columns] == [
        "hit ratio", "I/O time (s)", "waf", "pages", "years",
    ]  # fmt: skip
    assert table.rows[0] == ("86.39\u00a0%", "13.007800", "1.500", "1", "1,371,086,781")
    assert table.rows[1] == ("–", "0.000500", "12.250", "20,000", "0")


def test_devices_are_apart_from_traces_and_nothing_is_averaged_over_them() -> None:
    rows = pl.concat(
        example_rows(["one", "two"], policies=("clock", "craw", "lru")).with_columns(
            pl.lit(device).alias("device"), pl.col("io_time_us") * factor
        )
        for device, factor in (("slc-nand", 1), ("hdd", 7))
    )
    facts = example_facts(["one", "two"])
    text = render(rows, facts)
    assert "<h1>craw needs the least I/O time on both devices, over 2 traces</h1>" in text
    for device in ("slc-nand", "hdd"):
        assert f"Which policy, where, by how much: {device}<" in text
    assert "4 traces" not in text, "a device is no trace"
    keys = specifications(rows, facts)
    assert {"io_time_hdd_ranking", "io_time_slc-nand_ranking"} <= set(keys)
    assert "io_time_ranking" not in keys


def test_bars_stand_from_the_best_on() -> None:
    records = [{"policy": name, "hits": hits} for name, hits in (("a", 0.1), ("b", 0.9))]
    assert best_first(records, "hits", most_first=True) == ["b", "a"]
    assert best_first(records, "hits", most_first=False) == ["a", "b"]


def test_what_is_the_same_everywhere_has_no_figure_and_is_said() -> None:
    waf = Measure("waf", "waf", "Write amplification", "", Kind.RATIO)
    clean = Measure("clean", "clean", "Clean pages", "", Kind.COUNT)
    records = [{"waf": 1.0, "clean": 0}, {"waf": 1.0, "clean": 0}]
    assert drawable([waf, clean], records) == []
    assert same_everywhere([waf, clean], records) == ["write amplification 1.00"]
    assert drawable([waf], [{"waf": 1.0}, {"waf": 1.1}]) == [waf]


# The engine that draws ends its process where it lacks memory, and ended the command with it.
def test_what_draws_may_die_without_the_command() -> None:
    drawn = drawing.Converter()
    assert drawn.get_vega_version()
    assert drawn._process is not None
    os.kill(drawn._process.pid, signal.SIGKILL)
    with pytest.raises(
        ClockhandError, match="the process that draws figures ended with signal SIGKILL"
    ):
        drawn.get_vega_version()
    assert drawn.get_vega_version()
    with pytest.raises(ValueError, match=r"\w+: "):
        drawn.vegalite_to_svg({"mark": 7})
    assert drawn.get_vega_version()
    drawn.close()


def test_traces_are_called_by_their_base_names_or_with_folders_that_tell_them_apart() -> None:
    assert base_names(["/a/b/c.parquet"]) == {"/a/b/c.parquet": "c.parquet"}
    found = base_names(["/a/x/t.csv", "/a/y/t.csv", "s3://bucket/q/u.csv"])
    assert list(found.values()) == ["x/t.csv", "y/t.csv", "u.csv"]
    settings = base_names(["/a/t.csv (share 1/4)", "/a/t.csv (share 1/2)"])
    assert list(settings.values()) == ["t.csv (share 1/4)", "t.csv (share 1/2)"]
    recipe = "zipf:pages=100,write_share=1/4"
    assert base_names([recipe, "t.csv", "a/t.csv"]) == {
        recipe: recipe, "t.csv": "t.csv", "a/t.csv": "a/t.csv",
    }  # fmt: skip


def test_a_report_has_the_path_of_a_trace_only_under_how_it_was_made() -> None:
    names = ["/somewhere/deep/one.parquet", "/somewhere/deep/two.parquet"]
    text = render(example_rows(names), example_facts(names))
    results, _, made = text.partition('<section id="facts"')
    assert "one.parquet" in results and "/somewhere" not in results
    assert "/somewhere/deep/one.parquet" in made
