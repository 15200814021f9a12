"""Traces and datasets at addresses: the rows of local ones, from copies of the user's own."""

import http.server
import os
import shutil
import signal
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

import clockhand
from clockhand import ClockhandError, Trace, UsageError
from clockhand.study import copies as copies_kept
from clockhand.study import remote
from clockhand.sweep import Dataset, compute, read_experiment, run_sweep, tasks_of
from conftest import EXECUTABLE, Clockhand, assert_one_sentence

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "traces/tar-gzip.parquet"
OPTIONS: dict[str, Any] = {"policies": "clock", "frames": "64,256", "limit": 20_000, "watch": False}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the copies."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/clockhand/remote"


@pytest.fixture
def store() -> Iterator[Any]:
    """A store in this process, with a trace."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pipe_file("/bucket/traces/a.parquet", TRACE.read_bytes())
    yield system
    system.store.clear()


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, slowly if asked for, and remembers what it was asked."""

    asked: ClassVar[list[str]] = []
    slow_seconds: ClassVar[float] = 0

    def log_message(self, *_: object) -> None:
        """Stay silent."""

    def send_head(self) -> Any:
        self.asked.append(self.command)
        return super().send_head()

    def copyfile(self, source: Any, outputfile: Any) -> None:
        while chunk := source.read(1 << 16):
            time.sleep(self.slow_seconds)
            outputfile.write(chunk)
            outputfile.flush()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server on this machine, and the folder that it serves, with a trace."""
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    Server.asked.clear()
    Server.slow_seconds = 0
    with serving(tmp_path) as (server, folder):
        yield f"http://127.0.0.1:{server.server_address[1]}", folder


class Endless(http.server.BaseHTTPRequestHandler):
    """Serves a trace without end, whose length it does not tell."""

    def log_message(self, *_: object) -> None:
        """Stay silent."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("ETag", '"1"')
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        while True:
            try:
                self.wfile.write(b"R,4096,4096\n" * 10_000)
            except OSError:
                return


class serving:  # noqa: N801 - It is used like a function.
    """A server of a folder with a trace, over TLS if a context is given."""

    def __init__(self, beside: Path, context: ssl.SSLContext | None = None) -> None:
        self.folder = beside / "served"
        self.folder.mkdir()
        shutil.copy(TRACE, self.folder / "a.parquet")

        def handler(*given: Any) -> Server:
            return Server(*given, directory=str(self.folder))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    def __enter__(self) -> tuple[http.server.ThreadingHTTPServer, Path]:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self.server, self.folder

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def copies(cache: Path) -> list[Path]:
    return [path for path in cache.glob("*-*/*") if path.is_file()]


def test_a_trace_in_a_store_gives_the_rows_of_the_file_under_its_address(
    store: Any, cache: Path
) -> None:
    address = "memory://bucket/traces/a.parquet"
    rows = clockhand.simulate(address, **OPTIONS).rows
    local = clockhand.simulate(TRACE, **OPTIONS).rows
    assert rows["trace"].unique().to_list() == [address]
    assert rows.drop("trace").equals(local.drop("trace"))
    by_pattern = clockhand.simulate("memory://bucket/*/*.parquet", **OPTIONS).rows
    assert by_pattern.equals(rows)
    assert clockhand.simulate(Trace(address), **OPTIONS).rows.equals(rows)
    [copy] = copies(cache)
    assert copy.read_bytes() == TRACE.read_bytes()
    for folder in (cache, copy.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_every_study_takes_an_address(store: Any, tmp_path: Path) -> None:
    address, out = "memory://bucket/traces/a.parquet", tmp_path / "a.csv"
    limit: Any = {"limit": 5000, "watch": False}
    assert clockhand.locality(address, **limit).summary["trace"][0] == address
    assert clockhand.recommend(address, frames=64, **limit).policy
    run = clockhand.run_ssd(address, buffers="lru:total=1MiB", map="compact", **limit)
    assert run.rows["trace"][0] == address
    assert clockhand.watch_policies(
        address, policies="clock", frames=8, watch=False, limit=100
    ).courses
    clockhand.convert_traces(address, out, watch=False)
    assert Trace(out).check(watch=False)["requests"] == Trace(TRACE).check(watch=False)["requests"]


def test_a_copy_is_used_until_the_store_has_another_content(store: Any, cache: Path) -> None:
    address = "memory://bucket/traces/a.parquet"
    first = remote.fetched(address).file
    told: list[int] = []
    assert remote.fetched(address, lambda *now: told.append(now[1])).file == first and not told
    store.pipe_file("/bucket/traces/a.parquet", b"R,0,1\n")
    second = remote.fetched(address, lambda *now: told.append(now[1])).file
    assert second.read_bytes() == b"R,0,1\n" and told == [6]


def test_a_copy_that_was_cut_is_made_again(store: Any) -> None:
    address = "memory://bucket/traces/a.parquet"
    copy = remote.fetched(address).file
    copy.write_bytes(b"short")
    assert remote.fetched(address).file.read_bytes() == TRACE.read_bytes()


def test_the_copies_used_longest_ago_leave_and_those_in_use_stay(
    store: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(copies_kept.CACHE_LIMIT, "3KiB")
    for number in range(4):
        store.pipe_file(f"/bucket/{number}", bytes(1000))
    made = [remote.fetched(f"memory://bucket/{number}").file for number in range(3)]
    with pytest.raises(ClockhandError, match=r"are in use; set CLOCKHAND_CACHE_LIMIT to more"):
        remote.fetched("memory://bucket/3")
    for number, copy in enumerate(made):
        os.utime(copy, (number, number))
        copies_kept.release(copy)
    remote.fetched("memory://bucket/3")
    assert [copy.exists() for copy in made] == [False, True, True]
    monkeypatch.setenv(copies_kept.CACHE_LIMIT, "much")
    store.pipe_file("/bucket/4", b"4")
    with pytest.raises(UsageError, match="is not a size; give one such as 64GiB"):
        remote.fetched("memory://bucket/4")


def test_a_disk_without_room_is_one_sentence(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=copies_kept.SPARE_BYTES)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(ClockhandError, match=r"the disk of .* has 64 MiB left; free some"):
        remote.fetched("memory://bucket/traces/a.parquet")


# It filled the disk, whatever the limit.
def test_a_server_that_tells_no_length_is_stopped_at_the_limit(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    monkeypatch.setenv(copies_kept.CACHE_LIMIT, "3MiB")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    watched: list[int] = []
    try:
        with pytest.raises(ClockhandError, match=r"at least \d MiB, and the copies in .* 3 MiB"):
            remote.fetched(
                f"http://127.0.0.1:{server.server_address[1]}/a.csv",
                lambda _, done, __: watched.append(done),
            )
    finally:
        server.shutdown()
        server.server_close()
    assert max(watched) <= 9 << 20 and not copies(cache)


def test_a_content_that_is_longer_than_told_is_no_copy(
    store: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_info", lambda *_: {"size": 1000, "type": "file", "ETag": "1"})
    with pytest.raises(ClockhandError, match="changed or ended early"):
        remote.fetched("memory://bucket/traces/a.parquet")
    assert not copies(cache)


def test_a_content_that_changes_while_it_is_copied_is_no_copy(store: Any, cache: Path) -> None:
    def change(*_: object) -> None:
        store.pipe_file("/bucket/traces/a.parquet", b"other")

    with pytest.raises(ClockhandError, match="changed or ended early while it was downloaded"):
        remote.fetched("memory://bucket/traces/a.parquet", change)
    assert list(cache.glob("*-*")) == []


def test_a_folder_of_others_is_refused(store: Any, cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.symlink_to(cache.parent)
    with pytest.raises(ClockhandError, match="is not a folder of yours"):
        remote.fetched("memory://bucket/traces/a.parquet")


def test_the_command_reads_from_the_web_and_downloads_once(
    web: tuple[str, Path], clockhand: Clockhand, cache: Path
) -> None:
    address = f"{web[0]}/a.parquet"
    options = ("--policy", "clock", "--frames", "64", "--limit", "20000", "--format", "csv")
    local = clockhand("simulate", TRACE, *options).out.decode()
    for _ in range(2):
        run = clockhand("simulate", address, *options)
        assert run.code == 0, run.err
        assert run.out.decode() == local.replace(str(TRACE), address)
    assert Server.asked.count("GET") == 1
    again = web[1] / "a.parquet"
    again.write_bytes(TRACE.read_bytes())
    os.utime(again, (1, 1))
    assert clockhand("trace", "info", address).code == 0
    assert Server.asked.count("GET") == 2 and len(copies(cache)) == 1


def test_tls_is_verified(tmp_path: Path, clockhand: Clockhand) -> None:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "ca.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
         certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(tmp_path, context) as (server, _):
        address = f"https://127.0.0.1:{server.server_address[1]}/a.parquet"
        refused = clockhand("trace", "info", address)
        assert refused.code == 1 and "certificate" in refused.err
        assert_one_sentence(refused)
        run = clockhand(
            "trace", "info", address, env={**os.environ, "SSL_CERT_FILE": str(certificate)}
        )
        assert run.code == 0, run.err


def test_an_interrupted_download_leaves_nothing(web: tuple[str, Path], cache: Path) -> None:
    Server.slow_seconds = 0.2
    (web[1] / "a.parquet").write_bytes(bytes(16 << 20))
    process = subprocess.Popen(
        [EXECUTABLE, "trace", "info", f"{web[0]}/a.parquet"], stderr=subprocess.PIPE, text=True
    )
    for _ in range(600):
        if list(cache.glob("*/.clockhand-*.partial")):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode != 0 and "Traceback" not in said
    assert [path for path in cache.rglob("*") if path.suffix != ".lock"] == []


@pytest.mark.parametrize(
    ("address", "code", "words"),
    [
        ("memory://bucket/absent", 1, "there is no such file; correct the address"),
        ("ftp+s3://bucket/a", 2, "is not an address that can be read; there is s3://"),
        ("s3://a::simplecache://b", 2, "is not an address that can be read"),
        ("https://me:secret@host/a", 2, "https://…@host/a has a password"),
        ("http://127.0.0.1:9/a", 1, "the store cannot be used"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    clockhand: Clockhand, address: str, code: int, words: str
) -> None:
    run = clockhand("simulate", address, "--policy", "clock", "--frames", "8")
    assert run.code == code and words in run.err and "secret" not in run.err, run.err
    assert_one_sentence(run)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for package, address, words in (
        ("s3fs", "s3://bucket/a", r"s3:// needs s3fs, .* pip install s3fs"),
        ("adlfs", "az://box/a", r"az:// needs adlfs, .* pip install adlfs"),
        ("aiohttp", "https://host/a", r"https:// needs aiohttp"),
        ("fsspec", "s3://bucket/a", r"needs fsspec, .* pip install 'clockhand\[remote\]'"),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ClockhandError, match=words):
            remote.fetched(address)


def test_the_address_of_a_local_file_is_the_file(tmp_path: Path, clockhand: Clockhand) -> None:
    options = ("--policy", "clock", "--frames", "64", "--limit", "9000", "--format", "json")
    run = clockhand("simulate", f"file://{TRACE}", *options)
    assert run.out == clockhand("simulate", TRACE, *options).out


def experiment(folder: Path, traces: str, dataset: str | None = None) -> Path:
    path = folder / "e.toml"
    kept = "" if dataset is None else f'dataset = "{dataset}"\n'
    path.write_text(
        f'question = "q"\nexpected = "e"\ntraces = "{traces}"\n{kept}'
        'policies = ["clock", "craw"]\nmemory = "10%,50%"\nmemory_budget = "256MiB"\n'
    )
    return path


def test_a_sweep_reads_traces_in_a_store_and_keeps_its_cells_there(
    store: Any, tmp_path: Path
) -> None:
    path = experiment(tmp_path, "memory://bucket/traces/*.parquet", "memory://bucket/cells")
    sweep = run_sweep(read_experiment(path))
    local = run_sweep(read_experiment(experiment(tmp_path, str(TRACE))), dataset=tmp_path / "cells")
    assert sweep.computed == 4
    assert sweep.rows.drop("trace").equals(local.rows.drop("trace"))
    assert not (tmp_path / "memory:").exists()
    kept = store.glob("/bucket/cells/part-*.parquet")
    assert kept and store.ls("/bucket/cells", detail=False) == kept

    # Another machine, or this one with an empty cache, computes nothing again.
    shutil.rmtree(tmp_path / "cache")
    again = run_sweep(read_experiment(experiment(tmp_path, str(TRACE), "memory://bucket/cells")))
    assert again.computed == 0
    rows, _ = Dataset.found("memory://bucket/cells/").report()
    assert rows.height == 4

    # Cells that are deleted there are computed again, whatever the copy holds.
    for part in kept:
        store.rm_file(part)
    with pytest.raises(UsageError, match="memory://bucket/cells is no dataset"):
        Dataset.found("memory://bucket/cells")
    assert run_sweep(read_experiment(path)).computed == 4


def test_a_damaged_part_in_a_store_is_named_by_its_address(store: Any) -> None:
    store.pipe_file("/bucket/cells/part-00.parquet", b"no part")
    with pytest.raises(ClockhandError, match=r"memory://bucket/cells/part-00.parquet is damaged"):
        Dataset.found("memory://bucket/cells")


def test_an_upload_that_fails_loses_no_more_than_is_said(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = experiment(tmp_path, str(TRACE), "memory://bucket/cells")

    def full(*_: object, **__: object) -> None:
        raise OSError("no quota")

    with monkeypatch.context() as patched:
        patched.setattr(type(store), "pipe_file", full)
        with pytest.raises(ClockhandError, match="no quota"):
            run_sweep(read_experiment(path))
    assert run_sweep(read_experiment(path)).computed == 4


def test_a_task_of_a_store_can_be_computed_anywhere(store: Any, tmp_path: Path) -> None:
    path = experiment(tmp_path, "memory://bucket/traces/a.parquet")
    [task] = tasks_of(read_experiment(path))
    assert len(compute(task).rows) == 4


def test_the_web_holds_no_dataset(clockhand: Clockhand, tmp_path: Path) -> None:
    path = experiment(tmp_path, str(TRACE))
    for run in (
        clockhand("report", "https://host/cells"),
        clockhand("sweep", path, "--dataset", "https://host/cells"),
    ):
        assert run.code == 2 and "the web has no folders" in run.err
        assert_one_sentence(run)


def test_a_pattern_without_a_match_and_a_budget_that_is_none_are_refused(
    store: Any, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"traces: no file matches 'memory://bucket/x\*'"):
        read_experiment(experiment(tmp_path, "memory://bucket/x*"))
    path = experiment(tmp_path, str(TRACE))
    path.write_text(path.read_text().replace("256MiB", "256"))
    with pytest.raises(UsageError, match=r'memory_budget "256" is no size of at least 16MiB'):
        read_experiment(path)
    path.write_text(path.read_text().replace('"256"', '"256MiB"'))
    with pytest.raises(UsageError, match=r'memory[-_]budget "no" is no size'):
        run_sweep(read_experiment(path), memory_budget="no")


def test_a_budget_that_is_too_small_is_kept(tmp_path: Path) -> None:
    recipe = tmp_path / "large.toml"
    recipe.write_text('pattern = "uniform:footprint=8GiB"\nrequests = "400k"\nseed = 1\n')
    path = experiment(tmp_path, f"recipe:{recipe}")
    with pytest.raises(ClockhandError, match="take more than"):
        run_sweep(read_experiment(path), memory_budget="16MiB")
    assert isinstance(run_sweep(read_experiment(path)).rows, pl.DataFrame)
