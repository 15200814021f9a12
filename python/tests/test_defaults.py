"""Options that a project's ``clockhand.toml`` gives to commands in its folder."""

import json
from pathlib import Path

import pytest

from conftest import Clockhand

LINES = "00001000 R\n00002000 W\n00003000 R\n00001000 W\n" * 20


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.trace").write_text(LINES)
    (tmp_path / "clockhand.toml").write_text(
        '[simulate]\npolicy = ["clock", "lru"]\nmemory = "50%"\ndevice = "mlc-nand"\n'
        'trace_format = "os-course"\nflush_at_end = true\n'
    )
    return tmp_path


def test_a_command_has_the_options_of_its_table_and_says_so(
    clockhand: Clockhand, project: Path
) -> None:
    done = clockhand("simulate", "t.trace", "--format", "json", "--report", "r.html")
    rows = json.loads(done.out)
    assert [(row["policy"], row["device"]) for row in rows] == [
        ("clock", "mlc-nand"), ("lru", "mlc-nand"),
    ]  # fmt: skip
    assert "clockhand.toml: --policy clock --policy lru --memory 50% --device mlc-nand" in done.err
    made = (project / "r.html").read_text().partition('<section id="facts"')[2]
    assert "<span>mlc-nand</span>" in made


def test_what_stands_on_the_command_line_counts(clockhand: Clockhand, project: Path) -> None:
    words = ("--device", "hdd", "--frames", "2", "--policy=craw", "--quiet", "--format", "json")
    done = clockhand("simulate", "t.trace", *words)
    [row] = json.loads(done.out)
    assert (row["policy"], row["device"], row["frames"]) == ("craw", "hdd", 2)
    assert done.err == ""


def test_other_commands_are_as_they_are(clockhand: Clockhand, project: Path) -> None:
    assert "clockhand.toml" not in clockhand("policies").err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[simulate", "clockhand.toml is no TOML: "),
        ("[simulat]\n", "'simulat' is no command; write a table for each, such as [simulate]"),
        ('device = "hdd"\n', "'device' is no command"),
        ("[simulate]\nmany = 3\n", "No such option: --many"),
    ],
)
def test_what_makes_no_sense_is_told(
    clockhand: Clockhand, project: Path, text: str, said: str
) -> None:
    (project / "clockhand.toml").write_text(text)
    done = clockhand("simulate", "t.trace", "--policy", "lru", "--frames", "2")
    assert done.code == 2
    assert said in done.err


def test_missing_options_are_told_together(clockhand: Clockhand) -> None:
    done = clockhand("serve")
    assert done.code == 2
    assert "Missing options '--buffer' and '--disk' (see: clockhand serve --help)" in done.err
    assert "Missing option '--disk'" in clockhand("serve", "--buffer", "lru:total=8").err
