"""What the run of every study keeps: the facts for a report, and what readers passed over."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from clockhand import _engine
from clockhand.study.facts import origin_of
from clockhand.traces import reading_notes


def run_facts(
    *, command: str, seed: int | None, options: Mapping[str, Any], traces: Iterable[Any], **own: Any
) -> dict[str, Any]:
    """Return everything a reader needs to repeat a run, made now with this version.

    Args:
        command: The command line that does it.
        seed: The seed of everything that is drawn at random.
        options: The options by name.
        traces: What a report says of each trace, from :func:`trace_facts`.
        own: What else the study keeps, such as devices and policies.
    """
    return {
        "command": command,
        "version": _engine.__version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "options": dict(options),
        "traces": list(traces),
        **own,
    }


def trace_facts(trace: Mapping[str, Any], page_bytes: int) -> dict[str, Any]:
    """Return what a report says about a trace, from what the engine met in it."""
    return {
        **trace,
        "page_bytes": page_bytes,
        "notes": reading_notes(trace) + [f"{key}: {value}" for key, value in trace["labels"]],
        **origin_of(trace["labels"]),
    }


def reading_warnings(traces: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what the readers of traces passed over or assumed, one sentence each."""
    return [f"{trace['name']}: {note}" for trace in traces for note in reading_notes(trace)]
