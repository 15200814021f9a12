"""``clockhand watch``: see the hand move, step by step."""

from pathlib import Path
from typing import Annotated

import typer

from clockhand.command.options import Device, PageSize, Seed, TraceFile
from clockhand.command.output import check_outputs, command_line, say
from clockhand.command.pages import Bits, Policies, WriteMiss
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.studies.watch.run import DEFAULT_LIMIT, watch_policies
from clockhand.traces import Reading

Frames = Annotated[int, typer.Option(help="Page frames; 8 are easy to follow.")]
Page = Annotated[Path, typer.Option("--out", help="The HTML page that plays the steps.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="watch")(_watch)


@with_reading
def _watch(
    trace: TraceFile,
    policy: Policies,
    frames: Frames,
    out: Page,
    page_size: PageSize = "4KiB",
    device: Device = "slc-nand",
    bits: Bits = "exact",
    write_miss: WriteMiss = "fetch",
    seed: Seed = 0,
    *,
    reading: Reading,
) -> None:
    """See the hand move: a page that plays every step of one policy, or of two side by side."""
    check_outputs(out, None, None)
    with shown_progress() as progress:
        watched = watch_policies(
            trace,
            policies=policy,
            frames=frames,
            page_size=page_size,
            device=device,
            bits=bits,
            write_miss=write_miss,
            seed=seed,
            watch=progress,
            command=command_line(),
            **reading,
        )
    for warning in watched.warnings:
        say(f"note: {warning}")
    if reading.get("limit") is None and watched.facts["traces"][0]["requests"] == DEFAULT_LIMIT:
        say(f"note: the first {DEFAULT_LIMIT:,} requests are shown; --limit N takes others")
    watched.write_report(out)
    for course in watched.courses:
        say(
            f"{course.policy}: {course.hits:,} hits, {course.misses:,} misses, "
            f"{course.read_ios:,} pages read, {course.write_ios:,} written"
        )
    say(f"{out} plays the {len(watched.references):,} steps: open it in a browser")
