"""Policies step by step: the steps are the simulator's, and the page plays them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clockhand import Trace, UsageError, policies, simulate, watch_policies
from conftest import TEXTBOOK_PAGES, Clockhand, assert_one_sentence, os_course, scattered_pages
from test_report_browser import HOSTILE, browser  # noqa: F401

NAMES = policies().filter(pl.col("kind") != "bound")["name"].to_list()
READ_BIT, WRITE_BIT, DIRTY = 1, 2, 4


def written_in_part(count: int = 300, distinct: int = 12) -> Trace:
    pages = scattered_pages(count, distinct)
    return Trace.from_arrays(
        [page % 3 == 0 for page in pages], [page * 4096 for page in pages], name="scattered"
    )


def summed(steps: list[dict[str, Any]]) -> dict[str, int]:
    """Counts of a course, from its steps alone."""
    left = [dirty for step in steps for _, dirty in step["left"]]
    return {
        "hits": sum(step["hit"] for step in steps),
        "misses": sum(not step["hit"] for step in steps),
        "clean_evictions": left.count(False),
        "dirty_evictions": left.count(True),
        "write_backs": sum(len(step["written_back"]) for step in steps),
        "hand_movements": sum(step["examined"] for step in steps),
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bits", ["exact", "mapped", "sensed"])
def test_steps_add_up_to_the_counts_of_a_simulation(name: str, bits: str) -> None:
    trace = written_in_part()
    (course,) = watch_policies(trace, policies=name, frames=5, bits=bits).courses
    row = simulate(trace, policies=name, frames=5, bits=bits, hand_ns=0).rows.row(0, named=True)
    counts = summed(course.steps)
    assert counts == {key: row[key] for key in counts}
    assert (course.read_ios, course.write_ios) == (row["read_ios"], row["write_ios"])
    assert course.policy_resolved == row["policy_resolved"]


@pytest.mark.parametrize("name", NAMES)
def test_each_step_shows_the_memory_as_it_is(name: str) -> None:
    watched = watch_policies(written_in_part(), policies=name, frames=5)
    in_memory: set[int] = set()
    for (page, is_write), step in zip(watched.references, watched.courses[0].steps, strict=True):
        assert step["hit"] == (page in in_memory)
        in_memory = (in_memory - {left for left, _ in step["left"]}) | {page}
        held = {held: state for _, held, state in step["frames"]}
        assert set(held) == in_memory
        assert not is_write or held[page] & DIRTY, "what was written is dirty"
        for shown in step["lists"]:
            assert len(set(shown["pages"])) == len(shown["pages"])
            if shown["kind"] != "ghosts":
                assert set(shown["pages"]) <= in_memory
            for _, numbers in shown["numbers"]:
                assert len(numbers) == len(shown["pages"])


def test_clock_clears_bits_and_its_hand_goes_around() -> None:
    trace = Trace.from_arrays(["R"] * 5, [0, 4096, 8192, 0, 3 * 4096], name="worked")
    (course,) = watch_policies(trace, policies="clock", frames=3).courses
    hit, fault = course.steps[3:]
    assert hit["lists"] == [
        {"name": "from_hand", "kind": "ring", "pages": [0, 1, 2], "numbers": []}
    ]
    assert [state for _, page, state in hit["frames"] if page == 0] == [READ_BIT]
    # The hand passes page 0, whose bit is set, and takes page 1.
    assert fault["left"] == [[1, False]] and fault["examined"] == 2
    assert fault["lists"][0]["pages"] == [2, 0, 3]
    assert [state for _, page, state in fault["frames"] if page == 0] == [0]


def test_a_blind_write_reads_nothing() -> None:
    trace = Trace.from_arrays(["W", "R"], [0, 4096], name="blind")
    (course,) = watch_policies(trace, policies="lru", frames=2, write_miss="blind").courses
    assert (course.misses, course.read_ios) == (2, 1)


def test_the_command_writes_a_page_and_says_what_it_shows(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "t.trace").write_text(os_course(TEXTBOOK_PAGES))
    run = clockhand("watch", "t.trace", "--policy", "fifo,lru", "--frames", "3", "--out", "p.html")
    assert run.code == 0 and run.out == b""
    assert "fifo: 5 hits, 15 misses" in run.err and "lru: 8 hits, 12 misses" in run.err
    assert "p.html plays the 20 steps" in run.err
    page = (tmp_path / "p.html").read_text()
    assert "clockhand watch t.trace" in page.replace("<span>", "").replace("</span>", "")
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_first_thousand_requests_are_shown_if_nothing_is_said(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "long.trace").write_text(os_course(scattered_pages(1500, 40)))
    command = ("watch", "long.trace", "--policy", "clock", "--frames", "8", "--out", "p.html")
    run = clockhand(*command)
    assert "the first 1,000 requests are shown; --limit N takes others" in run.err
    assert "plays the 1,200 steps" in clockhand(*command, "--limit", "1200").err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--policy fifo,lru,clock --frames 3", "--policy names 3 policies"),
        ("--policy bound --frames 3", "has no steps to watch"),
        ("--policy nosuch --frames 3", "nosuch"),
        ("--policy lru --frames 0", "--frames 0 is out of range"),
        ("--policy lru --frames 2000", "--frames 2000 is out of range"),
        ("--policy lru --frames 3 --bits some", "--bits"),
        ("--policy lru --frames 3 --device nosuch", "nosuch"),
    ],
)
def test_what_cannot_be_watched_is_refused(
    clockhand: Clockhand, tmp_path: Path, arguments: str, words: str
) -> None:
    (tmp_path / "t.trace").write_text(os_course(TEXTBOOK_PAGES))
    run = clockhand("watch", "t.trace", *arguments.split(), "--out", "p.html")
    assert run.code == 2
    assert_one_sentence(run)
    assert words in run.err
    assert not (tmp_path / "p.html").exists()


def test_more_than_can_be_looked_at_is_refused() -> None:
    pages = scattered_pages(3000, distinct=2000)
    trace = Trace.from_arrays(["R"] * 3000, [page * 4096 for page in pages], name="long")
    with pytest.raises(UsageError, match="3000 references in 1000 frames are too many"):
        watch_policies(trace, policies="lru", frames=1000)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("players")
    watch_policies(written_in_part(), policies="craw,clock", frames=6).write_report(
        folder / "two.html"
    )
    hostile = Trace.from_arrays(["R", "W"], [1 << 40, 0], name=HOSTILE)
    watch_policies(hostile, policies="credit-clock", frames=1).write_report(folder / "one.html")
    return folder


def opened(page: Any, path: Path, width: int = 1280, step: str = "#1") -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.get_log("browser")
    page.get("about:blank")
    page.get(path.as_uri() + step)


def pressed(page: Any, keys: str) -> str:
    """What the page says after keys."""
    from selenium.webdriver.common.by import By

    page.find_element(By.TAG_NAME, "body").send_keys(keys)
    said: str = page.find_element(By.ID, "said").text
    return said


def test_keys_move_through_the_steps(browser: Any, pages: Path) -> None:  # noqa: F811
    from selenium.webdriver.common.keys import Keys

    opened(browser, pages / "two.html")
    assert pressed(browser, "").startswith("Reference 1, a ")
    assert pressed(browser, Keys.ARROW_RIGHT).startswith("Reference 2, ")
    assert pressed(browser, Keys.ARROW_LEFT).startswith("Reference 1, ")
    assert "is written" in pressed(browser, "w") or "stays in memory" in pressed(browser, "")
    assert "→" in pressed(browser, "a"), "an adaptation says what changed"
    assert pressed(browser, Keys.END).startswith("Reference 300, ")
    assert "miss" in pressed(browser, "F")
    assert pressed(browser, Keys.HOME).startswith("Reference 1, ")
    assert not browser.get_log("browser")


def test_a_player_opens_where_a_page_is_written_or_at_the_step_of_its_address(
    browser: Any,  # noqa: F811
    pages: Path,
) -> None:
    opened(browser, pages / "two.html", step="")
    said = pressed(browser, "")
    assert "is written" in said or "stays in memory" in said
    opened(browser, pages / "two.html", step="#123")
    assert pressed(browser, "").startswith("Reference 123, ")
    link = browser.find_element("id", "link")
    assert link.get_attribute("href").endswith("#123")
    browser.execute_script("location.hash = '#7'")
    assert pressed(browser, "").startswith("Reference 7, ")


def test_a_strip_shows_misses_and_writes_and_leads_to_them(
    browser: Any,  # noqa: F811
    pages: Path,
) -> None:
    opened(browser, pages / "two.html")
    strokes = browser.execute_script(
        "return [...document.querySelectorAll('.strip path')].map((path) =>"
        " (path.getAttribute('d').match(/M/g) ?? []).length)"
    )
    rows = simulate(written_in_part(), policies="craw,clock", frames=6, hand_ns=0).rows.to_dicts()
    assert [strokes[0], strokes[2]] == [row["misses"] for row in rows]
    browser.execute_script(
        "const whole = document.querySelector('.strip svg');"
        "const box = whole.getBoundingClientRect();"
        "whole.dispatchEvent(new MouseEvent('click',"
        " { clientX: box.left + box.width * 0.5, clientY: box.top + 3, bubbles: true }));"
    )
    assert pressed(browser, "").startswith(("Reference 150, ", "Reference 151, "))


def test_lists_are_called_by_words(browser: Any, pages: Path) -> None:  # noqa: F811
    opened(browser, pages / "two.html")
    shown = browser.find_element("id", "courses").text
    assert "written once (W1)" in shown and "remembered of W1" in shown
    assert "gW1" not in shown and "from_hand" not in shown


def test_the_last_step_has_the_counts_of_the_whole(browser: Any, pages: Path) -> None:  # noqa: F811
    from selenium.webdriver.common.keys import Keys

    opened(browser, pages / "two.html")
    pressed(browser, Keys.END)
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.course')].map((course) =>"
        " [...course.querySelectorAll('dl:first-of-type dd')].map((one) => one.textContent))"
    )
    rows = simulate(written_in_part(), policies="craw,clock", frames=6, hand_ns=0).rows
    names = ("hits", "misses", "read_ios", "write_ios", "hand_movements")
    assert shown == [[str(row[name]) for name in names] for row in rows.to_dicts()]


def test_a_player_fits_a_phone_and_takes_any_name(browser: Any, pages: Path) -> None:  # noqa: F811
    for name in ("one", "two"):
        opened(browser, pages / f"{name}.html", width=390)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 390
        assert browser.title != "taken"
        assert not browser.get_log("browser")


def test_play_runs_to_the_end_and_stops(browser: Any, pages: Path) -> None:  # noqa: F811
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    opened(browser, pages / "one.html")
    button = browser.find_element(By.ID, "play")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    WebDriverWait(browser, 20).until(lambda _: button.get_attribute("aria-pressed") == "false")
    assert browser.find_element(By.ID, "count").text == "2 of 2"


def test_steps_are_json_that_scripts_can_take(pages: Path) -> None:
    text = (pages / "two.html").read_text()
    start = text.index('id="report-data">') + len('id="report-data">')
    data = json.loads(text[start : text.index("</script>", start)])
    assert [course["name"] for course in data["courses"]] == ["craw", "clock"]
    assert len(data["courses"][0]["steps"]) == len(data["about"]["references"]) == 300
