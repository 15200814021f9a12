"""A file system whose storage is memory: ext4 on a loop device over a file in memory."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY_FILES = Path("/dev/shm")
DISK_BYTES = 192 << 20
TOOLS = ("losetup", "mkfs.ext4", "mount", "umount")
SECONDS = 60


def obstacle() -> str | None:
    """Return why a file system in memory cannot be made here, or nothing."""
    if os.geteuid() != 0:
        return "making a loop device needs root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{missing[0]} is not installed"
    if not MEMORY_FILES.is_dir() or not os.path.exists("/dev/loop-control"):
        return "the system has no loop devices or no files in memory"
    return None


class RamDiskError(Exception):
    """The file system could not be made; the message says what failed."""


@contextmanager
def mounted() -> Iterator[Path]:
    """Give the folder where the file system is mounted; it is gone when the block ends.

    Raises:
        RamDiskError: a step of making it failed.
    """
    undo: list[list[str]] = []
    folder = Path(tempfile.mkdtemp(prefix="clockhand-measure-"))
    image: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix="clockhand-measure-", dir=MEMORY_FILES)
        image = Path(name)
        os.truncate(descriptor, DISK_BYTES)
        os.close(descriptor)
        device = _run(["losetup", "--find", "--show", name]).strip()
        undo.append(["losetup", "--detach", device])
        _run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", device])
        _run(["mount", "-t", "ext4", device, str(folder)])
        undo.append(["umount", str(folder)])
        yield folder
    except OSError as error:
        raise RamDiskError(str(error)) from error
    finally:
        for command in reversed(undo):
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        if image is not None:
            image.unlink(missing_ok=True)
        if not os.path.ismount(folder):
            folder.rmdir()


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise RamDiskError(f"{command[0]}: {reason}")
    return done.stdout
