"""The local page to turn knobs: what it asks of a trace and of a dataset, and the page itself."""

import re
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import clockhand
from clockhand import UsageError
from clockhand.explore.sources import (
    BY_RATIO,
    DatasetSource,
    Knobs,
    TraceSource,
    answer,
    figures,
    source_of,
)
from clockhand.sweep import read_experiment, run_sweep
from conftest import EXECUTABLE, Clockhand, assert_one_sentence, scattered_pages
from test_report_browser import browser  # noqa: F401

KNOBS = Knobs(("clock", "craw"), 0.1, "4KiB", "scm:ratio=8")


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace of 2,000 references to 200 pages, a third of them writes; nothing is kept yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pages = scattered_pages(2000, distinct=200)
    made = clockhand.Trace.from_arrays(
        ["W" if page % 3 == 0 else "R" for page in pages], [4096 * page for page in pages]
    )
    clockhand.convert_traces(made, tmp_path / "some.parquet")
    return tmp_path / "some.parquet"


def test_cells_are_computed_once_and_are_those_of_simulate(trace: Path) -> None:
    source = TraceSource(str(trace))
    first = source.result(KNOBS).rows
    computed = source.computed
    assert computed == len(first) == 2 * 14
    assert source.result(KNOBS).rows.equals(first) and source.computed == computed
    # Another memory is looked at, not computed; another policy alone is computed.
    source.result(Knobs(KNOBS.policies, 0.5, KNOBS.page_size, KNOBS.device))
    assert source.computed == computed
    both = source.result(Knobs(("lru", *KNOBS.policies), 0.1, KNOBS.page_size, KNOBS.device)).rows
    assert source.computed == computed + 14
    asked = clockhand.simulate(
        trace, policies=["lru", "clock", "craw"], memory=source_memory(), device=KNOBS.device,
        watch=False,
    ).rows  # fmt: skip
    assert both.equals(asked)


def test_the_next_session_has_the_cells_of_this_one(trace: Path, tmp_path: Path) -> None:
    first = TraceSource(str(trace))
    rows = first.result(KNOBS).rows
    again = TraceSource(str(trace))
    assert again.result(KNOBS).rows.equals(rows) and again.computed == 0
    assert again.result(KNOBS).facts["policies"] == first.result(KNOBS).facts["policies"]
    folder = tmp_path / "cache" / "clockhand" / "explore"
    assert folder.stat().st_mode & 0o077 == 0
    # Read otherwise, or with other content, it is another trace.
    assert TraceSource(str(trace), {"limit": 1000}).result(KNOBS).rows.height
    assert len(list(folder.iterdir())) == 2
    [part] = again._kept._dataset.all_parts()  # type: ignore[union-attr]
    part.write_bytes(b"damaged")
    damaged = TraceSource(str(trace))
    assert damaged.result(KNOBS).rows.equals(rows) and damaged.computed == len(rows)


def test_what_was_asked_for_longest_ago_goes_first(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clockhand.explore import kept

    TraceSource(str(trace)).result(KNOBS)
    TraceSource(str(trace), {"limit": 1000}).result(KNOBS)
    monkeypatch.setattr(kept, "MOST_BYTES", 1)
    last = TraceSource(str(trace), {"limit": 500})
    last.result(KNOBS)
    folder = tmp_path / "cache" / "clockhand" / "explore"
    assert len(list(folder.iterdir())) == 1
    assert TraceSource(str(trace), {"limit": 500}).result(KNOBS) and last.computed


def source_memory() -> str:
    from clockhand.explore.sources import MEMORY

    return MEMORY


def test_the_memory_next_to_the_knob_is_looked_at_the_best_policy_first(trace: Path) -> None:
    source = TraceSource(str(trace))
    rows = source.at_memory(Knobs(KNOBS.policies, 0.11, KNOBS.page_size, KNOBS.device))
    assert rows["memory %"].unique().to_list() == [10.0]
    assert rows["I/O time s"].is_sorted()
    best = rows["policy"][0]
    assert f"in memory {best} needs the least I/O time" in answer(source.result(KNOBS), rows)


def test_the_player_shows_the_first_policy_beside_the_best(trace: Path) -> None:
    source = TraceSource(str(trace))
    knobs = Knobs(("clock", "lru", "bound", "craw"), 0.1, "4KiB", "slc-nand")
    watched = source.watched(knobs, 8, "craw")
    assert watched is not None
    assert [course.policy for course in watched.courses] == ["clock", "craw"]
    assert source.watched(knobs, 8, "craw") is watched
    shown = source.watched(knobs, 4, "bound")
    assert shown is not None and [it.policy for it in shown.courses] == ["clock", "lru"]


def test_the_player_has_no_more_steps_than_a_page_can_hold(trace: Path) -> None:
    knobs = Knobs(("clock", "craw"), 0.1, "4KiB", "slc-nand")
    for limit, steps in ((1800, 1000), (300, 300)):
        watched = TraceSource(str(trace), {"limit": limit}).watched(knobs, 8, "craw")
        assert watched is not None and len(watched.courses[0].steps) == steps


def dataset(trace: Path) -> Path:
    (trace.parent / "e.toml").write_text(
        f'question = "x"\nexpected = "y"\ntraces = "{trace}"\npolicies = ["clock", "craw"]\n'
        'memory = ["10%", "40%"]\ndevices = ["hdd", "slc-nand"]\n'
    )
    run_sweep(read_experiment(trace.parent / "e.toml"), dataset=trace.parent / "kept")
    return trace.parent / "kept"


def test_of_a_dataset_nothing_is_computed_but_steps(trace: Path) -> None:
    source = source_of(str(dataset(trace)))
    assert isinstance(source, DatasetSource) and not source.has_ratio
    assert set(source.devices) == {"hdd", "slc-nand"} and source.page_sizes == ["4096"]
    knobs = Knobs(("clock", "craw"), 0.3, "4096", "hdd", source.traces[0])
    rows = source.result(knobs).rows
    assert rows["device"].unique().to_list() == ["hdd"] and rows.height == 4
    assert source.at_memory(knobs)["memory %"].unique().to_list() == [40.0]
    assert source.watched(knobs, 8, "craw") is not None
    trace.unlink()
    assert source.watched(knobs, 8, "craw") is None
    with pytest.raises(UsageError, match="no such cells"):
        source.result(Knobs(("lru",), 0.3, "4096", "hdd", source.traces[0]))


def test_a_dataset_of_another_study_shows_its_own_figures(trace: Path) -> None:
    (trace.parent / "s.toml").write_text(
        f'question = "x"\nexpected = "y"\ntraces = "{trace}"\n'
        '[ssd]\nbuffer = ["fab:total=64", "fab:total=128", "lru:total=64", "lru:total=128"]\n'
        'ssd = "small"\n'
    )
    run_sweep(read_experiment(trace.parent / "s.toml"), dataset=trace.parent / "ssd")
    source = source_of(str(trace.parent / "ssd"))
    assert not source.has_memory and "fab:total=64" in source.policies
    knobs = Knobs(tuple(source.policies), 0.1, source.first_page_size, "", source.traces[0])
    result = source.result(knobs)
    rows = source.at_memory(knobs)
    assert rows.height == 4 and {"buffer", "host_writes"} & set(rows.columns)
    assert figures(result, rows) and len(answer(result, rows)) > 20
    assert source.watched(knobs, 8, "") is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.parquet"], "no file and no folder"),
        (["."], "no dataset"),
        (["some.parquet", "--port", "70000"], "--port"),
    ],
)
def test_what_cannot_be_explored_is_said_at_once(
    clockhand: Clockhand, trace: Path, arguments: list[str], words: str
) -> None:
    run = clockhand("explore", *arguments)
    assert_one_sentence(run)
    assert run.code == 2 and words in run.err


@pytest.fixture
def page(trace: Path) -> Any:
    """The address of the page of a trace, and the command that serves it."""
    process = subprocess.Popen(
        [EXECUTABLE, "explore", trace, "--no-browser"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+/\?access_token=\S{20,}", line)
    assert address is not None, line
    yield address.group(), process
    process.terminate()
    process.wait(timeout=60)


def shown(browser: Any, text: str) -> str:  # noqa: F811
    """The text of the page, once it has some words."""
    from selenium.webdriver.common.by import By

    end, found = time.monotonic() + 120, ""
    while text not in found and time.monotonic() < end:
        time.sleep(0.3)
        found = str(browser.find_element(By.TAG_NAME, "body").text)
    assert text in found, found
    return found


def elements(browser: Any, selector: str, attribute: str | None = None) -> list[Any]:  # noqa: F811
    """The elements of the page, those in the trees of their own of marimo's elements too.

    Or an attribute of each, read at once: a page that answers exchanges its elements.
    """
    found: list[Any] = browser.execute_script(
        """
        const all = (root) => [...root.querySelectorAll("*")].flatMap(
            (one) => [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]);
        const [selector, attribute] = arguments;
        const found = all(document).filter((one) => one.matches(selector));
        return attribute ? found.map((one) => one.getAttribute(attribute)) : found;
        """,
        selector,
        attribute,
    )
    return found


def test_the_page_is_shown_to_who_has_the_token_and_answers_to_its_knobs(
    browser: Any,  # noqa: F811
    page: tuple[str, Any],
) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    address, process = page
    # Without the token there is a form that asks for it, and nothing of the trace.
    with urllib.request.urlopen(address.partition("?")[0]) as answered:
        assert "/auth/login" in answered.url and b"some.parquet" not in answered.read()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(address.partition("?")[0] + "api/status/connections")
    assert refused.value.code in (401, 403)

    browser.set_window_size(1600, 1200)
    browser.get(address)
    found = shown(browser, "needs the least I/O time")
    for label in (
        "policies",
        "memory (% of the footprint)",
        "page size",
        "device",
        "a write costs",
    ):
        assert label in found
    assert "With 10.0" in found
    frame = browser.find_element(By.CSS_SELECTOR, 'iframe[title="step by step"]')
    assert frame.size["width"] > 500 and "clock" in frame.get_attribute("srcdoc")
    end = time.monotonic() + 60
    while len(elements(browser, "canvas, svg.marks")) < 2 and time.monotonic() < end:
        time.sleep(0.3)
    assert len(elements(browser, "canvas, svg.marks")) >= 2

    # On a disk, the knob of the cost ratio means nothing.
    selects = map(Select, elements(browser, "select"))
    device = next(one for one in selects if BY_RATIO in [it.text for it in one.options])
    device.select_by_visible_text("hdd")
    end = time.monotonic() + 60
    while "a write costs" in shown(browser, "device") and time.monotonic() < end:
        time.sleep(0.3)
    assert "a write costs" not in shown(browser, "needs the least I/O time")

    process.terminate()
    assert process.wait(timeout=60) == 0
    with pytest.raises(OSError):
        urllib.request.urlopen(address, timeout=2)
