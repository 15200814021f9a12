"""Signals that end the command, from its first milliseconds; and what loads no libraries."""

import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import typer

from clockhand import __version__, command
from clockhand.command import FILES
from conftest import EXECUTABLE, Clockhand, Run, os_course, run_all, scattered_pages

DELAYS_MS = (25, 60, 120, 200, 300, 450)
CHANCE = random.Random(13)
CASES = [(number, delay) for number in (signal.SIGTERM, signal.SIGHUP) for delay in DELAYS_MS] + [
    (signal.SIGINT, CHANCE.uniform(0, 250)) for _ in range(50)
]


def output_of(number: signal.Signals, delay_ms: float) -> str:
    return f"{number}-{delay_ms}.csv.xz"


def stopped(folder: Path, number: signal.Signals, delay_ms: float) -> Run:
    """Start a conversion and stop it after `delay_ms` milliseconds."""
    command = [EXECUTABLE, "trace", "convert", "long.trace", output_of(number, delay_ms)]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False
    )
    time.sleep(delay_ms / 1000)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    return Run(process.returncode, out, err.decode())


def came_before_our_first_line(run: Run) -> bool:
    """Whether Python itself took the signal while it started.

    It has its usual effect then. Of Ctrl-C Python may tell where in its own start it came, and in
    one place, its look at the script's path, it tells and goes on: the command is never stopped.
    Before any frame is there it says no place at all.
    """
    if run.err == "KeyboardInterrupt\n":
        return True
    python = ("<frozen ", "Fatal Python error: init_", "Failed checking if argv[0]")
    return run.code < 0 or any(words in run.err for words in python)


def test_a_signal_ends_the_command_without_a_traceback_or_leftovers(tmp_path: Path) -> None:
    (tmp_path / "long.trace").write_text(os_course(scattered_pages(1_000_000)))
    # The command leaves ignored what its parent ignores, and these tests may run under nohup.
    ours = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        runs = run_all(partial(stopped, tmp_path, *case) for case in CASES)
    finally:
        signal.signal(signal.SIGHUP, ours)
    written = {"long.trace"}
    for case, run in zip(CASES, runs, strict=True):
        assert run.out == b"", (case, run)
        if came_before_our_first_line(run):
            assert "python/clockhand/" not in run.err, (case, run)
            if run.code == 0:
                written.add(output_of(*case))
        else:
            assert run.code == 1, (case, run)
            assert run.err == "clockhand: interrupted; nothing was written\n", (case, run)
    assert set(os.listdir(tmp_path)) == written


def test_a_signal_that_the_parent_ignores_stays_ignored(tmp_path: Path, textbook: Path) -> None:
    command = f"trap '' HUP; exec {EXECUTABLE} trace info {textbook.name}"
    process = subprocess.Popen(["sh", "-c", command], cwd=tmp_path, stdout=subprocess.PIPE)
    time.sleep(0.1)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=300)
    assert process.returncode == 0


def imported(words: list[str], environment: dict[str, str]) -> tuple[str, set[str]]:
    """Standard output of the command, and the modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", EXECUTABLE, *words],
        env={**os.environ, **environment}, capture_output=True, timeout=300, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return done.stdout, {line.rpartition("|")[2].strip() for line in lines}


HEAVY = {"polars._plr", "altair.utils", "numpy.linalg", "pydantic_core", "rich.segment"}


def test_the_version_is_told_without_loading_the_libraries() -> None:
    out, modules = imported(["--version"], {})
    assert out == f"clockhand {__version__}\n"
    assert not modules & (HEAVY | {"typer", "polars"})


def test_a_printed_simulation_does_without_the_library_of_tables(textbook: Path) -> None:
    words = ["simulate", str(textbook), "--policy", "clock,lru,bound", "--frames", "2,3"]
    out, modules = imported(words, {})
    assert "vs bound" in out
    assert not modules & {"polars", "altair", "numpy", "pydantic"}


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        (("simulate", "--policy", "clock,lru", "--frames", "2,3"), set()),
        *[
            (("locality", "--rows", name), {"numpy"})
            for name in ("miss-curve", "summary", "ranks", "inversions", "working-set", "recency")
        ],
    ],
)
def test_rows_in_parquet_do_without_the_library_of_tables(
    textbook: Path, words: tuple[str, ...], loaded: set[str]
) -> None:
    command, *options = words
    out = textbook.with_name("rows.parquet")
    _, modules = imported([command, str(textbook), *options, "--out", str(out)], {})
    assert modules & {"polars", "altair", "numpy"} == loaded
    assert out.stat().st_size > 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("clockhand ", "simulate"),
        ("clockhand trace ", "convert"),
        ("clockhand ssd --re", "--repeat"),
        ("clockhand simulate t --policy clock,cr", "clock,craw-a"),
        ("clockhand simulate t --device mlc", "mlc-nand"),
        ("clockhand ssd t --buffer clock-", "clock-dnv"),
        ("clockhand ssd t --ssd dnv-t", "dnv-textbook"),
        ("clockhand simulate t --bits ma", "mapped"),
        ("clockhand simulate t --trace-format sp", "spc"),
        ("clockhand trace synthesize fin", "financial-stand-in"),
        ("clockhand run --compare clock,ker", "clock,kernel"),
        ("clockhand recommend t --ssd dnv-t", "dnv-textbook"),
        ("clockhand reproduce cfl", "cflru"),
        ("clockhand policies wa-l", "wa-landlord"),
    ],
)
def test_words_are_completed_without_loading_the_libraries(words: str, expected: str) -> None:
    count = len(words.split(" ")) - 1
    environment = {
        "_CLOCKHAND_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count),
    }  # fmt: skip
    out, modules = imported([], environment)
    assert expected in out.split(), out
    assert not modules & HEAVY
    assert "tomllib" not in modules, "what commands import of our own library is empty as well"


@pytest.mark.parametrize(
    ("words", "files"),
    [
        ("clockhand ", set(FILES)),
        ("clockhand --", set(FILES)),
        ("clockhand s", {"pages", "serve", "ssd", "sweeps"}),
        ("clockhand trace", {"traces"}),
        ("clockhand trace convert --", {"traces"}),
    ],
)
@pytest.mark.parametrize("variable", ["COMP_WORDS", "_TYPER_COMPLETE_ARGS"])
def test_a_word_that_is_completed_loads_the_commands_that_begin_with_it(
    variable: str, words: str, files: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_CLOCKHAND_COMPLETE", "complete")
    monkeypatch.setenv(variable, words)
    assert {file.__name__.rpartition(".")[2] for file in command.load()} == files


def test_descriptions_of_words_are_whole() -> None:
    environment = {
        "_CLOCKHAND_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": "clockhand simulate --se",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }  # fmt: skip
    out, _ = imported([], environment)
    assert out.rstrip() == "--seed\tSeed of policies with random choices, and of samples, from 0."


def test_the_table_of_files_names_all_commands_of_each() -> None:
    for file, commands in FILES.items():
        alone = typer.Typer()
        import_module(f"clockhand.command.{file}").register(alone)
        names = [one.name for one in alone.registered_commands]
        assert tuple(names + [group.name for group in alone.registered_groups]) == commands
    folder = Path(command.__file__).parent
    registering = {p.stem for p in folder.glob("*.py") if "def register(app:" in p.read_text()}
    assert registering == set(FILES)


def test_a_command_loads_neither_other_studies_nor_what_draws(textbook: Path) -> None:
    _, modules = imported(["simulate", str(textbook), "--policy", "fifo", "--frames", "3"], {})
    studies = {name.split(".")[2] for name in modules if name.startswith("clockhand.studies.")}
    assert studies == {"pages", "result"}
    assert not modules & {"altair", "jinja2", "vl_convert", "clockhand.sweep", "clockhand.capture"}


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
def test_completion_for_a_shell_that_there_is_not_is_refused(
    clockhand: Clockhand, tmp_path: Path, option: str
) -> None:
    home = {**os.environ, "HOME": str(tmp_path)}
    run = clockhand(option, "nosuchshell", env=home)
    assert run.code == 2 and "'nosuchshell' is not a shell" in run.err
    assert os.listdir(tmp_path) == []


def test_completion_is_installed_for_the_shell_that_is_named(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    run = clockhand("--install-completion", "fish", env={**os.environ, "HOME": str(tmp_path)})
    assert run.code == 0 and b"fish completion installed" in run.out
    [script] = tmp_path.rglob("clockhand.fish")
    assert "_CLOCKHAND_COMPLETE" in script.read_text()


STOPPED_WHILE_LOADING = """
import sys
import clockhand
import polars  # It looks whether there is a NumPy.

class Stopping:
    def find_spec(self, name, *_):
        if name == "numpy":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stopping())
try:
    clockhand.locality("short.trace", watch=False)
except KeyboardInterrupt:
    print("stopped")
"""


def test_a_signal_while_numbers_are_handed_over_is_no_panic(tmp_path: Path) -> None:
    (tmp_path / "short.trace").write_text(os_course(scattered_pages(100)))
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_WHILE_LOADING],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("stopped\n", "")
