"""A library is built once: the engine and the tests want the same features of it."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

DIFFERING = {"pyo3", "pyo3-build-config", "pyo3-ffi"}
"""An extension module and a test are linked to Python in different ways; nothing else depends on
these."""


def features(*options: str) -> set[str]:
    """Libraries with their versions and features, in a build with these options."""
    command = ["cargo", "tree", "--locked", "--offline", "--prefix", "none", "--no-dedupe"]
    try:
        done = subprocess.run(
            [*command, "--format", "{p} [{f}]", *options], cwd=ROOT, capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("cargo is not installed")
    if done.returncode != 0:
        pytest.skip(f"cargo has not all packages: {done.stderr.strip()[-200:]}")
    return {line for line in done.stdout.splitlines() if line}


@pytest.mark.parametrize(
    ("engine_edges", "tests_edges"),
    [
        ("normal,build", "normal,build,dev"),
        # Without what runs while others are built, whose features may differ.
        ("normal,no-proc-macro", "no-build,no-proc-macro"),
    ],
)
def test_what_the_engine_links_is_not_built_again_for_tests(
    engine_edges: str, tests_edges: str
) -> None:
    engine = features(
        "--package", "clockhand-python", "--features", "pyo3/extension-module",
        "--edges", engine_edges,
    )  # fmt: skip
    preload = features("--package", "clockhand-preload", "--edges", engine_edges)
    tests = features("--workspace", "--edges", tests_edges)
    again = {line for line in (engine | preload) - tests if line.split()[0] not in DIFFERING}
    assert not again, "Cargo.toml and crates/python/Cargo.toml name such features, for this reason"
