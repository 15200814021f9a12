"""The wheel, installed into an environment of its own: every command finds what it needs there.

It is built with the profile ``quick``, from what the tests have built, for the C library of this
machine. ``CLOCKHAND_WHEEL=FILE`` tries a wheel to be given away, as ``make wheel`` does.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import typer

from clockhand import _engine, command
from conftest import Clockhand, needed, run_clockhand
from many_commands import run_many

ROOT = Path(__file__).resolve().parents[2]
MATURIN = Path(sys.executable).with_name("maturin")
OBSTACLE = _engine.pager_obstacle()
REPRODUCED = {
    *ROOT.glob("traces/*.parquet"),
    *ROOT.glob("traces/files/*.parquet"),
    *ROOT.glob("traces/servers/calls/*.parquet"),
    *(
        ROOT / "experiments" / paper / f"{name}.toml"
        for paper in ("craw", "cflru", "clock-dnv", "scm")
        for name in ("experiment", "claims", "report")
    ),
    *ROOT.glob("traces/mobile/*.parquet"),
    ROOT / "experiments/devices/scm-memory.toml",
    ROOT / "experiments/results/craw/data-cache.csv",
    *ROOT.glob("experiments/recipes/*.toml"),
}
"""Files that come with the package, so that papers are reproduced without the repository."""
GIVEN_WHEEL = os.environ.get("CLOCKHAND_WHEEL")
PUBLISHED_GLIBC = (2, 28)
"""The oldest C library that a wheel which is given away must run with."""

# Touches 8 MiB twice, so that half of it goes to swap and comes back.
PROGRAM = "block = bytearray(8 << 20); block[::4096] = bytes([7]) * 2048; print(sum(block[::4096]))"

STATIC = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    unsigned sum = 0, *numbers = calloc(2 << 20, sizeof *numbers);
    for (int turn = 0; turn < 2; turn++)
        for (unsigned page = 0; page < 2048; page++)
            if (turn) sum += numbers[page << 10]; else numbers[page << 10] = page;
    printf("%u\\n", sum);
}
"""


def built_wheel(folder: Path) -> Path:
    """The wheel that is given, or one that is built into the folder."""
    if GIVEN_WHEEL:
        return Path(GIVEN_WHEEL)
    if not MATURIN.exists() or shutil.which("cargo") is None:
        pytest.skip("maturin or cargo is not here: no wheel was built")
    build = [MATURIN, "build", "--profile", "quick", "--locked", "--out", folder]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("wheel")).resolve()


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; its dependencies are those of our own environment."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    install = [
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        wheel,
    ]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder / "bin/python", *install], check=True
    )
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Clockhand:
    """The installed command, started in `tmp_path`, with a cache of its own."""
    return partial(
        run_clockhand,
        executable=environment / "bin/clockhand",
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )


def every_command() -> Iterator[list[str]]:
    """The words of each command and group of commands."""
    open_commands: list[tuple[list[str], object]] = [([], typer.main.get_command(command.app()))]
    while open_commands:
        words, found = open_commands.pop()
        yield words
        commands = getattr(found, "commands", {})
        open_commands += [([*words, name], inner) for name, inner in commands.items()]


def test_the_wheel_has_what_is_preloaded_and_what_is_reproduced(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    inputs = "clockhand/reproduce/inputs"
    expected = {f"{inputs}/{path.relative_to(ROOT)}" for path in REPRODUCED}
    assert {name for name in names if name.startswith(inputs)} == expected
    libraries = {"clockhand/_engine.abi3.so", "clockhand/libclockhand_preload.so"}
    assert {name for name in names if name.endswith(".so")} == libraries
    for source in ("filter/cache_filter.h", "valgrind/clockhand.c", "qemu/clockhand.c"):
        assert f"clockhand/capture/{source}" in names


def test_no_library_needs_a_newer_c_library_than_the_wheel_says(wheel: Path) -> None:
    """The preloaded library is a file for maturin, which looks at the engine only."""
    tag = re.search(r"-manylinux_(\d+)_(\d+)_", wheel.name)
    assert tag, f"{wheel.name} is for this machine only"
    promised = (int(tag[1]), int(tag[2]))
    assert not GIVEN_WHEEL or promised == PUBLISHED_GLIBC
    with zipfile.ZipFile(wheel) as package:
        for name in (name for name in package.namelist() if name.endswith(".so")):
            versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", package.read(name))
            newest = max((int(major), int(minor)) for major, minor in versions)
            assert newest <= promised, name


def test_every_installed_command_tells_how_it_is_used(environment: Path, tmp_path: Path) -> None:
    cases = [[*words, "--help"] for words in every_command()]
    assert len(cases) > 15
    for done in run_many(cases, tmp_path, python=environment / "bin/python"):
        assert done.code == 0 and "Usage: clockhand" in done.out, done


def test_the_installed_command_brings_its_manual_pages(
    installed: Clockhand, tmp_path: Path
) -> None:
    run = installed("man", "--folder", "man1")
    assert run.code == 0, run.err
    names = {"-".join(["clockhand", *words]) + ".1" for words in every_command()}
    assert {path.name for path in (tmp_path / "man1").iterdir()} == names
    assert installed("man", "ssd").out == (tmp_path / "man1/clockhand-ssd.1").read_bytes()


def test_the_installed_package_is_the_one_that_runs(environment: Path, tmp_path: Path) -> None:
    code = (
        "import clockhand, sys\n"
        "from clockhand.reproduce.packaged import packaged\n"
        "from clockhand.sweep import read_experiment\n"
        "print(clockhand.__file__)\n"
        "print(*read_experiment(packaged('craw', 'experiment.toml')).traces, sep='\\n')"
    )
    done = subprocess.run(
        [environment / "bin/python", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    files = [(tmp_path / line).resolve() for line in done.stdout.splitlines()]
    assert len(files) == 1 + len(list(ROOT.glob("traces/*.parquet")))
    assert all(file.is_relative_to(environment.resolve()) for file in files), files


def test_the_installed_command_simulates_and_tells_of_a_trace(
    installed: Clockhand, textbook: Path
) -> None:
    run = installed(
        "simulate", textbook.name, "--policy", "fifo", "--policy", "lru", "--frames", "3",
        "--format", "json", "--report", "report.html",
    )  # fmt: skip
    assert run.code == 0, run.err
    assert [row["misses"] for row in json.loads(run.out)] == [15, 12]
    assert "</html>" in textbook.with_name("report.html").read_text()
    run = installed("trace", "info", textbook.name)
    assert run.code == 0 and run.out, run.err


@pytest.mark.skipif(OBSTACLE is not None, reason=f"no program was paged: {OBSTACLE}")
def test_the_installed_command_runs_a_program(installed: Clockhand, tmp_path: Path) -> None:
    run = installed(
        "run", "--policy", "clock", "--memory", "4MiB", "--swap", "swap.img", "--format", "json",
        "--out", "rows.json", "--", os.path.realpath(sys.executable), "-c", PROGRAM,
    )  # fmt: skip
    assert run.code == 0, run.err
    assert run.out == b"14336\n"
    [row] = json.loads((tmp_path / "rows.json").read_text())
    assert row["misses"] == row[f"{row['bits']}_misses"] > 2048


@pytest.mark.skipif(OBSTACLE is not None, reason=f"no program was paged: {OBSTACLE}")
def test_the_installed_command_executes_the_library_for_a_static_program(
    installed: Clockhand, tmp_path: Path
) -> None:
    """As it was linked and installed, the library is a program too."""
    (tmp_path / "static.c").write_text(STATIC)
    build = [needed("cc"), "-static", "static.c", "-o", "static"]
    if subprocess.run(build, cwd=tmp_path, capture_output=True).returncode != 0:
        pytest.skip("no static program is built here")
    run = installed(
        "run", "--policy", "clock", "--memory", "1MiB", "--swap-in-ram", "--format", "json",
        "--out", "rows.json", "--", "./static",
    )  # fmt: skip
    assert (run.code, run.out) == (0, b"2096128\n"), run.err
    [row] = json.loads((tmp_path / "rows.json").read_text())
    assert row["misses"] == row[f"{row['bits']}_misses"] > 2048


def test_the_installed_command_reproduces_a_paper(
    installed: Clockhand, environment: Path, tmp_path: Path
) -> None:
    """On one trace at five memory sizes, with an experiment beside the one that is installed."""
    [inputs] = environment.glob("lib/python*/site-packages/clockhand/reproduce/inputs")
    text = (inputs / "experiments/craw/experiment.toml").read_text()
    small = text.replace("../../traces/*.parquet", str(inputs / "traces/sqlite3.parquet"))
    (tmp_path / "craw.toml").write_text(small.replace("1%..100%", "4%,8%,20%,50%,100%"))
    run = installed("reproduce", "craw", "--experiment", "craw.toml", "--format", "json")
    assert run.code == 0, run.err
    claims = {claim["claim"]: claim["verdict"] for claim in json.loads(run.out)}
    assert claims["equal-with-all-memory"] == "reproduced"


def test_the_links_of_the_package_are_the_repositorys_files() -> None:
    inputs = ROOT / "python/clockhand/reproduce/inputs"
    linked = {path.relative_to(inputs) for path in inputs.rglob("*.*")}
    assert linked == {path.relative_to(ROOT) for path in REPRODUCED}
    for path in REPRODUCED:
        assert (inputs / path.relative_to(ROOT)).resolve() == path
