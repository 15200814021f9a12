"""`clockhand serve`: a write buffer as a real disk, and the row beside the simulator's."""

import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clockhand
from clockhand import ClockhandError, UsageError
from clockhand.serving.course import COUNTS, GAUGES, MOST_SAMPLES, TIMES, Course
from clockhand.serving.metrics import metrics_served
from clockhand.serving.server import SERVE_SCHEMA, BlockServer
from conftest import EXECUTABLE, Clockhand
from nbd_client import FLUSH, READ, STARTTLS, TRIM, ZEROES, NbdClient

SIZE = 4 << 20
ROOT = Path(__file__).resolve().parents[2]

SHARED = (
    "references", "read_hits", "write_hits", "dirty_pages_flushed", "clean_pages_flushed",
    "batches", "nvm_writes", "residual_dirty", "host_writes", "read_references",
    "write_references", "hit_ratio", "write_hit_ratio", "nvm_hits", "padding_reads", "migrations",
    "dram_pages", "nvm_pages", "buffer_pages", "page_bytes",
)  # fmt: skip

BUFFERS = (
    "clock-dnv:total=1MiB",
    "clock-dnv:total=100,dram_share=0.4,nvm_write_hit=promote",
    "clock-dnv:total=100,dram_share=0.5,nvm_write_hit=dram_copy,padding=keep_clean",
    "cbm:total=100,threshold=2",
    "fab:total=64",
    "fab:total=64,cache_reads=false",
    "bplru:total=128",
    "clc:total=64",
    "lb-clock:total=64",
    "lru:total=50",
    "craw:total=50,cluster=block",
    "cflru:total=40",
    "lru-wsr:total=40",
    "credit-clock:total=40",
)


def served(folder: Path, buffer: str, **options: object) -> BlockServer:
    is_hybrid = buffer.startswith(("clock-dnv", "cbm"))
    given: dict[str, object] = {"size": SIZE, "nvm": folder / "nvm.img" if is_hybrid else None}
    return clockhand.serve(folder / "disk.img", buffer=buffer, **{**given, **options})  # type: ignore[arg-type]


def can_be_direct(folder: Path) -> bool:
    """Tell whether the file system has reads and writes past the kernel's cache."""
    try:
        os.close(os.open(folder / "tried", os.O_CREAT | os.O_RDWR | os.O_DIRECT))
    except OSError:
        return False
    return True


def use(server: BlockServer, seed: int, requests: int = 400) -> bytes:
    """Send requests over three connections; what the disk holds then."""
    assert server.socket is not None
    clients = [NbdClient(server.socket).go() for _ in range(3)]
    choice = random.Random(seed)
    expected = bytearray(SIZE)
    for number in range(requests):
        client = choice.choice(clients)
        at = choice.randrange(0, SIZE // 4) & ~(0 if choice.random() < 0.3 else 4095)
        length = choice.choice((512, 4096, 4096, 8192, 30_000))
        kind = choice.random()
        if kind < 0.3:
            assert client.request(READ, at, length) == (0, bytes(expected[at : at + length]))
        elif kind < 0.85:
            payload = bytes([number % 255 + 1]) * length
            expected[at : at + length] = payload
            assert client.write(at, payload, fua=kind > 0.8) == 0
        elif kind < 0.9:
            first, end = -(-at // 4096) * 4096, (at + length) // 4096 * 4096
            if first < end:
                expected[first:end] = bytes(end - first)
            assert client.request(TRIM, at, length) == (0, b"")
        elif kind < 0.93:
            expected[at : at + length] = bytes(length)
            assert client.request(ZEROES, at, length) == (0, b"")
        else:
            assert client.request(FLUSH) == (0, b"")
    for client in clients:
        client.close()
    return bytes(expected)


@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_session_counts_what_the_simulator_counts(tmp_path: Path, buffer: str) -> None:
    record = tmp_path / "requests.parquet"
    direct = can_be_direct(tmp_path) and len(buffer) % 2 == 0
    with served(tmp_path, buffer, record=record, direct=direct) as server:
        expected = use(server, seed=len(buffer))
    assert (tmp_path / "disk.img").read_bytes() == expected
    name, _, settings = buffer.partition(":")
    simulated = clockhand.run_ssd(
        record,
        buffers=f"{name}:{settings},commands=safe",
        ssds=f"dnv-textbook:size={SIZE}B",
        precondition="none",
        drain=True,
    )
    assert server.rows.select(SHARED).to_dicts() == simulated.rows.select(SHARED).to_dicts()
    row = server.rows.row(0, named=True)
    assert row["disk_pages_written"] == row["host_writes"]
    assert row["residual_dirty"] == 0
    assert row["errors"] == 0


def test_the_row_has_the_columns_of_the_rule_in_their_order() -> None:
    as_in_ssd = (
        "disk, buffer, buffer_pages, references, read_hits, write_hits, dirty_pages_flushed, "
        "clean_pages_flushed, batches, nvm_writes, residual_dirty, host_writes, read_references, "
        "write_references, hit_ratio, write_hit_ratio, nvm_hits, padding_reads, migrations, "
        "dram_pages, nvm_pages, page_bytes, buffer_resolved"
    )
    own = (
        "seconds, connections, read_requests, write_requests, forced_writes, flushes, trims, "
        "zeroes, read_bytes, written_bytes, trimmed_pages, fill_reads, disk_pages_read, "
        "disk_pages_written, disk_syncs, nvm_syncs, nvm_bytes_written, read_us_p50, read_us_p99, "
        "write_us_p50, write_us_p99, flush_us_p50, flush_us_p99, errors, recovered_pages, "
        "torn_versions, damaged_pages"
    )
    assert list(SERVE_SCHEMA) == f"{as_in_ssd}, {own}".split(", ")


def test_python_shows_what_the_server_has_done_so_far(tmp_path: Path) -> None:
    with served(tmp_path, "fab:total=16") as server:
        assert server.socket is not None
        client = NbdClient(server.socket).go()
        assert client.write(0, b"x" * 4096) == 0
        figures = server.figures()
        assert figures is not None
        assert figures[0]["write_requests"] == 1
        assert figures[1]["dirty_pages"] == 1
    assert server.figures() is None
    assert server.rows["write_requests"].to_list() == [1]
    assert not server.socket.exists()


def test_a_report_shows_a_session_from_its_requests_to_the_disk(tmp_path: Path) -> None:
    with served(tmp_path, "clock-dnv:total=64") as server:
        with pytest.raises(UsageError, match="still runs"):
            server.write_report(tmp_path / "early.html")
        use(server, seed=3)
    last = server.samples.row(-1, named=True)
    row = server.rows.row(0, named=True)
    assert (last["host_writes"], last["dirty_pages"]) == (row["host_writes"], 0)
    slowest = server.samples["write_us_p99"].drop_nulls().to_list()
    assert max(slowest) >= row["write_us_p99"]
    assert set(server.specifications()) == {
        "requests", "volume", "times", "pages", "hits", "written", "batches"
    }  # fmt: skip
    server.write_report(tmp_path / "session.html")
    page = (tmp_path / "session.html").read_text(encoding="utf-8")
    assert f"{row['host_writes']:,} to the disk, in {row['batches']:,} batches" in page
    assert "Pages in the buffer" in page
    assert f"clockhand serve --disk {tmp_path / 'disk.img'}" in re.sub("</?span>", "", page)


def test_a_report_begins_before_the_first_request(tmp_path: Path) -> None:
    with served(tmp_path, "fab:total=64") as server:
        use(server, seed=3, requests=60)
    row = server.rows.row(0, named=True)
    first = server.samples.row(0, named=True)
    assert (first["seconds"], first["write_requests"], first["references"]) == (0, 0, 0)
    spec = server.specifications()["requests"]
    seconds = [0.0, *server.samples["seconds"].to_list()[1:]]
    lasted = dict(zip(seconds[1:], (b - a for a, b in itertools.pairwise(seconds)), strict=True))
    shown = sum(
        record["y"] * lasted[record["x"]]
        for record in records_of(spec)
        if record["series"] == "writes"
    )
    assert shown == pytest.approx(row["write_requests"])


def records_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The points of a figure with one line for each series."""
    found: list[dict[str, Any]] = spec["data"]["values"]
    return found


def test_samples_of_long_sessions_are_thinned_and_keep_the_slowest_second() -> None:
    class Engine:
        seconds = 0.0

        def figures(self, latest: bool) -> tuple[dict[str, float], dict[str, float], list[object]]:
            self.seconds += 1
            row = {"seconds": self.seconds, **dict.fromkeys(COUNTS, self.seconds)}
            return row | dict.fromkeys(TIMES, self.seconds), dict.fromkeys(GAUGES, 0), []

    course = Course(Engine())
    course.stop()
    for _ in range(MOST_SAMPLES + 10):
        course._take(has_times=True, is_kept=True)
    assert MOST_SAMPLES / 2 <= len(course.samples) < MOST_SAMPLES / 2 + 20
    assert all(sample["read_us_p99"] == sample["seconds"] for sample in course.samples)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"buffer": "fab"}, "has no size"),
        ({"buffer": "fab:total=10%"}, "no footprint is known"),
        ({"buffer": "fab:total=16,commands=paper"}, "loses data that was acknowledged"),
        ({"buffer": "clock-dnv:total=16"}, "add nvm"),
        ({"nvm": "nvm.img"}, "has no NVM"),
        ({"keep": True}, "leaves pages in NVM"),
        ({"size": "1000"}, "is not a multiple of 512"),
        ({"size": None}, "add size"),
        ({"connections": 0}, "from 1 to 4096"),
        ({"connections": 4097}, "from 1 to 4096"),
        ({"record": "requests.img"}, "ends in .parquet"),
        ({"record": "requests.csv"}, "ends in .parquet"),
        ({"allow_users": ["no-such-user"]}, "no such user"),
        ({"listen": "0.0.0.0:10809"}, "other machines"),
        ({"listen": "localhost"}, "no address and port"),
        ({"tls_key": "key.pem"}, "tls_certificate"),
    ],
)
def test_what_makes_no_sense_is_said_and_nothing_is_made(
    tmp_path: Path, options: dict[str, object], sentence: str
) -> None:
    if "nvm" in options:
        options = {**options, "nvm": tmp_path / "nvm.img"}
    given: dict[str, object] = {"buffer": "fab:total=16", "size": SIZE, **options}
    with pytest.raises(UsageError, match=re.escape(sentence)):
        clockhand.serve(tmp_path / "disk.img", **given)  # type: ignore[arg-type]
    assert not (tmp_path / "nvm.img").exists()


def begun(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [EXECUTABLE, "serve", "--disk", "disk.img", "--size", "4MiB", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.02)


def test_sigterm_ends_with_a_plain_image_and_a_row(tmp_path: Path) -> None:
    nvm = ("--nvm", "nvm.img", "--buffer", "clock-dnv:total=64")
    process = begun(tmp_path, *nvm, "--socket", "disk.sock", "--format", "json")
    wait_for(tmp_path / "disk.sock")
    client = NbdClient(tmp_path / "disk.sock").go()
    assert client.write(8192, b"y" * 4096) == 0
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    (row,) = json.loads(out)
    assert row["host_writes"] == 1
    assert (tmp_path / "disk.img").read_bytes()[8192:12288] == b"y" * 4096
    assert not (tmp_path / "disk.sock").exists()
    assert "user.clockhand.nvm" not in os.listxattr(tmp_path / "disk.img")


def test_pages_that_are_kept_in_nvm_are_recovered(tmp_path: Path) -> None:
    nvm = ("--nvm", "nvm.img", "--buffer", "clock-dnv:total=64")
    process = begun(tmp_path, *nvm, "--socket", "disk.sock", "--keep")
    wait_for(tmp_path / "disk.sock")
    assert NbdClient(tmp_path / "disk.sock").go().write(0, b"k" * 4096) == 0
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert (tmp_path / "disk.img").read_bytes()[:1] == b"\0"
    with pytest.raises(ClockhandError, match="give nvm"):
        clockhand.serve(tmp_path / "disk.img", buffer="fab:total=16")
    with served(tmp_path, "clock-dnv:total=64") as server:
        assert "recovered 1 pages" in server.notes[0]
    assert server.rows["recovered_pages"].to_list() == [1]
    assert (tmp_path / "disk.img").read_bytes()[:4] == b"kkkk"


def test_a_program_finds_the_disk_and_its_exit_code_is_the_commands(
    tmp_path: Path, clockhand: Clockhand
) -> None:
    script = 'test -S "$NBD_SOCKET" && echo "$NBD_URI" && exit 7'
    words = ("--buffer", "fab:total=16", "--disk", "disk.img", "--size", "1MiB", "--out", "row.csv")
    done = clockhand("serve", *words, "--report", "page.html", "--", "sh", "-c", script)
    assert done.code == 7, done.err
    assert "page.html: the report" in done.err
    assert "--report page.html" in re.sub("</?span>", "", (tmp_path / "page.html").read_text())
    assert done.out.startswith(b"nbd+unix:///?socket=")
    assert pl.read_csv(tmp_path / "row.csv")["buffer"].to_list() == ["fab:total=16"]
    # What a shell makes of "$NBD_URI", which it does not know, and of '$NBD_URI'.
    for written in ("", "$NBD_URI"):
        done = clockhand("serve", *words, "--", "echo", "disk", written)
        assert done.out.startswith(b"disk nbd+unix:///?socket="), written
    done = clockhand("serve", *words, "--", "no-such-program")
    assert done.code == 1
    assert "no-such-program" in done.err
    for place in (
        (),
        ("--socket", "disk.sock", "--", "true"),
        ("--socket", "s", "--listen", "::1:0"),
    ):
        done = clockhand("serve", *words, *place)
        assert done.code == 2
        assert "give one of" in done.err


def test_live_shows_a_line_each_second(tmp_path: Path, clockhand: Clockhand) -> None:
    words = ("--buffer", "clock-dnv:total=64", "--nvm", "nvm.img", "--disk", "disk.img")
    done = clockhand("serve", *words, "--size", "1MiB", "--live", "--", "sleep", "2.4")
    lines = done.err.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("reads/s"))
    assert lines[head].split("  ") == [
        "reads/s", "writes/s", "flushes/s", "read MiB/s", "written MiB/s", "hits %", "dirty",
        "NVM %", "to disk/s", "pages per batch", "held", "write p99 µs", "flush p99 µs",
    ]  # fmt: skip
    assert [line.split()[:3] for line in lines[head + 1 :][:2]] == [["0", "0", "0"]] * 2


def test_metrics_are_text_for_prometheus(tmp_path: Path) -> None:
    with (
        served(tmp_path, "clock-dnv:total=64") as server,
        metrics_served(server, "127.0.0.1:0") as where,
    ):
        assert server.socket is not None
        assert where is not None
        assert NbdClient(server.socket).go().write(0, b"m" * 4096) == 0
        with urllib.request.urlopen(where) as answer:
            text = answer.read().decode()
    assert "clockhand_serve_write_requests_total 1\n" in text
    assert "clockhand_serve_dirty_pages 1\n" in text
    assert 'clockhand_serve_request_seconds_count{command="write"} 1\n' in text
    assert "clockhand_serve_info{version=" in text
    gauges = set(re.findall(r"# TYPE clockhand_serve_(\w+) gauge", text))
    assert gauges == {
        "dram_pages_used", "nvm_pages_used", "dirty_pages", "held_pages", "free_slots",
        "open_connections", "degraded", "info",
    }  # fmt: skip
    for line in text.splitlines():
        assert re.fullmatch(r"# TYPE \S+ \w+|[a-z_0-9]+(\{[^}]*\})? \S+", line), line


def test_metrics_on_a_unix_socket_are_this_users_only(tmp_path: Path) -> None:
    place = tmp_path / "metrics.sock"
    with served(tmp_path, "fab:total=16") as server, metrics_served(server, str(place)):
        assert place.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(place))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert client.recv(15).startswith(b"HTTP/1.0 200")
    assert not place.exists()


def certified(folder: Path, name: str, *more: str | Path) -> tuple[Path, Path]:
    """Make a certificate; its file and its key's."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    files = ["-nodes", "-keyout", key, "-out", certificate]
    subprocess.run([*made, *files, *subject, *more], check=True, capture_output=True)
    return certificate, key


def encrypted(server: BlockServer, context: ssl.SSLContext) -> NbdClient:
    """A client behind TLS, which was offered nothing else before."""
    found = re.match(r"nbds://127\.0\.0\.1:(\d+)/", server.uri)
    assert found is not None
    client = NbdClient(("127.0.0.1", int(found[1])))
    assert client.option(3) == [0x8000_0005]
    assert client.option(STARTTLS) == [1]
    client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
    return client


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_with_tls_nothing_is_told_before_it(tmp_path: Path) -> None:
    certificate, key = certified(tmp_path, "server")
    tls = {"tls_certificate": certificate, "tls_key": key}
    with served(tmp_path, "fab:total=64", listen="127.0.0.1:0", **tls) as server:
        client = encrypted(server, ssl.create_default_context(cafile=str(certificate))).go()
        payload = os.urandom(1 << 20)
        assert client.write(0, payload) == 0
        assert client.request(READ, 0, 1 << 20) == (0, payload)
        client.close()
    assert (tmp_path / "disk.img").read_bytes()[: 1 << 20] == payload


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_clients_without_a_certificate_of_the_authority_are_closed(tmp_path: Path) -> None:
    certificate, key = certified(tmp_path, "server")
    authority, authority_key = certified(tmp_path, "authority")
    own = certified(
        tmp_path, "client", "-CA", authority, "-CAkey", authority_key,
        "-addext", "basicConstraints=critical,CA:FALSE",
    )  # fmt: skip
    tls = {"tls_certificate": certificate, "tls_key": key, "tls_clients": authority}
    with served(tmp_path, "fab:total=64", listen="127.0.0.1:0", **tls) as server:
        context = ssl.create_default_context(cafile=str(certificate))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            encrypted(server, context).go()
        context.load_cert_chain(*own)
        assert encrypted(server, context).go().write(0, b"x" * 512) == 0


def test_a_loopback_address_without_tls_is_said_to_be_open_to_every_user(tmp_path: Path) -> None:
    with served(tmp_path, "fab:total=16", listen="127.0.0.1:0") as server:
        assert any("every user of this machine" in note for note in server.notes)


def test_a_socket_that_is_passed_on_is_taken(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "passed.sock"))
        listening.listen()
        script = (
            "import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ['LISTEN_FDS'] = '1'; "
            "os.environ['LISTEN_PID'] = str(os.getpid()); os.execv(sys.argv[2], sys.argv[2:])"
        )
        words = ("serve", "--buffer", "fab:total=16", "--disk", "disk.img", "--size", "1MiB")
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(listening.fileno()), EXECUTABLE, *words],
            cwd=tmp_path,
            pass_fds=[listening.fileno()],
            stdout=subprocess.PIPE,
        )
        assert NbdClient(tmp_path / "passed.sock").go().write(0, b"p" * 512) == 0
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert (tmp_path / "disk.img").read_bytes()[:512] == b"p" * 512


SESSION = re.search(
    r"^```console\n(.*?)^```", (ROOT / "docs/serve.md").read_text(), re.MULTILINE | re.DOTALL
)


@pytest.mark.skipif(shutil.which("nbdcopy") is None, reason="nbdcopy (libnbd) is not installed")
def test_the_first_session_of_the_page_does_what_it_shows(tmp_path: Path) -> None:
    assert SESSION is not None
    joined = SESSION[1].replace("\\\n", " ")
    lines = [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
    environment = {**os.environ, "PATH": f"{EXECUTABLE.parent}:{os.environ['PATH']}"}
    outputs = []
    for line in lines:
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, timeout=300
        )
        assert done.returncode == 0, (line, done.stderr)
        outputs.append(done.stdout)
    assert outputs[-1].decode() == joined.splitlines()[-1] + "\n"
    row, simulated = (pl.read_csv(tmp_path / name) for name in ("row.csv", "simulated.csv"))
    assert row.select(SHARED).to_dicts() == simulated.select(SHARED).to_dicts()
