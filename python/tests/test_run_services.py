"""Servers, interpreters, compilers and encoders in a part of their memory.

They answer and write the same as without Clockhand.

Programs that are not installed are skipped, with the reason.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from io import BufferedRWPair
from pathlib import Path
from typing import Any

import pytest

from clockhand import _engine
from conftest import EXECUTABLE, needed

OBSTACLE = _engine.pager_obstacle()
pytestmark = pytest.mark.skipif(
    OBSTACLE is not None, reason=f"no program was run under the pager: {OBSTACLE}"
)

RUBY = """
map = {}
60000.times { |i| map["key#{i * 7919 % 20011}"] = "value#{i}" }
sum = 0
map.each { |key, value| (key + value).each_byte { |byte| sum = (sum * 31 + byte) & 0xffffffff } }
puts "#{map.size} #{sum}"
"""
PERL = """
my %map; $map{"key" . ($_ * 7919 % 20011)} = "value$_" for 0..39999;
my $sum = 0;
for my $key (sort keys %map) {
  $sum = ($sum * 31 + $_) % 4294967296 for unpack("C*", $key . $map{$key});
}
print scalar(keys %map), " $sum\\n";
"""
QUERIES = """
set work_mem = '64MB';
create table t as select i, 'word' || (i * 7919 % 100003) as word from generate_series(1, 60000) i;
select md5(string_agg(word, ',' order by word, i)) from t;
select i % 977 as part, count(*), max(word) from t group by 1 order by 3 desc, 1 limit 20;
"""
KEYS = 10_000
"""Of a server: each is asked for twice."""

TOGETHER = 100
"""Requests that are sent before the answers are read."""

PATIENCE_S = 60.0


def under_the_pager(memory: str, folder: Path, command: list[str]) -> list[str]:
    """Return the command that runs another one in this much memory."""
    options = ["--policy", "clock", "--memory", memory, "--swap", str(folder / "swap.img")]
    rows = str(folder / "rows.json")
    return [str(EXECUTABLE), "run", *options, "--out", rows, "--quiet", "--", *command]


def row_of(name: str, folder: Path) -> dict[str, Any]:
    """Return the row of the process of this name that had most pages; the simulator agrees."""
    rows = json.loads((folder / "rows.json").read_text())
    row: dict[str, Any] = max(
        (row for row in rows if row["name"] == name), key=lambda row: row["footprint_pages"]
    )
    assert row["failure"] is None and row["device_reads"] is None
    assert row["misses"] == row["sensed_misses"]
    return row


def ruby(folder: Path) -> list[str]:
    return [needed("ruby"), "-e", RUBY]


def perl(folder: Path) -> list[str]:
    return [needed("perl"), "-e", PERL]


def gcc(folder: Path) -> list[str]:
    source = folder / "many.c"
    source.write_text(
        "".join(
            f"int f{number}(int a, int b) {{ int s = {number}; "
            f"for (int j = 0; j < a; j++) s = s * {number + 3} + (b ^ j); return s; }}\n"
            for number in range(150)
        )
    )
    return [needed("gcc"), "-O2", "-S", "-o", "-", str(source)]


def cwebp(folder: Path) -> list[str]:
    picture, side = folder / "picture.ppm", 700
    pixels = (
        (x * x * 7 + y * y * 3 + (colour * x * y >> 6)) % 251
        for y in range(side)
        for x in range(side)
        for colour in range(3)
    )
    picture.write_bytes(b"P6\n%d %d\n255\n" % (side, side) + bytes(pixels))
    return [needed("cwebp"), "-quiet", str(picture), "-o", "-"]


def ffmpeg(folder: Path) -> list[str]:
    picture = "testsrc2=size=640x480:rate=10:duration=1"
    alone = ["-threads", "1", "-filter_threads", "1"]
    exact = ["-flags", "bitexact", "-fflags", "bitexact"]
    made_of = ["-nostdin", "-loglevel", "error", *alone, "-f", "lavfi", "-i", picture]
    return [needed("ffmpeg"), *made_of, "-c:v", "mpeg4", *alone[:2], *exact, "-f", "avi", "-"]


@pytest.mark.parametrize(
    ("prepare", "memory", "process"),
    [
        (ruby, "4MiB", "ruby"),
        (perl, "3MiB", "perl"),
        (gcc, "6MiB", "cc1"),
        (cwebp, "3MiB", "cwebp"),
        (ffmpeg, "4MiB", "ffmpeg"),
    ],
)
def test_interpreters_compilers_and_encoders_write_the_same(
    tmp_path: Path, prepare: Callable[[Path], list[str]], memory: str, process: str
) -> None:
    command = prepare(tmp_path)
    plain = subprocess.run(command, capture_output=True, check=True)
    paged = subprocess.run(under_the_pager(memory, tmp_path, command), capture_output=True)
    assert (paged.returncode, paged.stdout) == (0, plain.stdout), paged.stderr
    row = row_of(process, tmp_path)
    assert row["misses"] > row["frames"] and row["pages_written"] > 100


def redis(server: BufferedRWPair) -> Iterator[bytes]:
    """Fill redis, have a forked process write all to a file, and read all meanwhile."""

    def replies(command: str) -> Iterator[bytes]:
        for first in range(0, KEYS, TOGETHER):
            for number in range(first, first + TOGETHER):
                server.write(command.format(key=number * 7919 % KEYS, value=number).encode())
            server.flush()
            for _ in range(TOGETHER):
                reply = server.readline()
                yield reply + (server.read(int(reply[1:]) + 2) if reply[:1] == b"$" else b"")

    yield from replies("SET key{key} {value}" + 250 * "x" + "\r\n")
    server.write(b"BGSAVE\r\n")
    server.flush()
    yield server.readline()
    yield from replies("APPEND key{key} more\r\n")
    yield from replies("GET key{key}\r\n")
    while True:
        server.write(b"INFO persistence\r\n")
        server.flush()
        state = server.read(int(server.readline()[1:]) + 2)
        if b"rdb_bgsave_in_progress:0" in state:
            break
        time.sleep(0.05)
    assert b"rdb_last_bgsave_status:ok" in state
    server.write(b"SHUTDOWN NOSAVE\r\n")
    server.flush()


def memcached(server: BufferedRWPair) -> Iterator[bytes]:
    """Fill memcached, and read all."""
    for first in range(0, KEYS, TOGETHER):
        for number in range(first, first + TOGETHER):
            value = str(number).ljust(250, "x")
            server.write(f"set key{number * 7919 % KEYS} 0 0 250\r\n{value}\r\n".encode())
        server.flush()
        yield from (server.readline() for _ in range(TOGETHER))
    for first in range(0, KEYS, TOGETHER):
        for number in range(first, first + TOGETHER):
            server.write(f"get key{number * 31 % KEYS}\r\n".encode())
        server.flush()
        for _ in range(TOGETHER):
            yield from iter(server.readline, b"END\r\n")
    server.write(b"shutdown\r\n")
    server.flush()


def answers(
    command: list[str], path: Path, client: Callable[[BufferedRWPair], Iterator[bytes]]
) -> list[bytes]:
    """Start a server, and return what it answers to a client that ends it."""
    with subprocess.Popen(command, cwd=path.parent, stdout=subprocess.DEVNULL) as process:
        end = time.monotonic() + PATIENCE_S
        connection = socket.socket(socket.AF_UNIX)
        while connection.connect_ex(str(path)) != 0:
            assert process.poll() is None and time.monotonic() < end, "the server does not listen"
            time.sleep(0.02)
        connection.settimeout(PATIENCE_S)
        with connection, connection.makefile("rwb") as server:
            answered = list(client(server))
        assert process.wait(PATIENCE_S) == 0
    return answered


@pytest.mark.parametrize(("client", "name"), [(redis, "redis-server"), (memcached, "memcached")])
def test_servers_answer_the_same(
    client: Callable[[BufferedRWPair], Iterator[bytes]], name: str
) -> None:
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        folder = Path(short)
        path = folder / "socket"
        options = {
            "redis-server": [
                "--port",
                "0",
                "--unixsocket",
                str(path),
                "--save",
                "",
                "--dir",
                short,
            ],
            "memcached": ["-A", "-t", "2", "-u", "root", "-s", str(path)],
        }
        command = [needed(name), *options[name]]
        plain = answers(command, path, client)
        path.unlink(missing_ok=True)
        assert answers(under_the_pager("2MiB", folder, command), path, client) == plain
        row = row_of(name, folder)
    assert row["misses"] > row["frames"] and row["pages_written"] > 100


@pytest.fixture
def database() -> Iterator[tuple[list[str], Path]]:
    """What runs postgres as a user who may, which root may not, and a folder of that user."""
    initdb = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not initdb:
        pytest.skip("postgres is not installed, so that it was not run under the pager")
    as_user: list[str] = []
    if os.geteuid() == 0:
        # Who pages programs needs a right that root has.
        right = "+sys_ptrace"
        as_user = [needed("setpriv"), "--reuid", "postgres", "--clear-groups"]
        as_user += ["--inh-caps", right, "--ambient-caps", right]
    if (
        subprocess.run([*as_user, str(EXECUTABLE), "--version"], capture_output=True).returncode
        != 0
    ):
        pytest.skip("the user postgres may not run clockhand, so that postgres was not paged")
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        folder = Path(short)
        if as_user:
            shutil.chown(folder, "postgres")
        yield [*as_user, str(initdb[-1].parent / "postgres")], folder


def test_postgres_as_its_own_user_sorts_the_same(database: tuple[list[str], Path]) -> None:
    (*as_user, postgres), folder = database
    plain, paged = folder / "plain", folder / "paged"
    initdb = [postgres.replace("bin/postgres", "bin/initdb"), "-D", str(plain), "--no-sync"]
    subprocess.run([*as_user, *initdb], capture_output=True, check=True)
    subprocess.run([*as_user, "cp", "-a", plain, paged], check=True)

    def ask(data: Path, *, is_paged: bool) -> bytes:
        command = [postgres, "--single", "-D", str(data), "postgres"]
        if is_paged:
            command = under_the_pager("4MiB", folder, command)
        done = subprocess.run([*as_user, *command], input=QUERIES.encode(), capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert ask(paged, is_paged=True) == ask(plain, is_paged=False)
    row = row_of("postgres", folder)
    assert row["misses"] > row["frames"] and row["pages_written"] > 100
