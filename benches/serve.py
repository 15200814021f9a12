"""`clockhand serve` beside nbdkit's file plugin, its cache filter, and qemu-nbd: one file, fio.

    .venv/bin/python benches/serve.py [--seconds 3] [--rounds 3] [--folder /tmp] [--direct]

Requests have 4 KiB and a depth of 16. `reads` are random reads, `rewrites` random writes within a
range that the buffer holds, `mix` has both, and `synced` rewrites with an fsync after each 32.
`evicting` is a mix over the whole disk, so that each write makes `serve` write back. The servers
are measured in turns; for each job it prints the median of requests per second, of the 99th
percentile and of the server's CPU time for a request, which other work on the machine changes
least, and writes benches/results/serve.json with the load.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compare import machine

import clockhand

RESULTS = Path(__file__).with_name("results") / "serve.json"
CLOCKHAND = Path(__file__).resolve().parents[1] / ".venv/bin/clockhand"
DISK_BYTES = 256 << 20
RANGE_BYTES = 32 << 20
JOBS = {
    "reads": ["--rw=randread", f"--size={DISK_BYTES}"],
    "rewrites": ["--rw=randwrite", f"--size={RANGE_BYTES}"],
    "mix": ["--rw=randrw", f"--size={RANGE_BYTES}"],
    "evicting": ["--rw=randrw", f"--size={DISK_BYTES}"],
    "synced": ["--rw=randwrite", f"--size={RANGE_BYTES}", "--fsync=32"],
}
SERVERS = {
    "serve fab": ["--buffer", "fab:total=64MiB"],
    "serve clock-dnv": ["--buffer", "clock-dnv:total=64MiB", "--nvm", "nvm.img"],
    "nbdkit file": ["nbdkit", "-f", "-U", "disk.sock", "file", "disk.img"],
    "nbdkit cache": ["nbdkit", "-f", "-U", "disk.sock", "--filter=cache", "file", "disk.img"],
    "qemu-nbd": ["qemu-nbd", "-t", "-f", "raw", "-e", "16", "-k", "{folder}/disk.sock", "disk.img"],
}


GOALS = (
    ("reads", "nbdkit file", 0.9),
    ("rewrites", "nbdkit file", 1.2),
    ("rewrites", "nbdkit cache", 1.5),
)
"""Of which job `serve fab` has to be how many times as fast as which peer."""


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process until now."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(name: str, folder: Path) -> Iterator[tuple[Path, int]]:
    """Serve the disk while the block runs; its socket, and the number of the process."""
    words = [word.format(folder=folder) for word in SERVERS[name]]
    if name.startswith("serve"):
        words = [str(CLOCKHAND), "serve", "--disk", "disk.img", "--socket", "disk.sock", *words]
        words += ["--format", "json", "--out", "row.json"]
    socket = folder / "disk.sock"
    socket.unlink(missing_ok=True)
    process = subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL)
    while not socket.exists():
        time.sleep(0.05)
    try:
        yield socket, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def measured(name: str, job: str, folder: Path, seconds: int) -> dict[str, Any]:
    """Run a job against a server; requests per second and p99, and pages to the disk."""
    with served(name, folder) as (socket, process):
        time.sleep(1)  # It starts.
        before = cpu_seconds(process)
        done = subprocess.run(
            [
                "fio", "--name=job", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={socket}",
                "--bs=4k", "--iodepth=16", "--time_based", f"--runtime={seconds}",
                "--output-format=json", "--randseed=7", *JOBS[job],
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
        used = cpu_seconds(process) - before
    # fio says some things before its JSON.
    (result,) = json.loads(done.stdout[done.stdout.index(b"{") :])["jobs"]
    kinds = [result[kind] for kind in ("read", "write") if result[kind]["total_ios"]]
    row: dict[str, Any] = {
        "requests_per_s": sum(kind["iops"] for kind in kinds),
        "p99_us": max(kind["clat_ns"]["percentile"]["99.000000"] / 1000 for kind in kinds),
        "cpu_us_per_request": 1e6 * used / sum(kind["total_ios"] for kind in kinds),
    }
    if name.startswith("serve"):
        (counts,) = json.loads((folder / "row.json").read_text())
        assert counts["disk_pages_written"] == counts["host_writes"]
        row["pages_to_disk_per_write"] = counts["host_writes"] / max(counts["write_requests"], 1)
    return row


def medians(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the medians of several runs."""
    return {name: round(statistics.median(row[name] for row in rows), 3) for name in rows[0]}


def main() -> None:
    """Measure every job, the servers in turns, and say which goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--direct", action="store_true", help="serve past the kernel's cache")
    given = parser.parse_args()
    missing = [tool for tool in ("fio", "nbdkit", "qemu-nbd") if shutil.which(tool) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return
    if given.direct:
        for name in ("serve fab", "serve clock-dnv"):
            SERVERS[name].append("--direct")
    load = os.getloadavg()
    rows = []
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        (folder / "disk.img").write_bytes(os.urandom(1 << 20) * (DISK_BYTES >> 20))
        for job in given.jobs:
            runs: dict[str, list[dict[str, Any]]] = {server: [] for server in SERVERS}
            for _ in range(given.rounds):
                for server, done in runs.items():
                    done.append(measured(server, job, folder, given.seconds))
            for server, done in runs.items():
                row = {"job": job, "server": server, **medians(done)}
                rows.append(row)
                rate, p99_us, cpu_us = (row[name] for name in list(row)[2:5])
                told = f"{rate:9,.0f}/s  p99 {p99_us:9,.0f} µs  CPU {cpu_us:6.1f} µs a request"
                print(f"{job:9} {server:16} {told}", flush=True)
    rates = {(row["job"], row["server"]): row["requests_per_s"] for row in rows}
    for job, peer, goal in GOALS:
        if job not in given.jobs:
            continue
        ratio = rates[job, "serve fab"] / rates[job, peer]
        print(
            f"{job} over {peer}: {ratio:.2f}, goal {goal}: {'met' if ratio >= goal else 'MISSED'}"
        )
    settings = {"seconds": given.seconds, "rounds": given.rounds, "direct": given.direct}
    facts = {**machine(), "load": [*load, *os.getloadavg()], "version": clockhand.__version__}
    result = {"machine": facts, "settings": settings, "rows": rows}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
