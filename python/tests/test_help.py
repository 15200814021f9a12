"""Help by subject, with whole summaries and an example for each command; manual pages."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clockhand.command import FILES, man, whole_command
from clockhand.command.help import SUBJECTS, summary
from conftest import Clockhand, assert_one_sentence, os_course


@cache
def command() -> Any:
    return whole_command()


def commands() -> Iterator[tuple[str, Any]]:
    for name, one in command().commands.items():
        yield name, one
        for below, other in getattr(one, "commands", {}).items():
            yield f"{name} {below}", other


def test_every_command_has_one_subject_and_an_example() -> None:
    listed = [name for names in SUBJECTS.values() for name in names]
    assert sorted(listed) == sorted(name for names in FILES.values() for name in names)
    assert all(one.epilog for _, one in commands())


def test_examples_name_commands_and_options_that_exist() -> None:
    known = dict(commands())
    for example in (one.epilog for one in known.values()):
        words = shlex.split(example)
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        options = {text for parameter in known[name].params for text in parameter.opts}
        own = words[: words.index("--")] if "--" in words else words
        for word in own:
            assert not word.startswith("--") or word in options, f"{example}: {word}"


def test_the_help_of_all_shows_whole_summaries(clockhand: Clockhand) -> None:
    shown = clockhand("--help").out.decode()
    assert "..." not in shown.partition("\n")[2]
    joined = " ".join(shown.split())
    for name, one in command().commands.items():
        assert f" {name} {summary(one)} " in joined, name
    for subject in SUBJECTS:
        assert f"\n{subject}:\n" in shown


def test_options_are_grouped_and_an_example_ends_the_help(clockhand: Clockhand) -> None:
    shown = clockhand("simulate", "--help").out.decode()
    titles = re.findall(r"^(\w[\w ]*):$", shown, re.MULTILINE)
    assert titles == [
        "Arguments", "Options", "What is written", "How traces are read", "Other", "Example",
    ]  # fmt: skip
    assert shown.endswith(f"  $ clockhand {command().commands['simulate'].epilog}\n")


def test_every_command_has_a_manual_page(tmp_path: Path) -> None:
    assert man.main([str(tmp_path / "man")]) == 0
    written = {path.name: path.read_text() for path in (tmp_path / "man").iterdir()}
    names = {"clockhand", *(f"clockhand-{name.replace(' ', '-')}" for name, _ in commands())}
    assert set(written) == {f"{name}.1" for name in names}
    for name, one in commands():
        page = written[f"clockhand-{name.replace(' ', '-')}.1"].replace("\\-", "-")
        for parameter in one.params:
            if parameter.param_type_name == "option":
                assert parameter.opts[-1] in page, f"{name} {parameter.opts}"
        assert ".SH EXAMPLE" in page and ".SH NAME" in page


def test_manual_pages_are_clean_roff(tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    for name, page in man.pages().items():
        told = subprocess.run(
            ["groff", "-man", "-Tascii", "-ww"], input=page, capture_output=True, text=True
        )
        if "cannot load" in told.stderr or "can't find" in told.stderr:
            pytest.skip("groff has no manual macros here")
        assert told.stderr == "", name


def test_the_command_prints_a_page_and_writes_all(clockhand: Clockhand, tmp_path: Path) -> None:
    assert (
        clockhand("man", "trace", "convert").out.decode()
        == man.pages()["clockhand-trace-convert.1"]
    )
    assert clockhand("man").out.startswith(b'.TH "CLOCKHAND"')
    run = clockhand("man", "--folder", "share/man1")
    assert run.code == 0 and run.out == b"", run.err
    assert {path.name for path in (tmp_path / "share/man1").iterdir()} == set(man.pages())
    for words in (["man", "nosuch"], ["man", "ssd", "--folder", "share/man1"]):
        run = clockhand(*words)
        assert run.code == 2
        assert_one_sentence(run)


def test_a_folder_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert man.main([]) == 2
    assert "FOLDER" in capsys.readouterr().err


@pytest.fixture
def small(tmp_path: Path) -> str:
    (tmp_path / "small.trace").write_text(os_course([7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3]))
    return "small.trace"


@pytest.mark.parametrize(
    "words",
    [
        ["pagecache", "--policy", "clock", "--frames", "3,100"],
        ["simulate", "--policy", "clock", "--frames", "3,100"],
        ["filecache", "--capacity", "3,100", "--device", "hdd"],
    ],
    ids=lambda words: words[0],
)
def test_more_memory_than_the_footprint_fits(
    clockhand: Clockhand, small: str, words: list[str]
) -> None:
    shown = clockhand(words[0], small, *words[1:]).out.decode()
    assert "fits" in shown and "50.0 %" in shown


def test_filecache_emphasises_what_is_named(
    clockhand: Clockhand, small: str, tmp_path: Path
) -> None:
    words = ["filecache", small, "--capacity", "1,2", "--device", "hdd", "--policy", "lru,clock"]
    words += ["--admission", "always,second-touch"]
    run = clockhand(*words, "--report", "r.html", "--highlight", "clock*")
    assert run.code == 0 and (tmp_path / "r.html").exists(), run.err
    refused = clockhand(*words, "--report", "r.html", "--highlight", "nru*")
    assert refused.code == 2 and "'nru*' is none of those that are run" in refused.err
