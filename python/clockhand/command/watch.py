"""``clockhand watch``: see the hand move, step by step."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

import typer

from clockhand.command.options import TraceFile, given_options
from clockhand.command.output import check_outputs
from clockhand.command.own_policies import with_libraries
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.command.saying import command_line, say
from clockhand.command.study import with_options
from clockhand.studies.watch.buffers import WatchedBuffers, watch_buffers
from clockhand.studies.watch.playing import DEFAULT_LIMIT
from clockhand.studies.watch.result import Watched
from clockhand.studies.watch.run import OPTIONS, watch_policies
from clockhand.study.errors import UsageError, option
from clockhand.study.records import Fields
from clockhand.traces import Reading

Frames = Annotated[int | None, typer.Option(help="Page frames; 8 are easy to follow.")]
Page = Annotated[Path, typer.Option("--out", "--report", help="The page that plays the steps.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="watch", epilog="watch app.trace --policy clock,craw --frames 8 --out hand.html"
    )(_watch)


OF_POLICIES = ("policy", *OPTIONS)
"""Options of `simulate` that mean the same here."""

OF_BUFFERS = ("buffer", "ssd", "precondition", "map", "drain")
"""Options of `ssd` that mean the same here."""


@with_libraries
@with_reading
@with_options("pages", needed=False, names=OF_POLICIES, place="of_policies")
@with_options("ssd", needed=False, names=OF_BUFFERS, place="of_buffers")
def _watch(
    context: typer.Context,
    trace: TraceFile,
    of_policies: Fields,
    of_buffers: Fields,
    out: Page,
    frames: Frames = None,
    *,
    reading: Reading,
) -> None:
    """See the hand move: a page that plays every step of policies or of write buffers, one alone or
    two side by side."""
    check_outputs(out, None, None)
    policies, buffers = of_policies.pop("policy"), of_buffers.pop("buffer")
    if bool(policies) == bool(buffers):
        raise UsageError(
            "watch shows page policies or write buffers",
            "give "
            + option("policy")
            + " NAME with "
            + option("frames")
            + " N, or "
            + option("buffer")
            + " NAME:total=SIZE",
        )
    if buffers:
        _refuse(context, {"frames", *OF_POLICIES} - {"seed"}, "--buffer")
        of_buffers["seed"] = of_policies["seed"]
        _show(trace, watch_buffers, {"buffers": buffers, **of_buffers}, reading, out)
    else:
        _refuse(context, OF_BUFFERS, "--policy")
        if frames is None:
            raise UsageError(
                option("policy") + " is watched in a number of page frames",
                "add " + option("frames") + " 8",
            )
        given = {"policies": policies, "frames": frames, **of_policies}
        _show(trace, watch_policies, given, reading, out)


def _refuse(context: typer.Context, names: Collection[str], asked: str) -> None:
    """Refuse options that were given and mean nothing beside the one that was asked for."""
    for name, flag in given_options(context).items():
        if name in names:
            raise UsageError(f"{flag} means nothing with {asked}", "leave it out")


def _show(
    trace: str,
    watch: Callable[..., Watched | WatchedBuffers],
    given: Fields,
    reading: Reading,
    out: Path,
) -> None:
    with shown_progress() as progress:
        watched = watch(trace, watch=progress, command=command_line(), **given, **reading)
    for warning in watched.warnings:
        say(f"note: {warning}")
    if reading.get("limit") is None and watched.facts["traces"][0]["requests"] == DEFAULT_LIMIT:
        say(f"note: the first {DEFAULT_LIMIT:,} requests are shown; --limit N takes others")
    watched.write_report(out)
    steps = 0
    if isinstance(watched, Watched):
        steps = len(watched.references)
        for course in watched.courses:
            say(
                f"{course.policy}: {course.hits:,} hits, {course.misses:,} misses, "
                f"{course.read_ios:,} pages read, {course.write_ios:,} written"
            )
    else:
        steps = len(watched.requests)
        for row in (course.row for course in watched.courses):
            say(
                f"{row['buffer']}: {row['read_hits'] + row['write_hits']:,} hits, "
                f"{row['host_writes']:,} pages to flash in {row['batches']:,} batches, "
                f"{row['nvm_writes']:,} NVM writes, {row['erases']:,} erases"
            )
    say(f"{out} plays the {steps:,} steps: open it in a browser")
