"""A web server and a proxy under load on the loopback; their access logs as file reads.

    .venv/bin/python traces/servers/servers.py

It needs nginx and squid. The recipe is fixed, and so are its seeds: 400 files whose sizes are
log-normal (median 8 KiB, sigma 1.3, at most 512 KiB), asked for 12,000 times by a popularity of
Zipf with exponent 0.9, one request after the other. What stands in the log, and nothing else,
becomes the trace: what the servers answered, in their order.
"""

import http.client
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import clockhand

HERE = Path(__file__).parent
FILES = 400
REQUESTS = 12_000
MEDIAN_BYTES, SIGMA, LARGEST_BYTES = 8 << 10, 1.3, 512 << 10
ZIPF = 0.9
SIZES_SEED, REQUESTS_SEED = 2020, 53
BLOCK_BYTES = 4096
WEB_PORT, PROXY_PORT = 18080, 18081
USER = "proxy"
"""Whom squid becomes where root starts it, as Debian names it."""
SECONDS_TO_START = 20

WEB = """
daemon off; master_process off; pid web.pid; error_log error.log;
events {{}}
http {{
  log_format served '$uri $body_bytes_sent $status';
  access_log access.log served;
  server {{ listen 127.0.0.1:{port}; root files; add_header Cache-Control max-age=86400; }}
}}
"""

# No memory cache: every hit is a read of a file on disk.
PROXY = """
http_port 127.0.0.1:{port}
pid_filename {folder}/proxy.pid
cache_log {folder}/cache.log
coredump_dir {folder}
cache_mem 0
memory_cache_mode disk
maximum_object_size 1 MB
cache_dir ufs {folder}/cache 64 16 16
logformat served %Ss %ru %<st
access_log stdio:{folder}/proxy-access.log served
http_access allow all
cache_effective_user {user}
shutdown_lifetime 0 seconds
"""


def sizes() -> list[int]:
    """Bytes of each file."""
    drawn = np.random.default_rng(SIZES_SEED).lognormal(np.log(MEDIAN_BYTES), SIGMA, FILES)
    return [int(size) for size in np.clip(drawn, 1, LARGEST_BYTES)]


def requests() -> list[int]:
    """Which file each request asks for."""
    weights = 1 / np.arange(1, FILES + 1) ** ZIPF
    # Popularity and size have nothing to do with each other.
    generator = np.random.default_rng(REQUESTS_SEED)
    ranked = generator.permutation(FILES)
    return [int(ranked[n]) for n in generator.choice(FILES, REQUESTS, p=weights / weights.sum())]


def name_of(number: int) -> str:
    return f"/{number:03}.bin"


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator[None]:
    """Run a server until the block ends."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(SECONDS_TO_START * 10):
            try:
                http.client.HTTPConnection("127.0.0.1", port, timeout=1).connect()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError(f"{command[0]} does not listen on port {port}; see its log")
        yield
    finally:
        server.terminate()
        server.wait(timeout=60)


def load(port: int, prefix: str) -> None:
    """Ask for every file of the recipe, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for number in requests():
        connection.request("GET", prefix + name_of(number))
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{name_of(number)}: status {answer.status}")


def serve(folder: Path) -> tuple[list[str], list[str]]:
    """Return the lines of the web server's log and of the proxy's, each under the same load."""
    (folder / "files").mkdir()
    for number, size in enumerate(sizes()):
        (folder / f"files{name_of(number)}").write_bytes(b"\0" * size)
    (folder / "nginx.conf").write_text(WEB.format(port=WEB_PORT))
    (folder / "squid.conf").write_text(PROXY.format(port=PROXY_PORT, folder=folder, user=USER))
    if os.geteuid() == 0:
        shutil.chown(folder, USER)
    squid = ["squid", "-f", str(folder / "squid.conf")]
    subprocess.run([*squid, "-z", "-N"], check=True, capture_output=True)
    with running(["nginx", "-p", str(folder), "-c", "nginx.conf"], WEB_PORT):
        load(WEB_PORT, "")
        web = (folder / "access.log").read_text().splitlines()
        with running([*squid, "-N"], PROXY_PORT):
            load(PROXY_PORT, f"http://127.0.0.1:{WEB_PORT}")
        proxy = (folder / "proxy-access.log").read_text().splitlines()
    return web, proxy


def requests_of_web(lines: Sequence[str]) -> list[tuple[bool, str]]:
    """Every answer is a read of its file."""
    return [(False, line.split()[0]) for line in lines if line.startswith("/")]


def requests_of_proxy(lines: Sequence[str]) -> list[tuple[bool, str]]:
    """A hit reads the stored file, a miss writes it."""
    # A check whether the proxy listens leaves a line without an address.
    answers = [line.split() for line in lines if " http://" in line]
    return [("HIT" not in result, "/" + url.rsplit("/", 1)[1]) for result, url, _ in answers]


def trace_of(answers: Sequence[tuple[bool, str]]) -> clockhand.Trace:
    """Files lie one behind the other in the order of their names, each from a block's start."""
    bytes_of = sizes()
    blocks = np.ceil(np.array(bytes_of) / BLOCK_BYTES).astype(np.uint64)
    starts = np.concatenate([[0], np.cumsum(blocks)[:-1]]).astype(np.uint64) * BLOCK_BYTES
    numbers = [int(name[1:4]) for _, name in answers]
    return clockhand.Trace.from_arrays(
        [writes for writes, _ in answers],
        starts[numbers],
        np.array(bytes_of, dtype=np.uint32)[numbers],
    )


def main() -> None:
    missing = [server for server in ("nginx", "squid") if shutil.which(server) is None]
    if missing:
        raise SystemExit(f"{missing[0]} is not installed")
    with tempfile.TemporaryDirectory(prefix="servers-") as name:
        web, proxy = serve(Path(name))
    for server, answers in (("nginx", requests_of_web(web)), ("squid", requests_of_proxy(proxy))):
        if len(answers) != REQUESTS:
            raise SystemExit(f"{server} logged {len(answers)} answers of {REQUESTS}")
    recipe = f"{FILES} files, {REQUESTS} requests, Zipf {ZIPF}, seeds {SIZES_SEED} {REQUESTS_SEED}"
    made = {
        "web": (requests_of_web(web), "nginx's access log"),
        "proxy": (requests_of_proxy(proxy), "squid's access log, disk cache only"),
    }
    for server, (answers, source) in made.items():
        labels = [("source", source), ("recipe", recipe), ("kind", "stand-in")]
        clockhand.convert_traces(trace_of(answers), HERE / f"{server}.parquet", labels=labels)


if __name__ == "__main__":
    main()
