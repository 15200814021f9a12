"""``clockhand watch``: see the hand move, step by step."""

from pathlib import Path
from typing import Annotated, Any

import typer

from clockhand.command.options import TraceFile
from clockhand.command.output import check_outputs, command_line, say
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.command.study import with_options
from clockhand.studies.watch.run import DEFAULT_LIMIT, watch_policies
from clockhand.traces import Reading

Frames = Annotated[int, typer.Option(help="Page frames; 8 are easy to follow.")]
Page = Annotated[Path, typer.Option("--out", help="The HTML page that plays the steps.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="watch")(_watch)


SHARED = ("policy", "page_size", "device", "bits", "write_miss", "seed")
"""Options of `simulate` that mean the same here."""


@with_reading
@with_options("pages", required=("policy",), names=SHARED)
def _watch(
    trace: TraceFile,
    frames: Frames,
    out: Page,
    options: Any,
    *,
    reading: Reading,
) -> None:
    """See the hand move: a page that plays every step of one policy, or of two side by side."""
    check_outputs(out, None, None)
    with shown_progress() as progress:
        watched = watch_policies(
            trace,
            policies=options.pop("policy"),
            frames=frames,
            watch=progress,
            command=command_line(),
            **options,
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
