"""Experiments as files: a grid of any study's cells, kept one by one, and their analyses.

* :func:`read_experiment` reads and checks a TOML file (``docs/sweeps.md`` describes it).
* :func:`run_sweep` computes what the experiment's dataset lacks and gives its rows.
* :func:`tasks_of` gives the tasks of that, and :func:`compute` one task's rows, anywhere.
* :func:`analyse` carries out the analyses that the file asks for.
* :func:`differences` compares two datasets, :func:`over_traces` what ran on the same traces.
* :class:`Dataset` is the folder of Parquet files that all of it is kept in.
"""

from clockhand.datasets.analysis import Analysis, analyse
from clockhand.datasets.dataset import KEY, Dataset
from clockhand.datasets.differences import differences
from clockhand.datasets.over_traces import over_traces
from clockhand.datasets.result import Sweep
from clockhand.sweep.experiment import Experiment, read_experiment
from clockhand.sweep.run import run_sweep, tasks_of
from clockhand.sweep.task import Computed, Task, compute

__all__ = [
    "KEY",
    "Analysis",
    "Computed",
    "Dataset",
    "Experiment",
    "Sweep",
    "Task",
    "analyse",
    "compute",
    "differences",
    "over_traces",
    "read_experiment",
    "run_sweep",
    "tasks_of",
]
