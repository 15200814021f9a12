"""A crate for a policy of one's own in Rust: a worked example with its tests, under one's name."""

import re
from importlib import resources
from pathlib import Path

from clockhand import _engine
from clockhand.study.calls import in_python
from clockhand.study.errors import UsageError, option
from clockhand.study.files import publish

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*")
MOST_CHARACTERS = 64

KEPT_BY_RUST = """abstract alloc as async await become box break const continue core crate do dyn
else enum extern false final fn for gen if impl in let loop macro match mod move mut override priv
proc-macro pub ref return self static std struct super test trait true try type typeof unsafe
unsized use virtual where while yield"""
"""Words that no crate or no type can have as its name."""

CRATES = {"POLICY": "policy", "LIBRARY": "policy-library", "CONFORMANCE": "conformance"}
"""The crates that the new one needs, by their place in its manifest."""

FILES = {
    "Cargo.toml": "Cargo.toml.in",
    ".gitignore": "gitignore.in",
    "src/lib.rs": "src/lib.rs.in",
}
"""The files of the crate, and what they are made of."""


@in_python()
def new_policy(name: str, folder: Path | None = None, checkout: Path | None = None) -> Path:
    """Write a crate with a policy that is CLOCK, and its tests; return its folder.

    Args:
        name: The name of the policy and of its crate, such as ``"my-clock"``.
        folder: Where the crate will be; it must not exist. A folder of the policy's name in the
            current one if not given.
        checkout: A folder with Clockhand's sources, whose crates it will use; their published
            version if not given.

    Raises:
        UsageError: the name cannot be that of a policy or a crate, or a folder is wrong.
        OSError: the folder cannot be written.
    """
    _check(name)
    folder = Path(name) if folder is None else folder
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} exists", "name a new folder with " + option("folder"))
    type_name = "".join(word.capitalize() for word in name.split("-"))
    needed = {place: _dependency(crate, checkout) for place, crate in CRATES.items()}
    contents = {}
    for path, template in FILES.items():
        source = resources.files("clockhand.study").joinpath("policy_crate", template)
        text = source.read_text(encoding="utf-8")
        text = text.replace("new-policy", name).replace("NewPolicy", type_name)
        for place, dependency in needed.items():
            text = text.replace(f'"{place}"', dependency)
        contents[folder / path] = text.encode()
    publish(contents, folder / "src")
    return folder


def _check(name: str) -> None:
    if not NAME.fullmatch(name) or len(name) > MOST_CHARACTERS:
        raise UsageError(
            f"{name!r} cannot be the name of a policy",
            "give words of small letters and digits with hyphens between them, such as my-clock",
        )
    if name in KEPT_BY_RUST.split() or name.startswith("clockhand"):
        raise UsageError(f"{name!r} is kept for Rust or for Clockhand", "give another name")
    if name in {entry["name"] for entry in _engine.policies()}:
        raise UsageError(f"the catalog has a policy {name!r}", "give another name")


def _dependency(crate: str, checkout: Path | None) -> str:
    """Return what the manifest says of a crate of Clockhand's."""
    if checkout is None:
        return f'"{_engine.__version__}"'
    path = checkout.resolve() / "crates" / crate
    if not (path / "Cargo.toml").is_file():
        raise UsageError(
            option("path") + f" {checkout}: there is no crates/{crate}/Cargo.toml in it",
            "name a folder with Clockhand's sources",
        )
    if not _can_be_quoted(str(path)):
        raise UsageError(
            option("path") + f" {checkout}: its name has characters that no manifest can have",
            "name another folder",
        )
    return f"{{ path = '{path}' }}"


def _can_be_quoted(text: str) -> bool:
    return text.isprintable() and "'" not in text
