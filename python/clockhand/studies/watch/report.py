"""The page that plays the steps of one policy or two, or of write buffers, on the same requests."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from clockhand.report.html import escaped_json, template
from clockhand.study.facts import Facts, SsdRunFacts, printable, trace_label
from clockhand.study.records import Fields, Record

PAGE_TEMPLATE = Path(__file__).with_name("report.html.j2")

LARGEST_OWN_NUMBER = 9999
"""Pages are called by their own numbers up to this one, else by their places among the pages."""


@dataclass(frozen=True)
class Player:
    """What differs between the players.

    Attributes:
        overline: What is shown, above the title.

        word: What a step answers.

        jumps: The keys that go to the next step of a kind, and the kinds.

        script: The file that draws.

        without: The command that counts without a browser.

        numbering: What the reader must know of the numbers of pages.

        is_of_buffers: Whether it shows write buffers.
    """

    overline: str
    word: str
    jumps: Sequence[tuple[str, str]]
    script: str
    without: str
    numbering: str = ""
    is_of_buffers: bool = False


class Course(Protocol):
    """What one policy did, as :class:`clockhand.studies.watch.result.Course`."""

    @property
    def policy(self) -> str:
        """The policy as it was named."""

    @property
    def steps_json(self) -> str:
        """Its steps as JSON text."""


class BufferCourse(Protocol):
    """What one buffer did, as :class:`clockhand.studies.watch.buffers.BufferCourse`."""

    @property
    def buffer(self) -> str:
        """The buffer as it was named."""

    @property
    def dram_capacity(self) -> int:
        """Pages of DRAM."""

    @property
    def nvm_capacity(self) -> int:
        """Pages of NVM."""

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
    """Return the player of policies as HTML text.

    Args:
        references: Of each reference its page, a position in ``pages``, and whether it is a write.

        pages: Of each page the number of its stream and its own number.

        frames: Page frames.

        courses: The policies with their steps.

        facts: How the steps were made.
    """
    own_numbers = _have_own_numbers(pages)
    numbering = (
        ""
        if own_numbers
        else (
            f"Pages of {facts['traces'][0]['page_bytes']:,} bytes are numbered from 0 in the order "
            "of their addresses; point at one to see its address."
        )
    )
    player = Player(
        overline="policies step by step",
        word="Reference",
        jumps=(("f", "miss"), ("w", "page written"), ("a", "adaptation")),
        script="policies.js",
        without="clockhand simulate",
        numbering=numbering,
    )
    names = [course.policy for course in courses]
    shown_frames = f"{frames} frames" if frames > 1 else "1 frame"
    described = ({"name": printable(course.policy)} for course in courses)
    payload = _payload(
        _about_policies(references, pages, own_numbers, facts),
        zip(described, (course.steps_json for course in courses), strict=True),
    )
    shown = _counted(len(references), "reference")
    title = f"{' and '.join(names)} with {shown_frames}, step by step"
    return _rendered(player, title, shown, facts, payload)


def render_buffers(
    requests: Sequence[tuple[str, int | None]],
    pages_per_block: int,
    courses: Sequence[BufferCourse],
    facts: SsdRunFacts,
) -> str:
    """Return the player of write buffers as HTML text.

    Args:
        requests: What was asked of the drive, and of which page.
        pages_per_block: Pages of a block.
        courses: The buffers with their steps.
        facts: How the steps were made.
    """
    pages = {page for _, page in requests if page is not None}
    own_numbers = max(pages, default=0) <= LARGEST_OWN_NUMBER
    numbering = f"A block has {pages_per_block} pages."
    if not own_numbers:
        numbering += (
            " Blocks are numbered from 0 in the order of their addresses, and a page is called by "
            "its block and its place in it; point at one to see its address."
        )
    player = Player(
        overline="write buffers step by step",
        word="Request",
        jumps=(("f", "miss"), ("w", "batch to flash"), ("n", "write to NVM"), ("e", "erase")),
        script="buffers.js",
        without="clockhand ssd",
        numbering=numbering,
        is_of_buffers=True,
    )
    about = {
        "requests": requests,
        "pages_per_block": pages_per_block,
        "page_bytes": facts["traces"][0]["page_bytes"],
        "own_numbers": own_numbers,
        "blocks": sorted({page // pages_per_block for page in pages}),
    }
    described = (
        {
            "name": printable(course.buffer),
            "dram_capacity": course.dram_capacity,
            "nvm_capacity": course.nvm_capacity,
        }
        for course in courses
    )
    payload = _payload(
        about, zip(described, (course.steps_json for course in courses), strict=True)
    )
    title = f"{' and '.join(course.buffer for course in courses)}, step by step"
    return _rendered(player, title, _counted(len(requests), "page request"), facts, payload)


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def _rendered(
    player: Player, title: str, shown: str, facts: Facts | SsdRunFacts, payload: str
) -> str:
    resources = ("player.css", "player.js", player.script)
    return template(PAGE_TEMPLATE).render(
        title=printable(title),
        label=trace_label(facts["traces"][0]["name"], facts),
        shown=shown,
        player=player,
        facts=printable(facts),
        resources={
            name: PAGE_TEMPLATE.with_name(name).read_text(encoding="utf-8") for name in resources
        },
        payload=payload,
    )


def _have_own_numbers(pages: Sequence[tuple[int, int]]) -> bool:
    one_stream = len({stream for stream, _ in pages}) == 1
    return one_stream and all(number <= LARGEST_OWN_NUMBER for _, number in pages)


def _about_policies(
    references: Sequence[tuple[int, bool]],
    pages: Sequence[tuple[int, int]],
    own_numbers: bool,
    facts: Facts,
) -> Fields:
    page_bytes = facts["traces"][0]["page_bytes"]
    streams = len({stream for stream, _ in pages})
    return {
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


def _payload(about: Record, courses: Iterable[tuple[Record, str]]) -> str:
    """Return the player's input: for each course its description, and its steps as JSON."""
    parts = (f'{json.dumps(about)[:-1]},"steps":{steps}}}' for about, steps in courses)
    return escaped_json(f'{{"about":{json.dumps(about)},"courses":[{",".join(parts)}]}}')
