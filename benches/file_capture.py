"""How much slower a program runs while its calls on files are seen, by each way to see them.

    .venv/bin/python benches/file_capture.py [--runs N]

Alternate runs of three programs alone, under `trace capture --files` (without the conversion that
follows), under strace with and without a filter, under the two ways in `file_capture/ways.c`, and
in a file system of bindfs, which passes everything through FUSE and writes nothing down; with all
processors, and on one. Needs root for fanotify and bindfs; ways that this machine refuses are left
out. Prints a table of ratios of the least wall time and of the least processor time, and writes
results/file_capture.json.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FILES = 4000
FILE_BYTES = 2048
SOURCE = '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n'
CALLS = (
    "read,write,pread64,pwrite64,readv,writev,preadv,pwritev,sendfile,copy_file_range,splice,fsync,"
    "fdatasync,ftruncate,truncate,fallocate,openat,open,creat,close,dup,dup2,dup3,fcntl,lseek,unlink,"
    "unlinkat,rename,renameat,renameat2,link,linkat,mmap,munmap,mremap,clone,clone3,fork,vfork,execve"
)
THROUGH_FUSE = """
bindfs -f "$1" "$2" & server=$!
until mountpoint -q "$2"; do kill -0 $server || exit 1; done
mount=$2; shift 2
(cd "$mount" && exec "$@"); status=$?
umount "$mount" && wait $server
exit $status
"""


@dataclass(frozen=True)
class Times:
    """What a run took, in seconds."""

    wall: float
    processor: float


def ways(folder: Path, mount: Path) -> dict[str, list[str]]:
    """What stands in front of the command, by the name of the way."""
    log = str(folder / "log")
    following = [sys.executable, "-P", "-m", "clockhand.capture.following", log, "1", "stopped"]
    found = {"alone": [], "trace capture --files": following}
    if shutil.which("strace"):
        plain = ["strace", "-f", "-qq", "-ttt", "-y", "-o", log]
        found["strace -f"] = plain
        found["strace -f --seccomp-bpf"] = [*plain, "--seccomp-bpf", "-e", f"trace={CALLS}"]
    if shutil.which("cc"):
        tool = str(folder / "ways")
        source = HERE / "file_capture" / "ways.c"
        subprocess.run(["cc", "-O2", "-o", tool, source], check=True)
        found["seccomp user notification"] = [tool, "notification", log]
        found["fanotify"] = [tool, "fanotify", log]
    if shutil.which("bindfs"):
        found["FUSE (bindfs)"] = ["sh", "-c", THROUGH_FUSE, "sh", str(folder), str(mount)]
    return found


def programs(folder: Path) -> dict[str, list[str]]:
    """Commands that run in the folder."""
    (folder / "tree").mkdir()
    for number in range(FILES):
        (folder / f"tree/{number:05}").write_bytes(bytes([number % 251]) * FILE_BYTES)
    (folder / "hello.c").write_text(SOURCE)
    compile_often = "for n in 1 2 3 4 5 6 7 8 9 10; do cc -O2 -c hello.c -o hello$n.o; done"
    return {
        f"tar of {FILES:,} files of 2 kB": ["tar", "-cf", "tree.tar", "tree"],
        "10 times cc -O2 on a small file": ["sh", "-c", f"{compile_often}; ar rc all.a hello*.o"],
        "md5sum of the same files": ["sh", "-c", "md5sum tree/* > sums"],
    }


def run(command: Sequence[str], folder: Path) -> Times | None:
    """Run to the end; none if the way does not work here."""
    (folder / "log").write_bytes(b"")
    begun = time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None
    return Times(time.monotonic() - begun, used.ru_utime + used.ru_stime)


def start_of(way: list[str], folder: Path) -> Times:
    """What a way takes for a program that does nothing, which is not counted."""
    found = [run([*way, "true"], folder) for _ in range(3)]
    known = [times for times in found if times is not None]
    if not way or not known:
        return Times(0, 0)
    return Times(min(one.wall for one in known), min(one.processor for one in known))


def measured(runs: int, known: dict[str, list[str]], folder: Path) -> list[dict[str, object]]:
    """A row for each program and way, by alternate runs."""
    rows: list[dict[str, object]] = []
    starts = {way: start_of(prefix, folder) for way, prefix in known.items()}
    for program, command in programs(folder).items():
        least: dict[str, Times] = {}
        for _ in range(runs):
            for way, prefix in known.items():
                times = run([*prefix, *command], folder)
                if times is None:
                    continue
                before = least.get(way, times)
                least[way] = Times(
                    min(times.wall, before.wall), min(times.processor, before.processor)
                )
        for way, times in least.items():
            wall = times.wall - starts[way].wall
            processor = times.processor - starts[way].processor
            row: dict[str, object] = {
                "processors": len(os.sched_getaffinity(0)),
                "program": program,
                "way": way,
                "wall_seconds": round(wall, 3),
                "wall_ratio": round(wall / least["alone"].wall, 2),
                "processor_seconds": round(processor, 3),
                "processor_ratio": round(processor / least["alone"].processor, 2),
            }
            print(*row.values(), sep="\t", flush=True)
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    everywhere = os.sched_getaffinity(0)
    rows = []
    for processors in (everywhere, {min(everywhere)}):
        with (
            tempfile.TemporaryDirectory(prefix="file-capture-") as name,
            tempfile.TemporaryDirectory(prefix="file-capture-mount-") as mount,
        ):
            os.sched_setaffinity(0, processors)
            folder = Path(name)
            rows += measured(runs, ways(folder, Path(mount)), folder)
    facts = {"kernel": platform.release(), "processors": os.cpu_count(), "load": os.getloadavg()[0]}
    result = {"made by": f"benches/file_capture.py --runs {runs}", "machine": facts, "rows": rows}
    (HERE / "results/file_capture.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
