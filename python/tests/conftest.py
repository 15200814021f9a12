"""Small traces, and the command as users start it."""

import compileall
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forked import run_forked
from many_commands import run_many

EXECUTABLE = Path(sys.executable).with_name("clockhand")

# A shell that starts the tests in the background has them and their commands ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The string of the textbooks (Silberschatz, Galvin, Gagne): with 3 frames FIFO misses 15 times,
# LRU 12 times and the optimum 9 times. Odd pages are written.
TEXTBOOK_PAGES = (7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many run tests: two more than processors, since tests wait for browsers."""
    return len(os.sched_getaffinity(0)) + 2


# The files whose tests take longest, of half a minute to some minutes each.
LONGEST = (
    "run_programs", "run", "sweep_studies", "sweep", "run_services", "run_runtimes", "run_calls",
    "outputs", "library_calls", "refusals",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that none of them is left when all others have ended."""
    order = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once: each command would, where none may write what it compiled."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(__file__).parents[1] / "clockhand", quiet=1)


PAGING = ("run", "run_calls", "run_programs", "run_runtimes", "run_services")
NICENESS = os.getpriority(os.PRIO_PROCESS, 0)
BUSY = "test_hundreds_of_short_programs_on_busy_processors_all_end"
"""A test that keeps the processors busy itself, all others' too if they had to wait for it."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let programs that are paged go first: they wait for a processor with every fault.

    Beside four busy processes one took 6.4 s so with pytest's start, and 12.1 s else.
    Who may not go back to the front has paged most by then (LONGEST).
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    goes_first = item.path.stem.removeprefix("test_") in PAGING and item.name != BUSY
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS if goes_first else NICENESS + 5)


RUNNING = {"capture", "explore", "run", "serve"}
"""Commands that are started each time, since what they run may have to do with how they began."""

LONGEST_SECONDS = 300


@dataclass(frozen=True)
class Run:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: bytes
    err: str


Clockhand = Callable[..., Run]


def os_course(pages: Iterable[int]) -> str:
    """Text of a trace in the format os-course; odd pages are written."""
    return "".join(f"{page * 4096:08x} {'RW'[page % 2]}\n" for page in pages)


def scattered_pages(count: int, distinct: int = 100_000) -> list[int]:
    """Page numbers without locality, the same each time."""
    return [position * 2_654_435_761 % 2**32 % distinct for position in range(count)]


def cut(trace: Path, folder: Path, requests: int = 100_000) -> Path:
    """Write the first requests of a trace into a folder, under its name."""
    made = folder / trace.name
    run = run_clockhand("trace", "convert", "--limit", str(requests), trace, made, cwd=folder)
    assert run.code == 0, run.err
    return made


def needed(program: str) -> str:
    """Return a program's path, or skip the test with a message."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed, so that it was not run under the pager")
    return found


def run_clockhand(
    *arguments: str | bytes | os.PathLike[str],
    cwd: Path,
    executable: Path = EXECUTABLE,
    **options: Any,
) -> Run:
    """Run the executable to its end; options are those of `subprocess.run`.

    Without options it is a fork of a process that has loaded its libraries already, but for
    commands that run programs. A paged program waits for a processor with every fault: what takes
    10 s took 100 on busy ones.
    """
    words = [os.fsdecode(word) for word in arguments]
    if not options and RUNNING.isdisjoint(words[:2]) and executable == EXECUTABLE:
        code, out, err = run_forked(executable, words, cwd, LONGEST_SECONDS)
        return Run(code, out, err.decode())
    options = {"input": b"", "timeout": LONGEST_SECONDS, "capture_output": True, **options}
    done = subprocess.run([executable, *arguments], cwd=cwd, **options)
    return Run(done.returncode, done.stdout or b"", (done.stderr or b"").decode())


def run_all(runs: Iterable[Callable[[], Run]]) -> list[Run]:
    """Run several commands, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda run: run(), runs))


def run_each(
    commands: Iterable[Sequence[str]], cwd: Path, folders: Sequence[Path] = ()
) -> list[Run]:
    """Run commands that write little, in a folder or each in its own: the libraries are loaded
    once for all of them."""
    done = run_many(list(commands), cwd, folders=folders)
    return [Run(one.code, one.out.encode(), one.err) for one in done]


def assert_one_sentence(run: Run) -> None:
    """A refusal is one line on standard error, and nothing else."""
    assert run.out == b""
    assert run.err.endswith("\n") and run.err.count("\n") == 1, run.err
    assert run.err.startswith("clockhand: "), run.err
    for word in ("Traceback", "panicked", "Errno"):
        assert word not in run.err, run.err


@pytest.fixture
def clockhand(tmp_path: Path) -> Clockhand:
    """The command, started in `tmp_path`."""

    def run(*arguments: str | bytes | os.PathLike[str], **options: Any) -> Run:
        return run_clockhand(*arguments, cwd=tmp_path, **options)

    return run


@pytest.fixture
def textbook(tmp_path: Path) -> Path:
    """A trace of 20 references to 6 pages, 9 of them writes."""
    path = tmp_path / "textbook.trace"
    path.write_text(os_course(TEXTBOOK_PAGES))
    return path
