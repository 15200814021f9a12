"""Programs that run with our streams: how they end, who gets a signal, what is looked at."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from clockhand import ClockhandError
from clockhand.studies.programs.interruption import uninterrupted
from clockhand.studies.programs.watched_program import run_program


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 128 + 15)]
)
def test_the_exit_code_is_that_of_a_shell(script: str, code: int) -> None:
    ended = run_program(["sh", "-c", script])
    assert (ended.exit_code, ended.interrupted) == (code, False)


def test_somebody_looks_on_at_the_pace_that_they_ask_for() -> None:
    looks: list[float] = []

    def look(seconds: float) -> float:
        looks.append(seconds)
        return 0.05

    ended = run_program(["sleep", "0.4"], look=look)
    assert 2 <= len(looks) <= 9
    assert looks == sorted(looks) and looks[-1] <= ended.seconds


def test_the_end_is_noticed_at_once_however_rarely_somebody_looks() -> None:
    assert run_program(["true"], look=lambda _: 30).seconds < 10


def test_output_can_be_taken_and_input_given(tmp_path: Path) -> None:
    (tmp_path / "given").write_text("some\nlines\n")
    taken: list[bytes] = []
    with open(tmp_path / "given", "rb", buffering=0) as given:
        run_program(
            ["cat"], standard_input=given, take_output=lambda pipe: taken.append(pipe.read())
        )
    assert taken == [b"some\nlines\n"]


def test_variables_are_added_and_a_step_is_taken_before() -> None:
    taken: list[bytes] = []
    run_program(
        ["sh", "-c", "echo $OUR_VARIABLE $(umask)"],
        environment={"OUR_VARIABLE": "here"},
        before=partial(os.umask, 0o026),
        take_output=lambda pipe: taken.append(pipe.read()),
    )
    assert taken == [b"here 0026\n"]


def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    with pytest.raises(ClockhandError, match="cannot be started"):
        run_program([str(tmp_path / "absent")])


WATCHED = """
import signal, sys
from clockhand.studies.programs.watched_program import run_program
signal.signal(signal.SIGTERM, signal.default_int_handler)
ended = run_program(["sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"])
print(ended.exit_code, ended.interrupted)
"""


def test_a_signal_to_us_is_passed_on_and_we_tell_the_end() -> None:
    watcher = subprocess.Popen([sys.executable, "-c", WATCHED], stdout=subprocess.PIPE, text=True)
    assert watcher.stdout is not None and watcher.stdout.readline() == "ready\n"
    watcher.send_signal(signal.SIGTERM)
    assert watcher.communicate(timeout=300)[0] == "9 True\n"
    assert watcher.returncode == 0


def test_ctrl_c_is_left_to_the_program() -> None:
    script = WATCHED.replace("TERM;", "INT;")
    watcher = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert watcher.stdout is not None and watcher.stdout.readline() == "ready\n"
    os.killpg(watcher.pid, signal.SIGINT)
    assert watcher.communicate(timeout=300)[0] == "9 True\n"


def test_what_is_taken_back_is_taken_back_as_a_whole() -> None:
    with uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
