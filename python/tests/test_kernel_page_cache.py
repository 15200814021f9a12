"""The kernel's page cache beside ours: a captured program runs in a memory cgroup and without
read-ahead. With room for all its pages it reads from the drive what the simulation counts; with
less room the ratio is printed."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from clockhand import ClockhandError, convert_traces, pagecache
from clockhand.capture import capture_files
from clockhand.studies.programs.memory_group import MemoryGroup, memory_group

PAGE_BYTES = 4096
SECTORS_PER_PAGE = 8
DATA_PAGES = 4096
RUNS = 6
"""Other programs can only add reads, of libraries that were evicted and of metadata; so the least
of several runs counts."""

PROGRAM = textwrap.dedent("""
    import os, random
    random.seed(17)
    file = os.open("data", os.O_RDWR)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)   # no read-ahead
    grown = os.open("grown", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.posix_fadvise(grown, 0, 0, os.POSIX_FADV_RANDOM)
    for turn in range(9000):
        offset = int(4096 * random.random() ** 2) * 4096
        what = random.random()
        if what < 0.7:
            os.pread(file, random.choice((10, 4096, 9000)), offset + random.choice((0, 100)))
        elif what < 0.9:
            os.pwrite(file, b"part of a page" * 20, offset + 50)
        else:
            os.pwrite(file, b"p" * 4096, offset)
        if turn % 9 == 0:
            os.write(grown, b"appended" * 100)
""")


def run(group: MemoryGroup, folder: Path, program: str) -> tuple[int, int]:
    """Pages that the kernel read for the program, and bytes that it was charged besides files."""
    with subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", f"{program}\nprint(flush=True); input()"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=group.join,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.read(1)
        charged = group.charged().total_bytes
        process.stdin.write(b"\n")
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_inblock // SECTORS_PER_PAGE, charged


def make_cold(folder: Path) -> None:
    """Write the data again and let the page cache forget it."""
    with open(folder / "data", "wb") as file:
        file.write(os.urandom(DATA_PAGES * PAGE_BYTES))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def least_reads(group: MemoryGroup, folder: Path, program: str, expected: int) -> int:
    """The least reads of several runs, as soon as they are as expected."""
    least = sys.maxsize
    for _ in range(RUNS):
        make_cold(folder)
        least = min(least, run(group, folder, program)[0])
        if least == expected:
            break
    return least


@pytest.fixture
def group(tmp_path: Path) -> Iterator[MemoryGroup]:
    """A memory cgroup, on a machine whose drive reads single pages and tells of it."""
    try:
        with memory_group() as group:
            part = "import os; file = os.open('data', os.O_RDWR); os.posix_fadvise(file, 0, 0, 1); "
            part += "os.pread(file, 9, 40000); os.pwrite(file, b'x', 80000)"
            if (found := least_reads(group, tmp_path, part, 2)) != 2:
                pytest.skip(f"{found} pages are read here for a read and a write of one each")
            yield group
    except ClockhandError as error:
        pytest.skip(str(error))


def captured(folder: Path) -> Path:
    """The events of the program on its own files, as text."""
    make_cold(folder)
    program = f"import os; os.chdir({str(folder)!r}){PROGRAM}"
    try:
        capture_files([sys.executable, "-S", "-E", "-c", program], folder / "all.parquet")
    except ClockhandError as error:
        pytest.skip(str(error))
    convert_traces(folder / "all.parquet", folder / "all.events")
    lines = (folder / "all.events").read_text().splitlines()
    own = {
        match[1]
        for line in lines
        if (match := re.fullmatch(r"# object (f\d+): (.*)", line))
        and Path(match[2]).parent == folder.resolve()
    }
    kept = [line for line in lines if line.startswith("@") and line.split()[2] in own]
    (folder / "own.events").write_text("\n".join(kept) + "\n")
    return folder / "own.events"


def simulated(trace: Path, policy: str, frames: int) -> dict[str, int]:
    counts = pagecache(trace, policies=[policy], frames=frames).rows
    return counts.select("file_read_ios", "file_write_ios", "blind_fills").row(0, named=True)


def test_with_room_for_all_the_kernel_reads_what_the_simulation_counts(
    group: MemoryGroup, tmp_path: Path
) -> None:
    trace = captured(tmp_path)
    expected = simulated(trace, "lru", 2 * DATA_PAGES)["file_read_ios"]
    group.set_limit(256 << 20)
    assert 0 < expected < DATA_PAGES, "pages that are overwritten whole are not read"
    assert least_reads(group, tmp_path, PROGRAM, expected) == expected


def test_with_less_room_the_ratio_is_told(group: MemoryGroup, tmp_path: Path) -> None:
    trace = captured(tmp_path)
    limit = 16 << 20
    group.set_limit(limit)
    make_cold(tmp_path)
    reads, charged = run(group, tmp_path, PROGRAM)
    frames = (limit - charged) // PAGE_BYTES
    assert reads > simulated(trace, "lru", 2 * DATA_PAGES)["file_read_ios"]
    for policy in ("linux-lru", "linux-mglru", "lru", "min"):
        ratio = reads / simulated(trace, policy, frames)["file_read_ios"]
        print(f"{frames} frames: the kernel reads {reads} pages, {ratio:.3f} times {policy}'s")
