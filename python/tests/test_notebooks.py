"""The notebooks run from their first cell to the last; what they say is asserted in them."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from test_explore import elements
from test_report_browser import browser  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


def test_there_are_notebooks_and_the_documentation_names_each() -> None:
    assert len(NOTEBOOKS) >= 4
    page = (ROOT / "docs/python.md").read_text()
    assert all(f"notebooks/{notebook.name}" in page for notebook in NOTEBOOKS)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_knobs_to_turn(notebook: Path) -> None:
    text = notebook.read_text()
    knobs = re.findall(r"^    (\w+) = mo\.ui\.", text, re.MULTILINE)
    assert len(knobs) >= 2
    assert all(f"{knob}.value" in text for knob in knobs)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(notebook: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "MARIMO_SKIP_UPDATE_CHECK": "1"}
    done = subprocess.run(
        [sys.executable, notebook], cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a notebook, as ``marimo run`` serves it to readers."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "MARIMO_SKIP_UPDATE_CHECK": "1"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    notebook = ROOT / "notebooks/class_on_clock.py"
    with subprocess.Popen(
        [sys.executable, "-m", "marimo", "run", notebook, "--headless", "--no-token",
         "--port", str(port)],
        cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def until(holds: Callable[[], Any]) -> Any:
    end = time.monotonic() + 120
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.2)
    return found


def test_a_slider_and_a_choice_change_the_player(browser: Any, served: str) -> None:  # noqa: F811
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    def opens() -> bool:
        try:
            browser.get(served)
        except WebDriverException:
            return False
        return True

    def plays(title: str) -> bool:
        return any(title in text for text in elements(browser, "iframe[srcdoc]", "srcdoc"))

    assert until(opens)
    assert until(lambda: plays("clock with 3 frames, step by step"))
    assert not plays("clock with 4 frames, step by step")
    [slider, *_] = elements(browser, "[role=slider]")
    browser.execute_script("arguments[0].focus()", slider)
    slider.send_keys(Keys.ARROW_RIGHT)
    assert until(lambda: plays("clock with 4 frames, step by step"))
    [choice, *_] = elements(browser, "select")
    Select(choice).select_by_visible_text("lru")
    assert until(lambda: plays("lru with 4 frames, step by step"))
    assert "Error" not in browser.find_element("css selector", "body").text
