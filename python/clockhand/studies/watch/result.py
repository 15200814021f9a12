"""What policies did on the same references, step by step."""

import json
from dataclasses import dataclass

from clockhand.studies.watch.playing import Playing
from clockhand.study.facts import Facts
from clockhand.study.records import Fields


@dataclass(frozen=True)
class Course:
    """What one policy did.

    Attributes:
        policy: The policy as it was named.

        policy_resolved: The policy with every default.

        hits: References whose page was in memory.

        misses: The other references.

        read_ios: Pages read from the device.

        write_ios: Pages written to it.

        steps_json: The steps as JSON text; see :attr:`steps`.
    """

    policy: str
    policy_resolved: str
    hits: int
    misses: int
    read_ios: int
    write_ios: int
    steps_json: str

    @property
    def steps(self) -> list[Fields]:
        """One step per reference, a dictionary.

        * ``hit``.
        * ``examined``: the frames that the search for a victim looked at.
        * ``written_back``: pages that were written and stayed.
        * ``left``: pairs of an evicted page and whether it was dirty.
        * ``frames``: of each page in memory its frame, its number and its state (1 for the read
          bit, 2 for the write bit, 4 if dirty, added up).
        * ``lists`` and ``values``: the policy's own, as the page of the policy names them.
        """
        steps: list[Fields] = json.loads(self.steps_json)
        return steps


@dataclass(frozen=True)
class Watched(Playing):
    """What policies did on the same references.

    Attributes:
        references: Of each reference its page, a position in ``pages``, and whether it is a write.

        pages: Of each page the number of its stream, and its address divided by the page size.

        frames: Page frames.

        courses: One per policy.

        facts: Command, version, trace hash and policies.

        warnings: What the reader passed over or assumed, one sentence each.
    """

    references: list[tuple[int, bool]]
    pages: list[tuple[int, int]]
    frames: int
    courses: list[Course]
    facts: Facts
    warnings: list[str]

    def page(self) -> str:
        """Return the page that plays the steps, as HTML text that needs no network."""
        from clockhand.studies.watch.report import render  # Jinja takes a while to import.

        return render(self.references, self.pages, self.frames, self.courses, self.facts)
