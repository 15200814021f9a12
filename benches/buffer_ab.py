"""Compares the speed of every write buffer in front of a collecting drive in two versions.

``.venv/bin/python benches/buffer_ab.py COMMIT`` builds buffers and drive of COMMIT and those of the
working tree into a program each (``buffer_ab/main.rs``), runs them in turn, and fails unless they
count the same. Prints a Markdown table: millions of host pages (for ``bplru`` of flash programs)
per CPU second before and after, and the ratio of both (median, least, greatest), with the load.
``--instructions`` counts instructions per host page with callgrind instead, which takes longer and
does not depend on what else the machine does.
"""

import argparse
import csv
import io
import os
import re
import subprocess
from pathlib import Path
from statistics import median

from versions import ROOT, unpacked

SOURCES = ["crates", "Cargo.toml", "Cargo.lock"]
CLAIMED_IN_PROGRAMS = "bplru"
MANIFEST = """
[package]
name = "buffer-ab"
version = "0.0.0"
edition = "2024"

[[bin]]
name = "buffer-ab"
path = "{main}"

[dependencies]
clockhand-policy = {{ path = "{sources}/crates/policy" }}
clockhand-device = {{ path = "{sources}/crates/device" }}

[workspace]

[lints.rust]
unexpected_cfgs = {{ level = "allow" }}

[profile.release]
lto = "fat"
codegen-units = 1
"""


def main() -> None:
    """Build both versions, run them in turn and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="the version to compare the working tree with")
    parser.add_argument("--buffer", action="append", default=[], help="one of the buffers; all")
    parser.add_argument("--total", type=int, default=4096, help="pages of a buffer")
    parser.add_argument("--pages", type=int, default=4_000_000, help="host pages")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    folder = ROOT / "target" / "buffer-ab"
    sources = {"before": unpacked(folder / "commit", options.commit, SOURCES), "after": ROOT}
    programs = {name: build(folder / name, source) for name, source in sources.items()}
    if options.instructions:
        print_instructions(programs, options)
    else:
        print_speeds(programs, options)


def build(folder: Path, sources: Path) -> Path:
    """Return a program with the buffers and the drive of one version."""
    folder.mkdir(parents=True, exist_ok=True)
    main_file = ROOT / "benches/buffer_ab/main.rs"
    (folder / "Cargo.toml").write_text(MANIFEST.format(main=main_file, sources=sources))
    # The same versions of the libraries.
    (folder / "Cargo.lock").write_bytes((sources / "Cargo.lock").read_bytes())
    batched = "fn write_all" in (sources / "crates/device/src/flash/drive.rs").read_text()
    environment = {**os.environ, "RUSTFLAGS": "--cfg batched" if batched else ""}
    command = ["cargo", "build", "--release", "--quiet", "--offline", "--manifest-path"]
    subprocess.run([*command, str(folder / "Cargo.toml")], check=True, env=environment)
    return folder / "target" / "release" / "buffer-ab"


def run(program: Path, options: argparse.Namespace) -> dict[str, dict[str, int]]:
    """Return what one version took and counted, by buffer."""
    command = [str(program), str(options.pages), str(options.total), *options.buffer]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = csv.DictReader(io.StringIO(output))
    return {row.pop("buffer"): {name: int(value) for name, value in row.items()} for row in rows}


def print_speeds(programs: dict[str, Path], options: argparse.Namespace) -> None:
    """Run the versions in turn; print millions per CPU second."""
    loads = [os.getloadavg()[0]]
    rounds = []
    for _ in range(options.rounds):
        rounds.append({name: run(program, options) for name, program in programs.items()})
        loads.append(os.getloadavg()[0])
    print("| buffer | unit | before | after | ratio |\n|---|---|---|---|---|")
    for buffer, counts in rounds[0]["after"].items():
        times: dict[str, list[int]] = {name: [] for name in programs}
        for versions in rounds:
            for name, version in versions.items():
                times[name].append(version[buffer].pop("cpu_ns"))
            if versions["before"][buffer] != versions["after"][buffer]:
                raise SystemExit(f"{buffer}: the versions count differently: {versions}")
        in_programs = buffer.partition(":")[0] == CLAIMED_IN_PROGRAMS
        work = counts["flash_programs"] if in_programs else options.pages
        speeds = [work * 1000 / median(times[name]) for name in ("before", "after")]
        ratios = sorted(b / a for b, a in zip(times["before"], times["after"], strict=True))
        print(
            f"| `{buffer}` | {'flash programs' if in_programs else 'host pages'} | {speeds[0]:.1f} "
            f"| {speeds[1]:.1f} | {median(ratios):.1f} ({ratios[0]:.1f}–{ratios[-1]:.1f}) |"
        )
    print(f"\nload {min(loads):.1f} to {max(loads):.1f}, {options.rounds} rounds")


def print_instructions(programs: dict[str, Path], options: argparse.Namespace) -> None:
    """Print instructions per host page, start-up taken out by a run of a third of the pages."""
    print("| buffer | before | after |\n|---|---|---|")
    for buffer in options.buffer or run(
        programs["after"], argparse.Namespace(**{**vars(options), "pages": 1})
    ):
        per_page = [instructions(programs[name], buffer, options.total) for name in programs]
        print(f"| `{buffer}` | {per_page[0]:.0f} | {per_page[1]:.0f} |")


def instructions(program: Path, buffer: str, total: int) -> float:
    """Return the instructions per host page of the last 400,000 of 600,000."""
    counted = []
    for pages in (200_000, 600_000):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        command += [str(program), str(pages), str(total), buffer]
        messages = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        found = re.search(r"Collected : (\d+)", messages)
        if found is None:
            raise SystemExit(f"callgrind counted nothing: {messages}")
        counted.append(int(found.group(1)))
    return (counted[1] - counted[0]) / 400_000


if __name__ == "__main__":
    main()
