"""``clockhand trace``: what a trace is like, its conversion, and its capture."""

import datetime
from typing import Annotated, Any

import polars as pl
import typer

from clockhand.command import capture, synthesis
from clockhand.command.options import Traces
from clockhand.command.output import (
    UNKNOWN,
    Format,
    command_line,
    format_for,
    labels_of,
    print_table,
    say,
    write_rows,
)
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import origin_of, synthetic_mark
from clockhand.traces import Reading, Trace, as_traces, convert_traces, reading_notes

STREAMS_SHOWN = 16
"""The most streams that are listed one by one."""
OutputFormat = Annotated[
    Format | None,
    typer.Option("--format", help="Format of the facts; table if not given."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    trace = typer.Typer(
        help="Capture traces, look at them, convert them, make synthetic ones.",
        no_args_is_help=True,
    )
    trace.command(name="info")(_info)
    trace.command(name="convert")(_convert)
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
    """Tell what a trace is like: format, requests, reads and writes, footprint, skipped lines."""
    with shown_progress() as watch:
        source = _single(as_traces(traces, watch=watch, **reading))
        info = source.info(page_size=page_size, watch=watch)
    facts = _facts(info)
    shown = pl.DataFrame(
        {"fact": list(facts), "value": list(facts.values())},
        schema={"fact": pl.String, "value": pl.String},
    )
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


def _flat(info: dict[str, Any]) -> dict[str, Any]:
    """Return the facts as one row: texts of several lines are joined."""
    labels = [f"{key}: {value}" for key, value in info["labels"]]
    lists = {
        "first_skipped": info["first_skipped"],
        "notes": info["notes"],
        "labels": labels,
        "stream_counts": [f"{name}: {value}" for name, value in _stream_facts(info).items()],
        "segments": info["segments"],
        "first_requests": list(_first_requests(info).values()),
        "events": [f"{what}: {count}" for what, count in info["events"]],
    }
    if info["classes"] is not None:
        lists["classes"] = [f"{letter} {count}" for letter, count in info["classes"].items()]
    return info | {name: "; ".join(items) for name, items in lists.items()}


def _stream_facts(info: dict[str, Any]) -> dict[str, str]:
    """Return a fact for each of the first streams, and one that counts the others."""
    facts = {}
    for counts in info["stream_counts"][:STREAMS_SHOWN]:
        name = "" if counts["name"] is None else f" ({counts['name']})"
        facts[f"stream {counts['stream']}{name}"] = (
            f"{counts['read_requests']:,} reads, {counts['write_requests']:,} writes"
            + _object_text(counts)
        )
    more = info["streams"] - STREAMS_SHOWN
    return facts | ({"other streams": f"{more:,}"} if more > 0 else {})


def _first_requests(info: dict[str, Any]) -> dict[str, str]:
    """Return a fact for each of the first requests, as it is understood."""
    names = {counts["stream"]: counts["name"] for counts in info["stream_counts"]}
    facts = {}
    for position, request in enumerate(info["first_requests"], 1):
        verb = "reads" if request["op"] == "R" else "writes"
        text = f"{verb} {request['bytes']:,} bytes at byte {request['address']:,}"
        stream = names.get(request["stream"])
        if stream is not None or request["stream"]:
            text += f", stream {request['stream'] if stream is None else stream}"
        if request["time_ns"] is not None:
            text += f", at {request['time_ns'] / 1e9:,.9g} s"
        facts[f"request {position}"] = text
    return facts


def _object_text(counts: dict[str, Any]) -> str:
    """Return what the trace says about a stream that is an object of a page cache."""
    if counts["kind"] is None:
        return ""
    if counts["file_bytes"] is None:
        return f"; {counts['kind']}"
    return f"; {counts['kind']}, {counts['file_bytes']:,} bytes at the end"


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
        **_captured_facts(info),
        "streams": f"{info['streams']:,}"
        + ("" if info["stream_noun"] == "stream" else f", by {info['stream_noun']}"),
        "span": _span(info["span_ns"]),
        "sorted by time": {True: "yes", False: "no", None: "no times"}[info["sorted_by_time"]],
        "skipped": f"{info['skipped_records']:,} malformed records, "
        f"{info['zero_size_requests']:,} requests of size 0",
    }
    facts |= _first_requests(info)
    if info["events"]:
        facts["other events"] = _event_text(info)
    if info["streams"] > 1 or any(counts["kind"] for counts in info["stream_counts"]):
        facts |= _stream_facts(info)
    for position, reason in enumerate(info["first_skipped"], 1):
        facts[f"skipped {position}"] = reason
    for position, note in enumerate(info["notes"], 1):
        facts[f"note {position}"] = note
    for key, value in info["labels"]:
        facts[f"label {key}"] = value
    facts["SHA-256"] = info["sha256"] or UNKNOWN
    return facts


def _event_text(info: dict[str, Any]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in info["events"])


def _captured_facts(info: dict[str, Any]) -> dict[str, str]:
    """Return facts that only captured traces have."""
    facts = {}
    if info["anonymous_pages"] is not None:
        mib = info["anonymous_pages"] * 4096 / 2**20
        facts["anonymous, written"] = f"{info['anonymous_pages']:,} pages of 4 KiB, {mib:,.4g} MiB"
        facts["address space"] = f"{len(info['segments']):,} segments (--format json lists them)"
    return facts


def _span(span_ns: int | None) -> str:
    if span_ns is None:
        return "no times"
    return str(datetime.timedelta(microseconds=span_ns // 1000))


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
