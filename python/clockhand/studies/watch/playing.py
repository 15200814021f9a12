"""What is played step by step: a page, in a file or in a notebook."""

import html
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clockhand.study.errors import UsageError, option
from clockhand.study.facts import equivalent_command
from clockhand.study.files import publish
from clockhand.study.progress import watched
from clockhand.study.records import Fields, Record
from clockhand.study.run import parted, reading_warnings, run_facts, trace_facts
from clockhand.traces import OneTrace, Trace, reading_options, sources

DEFAULT_LIMIT = 1000
"""Requests that are watched if no limit is given."""

MAXIMUM_SIDE_BY_SIDE = 2

TOLD_APART = ("policy", "buffer", "page_size", "ssd", "seed")
"""Options of which facts tell apart from the others."""

PLAYER_HEIGHT = 960
"""Pixels of the frame in which a notebook shows the player."""


def check_side_by_side(option_name: str, what: str, named: Sequence[str]) -> None:
    """Refuse more than stand side by side on a page."""
    if len(named) > MAXIMUM_SIDE_BY_SIDE:
        raise UsageError(
            option(option_name) + f" names {len(named)} {what}",
            "give one, or two that stand side by side",
        )


def played(
    trace: OneTrace,
    keywords: Record,
    shown: Record,
    play: Callable[..., Fields],
    told: Callable[[Record], tuple[int, Fields]],
) -> tuple[Fields, Any, list[str]]:
    """Have the engine take the steps; what it gives, the facts, and what the reader passed over.

    Args:
        trace: The trace. Of a path only the first requests are read, if it is not said how many.
        keywords: Those of the call.
        shown: The options of the equivalent command.
        play: The engine's function, which takes a source.
        told: Says of its result how large a page is, and which drive and contenders facts tell of.
    """
    _, running, reading = parted(keywords)
    if not isinstance(trace, Trace) and reading.get("limit") is None:
        reading["limit"] = DEFAULT_LIMIT
    with watched(running["watch"]) as on_progress:
        (source,) = sources(trace, watch=on_progress, **reading)
        result = play(source, watch=on_progress)
    command = running["command"] or equivalent_command(
        "watch", [source.name], {**shown, **reading_options(reading)}
    )
    result["followed"] = [course.pop("course") for course in result["courses"]]
    page_bytes, own = told(result)
    facts = run_facts(
        command=command,
        seed=shown["seed"],
        options={name: value for name, value in shown.items() if name not in TOLD_APART},
        traces=[trace_facts(result["trace"], page_bytes)],
        **own,
    )
    return result, facts, reading_warnings([result["trace"]])


class Playing(ABC):
    """Steps that a page plays."""

    @abstractmethod
    def page(self) -> str:
        """Return the page that plays the steps, as HTML text that needs no network."""

    def _repr_html_(self) -> str:
        """Return the player in a frame of its own, as notebooks show it."""
        page = html.escape(self.page(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="step by step" '
            f'style="width:100%;height:{PLAYER_HEIGHT}px;border:0"></iframe>'
        )

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Write the page that plays the steps."""
        publish({Path(path): self.page().encode()})
