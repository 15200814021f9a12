"""The missing cells of an experiment: a task per trace, view and setting."""

import os
from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from clockhand.sweep.dataset import Dataset
from clockhand.sweep.experiment import DETECTED, Experiment, Setting, view_and_only
from clockhand.sweep.layout import Layout
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
        of_trace = keys_of(cells.filter(pl.col("trace_sha256") == digest), experiment.layout)
        for setting in experiment.settings:
            yield task_of(experiment, trace, digest, setting.view, [setting], of_trace)


def task_of(
    experiment: Experiment,
    trace: str,
    digest: str,
    view: str,
    settings: Sequence[Setting],
    kept: Iterable[Key],
) -> Task:
    """Return the task of one trace under settings of one view."""
    given = experiment.trace_format
    own_view, only = view_and_only(view)
    return Task(
        study=experiment.layout.study.name,
        trace=trace,
        trace_sha256=digest,
        trace_format=None if given == DETECTED else given,
        key_format=given,
        view=own_view,
        only=only,
        key_view=view,
        settings=tuple(dict(setting.options) for setting in settings),
        kept=frozenset(kept),
        scratch=experiment.scratch,
        memory_limit=experiment.memory_budget,
    )


def keys_of(cells: pl.DataFrame, layout: Layout) -> set[Key]:
    """Return the keys of cells in the dataset."""
    return set(cells.select(layout.key).iter_rows())
