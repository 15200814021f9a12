"""``clockhand measure``: a device profile of this machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskProgressColumn

from clockhand import _engine
from clockhand.command.output import check_outputs
from clockhand.command.progress import progress_bar
from clockhand.command.saying import say
from clockhand.measure.run import (
    FILE_BYTES,
    OPERATIONS,
    MeasuredProfile,
    Watch,
    measure_memory,
    plan_storage,
)
from clockhand.study.errors import UsageError, option

Place = Annotated[
    str | None,
    typer.Argument(
        help="A folder on the storage to measure, for a temporary file without a name; or a file "
        "that does not exist."
    ),
]
Memory = Annotated[
    bool, typer.Option("--memory", help="Measure memory instead: copies, faults, TLB misses.")
]
Out = Annotated[Path, typer.Option(help="Write the profile to this TOML file.")]
WriteToExisting = Annotated[
    bool,
    typer.Option(
        "--write-to-existing",
        help="Overwrite a file or block device that exists. Its content is lost.",
    ),
]
FileSize = Annotated[str, typer.Option(help="Bytes that requests go to, such as 1GiB.")]
Operations = Annotated[int, typer.Option(help="The most repetitions of each request.")]
Seed = Annotated[int, typer.Option(help="Seed of the places of requests, from 0.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="measure", epilog="measure /mnt/disk --out disk.toml")(_measure)


def _measure(
    out: Out,
    path: Place = None,
    memory: Memory = False,
    write_to_existing: WriteToExisting = False,
    file_size: FileSize = FILE_BYTES,
    operations: Operations = OPERATIONS,
    seed: Seed = 0,
) -> None:
    """Measure storage or memory and write a profile that every --device takes."""
    if (path is None) != memory:
        raise UsageError(
            "either storage or memory is measured", "give a path, or " + option("memory")
        )
    if out.suffix != ".toml":
        raise UsageError(
            option("out") + f" {str(out)!r} does not end in .toml, by which devices are known",
            "add this ending",
        )
    check_outputs(out, None, None)
    if path is None:
        say("measuring memory; nothing is written but a file system in memory, if root allows it")
        profile = _watched(lambda watch: measure_memory(seed=seed, watch=watch))
    else:
        plan = plan_storage(
            path,
            file_size=file_size,
            operations=operations,
            write_to_existing=write_to_existing,
            seed=seed,
        )
        say(plan.announcement)
        profile = _watched(plan.run)
    profile.write(out)
    say(f"{out}: the profile; --device takes it")
    typer.echo(_engine.device_page(str(out)))
    for sentence in profile.findings:
        typer.echo(sentence)


def _watched(work: Callable[[Watch | None], MeasuredProfile]) -> MeasuredProfile:
    """Do work with a progress bar; without one where it would not be seen."""
    with progress_bar(TaskProgressColumn()) as progress:
        if progress is None:
            return work(None)
        task = progress.add_task("measuring", total=None)

        def watch(step: str, done: int, total: int) -> None:
            progress.update(task, description=step, completed=done, total=total)

        return work(watch)
