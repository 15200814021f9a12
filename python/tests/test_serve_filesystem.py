"""What needs file systems of the machine: an ext4 that outlives a kill, full ones, devices."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import clockhand
from clockhand import ClockhandError
from conftest import EXECUTABLE
from nbd_client import FLUSH, READ, NbdClient

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


@contextmanager
def small_file_system(folder: Path, size: str) -> Iterator[None]:
    """A file system in memory of this size in bytes."""
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    done = subprocess.run(words, capture_output=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.decode()[:200]}")
    try:
        yield
    finally:
        ran("umount", "-l", folder)


ENOSPC = 28


@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
def test_a_full_disk_loses_nothing_and_goes_on_by_itself_with_space(tmp_path: Path) -> None:
    small = tmp_path / "small"
    with small_file_system(small, "1m"):
        server = clockhand.serve(small / "disk.img", buffer="fab:total=64", size="8MiB")
        assert server.socket is not None
        client, other = NbdClient(server.socket).go(), NbdClient(server.socket).go()
        pages = {page: bytes([page % 251 + 1]) * 4096 for page in range(600)}
        for page, content in pages.items():
            assert client.write(4096 * page, content) == 0
        assert client.request(FLUSH)[0] == ENOSPC
        assert client.write(0, pages[0], fua=True) == 0, "there is room for this one"
        for page, content in pages.items():
            assert other.request(READ, 4096 * page, 4096) == (0, content)
        figures = server.figures()
        assert figures is not None
        assert figures[1]["degraded"]
        assert figures[1]["held_pages"] > 0
        ran("mount", "-o", "remount,size=16m", small)
        assert client.request(FLUSH) == (0, b"")
        figures = server.figures()
        assert figures is not None
        assert (figures[1]["degraded"], figures[1]["held_pages"]) == (False, 0)
        assert "is held" in " ".join(server.take_notes())
        server.finish()
        content = (small / "disk.img").read_bytes()
        assert content[: 600 * 4096] == b"".join(pages.values())


@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
def test_an_nvm_file_without_room_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    small = tmp_path / "small"
    with small_file_system(small, "1m"):
        disk = tmp_path / "disk.img"
        with pytest.raises(ClockhandError, match="cannot be made: No space left"):
            clockhand.serve(disk, buffer="clock-dnv:total=4MiB", nvm=small / "nvm", size="8MiB")
        assert os.listdir(small) == []
        clockhand.serve(disk, buffer="fab:total=16").finish()


@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
def test_a_block_device_is_served_unless_it_is_used(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(16 << 20))
    done = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"there is no loop device: {done.stderr[:200]}")
    device = done.stdout.strip()
    try:
        with clockhand.serve(device, buffer="fab:total=16") as server:
            assert server.socket is not None
            client = NbdClient(server.socket).go()
            assert client.write(8192, b"d" * 4096, fua=True) == 0
            with pytest.raises(ClockhandError, match="uses"):
                clockhand.serve(device, buffer="fab:total=16")
        assert image.read_bytes()[8192:12288] == b"d" * 4096
        ran("mkfs.ext4", "-q", "-F", device)
        (tmp_path / "fs").mkdir()
        ran("mount", device, tmp_path / "fs")
        try:
            with pytest.raises(ClockhandError, match="another program uses this device"):
                clockhand.serve(device, buffer="fab:total=16")
        finally:
            ran("umount", tmp_path / "fs")
    finally:
        ran("losetup", "--detach", device)


def greeted_as(user: int, path: Path) -> bytes | None:
    """What another user reads first from a socket; none if it may not connect."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(user)
            os.setuid(user)
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(10)
                client.connect(str(path))
                os.write(writing, b"+" + client.recv(8))
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as told:
        text = told.read()
    return text[1:] if text else None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_other_users_are_closed_before_the_first_byte_unless_allowed(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    # Others cannot even look into the tests' own folder.
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o711)
        path = Path(name) / "disk.sock"
        disk = tmp_path / "disk.img"
        with clockhand.serve(disk, buffer="fab:total=16", size="1MiB", socket=path):
            assert path.stat().st_mode & 0o777 == 0o600
            assert greeted_as(nobody, path) is None
            path.chmod(0o666)
            assert greeted_as(nobody, path) == b""
        for allowed, greeting in (("daemon", b""), ("nobody", b"NBDMAGIC")):
            given = {"socket": path, "allow_users": [allowed]}
            with clockhand.serve(disk, buffer="fab:total=16", **given):  # type: ignore[arg-type]
                assert path.stat().st_mode & 0o777 == 0o666
                assert greeted_as(nobody, path) == greeting
