"""Every step of one write buffer or two on the same requests, as the simulator takes them."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from clockhand import _engine
from clockhand.studies.watch.playing import Playing, check_side_by_side, played
from clockhand.study.calls import READING, SHOWN, arguments, in_python
from clockhand.study.facts import SsdRunFacts
from clockhand.study.options import checked
from clockhand.study.records import Fields, Record
from clockhand.study.run import parted
from clockhand.traces import OneTrace


@dataclass(frozen=True)
class BufferCourse:
    """What one write buffer did.

    Attributes:
        buffer: The buffer as it was named.

        row: What ``ssd`` gives of the whole course, by the names of its columns.

        dram_capacity: Pages of DRAM.

        nvm_capacity: Pages of NVM; 0 if the buffer has none.

        steps_json: The steps as JSON text; see :attr:`steps`.
    """

    buffer: str
    row: Record
    dram_capacity: int
    nvm_capacity: int
    steps_json: str

    @property
    def steps(self) -> list[Fields]:
        """One step per request, a dictionary.

        * ``hit``: the memory of the page, ``"dram"``, ``"nvm"`` or ``None``.
        * ``events``: actions before the request was served. Each has an ``action`` (``"flush"``,
          one batch to flash; ``"migrate"``, from DRAM to NVM; ``"drop"``) and its ``pages``: the
          number, dirty or not, the memory of the content, and whether it stays.
        * ``nvm_writes``, and ``drive``: the drive's work, in pages and erased blocks.
        * ``dram_pages``, ``nvm_pages`` and ``dirty_pages`` after the request.
        * ``lists`` and ``values``: the buffer's own, as the page of the buffer names them. A page
          of a list has its number and its state: 1 for the reference bit, 4 if dirty, added up.
        """
        steps: list[Fields] = json.loads(self.steps_json)
        return steps


@dataclass(frozen=True)
class WatchedBuffers(Playing):
    """What write buffers did on the same requests.

    Attributes:
        requests: What was asked of the drive (``"read"``, ``"write"``, ``"fua"``, ``"flush"``,
            ``"trim"``, ``"drain"``), and of which of its pages, if of one.

        pages_per_block: Pages of a block, as the buffers group them.

        courses: One per buffer.

        facts: Command, version, trace hash, drive and buffers.

        warnings: What the reader passed over or assumed, one sentence each.
    """

    requests: list[tuple[str, int | None]]
    pages_per_block: int
    courses: list[BufferCourse]
    facts: SsdRunFacts
    warnings: list[str]

    def page(self) -> str:
        """Return the page that plays the steps, as HTML text that needs no network."""
        from clockhand.studies.watch.report import render_buffers  # Jinja takes a while to import.

        return render_buffers(self.requests, self.pages_per_block, self.courses, self.facts)


OPTIONS = ("precondition", "map", "drain", "seed")
"""Those of ``ssd`` that are of one buffer, too."""


@in_python(*arguments("ssd", OPTIONS), *SHOWN, *READING)
def watch_buffers(
    trace: OneTrace,
    *,
    buffers: str | Sequence[str],
    ssd: str | os.PathLike[str] | Sequence[str] = "dnv-textbook",
    **options: object,
) -> WatchedBuffers:
    """Watch one write buffer, or two on the same requests, step by step.

    Args:
        trace: The trace, as :class:`Trace` or as a path. Of a path the first 1,000 requests are
            taken if ``limit`` is not given.

        buffers: One or two, with their size and parameters, such as
            ``"clock-dnv:total=12,dram_share=0.5"``. The size ``total`` is in pages, bytes with a
            unit or a share of the footprint. It is at most 1,024 pages, and times the requests at
            most 2,000,000.

        ssd: One drive with options, such as ``"dnv-textbook:pages_per_block=4"``, or a TOML file.

        options: As ``run_ssd`` has them, and how the trace is read.

    Returns:
        The steps; :meth:`WatchedBuffers.write_report` makes the page that plays them.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: the trace or the drive's file cannot be read.
    """
    given, _, _ = parted(options)
    settings = checked("ssd", {"buffer": buffers, "ssd": ssd, **given})
    check_side_by_side("buffer", "write buffers", settings["buffer"])
    result, facts, warnings = played(
        trace,
        options,
        {name: settings[name] for name in ("buffer", "ssd", *OPTIONS)},
        partial(_engine.watch_buffers, options=settings),
        lambda it: (it["ssd"]["page_bytes"], {"ssds": [it["ssd"]], "buffers": it["courses"]}),
    )
    return WatchedBuffers(
        requests=result["requests"],
        pages_per_block=result["pages_per_block"],
        courses=[BufferCourse(**course) for course in result["followed"]],
        facts=facts,
        warnings=warnings,
    )
