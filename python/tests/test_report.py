"""What the report and its figures say, and how they fail."""

import errno
import itertools
import json
import re
import resource
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clockhand import _engine
from clockhand.report import figures, write_plots, write_report
from clockhand.report.appearance import DARK, IDENTITIES, LIGHT, RESERVE, Theme, marks
from clockhand.studies.pages.charts import specifications
from clockhand.studies.pages.findings import finding
from clockhand.studies.pages.report import render
from clockhand.studies.pages.sections import sections
from report_example import bound_row, example_facts, example_row, example_rows, unpacked

HOSTILE = "</script><script>alert(1)</script>&\"'"


class Elements(HTMLParser):
    """Collects the elements of a page and the text of its table cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_cell = tag == "td"
        if self._in_cell:
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.cells[-1] += data


def first_finding(rows: pl.DataFrame) -> str:
    return finding(sections(rows, None)[0]).lead.replace("\u00a0", " ")


def with_times(times_us: dict[str, list[float]]) -> pl.DataFrame:
    """Rows of the named policies at as many memory sizes as there are times."""
    count = len(next(iter(times_us.values())))
    rows = [
        {**example_row("t", policy, 64 << step), "io_time_us": times[step]}
        for step in range(count)
        for policy, times in times_us.items()
    ]
    return pl.DataFrame(rows)


def test_figures_has_the_six_measures_of_one_trace() -> None:
    assert list(figures(example_rows())) == [
        "io_time_ranking",
        "io_time_heat_map",
        "over_bound_ranking",
        "over_bound_heat_map",
        "io_time",
        "io_time_relative_to_clock",
        "io_time_over_bound",
        "read_ios",
        "write_ios",
        "hit_ratio",
    ]


def test_without_clock_there_is_no_relative_figure_and_the_page_says_so() -> None:
    rows = example_rows(policies=("lru", "craw"))
    assert "io_time_relative_to_clock" not in specifications(rows, None)
    assert "The policy clock was not run on this input" in render(rows, example_facts())


def test_without_clock_the_ranking_is_over_the_best_policy_of_each_size() -> None:
    rows = example_rows(["one", "two"], policies=("lru", "craw"))
    text = render(rows, example_facts(["one", "two"]))
    assert text.count("I/O time over the best policy of each size; less is better.") == 3


def test_clock_pro_is_not_taken_for_clock() -> None:
    renamed = pl.col("policy_resolved").str.replace("clock:insert=1", "clock-pro:m_c=1")
    rows = example_rows(policies=("clock", "craw")).with_columns(renamed)
    assert sections(rows, None)[0].baseline is None


def test_several_traces_have_figures_of_their_own() -> None:
    keys = list(specifications(example_rows(["one", "two"]), None))
    assert len(keys) == 16
    assert keys[:5] == [
        "io_time_ranking",
        "io_time_heat_map",
        "over_bound_ranking",
        "over_bound_heat_map",
        "one-io_time",
    ]
    assert keys[-1] == "two-hit_ratio"


def test_traces_whose_names_differ_only_in_signs_get_different_files() -> None:
    rows = example_rows(["a/b", "a b", "A_b", "A?B"], with_bound=False)
    assert len(specifications(rows, None)) == 22


def test_two_page_sizes_never_share_a_figure() -> None:
    rows = pl.DataFrame(
        [example_row("t", policy, 64, size) for size in (4096, 8192) for policy in ("lru", "craw")]
    )
    labels = [section.label.replace("\u00a0", " ") for section in sections(rows, None)]
    assert labels == ["t · 4 KiB pages", "t · 8 KiB pages"]


def test_a_single_memory_size_is_drawn_as_bars_from_zero() -> None:
    text = json.dumps(specifications(example_rows(sizes=(64,)), None)["io_time"])
    assert '"type": "bar"' in text
    assert '"type": "line"' not in text


def memory_scale(sizes: tuple[int, ...]) -> Any:
    layers = specifications(example_rows(sizes=sizes), None)["io_time"]["layer"]
    return layers[-1]["encoding"]["x"]["scale"]["type"]


def test_memory_is_logarithmic_where_the_sizes_double_and_linear_where_they_step() -> None:
    assert memory_scale((64, 128, 256, 512)) == "log"
    assert memory_scale((100, 200, 300, 400)) == "linear"


def test_a_policy_looks_the_same_in_every_figure() -> None:
    seen: dict[str, set[Any]] = {}
    rows = pl.concat(
        [
            example_rows(["one"], ("clock", "lru", "craw"), with_bound=False),
            example_rows(["two"], ("craw", "car", "clock"), with_bound=False),
        ]
    )
    for chart in specifications(rows, None).values():
        for layer in chart["layer"]:
            for channel in ("color", "shape"):
                scale = layer["encoding"].get(channel, {}).get("scale")
                if not scale:
                    continue
                for policy, look in zip(scale["domain"], scale["range"], strict=True):
                    seen.setdefault(f"{policy} {channel}", set()).add(look)
    assert seen
    assert all(len(looks) == 1 for looks in seen.values())


def test_each_name_of_the_catalogs_has_a_look_of_its_own() -> None:
    listed = [entry["name"] for entry in (*_engine.policies(), *_engine.write_buffers())]
    listed += [entry["name"] for entry in _engine.tier_policies()]
    drawn = [name for name in dict.fromkeys([*listed, "kernel", "no cache"]) if name != "bound"]
    assert set(drawn) <= set(IDENTITIES)
    looks = {(mark.color, mark.shape) for mark in marks(drawn, LIGHT)}
    assert len(looks) == len(drawn)


def test_a_policy_looks_the_same_whatever_stands_beside_it() -> None:
    alone = marks(["craw"], LIGHT)[0]
    for others in (["clock", "lru"], ["lirs", "mine.py:Mine"], ["craw:depth=3"]):
        looks = {mark.policy: mark for mark in marks([*others, "craw"], LIGHT)}
        assert looks["craw"] == alone
        assert len({(mark.color, mark.shape, mark.dash) for mark in looks.values()}) == len(looks)


def test_parameters_keep_the_colour_and_own_policies_have_shapes_of_their_own() -> None:
    ranged = marks([f"cflru:window_share=1/{size}" for size in range(2, 30)], LIGHT)
    assert {mark.color for mark in ranged} == {marks(["cflru"], LIGHT)[0].color}
    assert len({(mark.shape, mark.dash) for mark in ranged}) == len(ranged)
    own = marks([f"mine.py:Number{number}" for number in range(12)], LIGHT)
    assert {mark.shape for mark in own} <= set(RESERVE)
    assert len({(mark.color, mark.shape) for mark in own}) == 12


def test_fifty_policies_of_no_catalog_differ_pairwise() -> None:
    names = [f"policy-{number}" for number in range(50)]
    looks = {(m.color, m.shape, m.dash) for m in marks(names, LIGHT)}
    assert len(looks) == len(names)


def linear(color: str) -> list[float]:
    values = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def luminance(color: str) -> float:
    return sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear(color), strict=True))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_lines_have_a_contrast_of_three_and_text_of_four_and_a_half(theme: Theme) -> None:
    def contrast(color: str) -> float:
        dark, light = sorted((luminance(color), luminance(theme.background)))
        return (light + 0.05) / (dark + 0.05)

    assert min(contrast(color) for color in theme.series) >= 3
    assert min(contrast(theme.ink), contrast(theme.muted)) >= 4.5


# Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as each kind of eye sees it.
COLOR_VISION = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
XYZ_OVER_WHITE = (
    (0.4339, 0.3762, 0.1899),
    (0.2126, 0.7152, 0.0722),
    (0.0177, 0.1095, 0.8730),
)


def multiplied(matrix: Any, vector: list[float]) -> list[float]:
    return [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]


def lab(color: str, matrix: Any) -> tuple[float, float, float]:
    seen = [min(1.0, max(0.0, value)) for value in multiplied(matrix, linear(color))]
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in multiplied(XYZ_OVER_WHITE, seen)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("vision", COLOR_VISION)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_stay_apart_for_every_kind_of_colour_vision(theme: Theme, vision: str) -> None:
    colors = [lab(color, COLOR_VISION[vision]) for color in (theme.ink, *theme.series)]
    distances = [
        sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5
        for a, b in itertools.combinations(colors, 2)
    ]
    assert min(distances) > 15


def test_the_finding_names_the_best_policy_and_how_much_it_saves() -> None:
    rows = with_times({"clock": [100, 100], "lru": [90, 100], "craw": [70, 80]})
    assert first_finding(rows) == "craw needs 25.2 % less I/O time than clock on t."


def test_the_finding_says_when_nothing_beats_clock() -> None:
    rows = with_times({"clock": [100, 100], "lru": [104, 102], "craw": [120, 120]})
    assert first_finding(rows) == (
        "No policy needs less I/O time than clock on t; the nearest, lru, needs 3.0 % more."
    )


def test_the_finding_names_all_that_share_the_first_place() -> None:
    rows = with_times({"clock": [100], "lru": [50], "craw": [50]})
    assert first_finding(rows) == "lru and craw need 50.0 % less I/O time than clock on t."
    rows = with_times({"clock": [1000], "lru": [722], "craw": [717]})
    said = "craw and lru, alike, need about 28 % less I/O time than clock on t."
    assert first_finding(rows) == said


def test_the_finding_never_recommends_a_policy_that_reads_the_future() -> None:
    rows = with_times({"clock": [100], "craw": [80], "min": [10]})
    found = finding(sections(rows, None)[0])
    assert found.lead.startswith("craw needs 20.0")
    assert "min does not compete: no running system can know the future." in found.detail


def test_the_finding_without_clock_is_against_the_best_of_each_size() -> None:
    rows = with_times({"lru": [100, 120], "craw": [110, 100]})
    found = finding(sections(rows, None)[0])
    assert found.lead == "craw needs the least I/O time on t."
    assert "4.9\u00a0% above the best policy of each size" in found.detail


def test_a_free_device_gives_no_finding_and_no_division_by_zero() -> None:
    rows = with_times({"clock": [0.0], "craw": [0.0]})
    assert first_finding(rows) == "No finding on t."
    assert "craw" in render(rows, example_facts(["t"]))


def test_the_bound_without_a_memory_size_stands_at_every_size() -> None:
    rows = pl.concat(
        [example_rows(with_bound=False), pl.DataFrame([bound_row("example-gcc", None)])],
        how="diagonal_relaxed",
    )
    [section] = sections(rows, None)
    assert [bound["frames"] for bound in section.bounds] == section.sizes


def with_bound_times(times_us: dict[str, list[float]], bound_us: list[float]) -> pl.DataFrame:
    """Rows as :func:`with_times` gives, and the bound's at each size."""
    bounds = [
        {**bound_row("t", 64 << step), "io_time_us": time_us}
        for step, time_us in enumerate(bound_us)
    ]
    return pl.concat([with_times(times_us), pl.DataFrame(bounds)], how="diagonal_relaxed")


def test_each_policy_is_shown_as_a_multiple_of_the_bound_of_its_memory_size() -> None:
    rows = with_bound_times({"clock": [90, 80], "craw": [60, 50]}, [30, 40])
    [section] = sections(rows, None)
    ratios = [(record["policy"], record["io_time_over_bound"]) for record in section.records]
    assert ratios == [("clock", 3), ("craw", 2), ("clock", 2), ("craw", 1.25)]
    cells = Elements(render(rows, example_facts(["t"]))).cells
    assert {"3.000", "2.000", "1.250"} <= set(cells)
    assert "io_time_over_bound" in specifications(rows, None)


def test_the_finding_says_how_far_the_best_policy_is_from_the_bound() -> None:
    rows = with_bound_times({"clock": [90, 80], "craw": [60, 50]}, [30, 40])
    detail = finding(sections(rows, None)[0]).detail.replace("\u00a0", " ")
    assert "craw takes 1.58 \u00d7 the I/O time of the lower bound" in detail


def test_no_distance_is_told_where_the_bound_is_not_known_at_every_size_compared() -> None:
    rows = with_bound_times({"clock": [90, 80], "craw": [60, 50]}, [30])
    assert "lower bound" not in finding(sections(rows, None)[0]).detail
    free = with_bound_times({"clock": [90], "craw": [60]}, [0])
    assert [r["io_time_over_bound"] for r in sections(free, None)[0].records] == [None, None]


def test_a_page_without_the_bound_says_how_to_get_the_distance_to_it() -> None:
    text = render(example_rows(with_bound=False), example_facts())
    assert "Add --policy bound for this figure." in text
    assert "over the bound" not in text


def test_the_bound_of_another_setting_is_not_compared_with() -> None:
    rows = pl.DataFrame(
        [{**example_row("t", "craw", 64), "io_time_us": 60.0},
         {**bound_row("t", 64, 8192), "io_time_us": 30.0}],
        infer_schema_length=None,
    )  # fmt: skip
    assert sections(rows, None)[0].records[0]["io_time_over_bound"] is None


def test_rows_with_and_without_a_reserve_stand_in_sections_of_their_own() -> None:
    rows = pl.DataFrame(
        [{**row, "reserve": reserve} for reserve in (0, 8)
         for row in (example_row("t", "craw", 64), bound_row("t", 64))],
        infer_schema_length=None,
    )  # fmt: skip
    assert [section.label for section in sections(rows, None)] == [
        "t · no reserve",
        "t · reserve 8",
    ]
    assert all(len(section.bounds) == 1 for section in sections(rows, None))


def test_the_bound_is_no_policy_of_a_legend() -> None:
    assert sections(example_rows(), None)[0].policies[-1] == "min"


def test_the_page_asks_for_nothing_from_outside() -> None:
    text = render(example_rows(), example_facts())
    for tag, attributes in Elements(text).tags:
        assert "src" not in attributes, tag
        href = attributes.get("href") or "#"
        assert href.startswith(("#", "data:")), href
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert "url(http" not in text


def test_the_vega_bundle_is_in_the_page_once() -> None:
    text = render(example_rows(["one", "two"]), example_facts(["one", "two"]))
    assert text.count("window.vega=") == 1


def test_a_hostile_trace_name_stays_text() -> None:
    rows = example_rows([HOSTILE])
    text = render(rows, example_facts([HOSTILE], synthetic=[HOSTILE]))
    honest = render(example_rows(), example_facts())
    assert len(Elements(text).tags) == len(Elements(honest).tags)
    assert "<script>alert" not in text
    assert f"{HOSTILE} (synthetic)" in Elements(text).cells


def test_direction_marks_and_surrogates_in_names_are_spelled_out() -> None:
    facts = example_facts(["a\u202eb"])
    facts["command"] = "clockhand simulate bad-\udcff-name"
    text = render(example_rows(["a\u202eb"]), facts)
    assert "\u202e" not in text
    assert r"a\u202eb" in text
    assert r"bad-\udcff-name" in text


def test_the_data_of_a_page_holds_no_markup_and_reads_back() -> None:
    text = render(example_rows([HOSTILE]), example_facts([HOSTILE]))
    [part] = unpacked(text)["parts"]
    assert part["rows"][0]["trace"] == HOSTILE
    assert len(part["figures"]) == 6


def test_the_synthetic_label_stands_wherever_the_numbers_are() -> None:
    rows = example_rows()
    text = render(rows, example_facts())
    label = "example-gcc (synthetic)"
    captions = re.findall(r"<figcaption.*?</figcaption>", text, re.DOTALL)
    assert len(captions) == 8
    assert all(label in caption for caption in captions)
    assert label in re.findall(r"<h1.*?>(.*?)</h1>", text)[0]
    assert Elements(text).cells.count(label) == rows.height
    assert "example-gcc" not in Elements(text).cells
    for chart in specifications(rows, example_facts()).values():
        assert label in json.dumps(chart)


def test_the_table_holds_every_row_with_thousands_separators() -> None:
    rows = example_rows()
    text = render(rows, example_facts())
    body = text.split('<table class="rows"')[1].split("</table>")[0]
    assert body.count("<tr") == rows.height + 1
    assert f"{rows['misses'][0]:,}" in Elements(text).cells


def test_the_facts_are_on_the_page() -> None:
    facts = example_facts()
    text = render(example_rows(), facts)
    for fact in (
        facts["version"],
        facts["created"],
        facts["traces"][0]["sha256"],
        facts["devices"][0]["source"],
        facts["policies"][0]["paper"],
        "--memory",
    ):
        assert str(fact) in text


def test_a_missing_column_is_named() -> None:
    with pytest.raises(ValueError, match="lack the columns io_time_us: add them"):
        figures(example_rows().drop("io_time_us"))


def test_a_row_without_a_memory_size_is_named() -> None:
    rows = example_rows().with_columns(frames=pl.lit(None, dtype=pl.Int64))
    with pytest.raises(ValueError, match=r"result row 1 \(policy clock\) has no frames"):
        figures(rows)


def test_rows_without_any_time_have_figures_of_what_they_know() -> None:
    rows = example_rows().with_columns(io_time_us=pl.lit(None, dtype=pl.Float64))
    assert list(specifications(rows, None)) == ["read_ios", "write_ios", "hit_ratio"]
    assert "The rows hold no i/o time" not in render(rows, example_facts())
    assert "The rows hold no I/O time" in render(rows, example_facts())


def test_rows_of_the_bound_alone_are_refused() -> None:
    rows = example_rows().filter(pl.col("policy") == "bound")
    with pytest.raises(ValueError, match="no policy row to report"):
        figures(rows)


def test_a_trace_that_the_facts_do_not_describe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="which facts\\['traces'\\] does not describe"):
        write_report(example_rows(["other"]), example_facts(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_not_finite_become_unknown() -> None:
    rows = example_rows().with_columns(energy_uj=pl.lit(float("nan")))
    assert "NaN" not in json.dumps(sections(rows, None)[0].records)


def test_a_report_is_written_whole_and_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(example_rows(), example_facts(), path)
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_grow_leaves_the_old_report_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match=re.escape(str(path))) as raised:
            write_report(example_rows(), example_facts(), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.errno == errno.EFBIG
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_device_is_an_error_and_stays_a_device() -> None:
    with pytest.raises(OSError, match="/dev/full") as raised:
        write_report(example_rows(), example_facts(), "/dev/full")
    assert raised.value.errno == errno.ENOSPC
    assert not Path("/dev/full").is_file()


def test_a_folder_that_is_a_file_or_absent_is_an_error_about_the_report(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "report.html", tmp_path / "absent" / "report.html"):
        with pytest.raises(OSError, match=re.escape(str(path))):
            write_report(example_rows(), example_facts(), path)


def test_plots_are_svg_and_png_files_that_name_their_trace(tmp_path: Path) -> None:
    write_plots(example_rows(sizes=(64, 128)), tmp_path / "plots", example_facts())
    files = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert len(files) == 20
    assert files[:2] == ["hit_ratio.png", "hit_ratio.svg"]
    assert (tmp_path / "plots/io_time.png").read_bytes().startswith(b"\x89PNG\r\n")
    svg = (tmp_path / "plots/io_time.svg").read_text(encoding="utf-8")
    assert "example-gcc (synthetic)" in svg
    assert "cflru" in svg


def test_plots_that_do_not_fit_leave_no_file(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    rows = example_rows(policies=("clock", "craw"), sizes=(64, 128))
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, limits[1]))
    try:
        with pytest.raises(OSError, match="png"):
            write_plots(rows, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def test_of_the_notes_on_a_trace_ten_stand_open() -> None:
    """A capture of files has a note for each process: hundreds would be pages of a print."""
    facts = example_facts()
    facts["traces"][0]["notes"] = [f"process {number}: cc" for number in range(40)]
    page = render(example_rows(), facts)
    opened, folded = page.split("<summary>30 more notes on this trace</summary>")
    assert opened.count("process ") == 10 and "process 9: cc" in opened
    assert folded.count("process ") == 30
