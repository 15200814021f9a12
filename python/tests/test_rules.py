"""`docs/rules.md` defines every rule that the repository cites, and names what shows each."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\b([AB])-(\d{1,3})\b(?: … [AB]-(\d{1,3})\b)?")
"""A code, or a range of them."""
SHOWN = re.compile(r"\(((?:`[\w./-]+`(?:, )?)+)\)\.$")
SOURCES = (".rs", ".py", ".pyi", ".toml", ".md", ".h", ".c")


@cache
def rules() -> dict[str, str]:
    """The text of each rule, by its code."""
    text = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    found = re.findall(
        r"^\* \*\*([AB]-\d+)\*\* (.*?)(?=^\* |^#|\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert len(found) == len(dict(found)), "a code is defined twice"
    return {code: " ".join(body.split()) for code, body in found}


@cache
def texts() -> dict[str, str]:
    """Every file of the repository that may cite a rule."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "crates", "python", "experiments", "benches", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = (name for name in listed.stdout.split("\0") if name.endswith((*SOURCES, ".json")))
    paths = {name: ROOT / name for name in names if name != "docs/rules.md"}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path.exists()}


def cited(text: str) -> set[str]:
    """The codes that a text cites; of a range, all that are rules."""
    codes = set()
    for letter, first, last in CODE.findall(text):
        codes.add(f"{letter}-{int(first):02}" if letter == "A" else f"B-{int(first)}")
        if last:
            between = {f"{letter}-{number:02}" for number in range(int(first), int(last) + 1)}
            codes |= between & rules().keys()
    return codes


def test_every_cited_rule_is_defined() -> None:
    found = {name: cited(text) - rules().keys() for name, text in texts().items()}
    in_sources = {name for name, codes in found.items() if codes and name.endswith(SOURCES)}
    assert {name: found[name] for name in in_sources} == {}


def test_every_rule_of_the_simulators_is_cited() -> None:
    everywhere = set().union(*(cited(text) for text in texts().values()))
    assert {code for code in rules() if code.startswith("A")} - everywhere == set()


def test_what_shows_a_rule_exists() -> None:
    shows = {path.stem for path in ROOT.glob("crates/*/tests/golden/*.json")}
    for name, text in texts().items():
        if name.endswith((".rs", ".py")):
            shows.update(re.findall(r"\b(?:fn|def) (\w+)", text))
    for code, rule in rules().items():
        shown = SHOWN.search(rule)
        assert shown is not None, f"{code} does not end with what shows it, in brackets"
        for name in re.findall(r"`([^`]+)`", shown[1]):
            assert name in shows or (ROOT / name).is_file(), f"{code}: {name}"
