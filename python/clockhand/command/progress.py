"""Progress on standard error, with the time that is left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from clockhand.command.output import console
from clockhand.traces import Watch

LABELS = {
    "reading": "reading the trace",
    "replaying": "replaying",
    "synthesizing": "making the trace",
    "preconditioning": "ageing the drive",
}


@contextmanager
def progress_bar(*measure: ProgressColumn) -> Iterator[Progress | None]:
    """Give a bar between what is done and the time left; none where it would not be seen.

    Args:
        measure: The columns that say how far the task is.
    """
    errors = console(stderr=True)
    if not errors.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), *measure, TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        yield progress


@contextmanager
def shown_progress() -> Iterator[Watch | None]:
    """Give a function that shows progress while the block runs; none where it would not be seen."""
    with progress_bar(TaskProgressColumn()) as progress:
        if progress is None:
            yield None
            return
        task = progress.add_task(LABELS["reading"], total=None)
        phase_shown = "reading"

        def watch(phase: str, done: int, total: int) -> None:
            nonlocal phase_shown
            if phase != phase_shown:
                progress.reset(task)
                phase_shown = phase
            progress.update(task, description=LABELS[phase], completed=done, total=total or None)

        yield watch
