"""The image of the command: how it is built and tried, with an engine that only notes its calls."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text()
SCRIPT = ROOT / "packaging/container.sh"

ENGINE = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
case "$*" in
*'--entrypoint id'*) echo "$USER_OF_IMAGE" ;;
*simulate*) echo tar-gzip.parquet,craw,29 ;;
save*) echo layers ;;
esac
"""
BROKEN = "#!/bin/sh\necho 'the engine does not run' >&2\nexit 1\n"


def run(tmp_path: Path, *options: str, user: int = 1000, **engines: str) -> tuple[int, str, str]:
    """Run the script where only these engines are; its code, what it called, and what it said."""
    programs = tmp_path / "programs"
    programs.mkdir(exist_ok=True)
    for tool in ("sh", "id", "gzip", "grep", "basename", "cat"):
        if not (programs / tool).exists():
            (programs / tool).symlink_to(f"/bin/{tool}" if Path(f"/bin/{tool}").exists() else tool)
    for name, text in engines.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (tmp_path / "tree/traces").mkdir(parents=True, exist_ok=True)
    calls = tmp_path / "calls"
    calls.write_text("")
    environment = {
        "PATH": str(programs), "CALLS": str(calls), "USER_OF_IMAGE": str(user), "PROFILE": "quick",
    }  # fmt: skip
    done = subprocess.run(
        [SCRIPT, tmp_path / "tree", *options], env=environment, capture_output=True, text=True
    )
    return done.returncode, calls.read_text(), done.stderr


def test_the_image_is_built_tried_and_kept(tmp_path: Path) -> None:
    image = tmp_path / "image.tar.gz"
    code, calls, said = run(tmp_path, "--save", str(image), podman=ENGINE)
    assert code == 0, said
    tree = tmp_path / "tree"
    assert calls.splitlines() == [
        "podman info",
        f"podman build --file {tree}/Containerfile --tag clockhand "
        f"--build-arg PROFILE=quick {tree}",
        "podman run --rm clockhand --version",
        "podman run --rm --entrypoint id clockhand -u",
        f"podman run --rm --volume {tree}/traces:/data:ro clockhand simulate tar-gzip.parquet "
        "--policy clock,craw --memory 5% --format csv --quiet",
        "podman save clockhand",
    ]
    assert image.read_bytes().startswith(b"\x1f\x8b")


def test_an_image_that_runs_as_root_is_none(tmp_path: Path) -> None:
    code, calls, _ = run(tmp_path, user=0, docker=ENGINE)
    assert code == 1 and "simulate" not in calls


def test_the_engine_that_runs_is_taken(tmp_path: Path) -> None:
    code, calls, _ = run(tmp_path, podman=BROKEN, docker=ENGINE)
    assert code == 0 and calls.startswith("docker info\ndocker build ")


@pytest.mark.parametrize("engines", [{}, {"docker": BROKEN}])
def test_without_an_engine_it_is_said(tmp_path: Path, engines: dict[str, str]) -> None:
    for options, expected in (((), 1), (("--if-any",), 0)):
        code, calls, said = run(tmp_path, *options, **engines)
        assert (code, calls) == (expected, "")
        assert said == "container: neither podman nor docker runs here, so there is no image\n"


def test_the_last_stage_has_no_compiler_and_no_rights() -> None:
    *_, build, last = re.split(r"^FROM ", CONTAINERFILE, flags=re.MULTILINE)
    assert build.startswith("rust:") and last.startswith("debian:")
    # Both have one Debian, so that the environment finds the same interpreter.
    assert "${DEBIAN}" in build.splitlines()[0] and "${DEBIAN}" in last.splitlines()[0]
    assert "gcc" in build and "gcc" not in last and "pip install" not in last
    assert last.index("useradd") < last.index("USER clockhand") < last.index("ENTRYPOINT")
    assert "--require-hashes --requirement requirements.lock" in build and "--locked" in build
    # No registry is named: the engine's own setting says where images come from.
    for image in re.findall(r"^FROM (\S+)", CONTAINERFILE, re.MULTILINE):
        assert "/" not in image


def test_releases_and_continuous_integration_build_the_image() -> None:
    recipes = (ROOT / "Makefile").read_text()
    release = recipes[recipes.index("\nrelease: committed") :]
    assert "packaging/container.sh" in release[: release.index("SHA256SUMS")]
    scripts = [path.read_text() for path in (ROOT / ".ci").iterdir()]
    assert any("packaging/container.sh target/release-tree --if-any" in it for it in scripts)
    assert os.access(SCRIPT, os.X_OK)


def test_there_is_one_first_command() -> None:
    """README, tutorial and site began with three."""
    for page in ("README.md", "docs/tutorial.md", "site/index.md"):
        _, _, block = (ROOT / page).read_text().partition("\n```")
        first = block.splitlines()[1].removeprefix("$ ").partition("#")[0].strip()
        assert first == "make demo", page
