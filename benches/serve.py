"""`clockhand serve` beside nbdkit's file plugin, its cache filter, and qemu-nbd: one file, fio.

    .venv/bin/python benches/serve.py [--seconds 5] [--folder /tmp]

Requests have 4 KiB and a depth of 16. `reads` are random reads, `rewrites` random writes within a
range that the buffer holds, `mix` has both, and `synced` rewrites with an fsync after each 32. For
each it prints requests per second and the 99th percentile, and of `serve` the pages that went to
the disk.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLOCKHAND = Path(__file__).resolve().parents[1] / ".venv/bin/clockhand"
DISK_BYTES = 256 << 20
RANGE_BYTES = 32 << 20
JOBS = {
    "reads": ["--rw=randread", f"--size={DISK_BYTES}"],
    "rewrites": ["--rw=randwrite", f"--size={RANGE_BYTES}"],
    "mix": ["--rw=randrw", f"--size={RANGE_BYTES}"],
    "synced": ["--rw=randwrite", f"--size={RANGE_BYTES}", "--fsync=32"],
}
SERVERS = {
    "serve fab": ["--buffer", "fab:total=64MiB"],
    "serve clock-dnv": ["--buffer", "clock-dnv:total=64MiB", "--nvm", "nvm.img"],
    "nbdkit file": ["nbdkit", "-f", "-U", "disk.sock", "file", "disk.img"],
    "nbdkit cache": ["nbdkit", "-f", "-U", "disk.sock", "--filter=cache", "file", "disk.img"],
    "qemu-nbd": ["qemu-nbd", "-t", "-f", "raw", "-e", "16", "-k", "{folder}/disk.sock", "disk.img"],
}


@contextmanager
def served(name: str, folder: Path) -> Iterator[Path]:
    """Serve the disk while the block runs."""
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
        yield socket
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def measured(name: str, job: str, folder: Path, seconds: int) -> str:
    """Run a job against a server; requests per second and p99, and pages to the disk."""
    with served(name, folder) as socket:
        done = subprocess.run(
            [
                "fio", "--name=job", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={socket}",
                "--bs=4k", "--iodepth=16", "--time_based", f"--runtime={seconds}",
                "--output-format=json", "--randseed=7", *JOBS[job],
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
    # fio says some things before its JSON.
    (result,) = json.loads(done.stdout[done.stdout.index(b"{") :])["jobs"]
    parts = []
    for kind in ("read", "write"):
        if result[kind]["total_ios"]:
            p99_us = result[kind]["clat_ns"]["percentile"]["99.000000"] / 1000
            parts.append(f"{kind} {result[kind]['iops']:8.0f}/s p99 {p99_us:7.0f} µs")
    if name.startswith("serve"):
        (row,) = json.loads((folder / "row.json").read_text())
        assert row["disk_pages_written"] == row["host_writes"]
        parts.append(f"{row['host_writes']} pages to disk in {row['batches']} batches")
    return ", ".join(parts)


def main() -> None:
    """Measure every server with every job, the servers in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    missing = [tool for tool in ("fio", "nbdkit", "qemu-nbd") if shutil.which(tool) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        (folder / "disk.img").write_bytes(os.urandom(1 << 20) * (DISK_BYTES >> 20))
        for job in JOBS:
            for server in SERVERS:
                told = measured(server, job, folder, given.seconds)
                print(f"{job:9} {server:16} {told}", flush=True)


if __name__ == "__main__":
    main()
