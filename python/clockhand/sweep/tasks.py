"""What of an experiment is to be computed, task by task."""

import os
from collections.abc import Iterator

import polars as pl

from clockhand.datasets.dataset import Dataset
from clockhand.sweep.experiment import Experiment
from clockhand.sweep.task import Key, Task, trace_sha256


def tasks_of(
    experiment: Experiment, dataset: str | os.PathLike[str] | None = None
) -> Iterator[Task]:
    """Give what of an experiment is still to be computed, for a scheduler: a task per trace, view
    and setting.

    Args:
        experiment: What to run.
        dataset: The folder whose cells need not be computed; the experiment's own if not given.

    Raises:
        ClockhandError: a trace cannot be read, or a part of the dataset is damaged.
    """
    folder = experiment.dataset if dataset is None else dataset
    cells = Dataset(folder, experiment.layout).cells(lists=False)
    for trace in experiment.traces:
        digest = trace_sha256(trace)
        kept = frozenset(
            cells.filter(pl.col("trace_sha256") == digest).select(experiment.layout.key).iter_rows()
        )
        for setting in range(len(experiment.settings)):
            yield task_of(experiment, trace, digest, setting, kept)


def task_of(
    experiment: Experiment, trace: str, digest: str, setting: int, kept: frozenset[Key]
) -> Task:
    """The task of one trace under one setting."""
    return Task(
        study=experiment.layout.study.name,
        trace=trace,
        trace_sha256=digest,
        trace_format=experiment.trace_format,
        view=experiment.settings[setting].view,
        settings=(dict(experiment.settings[setting].options),),
        kept=kept,
        scratch=experiment.scratch,
        memory_limit=experiment.memory_budget,
    )
