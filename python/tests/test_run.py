"""`clockhand run`, through the executable, on real memory.

If the kernel refuses to page programs, these tests are skipped with its reason.
"""

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clockhand import ClockhandError, Trace, _engine, simulate
from clockhand.studies.programs.memory_group import memory_group
from clockhand.studies.programs.rows import RUN_SCHEMA
from clockhand.studies.programs.run import run
from clockhand.studies.programs.turns import COMPARISON_SCHEMA
from conftest import EXECUTABLE, Clockhand, Run, assert_one_sentence, run_clockhand

OBSTACLE = _engine.pager_obstacle()
pytestmark = pytest.mark.skipif(
    OBSTACLE is not None, reason=f"no program was run under the pager: {OBSTACLE}"
)

PYTHON = os.path.realpath(sys.executable)
# 12 MiB, written once and then read and written here and there.
PROGRAM = """
import random
pages, draw = 3072, random.Random(5)
block = bytearray(pages * 4096)
for page in range(pages):
    block[page * 4096] = page % 251
for _ in range(6000):
    page = draw.randrange(pages)
    block[page * 4096 + 1] = block[page * 4096] ^ 1
print(sum(block[::4096]), sum(block[1::4096]))
"""
# Two children, made by fork, change copies of 8 MiB of their parent.
FORKING = """
import multiprocessing
data = bytearray(bytes(range(1, 256)) * 32896)
def work(part):
    for place in range(part, len(data), 4096):
        data[place] = part
    return sum(data[part::4096]), sum(data)
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    # Each pair of parts is changed by a child of its own, however busy the machine is.
    with multiprocessing.Pool(2, maxtasksperchild=1) as pool:
        print(sorted(pool.map(work, range(4), chunksize=2)), sum(data))
"""
SMALL = ["--memory", "8MiB"]
FILE = ["--swap", "swap.img"]


@pytest.fixture(scope="module")
def plain() -> bytes:
    """What the program writes without Clockhand."""
    return subprocess.run([PYTHON, "-c", PROGRAM], capture_output=True, check=True).stdout


@pytest.fixture
def paged(tmp_path: Path) -> Clockhand:
    """`clockhand run` with a policy and a swap file, started in `tmp_path`."""
    return partial(run_clockhand, "run", "--policy", "clock", *SMALL, *FILE, cwd=tmp_path)


def rows_in(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    return rows


def assert_swapped_and_agreed(row: dict[str, Any]) -> None:
    """Pages went to swap and came back, and the simulator counts the same."""
    assert row["pages_read"] > 1000 and row["pages_written"] > 1000
    bits = row["bits"]
    assert row["misses"] == row[f"{bits}_misses"] == row["read_ios"]
    for name in ("clean_evictions", "dirty_evictions", "write_ios"):
        assert row[name] == row[f"{bits}_{name}"], name


# Every policy, on a model of memory: `decisions.rs` of the pager.
@pytest.mark.parametrize("policy", ["craw", "nru"])
def test_with_mapped_bits_a_program_writes_the_same_and_the_simulator_counts_the_same(
    clockhand: Clockhand, tmp_path: Path, plain: bytes, policy: str
) -> None:
    options = ["--policy", policy, "--bits", "mapped", *SMALL, *FILE, "--out", "rows.json"]
    run = clockhand("run", *options, "--", PYTHON, "-c", PROGRAM)
    assert (run.code, run.out, run.err) == (0, plain, "rows.json: the rows as json\n")
    (row,) = rows_in(tmp_path / "rows.json")
    assert list(row) == list(RUN_SCHEMA)
    assert (row["policy"], row["frames"], row["failure"]) == (policy, 2048, None)
    assert row["bits"] == "mapped"
    assert_swapped_and_agreed(row)
    assert os.listdir(tmp_path) == ["rows.json"]


@pytest.mark.parametrize("policy", ["clock", "nru:mode=periodic,period=500", "linux24"])
def test_bits_are_sensed_so_that_hits_cost_no_fault_and_the_simulator_counts_the_same(
    clockhand: Clockhand, tmp_path: Path, plain: bytes, policy: str
) -> None:
    options = ["--policy", policy, *SMALL, *FILE, "--out", "rows.json"]
    run = clockhand("run", *options, "--", PYTHON, "-c", PROGRAM)
    assert (run.code, run.out, run.err) == (0, plain, "rows.json: the rows as json\n")
    (row,) = rows_in(tmp_path / "rows.json")
    assert (row["bits"], row["mapped_misses"]) == ("sensed", None)
    assert_swapped_and_agreed(row)
    # A page that the program freed is filled again by a message; nothing else is.
    assert row["minor_faults"] <= row["discarded_pages"] and row["sensed_references"] > 0


def test_forked_children_and_new_programs_have_memory_and_sensed_bits_of_their_own(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "forking.py").write_text(FORKING)
    command = ["sh", "-c", f"{PYTHON} forking.py; exec {PYTHON} forking.py"]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    options = ["--policy", "craw", "--memory", "4MiB", *FILE]
    run = clockhand("run", *options, "--out", "rows.json", "--", *command)
    assert (run.code, run.out, run.err) == (0, plain.stdout, "rows.json: the rows as json\n")
    rows = rows_in(tmp_path / "rows.json")
    assert {row["bits"] for row in rows} == {"sensed"}
    forked = [row for row in rows if row["forked"]]
    assert len(forked) >= 4 and sum(row["sensed_references"] for row in forked) > 0
    for row in rows:
        if row["pages_read"]:
            # Children may be in the middle of a fault when they must end.
            for name in ("misses", "write_ios"):
                assert 0 <= row[name] - row[f"sensed_{name}"] <= 1, name


def test_pages_read_ahead_change_no_count_of_the_policy(
    paged: Clockhand, tmp_path: Path, plain: bytes
) -> None:
    run = paged("--read-ahead", "64", "--out", "rows.json", "--", PYTHON, "-c", PROGRAM)
    assert (run.code, run.out, run.err) == (0, plain, "rows.json: the rows as json\n")
    (row,) = rows_in(tmp_path / "rows.json")
    assert_swapped_and_agreed(row)
    assert row["read_ahead"] == 64 and row["pages_read_ahead"] > 100
    assert row["bytes_read"] >= 4096 * row["pages_read"]


def test_what_predicts_pages_can_be_chosen(paged: Clockhand, tmp_path: Path) -> None:
    # A program that goes through its memory in order follows no pointers.
    walk = (
        "memory = bytearray(16 << 20)\n"
        "for turn in range(3):\n"
        "    for at in range(0, len(memory), 4096):\n"
        "        memory[at] += 1"
    )
    read = {}
    for given in ("64", "64,streams", "64,pointers"):
        paged("--read-ahead", given, "--out", "rows.json", "--", PYTHON, "-c", walk)
        (row,) = rows_in(tmp_path / "rows.json")
        assert row["read_ahead"] == 64
        read[given] = row["pages_read_ahead"]
    assert read["64"] > 1000 and read["64,streams"] > 1000, read
    assert read["64,pointers"] < read["64,streams"] / 10, read


def test_people_see_a_table_the_simulator_beside_and_a_report(
    paged: Clockhand, tmp_path: Path
) -> None:
    run = paged("--report", "run.html", "--", PYTHON, "-c", PROGRAM)
    assert run.code == 0 and run.out.count(b"\n") == 1
    for words in ("minor faults", "simulator, sensed", "simulator, exact", "counts the same"):
        assert words in run.err
    page = (tmp_path / "run.html").read_text()
    assert "Faults per second" in page and "simulator, exact" in page


def test_swap_can_be_in_ram(clockhand: Clockhand) -> None:
    words = ["run", "--policy", "craw", *SMALL, "--swap-in-ram", "--reserve", "0"]
    run = clockhand(*words, "--format", "json", "--", PYTHON, "-c", PROGRAM)
    (row,) = json.loads(run.err)
    assert row["reserve"] == 0
    assert_swapped_and_agreed(row)


@pytest.mark.parametrize(("script", "code"), [("exit 130", 130), ("kill -TERM $$", 143)])
def test_the_exit_code_and_standard_input_are_the_programs(
    paged: Clockhand, script: str, code: int
) -> None:
    run = paged("--", "sh", "-c", f"sort; {script}", input=b"b\nc\na\n")
    assert (run.code, run.out) == (code, b"a\nb\nc\n")
    assert "interrupted" not in run.err


def test_the_log_is_a_trace_with_a_stream_per_process(paged: Clockhand, tmp_path: Path) -> None:
    script = '"$0" -c "$1"; "$0" -c "$1"'
    run = paged(
        "--record", "log.parquet", "--out", "rows.parquet", "--",
        "sh", "-c", script, PYTHON, PROGRAM,
    )  # fmt: skip
    assert run.code == 0, run.err
    rows = pl.read_parquet(tmp_path / "rows.parquet")
    assert rows.schema == RUN_SCHEMA
    swapping = [row for row in rows.iter_rows(named=True) if row["pages_written"]]
    assert len(swapping) == 2
    for row in swapping:
        assert_swapped_and_agreed(row)
        again = simulate(
            Trace(tmp_path / "log.parquet", streams=[row["stream"]]),
            policies="clock",
            frames=row["frames"] - row["reserve"] - row["read_ahead"],
            bits=row["bits"],
        ).rows
        assert again["misses"][0] == row["misses"]


def test_a_comparison_shows_the_output_once_and_every_contender(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    words = ["run", "--compare", "clock,craw,kernel", "--repeat", "2", *SMALL, *FILE]
    program = "import sys; print(len(sys.stdin.read()))" + PROGRAM
    run = clockhand(
        *words, "--out", "rows.json", "--report", "comparison.html", "--", PYTHON, "-c", program,
        input=b"x" * 1000,
    )  # fmt: skip
    assert run.code == 0, run.err
    assert run.out.count(b"\n") == 2 and run.out.startswith(b"1000\n")
    assert "run 6 of 6: kernel" in run.err and "other output" not in run.err
    rows = rows_in(tmp_path / "rows.json")
    assert list(rows[0]) == list(COMPARISON_SCHEMA)
    told = [(row["policy"], row["run"]) for row in rows]
    assert told == [(name, number) for name in ("clock", "craw", "kernel") for number in (1, 2)]
    for row in rows[4:]:
        assert row["problem"] is not None or 8 << 20 < row["limit_bytes"] < 16 << 20
    for row in rows[:4]:
        assert row["problem"] is None and row["pages_written"] > 1000
        assert row["cpu_seconds"] > 0
    assert len({row["output_sha256"] for row in rows if row["problem"] is None}) == 1
    assert "Side by side" in (tmp_path / "comparison.html").read_text()
    assert sorted(os.listdir(tmp_path)) == ["comparison.html", "rows.json"]


def test_exact_bits_cannot_be_had(clockhand: Clockhand) -> None:
    run = clockhand("run", "--policy", "clock", "--bits", "exact", *SMALL, *FILE, "--", "true")
    assert run.code == 2 and "give mapped or sensed" in run.err


def test_the_kernel_gets_the_same_memory_or_says_why_not(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    words = ["run", "--compare", "clock,kernel", "--bits", "mapped", *SMALL, *FILE]
    run = clockhand(*words, "--out", "rows.json", "--", PYTHON, "-c", PROGRAM)
    assert run.code == 0, run.err
    assert run.out.count(b"\n") == 1
    _, kernel = rows_in(tmp_path / "rows.json")
    try:
        with memory_group():
            pass
    except ClockhandError as error:
        assert kernel["problem"] is not None and kernel["seconds"] is None
        assert str(error).split("(")[0] in run.err
        pytest.skip(f"the kernel's swap was not compared: {error}")
    if kernel["problem"] is not None:
        pytest.skip(f"the kernel's swap was not compared: {kernel['problem']}")
    assert 8 << 20 < kernel["limit_bytes"] < 16 << 20
    assert kernel["pages_written"] > 500 and kernel["faults"] > 500


def test_in_ram_the_kernel_is_left_out_with_the_reason(clockhand: Clockhand) -> None:
    run = clockhand("run", "--compare", "clock,kernel", *SMALL, "--swap-in-ram", "--", "true")
    assert run.code == 0
    assert "needs a drive to swap to" in run.err


def test_an_emulated_device_is_never_faster_than_its_times_and_nothing_need_be_simulated(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    emulating = ["--swap-in-ram", "--emulate", "cflru-nand", "--no-simulate", "--format", "json"]
    program = PROGRAM.replace("range(6000)", "range(600)").replace("3072", "1536")
    words = ["run", "--policy", "clock", *SMALL, *emulating, "--", PYTHON, "-c", program]
    run = clockhand(*words, timeout=300)
    assert run.code == 0, run.err
    (process,) = json.loads(run.err)
    assert process["sensed_misses"] is None and os.listdir(tmp_path) == []
    assert process["pages_read"] > 100 and process["pages_written"] > 100
    assert process["read_wait_us"] >= 284.2 * process["pages_read"]
    # Writes under way when the program ended have not taken their time.
    written = process["pages_written"] - process["reserve"]
    assert process["seconds"] * 1e6 >= 1833.0 * written


def test_other_output_is_told(clockhand: Clockhand) -> None:
    run = clockhand("run", "--compare", "clock,nru", *SMALL, *FILE, "--", "sh", "-c", "echo $$")
    assert run.code == 0 and run.out.count(b"\n") == 1
    assert "run 1 under nru wrote other output than run 1 under clock" in run.err


def test_ctrl_c_goes_to_the_program_and_what_it_did_is_told(tmp_path: Path) -> None:
    # Without a fork: for some microseconds around one the shell itself blocks signals.
    sleeping = "echo ready; exec sleep 60"
    words = ["run", "--policy", "clock", *SMALL, *FILE, "--", "sh", "-c", sleeping]
    started = subprocess.Popen(
        [EXECUTABLE, *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert started.stdout is not None and started.stdout.readline() == b"ready\n"
    os.killpg(started.pid, signal.SIGINT)
    _, errors = started.communicate(timeout=300)
    assert started.returncode == 128 + signal.SIGINT
    assert b"minor faults" in errors
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_no_swap_file_is_not_written_to(paged: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "swap.img").write_text("precious")
    run = paged("--", "true")
    assert_one_sentence(run)
    assert run.code == 1 and "swap.img" in run.err
    assert (tmp_path / "swap.img").read_text() == "precious"


def test_memory_for_less_than_one_instruction_is_refused(clockhand: Clockhand) -> None:
    run = clockhand("run", "--policy", "clock", "--frames", "2", "--swap-in-ram", "--", "true")
    assert_one_sentence(run)
    assert run.code == 2 and "more memory" in run.err


def test_live_says_that_nobody_would_see_it(paged: Clockhand) -> None:
    run: Run = paged("--live", "--", "true")
    assert run.code == 0 and "not a terminal" in run.err.splitlines()[0]


def test_live_shows_rates_and_areas_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = ["run", "--live", "--policy", "craw", *SMALL, *FILE, "--no-simulate", "--"]
    slow = PROGRAM + "import time; time.sleep(1)"
    started = subprocess.Popen(
        [EXECUTABLE, *words, PYTHON, "-c", slow],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    # A terminal whose other side is closed cannot be read.
    with suppress(OSError):
        while chunk := os.read(ours, 4096):
            shown += chunk
    os.close(ours)
    assert started.wait(300) == 0
    for words_shown in ("misses/s", "write-backs/s", "W1_pages", "█"):
        assert words_shown.encode() in shown


def test_the_library_gives_rows_samples_and_facts(tmp_path: Path) -> None:
    done = run(
        [PYTHON, "-c", PROGRAM + "import time; time.sleep(0.2)"],
        policy="craw",
        memory="8MiB",
        swap=tmp_path / "swap.img",
    )
    assert (done.exit_code, done.warnings, done.disagreements) == (0, [], [])
    assert_swapped_and_agreed(done.rows.row(0, named=True))
    assert done.samples.height > 5
    assert done.samples["misses"].is_sorted()
    assert "R_pages" in done.gauges["gauge"].unique()
    assert done.facts["command"].startswith("clockhand run --policy craw --frames 2048 ")
    assert done.facts["traces"][0]["references"] == done.rows["references"][0]
