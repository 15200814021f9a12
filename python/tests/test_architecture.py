"""The directions in which parts depend on each other, and what must be absent, as ARCHITECTURE.md
lists them."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import clockhand
from clockhand import _engine

ROOT = Path(__file__).resolve().parents[2]
SIMULATOR = ROOT / "crates/sim/src"

ALLOWED_CRATES = {
    "policy": set(),
    "quantity": set(),
    "prefetch": {"policy"},
    "device": {"quantity"},
    "trace": {"prefetch", "quantity"},
    "twins": set(),
    "conformance": {"policy"},
    "policy-library": {"policy"},
    "policy-loader": {"policy", "policy-library"},
    "sim": {"policy", "conformance", "device", "trace", "prefetch", "quantity"},
    "measure": {"quantity"},
    "pager-protocol": set(),
    "tracer": set(),
    "pager": {"policy", "pager-protocol", "prefetch"},
    "pager-c": {"pager", "policy"},
    "serve": {"policy", "quantity"},
    "preload": {"pager-protocol"},
    "python": {
        "policy",
        "policy-loader",
        "quantity",
        "device",
        "trace",
        "sim",
        "pager",
        "measure",
        "serve",
        "tracer",
    },
}

CRATES_WITH_UNSAFE_CODE = {
    "measure",
    "pager",
    "pager-c",
    "pager-protocol",
    "policy-library",
    "policy-loader",
    "prefetch",
    "preload",
    "serve",
    "tracer",
}
"""Crates with unsafe code. Some handle the memory of programs or follow them. The crate `measure`
maps memory by hand and rings the kernel; `serve` locks files and takes an inherited socket. The two
sides of libraries of policies call each other as C does, and `prefetch` has one processor
instruction. A lint asks each block for its reason."""


def test_every_crate_is_in_the_picture() -> None:
    crates = {manifest.parent.name for manifest in ROOT.glob("crates/*/Cargo.toml")}
    assert crates == set(ALLOWED_CRATES)


@pytest.mark.parametrize("crate", ALLOWED_CRATES)
def test_every_crate_says_what_it_is(crate: str) -> None:
    text = (ROOT / "crates" / crate / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# clockhand-{crate}\n\n")
    for place in re.findall(r"`((?:docs|tests|include|python|fuzz)/[^`*]*)`", text):
        places = (ROOT / place, ROOT / "crates" / crate / place)
        assert any(path.exists() for path in places), place


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


def test_only_the_pager_and_measure_have_unsafe_code() -> None:
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


PACKAGE = ROOT / "python/clockhand"

ALLOWED_ROOMS = {
    "study": {"traces"},
    "traces": {"study"},
    "report": {"study"},
    "capture": {"study", "traces"},
    "measure": {"study"},
    "serving": {"study", "report"},
    "studies": {"study", "traces", "report", "capture"},
    "datasets": {"study", "traces", "report", "studies"},
    "sweep": {"study", "traces", "report", "studies", "datasets"},
    "reproduce": {"study", "traces", "report", "studies", "datasets", "sweep", "measure"},
    "explore": {"study", "traces", "report", "studies", "datasets", "sweep"},
    "completion": {"study"},
    "command": {
        "study",
        "traces",
        "report",
        "capture",
        "measure",
        "serving",
        "studies",
        "datasets",
        "sweep",
        "reproduce",
        "explore",
        "completion",
    },
    "start": {"command", "completion", "traces"},
}
"""What each folder of the package may import, besides itself and the engine."""

STUDIES = sorted(path.name for path in (PACKAGE / "studies").iterdir() if path.is_dir()
                 and path.name != "__pycache__")  # fmt: skip
READERS_OF_ROWS = ("charts", "findings", "report")


def _rooms(path: Path) -> set[str]:
    """The folders of the package that a module imports something from."""
    parts = (name.split(".") for name in _imports(path))
    return {part[1] for part in parts if part[0] == "clockhand" and len(part) > 1}


def test_every_room_of_the_package_is_in_the_picture() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms == set(ALLOWED_ROOMS)
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py"}


@pytest.mark.parametrize("room", ALLOWED_ROOMS)
def test_rooms_import_only_downwards(room: str) -> None:
    for source in (PACKAGE / room).rglob("*.py"):
        if source == PACKAGE / "report/__init__.py":  # A facade for notebooks.
            continue
        above = _rooms(source) & (set(ALLOWED_ROOMS) - ALLOWED_ROOMS[room] - {room})
        assert not above, f"{source} imports {above}"


@pytest.mark.parametrize("study", STUDIES)
def test_no_study_imports_a_sibling(study: str) -> None:
    for source in (PACKAGE / "studies" / study).glob("*.py"):
        for sibling in set(STUDIES) - {study}:
            name = f"clockhand.studies.{sibling}"
            assert not any(imported.startswith(name) for imported in _imports(source)), (
                f"{source} imports {name}"
            )


@pytest.mark.parametrize("study", STUDIES)
def test_charts_findings_and_reports_read_rows_and_never_simulate(study: str) -> None:
    """Neither do the modules of the study that they import."""
    folder = PACKAGE / "studies" / study
    # A player draws by itself and says what the steps say.
    open_modules = {name for name in READERS_OF_ROWS if (folder / f"{name}.py").exists()}
    assert "report" in open_modules
    seen: set[str] = set()
    while open_modules:
        module = open_modules.pop()
        seen.add(module)
        source = folder / f"{module}.py"
        imported = _imports(source)
        for engine in ("clockhand._engine", "clockhand.traces"):
            assert not any(name.startswith(engine) for name in imported), f"{source}: {engine}"
        own = {path.stem for path in folder.glob("*.py")}
        prefix = f"clockhand.studies.{study}."
        named = {name.removeprefix(prefix).split(".")[0] for name in imported if prefix in name}
        open_modules |= (named & own) - seen
    assert "run" not in seen


def test_the_kit_of_reports_never_opens_a_trace() -> None:
    for source in (PACKAGE / "report").glob("*.py"):
        assert not _rooms(source) & {"_engine", "traces"}, f"{source} imports the engine"


NO_POLICIES = {
    "report/paper.py": "the options of a theme",
    "study/facts.py": "the kernel's list of processors",
    "command/overwriting.py": "the same, of any option",
    "serving/metrics.py": "an address and its port",
    "studies/programs/memory_group.py": "the kernel's list of groups",
    "studies/tier/findings.py": "the values of two tiers",
    "studies/translate/charts.py": "the geometry of a TLB",
}
"""Modules that take texts apart at a colon, and what these texts are; those of policies are taken
apart by the engine, through ``study/policies.py``."""


def test_the_text_of_a_policy_is_taken_apart_in_one_place() -> None:
    apart = re.compile(r"""(r?partition|r?split|r?index|starts_with)\((f?["'][^"']*:["'])""")
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if apart.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(NO_POLICIES)


LEVELS_OF_ENGINE = (
    {"error", "numbers", "read_trace", "sketch"},
    {"chunk", "conformance", "contestant", "io_log", "memory_size", "pricing", "sample", "study"},
    {"intervals", "next_use"},
    {"columns", "options", "replay"},
    {"declaration", "reading", "stack_distance", "views"},
    {"watch", *(study for study, _ in _engine.STUDIES)},
    {"catalog"},
)
"""The modules of the engine, the lowest first. Each may use those of lower levels: the frame uses
no study, and no study another one."""


def test_modules_of_the_engine_use_only_lower_ones() -> None:
    level_of = {name: level for level, names in enumerate(LEVELS_OF_ENGINE) for name in names}
    assert level_of.keys() == {path.stem for path in SIMULATOR.glob("*.rs")} - {"lib"}
    for source in SIMULATOR.rglob("*.rs"):
        module = source.relative_to(SIMULATOR).parts[0].removesuffix(".rs")
        if module == "lib":
            continue
        text = source.read_text().split("#[cfg(test)]\nmod tests {")[0]
        code = re.sub(r"//.*", "", text)
        assert not re.search(r"\bcrate::[{A-Z]", code), f"{source} names no module"
        if source.stem == "tests" or "tests" in source.parts:
            continue
        for used in set(re.findall(r"\bcrate::(\w+)", code)) - {module}:
            assert level_of[used] < level_of[module], f"{source} uses {used}"


def test_no_room_is_called_utils() -> None:
    for folder in ("crates", "python", "benches"):
        for path in (ROOT / folder).rglob("*"):
            assert path.stem not in {"utils", "util", "common", "helpers", "misc"}, path


def test_every_page_of_documentation_can_be_found_from_another() -> None:
    pages = {path.name for path in ROOT.glob("docs/*.md")}
    texts = [
        path.read_text(encoding="utf-8") for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))
    ]
    linked = {name for text in texts for name in re.findall(r"\((?:docs/)?([\w-]+\.md)[)#]", text)}
    assert pages - linked == set()


def test_every_public_name_is_where_its_list_says() -> None:
    for name in clockhand.__all__:
        assert getattr(clockhand, name) is not None


def test_every_kind_of_row_is_in_the_list_of_studies() -> None:
    declaring = r"columns! \{"
    declared = sum(len(re.findall(declaring, path.read_text())) for path in SIMULATOR.rglob("*.rs"))
    listed = (SIMULATOR / "catalog.rs").read_text()
    of_studies = sum(study in _engine.columns() for study, _ in _engine.STUDIES)
    assert len(re.findall(r", crate::\S+::COLUMNS\)", listed)) + of_studies == declared
    tables = (SIMULATOR / "catalog/tables").glob("*.rs")
    beside = sum(path.read_text().count("\ntable! {") for path in tables)
    assert listed.count(", tables::") == beside
