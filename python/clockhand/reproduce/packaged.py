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


def packaged_dataset(experiment: Path) -> Path | None:
    """Return where to keep the cells of an experiment that lies in an installed package.

    Nothing is written into the package: its cells go to the user's cache. ``None`` for every other
    experiment, which says itself where its cells are kept.
    """
    if experiment.resolve().is_relative_to(INPUTS.resolve()):
        return cache_folder() / "datasets" / experiment.stem
    return None
