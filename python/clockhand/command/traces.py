"""``clockhand trace``: what a trace is like, its conversion, and its capture."""

from typing import Annotated

import polars as pl
import typer

from clockhand.command import capture, synthesis
from clockhand.command.options import Traces
from clockhand.command.output import Format, format_for, labels_of, write_rows
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.command.saying import command_line, say
from clockhand.command.tables import print_table
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import origin_of, synthetic_mark
from clockhand.study.records import Fields
from clockhand.traces import Reading, Trace, as_traces, convert_traces, reading_notes
from clockhand.traces.description import described, first_requests, stream_facts

OutputFormat = Annotated[
    Format | None,
    typer.Option("--format", help="Format of the facts; table if not given."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    trace = typer.Typer(
        help="Capture traces, look at them, convert them, make synthetic ones.",
        epilog="trace info app.trace.gz",
        no_args_is_help=True,
    )
    trace.command(name="info", epilog="trace info app.trace.gz")(_info)
    trace.command(name="convert", epilog="trace convert app.csv.gz app.parquet")(_convert)
    synthesis.register(trace)
    capture.register(trace)
    app.add_typer(trace, name="trace")


@with_reading
def _info(
    traces: Traces,
    page_size: Annotated[str, typer.Option(help="Page size, a power of two.")] = "4KiB",
    format: OutputFormat = None,
    *,
    reading: Reading,
) -> None:
    """Describe traces: format, requests, reads and writes, footprint, skipped lines."""
    with shown_progress() as watch:
        source = _single(as_traces(traces, watch=watch, **reading))
        info = source.info(page_size=page_size, watch=watch)
    facts = described(info)
    shown = pl.DataFrame({"fact": list(facts), "value": list(facts.values())})
    rows = pl.DataFrame([{"trace": source.name} | _flat(info)])
    title = f"{source.name} {synthetic_mark(origin_of(info['labels']))}".rstrip()
    write_rows(rows, format_for(format, None), lambda to: print_table(title, shown, to))


def _single(traces: list[Trace]) -> Trace:
    """Return the only trace.

    Raises:
        UsageError: there are several.
    """
    if len(traces) != 1:
        raise UsageError(
            f"these are {len(traces)} traces", "name one, or read them with " + option("as-one")
        )
    return traces[0]


def _flat(info: Fields) -> Fields:
    """Return the facts as one row: texts of several lines are joined."""
    labels = [f"{key}: {value}" for key, value in info["labels"]]
    lists = {
        "first_skipped": info["first_skipped"],
        "notes": info["notes"],
        "labels": labels,
        "stream_counts": [f"{name}: {value}" for name, value in stream_facts(info).items()],
        "segments": info["segments"],
        "first_requests": list(first_requests(info).values()),
        "events": [f"{what}: {count}" for what, count in info["events"]],
    }
    if info["classes"] is not None:
        lists["classes"] = [f"{letter} {count}" for letter, count in info["classes"].items()]
    return info | {name: "; ".join(items) for name, items in lists.items()}


@with_reading
def _convert(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE... OUT", help="Traces, then the file to write.")
    ],
    to: Annotated[
        str | None,
        typer.Option(
            help="Format to write; by the file's name if not given. See: clockhand formats."
        ),
    ] = None,
    widen: Annotated[
        bool,
        typer.Option(
            "--widen",
            help="Widen requests to whole sectors, blocks or cache lines if the format has no "
            "others.",
        ),
    ] = False,
    cpu_cache: Annotated[
        bool,
        typer.Option(
            help="Put a first-level cache (16 KiB + 16 KiB, 4 ways, 32-byte lines) between the "
            "processor accesses of a trace and memory."
        ),
    ] = False,
    label: Annotated[
        list[str] | None, typer.Option(help="KEY=VALUE to keep with the trace.")
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Write traces to one file in any format that can be written, and name what it cannot hold.

    Several traces become one timeline with a stream each. The file is compressed if its name ends
    in .gz, .xz, .zst or .bz2.
    """
    *inputs, out = traces
    labels = [("made by", command_line()), *labels_of(label)]
    with shown_progress() as watch:
        sources = as_traces(inputs, cpu_cache=cpu_cache, watch=watch, **reading)
        converted = convert_traces(sources, out, to=to, widen=widen, labels=labels, watch=watch)
    reports = converted["traces"]
    for source, report in zip(sources, reports, strict=True):
        for note in reading_notes(report):
            say(f"{source.name}: {note}")
    for loss in converted["losses"]:
        say(f"{out}: {loss}")
    requests = sum(report["requests"] for report in reports)
    say(f"{out}: {requests:,} requests as {converted['format']}")
