"""Signals that end the command, from its first milliseconds; and what loads no libraries."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from clockhand import __version__
from conftest import EXECUTABLE, Clockhand, Run, os_course, run_all, scattered_pages

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DELAYS_MS = (25, 60, 120, 200, 300, 450)


def stopped(folder: Path, number: signal.Signals, delay_ms: int) -> Run:
    """Start a conversion and stop it after `delay_ms` milliseconds."""
    command = [EXECUTABLE, "trace", "convert", "long.trace", f"{number}-{delay_ms}.csv.xz"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False
    )
    time.sleep(delay_ms / 1000)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return Run(process.returncode, out, err.decode())


def test_a_signal_ends_the_command_without_a_traceback_or_leftovers(tmp_path: Path) -> None:
    (tmp_path / "long.trace").write_text(os_course(scattered_pages(1_000_000)))
    cases = [(number, delay) for number in SIGNALS for delay in DELAYS_MS]
    runs = run_all(partial(stopped, tmp_path, *case) for case in cases)
    for case, run in zip(cases, runs, strict=True):
        assert run.out == b"", (case, run)
        if run.code < 0 or "<frozen site>" in run.err:
            # Python was not yet ready for a line of ours; a signal then has its usual effect.
            assert "clockhand/" not in run.err, (case, run)
        else:
            assert run.code == 1, (case, run)
            assert run.err == "clockhand: interrupted; nothing was written\n", (case, run)
    assert os.listdir(tmp_path) == ["long.trace"]


def test_a_signal_that_the_parent_ignores_stays_ignored(tmp_path: Path, textbook: Path) -> None:
    command = f"trap '' HUP; exec {EXECUTABLE} trace info {textbook.name}"
    process = subprocess.Popen(["sh", "-c", command], cwd=tmp_path, stdout=subprocess.PIPE)
    time.sleep(0.1)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 0


def imported(words: list[str], environment: dict[str, str]) -> tuple[str, set[str]]:
    """Standard output of the command, and the modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", EXECUTABLE, *words],
        env={**os.environ, **environment}, capture_output=True, timeout=60, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return done.stdout, {line.rpartition("|")[2].strip() for line in lines}


HEAVY = {"polars._plr", "altair.utils", "numpy.linalg", "rich.segment"}


def test_the_version_is_told_without_loading_the_libraries() -> None:
    out, modules = imported(["--version"], {})
    assert out == f"clockhand {__version__}\n"
    assert not modules & (HEAVY | {"typer", "polars"})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("clockhand ", "simulate"),
        ("clockhand trace ", "convert"),
        ("clockhand ssd --re", "--repeat"),
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


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
def test_completion_for_a_shell_that_there_is_not_is_refused(
    clockhand: Clockhand, tmp_path: Path, option: str
) -> None:
    home = {**os.environ, "HOME": str(tmp_path)}
    run = clockhand(option, "nosuchshell", env=home)
    assert run.code == 2 and "'nosuchshell' is no shell" in run.err
    assert os.listdir(tmp_path) == []


def test_completion_is_installed_for_the_shell_that_is_named(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    run = clockhand("--install-completion", "fish", env={**os.environ, "HOME": str(tmp_path)})
    assert run.code == 0 and b"fish completion installed" in run.out
    [script] = tmp_path.rglob("clockhand.fish")
    assert "_CLOCKHAND_COMPLETE" in script.read_text()
