"""The experiments of papers and their traces, which come with the package.

The folder ``inputs`` has ``experiments`` and ``traces`` side by side, as the repository has. In a
checkout its files are links to those of the repository; a wheel holds the files themselves.
"""

from pathlib import Path

from clockhand.study.files import cache_folder

INPUTS = Path(__file__).with_name("inputs")


def packaged_experiment(paper: str) -> Path:
    """Return the experiment of a paper; in a checkout, the repository's own file."""
    return (INPUTS / "experiments" / f"{paper}.toml").resolve()


def packaged_dataset(paper: str) -> Path:
    """Return where to keep the cells of a paper's own experiment: the user's cache.

    Nobody asked for files in the package, or in the checkout that it comes from.
    """
    return cache_folder() / "datasets" / paper
