"""The kernel's own swap: a cgroup with a limit, a swap file, and nothing of either afterwards.

Without the rights for them these tests are skipped with the reason.
"""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from clockhand import ClockhandError
from clockhand.studies.programs import kernel_swap as kernel_swap_module
from clockhand.studies.programs import outside_memory
from clockhand.studies.programs.kernel_swap import (
    kernel_settings,
    kernel_swap,
    remove_leftover_swap,
    swapping_alone,
)
from clockhand.studies.programs.memory_group import (
    Charged,
    MemoryGroup,
    Swapped,
    memory_group,
    parents_in,
)
from clockhand.studies.programs.options import ProgramSettings
from clockhand.studies.programs.outside_memory import OutsideMemory
from clockhand.studies.programs.plan import Planned
from clockhand.studies.programs.watched_program import Ended, run_program

MIB = 1 << 20
# Holds 48 MiB, all of it written, and reads it three times.
HUNGRY = """
block = bytearray(48 << 20)
block[::4096] = bytes(range(256)) * 48
for _ in range(3):
    assert sum(block[::4096]) == 48 * sum(range(256))
"""


@pytest.fixture
def group() -> Iterator[MemoryGroup]:
    try:
        with memory_group() as made:
            yield made
    except ClockhandError as error:
        pytest.skip(f"the kernel's swap was not tested: {error}")


@pytest.fixture
def swap(tmp_path: Path) -> Iterator[Path]:
    try:
        with kernel_swap(tmp_path / "swap.img", 64 * MIB) as made:
            yield made
    except ClockhandError as error:
        pytest.skip(f"the kernel's swap was not tested: {error}")


def swap_files() -> list[str]:
    return [line.split()[0] for line in Path("/proc/swaps").read_text().splitlines()[1:]]


def test_a_group_with_a_limit_swaps_and_still_computes_the_same(
    group: MemoryGroup, swap: Path
) -> None:
    group.set_limit(24 * MIB)
    before = group.swapped()
    ended = run_program([sys.executable, "-c", HUNGRY], before=group.join)
    swapped = group.swapped().since(before)
    assert ended.exit_code == 0 and group.kills() == 0
    # Half of the block has no room, and each of three passes brings all of it in.
    assert swapped.pages_written > 24 * MIB // 4096
    assert swapped.pages_read > 3 * 24 * MIB // 4096
    assert swapped.major_faults > 0
    assert str(swap) in swap_files()


def test_a_group_is_charged_what_its_program_holds(group: MemoryGroup) -> None:
    peaks: list[int] = []

    def look(_: float) -> float:
        peaks.append(group.charged().anonymous_bytes)
        return 0.01

    holding = HUNGRY + "import time; time.sleep(0.5)"
    run_program([sys.executable, "-c", holding], before=group.join, look=look)
    assert 48 * MIB <= max(peaks) < 96 * MIB


# The group's own count of so little was 0 in every second group.
def test_what_a_small_program_holds_is_counted_at_once() -> None:
    most: list[int] = []
    for _ in range(4):
        charged = [0]
        try:
            with memory_group() as group:

                def look(
                    _: float, group: MemoryGroup = group, charged: list[int] = charged
                ) -> float:
                    charged.append(group.charged().anonymous_bytes)
                    return 0.02

                run_program(["sleep", "0.3"], before=group.join, look=look)
        except ClockhandError as error:
            pytest.skip(f"no group was charged: {error}")
        most.append(max(charged))
    assert 32 << 10 <= min(most) <= max(most) < 1 << 20


class Told(MemoryGroup):
    """A group that is charged what a test says."""

    def __init__(self, *charged: Charged, look_seconds: float = 0) -> None:
        super().__init__(Path("/nowhere"), 2)
        self.left = list(charged)
        self.look_seconds = look_seconds

    def charged(self) -> Charged:
        time.sleep(self.look_seconds)
        return self.left.pop(0)


def test_what_is_outside_of_paged_memory_is_told_without_our_library() -> None:
    processes = [
        {"running": True, "forked": False},
        {"running": True, "forked": True},
        {"running": False, "forked": False},
    ]
    outside = OutsideMemory(
        Told(Charged(90, 50), Charged(130, 8), Charged(60, 60)), Charged(30, 20)
    )
    for second in range(3):
        outside.look(second, lambda: processes)
    assert outside.most == Charged(100, 0)
    none = OutsideMemory(Told(Charged(90, 50)), Charged(1000, 1000))
    none.look(0, lambda: processes)
    assert none.most == Charged(0, 0)


def test_what_ends_us_is_not_left_to_the_program_that_only_sleeps(
    monkeypatch: pytest.MonkeyPatch, group: MemoryGroup
) -> None:
    def interrupted(*_: object, before: Callable[[], None], **__: object) -> Ended:
        return Ended(exit_code=130, seconds=0.1, interrupted=True)

    monkeypatch.setattr(outside_memory, "run_program", interrupted)
    settings = ProgramSettings.parse({"frames": 64, "swap": "swap.img"})
    with pytest.raises(KeyboardInterrupt):
        outside_memory.library_memory("clock", Planned.of(["clock"], settings), settings)


def test_looking_takes_a_hundredth_of_the_time_at_most() -> None:
    group = Told(Charged(1, 0), Charged(2, 0), look_seconds=0.01)
    outside = OutsideMemory(group, Charged(0, 0))
    for tick in range(100):
        outside.look(tick / 100, list)
    assert outside.most == Charged(1, 0) and len(group.left) == 1
    outside.look(3600, list)
    assert outside.most == Charged(2, 0)


def test_a_group_is_not_charged_for_mapped_files(group: MemoryGroup, tmp_path: Path) -> None:
    """They belong to the group that reads them first, so that only a first run would be charged."""
    (tmp_path / "cold").write_bytes(os.urandom(32 * MIB))
    with open(tmp_path / "cold", "rb") as cold:
        os.fsync(cold.fileno())
        os.posix_fadvise(cold.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    mapping = f"""
import mmap, time
file = open({str(tmp_path / "cold")!r}, "rb")
mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
sum(mapped[::4096])
time.sleep(0.3)
"""
    charged: list[int] = []
    cached: list[int] = []

    def look(_: float) -> float:
        charged.append(group.charged().total_bytes)
        cached.append(group.page_cache_bytes())
        return 0.01

    run_program([sys.executable, "-c", mapping], before=group.join, look=look)
    assert max(charged) < 24 * MIB <= max(cached)


def test_a_program_that_does_not_fit_is_killed_and_counted(group: MemoryGroup) -> None:
    group.set_limit(16 * MIB)
    # It would swap to another test's area.
    with swapping_alone():
        ended = run_program([sys.executable, "-c", HUNGRY], before=group.join)
    assert (ended.exit_code, group.kills()) == (128 + 9, 1)


def test_nothing_stays_after_an_interruption(tmp_path: Path) -> None:
    folders: list[Path] = []
    try:
        with memory_group() as group, kernel_swap(tmp_path / "swap.img", MIB) as path:
            folders.append(group.folder)
            run_program(["sh", "-c", "sleep 60 >/dev/null 2>&1 &"], before=group.join)
            assert str(path) in swap_files() and len(list(tmp_path.iterdir())) == 1
            raise KeyboardInterrupt
    except ClockhandError as error:
        pytest.skip(f"the kernel's swap was not tested: {error}")
    except KeyboardInterrupt:
        pass
    assert not folders[0].exists()
    assert str(path) not in swap_files() and list(tmp_path.iterdir()) == []


# It hung every run with a swap file in the same folder.
def test_a_pipe_that_is_named_like_a_leftover_is_passed_over(tmp_path: Path) -> None:
    pipe = tmp_path / ".clockhand-kernel-swap-aaaa"
    os.mkfifo(pipe)
    remove_leftover_swap(tmp_path / "swap.img")
    assert pipe.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root swaps")
def test_a_lock_that_every_user_can_take_keeps_no_comparison_waiting() -> None:
    told: list[str] = []
    with open("/proc/swaps", "rb") as areas:
        fcntl.flock(areas, fcntl.LOCK_EX)
        with swapping_alone(told.append):
            pass
    assert not told and kernel_swap_module.LOCKED.stat().st_mode & 0o077 == 0


LEAVING = """
import sys
from pathlib import Path
from clockhand.studies.programs.kernel_swap import kernel_swap
from clockhand.studies.programs.memory_group import memory_group
from clockhand.studies.programs.watched_program import run_program
with memory_group() as group, kernel_swap(Path("swap.img"), 1 << 20) as path:
    print(group.folder, path, flush=True)
    run_program(["sleep", "60"], before=group.join)
"""


def test_what_a_killed_run_leaves_is_removed_by_the_next_and_what_is_in_use_stays(
    group: MemoryGroup, tmp_path: Path
) -> None:
    killed = subprocess.Popen(
        [sys.executable, "-c", LEAVING], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout is not None
    folder, _, name = killed.stdout.readline().strip().rpartition(" ")
    left, path = Path(folder), tmp_path / name
    processes = left / "cgroup.procs"
    while not processes.read_text():
        assert killed.poll() is None
    remove_leftover_swap(tmp_path / "swap.img")
    assert left.exists() and path.exists() and str(path) in swap_files(), "they are in use"
    killed.kill()
    killed.wait()
    assert processes.read_text() and str(path) in swap_files()
    remove_leftover_swap(tmp_path / "swap.img")
    assert not left.exists() and str(path) not in swap_files()
    assert list(tmp_path.iterdir()) == []
    assert group.folder.exists(), "it is in use"


def test_one_comparison_of_a_machine_swaps_at_a_time(tmp_path: Path) -> None:
    """The kernel would swap the programs of both to both files."""
    folder = tmp_path / "other"
    folder.mkdir()
    waits = Event()
    told: list[str] = []

    def tell(sentence: str) -> None:
        told.append(sentence)
        waits.set()

    def swap_too() -> tuple[str, list[str]]:
        with kernel_swap(folder / "swap.img", MIB, tell) as made:
            return str(made), swap_files()

    with ThreadPoolExecutor() as threads:
        try:
            with kernel_swap(tmp_path / "swap.img", MIB) as first:
                later = threads.submit(swap_too)
                assert waits.wait(300)
                assert str(first) in swap_files() and list(folder.iterdir()) == []
        except ClockhandError as error:
            pytest.skip(f"the kernel's swap was not tested: {error}")
        second, seen = later.result(300)
    assert second in seen and str(first) not in seen
    assert told == ["waiting for another comparison with the kernel's swap on this machine"]


def test_a_group_of_version_2_is_read_and_limited_by_its_own_files(tmp_path: Path) -> None:
    made = MemoryGroup(tmp_path, 2)
    (tmp_path / "memory.stat").write_text(
        "anon 4096\nfile 99\nkernel 8192\nactive_file 12288\ninactive_file 4096\n"
        "pswpin 3\npswpout 5\n"
        "swpin_zero 1\nswpout_zero 2\npgmajfault 7\n"
    )
    (tmp_path / "memory.events").write_text("low 0\noom 4\noom_kill 1\n")
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n{2**22 + 1}\n")
    charged = made.charged()
    assert charged.kernel_bytes == 8192
    assert MIB < charged.anonymous_bytes < 4096 * MIB, (
        "this process's, and none of one that is gone"
    )
    assert made.page_cache_bytes() == 16384
    assert made.swapped() == Swapped(3, 5, 1, 2, 7, "the cgroup's own count")
    assert made.kills() == 1
    made.set_limit(1 << 20)
    assert (tmp_path / "memory.max").read_text() == "1048576"


def test_groups_are_made_at_the_top_if_possible_else_further_down(tmp_path: Path) -> None:
    own = tmp_path / "user.slice" / "session 1"
    own.mkdir(parents=True)
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    mounts = (
        f"29 23 0:26 / {tmp_path} rw - cgroup2 cgroup2 rw\n"
        f"30 23 0:27 / {tmp_path} rw - cgroup cgroup rw,cpu\n"
        f"31 23 0:28 /docker/1 {tmp_path} rw - cgroup cgroup rw,memory\n"
        "32 23 8:1 / /home rw - ext4 /dev/sda1 rw\n"
    )
    memberships = "4:memory:/docker/1\n0::/user.slice/session 1\n"
    assert parents_in(mounts, memberships) == [
        (tmp_path, 2),
        (tmp_path / "user.slice", 2),
        (own, 2),
        (tmp_path, 1),
    ]
    (tmp_path / "cgroup.controllers").write_text("cpu\n")
    assert parents_in(mounts, "4:memory:/docker/1\n") == [(tmp_path, 1)]


def test_a_swap_file_where_none_can_be_is_refused_and_leaves_nothing() -> None:
    with (
        pytest.raises(ClockhandError, match="is not an ordinary file"),
        kernel_swap(Path("/dev/null"), 1),
    ):
        pass
    with (
        pytest.raises(ClockhandError, match="kernel's swap file of"),
        kernel_swap(Path("/proc/swap.img"), 1),
    ):
        pass


def test_the_settings_are_told_as_found() -> None:
    if not Path("/proc/sys/vm/page-cluster").exists():
        pytest.skip("this kernel has no vm.page-cluster")
    assert int(kernel_settings()["vm.page-cluster"]) >= 0
