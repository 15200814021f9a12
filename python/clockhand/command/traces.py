"""``clockhand trace``: what a trace is like, and its conversion."""

import datetime
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from clockhand import _engine
from clockhand.command.output import Format, format_for, print_table, write_rows
from clockhand.command.progress import shown_progress
from clockhand.traces import Trace

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
    trace = typer.Typer(help="Look at traces and convert them.", no_args_is_help=True)
    trace.command(name="info")(_info)
    trace.command(name="convert")(_convert)
    app.add_typer(trace, name="trace")


def _info(
    trace: TraceFile,
    page_size: Annotated[str, typer.Option(help="Page size, a power of two.")] = "4KiB",
    trace_format: TraceFormat = None,
    format: OutputFormat = None,
) -> None:
    """Tell what a trace is like: format, requests, reads and writes, footprint, skipped lines."""
    page_bytes = _engine.parse_page_bytes(page_size)
    with shown_progress() as watch:
        info = Trace(trace, format=trace_format).info(page_bytes=page_bytes, watch=watch)
    shown = pl.DataFrame(
        {"fact": list(_facts(info)), "value": list(_facts(info).values())},
        schema={"fact": pl.String, "value": pl.String},
    )
    rows = pl.DataFrame([{"trace": trace} | _flat(info)])
    write_rows(rows, format_for(format, None), None, lambda to: print_table(trace, shown, to))


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
        f"{info['footprint_pages'] * info['page_bytes'] / 2**20:,.1f} MiB",
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
    facts |= dict(info["labels"])
    facts["SHA-256"] = info["sha256"] or "–"
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
    if not inputs or Path(out).suffix != ".parquet":
        raise _engine.UsageError(
            f"trace convert {shlex.join(traces)}: the last file is the one to write; "
            "give one that ends in .parquet"
        )
    labels = [("made by", shlex.join(["clockhand", *sys.argv[1:]]))]
    for text in label or []:
        key, separator, value = text.partition("=")
        if not separator:
            raise _engine.UsageError(f"--label {text!r} is not of the form KEY=VALUE; add the =")
        labels.append((key, value))
    sources = [_engine.TraceSource.file(path, trace_format, cpu_cache) for path in inputs]
    with shown_progress() as watch:
        requests = _engine.convert_trace(sources, out, labels, watch)
    typer.echo(f"{out}: {requests:,} requests", err=True)
