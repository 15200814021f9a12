"""References that are kept in files give the rows of those in memory, and leave nothing behind."""

import json
import pickle
import re
from pathlib import Path

import pytest

import clockhand
from clockhand import ClockhandError, Trace, UsageError
from conftest import Clockhand, assert_one_sentence

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "traces/sqlite3.parquet"
SIZES = ("--memory", "5%,20%")


def test_the_command_gives_the_same_rows_and_leaves_no_file(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    options = ("simulate", TRACE, "--policy", "clock,craw,lru,min", *SIZES, "--format", "json")
    in_memory = clockhand(*options)
    in_files = clockhand(*options, "--scratch", folder, "--memory-budget", "64MiB")
    assert in_files.code == 0, in_files.err
    assert json.loads(in_files.out) == json.loads(in_memory.out)
    assert list(folder.iterdir()) == []


def test_a_sweep_keeps_its_references_there(clockhand: Clockhand, tmp_path: Path) -> None:
    experiment = tmp_path / "large.toml"
    experiment.write_text(
        f'question = "Which is best?"\nexpected = "CRAW."\ntraces = ["{TRACE}"]\n'
        'policies = ["clock", "craw"]\nmemory = "10%"\n'
    )
    options = ("sweep", experiment, "--format", "json", "--dataset")
    in_memory = clockhand(*options, tmp_path / "one")
    in_files = clockhand(*options, tmp_path / "other", "--scratch", tmp_path)
    assert in_files.code == 0, in_files.err
    assert json.loads(in_files.out) == json.loads(in_memory.out)


def test_traces_and_recipes_are_kept_there_too(tmp_path: Path) -> None:
    whole = Trace(TRACE)
    rows = [
        clockhand.simulate(trace, policies="clock", frames="100", limit=50_000, **scratch).rows
        for trace in (whole, pickle.loads(pickle.dumps(whole)))
        for scratch in ({}, {"scratch": tmp_path})
    ]
    assert all(one.equals(rows[0]) for one in rows)


def test_facts_repeat_the_run_with_its_folder(tmp_path: Path) -> None:
    run = clockhand.run_simulation(
        TRACE, policies="clock", frames="100", limit=5000, scratch=tmp_path
    )
    assert f"--scratch {tmp_path}" in run.facts["command"]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--policy", "clock,bound", "--scratch", "."), "bound needs all references in memory"),
        (("--policy", "clock", "--scratch", "absent"), r"absent: creating failed .* No such file"),
        (("--policy", "clock", "--scratch", TRACE), "creating failed .* Not a directory"),
        (("--policy", "clock", "--memory-budget", "1KiB"), "is no size of at least 16MiB"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    clockhand: Clockhand, words: tuple[str, ...], wrong: str
) -> None:
    run = clockhand("simulate", TRACE, "--frames", "64", *words)
    assert run.code in (1, 2)
    assert_one_sentence(run)
    assert re.search(wrong, run.err), run.err


def test_other_studies_refuse_it(tmp_path: Path) -> None:
    with pytest.raises((UsageError, ClockhandError), match=r"leave (--)?scratch out"):
        clockhand.locality(TRACE, limit=5000, scratch=tmp_path)
    with pytest.raises((UsageError, ClockhandError), match=r"leave (--)?scratch out"):
        clockhand.translate(TRACE, memory="10%", tlb="64", limit=5000, scratch=tmp_path)
