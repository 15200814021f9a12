"""Programs that people use, in a fifth and a half of their memory, and their ends.

What they write must be, byte for byte, what they write without Clockhand, and the simulator must
count what the pager counted. Then: processes that make others, threads, and everything that ends
before its time: the pager, a program, the room in the swap file.

If the kernel refuses to page programs, or a program is missing, tests are skipped with the reason.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clockhand import _engine
from conftest import (
    EXECUTABLE,
    Clockhand,
    Run,
    assert_one_sentence,
    needed,
    run_all,
    run_clockhand,
)

OBSTACLE = _engine.pager_obstacle()
pytestmark = pytest.mark.skipif(
    OBSTACLE is not None, reason=f"no program was run under the pager: {OBSTACLE}"
)

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.path.realpath(sys.executable)
# The interpreter for which distributions package the bindings of GTK.
SYSTEM_PYTHON = "/usr/bin/python3"
PICTURE = Path(__file__).with_name("programs") / "gtk_picture.py"

PAGE_BYTES = 4096
PLENTY = ["--memory", "512MiB", "--swap-in-ram"]
PERCENTAGES = (20, 50)

QUERIES = """
create table t(id integer primary key, word text, weight integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 6000)
insert into t select i, 'word' || (i * 7919 % 100003) || hex(zeroblob(60)), i * 31 % 977 from n;
create index by_word on t(word);
update t set weight = weight + 1 where id % 3 = 0;
select weight, count(*), max(word) from t group by weight order by 3 desc limit 50;
select sum(weight), min(word), max(word) from t;
"""
# 4 MiB, in parts that are written, thrown away and made again.
PYTHON_PROGRAM = """
import hashlib, random
draw = random.Random(5)
parts = [bytearray(draw.randbytes(8192)) for _ in range(400)]
for step in range(150):
    first, second = draw.randrange(400), draw.randrange(400)
    if step % 3:
        parts[first][step] ^= parts[second][step + 1]
    else:
        parts[first] = bytearray(reversed(parts[second]))
print(*(hashlib.sha256(part).hexdigest() for part in parts), sep="\\n")
"""
# Takes turns with its pager, starts a thread and a process, and says on how many processors each
# may run; then it chooses one processor, and all again.
PROCESSORS = """
import os, subprocess, sys, threading, time
parts = [bytearray(65536) for _ in range(100)]
def work():
    for part in parts:
        part[::4096] = os.urandom(16)
def processors(process, thread):
    with open(f"/proc/{process}/task/{thread}/status") as status:
        (mask,) = [line.split()[1] for line in status if line.startswith("Cpus_allowed:")]
    return int(mask.replace(",", ""), 16).bit_count()
for _ in range(3):
    work()
    asked = len(os.sched_getaffinity(0))
    print(asked)
may_end = threading.Event()
thread = threading.Thread(target=may_end.wait)
thread.start()
child = subprocess.Popen(["sleep", "600"])
def started():
    return processors(os.getpid(), thread.native_id), processors(child.pid, child.pid)
until = time.monotonic() + 60
while started() != (asked, asked) and time.monotonic() < until:
    work()
print(*started())
everywhere = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(everywhere)})
work()
print(*os.sched_getaffinity(0) ^ {min(everywhere)}, processors(os.getpid(), os.getpid()))
os.sched_setaffinity(0, everywhere)
for _ in range(3):
    work()
    print(processors(os.getpid(), os.getpid()))
may_end.set()
child.kill()
"""
# Children by fork and by fork of children change their copies of 2 MiB; all must see their own.
FORKS = """
import os, sys, zlib
memory = bytearray(range(256)) * 8192
def change(part):
    for place in range(part, len(memory), 4096):
        memory[place] = (memory[place] + part) % 256
def child(work):
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.write(write, work().encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as answer:
        said = answer.read().decode()
    assert os.waitpid(process, 0)[1] == 0
    return said
def grandchild():
    change(3)
    return f"grandchild {zlib.crc32(memory)}"
def first():
    change(1)
    below = child(grandchild)
    return f"{below} child {zlib.crc32(memory)}"
print(child(first), zlib.crc32(memory))
change(7)
print(child(first), zlib.crc32(memory))
"""
# Other programs by posix_spawn, by vfork and by the interpreter's own means, with memory in use.
SPAWNS = """
import multiprocessing, os, subprocess, sys, zlib
def checksum(text):
    return zlib.crc32(text * 100_000)
if __name__ == "__main__":
    memory = bytearray(range(256)) * 8192
    program = [sys.executable, "-c", "print(sum(bytearray(range(256)) * 8192))"]
    sys.stdout.flush()
    os.waitpid(os.posix_spawn(program[0], program, os.environ), 0)
    print(subprocess.run(program, capture_output=True, check=True).stdout, flush=True)
    os.system(f"sort {sys.argv[1]} | tail -n 2")
    multiprocessing.set_start_method("spawn")
    with multiprocessing.Pool(1) as pool:
        print(pool.map(checksum, [b"a", b"bc"]), zlib.crc32(memory))
"""
# The program starts itself again three times, the last time as a shell's child.
EXECS = """
import os, sys, zlib
turn = int(sys.argv[1])
memory = bytearray(range(turn, 256)) * 8192
print(turn, zlib.crc32(memory), flush=True)
if turn < 2:
    os.execv(sys.executable, [sys.executable, sys.argv[0], str(turn + 1)])
if turn == 2:
    os.execlp("sh", "sh", "-c", f"(exec '{sys.executable}' '{sys.argv[0]}' 3); echo $?")
sys.exit(7)
"""
PIPELINE = """
sort lines.txt | sed 's/1/x/' | sort -k2 > sorted.txt
for turn in 1 2; do (head -n $turn sorted.txt; exit $turn) || echo "code $?"; done
echo "$(tail -n 2 sorted.txt | tr a-f A-F) $(wc -l < sorted.txt)"
"""
# Writes and checks 4 MiB for ever.
WORKS_FOR_EVER = """
import os
memory, turn = bytearray(1024 * 4096), 0
print("begun", os.getpid(), flush=True)
while True:
    turn = turn % 250 + 1
    for page in range(1024):
        memory[page * 4096] = turn
    if any(memory[page * 4096] != turn for page in range(1024)):
        print("wrong memory", flush=True)
"""
TINY = ["--memory", "1MiB"]
# Four threads at once, each on its own quarter of a memory, and all on one part of it.
THREADS = """
import threading, zlib
memory, shared, lock = bytearray(1024 * 4096), bytearray(64 * 4096), threading.Lock()
def work(thread):
    for turn in range(3):
        for page in range(thread, 1024, 4):
            memory[page * 4096 + turn] = (memory[page * 4096] + thread + turn + page) % 256
            with lock:
                shared[page % 64 * 4096] = (shared[page % 64 * 4096] + 1) % 251
threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(zlib.crc32(memory), zlib.crc32(shared))
"""


def lines(folder: Path, count: int) -> Path:
    """Make a file of unsorted lines without a pattern that compresses well."""
    file = folder / "lines.txt"
    numbers = (number * 2_654_435_761 % 2**32 for number in range(count))
    file.write_text("".join(f"{number * number} {number:x}\n" for number in numbers))
    return file


def prepare_sqlite3(folder: Path) -> list[str]:
    return [needed("sqlite3"), ":memory:", QUERIES]


def prepare_python3(folder: Path) -> list[str]:
    return [PYTHON, "-c", PYTHON_PROGRAM]


def prepare_sort(folder: Path) -> list[str]:
    return [needed("sort"), "--parallel=2", "-k2", str(lines(folder, 30_000))]


def prepare_zstd(folder: Path) -> list[str]:
    # Jobs of 512 KiB, the smallest, so that there is work for both threads.
    words = ["-T2", "-1", "-B524288", "-q", "-c"]
    return [needed("zstd"), *words, str(lines(folder, 40_000))]


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Variables of a program on a virtual screen that shows nothing of this machine's settings."""
    home = tmp_path_factory.mktemp("home")
    read, write = os.pipe()
    command = [needed("Xvfb"), "-displayfd", str(write), "-screen", "0", "640x480x24"]
    server = subprocess.Popen(
        [*command, "-nolisten", "tcp"], pass_fds=[write], stderr=subprocess.DEVNULL
    )
    os.close(write)
    with os.fdopen(read) as answer:
        number = answer.readline().strip()
    yield {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "DISPLAY": f":{number}",
        "LANG": "C.UTF-8",
        "GDK_BACKEND": "x11",
        "GSETTINGS_BACKEND": "memory",
        "GIO_USE_VFS": "local",
        "NO_AT_BRIDGE": "1",
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
    }
    server.terminate()
    server.wait()


def rows_in(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    return rows


def assert_agreed(row: dict[str, Any]) -> None:
    """The simulator counts the same; the program's end may have cut its last fault short."""
    assert row["failure"] is None
    bits = row["bits"]
    assert row["misses"] == row[f"{bits}_misses"]
    for name in ("clean_evictions", "dirty_evictions", "read_ios", "write_ios"):
        assert 0 <= row[name] - row[f"{bits}_{name}"] <= 1, name


def without_unpaged(errors: str) -> str:
    """What was said, but for the sentence about memory that cannot be paged."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if "in memory that was not paged" not in line)


def in_parts_of_its_memory(
    command: list[str], policies: list[str], folder: Path, **options: Any
) -> None:
    """Run a program without Clockhand, with plenty of memory and with parts of what it used then.

    Asserts that it writes the same every time, has more than it may have in memory, and that the
    simulator agrees.
    """
    plain = subprocess.run(command, cwd=folder, capture_output=True, check=True, **options)
    run = run_clockhand(
        "run", "--policy", "clock", *PLENTY, "--no-simulate", "--out", "plenty.json",
        "--", *command, cwd=folder, **options,
    )  # fmt: skip
    told = without_unpaged(run.err)
    assert (run.code, run.out, told) == (0, plain.stdout, "plenty.json: the rows as json\n")
    (measured,) = rows_in(folder / "plenty.json")
    used_pages = measured["footprint_pages"]
    assert 512 <= used_pages <= 4096, "2 to 16 MiB keep the test short"

    def part(percent: int, policy: str) -> Run:
        return run_clockhand(
            "run", "--policy", policy, "--frames", str(used_pages * percent // 100),
            "--swap", f"swap-{percent}.img", "--out", f"rows-{percent}.json",
            "--", *command, cwd=folder, **options,
        )  # fmt: skip

    parts = list(zip(PERCENTAGES, policies, strict=True))
    runs = run_all([partial(part, percent, policy) for percent, policy in parts])
    for (percent, policy), run in zip(parts, runs, strict=True):
        told = f"{percent} % of {used_pages} pages under {policy}"
        assert (run.code, run.out) == (0, plain.stdout), told
        assert without_unpaged(run.err) == f"rows-{percent}.json: the rows as json\n", told
        (row,) = rows_in(folder / f"rows-{percent}.json")
        assert row["misses"] > row["frames"] and row["pages_written"] > 0, told
        assert row["device_reads"] is None
        assert_agreed(row)
        assert not (folder / f"swap-{percent}.img").exists()


@pytest.mark.parametrize(
    ("prepare", "policies"),
    [
        pytest.param(prepare_sqlite3, ["craw", "nru"], id="sqlite3"),
        pytest.param(prepare_python3, ["cfclock:window_share=1/4", "car"], id="python3"),
        pytest.param(prepare_sort, ["craw-a", "sieve"], id="sort"),
        pytest.param(prepare_zstd, ["clock", "clock-pro"], id="zstd"),
    ],
)
def test_programs_write_the_same_in_parts_of_their_memory(
    tmp_path: Path, prepare: Callable[[Path], list[str]], policies: list[str]
) -> None:
    in_parts_of_its_memory(prepare(tmp_path), policies, tmp_path)


def test_a_program_of_gtk_draws_the_same_in_parts_of_its_memory(
    tmp_path: Path, screen: dict[str, str]
) -> None:
    command = [SYSTEM_PYTHON, str(PICTURE)]
    try:
        plain = subprocess.run(command, env=screen, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"there is no {SYSTEM_PYTHON}, so that no program of GTK was run")
    if "gi" in plain.stderr and plain.returncode:
        pytest.skip(f"GTK's bindings for Python are missing: {plain.stderr.splitlines()[-1]}")
    in_parts_of_its_memory(command, ["craw", "clock"], tmp_path, env=screen)


# Once 4,608 to 7,168 words of a run were lost: a device wrote into pages that had been written out.
def test_what_a_device_writes_into_paged_memory_is_not_lost(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    program = tmp_path / "direct_reads"
    source = PICTURE.with_name("direct_reads.c")
    flags = ["-O1", "-pthread", "-o", str(program)]
    subprocess.run([needed("cc"), *flags, str(source)], check=True)
    words = ["--policy", "clock", "--memory", "2MiB", "--swap", "swap.img"]
    run = clockhand("run", *words, "--", str(program), "content")
    if run.out == b"no direct I/O\n":
        pytest.skip("this file system has no direct I/O, so that none was tried")
    refused = (
        "asynchronous: Invalid argument",
        "asynchronous, of the C library: Invalid argument",
        "a ring: none",
    )
    assert run.out.decode().splitlines() == ["wrong words: 0", *refused]
    assert run.code == 0, run.err
    assert LOST not in run.err


LOST = "what a device writes into a page that has been swapped out meanwhile is lost"


@pytest.fixture
def own_calls(tmp_path: Path) -> Callable[..., Run]:
    """Run a program of 16 MiB in 2 MiB that has a device read by calls no library can see."""
    program = tmp_path / "own_calls"
    source = PICTURE.with_name("own_calls.c")
    subprocess.run([needed("cc"), "-O1", "-pthread", "-o", program, source], check=True)

    def run(way: str, *words: str, seconds: int) -> Run:
        errors = tmp_path / "errors"
        paged = ["--memory", "2MiB", "--swap", "swap.img", *words]
        command = [EXECUTABLE, "run", *paged, "--", program, way, "content", str(seconds)]
        with errors.open("wb") as to:
            done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=to)
        if done.stdout.startswith(f"{way}: ".encode()):
            pytest.skip(f"here is no such read: {done.stdout.decode()}")
        assert done.stdout == b"done\n", errors.read_text()
        return Run(done.returncode, done.stdout, errors.read_text())

    return run


# Nothing was said of such reads once.
@pytest.mark.parametrize(
    ("way", "means"),
    [
        ("ring", "has an io_uring that the pager cannot watch"),
        ("buffers", "has had memory pinned for a device"),
        ("requests", "makes asynchronous reads (`io_submit`) that the pager cannot watch"),
        ("reads", "reads a file opened with O_DIRECT by instructions of its own"),
        ("reads in parts", "reads a file opened with O_DIRECT by instructions of its own"),
    ],
)
def test_reads_of_a_device_that_no_library_sees_are_reported_at_once_and_with_the_results(
    own_calls: Callable[..., Run], tmp_path: Path, way: str, means: str
) -> None:
    words = ["--policy", "clock", "--out", "rows.json", "--report", "run.html"]
    run = own_calls(way, *words, seconds=60)
    assert run.code == 0, run.err
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert row["seconds"] < 50, "the program ends when it is reported"
    assert means in row["device_reads"] and LOST in row["device_reads"]
    *at_once, last = [line for line in run.err.splitlines() if LOST in line]
    who = f"own_calls (process {row['process']}) "
    assert at_once and at_once[0].startswith(f"clockhand: {who}")
    assert last == f"{who}{row['device_reads']}."
    assert LOST in (tmp_path / "run.html").read_text()


def test_a_comparison_says_once_that_a_device_may_have_written_unseen(
    own_calls: Callable[..., Run],
) -> None:
    run = own_calls("ring", "--compare", "clock,craw", seconds=60)
    assert run.code == 0, run.err
    said = [line for line in run.err.splitlines() if LOST in line]
    with_results = [line for line in said if line.endswith("unpaged.")]
    assert len(said) == 3 and len(with_results) == 1, run.err


def test_nothing_is_reported_of_what_goes_through_the_library(
    own_calls: Callable[..., Run], tmp_path: Path
) -> None:
    words = ["--policy", "clock", "--out", "rows.json", "--no-simulate"]
    run = own_calls("requests by number", *words, seconds=3)
    assert LOST not in run.err
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert row["clean_evictions"] + row["dirty_evictions"] > 0 and row["device_reads"] is None


def built(name: str, folder: Path) -> Path:
    """A program of `programs`, in a folder."""
    source = Path(__file__).with_name("programs") / f"{name}.c"
    subprocess.run([needed("cc"), "-O1", "-w", "-pthread", "-o", folder / name, source], check=True)
    return folder / name


# The table said "0 misses" and nothing else.
@pytest.mark.parametrize("name", ["reserve_then_commit", "sparse_terabyte"])
def test_memory_that_is_not_paged_is_told(clockhand: Clockhand, tmp_path: Path, name: str) -> None:
    program = built(name, tmp_path)
    paging = ["--policy", "clock", "--memory", "2MiB", "--swap-in-ram", "--no-simulate"]
    run = clockhand("run", *paging, "--out", "rows.json", "--", program)
    assert (run.code, run.out) == (0, b"sum 522240\n"), run.err
    assert "in memory that was not paged, beside" in run.err
    (row,) = rows_in(tmp_path / "rows.json")
    assert 16 << 20 <= row["unpaged_bytes"] < 20 << 20
    assert ("--address-space allows it more" in run.err) == (name == "sparse_terabyte")


def test_a_program_whose_memory_is_paged_has_little_beside(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    script = "import time; b = bytes(40_000_000); time.sleep(0.5); print(len(b))"
    paging = ["--policy", "clock", "--memory", "64MiB", "--swap-in-ram", "--no-simulate"]
    run = clockhand("run", *paging, "--out", "rows.json", "--", SYSTEM_PYTHON, "-c", script)
    assert run.code == 0 and "not paged" not in run.err
    (row,) = rows_in(tmp_path / "rows.json")
    assert 0 < row["unpaged_bytes"] < 8 << 20


# Debuggers said "Cannot access memory".
def test_a_debugger_under_the_pager_reads_what_is_swapped_out(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    program = built("debugger_looks", tmp_path)
    paging = ["--policy", "clock", "--frames", "128", "--swap-in-ram", "--no-simulate"]
    run = clockhand("run", *paging, "--", program)
    assert (run.code, run.out) == (0, b"0 words of 1,024 not read, 0 not written\n"), run.err


@pytest.mark.parametrize(("limit", "option"), [("RLIMIT_FSIZE", "-f"), ("RLIMIT_AS", "-v")])
def test_a_limit_below_the_address_space_is_one_sentence_before_anything_runs(
    clockhand: Clockhand, limit: str, option: str
) -> None:
    most = 6 << 30
    limited = partial(resource.setrlimit, getattr(resource, limit), (most, most))
    paging = ["--memory", "16MiB", "--swap-in-ram", "--no-simulate"]
    for words in (["--policy", "clock"], ["--compare", "clock"]):
        run = clockhand("run", *words, *paging, "--", "echo", "it runs", preexec_fn=limited)
        assert (run.code, run.out) == (1, b"") and f"raise `ulimit {option}`" in run.err, run.err
        assert run.err.count("\n") == 1
    run = clockhand(
        "run", "--policy", "clock", *paging, "--address-space", "1GiB", "--", "echo", "it runs",
        preexec_fn=limited,
    )  # fmt: skip
    assert (run.code, run.out) == (0, b"it runs\n"), run.err


# `man` wrote nothing on Debian, whose sandbox refuses sockets. Others are in `sentences.rs`.
@pytest.mark.parametrize("sandbox", ["sockets", "userfaultfd"])
def test_a_program_goes_on_in_a_sandbox_and_says_what_is_not_paged(
    clockhand: Clockhand, tmp_path: Path, sandbox: str
) -> None:
    source = ROOT / "crates/preload/tests/preload/programs/sandbox.c"
    program = tmp_path / "sandbox"
    subprocess.run([needed("cc"), "-O1", "-pthread", "-o", program, source], check=True)
    alone = subprocess.run([program, sandbox], capture_output=True, check=True)
    paging = ["--policy", "clock", "--frames", "256", "--swap-in-ram", "--no-simulate"]
    run = clockhand("run", *paging, "--", program, sandbox)
    assert (run.code, run.out) == (0, alone.stdout), run.err
    assert "refuse what forked children need" in run.err
    assert "it runs without paged memory" in run.err


# Ten seconds later the watchdog once reported a fork that did not end.
def test_a_fork_that_was_refused_is_not_waited_for(clockhand: Clockhand) -> None:
    script = """if True:
        import os, time
        child = os.fork()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        time.sleep(12)
    """
    swap = ["--swap", "swap.img", "--swap-limit", "1MiB"]
    words = ["--policy", "clock", "--memory", "64MiB", *swap, "--no-simulate"]
    run = clockhand("run", *words, "--", SYSTEM_PYTHON, "-c", script)
    assert run.out == b"125\n", run.err
    assert "private copy" in run.err
    assert "has waited" not in run.err


# Reads by number and those of checking compilers once lost what the device wrote.
def test_everything_that_is_hard_to_page_at_once_loses_no_word(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    program = tmp_path / "everything_at_once"
    source = PICTURE.with_name("everything_at_once.c")
    subprocess.run([needed("cc"), "-O1", "-pthread", "-o", program, source], check=True)
    words = ["--policy", "craw", "--memory", "2MiB", "--swap", "swap.img"]
    run = clockhand("run", *words, "--", str(program), "3", "1", str(tmp_path))
    assert run.code == 0, (run.out, run.err)
    assert run.out.endswith(b"words verified, none wrong\n"), run.out
    assert LOST not in run.err


def test_many_short_programs_on_busy_processors_all_end(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    script = """
        spin() { while :; do :; done; }
        spin & first=$!
        spin & second=$!
        for turn in $(seq 5); do
            for number in 1 2 3; do (seq $turn 60 | sort -n | tail -n 1) & last=$!; done
            (exit 3) && echo never
            wait $last
        done
        kill $first $second
        wait
    """
    words = ["--policy", "car", "--frames", "64", "--swap-in-ram", "--no-simulate"]
    run = clockhand("run", *words, "--out", "rows.json", "--", "sh", "-c", script, timeout=300)
    assert run.code == 0, run.err
    assert run.out == b"60\n" * 15
    assert "has waited" not in run.err
    assert len(json.loads((tmp_path / "rows.json").read_text())) > 60


def test_a_program_sees_the_processors_that_it_may_use_and_so_does_what_it_starts(
    clockhand: Clockhand,
) -> None:
    processors = len(os.sched_getaffinity(0))
    if processors == 1:
        pytest.skip("there is one processor, so that none can be left")
    words = ["--policy", "clock", "--memory", "2MiB", "--swap-in-ram", "--no-simulate"]
    run = clockhand("run", *words, "--", PYTHON, "-c", PROCESSORS)
    assert run.code == 0, run.err
    often = [str(processors)] * 3
    started = f"{processors} {processors}"
    assert run.out.decode().splitlines() == [*often, started, "1", *often]


def test_threads_work_with_a_small_reserve(clockhand: Clockhand, tmp_path: Path) -> None:
    command = [PYTHON, "-c", THREADS]
    plain = subprocess.run(command, capture_output=True, check=True)
    runs = ["--frames", "768", "--reserve", "2", "--swap", "swap.img", "--out", "rows.json"]
    run = clockhand("run", "--policy", "craw", *runs, "--", *command)
    assert (run.code, run.out, run.err) == (0, plain.stdout, "rows.json: the rows as json\n")
    (row,) = rows_in(tmp_path / "rows.json")
    assert row["reserve"] == 2 and row["pages_written"] > 100
    assert_agreed(row)


@pytest.mark.parametrize(
    ("script", "words", "policy"),
    [
        pytest.param(FORKS, [], "craw", id="fork"),
        pytest.param(SPAWNS, ["lines.txt"], "nru", id="spawn"),
        pytest.param(EXECS, ["0"], "clock", id="exec"),
    ],
)
def test_processes_that_make_others_write_the_same(
    clockhand: Clockhand, tmp_path: Path, script: str, words: list[str], policy: str
) -> None:
    lines(tmp_path, 2000)
    (tmp_path / "program.py").write_text(script)
    command = [PYTHON, "program.py", *words]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert plain.stderr == b""
    paging = ["--memory", "4MiB", "--swap", "swap.img", "--out", "rows.json"]
    run = clockhand("run", "--policy", policy, *paging, "--", *command)
    assert (run.code, run.out, run.err) == (
        plain.returncode,
        plain.stdout,
        "rows.json: the rows as json\n",
    )
    rows = rows_in(tmp_path / "rows.json")
    assert len(rows) >= 3 and any(row["pages_read"] > 0 for row in rows)
    for row in rows:
        if row["references"]:
            assert_agreed(row)


def test_a_pipeline_of_a_shell_writes_the_same(clockhand: Clockhand, tmp_path: Path) -> None:
    lines(tmp_path, 10_000)
    command = ["sh", "-c", PIPELINE]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    paging = [*TINY, "--swap", "swap.img", "--out", "rows.json"]
    run = clockhand("run", "--policy", "craw", *paging, "--", *command)
    assert (run.code, run.out, run.err) == (0, plain.stdout, "rows.json: the rows as json\n")
    rows = rows_in(tmp_path / "rows.json")
    assert sum(row["name"] == "sort" for row in rows) == 2
    for row in rows:
        if row["references"]:
            assert_agreed(row)


class Working:
    """`clockhand run` of a program that works for ever; a context manager, once it has begun.

    Attributes:
        clockhand: The process of Clockhand, which is the pager.
        program: The process id of the program.
    """

    def __init__(self, folder: Path) -> None:
        words = ["run", "--policy", "clock", *TINY, "--swap", "swap.img", "--report", "run.html"]
        self.clockhand = subprocess.Popen(
            [EXECUTABLE, *words, "--", PYTHON, "-c", WORKS_FOR_EVER],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.clockhand.stdout is not None
        word, program = self.clockhand.stdout.readline().split()
        assert word == b"begun"
        self.program = int(program)
        time.sleep(0.2)  # Pages have gone to swap and come back.

    def __enter__(self) -> "Working":
        return self

    def __exit__(self, *_: object) -> None:
        if self.clockhand.poll() is None:
            os.kill(self.program, signal.SIGKILL)
            self.clockhand.communicate(timeout=300)

    def end(self) -> Run:
        """Wait until the streams are closed, by both Clockhand and the program."""
        out, errors = self.clockhand.communicate(timeout=300)
        return Run(self.clockhand.returncode, out, errors.decode())


def test_when_the_pager_is_killed_the_program_says_so_and_ends(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    with Working(tmp_path) as working:
        working.clockhand.kill()
        run = working.end()
    assert run.code == -signal.SIGKILL
    assert run.out == b"", "the program went on, with wrong memory"
    assert_one_sentence(run)
    assert "the pager has ended, so the program ends too" in run.err
    assert not (tmp_path / "run.html").exists()
    # The swap file that it left is taken up by the next run.
    assert (tmp_path / "swap.img").stat().st_size > 0
    command = [needed("sort"), str(lines(tmp_path, 20_000))]
    plain = subprocess.run(command, capture_output=True, check=True)
    again = clockhand(
        "run", "--policy", "clock", "--memory", "1MiB", "--swap", "swap.img", "--", *command
    )
    assert (again.code, again.out) == (0, plain.stdout)


@pytest.mark.parametrize(
    ("sender", "number"),
    [
        pytest.param("program", signal.SIGKILL, id="program-killed"),
        pytest.param("clockhand", signal.SIGTERM, id="clockhand-told-to-end"),
    ],
)
def test_a_program_that_a_signal_ends_is_told_and_leaves_no_swap_file(
    tmp_path: Path, sender: str, number: signal.Signals
) -> None:
    with Working(tmp_path) as working:
        os.kill(working.program if sender == "program" else working.clockhand.pid, number)
        run = working.end()
    assert (run.code, run.out) == (128 + number, b"")
    assert "counts the same" in run.err or "minor faults" in run.err
    assert os.listdir(tmp_path) == ["run.html"]
    assert (tmp_path / "run.html").read_text().rstrip().endswith("</html>")


def assert_ended_for_want_of_swap(run: Run) -> None:
    """The program ended with a sentence before it wrote anything wrong, and so did Clockhand."""
    assert run.code == 125
    assert b"wrong memory" not in run.out
    assert run.err.startswith("clockhand: the pager has ended, so the program ends too")
    assert "cannot be written" in run.err
    for word in ("Traceback", "panicked"):
        assert word not in run.err


# With --quiet the program ended, and nothing said why.
def test_a_swap_limit_that_is_too_small_ends_the_program(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    paging = [*TINY, "--swap", "swap.img", "--swap-limit", "1MiB", "--out", "rows.json", "--quiet"]
    run = clockhand("run", "--policy", "craw", *paging, "--", PYTHON, "-c", WORKS_FOR_EVER)
    assert_ended_for_want_of_swap(run)
    assert "swap.img is full" in run.err
    (row,) = rows_in(tmp_path / "rows.json")
    assert "cannot be written" in row["failure"]
    assert os.listdir(tmp_path) == ["rows.json"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system was filled up: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_file_system_ends_the_program(
    clockhand: Clockhand, tmp_path: Path, small_disk: Path
) -> None:
    paging = [*TINY, "--swap", "disk/swap.img", "--out", "rows.json"]
    run = clockhand("run", "--policy", "clock", *paging, "--", PYTHON, "-c", WORKS_FOR_EVER)
    assert_ended_for_want_of_swap(run)
    assert "No space left on device" in run.err
    assert os.listdir(small_disk) == []
