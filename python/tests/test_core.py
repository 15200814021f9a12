"""The core: without the libraries that draw, everything but figures and reports works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from clockhand.study.drawing import DRAWING
from conftest import os_course

LACKING = (
    f"clockhand: figures and reports need {' and '.join(DRAWING.values())}, which this Python "
    "lacks; run: pip install 'clockhand[report]'\n"
)


# None in the place of a module is what Python has of one that cannot be imported.
def without(*libraries: str) -> str:
    """Return a program that is the command where these libraries are missing."""
    return f"""
import sys
for name in {libraries}:
    sys.modules[name] = None
from clockhand.start import main
sys.exit(main())
"""


WITHOUT = without(*DRAWING)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.trace").write_text(os_course([7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3] * 20))
    (tmp_path / "small.toml").write_text(
        'question = "?"\n[simulate]\ntraces = ["small.trace"]\npolicies = ["lru"]\nframes = [3]\n'
    )
    return tmp_path


def run(folder: Path, *words: str, program: str = WITHOUT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "-c", program, *words], cwd=folder, env=environment,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


COMMANDS = {
    "simulate": "simulate small.trace --policy clock,lru --frames 3",
    "pagecache": "pagecache small.trace --policy clock,lru --frames 3",
    "ssd": "ssd small.trace --buffer lru:total=8",
    "translate": "translate small.trace --frames 3 --ratio 10",
    "filecache": "filecache small.trace --capacity 3 --device hdd",
    "locality": "locality small.trace",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_core_writes_tables_and_says_what_figures_need(folder: Path, name: str) -> None:
    words = COMMANDS[name].split()
    table = run(folder, *words)
    assert (table.returncode, table.stderr) == (0, "") and table.stdout, table.stderr
    rows = run(folder, *words, "--format", "json")
    assert json.loads(rows.stdout)
    refused = run(folder, *words, "--report", "report.html")
    assert (refused.returncode, refused.stdout, refused.stderr) == (1, "", LACKING)
    assert not (folder / "report.html").exists()


def test_what_is_simulated_needs_no_library_of_tables(folder: Path) -> None:
    words = COMMANDS["simulate"].split()
    for format in ("table", "json"):
        told = [
            run(folder, *words, "--format", format, program=it)
            for it in (without("polars"), WITHOUT)
        ]
        assert [one.returncode for one in told] == [0, 0], told[0].stderr
        assert told[0].stdout == told[1].stdout
    assert run(folder, *words, "--out", "rows.parquet", program=without("polars")).returncode == 0
    assert pl.read_parquet(folder / "rows.parquet").height == 2
    told = run(folder, *words, "--format", "csv", program=without("polars"))
    assert told.returncode == 0 and told.stdout.count("\n") == 3


def test_the_core_recommends_and_plays(folder: Path) -> None:
    recommended = run(folder, "recommend", "small.trace", "--frames", "3")
    assert recommended.returncode == 0 and "Take " in recommended.stdout
    refused = run(folder, "recommend", "small.trace", "--frames", "3", "--figure", "figure.svg")
    assert (refused.returncode, refused.stderr) == (1, LACKING)
    watch = ["watch", "small.trace", "--policy", "clock", "--frames", "3", "--out", "hand.html"]
    assert run(folder, *watch).returncode == 0
    assert "Play" in (folder / "hand.html").read_text()


@pytest.mark.parametrize(
    "words",
    ["sweep small.toml --html sweep.html", "reproduce craw --html craw.html"],
)
def test_sweeps_and_reproductions_say_it_before_the_work(folder: Path, words: str) -> None:
    refused = run(folder, *words.split())
    assert (refused.returncode, refused.stderr) == (1, LACKING)
