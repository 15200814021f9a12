"""Copies the committed state into a folder of its own, and writes the project's address into it.

``make release`` builds from this copy: what is not committed gets into no package, and packages
name the repository that they come from although the repository itself knows no address.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent

FILES_AT = {
    "github.com": "{repository}/blob/v{version}/{path}",
    "gitlab.com": "{repository}/-/blob/v{version}/{path}",
    "codeberg.org": "{repository}/src/tag/v{version}/{path}",
}
"""Where hosts show a file of a version's tag; of others the repository itself is named."""

PAGES = {"Documentation": "README.md", "Changelog": "CHANGELOG.md"}
LEAST_PARTS = 2
"""Owner and name; groups of GitLab have more."""


def main() -> None:
    """Make the copy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="is emptied first")
    parser.add_argument("--repository", default="", help="https://HOST/OWNER/NAME")
    options = parser.parse_args()
    try:
        address = public_address(options.repository) if options.repository else address_of_origin()
    except ValueError as error:
        sys.exit(f"release: {error}")
    copy_committed(options.folder)
    if address is None:
        print(
            "release: the packages name no repository; for one, give REPOSITORY=https://… or a "
            "remote origin with such an address",
            file=sys.stderr,
        )
    else:
        write_address(options.folder, address)


def public_address(text: str) -> str:
    """Return the address of a repository without what only git needs.

    Raises:
        ValueError: it is not the address of a repository that everyone can open.
    """
    wrong = f"{text!r} is no public address of a repository; give https://HOST/OWNER/NAME"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(wrong) from None
    host, path = parts.hostname or "", parts.path.strip("/").removesuffix(".git")
    is_plain = re.fullmatch(r"[\w.~/-]+", path, re.ASCII) and ".." not in path and "//" not in path
    has_name = re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}", host)
    extra = parts.username or parts.password or parts.query or parts.fragment or port
    is_address = parts.scheme == "https" and has_name and is_plain and not extra
    if (
        not is_address
        or host.endswith((".local", ".internal"))
        or path.count("/") + 1 < LEAST_PARTS
    ):
        raise ValueError(wrong)
    return f"https://{host}/{path}"


def address_of_origin() -> str | None:
    """Return the address of the remote repository ``origin``; none if it has no public one."""
    asked = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    said = subprocess.run(asked, capture_output=True, text=True)
    try:
        return public_address(said.stdout.strip())
    except ValueError:
        return None


def copy_committed(folder: Path) -> None:
    """Write the files of the last commit into a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    asked = ["git", "-C", str(ROOT), "archive", "--format=tar", "HEAD"]
    packed = subprocess.run(asked, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="tar")


def write_address(folder: Path, repository: str) -> None:
    """Write the address into the metadata of the crates and of the Python package."""
    workspace = folder / "Cargo.toml"
    version = tomllib.loads(workspace.read_text())["workspace"]["package"]["version"]
    insert_after(workspace, 'license = "MIT OR Apache-2.0"', f'repository = "{repository}"')
    for manifest in sorted(folder.glob("crates/*/Cargo.toml")):
        insert_after(manifest, "license.workspace = true", "repository.workspace = true")
    lines = [f'{name} = "{url}"' for name, url in project_urls(repository, version).items()]
    project = folder / "pyproject.toml"
    project.write_text(project.read_text() + "\n" + "\n".join(["[project.urls]", *lines, ""]))


def insert_after(manifest: Path, line: str, added: str) -> None:
    """Add a line after one that a manifest has once."""
    text = manifest.read_text()
    if text.count(f"\n{line}\n") != 1:
        raise RuntimeError(f"{manifest} lacks the line {line!r}")
    manifest.write_text(text.replace(f"\n{line}\n", f"\n{line}\n{added}\n"))


def project_urls(repository: str, version: str) -> dict[str, str]:
    """Return what a package index shows beside the package."""
    form = FILES_AT.get(urlsplit(repository).hostname or "", "{repository}")
    pages = {
        name: form.format(repository=repository, version=version, path=path)
        for name, path in PAGES.items()
    }
    return {"Repository": repository, **pages, "Issues": f"{repository}/issues"}


if __name__ == "__main__":
    main()
