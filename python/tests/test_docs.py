"""The documentation names only what exists: links, paths, commands, options and targets of make."""

import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import clockhand
from clockhand.command import whole_command as made_command
from clockhand.sweep import read_experiment
from conftest import Clockhand

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = ("benches", "crates", "docs", "experiments", "fuzz", "notebooks", "python", "traces")
"""The folders with documentation and what it speaks of; a path in it begins with one of them."""

GENERATED = (
    "experiments/datasets",
    "fuzz/artifacts",
    "fuzz/corpus",
    "python/clockhand/_engine",
    "traces/mobile/whole",
)
"""Paths that exist only after the command that makes them has run."""

SOURCES = (".rs", ".py", ".pyi", ".h", ".j2")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
INLINE = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"^--[a-z][a-z-]*")
PLACEHOLDER = re.compile(r"[A-Z]{4,}")

NOT_OURS = {"--bench", "--test"}
"""Options of cargo that the documentation names by themselves."""


def pages() -> list[Path]:
    found = [*ROOT.glob("*.md")]
    for folder in FOLDERS:
        found += (ROOT / folder).rglob("*.md")
    return sorted(page for page in found if "target" not in page.parts)


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


@cache
def endings() -> set[str]:
    """Every path in the repository, from each of its folders on: `a/b/c`, `b/c` and `c`."""
    folders = (*FOLDERS, "site")  # Links of its first page are those of the site.
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    parts = [path.relative_to(ROOT).parts for path in [*ROOT.iterdir(), *found]]
    return {"/".join(path[start:]) for path in parts for start in range(len(path))}


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{name(page)} links to {link}"
        assert not anchor or anchor in anchors(target), f"{name(page)} links to {link}"


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_path_in_backticks_exists(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return
    for words in INLINE.findall(prose(page)):
        for word in words.split():
            if not re.fullmatch(r"[\w.*/-]+", word) or word.startswith(GENERATED):
                continue
            if word.split("/")[0] in FOLDERS or word.endswith(SOURCES):
                pattern = PLACEHOLDER.sub("*", word).strip("/")
                exists = pattern in endings() or any(
                    fnmatchcase(ending, pattern) for ending in endings()
                )
                assert exists, f"{name(page)} names {word}"


@cache
def whole_command() -> Any:
    return made_command()


def commands(command: Any) -> Iterator[Any]:
    yield command
    for below in getattr(command, "commands", {}).values():
        yield from commands(below)


def options(command: Any) -> set[str]:
    found = {"-h", "--help"}
    for parameter in command.params:
        found.update(parameter.opts, parameter.secondary_opts)
    return found


def lines(page: Path) -> Iterator[str]:
    """Command lines of ``clockhand``: in fenced blocks, and whole ones in backticks."""
    text = page.read_text(encoding="utf-8")
    for language, block in FENCE.findall(text):
        if language in ("", "console", "sh"):
            line = ""
            for part in block.splitlines():
                line += " " + re.sub(r"^\$ |\s#\s.*$", "", part.strip()).removesuffix("\\")
                if not part.endswith("\\") and line.count('"') % 2 == 0:
                    yield line.strip()
                    line = ""
    yield from INLINE.findall(FENCE.sub("", text))


def clockhand_words(line: str) -> Iterator[list[str]]:
    """The words after ``clockhand``, for each command of a line, up to ``--``."""
    for command in re.split(r" ; | && | \| ", line):
        if not re.match(r"(\.venv/bin/)?clockhand ", command):
            continue
        words = shlex.split(command.replace("…", "..."))[1:]
        yield words[: words.index("--")] if "--" in words else words


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_command_line_names_existing_commands_and_options(page: Path) -> None:
    for line in lines(page):
        for words in clockhand_words(line):
            command = whole_command()
            while words and words[0] in getattr(command, "commands", {}):
                command = command.commands[words.pop(0)]
            known = options(command)
            assert not getattr(command, "commands", {}) or words[:1] in (
                ["--help"],
                ["--version"],
                ["COMMAND"],
            ), f"{name(page)}: {line}"
            if words[:1] == ["COMMAND"]:
                continue
            for word in words:
                option = OPTION.match(word)
                assert not option or option.group() in known, f"{name(page)}: {line}"


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_option_in_backticks_is_one_of_a_command(page: Path) -> None:
    if not name(page).startswith(("docs/", "README", "ARCHITECTURE", "traces/")):
        return
    known = set().union(*map(options, commands(whole_command())))
    for words in INLINE.findall(prose(page)):
        option = OPTION.match(words)
        if option and option.group() not in NOT_OURS:
            assert option.group() in known, f"{name(page)} names {words}"


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_target_of_make_exists(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target in re.findall(r"`make ([a-z-]+)|^\$ make ([a-z-]+)", page.read_text(), re.MULTILINE):
        assert "".join(target) in targets, f"{name(page)} names make {''.join(target)}"


def test_experiments_and_profiles_in_the_documentation_can_be_read(tmp_path: Path) -> None:
    def examples(page: str) -> list[Path]:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        blocks = [block for language, block in FENCE.findall(text) if language == "toml"]
        paths = [folder / f"{page}-{number}.toml" for number in range(len(blocks))]
        for path, block in zip(paths, blocks, strict=True):
            path.write_text(block)
        return paths

    folder = tmp_path / "experiments"
    folder.mkdir()
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    (folder / "mine.trace.xz").touch()
    experiments = examples("sweeps.md")
    assert len(experiments) >= 2
    for path in experiments:
        assert read_experiment(path).question
    device, drive = examples("devices.md")
    assert "My drive" in str(clockhand.devices(str(device)))
    assert "my drive" in str(clockhand.ssds(str(drive)))


def test_the_first_example_prints_what_the_readme_shows(clockhand: Clockhand) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = [block for _, block in FENCE.findall(readme) if "$ clockhand simulate" in block]
    (line, _, shown) = blocks[0].partition("\n")
    words = shlex.split(line.removeprefix("$ clockhand "))
    printed = clockhand(*[word.replace("traces/", f"{ROOT}/traces/") for word in words]).out
    for row in shown.splitlines():
        assert " ".join(row.split()) in " ".join(printed.decode().split()), row
