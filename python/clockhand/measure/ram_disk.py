"""A file system whose storage is memory: ext4 on zram, or on a loop device over a file in memory.

A loop device has a thread of its own, which takes longer than the memory. zram has none; it keeps
what cannot be compressed, as all that is measured here, as it is.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY_FILES = Path("/dev/shm")
DISK_BYTES = 192 << 20
ZRAM = Path("/sys/class/zram-control")
ON_ZRAM, ON_LOOP = "zram", "a loop device"
TOOLS = ("mkfs.ext4", "mount", "umount")
SECONDS = 60


def obstacle() -> str | None:
    """Return why a file system in memory cannot be made here, or nothing."""
    if os.geteuid() != 0:
        return "making a disk in memory needs root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{missing[0]} is not installed"
    if ZRAM.is_dir():
        return None
    if shutil.which("losetup") is None:
        return "losetup is not installed"
    if not MEMORY_FILES.is_dir() or not os.path.exists("/dev/loop-control"):
        return "the system has neither zram, nor loop devices and files in memory"
    return None


class RamDiskError(Exception):
    """The file system could not be made; the message says what failed."""


@contextmanager
def mounted() -> Iterator[tuple[Path, str]]:
    """Give the folder where the file system is mounted, and what it is on; both are gone when the
    block ends.

    Raises:
        RamDiskError: a step of making it failed.
    """
    folder = Path(tempfile.mkdtemp(prefix="clockhand-measure-"))
    made = _zram() if ZRAM.is_dir() else _loop()
    try:
        with made as (device, kind):
            _run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", device])
            _run(["mount", "-t", "ext4", device, str(folder)])
            try:
                yield folder, kind
            finally:
                subprocess.run(
                    ["umount", str(folder)], capture_output=True, timeout=SECONDS, check=False
                )
    except OSError as error:
        raise RamDiskError(str(error)) from error
    finally:
        if not os.path.ismount(folder):
            folder.rmdir()


@contextmanager
def _zram() -> Iterator[tuple[str, str]]:
    number = (ZRAM / "hot_add").read_text().strip()
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(str(DISK_BYTES))
        yield f"/dev/zram{number}", ON_ZRAM
    finally:
        (ZRAM / "hot_remove").write_text(number)


@contextmanager
def _loop() -> Iterator[tuple[str, str]]:
    descriptor, name = tempfile.mkstemp(prefix="clockhand-measure-", dir=MEMORY_FILES)
    try:
        os.truncate(descriptor, DISK_BYTES)
        os.close(descriptor)
        device = _run(["losetup", "--find", "--show", name]).strip()
        try:
            yield device, ON_LOOP
        finally:
            subprocess.run(
                ["losetup", "--detach", device], capture_output=True, timeout=SECONDS, check=False
            )
    finally:
        Path(name).unlink(missing_ok=True)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise RamDiskError(f"{command[0]}: {reason}")
    return done.stdout
