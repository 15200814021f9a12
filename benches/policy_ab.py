"""Compares the replay speed of two versions of the policies in one process.

``.venv/bin/python benches/policy_ab.py COMMIT --policy car --policy arc`` builds the policies of
COMMIT and those of the working tree into one program (``policy_ab/main.rs``), which replays one
trace with both in turn and fails unless they count the same. Prints CSV: CPU nanoseconds per
reference (medians) at 10,000 and 100,000 frames or at ``--frames``, and the ratio of both (median,
least, greatest).
"""

import argparse
import os
import subprocess
from pathlib import Path

from versions import ROOT, unpacked

POLICIES = "crates/policy/src"
MANIFEST = """
[package]
name = "policy-ab"
version = "0.0.0"
edition = "2024"

[[bin]]
name = "policy-ab"
path = "{main}"

[dependencies]
policies-before = {{ path = "before" }}
policies-after = {{ path = "after" }}
clockhand-prefetch = {{ path = "{prefetch}" }}

[workspace]

[lints.rust]
unexpected_cfgs = {{ level = "allow" }}

[profile.release]
lto = "fat"
codegen-units = 1
"""
# What a version can do, with the function of its memory.
USED_IF_THERE = {
    "looks_ahead": "look_ahead",
    "fetches_ahead": "fetch_ahead",
    "replaces": "replace",
    "has_fast_functions": "hit_run",
}
POLICIES_MANIFEST = """
[package]
name = "policies-{version}"
version = "0.0.0"
edition = "2024"
"""


def main() -> None:
    """Build both versions and compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="the version to compare the working tree with")
    parser.add_argument("--policy", action="append", required=True)
    parser.add_argument("--references", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", type=int, nargs="+", default=[10_000, 100_000])
    options = parser.parse_args()
    folder = ROOT / "target" / "policy-ab"
    program = build(folder, options.commit)
    frames = ",".join(map(str, options.frames))
    counts = [str(options.references), str(options.rounds), frames]
    subprocess.run([program, *counts, *options.policy], check=True)


def build(folder: Path, commit: str) -> Path:
    """Return a program with the policies of a commit and those of the working tree."""
    sources = {
        "before": unpacked(folder / "commit", commit, [POLICIES]) / POLICIES,
        "after": ROOT / POLICIES,
    }
    for version, source in sources.items():
        crate = folder / version
        crate.mkdir(parents=True, exist_ok=True)
        (crate / "Cargo.toml").write_text(POLICIES_MANIFEST.format(version=version))
        link = crate / "src"
        link.unlink(missing_ok=True)
        link.symlink_to(source)
    places = {"main": ROOT / "benches/policy_ab/main.rs", "prefetch": ROOT / "crates/prefetch"}
    (folder / "Cargo.toml").write_text(MANIFEST.format(**places))
    flags = [
        f"--cfg {version}_{can}"
        for version, source in sources.items()
        for can, function in USED_IF_THERE.items()
        if f"fn {function}(" in memory_of(source)
    ]
    command = ["cargo", "build", "--release", "--quiet", "--offline", "--manifest-path"]
    environment = {**os.environ, "RUSTFLAGS": " ".join(flags)}
    subprocess.run([*command, str(folder / "Cargo.toml")], check=True, env=environment)
    return folder / "target" / "release" / "policy-ab"


def memory_of(source: Path) -> str:
    """Return the text of a version's memory, which was in one file once."""
    files = [source / "memory.rs", *sorted((source / "memory").glob("*.rs"))]
    return "".join(file.read_text() for file in files)


if __name__ == "__main__":
    main()
