"""`clockhand trace capture --files --memory`: references to memory and calls on files of known
programs, in order of time."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest

from clockhand import Trace, pagecache
from clockhand.capture import capture_timeline
from conftest import EXECUTABLE, Clockhand, Run, assert_one_sentence

PROGRAMS = Path(__file__).parent / "programs"
PAGE_BYTES = 4096
LINE_BYTES = 32
STACK = 1 << 32
"""Valgrind maps nothing of a small program above it but the stack."""

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("valgrind", "pkg-config", "cc")),
    reason="valgrind, pkg-config or a C compiler is not installed",
)


@pytest.fixture(autouse=True, scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where ptrace or seccomp is refused."""
    folder = tmp_path_factory.mktemp("tried")
    command = [EXECUTABLE, "trace", "capture", "--files", "--out", "tried.parquet", "--", "true"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if "cannot be followed" in run.stderr:
        pytest.skip("ptrace or seccomp is refused on this machine")


def capture(clockhand: Clockhand, *words: str | Path, options: Sequence[str] = ()) -> Run:
    """Capture to out.parquet, which works."""
    both = ["trace", "capture", "--files", "--memory", "--out", "out.parquet"]
    run = clockhand(*both, *options, "--", *words)
    assert run.code == 0, run.err
    return run


def events(clockhand: Clockhand, folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Word, object and numbers of each event; of files the name, for all memory ``memory``."""
    written = clockhand("trace", "convert", "out.parquet", "out.events")
    assert written.code == 0, written.err
    names: dict[str, str] = {}
    for line in (folder / "out.events").read_text().splitlines():
        if named := re.fullmatch(r"# object ([af]\d+): (.*)", line):
            names[named[1]] = Path(named[2]).name if named[1].startswith("f") else "memory"
        elif not line.startswith("#"):
            fields = line.split()
            word, label, *numbers = fields[1:] if line.startswith("@") else fields
            yield word, names.get(label, label), numbers


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The known program, without a library, and its files."""
    (tmp_path / "input").write_bytes(bytes(2 * PAGE_BYTES))
    (tmp_path / "shared").write_bytes(bytes(2 * PAGE_BYTES))
    flags = ["-O2", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-fno-pie"]
    plain = ["-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-tree-vectorize"]
    source, built = PROGRAMS / "timeline.c", tmp_path / "timeline"
    subprocess.run(["cc", *flags, *plain, source, "-o", built], check=True)
    return built


def symbols(program: Path) -> dict[str, int]:
    listing = subprocess.run(["nm", program], capture_output=True, text=True, check=True)
    found = re.findall(r"^(\w+) \w (own|buffer)$", listing.stdout, re.MULTILINE)
    return {name: int(address, 16) for address, name in found}


def test_memory_and_calls_of_a_known_program_stand_in_its_order(
    clockhand: Clockhand, program: Path, tmp_path: Path
) -> None:
    # The caches hold all: lines are written back only where they are unmapped.
    run = capture(clockhand, program, options=["--data-cache", "64KiB"])
    assert "exit code 3" in run.err
    places = symbols(program)
    said = []
    for word, name, numbers in events(clockhand, tmp_path):
        address = int(numbers[0]) if numbers else 0
        if name == program.name or address >= STACK or (word, name) == ("release", "memory"):
            continue
        region = "mapped"
        for symbol, at in places.items():
            if at <= address < at + 2 * PAGE_BYTES:
                region = symbol
        if name == "memory":
            said.append(f"{word} {region}")
        else:
            said.append(" ".join([word, name, *numbers[:2]]))
    counted = [(line, len(list(lines))) for line, lines in groupby(said)]
    page_lines = PAGE_BYTES // LINE_BYTES
    assert counted == [
        ("mw own", page_lines),
        ("length input 8192", 1),
        ("cr input 0 5000", 1),
        ("mw buffer", -(-5000 // LINE_BYTES)),
        ("length shared 8192", 1),
        ("mr shared 0 32", 1),
        ("mw shared 4192 32", 1),
        ("mr input 4096 32", 1),
        # The first store copies the page: it is the process's own then.
        ("mr input 4288 32", 1),
        ("mw mapped", 1),
        ("mr mapped", 1),
        # Unmapping writes the dirty line back.
        ("mw mapped", 1),
        ("release input 4096 4096", 1),
        # Two stores, the line that madvise gives back, and a store again.
        ("mw mapped", 4),
        ("length made 0", 1),
        ("cw made 0 4096", 1),
        ("sync made", 1),
        ("mr buffer", 1),
        ("delete made", 1),
        ("release shared 0 8192", 1),
    ]


def test_a_page_cache_of_both_replays_the_trace(
    clockhand: Clockhand, program: Path, tmp_path: Path
) -> None:
    capture(clockhand, program)
    counts = pagecache(tmp_path / "out.parquet", policies=["lru"], frames=1000).rows
    row = counts.select(
        "anon_read_ios",
        "file_read_ios",
        "zero_fills",
        "blind_fills",
        "dropped_dirty",
        "sync_writes",
    ).row(0, named=True)
    pages_of_program = sum(
        name == program.name and word == "release" for word, name, _ in events(clockhand, tmp_path)
    )
    assert 1 <= pages_of_program <= 4
    # Of the files: both pages of input and shared, and what of the program was run.
    assert 4 <= row["file_read_ios"] <= 4 + pages_of_program
    assert row["blind_fills"] == 1, "a page that is written whole"
    assert row["sync_writes"] == 1, "the new file; no other file is synced"
    assert row["anon_read_ios"] == 0


def test_children_have_memory_of_their_own_and_the_files_in_common(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "text").write_bytes(b"a line\n" * 3000)
    run = capture(clockhand, "sh", "-c", "cat text > copy; wc -c < copy > count; rm copy")
    assert "of 3 processes" in run.err or "of 4 processes" in run.err
    found = list(events(clockhand, tmp_path))
    files = [(word, name, numbers[:2]) for word, name, numbers in found if name == "copy"]
    assert files[0] == ("length", "copy", ["0"])
    written = sum(int(numbers[1]) for word, _, numbers in files if word == "cw")
    assert written == 21_000
    assert files[-1][0] == "delete"
    libraries = {name for word, name, _ in found if word == "mr" and ".so" in name}
    assert any(name.startswith("libc") for name in libraries)
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    commands = [value for key, value in labels.items() if re.fullmatch(r"process \d+", key)]
    assert any(value.endswith("cat text: exit code 0") for value in commands), commands
    ended = [name for word, name, numbers in found if word == "release" and not numbers]
    assert ended.count("memory") >= 3


def test_a_killed_program_leaves_a_trace(clockhand: Clockhand, tmp_path: Path) -> None:
    run = capture(clockhand, "sh", "-c", "echo x > made; kill -KILL $$")
    assert "the program ended with SIGKILL" in run.err
    assert ("cw", "made", ["0", "2"]) in [
        (word, name, numbers[:2]) for word, name, numbers in events(clockhand, tmp_path)
    ]


def test_qemu_cannot_tell_of_calls(clockhand: Clockhand) -> None:
    words = ["--files", "--memory", "--front-end", "qemu", "--", "true"]
    run = clockhand("trace", "capture", *words)
    assert_one_sentence(run)
    assert (run.code, "records no calls on files" in run.err) == (2, True), run.err


def test_a_library_call_tells_what_was_captured(tmp_path: Path) -> None:
    command = ["sh", "-c", f"echo x > '{tmp_path}/a'"]
    captured = capture_timeline(command, tmp_path / "out.parquet", labels=[("subject", "test")])
    assert (captured.exit_code, captured.interrupted) == (0, False)
    assert [process.command[0] for process in captured.processes] == ["sh"]
    assert captured.calls >= 1
    assert captured.references > 1000
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert (labels["subject"], labels["view"]) == ("test", "fault")
