"""Experiments as files: a grid of simulations, kept cell by cell, and their analyses.

* :func:`read_experiment` reads and checks a TOML file (``docs/sweeps.md`` describes it).
* :func:`run_sweep` computes what the experiment's dataset lacks and gives its rows.
* :func:`analyse` carries out the analyses that the file asks for.
* :class:`Dataset` is the folder of Parquet files that all of it is kept in.
"""

from clockhand.sweep.analysis import Analysis, analyse
from clockhand.sweep.dataset import KEY, Dataset
from clockhand.sweep.experiment import Experiment, read_experiment
from clockhand.sweep.run import Sweep, run_sweep

__all__ = [
    "KEY",
    "Analysis",
    "Dataset",
    "Experiment",
    "Sweep",
    "analyse",
    "read_experiment",
    "run_sweep",
]
