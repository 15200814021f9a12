"""Policies in shared libraries decide as those of the catalog do, and what is wrong is said."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clockhand
from clockhand import UsageError, _engine
from conftest import Clockhand, Run

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "traces/freecell.parquet"
NAMES = ("policy", "policy_resolved")
OF_KINDS_OF_BITS = "permission_faults"
"""CLOCK of the catalog is known not to tell reads from writes; a policy of one's own may."""

LRU = """
pub struct Recent(Vec<Frame>);

impl Recent {
    fn forget(&mut self, frame: Frame) {
        self.0.retain(|other| *other != frame);
    }
}

impl PagePolicy for Recent {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let position = self.0.iter().position(|&frame| !frames.is_pinned(frame));
        self.0.remove(position.expect("a page is not pinned"))
    }
    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
        self.0.push(frame);
    }
    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.forget(frame);
    }
    fn inspect(&self, _: &mut dyn Inspector) {}
}

impl Capabilities for Recent {}

impl AccessDriven for Recent {
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, _: &F) {
        self.forget(frame);
        self.0.push(frame);
    }
}
"""

WRONG = """
pub struct Wrong {
    how: &'static str,
    faults: u32,
}

impl PagePolicy for Wrong {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        match self.how {
            "panics" => panic!("no page is good enough"),
            "looks" => frames.clear_bits(Frame(77)),
            _ => {}
        }
        Frame(1000)
    }
    fn loaded<F: Frames>(&mut self, _: Fault, _: Frame, _: &mut F) {
        self.faults += 1;
    }
    fn dropped<F: Frames>(&mut self, _: Frame, _: &F) {}
    fn inspect(&self, _: &mut dyn Inspector) {}
}

impl Capabilities for Wrong {}

impl BitDriven for Wrong {
    const HIT_BITS: HitBits = HitBits::Separate;
}
"""

DESCRIBED = """
impl Cataloged for TYPE {
    const DESCRIPTION: Description = Description {
        name: "NAME",
        summary: "for a test",
        paper: "none",
        parameters: &[PARAMETERS],
        source: "//! For a test.\\n",
    };
    fn build(settings: &Settings, _: Size) -> Self {
        let _ = settings;
        MADE
    }
}
"""

HOW = """Parameter {
    name: "how",
    summary: "what it does wrong",
    domain: Domain::Choice(&["panics", "looks", "chooses"]),
    default: Default::Value("panics"),
    only_with: None,
}"""

OTHER_VERSION = """
#[repr(C)]
pub struct Library { version: u32, count: u32, policies: *const u8 }
unsafe impl Sync for Library {}
static LIBRARY: Library = Library { version: 99, count: 1, policies: std::ptr::null() };
#[unsafe(no_mangle)]
pub extern "C" fn clockhand_policy_library() -> *const Library { &LIBRARY }
"""


def described(name: str, type_name: str, made: str, parameters: str = "") -> str:
    text = DESCRIBED.replace("TYPE", type_name).replace("NAME", name)
    return text.replace("PARAMETERS", parameters).replace("MADE", made)


def build(folder: Path, *arguments: str) -> Path:
    """Build a crate beside what earlier runs built of it, and return its library."""
    target = ROOT / "target/policy-library"
    command = ["cargo", "build", "--quiet", "--offline", "--target-dir", str(target), *arguments]
    subprocess.run(command, cwd=folder, check=True, timeout=600)
    built = target / "debug" / f"lib{folder.name.replace('-', '_')}.so"
    library = folder / built.name
    shutil.copy(built, library)
    library.chmod(0o755)
    return library


def paged(clockhand: Clockhand, policy: str) -> Run:
    """A program that touches more than its memory holds, twice."""
    job = "x = bytearray(3 << 20); print(sum(x[i] for _ in '12' for i in range(0, 3 << 20, 4096)))"
    return clockhand(
        *("run", "--policy", policy, "--memory", "2MiB", "--swap-in-ram"),
        *("--", sys.executable, "-c", job),
    )


needs_cargo = pytest.mark.skipif(
    shutil.which("cargo") is None, reason="no cargo, which builds libraries"
)


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo, which builds libraries")
    folder = tmp_path_factory.mktemp("crates") / "my-clock"
    return clockhand.new_policy("my-clock", folder, ROOT)


@pytest.fixture(scope="module")
def library(crate: Path) -> Path:
    return build(crate)


@pytest.fixture(scope="module")
def others(crate: Path) -> Path:
    """A library with an LRU that gets hits, and a policy that breaks rules."""
    folder = clockhand.new_policy("some-others", crate.parent / "some-others", ROOT)
    source = folder / "src/lib.rs"
    head = source.read_text().partition("/// The ring, from")[0]
    head = head.replace("#![deny(unsafe_code)]", "").replace("use std::collections::VecDeque;", "")
    head = head.replace("page::{BitDriven", "page::{AccessDriven, BitDriven").replace(
        "{Frame, Frames, HitBits}", "{Frame, Frames, HitBits, Op}"
    )
    wrong = """match settings.get("how") {
            Some(Value::Choice(how)) => Wrong { how, faults: 0 },
            _ => unreachable!("it has a default"),
        }"""
    source.write_text(
        head
        + LRU
        + described("recent", "Recent", "Recent(Vec::new())")
        + WRONG
        + described("wrong", "Wrong", wrong, HOW)
        + "clockhand_policy_library::export! { access_driven Recent; bit_driven Wrong; }\n"
    )
    return build(folder)


def rows(policy: str, **options: Any) -> pl.DataFrame:
    options = {"memory": "2%,10%,40%", "limit": 60_000, **options}
    return clockhand.simulate(TRACE, policies=policy, **options).rows.drop(*NAMES, OF_KINDS_OF_BITS)


@pytest.mark.parametrize("parameters", ["", ":insert_ref=1"])
@pytest.mark.parametrize("bits", ["exact", "mapped", "sensed"])
def test_the_new_policy_counts_as_clock_does(library: Path, parameters: str, bits: str) -> None:
    own = rows(f"{library}:my-clock{parameters}", bits=bits)
    assert own.equals(rows(f"clock{parameters}", bits=bits))


def test_a_policy_that_is_told_of_hits_counts_as_lru_does(others: Path) -> None:
    assert rows(f"{others}:recent").equals(rows("lru"))


def test_the_tests_of_the_new_crate_pass(crate: Path) -> None:
    target = ROOT / "target/policy-library"
    command = ["cargo", "test", "--offline", "--target-dir", str(target)]
    run = subprocess.run(command, cwd=crate, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 passed" in run.stdout


def test_a_library_in_use_has_its_policies_known_by_name(
    clockhand: Clockhand, library: Path
) -> None:
    run = clockhand(
        *("simulate", TRACE, "--policy", "my-clock,clock", "--policy-library", library),
        *("--frames", "64", "--limit", "20000", "--format", "json"),
    )
    own, known = json.loads(run.out)
    assert own.pop("policy") == "my-clock"
    resolved = own.pop("policy_resolved")
    assert resolved.startswith("my-clock:insert_ref=0,sha256=")
    assert len(resolved.rpartition("=")[2]) == 12
    assert own == {name: value for name, value in known.items() if name not in NAMES}


def test_the_rules_are_tried_on_it(clockhand: Clockhand, library: Path, others: Path) -> None:
    run = clockhand("check-policy", "my-clock", "--policy-library", library)
    assert run.code == 0, run.err
    run = clockhand("check-policy", f"{others}:wrong:how=looks")
    assert run.code == 1
    assert "choose_victim asked about frame 77, which there is not" in run.err


def test_a_panic_names_the_library_the_policy_and_the_place(
    clockhand: Clockhand, others: Path
) -> None:
    run = clockhand("simulate", TRACE, "--policy", f"{others}:wrong", "--frames", "8")
    assert run.code == 1
    said = "choose_victim panicked: no page is good enough (src/lib.rs:"
    assert run.err.startswith(f"clockhand: policy {others}:wrong: {said}")
    assert ") at fault 8 of its memory of 8 frames; correct it in the library" in run.err
    assert run.err.count("\n") == 1


def test_a_choice_that_cannot_be_is_refused(clockhand: Clockhand, others: Path) -> None:
    run = clockhand("simulate", TRACE, "--policy", f"{others}:wrong:how=chooses", "--frames", "8")
    assert run.code == 1
    assert "choose_victim chose frame 1000, which there is not (they go from 0 to 7)" in run.err


def test_its_parameters_are_checked_as_those_of_the_catalog(others: Path) -> None:
    with pytest.raises(UsageError, match="how=sings is out of range; it takes panics, looks or"):
        rows(f"{others}:wrong:how=sings")
    with pytest.raises(UsageError, match=r"policy .* has no parameter \"hw\""):
        rows(f"{others}:wrong:hw=panics")
    with pytest.raises(UsageError, match=r"the library has no policy \"wong\"; there are: recent,"):
        rows(f"{others}:wong")


def test_a_sweep_and_a_recommendation_take_it(
    clockhand: Clockhand, library: Path, tmp_path: Path
) -> None:
    experiment = tmp_path / "own.toml"
    experiment.write_text(
        f'question = "How does my own do?"\nexpected = "Like CLOCK."\ntraces = ["{TRACE}"]\n'
        f'policies = ["{library}:my-clock", "clock"]\nmemory = "10%"\n'
    )
    first, second = (clockhand("sweep", experiment) for _ in range(2))
    assert first.code == 0, first.err
    assert "2 cells computed now" in first.err
    assert "0 cells computed now" in second.err
    run = clockhand(
        *("recommend", TRACE, "--limit", "20000", "--memory", "20%"),
        *("--policy", "my-clock", "--policy-library", library),
    )
    assert run.code == 0, run.err


@pytest.mark.skipif(_engine.pager_obstacle() is not None, reason="this machine pages no programs")
def test_it_pages_a_program(clockhand: Clockhand, library: Path) -> None:
    """The command fails if the simulator, with the same policy, counts otherwise than the pager."""
    run = paged(clockhand, f"{library}:my-clock")
    assert run.code == 0, run.err
    assert "my-clock" in run.err


@pytest.mark.skipif(_engine.pager_obstacle() is not None, reason="this machine pages no programs")
def test_a_policy_that_fails_while_it_pages_is_told_when_the_program_has_ended(
    clockhand: Clockhand, others: Path
) -> None:
    run = paged(clockhand, f"{others}:wrong")
    assert run.code == 1
    assert run.out == b"0\n"
    assert "choose_victim panicked: no page is good enough (src/lib.rs:" in run.err


def test_a_file_that_others_can_write_is_refused(library: Path, tmp_path: Path) -> None:
    copy = tmp_path / library.name
    shutil.copy(library, copy)
    copy.chmod(0o775)
    with pytest.raises(
        UsageError, match=r"others can write to .*; take that away with: chmod go-w"
    ):
        rows(f"{copy}:my-clock")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_the_file_of_another_user_is_refused(library: Path, tmp_path: Path) -> None:
    copy = tmp_path / library.name
    shutil.copy(library, copy)
    copy.chmod(0o755)
    os.chown(copy, 12345, 12345)
    with pytest.raises(UsageError, match="belongs to another user, whose code would run"):
        rows(f"{copy}:my-clock")


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    for content, wrong in [(b"", "it is no shared library"), (b"\x7fELF", "it cannot be loaded")]:
        file = tmp_path / "libmine.so"
        file.write_bytes(content)
        file.chmod(0o755)
        with pytest.raises(UsageError, match=wrong):
            rows(f"{file}:mine")
    with pytest.raises(UsageError, match="is no regular file; name a library"):
        rows("/dev/zero.so" if Path("/dev/zero.so").exists() else f"{folder_of(tmp_path)}:mine")
    with pytest.raises(UsageError, match="cannot be read"):
        rows(f"{tmp_path}/absent.so:mine")


def folder_of(tmp_path: Path) -> Path:
    folder = tmp_path / "folder.so"
    folder.mkdir()
    return folder


@needs_cargo
def test_another_version_of_the_interface_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "other.rs"
    source.write_text(OTHER_VERSION)
    command = ["rustc", "--edition", "2024", "--crate-type", "cdylib", "--crate-name", "other"]
    subprocess.run([*command, str(source)], cwd=tmp_path, check=True, timeout=600)
    (tmp_path / "libother.so").chmod(0o755)
    with pytest.raises(UsageError, match="version 99 of the interface, and this Clockhand has"):
        rows(f"{tmp_path / 'libother.so'}:mine")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("My", "cannot be the name of a policy"),
        ("a--b", "cannot be the name of a policy"),
        ("../a", "cannot be the name of a policy"),
        ("clock", "the catalog has a policy 'clock'"),
        ("loop", "is kept for Rust"),
        ("clockhand-mine", "is kept for Rust or for Clockhand"),
    ],
)
def test_names_that_cannot_be_are_refused(tmp_path: Path, name: str, wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        clockhand.new_policy(name, tmp_path / "crate")
    assert not (tmp_path / "crate").exists()


def test_a_folder_that_exists_is_left_alone(clockhand: Clockhand, tmp_path: Path) -> None:
    run = clockhand("new-policy", "mine", "--folder", tmp_path)
    assert run.code == 2
    assert "exists; name a new folder with --folder" in run.err
    run = clockhand("new-policy", "mine", "--folder", tmp_path / "mine", "--path", tmp_path)
    assert run.code == 2
    assert "there is no crates/policy/Cargo.toml in it" in run.err
    assert list(tmp_path.iterdir()) == []
