"""Programs whose calls the preloaded library does not see, or which leave little to be paged.

If the kernel refuses to page programs, or a program is missing, tests are skipped with the reason.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clockhand import _engine
from conftest import Clockhand

OBSTACLE = _engine.pager_obstacle()
pytestmark = pytest.mark.skipif(
    OBSTACLE is not None, reason=f"no program was run under the pager: {OBSTACLE}"
)

PROGRAMS = Path(__file__).with_name("programs")
PRELOAD_PROGRAMS = PROGRAMS.parents[2] / "crates/preload/tests/preload/programs"
PAGED = ["--policy", "clock", "--frames", "128", "--swap-in-ram", "--no-simulate"]


def needed(program: str) -> str:
    """Return a program's path, or skip the test with a message."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed, so that it was not run under the pager")
    return found


def built(folder: Path, name: str, *flags: str, sources: Path = PROGRAMS) -> str:
    """Compile one of the programs beside this file, or of others."""
    program = folder / name
    command = [needed("cc"), "-O1", "-pthread", *flags, "-o", program, sources / f"{name}.c"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 and flags:
        pytest.skip(f"the compiler refuses {' '.join(flags)}: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return str(program)


CHANGED = "has unmapped or moved a part of its paged memory, or mapped something over it"


# Once half of the content was lost, or the program waited for ever.
@pytest.mark.parametrize(
    ("way", "bits"), [("unmaps", "sensed"), ("moves", "mapped"), ("replaces", "sensed")]
)
def test_what_own_instructions_do_to_paged_mappings_ends_the_program_with_a_sentence(
    clockhand: Clockhand, tmp_path: Path, way: str, bits: str
) -> None:
    program = built(tmp_path, "own_mappings")
    run = clockhand("run", *PAGED, "--bits", bits, "--", program, way)
    assert (run.code, run.out) == (125, b""), run.err
    *first, last = [line for line in run.err.splitlines() if CHANGED in line]
    assert first == [f"clockhand: {last.split(': ', 1)[1].rstrip('.')}"], run.err
    assert last.startswith("own_mappings (process "), run.err
    assert "the pager has ended" not in run.err


# The old content came back without a word. The kernel refuses it where the memory may be locked.
@pytest.mark.parametrize("bits", ["sensed", "mapped"])
def test_what_own_instructions_would_forget_is_refused(
    clockhand: Clockhand, tmp_path: Path, bits: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may lock as much memory as a program can have paged")
    program = built(tmp_path, "own_mappings")
    run = clockhand("run", *PAGED, "--bits", bits, "--", program, "forgets")
    assert (run.code, run.out) == (0, b"-22\n-22\n-22\nto the end\n"), run.err


# Nothing but zeros could be mapped over paged memory.
@pytest.mark.parametrize("bits", ["sensed", "mapped"])
def test_reserved_memory_is_paged_and_takes_whatever_is_mapped_over_it(
    clockhand: Clockhand, tmp_path: Path, bits: str
) -> None:
    program = built(tmp_path, "reserved", sources=PRELOAD_PROGRAMS)
    plain = subprocess.run([program], capture_output=True)
    run = clockhand("run", *PAGED, "--bits", bits, "--quiet", "--", program)
    assert (run.code, run.out) == (0, plain.stdout), run.err
    assert b": NO" not in plain.stdout


# The kernel does not wait for a page of a thread that ends. Whoever locked next waited for ever.
@pytest.mark.parametrize("bits", ["sensed", "mapped"])
def test_who_waits_for_a_robust_mutex_in_a_page_that_left_is_told_that_its_owner_died(
    clockhand: Clockhand, tmp_path: Path, bits: str
) -> None:
    program = built(tmp_path, "robust_mutex")
    run = clockhand("run", *PAGED, "--bits", bits, "--", program)
    ways = ["returns", "exits", "is cancelled", "by number", "of C11"]
    assert run.out.decode().splitlines() == [f"{way}: told" for way in ways for _ in range(3)]
    assert run.code == 0, run.err


# Once the thread of ours kept the process, and a signal changed nothing.
def test_a_program_whose_last_thread_ends_itself_ends_with_its_code(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    run = clockhand("run", *PAGED, "--", built(tmp_path, "ends_itself"))
    assert (run.code, run.out) == (3, b"done\n"), run.err


# It failed without a word of why.
def test_a_program_that_wants_a_user_namespace_is_told_why_it_gets_none(
    clockhand: Clockhand,
) -> None:
    run = clockhand("run", *PAGED, "--", needed("unshare"), "--user", needed("true"))
    assert run.code == 1, run.err
    assert run.err.count("the kernel gives it no other user namespace (error 22)") == 1


def test_a_program_with_a_heap_of_its_own_is_told_of(clockhand: Clockhand, tmp_path: Path) -> None:
    run = clockhand("run", *PAGED, "--", built(tmp_path, "own_heap"))
    assert (run.code, run.out) == (0, b"done\n"), run.err
    assert run.err.startswith("clockhand: own_heap (process ")
    assert "has a malloc of its own: what it allocates is paged only where" in run.err


def test_a_program_that_does_not_take_the_library_is_told_of(clockhand: Clockhand) -> None:
    run = clockhand("run", *PAGED, "--", needed("env"), "LD_PRELOAD=", needed("sleep"), "2")
    assert run.code == 0, run.err
    assert run.err.startswith("clockhand: sleep (process ")
    assert "is not paged: the library is not loaded into it" in run.err


def test_a_program_under_valgrind_runs_unpaged_and_says_so(clockhand: Clockhand) -> None:
    command = [needed("valgrind"), "-q", needed("echo"), "hello"]
    plain = subprocess.run(command, capture_output=True)
    if plain.returncode != 0:
        pytest.skip(f"valgrind does not run here: {plain.stderr.decode(errors='replace')}")
    run = clockhand("run", *PAGED, "--", *command)
    assert (run.code, run.out) == (0, b"hello\n"), run.err
    assert run.err.count("runs under Valgrind, which has a heap of its own") == 1
    assert "userfaultfd; use a Linux kernel" not in run.err


def test_a_program_with_address_sanitizer_is_refused(clockhand: Clockhand, tmp_path: Path) -> None:
    run = clockhand("run", *PAGED, "--", built(tmp_path, "ends_itself", "-fsanitize=address"))
    assert (run.code, run.out) == (2, b""), run.err
    assert "AddressSanitizer" in run.err and "build it without" in run.err


# In a program at a fixed place that takes its address, `malloc` is found in the program.
def test_a_program_that_only_calls_malloc_is_not_taken_for_one_that_has_its_own(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    at_fixed_place = built(tmp_path, "takes_malloc", "-no-pie", "-fno-pie")
    for command in ([sys.executable, "-c", "print(1)"], [at_fixed_place]):
        run = clockhand("run", *PAGED, "--", *command)
        assert (run.code, run.out) == (0, b"1\n"), run.err
        assert "of its own" not in run.err
