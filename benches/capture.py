"""How much slower a program runs while it is captured: gzip and sqlite3, natively, under both front
ends, and on a small input under Valgrind's lackey.

Processor seconds of the program, and seconds on the clock of the whole command, whose conversion to
Parquet goes on beside the program; see README.md.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clockhand import __version__
from clockhand.capture import Caches
from clockhand.capture.front_ends import Run, find_front_end
from clockhand.capture.programs import Program

TEXT_LINES = 300_000
SMALL_TEXT_LINES = 200
TABLE_ROWS = 150_000
SMALL_TABLE_ROWS = 20
SQL = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {rows}) "
    "SELECT count(*) FROM (SELECT x * 7919 % 100003 AS y FROM n ORDER BY y, x);"
)
FRONT_ENDS = ("valgrind", "qemu")


def text(lines: int) -> str:
    """Return lines of numbers that repeat a little, as logs do."""
    return "".join(f"{line} {line * 2_654_435_761 % 2**32:x} GET /page\n" for line in range(lines))


def cpu_seconds(command: Sequence[str], environment: dict[str, str], output: Path) -> float:
    """Run a command to its end; the processor time of it and its children."""
    with open(output, "wb") as file:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def captured(front_end: str, command: Sequence[str], output: Path) -> float:
    """Return the processor time of a command under a front end, with memory of system calls."""
    program = Program.find(command)
    tool = find_front_end(front_end, program)
    tool.prepare()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), Caches(), True, tool.includes_system_calls(None))
        words, environment = tool.command(program, run)
        return cpu_seconds(words, dict(environment), output)


def whole_seconds(command: Sequence[str], output: Path) -> float:
    """Return the seconds on the clock of a command."""
    with open(output, "wb") as file:
        begin = time.perf_counter()
        subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=True)
        return time.perf_counter() - begin


def lackey(command: Sequence[str], output: Path) -> float:
    """Return the processor time of a command under lackey, which writes to a file."""
    log = output.with_name("lackey.log")
    options = ["--quiet", "--tool=lackey", "--trace-mem=yes", f"--log-file={log}"]
    return cpu_seconds(["valgrind", *options, *command], {}, output)


def measure(name: str, large: list[str], small: list[str], rounds: int, folder: Path) -> Any:
    """Return one row: medians of interleaved rounds, and ratios of these medians."""
    output = folder / "output"
    seconds: dict[str, list[float]] = {"native": [], **{end: [] for end in FRONT_ENDS}}
    capture = [
        str(Path(sys.executable).with_name("clockhand")),
        "trace",
        "capture",
        "--out",
        str(folder / "captured.parquet"),
        "--",
    ]
    whole: dict[str, list[float]] = {"native": [], "captured": []}
    for _ in range(rounds):
        seconds["native"].append(cpu_seconds(large, {}, output))
        whole["native"].append(whole_seconds(large, output))
        whole["captured"].append(whole_seconds([*capture, *large], output))
        for front_end in FRONT_ENDS:
            seconds[front_end].append(captured(front_end, large, output))
    medians = {end: statistics.median(times) for end, times in seconds.items()}
    small_seconds = {
        "valgrind": captured("valgrind", small, output),
        "lackey": lackey(small, output),
    }
    return {
        "program": name,
        "native_cpu_seconds": medians["native"],
        **{f"{end}_slowdown": medians[end] / medians["native"] for end in FRONT_ENDS},
        "native_seconds": statistics.median(whole["native"]),
        "whole_command_seconds": statistics.median(whole["captured"]),
        "small_valgrind_cpu_seconds": small_seconds["valgrind"],
        "small_lackey_cpu_seconds": small_seconds["lackey"],
    }


def machine() -> dict[str, Any]:
    """Return what a reader must know of the machine."""
    said = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True)
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "load_average": os.getloadavg()[0],
        "valgrind": said.stdout.strip(),
        "clockhand": __version__,
    }


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/capture.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "large").write_text(text(TEXT_LINES))
        (folder / "small").write_text(text(SMALL_TEXT_LINES))
        gzip = ["gzip", "--stdout"]
        sqlite = ["sqlite3", ":memory:"]
        rows = [
            measure(
                "gzip",
                [*gzip, str(folder / "large")],
                [*gzip, str(folder / "small")],
                options.rounds,
                folder,
            ),
            measure(
                "sqlite3",
                [*sqlite, SQL.format(rows=TABLE_ROWS)],
                [*sqlite, SQL.format(rows=SMALL_TABLE_ROWS)],
                options.rounds,
                folder,
            ),
        ]
    command = f"benches/capture.py --rounds {options.rounds}"
    result = {"command": command, "machine": machine(), "rows": rows}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
