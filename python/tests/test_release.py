"""Contents of a release: crates that can be packaged, locks that name what they mean, an
environment of its own."""

import importlib
import os
import re
import subprocess
import sys
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


def test_what_a_crate_no_longer_offers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "site"))
    public_api = importlib.import_module("public_api")
    monkeypatch.setattr(public_api, "ROOT", tmp_path)
    monkeypatch.setattr(public_api, "CRATES", ("one",))
    monkeypatch.setattr(public_api, "rustdoc_version", lambda: "rustdoc 1.0")
    pages = tmp_path / "target/doc/clockhand_one"
    for folder in (pages, tmp_path / "crates/one"):
        folder.mkdir(parents=True)
    (pages / "all.html").write_text('<li><a href="struct.A.html">A</a></li>')
    page = (
        '<pre class="rust item-decl"><code>pub struct A;</code></pre>'
        '<h4 class="code-header">pub fn new(size: <a href="x">u32</a>) -&gt; Self</h4>'
        '<h4 class="code-header">fn clone(&amp;self)</h4>'
    )
    (pages / "struct.A.html").write_text(
        page + '<h2 id="synthetic-implementations"></h2><h3 class="code-header">impl Send</h3>'
    )

    def run(*options: str) -> None:
        monkeypatch.setattr(sys, "argv", ["public_api.py", "--pages", str(pages.parent), *options])
        public_api.main()

    run("--write")
    listing = (tmp_path / "crates/one/public-api.txt").read_text().splitlines()[1:]
    assert listing == ["A: pub struct A;", "A: pub fn new(size: u32) -> Self"]
    run()
    (pages / "struct.A.html").write_text(page.replace("u32", "u64"))
    with pytest.raises(SystemExit, match="raise the version if it breaks"):
        run()
    assert capsys.readouterr().out.splitlines() == [
        "one: - A: pub fn new(size: u32) -> Self",
        "one: + A: pub fn new(size: u64) -> Self",
    ]
    monkeypatch.setattr(public_api, "rustdoc_version", lambda: "rustdoc 2.0")
    run()
    assert "not compared, since this is rustdoc 2.0" in capsys.readouterr().out


def test_every_crate_that_others_build_on_has_a_listing() -> None:
    for crate in ("policy", "trace", "device", "sim"):
        listing = (ROOT / "crates" / crate / "public-api.txt").read_text().splitlines()
        assert listing[0].startswith("# Made by: make api") and len(listing) > 100


def release_tree(*options: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Copy what is committed, as the recipe of a release does."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone: nothing is committed")
    script = [sys.executable, ROOT / "packaging/release_tree.py", folder]
    return subprocess.run([*script, *options], capture_output=True, text=True)


def test_packages_name_the_repository_that_the_release_is_given(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    done = release_tree("--repository", "https://github.com/us/clockhand.git", folder=folder)
    assert done.returncode == 0 and done.stderr == "", done
    address = "https://github.com/us/clockhand"
    package = tomllib.loads((folder / "Cargo.toml").read_text())["workspace"]["package"]
    assert package["repository"] == address
    for manifest in folder.glob("crates/*/Cargo.toml"):
        own = tomllib.loads(manifest.read_text())["package"]
        assert own["repository"] == {"workspace": True}, manifest
    files = f"{address}/blob/v{package['version']}"
    assert tomllib.loads((folder / "pyproject.toml").read_text())["project"]["urls"] == {
        "Repository": address,
        "Documentation": f"{files}/README.md",
        "Changelog": f"{files}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }


def test_packages_name_no_repository_that_others_cannot_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in (
        "http://github.com/us/it", "git@github.com:us/it.git", "https://me:secret@github.com/us/it",
        "https://localhost/us/it", "https://10.0.0.1/us/it", "https://github.com/it",
        "https://github.com/us/../it", "https://github.com:8443/us/it", "https://git.internal/us/it",
        'https://github.com/us/it"', "https://github.com/us/it?a=b", "/srv/git/it",
    ):  # fmt: skip
        done = release_tree("--repository", wrong, folder=tmp_path / "tree")
        assert done.returncode == 1 and "is no public address of a repository" in done.stderr, wrong
        assert done.stderr.count("\n") == 1 and not (tmp_path / "tree").exists()
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "url./nowhere/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://")
    done = release_tree(folder=tmp_path / "tree")
    assert done.returncode == 0
    assert "urls" not in tomllib.loads((tmp_path / "tree/pyproject.toml").read_text())["project"]
    assert done.stderr.startswith("release: the packages name no repository; for one, give")


def test_make_installs_into_its_own_environment_while_another_is_active() -> None:
    show = "shown: ; @echo $$VIRTUAL_ENV $$CONDA_PREFIX"
    done = subprocess.run(
        ["make", "--no-print-directory", "--eval", show, "shown"],
        cwd=ROOT,
        env={**os.environ, "VIRTUAL_ENV": "/elsewhere", "CONDA_PREFIX": "/elsewhere"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(ROOT / ".venv")]
