"""ext4 on a disk behind a write buffer whose server is killed: what was fsynced is there."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import clockhand
from conftest import EXECUTABLE

TOOLS = ("nbdfuse", "mkfs.ext4", "e2fsck", "debugfs", "mount", "umount")
SIZE = 64 << 20


def obstacle() -> str | None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
        return "only root can mount a file system through FUSE and loop"
    return None


OBSTACLE = obstacle()


def ran(*words: str | Path, allowed: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(words, capture_output=True, timeout=120)
    assert done.returncode in allowed, (words, done.stdout, done.stderr)
    return done.stdout


@contextmanager
def mounted(folder: Path, socket: Path) -> Iterator[Path]:
    """The disk as a file, made an ext4 and mounted through a loop device."""
    for name in ("nbd", "fs"):
        (folder / name).mkdir()
    file = folder / "nbd" / "disk"
    fuse = subprocess.Popen(
        ["nbdfuse", file, f"nbd+unix:///?socket={socket}"], stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 30
        while not file.exists():
            if fuse.poll() is not None or time.monotonic() > deadline:
                assert fuse.stderr is not None
                pytest.skip(f"nbdfuse cannot mount here: {fuse.stderr.read().decode()[:200]}")
            time.sleep(0.05)
        ran("mkfs.ext4", "-q", "-F", file)
        done = subprocess.run(["mount", "-o", "loop", file, folder / "fs"], capture_output=True)
        if done.returncode:
            pytest.skip(f"no loop device can be mounted here: {done.stderr.decode()[:200]}")
        yield folder / "fs"
    finally:
        subprocess.run(["umount", "-l", folder / "fs"], capture_output=True)
        subprocess.run(["umount", "-l", folder / "nbd"], capture_output=True)
        fuse.kill()
        fuse.wait()


@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
@pytest.mark.parametrize("buffer", ["clock-dnv:total=1024", "cbm:total=1024", "fab:total=256"])
def test_an_ext4_outlives_a_kill_with_what_was_fsynced(tmp_path: Path, buffer: str) -> None:
    nvm = [] if buffer.startswith("fab") else ["--nvm", "nvm.img"]
    words = ["serve", "--buffer", buffer, *nvm, "--disk", "disk.img", "--size", str(SIZE)]
    process = subprocess.Popen([EXECUTABLE, *words, "--socket", "disk.sock"], cwd=tmp_path)
    socket = tmp_path / "disk.sock"
    while not socket.exists():
        assert process.poll() is None
        time.sleep(0.05)
    contents = {f"kept{number}": os.urandom(30_000 + 7 * number) for number in range(20)}
    try:
        with mounted(tmp_path, socket) as fs:
            shutil.copytree(Path(clockhand.__file__).parent / "study", fs / "tree")
            for name, content in contents.items():
                with (fs / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            os.sync()
            (fs / "lost").write_bytes(os.urandom(100_000))
            process.send_signal(signal.SIGKILL)
            process.wait()
    finally:
        process.kill()
        process.wait()
    disk = tmp_path / "disk.img"
    given = {"nvm": tmp_path / "nvm.img"} if nvm else {}
    clockhand.serve(disk, buffer=buffer, **given).finish()  # type: ignore[arg-type]
    ran("e2fsck", "-fy", disk, allowed=(0, 1))
    ran("e2fsck", "-fn", disk)
    for name, content in contents.items():
        assert ran("debugfs", "-R", f"cat /{name}", disk) == content, name
    assert b"facts.py" in ran("debugfs", "-R", "ls -p /tree", disk)
