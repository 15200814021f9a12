"""The description of a trace in words: facts with a text each."""

import datetime

from clockhand.study.records import Fields

UNKNOWN = "–"
STREAMS_SHOWN = 16
"""The most streams that are listed one by one."""


def stream_facts(info: Fields) -> dict[str, str]:
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


def first_requests(info: Fields) -> dict[str, str]:
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


def _object_text(counts: Fields) -> str:
    """Return what the trace says about a stream that is an object of a page cache."""
    if counts["kind"] is None:
        return ""
    if counts["file_bytes"] is None:
        return f"; {counts['kind']}"
    return f"; {counts['kind']}, {counts['file_bytes']:,} bytes at the end"


def described(info: Fields) -> dict[str, str]:
    """Return what people want to know of a trace, a text for each fact.

    Args:
        info: What :meth:`clockhand.Trace.info` gives.
    """
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
    facts |= first_requests(info)
    if info["events"]:
        facts["other events"] = _event_text(info)
    if info["streams"] > 1 or any(counts["kind"] for counts in info["stream_counts"]):
        facts |= stream_facts(info)
    for position, reason in enumerate(info["first_skipped"], 1):
        facts[f"skipped {position}"] = reason
    for position, note in enumerate(info["notes"], 1):
        facts[f"note {position}"] = note
    for key, value in info["labels"]:
        facts[f"label {key}"] = value
    facts["SHA-256"] = info["sha256"] or UNKNOWN
    return facts


def _event_text(info: Fields) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in info["events"])


def _captured_facts(info: Fields) -> dict[str, str]:
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
