"""The page that plays the steps of one policy or two on the same references."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from clockhand.report.html import escaped_json, template
from clockhand.study.facts import Facts, printable, trace_label

PAGE_TEMPLATE = Path(__file__).with_name("report.html.j2")

LARGEST_OWN_NUMBER = 9999
"""Pages are called by their own numbers up to this one, else by their places among the pages."""


class Course(Protocol):
    """What one policy did, as :class:`clockhand.studies.watch.run.Course`."""

    @property
    def policy(self) -> str:
        """The policy as it was named."""

    @property
    def steps_json(self) -> str:
        """Its steps as JSON text."""


def render(
    references: Sequence[tuple[int, bool]],
    pages: Sequence[tuple[int, int]],
    frames: int,
    courses: Sequence[Course],
    facts: Facts,
) -> str:
    """Return the player as HTML text.

    Args:
        references: Of each reference its page, a position in ``pages``, and whether it is a write.
        pages: Of each page the number of its stream and its own number.
        frames: Page frames.
        courses: The policies with their steps.
        facts: How the steps were made.
    """
    trace = facts["traces"][0]
    label = trace_label(trace["name"], facts)
    names = " and ".join(course.policy for course in courses)
    shown_frames = f"{frames} frames" if frames > 1 else "1 frame"
    shown_references = f"{len(references):,} references" if len(references) != 1 else "1 reference"
    own_numbers = _have_own_numbers(pages)
    return template(PAGE_TEMPLATE).render(
        title=printable(f"{names} with {shown_frames}, step by step"),
        label=label,
        shown_references=shown_references,
        own_numbers=own_numbers,
        page_bytes=trace["page_bytes"],
        facts=printable(facts),
        resources={
            name: PAGE_TEMPLATE.with_name(name).read_text(encoding="utf-8")
            for name in ("player.css", "player.js")
        },
        payload=_payload(references, pages, own_numbers, courses, facts),
    )


def _have_own_numbers(pages: Sequence[tuple[int, int]]) -> bool:
    one_stream = len({stream for stream, _ in pages}) == 1
    return one_stream and all(number <= LARGEST_OWN_NUMBER for _, number in pages)


def _payload(
    references: Sequence[tuple[int, bool]],
    pages: Sequence[tuple[int, int]],
    own_numbers: bool,
    courses: Sequence[Course],
    facts: Facts,
) -> str:
    page_bytes = facts["traces"][0]["page_bytes"]
    streams = len({stream for stream, _ in pages})
    about = {
        "blind": facts["options"]["write_miss"] == "blind",
        "references": [[page, int(is_write)] for page, is_write in references],
        "labels": [
            str(number) if own_numbers else str(place) for place, (_, number) in enumerate(pages)
        ],
        "addresses": [
            f"{number * page_bytes:#x}" + (f" of stream {stream}" if streams > 1 else "")
            for stream, number in pages
        ],
    }
    parts = (
        f'{{"name":{json.dumps(printable(course.policy))},"steps":{course.steps_json}}}'
        for course in courses
    )
    return escaped_json(f'{{"about":{json.dumps(about)},"courses":[{",".join(parts)}]}}')
