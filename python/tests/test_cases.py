"""Inputs that people of this field bring: each is read, or refused with what to do."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import Run, run_clockhand

FOLDER = Path(__file__).parent / "cases"
CASES = json.loads((FOLDER / "cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_an_input_of_the_field_is_read_or_refused(case: Mapping[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / case["name"]
    shutil.copytree(FOLDER / case["name"], folder)
    run = run_clockhand(*case["command"], cwd=folder)
    rows: list[dict[str, Any]] = []
    if run.code == 0 and case["command"][:2] != ["trace", "convert"]:
        rows = json.loads(run_clockhand(*case["command"], "--format", "json", cwd=folder).out)
    reasons = [_reason(accept, run, rows, folder) for accept in case["accept"]]
    assert None in reasons, f"{reasons}\n{run.err}\n{rows}"


def _reason(
    accept: Mapping[str, Any], run: Run, rows: list[dict[str, Any]], folder: Path
) -> str | None:
    """Why a way to be right does not hold; None if it does."""
    if run.code not in accept.get("exit", [0]):
        return f"exit code {run.code}"
    row = rows[0] if rows else {}
    for column, value in accept.get("row", {}).items():
        if row.get(column) != value:
            return f"{column} is {row.get(column)}"
    said = run.err + str(row.get("notes", ""))
    for words in accept.get("words", []):
        if not any(word in said for word in words.split("|")):
            return f"nobody says {words}"
    for words in accept.get("not_words", []):
        if words in said:
            return f"it says {words}"
    for name, lines in accept.get("lines", {}).items():
        written = (folder / name).read_text().splitlines()
        for number, line in lines.items():
            if written[int(number) - 1] != line:
                return f"line {number} is {written[int(number) - 1]}"
    return None


def test_every_case_has_a_folder_and_every_folder_a_case() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir()}
    assert folders == {case["name"] for case in CASES}
