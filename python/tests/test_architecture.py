"""The directions in which parts depend on each other, and what must be absent, as ARCHITECTURE.md
lists them."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ALLOWED_CRATES = {
    "policy": set(),
    "device": set(),
    "trace": set(),
    "twins": set(),
    "sim": {"policy", "device", "trace"},
    "pager-protocol": set(),
    "pager": {"policy", "trace", "pager-protocol"},
    "pager-c": {"pager", "policy"},
    "preload": {"pager-protocol"},
    "python": {"policy", "device", "trace", "sim", "pager"},
}

CRATES_WITH_UNSAFE_CODE = {"pager", "pager-c", "pager-protocol", "preload"}
"""Those that handle the memory of programs; a lint asks each block for its reason."""


def test_every_crate_is_in_the_picture() -> None:
    crates = {manifest.parent.name for manifest in ROOT.glob("crates/*/Cargo.toml")}
    assert crates == set(ALLOWED_CRATES)


@pytest.mark.parametrize("crate", ALLOWED_CRATES)
def test_crates_depend_only_downwards(crate: str) -> None:
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    own = {
        name.removeprefix("clockhand-")
        for name in manifest.get("dependencies", {})
        if name.startswith("clockhand-")
    }
    assert own <= ALLOWED_CRATES[crate]


def test_policies_have_no_dependency_and_no_unsafe() -> None:
    manifest = tomllib.loads((ROOT / "crates/policy/Cargo.toml").read_text())
    assert manifest.get("dependencies", {}) == {}
    facade = (ROOT / "crates/policy/src/lib.rs").read_text()
    assert "#![no_std]" in facade
    assert "#![forbid(unsafe_code)]" in facade


def test_only_the_pager_has_unsafe_code() -> None:
    for source in ROOT.glob("crates/*/src/**/*.rs"):
        if source.relative_to(ROOT / "crates").parts[0] in CRATES_WITH_UNSAFE_CODE:
            continue
        code = re.sub(r"//.*", "", source.read_text())
        assert not re.search(r"\bunsafe\s*(\{|fn|impl)", code), f"unsafe code in {source}"


def test_every_unsafe_block_has_its_reason() -> None:
    lints = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["lints"]["clippy"]
    assert lints["undocumented_unsafe_blocks"] == "deny"


def test_policies_touch_no_clock_no_file_and_no_hash_map() -> None:
    for source in ROOT.glob("crates/policy/src/**/*.rs"):
        code = re.sub(r"//.*", "", source.read_text())
        for word in ("std::", "Instant", "SystemTime", "HashMap", "println"):
            assert word not in code.replace("#![no_std]", ""), f"{word} in {source}"


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_reports_read_rows_and_never_simulate() -> None:
    for source in (ROOT / "python/clockhand/report").glob("*.py"):
        engine = (
            "_engine",
            "paging",
            "paging_comparison",
            "reference_locality",
            "simulation",
            "ssd",
            "traces",
        )
        forbidden = {f"clockhand.{module}" for module in engine}
        assert not _imports(source) & forbidden, f"{source} imports the engine"


def test_the_library_does_not_know_the_command() -> None:
    for source in (ROOT / "python/clockhand").rglob("*.py"):
        if "command" not in source.parts:
            assert not any(name.startswith("clockhand.command") for name in _imports(source)), (
                f"{source} imports the command"
            )


def test_no_room_is_called_utils() -> None:
    for folder in ("crates", "python", "benches"):
        for path in (ROOT / folder).rglob("*"):
            assert path.stem not in {"utils", "util", "common", "helpers", "misc"}, path
