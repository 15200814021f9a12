"""The experiments and claims of papers, and their traces, which come with the package.

The folder ``inputs`` has ``experiments`` and ``traces`` side by side, as the repository has. In a
checkout its files are links to those of the repository; a wheel holds the files themselves.
"""

from pathlib import Path

from clockhand.study.files import cache_folder
from clockhand.study.records import Fields
from clockhand.sweep.experiment import read_content

INPUTS = Path(__file__).with_name("inputs")


def packaged(paper: str, name: str) -> Path:
    """Return a file of a paper's experiment; in a checkout, the repository's own."""
    return (INPUTS / "experiments" / paper / name).resolve()


def packaged_content(paper: str, name: str) -> Fields:
    """Return what a TOML file of a paper's experiment says: ``claims.toml`` or ``report.toml``."""
    return read_content(packaged(paper, name))


def packaged_dataset(paper: str) -> Path:
    """Return where to keep the cells of a paper's own experiment: the user's cache.

    Nobody asked for files in the package, or in the checkout that it comes from.
    """
    return cache_folder() / "datasets" / paper
