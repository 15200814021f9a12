"""``clockhand recommend``: which policy for a program and a device, which buffer for a drive."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.options import (
    Device,
    Frames,
    Jobs,
    Out,
    OutputFormat,
    PageSize,
    TraceFile,
    given_options,
)
from clockhand.command.output import check_figures, check_outputs, deliver
from clockhand.command.own_policies import with_libraries
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.command.saying import command_line, say
from clockhand.command.study import with_options
from clockhand.command.tables import print_table
from clockhand.completion.values import values_of
from clockhand.studies.pages.recommendation import recommend
from clockhand.studies.pages.recommended import Recommendation
from clockhand.studies.ssd.recommendation import (
    OF_DRIVES,
    BufferRecommendation,
    recommend_buffer,
)
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import printable
from clockhand.study.files import check_places
from clockhand.study.policies import BASELINE, BOUND, FEASIBLE, OPTIMUM, kind_in_rows
from clockhand.study.records import Fields
from clockhand.traces import Reading

BAR_WIDTH = 40
SHOWN_POLICIES = 10


class Purpose(StrEnum):
    """The use of a recommended policy."""

    SIMULATION = "simulation"
    PAGER = "pager"


Memory = Annotated[
    str | None, typer.Option(help="A share of the footprint or a size, such as 20% or 64MiB.")
]
For = Annotated[
    Purpose, typer.Option("--for", help="pager: only policies that can drive real memory.")
]
Policy = Annotated[
    list[str] | None,
    typer.Option(
        help="Also choose from this one: FILE.py:CLASS, FILE.so:NAME, or "
        "NAME:parameter=value,... of the catalog.",
        autocompletion=values_of("policies", several=True),
    ),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", "--html", help="Write a self-contained HTML report."),
]
Figure = Annotated[
    Path | None,
    typer.Option(help="The same, beside it: the leading figure in a file .svg, .png or .pdf."),
]


Ssd = Annotated[
    str | None,
    typer.Option(
        metavar="DRIVE",
        help="Say instead which write buffer suits this flash drive, and how large: "
        "NAME[:option=value,...] or FILE.toml.",
        autocompletion=values_of("ssds"),
    ),
]
Buffer = Annotated[
    list[str] | None,
    typer.Option(
        help="With --ssd: choose from these, NAME:total=SIZE with lists and ranges of sizes "
        "(4MiB..64MiB); all at 1, 2, 5, 10 and 20 % of the footprint if not given.",
        autocompletion=values_of("write_buffers", several=True),
    ),
]
Years = Annotated[
    float | None,
    typer.Option(help="With --ssd: the smallest buffer that makes the flash last this long."),
]

ONLY_DRIVES = ("buffer", "years", *OF_DRIVES)
ONLY_MEMORY = ("device", "memory", "frames", "page_size", "purpose", "policy")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="recommend", epilog="recommend app.trace --memory 10% --device mlc-nand")(
        _recommend
    )


@with_libraries
@with_reading
@with_options("ssd", names=OF_DRIVES, place="of_drive")
def _recommend(
    context: typer.Context,
    trace: TraceFile,
    of_drive: Fields,
    device: Device = "slc-nand",
    memory: Memory = None,
    frames: Frames = None,
    page_size: PageSize = "4KiB",
    purpose: For = Purpose.SIMULATION,
    policy: Policy = None,
    ssd: Ssd = None,
    buffer: Buffer = None,
    years: Years = None,
    jobs: Jobs = None,
    figure: Figure = None,
    report: Report = None,
    format: OutputFormat = None,
    out: Out = None,
    *,
    reading: Reading,
) -> None:
    """Name the best policy for a trace, a device and a memory size, or the best write buffer for a
    drive, and say how robust the choice is."""
    _check_question(context, ssd)
    check_figures(figure)
    check_outputs(out, report, None)
    check_places([path for path in (out, figure, report) if path is not None])
    with shown_progress() as watch:
        answer: Recommendation | BufferRecommendation
        if ssd is None:
            answer = recommend(
                trace, device=device, frames=frames, memory=memory, page_size=page_size,
                purpose=purpose, policies=policy or (), jobs=jobs, watch=watch,
                command=command_line(), **reading,
            )  # fmt: skip
        else:
            answer = recommend_buffer(
                trace, ssd=ssd, buffers=buffer or "all", years=years, jobs=jobs, watch=watch,
                command=command_line(), **of_drive, **reading,
            )  # fmt: skip
    for warning in answer.warnings:
        say(warning)
    files = {**answer.report_files(report, None), **answer.report_files(figure, None)}
    if isinstance(answer, Recommendation):
        deliver(answer.situations, format, out, partial(_print_answer, answer), files)
        return
    deliver(answer.sizes, format, out, partial(_print_buffers, answer), files)


def _check_question(context: typer.Context, ssd: str | None) -> None:
    """Refuse options of the other question."""
    given = given_options(context)
    foreign = ONLY_MEMORY if ssd is not None else ONLY_DRIVES
    for name in foreign:
        if name in given and ssd is None:
            raise UsageError(
                f"{given[name]} is for write buffers",
                "add " + option("ssd") + " DRIVE, or leave it out",
            )
        if name in given:
            raise UsageError(
                f"{given[name]} is for policies of memory",
                "leave out it or " + option("ssd") + f" {ssd}",
            )


def _print_buffers(answer: BufferRecommendation, to: Console) -> None:
    for sentence in answer.sentences:
        to.print(Text(printable(sentence)), soft_wrap=True)
    to.print()
    shown = answer.sizes.select(
        pl.col("buffer_pages").alias("pages"),
        (pl.col("buffer_bytes") / (1 << 20)).alias("MiB"),
        "best",
        pl.col("host_writes").alias("to flash"),
        pl.col("next_best").alias("next best"),
        pl.col("next_best_host_writes").alias("to flash, next best"),
        pl.col("lru_host_writes").alias("to flash, lru"),
        pl.col("erases"),
        pl.col("write_p99_us").alias("write p99 µs"),
        pl.col("life_years").alias("years"),
        pl.when("is_knee").then(pl.lit("knee")).alias("frontier"),
    )
    known = [column for column in shown if column.null_count() < len(shown)]
    print_table("what each size allows", shown.select(known), to)


def _print_answer(answer: Recommendation, to: Console) -> None:
    for sentence in answer.sentences:
        to.print(Text(printable(sentence)))
    if kind_in_rows(answer.policy) != "bits":
        to.print(
            Text(
                f"{printable(answer.policy)} needs to see every hit, so it cannot page a real "
                "program; to choose one that can, add --for pager, and --only anonymous for a "
                "trace with files."
            )
        )
    to.print()
    _print_bars(answer, to)
    shown = answer.situations.select(
        "situation",
        "frames",
        pl.col("write_read_ratio").alias("ratio"),
        "best",
        (pl.col("best_io_time_us") / 1e6).alias("I/O time s"),
        (pl.col("recommended_io_time_us") / 1e6).alias(f"{answer.policy} s"),
        (pl.col("recommended_io_time_us") / pl.col("bound_io_time_us")).alias("vs bound"),
    )
    print_table("how robust that is", shown, to)


def _print_bars(answer: Recommendation, to: Console) -> None:
    """Draw the I/O times of the best policies, and of those that one compares with."""
    ordered = answer.rows.sort("io_time_us", maintain_order=True)
    times = ordered.select("policy", pl.col("io_time_us") / 1e6)
    compared = [BASELINE, OPTIMUM, FEASIBLE, BOUND, answer.policy]
    can_run = ordered.filter(pl.col("kind").is_in(["bits", "access"]))
    best = can_run["policy"][:SHOWN_POLICIES]
    shown = times.filter(pl.col("policy").is_in([*best, *compared]))
    longest_s = max(*shown["io_time_us"], 1e-12)
    width = max(len(name) for name in shown["policy"])
    to.print(Text("I/O time s"))
    for policy, time_s in shown.iter_rows():
        bar = "█" * max(1, round(BAR_WIDTH * time_s / longest_s))
        mark = "→" if policy == answer.policy else " "
        to.print(Text(f"{mark} {policy:<{width}}  {bar} {time_s:,.4g}"))
    others = times.join(shown, on="policy", how="anti")
    if len(others):
        times_s = others["io_time_us"].to_list()  # From the least to the most.
        names = ", ".join(others["policy"])
        to.print(
            Text(f"  {len(others)} others from {times_s[0]:,.4g} to {times_s[-1]:,.4g}: {names}")
        )
    to.print()
