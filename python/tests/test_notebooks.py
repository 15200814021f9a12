"""The notebooks run from their first cell to the last; what they say is asserted in them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
