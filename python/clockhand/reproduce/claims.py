"""A claim of a paper, and what became of it."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What our numbers say to a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"
    UNTESTED = "not tested"


@dataclass(frozen=True)
class Claim:
    """One claim of a paper beside our numbers.

    Attributes:
        key: A short name.
        place: Where in the paper it stands.
        quote: The paper's words.
        rule: What must hold of our numbers for which verdict.
        verdict: What follows from the rule.
        found: Our number.
        why: What in the data makes it so.
    """

    key: str
    place: str
    quote: str
    rule: str
    verdict: Verdict
    found: str
    why: str


def graded(everywhere: bool, somewhere: bool) -> Verdict:
    """Return the verdict on a claim that holds everywhere, somewhere or nowhere."""
    if everywhere:
        return Verdict.REPRODUCED
    return Verdict.PARTLY if somewhere else Verdict.NOT
