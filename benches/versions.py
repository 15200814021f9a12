"""The sources of another version of the project, which benches compare with the working tree."""

import io
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def unpacked(folder: Path, commit: str, sources: Sequence[str]) -> Path:
    """Write files and folders of a commit into a folder and return it."""
    command = ["git", "-C", str(ROOT), "archive", commit, *sources]
    archive = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder
