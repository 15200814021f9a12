"""``clockhand run``: programs whose memory a policy pages, and the kernel's swap beside them."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.live import shown_live
from clockhand.command.own_policies import with_libraries
from clockhand.command.papers import Outputs, with_outputs
from clockhand.command.progress import shown_progress
from clockhand.command.saying import command_line, say, tell
from clockhand.command.study import GIVEN, with_options
from clockhand.command.tables import print_table
from clockhand.completion.values import values_of
from clockhand.studies.programs.comparison import PagedComparison, contenders
from clockhand.studies.programs.comparison import compare as run_comparison
from clockhand.studies.programs.findings import (
    beside,
    busiest,
    comparison_findings,
    comparison_for_people,
    left_out,
    processes_for_people,
    run_findings,
)
from clockhand.studies.programs.options import DECLARED
from clockhand.studies.programs.result import PagedRun
from clockhand.studies.programs.run import run
from clockhand.studies.programs.samples import Live
from clockhand.study.errors import ClockhandError, UsageError, option
from clockhand.study.facts import printable
from clockhand.study.records import Fields

Command = Annotated[
    list[str], typer.Argument(metavar="-- CMD...", help="The program and its arguments.")
]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:p=v,...]",
        help="A policy that works with faults and bits alone. See: clockhand policies.",
        autocompletion=values_of("policies"),
    ),
]
SwapInRam = Annotated[
    bool, typer.Option("--swap-in-ram", help="Keep pages in RAM instead, compressed.")
]
LogOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE.parquet", help="Keep the log of references, a stream per process."),
]
Simulate = Annotated[
    bool,
    typer.Option(
        "--simulate/--no-simulate", help="Replay the log and show what the simulator counts."
    ),
]
LiveOption = Annotated[
    bool, typer.Option("--live", help="Show faults, write-backs and area sizes while it runs.")
]
Compare = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Run the program under each of these, such as clock,craw,kernel; kernel is the "
        "kernel's own swap with equal memory.",
        autocompletion=values_of("contenders", several=True),
    ),
]
Repeat = Annotated[
    int | None,
    typer.Option(help="Run each contender of --compare this many times, in turns; 1 if not given."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="run",
        epilog="run --policy craw --memory 64MiB --swap swap.img -- python3 job.py",
        context_settings={"allow_interspersed_args": False},
    )(with_libraries(_run))


@with_outputs("highlight")
@with_options(DECLARED)
def _run(
    command: Command,
    policy: Policy = None,
    options: Fields = GIVEN,
    swap_in_ram: SwapInRam = False,
    record: LogOption = None,
    simulate: Simulate = True,
    live: LiveOption = False,
    compare: Compare = None,
    repeat: Repeat = None,
    *,
    outputs: Outputs,
) -> None:
    """Run a program under a policy, on real memory, with a swap file of its own.

    Its standard streams are untouched; Clockhand's messages go to standard error. The exit code is
    the program's.
    """
    _check(policy, options, swap_in_ram, record, compare, repeat)
    emulate = options["emulate"]
    if emulate is not None and options["device"] != DECLARED["device"].default:
        raise UsageError(
            option("emulate") + f" {emulate} is the device, too",
            "leave " + option("device") + " out",
        )
    outputs.check(record)
    if live and not sys.stderr.isatty():
        say("--live shows nothing, because standard error is not a terminal")
    shown = shown_live if live and sys.stderr.isatty() else None
    if compare is None:
        assert policy is not None, "one of the two was given"
        done = _ran(command, policy, record, simulate, shown, options)
    else:
        done = _compared(command, policy, compare, repeat, shown, options)
    for warning in done.warnings:
        # A program that was ended, or may have lost pages, is no note: --quiet leaves it standing.
        tell(warning)
    printed = partial(_print, done)
    files = outputs.figures(done) | outputs.files(printed, done.facts)
    outputs.deliver(done.rows, printed, files, stderr=True)
    if isinstance(done, PagedRun) and done.disagreements:
        raise ClockhandError(" ".join(done.disagreements))
    if done.exit_code:
        # Not Typer's own way out: its 130 would read as Ctrl-C at our own work.
        sys.exit(done.exit_code)


def _ran(
    command: list[str],
    policy: str,
    record: Path | None,
    simulate: bool,
    shown: Live | None,
    options: Fields,
) -> PagedRun | PagedComparison:
    return run(
        command,
        policy=policy,
        record=record,
        simulate=simulate,
        live=shown,
        progress=shown_progress,
        made_by=command_line(),
        **options,
    )


def _compared(
    command: list[str],
    policy: str | None,
    compare: str,
    repeat: int | None,
    shown: Live | None,
    options: Fields,
) -> PagedComparison:
    chosen = ([] if policy is None else [policy]) + contenders(compare)
    return run_comparison(
        command,
        policies=list(dict.fromkeys(chosen)),
        repeat=1 if repeat is None else repeat,
        live=shown,
        tell=say,
        made_by=command_line(),
        **options,
    )


def _check(
    policy: str | None,
    options: Fields,
    swap_in_ram: bool,
    record: Path | None,
    compare: str | None,
    repeat: int | None,
) -> None:
    """Refuse options that lack or contradict each other.

    Raises:
        UsageError: they do.
    """
    if policy is None and compare is None:
        raise UsageError(
            "no policy is given",
            "add " + option("policy") + " NAME, or " + option("compare") + " with several",
        )
    if (options["swap"] is None) == (not swap_in_ram):
        raise UsageError(
            "pages that leave memory need one place",
            "give " + option("swap") + " FILE or " + option("swap-in-ram"),
        )
    if options["swap_limit"] is not None and options["swap"] is None:
        raise UsageError(
            option("swap-limit") + " is the most that a file may hold",
            "give " + option("swap") + " FILE",
        )
    if compare is None and repeat is not None:
        raise UsageError(
            option("repeat") + " is for comparisons",
            "give " + option("compare") + ", or leave it out",
        )
    if compare is not None and record is not None:
        raise UsageError(
            option("record")
            + " keeps the log of one run, which "
            + option("compare")
            + " does not have",
            "leave one out",
        )


def _print(done: PagedRun | PagedComparison, to: Console) -> None:
    if isinstance(done, PagedRun):
        _print_run(done, to)
    else:
        _print_comparison(done, to)


def _print_run(done: PagedRun, to: Console) -> None:
    """Print a line per process, the simulator's counts beside, and what stands out."""
    rows = done.rows
    memory = f"{rows['frames'][0]:,} frames, {rows['reserve'][0]:,} of them in reserve"
    title = f"{printable(done.facts['program'])}: {rows['policy_resolved'][0]}, {memory}"
    shown = busiest(rows)
    print_table(title, processes_for_people(shown), to)
    counted = beside(shown)
    if not counted.is_empty():
        print_table("the same references in the simulator", counted, to)
    sentences = [*run_findings(rows, done.facts), *left_out(rows, shown), *done.facts["notes"]]
    _print_sentences(sentences, done, to)


def _print_comparison(done: PagedComparison, to: Console) -> None:
    """Print a line per contender, what stands out, and what the kernel's line rests on."""
    print_table(printable(done.facts["program"]), comparison_for_people(done.rows), to)
    _print_sentences([*comparison_findings(done.rows), *done.facts["notes"]], done, to)


def _print_sentences(sentences: list[str], done: PagedRun | PagedComparison, to: Console) -> None:
    """Print what has not been said already, as a warning."""
    for sentence in sentences:
        if sentence in done.warnings:
            continue
        to.print(Text(printable(sentence)), soft_wrap=True)
