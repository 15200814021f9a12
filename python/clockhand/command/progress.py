"""Progress on standard error, with the time that is left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from clockhand.command.output import console
from clockhand.traces import Watch

LABELS = {
    "reading": "reading the trace",
    "replaying": "replaying",
    "synthesizing": "making the trace",
    "preconditioning": "ageing the drive",
}


@contextmanager
def shown_progress() -> Iterator[Watch | None]:
    """Give a function that shows progress while the block runs; none where nobody would see it."""
    errors = console(stderr=True)
    if not errors.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task(LABELS["reading"], total=None)
        phase_shown = "reading"

        def watch(phase: str, done: int, total: int) -> None:
            nonlocal phase_shown
            if phase != phase_shown:
                progress.reset(task)
                phase_shown = phase
            progress.update(task, description=LABELS[phase], completed=done, total=total or None)

        yield watch
