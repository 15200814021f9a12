"""``clockhand trace``: what a trace is like, and its conversion."""

import datetime
from typing import Annotated, Any

import polars as pl
import typer

from clockhand import UsageError
from clockhand.command import synthesis
from clockhand.command.output import (
    UNKNOWN,
    Format,
    command_line,
    format_for,
    print_table,
    say,
    write_rows,
)
from clockhand.command.progress import shown_progress
from clockhand.facts import origin_of, synthetic_mark
from clockhand.traces import Trace, convert_traces, reading_notes

TraceFile = Annotated[str, typer.Argument(help="A trace, compressed or not; - is standard input.")]
TraceFormat = Annotated[
    str | None, typer.Option(help="Format of the trace. See: clockhand formats.")
]
OutputFormat = Annotated[
    Format | None,
    typer.Option("--format", help="How the facts are written; table if not given."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    trace = typer.Typer(
        help="Look at traces, convert them, make synthetic ones.", no_args_is_help=True
    )
    trace.command(name="info")(_info)
    trace.command(name="convert")(_convert)
    synthesis.register(trace)
    app.add_typer(trace, name="trace")


def _info(
    trace: TraceFile,
    page_size: Annotated[str, typer.Option(help="Page size, a power of two.")] = "4KiB",
    trace_format: TraceFormat = None,
    format: OutputFormat = None,
) -> None:
    """Tell what a trace is like: format, requests, reads and writes, footprint, skipped lines."""
    source = Trace(trace, format=trace_format)
    with shown_progress() as watch:
        info = source.info(page_size=page_size, watch=watch)
    facts = _facts(info)
    shown = pl.DataFrame(
        {"fact": list(facts), "value": list(facts.values())},
        schema={"fact": pl.String, "value": pl.String},
    )
    rows = pl.DataFrame([{"trace": source.name} | _flat(info)])
    title = f"{source.name} {synthetic_mark(origin_of(info['labels']))}".rstrip()
    write_rows(rows, format_for(format, None), lambda to: print_table(title, shown, to))


def _flat(info: dict[str, Any]) -> dict[str, Any]:
    """Return the facts as one row: texts of several lines are joined."""
    labels = [f"{key}: {value}" for key, value in info["labels"]]
    lists = {"first_skipped": info["first_skipped"], "notes": info["notes"], "labels": labels}
    return info | {name: "; ".join(items) for name, items in lists.items()}


def _facts(info: dict[str, Any]) -> dict[str, str]:
    page_kib = info["page_bytes"] / 1024
    share = 100 * info["write_references"] / info["references"]
    facts = {
        "format": info["format"] + (f", {info['compression']}" if info["compression"] else ""),
        "requests": f"{info['requests']:,}: {info['read_requests']:,} reads, "
        f"{info['write_requests']:,} writes",
        "request size": f"{info['min_request_bytes']:,} to {info['max_request_bytes']:,} bytes, "
        f"mean {info['mean_request_bytes']:,.1f}",
        "bytes": f"{info['read_bytes']:,} read, {info['written_bytes']:,} written",
        f"page references ({page_kib:g} KiB)": f"{info['references']:,}: "
        f"{info['read_references']:,} reads, {info['write_references']:,} writes ({share:.1f} %)",
        "footprint": f"{info['footprint_pages']:,} pages, "
        f"{info['footprint_pages'] * info['page_bytes'] / 2**20:,.4g} MiB",
        "dirty footprint": f"{info['dirty_footprint_pages']:,} pages",
        "streams": f"{info['streams']:,}",
        "span": _span(info["span_ns"]),
        "sorted by time": {True: "yes", False: "no", None: "no times"}[info["sorted_by_time"]],
        "skipped": f"{info['skipped_records']:,} malformed records, "
        f"{info['zero_size_requests']:,} requests of size 0",
    }
    for position, reason in enumerate(info["first_skipped"], 1):
        facts[f"skipped {position}"] = reason
    for position, note in enumerate(info["notes"], 1):
        facts[f"note {position}"] = note
    for key, value in info["labels"]:
        facts[f"label {key}"] = value
    facts["SHA-256"] = info["sha256"] or UNKNOWN
    return facts


def _span(span_ns: int | None) -> str:
    if span_ns is None:
        return "no times"
    return str(datetime.timedelta(microseconds=span_ns // 1000))


def _convert(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE... OUT.parquet", help="Traces, then the file.")
    ],
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
    trace_format: TraceFormat = None,
) -> None:
    """Write traces to one Parquet file; several become one timeline with a stream each."""
    *inputs, out = traces
    labels = [("made by", command_line())]
    for text in label or []:
        key, separator, value = text.partition("=")
        if not separator:
            raise UsageError(f"--label {text!r} is not of the form KEY=VALUE; add the =")
        labels.append((key, value))
    sources = [Trace(path, format=trace_format, cpu_cache=cpu_cache) for path in inputs]
    with shown_progress() as watch:
        reports = convert_traces(sources, out, labels=labels, watch=watch)
    for source, report in zip(sources, reports, strict=True):
        for note in reading_notes(report):
            say(f"{source.name}: {note}")
    say(f"{out}: {sum(report['requests'] for report in reports):,} requests")
