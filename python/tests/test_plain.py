"""Plain words, which are answered without the libraries of the command: with the same bytes."""

import subprocess
import sys
from pathlib import Path

import pytest

from clockhand.start.plain import asked
from clockhand.study.options import checked
from conftest import Clockhand, assert_one_sentence

PLAIN = ["simulate", "textbook.trace", "--policy", "craw", "--frames=3", "--format", "json"]
LEFT_TO_THE_COMMAND = ("--seed", "0")


@pytest.fixture
def folder(textbook: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the trace, where the words are asked."""
    monkeypatch.chdir(textbook.parent)
    return textbook.parent


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize(
    "more",
    [
        ["--frames=3"],
        ["--frames", "3", "--device", "hdd", "--page-size=8KiB", "--assume-reads"],
        ["--frames=2,3", "other.trace", "--policy=min", "--policy=lru", "--jobs=1"],
        ["--policy", "lru", "--memory=50%,100%", "--jobs", "2"],
    ],
)
def test_plain_words_are_answered_as_the_command_answers_them(
    clockhand: Clockhand, format: str, more: list[str]
) -> None:
    Path("other.trace").write_bytes(Path("textbook.trace").read_bytes())
    words = [*PLAIN[:4], "--format", format, *more]
    assert asked(words) is not None
    assert asked([*words, *LEFT_TO_THE_COMMAND]) is None
    quick, whole = clockhand(*words), clockhand(*words, *LEFT_TO_THE_COMMAND)
    assert quick == whole
    assert quick.code == 0 and b"craw" in quick.out


@pytest.mark.usefixtures("folder")
def test_what_readers_say_is_said(clockhand: Clockhand) -> None:
    trace = ["R,0,4096", "W,4096,4096", "R,0,4096"]
    Path("two.csv").write_text("op,offset,size\n" + "\n".join(trace) + "\n")
    words = ["simulate", "two.csv", "--policy", "lru", "--frames", "1", "--format", "csv"]
    assert asked(words) is not None
    quick = clockhand(*words)
    assert quick == clockhand(*words, *LEFT_TO_THE_COMMAND)
    assert quick.code == 0


@pytest.mark.usefixtures("folder")
def test_what_readers_pass_over_is_said_once(clockhand: Clockhand) -> None:
    Path("odd.csv").write_text("op,offset,size\nR,0,4096\nW,4096,0\nR,x,4096\nR,0,4096\n")
    words = ["simulate", "odd.csv", "--policy", "lru", "--frames", "1", "--format", "csv"]
    cell = asked(words)
    assert cell is not None and cell.answer() == 0, "the command need not replay it again"
    quick = clockhand(*words)
    assert quick == clockhand(*words, *LEFT_TO_THE_COMMAND)
    assert quick.code == 0 and "skipped: 1 (" in quick.err and "size 0" in quick.err


@pytest.mark.usefixtures("folder")
def test_plain_words_give_the_options_of_the_command() -> None:
    cell = asked([*PLAIN, "--device", "hdd", "--trace-format", "os-course"])
    assert cell is not None
    given = {"policy": ["craw"], "frames": "3", "device": "hdd"}
    assert cell.options == checked("pages", given)
    assert cell.reading == checked("reading", {"trace_format": "os-course"})


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        ["simulate"],
        ["ssd", *PLAIN[1:]],
        PLAIN[:-2],
        [*PLAIN[:-1], "table"],
        [*PLAIN, "textbook.trace"],
        [*PLAIN, "--frames", "4"],
        [*PLAIN, "--quiet"],
        [*PLAIN, "--help"],
        [*PLAIN, "--device", "ratio:8"],
        [*PLAIN, "--device", ""],
        [*PLAIN, "--device"],
        [*PLAIN, "--"],
        ["simulate", "*.trace", *PLAIN[2:]],
        ["simulate", "absent.trace", *PLAIN[2:]],
        ["simulate", "-", *PLAIN[2:]],
        ["simulate", "textbook.trace", "--policy", "clock,lru", *PLAIN[4:]],
        ["simulate", "textbook.trace", "--policy", "all", *PLAIN[4:]],
        ["simulate", "textbook.trace", "--policy", "nothing", *PLAIN[4:]],
        ["simulate", "textbook.trace", *PLAIN[2:4], "--frames", "1..3", *PLAIN[5:]],
        ["simulate", "textbook.trace", *PLAIN[2:4], "--memory", "5%;", *PLAIN[5:]],
        ["simulate", "textbook.trace", *PLAIN[2:4], *PLAIN[5:]],
        [*PLAIN, "--jobs", "0"],
        [*PLAIN, "--jobs", "1025"],
        [*PLAIN, "--jobs", "²"],
    ],
)
def test_other_words_are_left_to_the_command(words: list[str]) -> None:
    assert asked(words) is None


@pytest.mark.usefixtures("folder")
def test_a_project_and_a_file_of_a_name_are_left_to_the_command() -> None:
    assert asked(PLAIN) is not None
    Path("craw").touch()
    assert asked(PLAIN) is None
    Path("craw").unlink()
    Path("clockhand.toml").touch()
    assert asked(PLAIN) is None


@pytest.mark.usefixtures("folder")
def test_errors_are_told_by_the_command(clockhand: Clockhand) -> None:
    Path("textbook.trace").write_text("no trace\n")
    assert asked(PLAIN) is not None
    run = clockhand(*PLAIN)
    assert run.code == 1
    assert_one_sentence(run)
    assert run == clockhand(*PLAIN, *LEFT_TO_THE_COMMAND)


@pytest.mark.usefixtures("folder")
def test_no_library_of_the_command_is_loaded() -> None:
    script = (
        "import sys; from clockhand.start import main\n"
        "try: main()\n"
        "except SystemExit as end: code = end.code\n"
        "loaded = {'typer', 'rich', 'polars', 'numpy', 'typing', 'json'} & sys.modules.keys()\n"
        "sys.exit(f'{loaded}' if loaded or code else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, *PLAIN],
        env={"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
