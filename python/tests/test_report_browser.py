"""The report in a browser: what a reader sees, clicks and types.

Without Chromium these tests are skipped with a reason, unless ``CI=true``: then they fail.
"""

import base64
import gzip
import http.server
import itertools
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clockhand import Trace, filecache, locality, run_ssd
from clockhand.report import write_report
from clockhand.report.appearance import DARK
from clockhand.studies.programs.report import render, render_comparison
from conftest import scattered_pages
from opened import unavailable
from programs_example import AGREEING, compared, courses, facts, rows_of, sampled, statistics
from report_example import example_facts, example_rows

TIME = pl.col("io_time_us")
CLOCK_TIME = TIME.filter(pl.col("policy") == "clock", pl.col("frames") == 2048).first()
HOSTILE = "<script>document.title='taken'</script>"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        unavailable("selenium is not installed: the report was not tested in a browser")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        unavailable("chromium and chromedriver are not here: no test of the report in a browser")
    options = webdriver.ChromeOptions()
    options.binary_location = str(chromium)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    session = webdriver.Chrome(options=options, service=Service(str(driver)))
    yield session
    session.quit()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports: one trace, two traces (one hostile, without CLOCK), a single memory size. Locality
    of one trace, of two (one hostile, without writes), and of a sample. Write buffers on a drive,
    at one size, and at two on two traces (one hostile, without writes); file caches of them."""
    folder = tmp_path_factory.mktemp("reports")
    write_report(example_rows(), example_facts(), folder / "lines.html")
    traces = ["example-gcc", HOSTILE]
    two = example_rows(traces, policies=("lru", "craw"))
    write_report(two, example_facts(traces), folder / "traces.html")
    write_report(example_rows(sizes=(2048,)), example_facts(), folder / "bars.html")
    slow = pl.when(pl.col("policy") == "lru", pl.col("frames") == 2048)
    outlier = example_rows().with_columns(
        slow.then(150.0 * CLOCK_TIME).otherwise(TIME).alias("io_time_us")
    )
    write_report(outlier, example_facts(), folder / "outlier.html")
    names = [f"trace-{number}" for number in range(6)]
    write_report(example_rows(names), example_facts(names), folder / "many.html")
    pages = scattered_pages(3000, distinct=300)
    writing = Trace.from_arrays(
        [page % 3 == 0 for page in pages], [page * 4096 for page in pages], name="writing"
    )
    reading = Trace.from_arrays(["R"] * 4, [0, 4096, 8192, 0], name=HOSTILE)
    locality(writing).write_report(folder / "locality.html")
    locality([writing, reading]).write_report(folder / "locality-traces.html")
    locality(writing, sample=0.5).write_report(folder / "locality-sample.html")
    buffers = ["cbm:total=8", "clock-dnv:total=8"]
    on_small = {"ssds": "small:blocks_per_plane=32", "precondition": "random"}
    run_ssd(writing, buffers=buffers, **on_small).write_report(folder / "ssd-bars.html")
    sizes = [f"{name}:total={size}" for name in ("fab", "cbm") for size in (4, 16)]
    run_ssd([writing, reading], buffers=sizes, **on_small).write_report(folder / "ssd.html")
    caches = filecache(
        [writing, reading], capacity="10%,50%", admissions="all", devices="hdd,scm:ratio=1"
    )
    caches.write_report(folder / "filecache.html")
    write_paging_reports(folder)
    return folder


def write_paging_reports(folder: Path) -> None:
    """Write the report of a run (the program has a hostile name) and that of a comparison."""
    growing = {"misses": 2, "minor_faults": 3, "write_protect_faults": 1, "pages_written": 5}
    samples = sampled(
        *(
            (second, {name: step * second**2 for name, step in growing.items()})
            for second in range(9)
        )
    )
    rows = rows_of(statistics(name=HOSTILE), **AGREEING)
    page = render(rows, samples.counts(), samples.gauges(), facts(program=HOSTILE))
    (folder / "run.html").write_text(page)
    runs = [(name, 2.0 + n, 50 * n, 40) for n in (1, 2) for name in ("clock", "craw", "kernel")]
    page = render_comparison(compared(*runs), courses("clock", "craw", "kernel"), facts())
    (folder / "comparison.html").write_text(page)


@pytest.fixture
def opened(browser: Any, folder: Path) -> Open:
    def open_report(name: str, width: int = 1280, scheme: str = "light") -> Any:
        from selenium.webdriver.support.ui import WebDriverWait

        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        prefer_scheme(browser, scheme)
        browser.get_log("browser")
        browser.get((folder / f"{name}.html").as_uri())
        WebDriverWait(browser, 30, poll_frequency=0.05).until(
            lambda page: (
                page.execute_script("return document.documentElement.dataset.figures") == "drawn"
            )
        )
        return browser

    return open_report


def prefer_scheme(page: Any, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def column_texts(page: Any, name: str) -> list[str]:
    texts: list[str] = page.execute_script(
        """const heads = [...document.querySelectorAll('.rows thead th')];
        const index = heads.findIndex((head) => head.dataset.column === arguments[0]);
        return [...document.querySelectorAll('.rows tbody tr:not([hidden])')]
          .map((row) => row.cells[index].textContent);""",
        name,
    )
    return texts


def numbers(texts: list[str]) -> list[int]:
    return [int(text.replace(",", "")) for text in texts if text != "–"]


def head_button(page: Any, name: str) -> Any:
    return page.find_element("css selector", f'.rows th[data-column="{name}"] button')


def aria_sort(page: Any, name: str) -> str | None:
    head = page.find_element("css selector", f'.rows th[data-column="{name}"]')
    value: str | None = head.get_attribute("aria-sort")
    return value


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("lines", 6),
        ("traces", 10),
        ("bars", 0),
        ("locality", 10),
        ("locality-traces", 17),
        ("locality-sample", 3),
        ("ssd-bars", 1),
        ("ssd", 12),
        ("filecache", 5),
        ("run", 4),
        ("comparison", 6),
    ],
)
def test_every_figure_is_drawn_nothing_is_run_and_the_console_stays_silent(
    opened: Open, name: str, count: int
) -> None:
    """Nothing of a hostile name is run either: the title would be another."""
    page = opened(name)
    assert page.title.endswith("Clockhand report")
    assert (name in OF_HOSTILE) == (HOSTILE in page.find_element("css selector", "main").text)
    assert_fits(page, 1280)
    drawn = page.execute_script(
        """return [...document.querySelectorAll('.chart')].map((chart) => {
          const marks = chart.querySelectorAll('svg .role-mark path, svg .role-mark rect');
          const box = chart.querySelector('svg').getBoundingClientRect();
          return [marks.length, box.width, box.height];
        });"""
    )
    assert len(drawn) == count
    assert all(marks > 1 and width > 200 and height > 60 for marks, width, height in drawn)
    assert page.get_log("browser") == []
    assert page.find_elements("css selector", ".problem[role=alert]") == []


@pytest.mark.parametrize(
    "name", ["lines", "bars", "locality", "ssd-bars", "filecache", "run", "comparison"]
)
def test_the_first_figure_is_in_the_first_window_before_any_script_runs(
    browser: Any, folder: Path, name: str
) -> None:
    ask = browser.execute_cdp_cmd
    size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    ask("Emulation.setDeviceMetricsOverride", size)
    ask("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get((folder / f"{name}.html").as_uri())
        root = ask("DOM.getDocument", {})["root"]["nodeId"]
        first = {"nodeId": root, "selector": "main figure table.heat, main .chart svg"}
        figure = ask("DOM.querySelector", first)["nodeId"]
        box = ask("DOM.getBoxModel", {"nodeId": figure})["model"]
        marks = "tbody tr, .role-mark path, .role-mark rect, .role-mark text"
        drawn = ask("DOM.querySelectorAll", {"nodeId": figure, "selector": marks})["nodeIds"]
    finally:
        ask("Emulation.setScriptExecutionDisabled", {"value": False})
    assert len(drawn) > 1
    assert box["width"] > 200 and box["height"] > 60
    assert box["content"][1] < 850, "it begins in the first window"


OF_HOSTILE = ("traces", "locality-traces", "ssd", "filecache", "run")
"""Pages with a hostile name in what stands open."""


def assert_fits(page: Any, width: int) -> None:
    """Hold that a page never scrolls sideways, in both colour schemes."""
    for scheme in ("dark", "light"):
        prefer_scheme(page, scheme)
        # After two frames the page has answered the change, whatever it does then.
        inner, content = page.execute_async_script(
            """const done = arguments[0];
            const measure = () =>
              done([window.innerWidth, document.documentElement.scrollWidth]);
            requestAnimationFrame(() => requestAnimationFrame(measure));"""
        )
        assert content <= inner == width, scheme


@pytest.mark.parametrize(
    "name", ["traces", "bars", "locality-traces", "ssd", "run", "comparison", "filecache"]
)
def test_a_page_fits_a_phone(opened: Open, name: str) -> None:
    page = opened(name, 380)
    assert_fits(page, 380)
    if name == "locality-traces":
        assert len(page.find_elements("css selector", ".missing")) == 3
        assert len(set(page.execute_script(PANELS))) == 1


PANELS = """return [...document.querySelectorAll('#rankings .panels figure')]
  .map((figure) => Math.round(figure.getBoundingClientRect().left));"""
"""The left edges of panels."""


def test_figures_follow_the_colour_scheme_and_print_is_light(opened: Open) -> None:
    script = """return [getComputedStyle(document.body).backgroundColor,
      getComputedStyle(document.querySelector('.chart svg text')).fill,
      getComputedStyle(document.querySelectorAll('.chart svg .mark-line path')[1]).stroke];"""
    page = opened("lines")
    light = page.execute_script(script)
    prefer_scheme(page, "dark")
    dark = page.execute_script(script)
    assert light[0] == "rgb(255, 255, 255)"
    assert all(a != b for a, b in zip(light, dark, strict=True))
    page.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    background = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert background == "rgb(255, 255, 255)"


def test_clicks_and_keys_sort_the_table_and_turn_it(opened: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    page = opened("lines")
    before = column_texts(page, "misses")
    head_button(page, "misses").click()
    assert aria_sort(page, "misses") == "ascending"
    ascending = column_texts(page, "misses")
    assert numbers(ascending) == sorted(numbers(before))
    assert ascending[-1] == "–"
    head_button(page, "misses").click()
    assert aria_sort(page, "misses") == "descending"
    descending = column_texts(page, "misses")
    assert numbers(descending) == sorted(numbers(before), reverse=True)
    assert descending[-1] == "–"
    head_button(page, "io_time_us").send_keys(Keys.ENTER)
    assert aria_sort(page, "io_time_us") == "ascending"
    head_button(page, "policy").send_keys(Keys.SPACE)
    assert aria_sort(page, "io_time_us") == "none"
    assert aria_sort(page, "policy") == "ascending"
    policies = column_texts(page, "policy")
    assert policies == sorted(policies)


def test_the_filters_leave_the_rows_of_one_trace_and_policy(opened: Open) -> None:
    page = opened("traces")
    for name, value in (("trace", HOSTILE), ("policy", "craw")):
        page.execute_script(
            """const filter = document.querySelector(`[data-filter="${arguments[0]}"]`);
            filter.value = arguments[1];
            filter.dispatchEvent(new Event('change'));""",
            name,
            value,
        )
    assert set(column_texts(page, "trace")) == {HOSTILE}
    assert set(column_texts(page, "policy")) == {"craw"}
    assert page.find_element("css selector", ".count").text == "6 of 36 rows"


COLOURED = """return [...document.querySelectorAll('.chart')].map((chart) =>
  [...chart.querySelectorAll('.mark-line path')].filter((path) =>
    /--series|--ink/.test(path.getAttribute('stroke'))
  ).length);"""
"""The number of lines that each figure emphasises, without the lower bound and grey lines."""


LABELLED = """return [...document.querySelectorAll('[data-figure]')].map((figure) =>
  [...figure.querySelectorAll('.labels_marks text')]
    .map((text) => [text.textContent, text.getBoundingClientRect().top])
    .sort((one, other) => one[1] - other[1]))"""


def test_each_figure_emphasises_and_names_the_baseline_the_winner_and_what_differs_there(
    opened: Open,
) -> None:
    page = opened("lines")
    labelled = page.execute_script(LABELLED)
    assert page.execute_script(COLOURED) == [len(figure) for figure in labelled] == [5] * 6
    for figure in labelled:
        names = {name for name, _ in figure}
        assert {"clock", "craw-a"} <= names
        assert "min" not in names  # It cannot be recommended.
    # Of reads others are best than of writes.
    assert labelled[3] != labelled[4]
    others = page.find_element("css selector", ".legend summary")
    assert others.text.strip().endswith("2 others, grey")
    # Names at the ends of lines give way to each other.
    for figure in labelled:
        tops = [top for _, top in figure]
        assert all(below - above >= 12.5 for above, below in itertools.pairwise(tops)), figure
    # A short page has no contents.
    assert not page.find_element("css selector", "nav.contents").is_displayed()


def test_the_legend_emphasises_and_names_a_policy_in_every_figure_from_the_keyboard(
    opened: Open,
) -> None:
    from selenium.webdriver.common.keys import Keys

    page = opened("lines")
    button = page.find_element("css selector", '[data-policy="craw"]')
    button.send_keys(Keys.ENTER)
    assert button.get_attribute("aria-pressed") == "true"
    assert page.execute_script(COLOURED) == [1] * 6
    names = [[name for name, _ in figure] for figure in page.execute_script(LABELLED)]
    assert names == [["craw"]] * 6
    page.find_element("css selector", ".everything").send_keys(Keys.SPACE)
    assert button.get_attribute("aria-pressed") == "false"
    assert page.execute_script(COLOURED) == [5] * 6
    # A grey line too.
    page.find_element("css selector", ".legend summary").send_keys(Keys.ENTER)
    button = page.find_element("css selector", "details [data-policy]")
    button.send_keys(Keys.SPACE)
    assert page.execute_script(COLOURED) == [1] * 6


def test_a_grey_line_is_named_under_the_pointer(opened: Open) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    page = opened("lines")
    names = set()
    for line in page.find_elements("css selector", ".chart .hit_marks path")[:8]:
        middle = page.execute_script(
            """const path = arguments[0];
            path.scrollIntoView({ block: 'center' });
            const point = path.getPointAtLength(path.getTotalLength() * 0.45)
              .matrixTransform(path.getScreenCTM());
            return [Math.round(point.x), Math.round(point.y)];""",
            line,
        )
        pointer = ActionChains(page)
        for left in (middle[0] - 1, middle[0]):
            pointer.w3c_actions.pointer_action.move_to_location(left, middle[1])
        pointer.perform()
        names.add(page.find_element("css selector", ".name-tip").text)
    assert {"lru", "lru-wsr", "car"} <= names
    ActionChains(page).click().perform()
    pressed = page.find_elements("css selector", '[data-policy][aria-pressed="true"]')
    assert [button.get_attribute("data-policy") for button in pressed] == ["min"]


SAVED = """const [identity, format, done] = arguments;
  URL.createObjectURL = (blob) => {
    blob.text().then((text) => done([blob.type, blob.size, text]));
    return '#';
  };
  HTMLAnchorElement.prototype.click = () => {};
  const figure = document.querySelector(`[data-figure$="${identity}"], [id$="${identity}"]`)
    .closest('figure');
  const buttons = [...figure.querySelectorAll('.save button')];
  buttons.find((button) => button.textContent === format).click();"""


def test_a_figure_is_saved_as_svg_png_and_csv(opened: Open) -> None:
    page = opened("lines", scheme="dark")
    kind, _, svg = page.execute_async_script(SAVED, "read_ios", "SVG")
    assert kind == "image/svg+xml"
    assert svg.startswith("<svg") and "var(--" not in svg and DARK.series[0] in svg
    kind, size, _ = page.execute_async_script(SAVED, "read_ios", "PNG")
    assert (kind, size > 5000) == ("image/png", True)
    kind, _, text = page.execute_async_script(SAVED, "read_ios", "CSV")
    saved = pl.read_csv(text.encode())
    rows = example_rows().filter(pl.col("policy") == "craw").sort("frames")
    assert saved.filter(pl.col("policy") == "craw").sort("frames")["read_ios"].to_list() == (
        rows["read_ios"].to_list()
    )


def test_a_ranking_and_a_table_of_measures_are_saved_as_csv(opened: Open) -> None:
    page = opened("lines")
    _, _, text = page.execute_async_script(SAVED, "-io_time", "CSV")
    ranking = pl.read_csv(text.encode())
    assert ranking.columns[:4] == ["Policy", "mean", "least", "most"]
    assert ranking.filter(pl.col("Policy") == "clock")["mean"].to_list() == [1]
    _, _, text = opened("bars").execute_async_script(SAVED, "-all-measures", "CSV")
    measures = pl.read_csv(text.encode(), infer_schema=False)
    assert measures.columns[:2] == ["Policy", "I/O time (s)"] and len(measures.columns) > 4
    assert {"clock", "lower bound"} & set(measures["Policy"])


def test_a_long_page_has_contents_that_filter_and_folds_what_comes_late(opened: Open) -> None:
    page = opened("many")
    links = [link.text for link in page.find_elements("css selector", "nav.contents a")]
    assert {"trace-0", "trace-5", "All rows"} <= set(links)
    folded = "return [...document.querySelectorAll('details.folded')].map((fold) => fold.open)"
    # How far all are from the lower bound, and the inputs behind the first screens.
    assert page.execute_script(folded) == [False] * 6
    first = "return document.querySelector('details.folded').getBoundingClientRect().top"
    assert page.execute_script(first) <= 5 * 900, "five screens, then details are folded"
    drawn = "return document.querySelectorAll('#trace-5 .chart svg').length"
    assert page.execute_script(drawn) == 0
    page.execute_script("location.hash = '#trace-5'")
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, 20).until(lambda page: page.execute_script(drawn) == 6)
    widths = (
        "return [...document.querySelectorAll('#trace-5 .chart svg')].map((svg) => svg.clientWidth)"
    )
    assert min(page.execute_script(widths)) > 300
    search = page.find_element("css selector", "nav.contents input")
    search.send_keys("trace-2")
    shown = """return [...document.querySelectorAll('main > section')]
      .filter((section) => !section.hidden).map((section) => section.id)"""
    assert "trace-2" in page.execute_script(shown)
    assert "trace-3" not in page.execute_script(shown)


def test_at_one_size_a_table_has_every_measure_with_bars(opened: Open) -> None:
    page = opened("bars")
    rows = page.execute_script(
        """return [...document.querySelectorAll('.singles tbody tr')].map((row) => ({
          name: row.querySelector('th').textContent,
          texts: [...row.querySelectorAll('td.n')].map((cell) => cell.textContent),
          best: [...row.querySelectorAll('td.n')].map((cell) => cell.classList.contains('mean')),
          bars: [...row.querySelectorAll('td.bar')].map((cell) =>
            cell.querySelector('span')?.getBoundingClientRect().width ?? 0),
        }));"""
    )
    can_run = [row for row in rows if row["name"] not in ("lower bound", "min")]
    times = [float(row["texts"][0]) for row in can_run]
    assert times == sorted(times) and [row["best"][0] for row in can_run] == [True] + [False] * (
        len(can_run) - 1
    )
    widths = [row["bars"][0] for row in can_run]
    assert widths == sorted(widths) and widths[0] > 5
    longest = max(row["bars"][0] / float(row["texts"][0]) for row in can_run)
    assert all(abs(row["bars"][0] / float(row["texts"][0]) / longest - 1) < 0.1 for row in can_run)


def test_several_runs_are_dots_with_their_median_and_samples_are_steps(opened: Open) -> None:
    page = opened("comparison")
    dots = """return [...document.querySelectorAll('[data-figure$="-seconds"] .mark-symbol path')]
      .length"""
    assert page.execute_script(dots) == 6  # Two runs of three contenders.
    chart = page.find_element("css selector", '[data-figure$="-seconds"]')
    said = [text.text for text in chart.find_elements("css selector", ".mark-text text")]
    assert "median 3.500" in said and len([it for it in said if "median" in it]) == 3
    lines = """return [...document.querySelectorAll('[data-figure] .mark-line path')]
      .map((line) => line.getAttribute('d'))"""
    for line in filter(None, page.execute_script(lines)):
        places = [tuple(map(float, pair.split(","))) for pair in re.findall(r"[\d.]+,[\d.]+", line)]
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(places)), line


def test_an_outlier_is_cut_at_the_edge_with_its_number(opened: Open) -> None:
    page = opened("outlier")
    chart = page.find_element("css selector", '[data-figure$="io_time_relative_to_clock"]')
    texts = [text.text for text in chart.find_elements("css selector", ".mark-text text")]
    assert any("lru 150" in text for text in texts), texts
    ticks = chart.find_elements("css selector", ".role-axis-label text")
    numbers_on_axis = [float(tick.text) for tick in ticks if tick.text.replace(".", "").isdigit()]
    assert max(number for number in numbers_on_axis if number < 100) < 5
    assert "at most: lru 150" in page.find_element("css selector", "main").text


def test_the_ranking_and_the_heat_map_stand_first_with_the_least_mean_on_top(opened: Open) -> None:
    page = opened("traces")
    [first, *_] = page.find_elements("css selector", "main table")
    means = [float(cell.text) for cell in first.find_elements("css selector", "td.mean")]
    assert len(means) == 3
    assert means == sorted(means)


def test_a_wide_table_keeps_its_first_column_and_shows_that_it_goes_on(opened: Open) -> None:
    page = opened("lines", 390)
    script = """const scroller = document.querySelector('.overview .scroll');
      const name = scroller.querySelector('tbody th');
      const at = () => Math.round(name.getBoundingClientRect().left);
      const before = [at(), scroller.classList.contains('goes-on-right')];
      scroller.scrollLeft = scroller.scrollWidth;
      return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() =>
        resolve([...before, at(), scroller.classList.contains('goes-on-right')]))));"""
    left, goes_on, left_later, goes_on_later = page.execute_script(script)
    assert (goes_on, goes_on_later) == (True, False)
    assert abs(left - left_later) <= 1


def test_words_say_that_a_table_goes_on_and_move_it(opened: Open) -> None:
    page = opened("lines", 390)
    hint = page.find_element("css selector", ".overview .goes-on")
    assert hint.text == "more columns →"
    script = "return document.querySelector('.overview .scroll').scrollLeft"
    assert page.execute_script(script) == 0
    page.execute_script("arguments[0].click()", hint)
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, 10).until(lambda page: page.execute_script(script) > 0)
    assert not opened("lines", 2400).find_elements("css selector", ".overview .goes-on")


def test_rows_beyond_those_of_the_page_are_added_and_saved_as_they_are_filtered(
    opened: Open,
) -> None:
    page = opened("many")
    assert page.find_element("css selector", ".count").text == "100 of 324 rows"
    page.find_element("css selector", ".more").click()
    assert len(column_texts(page, "misses")) == 324
    head_button(page, "misses").click()
    shown = numbers(column_texts(page, "misses"))
    assert shown == sorted(shown)
    script = """const done = arguments[0];
      URL.createObjectURL = (blob) => { blob.text().then(done); return '#'; };
      HTMLAnchorElement.prototype.click = () => {};
      const policies = document.querySelector('[data-filter="policy"]');
      policies.value = 'craw';
      policies.dispatchEvent(new Event('change'));
      document.querySelector('#rows .save button').click();"""
    saved = pl.read_csv(page.execute_async_script(script).encode())
    craw = example_rows([f"trace-{n}" for n in range(6)]).filter(pl.col("policy") == "craw")
    assert saved.height == craw.height
    assert saved["policy"].unique().to_list() == ["craw"]
    assert saved["memory (frames)"].dtype == pl.Int64


def test_a_point_shows_all_its_numbers(opened: Open) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    page = opened("lines")
    height = "return document.documentElement.scrollHeight"
    before = page.execute_script(height)
    points = page.find_elements("css selector", ".chart .mark-symbol path")
    # Scrolling to the last one, as a reader would, hides nothing of it below the legend.
    page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", points[-1])
    ActionChains(page).move_to_element(points[-1]).perform()
    tooltip = page.find_element("css selector", ".numbers-tip")
    for text in ("example-gcc (synthetic)", "Memory (MiB)", "Dirty evictions", "Energy (µJ)"):
        assert text in tooltip.text
    # Without a position of its own it once stood below the page, out of sight.
    assert page.execute_script(height) == before
    assert tooltip.rect["y"] < before


def test_each_table_of_a_run_is_sorted_by_itself(opened: Open) -> None:
    page = opened("run")
    head = 'th[data-column="misses"]'
    tables = page.find_elements("css selector", "table.rows")
    assert len(tables) == 3
    tables[1].find_element("css selector", f"{head} button").click()
    sorts = [t.find_element("css selector", head).get_attribute("aria-sort") for t in tables]
    assert sorts == ["none", "ascending", "none"]
    exact = tables[1].find_element("css selector", "tbody tr td:nth-child(2)")
    assert exact.text == "simulator, exact"


def test_panels_stand_beside_each_other_and_follow_the_colour_scheme(opened: Open) -> None:
    page = opened("locality")
    assert len(set(page.execute_script(PANELS))) == 4
    script = """return getComputedStyle(
      document.querySelector('.chart svg .mark-line path')).stroke;"""
    light = page.execute_script(script)
    prefer_scheme(page, "dark")
    assert light != page.execute_script(script)


def test_a_print_has_every_figure_also_those_that_were_not_looked_at(
    browser: Any, folder: Path
) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1280, "height": 300, "deviceScaleFactor": 1, "mobile": False},
    )
    # A browser that never has a turn: what is not near the window stays undrawn.
    never = {"source": "window.scheduler.postTask = () => 0;"}
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", never)
    try:
        browser.get_log("browser")
        browser.get((folder / "traces.html").as_uri())
        WebDriverWait(browser, 30, poll_frequency=0.05).until(
            lambda page: page.execute_script("return document.documentElement.dataset.parts")
        )
        # Only promises are waited for, as a browser does between the event and the print.
        drawn, printed, places = browser.execute_async_script(
            """const done = arguments[0];
            const count = () => document.querySelectorAll(".chart svg.marks").length;
            (async () => {
              const before = count();
              window.dispatchEvent(new Event("beforeprint"));
              for (let turn = 0; turn < 1000; turn++) await null;
              done([before, count(), document.querySelectorAll("[data-figure]").length]);
            })();"""
        )
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    assert drawn < places and printed == places
    assert browser.get_log("browser") == []


def test_a_figure_that_cannot_be_drawn_says_so(opened: Open, folder: Path) -> None:
    text = (folder / "lines.html").read_text(encoding="utf-8")
    packed = re.findall(r'id="report-data">([^<.]*)', text)[0]
    part = json.loads(gzip.decompress(base64.b64decode(packed)))
    part["figures"][0]["specification"]["scales"][0]["type"] = "unknown"
    broken = base64.b64encode(gzip.compress(json.dumps(part).encode())).decode()
    whole = text.replace(packed, broken)
    (folder / "broken.html").write_text(whole, encoding="utf-8")
    page = opened("broken")
    [problem] = page.find_elements("css selector", ".problem[role=alert]")
    assert problem.text.startswith("This figure could not be drawn:")
    assert any(entry["level"] == "SEVERE" for entry in page.get_log("browser"))


def test_the_page_requests_nothing_but_itself(browser: Any, folder: Path) -> None:
    requested: list[str] = []

    class Recorder(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_request(self, *_: Any) -> None:
            requested.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.get(f"http://127.0.0.1:{server.server_port}/lines.html")
        browser.implicitly_wait(0)
        fetched = browser.execute_async_script(
            """const done = arguments[0];
            const finish = () => document.documentElement.dataset.figures === 'drawn'
              ? done(performance.getEntriesByType('resource').map((entry) => entry.name))
              : setTimeout(finish, 50);
            finish();"""
        )
        server.shutdown()
    assert requested == ["/lines.html"]
    assert [name for name in fetched if not name.startswith("data:")] == []
