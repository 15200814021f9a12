"""A web server and a proxy under load on the loopback; what they do to files, captured.

    .venv/bin/python traces/servers/calls/capture.py [web] [proxy] [web-many] [proxy-many]

It needs nginx and squid. Each server has a load of its own, with fixed seeds, one request after
the other, or of several clients at once that ask for many more files, most of them once or never;
`clockhand trace capture --files` follows the server, and nothing else. All traces are cut to the
files that belong to the service: what is served or stored, and the logs.
"""

import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import clockhand

HERE = Path(__file__).parent
CLOCKHAND = Path(sys.executable).parent / "clockhand"
WEB_PORT, PROXY_PORT = 18080, 18081
USER = "proxy"
"""Whom squid becomes where root starts it, as Debian names it."""
SECONDS_TO_START = 60


@dataclass(frozen=True)
class Load:
    """Files whose sizes are log-normal, asked for by a popularity of Zipf."""

    files: int
    requests: int
    median_bytes: int
    sigma: float
    largest_bytes: int
    exponent: float
    seed: int
    clients: int = 1

    def sizes(self) -> list[int]:
        """Bytes of each file."""
        generator = np.random.default_rng(self.seed)
        drawn = generator.lognormal(np.log(self.median_bytes), self.sigma, self.files)
        return [int(size) for size in np.clip(drawn, 1, self.largest_bytes)]

    def asked(self) -> list[int]:
        """Which file each request asks for."""
        weights = 1 / np.arange(1, self.files + 1) ** self.exponent
        # Popularity and size have nothing to do with each other.
        generator = np.random.default_rng(self.seed + 1)
        ranked = generator.permutation(self.files)
        ranks = generator.choice(self.files, self.requests, p=weights / weights.sum())
        return [int(ranked[rank]) for rank in ranks]

    def said(self) -> str:
        return (
            f"{self.files} files, log-normal with median {self.median_bytes} bytes, sigma "
            f"{self.sigma}, at most {self.largest_bytes}; {self.requests} requests, Zipf "
            f"{self.exponent}; seed {self.seed}; {self.clients} clients"
        )


WEB_LOAD = Load(400, 12_000, 8 << 10, 1.3, 512 << 10, 0.9, 2020)
PROXY_LOAD = Load(1500, 9_000, 5 << 10, 1.5, 1 << 20, 0.7, 53)
WEB_MANY = Load(8_000, 12_000, 8 << 10, 1.3, 512 << 10, 0.6, 2026, clients=8)
PROXY_MANY = Load(6_000, 9_000, 5 << 10, 1.5, 1 << 20, 0.6, 2027, clients=8)

WEB = """
daemon off; master_process off; pid web.pid; error_log error.log; user {user};
events {{}}
http {{
  access_log access.log;
  sendfile on;
  server {{ listen 127.0.0.1:{port}; root files; add_header Cache-Control max-age=86400; }}
}}
"""

# No memory cache: every hit is a read of a file on disk. The store holds a part of what is asked
# for.
PROXY = """
http_port 127.0.0.1:{port}
pid_filename {folder}/proxy.pid
cache_log {folder}/cache.log
coredump_dir {folder}
cache_mem 0
memory_cache_mode disk
maximum_object_size 1 MB
cache_dir ufs {folder}/cache 16 16 16
access_log stdio:{folder}/access.log
http_access allow all
cache_effective_user {user}
shutdown_lifetime 0 seconds
"""


def name_of(number: int) -> str:
    return f"/{number:04}.bin"


@contextmanager
def running(command: Sequence[str], port: int, pid: Path) -> Iterator[None]:
    """Run a server until the block ends."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
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
        # The server itself, not the command that captures it.
        subprocess.run(["kill", "-TERM", pid.read_text().strip()], check=True)
        server.wait(timeout=120)


def put(load: Load, port: int, prefix: str) -> None:
    """Ask for the files of a load: each client for its share, one after the other."""
    asked = load.asked()

    def client(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for file in asked[number :: load.clients]:
            connection.request("GET", prefix + name_of(file))
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{name_of(file)}: status {answer.status}")
            if answer.will_close:
                connection.close()

    with ThreadPoolExecutor(load.clients) as clients:
        list(clients.map(client, range(load.clients)))


def nginx(folder: Path, load: Load) -> list[str]:
    """Prepare a web server of a load's files; its command."""
    (folder / "files").mkdir()
    for number, size in enumerate(load.sizes()):
        (folder / f"files{name_of(number)}").write_bytes(b"\0" * size)
    (folder / "nginx.conf").write_text(WEB.format(port=WEB_PORT, user="root"))
    return ["nginx", "-p", str(folder), "-c", "nginx.conf"]


def captured(command: Sequence[str], folder: Path) -> list[str]:
    words = [str(CLOCKHAND), "trace", "capture", "--files", "--out", str(folder / "all.parquet")]
    return [*words, "--", *command]


def web(folder: Path, load: Load) -> None:
    """Capture nginx; the names of files that belong to the service begin so."""
    command = nginx(folder, load)
    with running(captured(command, folder), WEB_PORT, folder / "web.pid"):
        put(load, WEB_PORT, "")


def proxy(folder: Path, load: Load) -> None:
    """Capture squid in front of an nginx that is not captured."""
    origin = folder / "origin"
    origin.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, USER)
    (folder / "squid.conf").write_text(PROXY.format(port=PROXY_PORT, folder=folder, user=USER))
    squid = ["squid", "-f", str(folder / "squid.conf"), "-N"]
    subprocess.run([*squid, "-z"], check=True, capture_output=True)
    with (
        running(nginx(origin, load), WEB_PORT, origin / "web.pid"),
        running(captured(squid, folder), PROXY_PORT, folder / "proxy.pid"),
    ):
        put(load, PROXY_PORT, f"http://127.0.0.1:{WEB_PORT}")


def cut(folder: Path, name: str, recipe: str) -> None:
    """Keep the events of files below the folder, and write the trace beside this file."""
    clockhand.convert_traces(folder / "all.parquet", folder / "all.events")
    kept, own = [], {"*"}
    prefix = f"{folder.resolve()}/"
    for line in (folder / "all.events").read_text().splitlines():
        if line.startswith("# object "):
            label, _, path = line.removeprefix("# object ").partition(": ")
            if path.startswith(prefix):
                own.add(label)
                kept.append(f"# object {label}: {path.removeprefix(prefix)}")
        elif not line.startswith("#") and line.split()[2] in own:
            kept.append(line)
    (folder / "own.events").write_text("\n".join(kept) + "\n")
    program = {"web": "nginx -v", "proxy": "squid -v"}[name.removesuffix(MANY)]
    said = subprocess.run(program.split(), capture_output=True, text=True, check=True)
    version = (said.stdout or said.stderr).splitlines()[0]
    labels = [
        ("source", f"{version}, captured by clockhand trace capture --files"),
        ("recipe", recipe),
        ("kind", "stand-in"),
    ]
    clockhand.convert_traces(folder / "own.events", HERE / f"{name}.parquet", labels=labels)


MANY = "-many"
SERVERS: dict[str, tuple[Callable[[Path, Load], None], Load]] = {
    "web": (web, WEB_LOAD),
    "proxy": (proxy, PROXY_LOAD),
    f"web{MANY}": (web, WEB_MANY),
    f"proxy{MANY}": (proxy, PROXY_MANY),
}


def main() -> None:
    missing = [server for server in ("nginx", "squid") if shutil.which(server) is None]
    if missing:
        raise SystemExit(f"{missing[0]} is not installed")
    for name in sys.argv[1:] or list(SERVERS):
        with tempfile.TemporaryDirectory(prefix="servers-") as folder:
            serve, load = SERVERS[name]
            serve(Path(folder), load)
            cut(Path(folder), name, load.said())


if __name__ == "__main__":
    main()
