"""What a release is made of: crates that can be packaged, and locks that name what they mean."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = sorted(ROOT.glob("requirements*.lock"))


def test_crates_depend_on_each_other_by_version() -> None:
    """Cargo packages no crate whose dependency has a path alone."""
    version = WORKSPACE["package"]["version"]
    published = {
        name: dependency
        for name, dependency in WORKSPACE["dependencies"].items()
        if isinstance(dependency, dict) and "path" in dependency
    }
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        own = tomllib.loads(manifest.read_text())
        if own["package"].get("publish") is False:
            published.pop(own["package"]["name"], None)
            continue
        for name, dependency in own.get("dependencies", {}).items():
            assert "path" not in dependency or "version" in dependency, f"{manifest}: {name}"
    assert {name: one.get("version") for name, one in published.items()} == {
        name: version for name in published
    }


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_pin_of_a_lock_has_hashes(lock: Path) -> None:
    text = lock.read_text().replace("\\\n", " ")
    pins = [line for line in text.splitlines() if re.match(r"[\w.-]+(\[\w+\])?==", line)]
    assert pins
    assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []
    assert "index-url" not in text and "://" not in text


def test_the_locks_agree_on_versions() -> None:
    versions: dict[str, str] = {}
    for lock in LOCKS:
        for name, version in re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+)", lock.read_text(), re.M):
            canonical = re.sub(r"[-_.]+", "-", name.lower())
            assert versions.setdefault(canonical, version) == version, f"{lock.name}: {name}"


def test_what_draws_is_an_extra() -> None:
    core = " ".join(PROJECT["dependencies"])
    assert "altair" not in core and "vl-convert" not in core
    extras = PROJECT["optional-dependencies"]
    assert {re.split(r"[<>=]", one)[0] for one in extras["report"]} == {
        "altair", "vl-convert-python",
    }  # fmt: skip
    assert "clockhand[report]" in extras["notebook"]
