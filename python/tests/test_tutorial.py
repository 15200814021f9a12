"""The tutorial: its commands are run one after the other, and print what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import clockhand

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs/tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"Save it as \*\*([\w.]+)\*\*:\s*$")
CAN_RUN = {"bit-driven", "access-driven"}
INSTALLATION = {"make demo", "source .venv/bin/activate", "clockhand --version"}
"""What has been done where tests run; it would take minutes here."""
LEFT_OUT = "…"
"""Stands in a page for lines that a command prints."""


def shown_commands(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
            found[-1][1].append(line.rstrip())
    return found


def run(command: str, folder: Path) -> list[str]:
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": search, "COLUMNS": "400"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    printed = (done.stdout + done.stderr).replace("\N{NO-BREAK SPACE}", " ")
    return [line.rstrip() for line in printed.splitlines()]


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    text = TUTORIAL.read_text(encoding="utf-8")
    commands = 0
    for block in BLOCK.finditer(text):
        language, body = block[1], block[2]
        before = SAVED.search(text[: block.start()])
        if language == "console":
            for command, shown in shown_commands(body):
                printed = iter(run(command, tmp_path))
                missing = [line for line in shown if line != LEFT_OUT and line not in printed]
                assert not missing, f"{command} does not print: {missing}"
                commands += 1
        elif language == "python" and before is not None:
            (tmp_path / before[1]).write_text(body)
        elif language == "python":
            (tmp_path / "part.py").write_text(body)
            printed = run("python3 part.py", tmp_path)
        else:
            assert set(body.splitlines()) == INSTALLATION
    # The best of the last snippet is one that can run; it was once `opt-feasible`.
    policies = [line.split()[3] for line in printed if line.startswith("│")][3:]
    kinds = dict(clockhand.policies().select("name", "kind").iter_rows())
    assert len(policies) == 3 and {kinds[name] for name in policies} <= CAN_RUN, printed
    assert commands >= 7
    assert {path.name for path in tmp_path.iterdir()} >= {"hand.html", "mine.html", "mine.parquet"}


@pytest.mark.parametrize("page", ["README.md", "site/index.md"])
def test_the_first_command_is_the_same_everywhere(page: str) -> None:
    first = re.search(r"^\$? ?make [a-z]+", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert first is not None and first.group().endswith("make demo")


def test_the_readme_says_how_to_install_elsewhere() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert '`make wheel`, then `pip install "$(echo dist/*.whl)[report]"` there' in readme
