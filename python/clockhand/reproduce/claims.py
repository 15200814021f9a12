"""A claim of a paper, and its verdict.

The rules are the same for all papers. A number is *reproduced* if ours lies within a tenth of the
paper's, above or below; a range if both of its ends do. A statement about all cases is *reproduced*
if it holds in nine of ten of ours. What has the paper's sign, or holds in more than half of the
cases, but not so, is *direction only*; what has the other sign, or holds in at most half of them,
is *contradicted*. Where the paper's words can be read in several ways, each reading is a claim of
its own with a verdict of its own.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

TOLERANCE = 0.1
"""A number is met within this share of the paper's, on both sides."""

NEARLY_ALL = 0.9
"""The share of the cases in which a statement about all of them must hold."""

NUMBER_RULE = (
    "Reproduced within a tenth of the paper's number, above or below; direction only with its "
    "sign; else contradicted."
)
RANGE_RULE = (
    "Reproduced if both ends are within a tenth of the paper's, above or below; direction only if "
    "the mean has its sign; else contradicted."
)
CASES_RULE = (
    "Reproduced if in nine of ten cases or more; direction only if in more than half; else "
    "contradicted."
)
MOST_RULE = "Reproduced if in more than half of the cases, else contradicted."

Table = tuple[tuple[str, ...], ...]
"""A small table as text; its first row has the headings."""


class Verdict(StrEnum):
    """What our numbers say about a claim."""

    REPRODUCED = "reproduced"
    DIRECTION = "direction only"
    CONTRADICTED = "contradicted"
    UNTESTABLE = "not testable here"


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, in one reading, beside our numbers.

    Attributes:
        key: A short name.
        place: Where in the paper it stands.
        quote: The paper's words.
        rule: What must hold of our numbers for which verdict.
        verdict: What follows from the rule.
        found: Our number, with its spread.
        paper: The paper's number, where it has one.
        reading: How the paper's words are read, where they can be read in several ways.
        why: What in the data makes it so.
        evidence: The numbers behind it.
        by_construction: Whether it holds whatever the numbers are; such a claim is not counted.
    """

    key: str
    place: str
    quote: str
    rule: str
    verdict: Verdict
    found: str
    paper: str = ""
    reading: str = ""
    why: str = ""
    evidence: Table = ()
    by_construction: bool = False


def untestable(key: str, place: str, quote: str, why: str) -> Claim:
    """Return a claim that cannot be judged here."""
    return Claim(key, place, quote, "Not testable here.", Verdict.UNTESTABLE, "–", why=why)


def judged_number(ours: float, paper: float) -> Verdict:
    """Judge a number whose sign is the direction: a gain, or what is above or below a baseline."""
    if _is_near(ours, paper):
        return Verdict.REPRODUCED
    return Verdict.DIRECTION if ours * paper > 0 else Verdict.CONTRADICTED


def judged_range(ours: Collection[float], low: float, high: float) -> Verdict:
    """Judge a range of gains by the least, the greatest and the mean of ours."""
    if not ours:
        return Verdict.UNTESTABLE
    if _is_near(min(ours), low) and _is_near(max(ours), high):
        return Verdict.REPRODUCED
    return Verdict.DIRECTION if sum(ours) / len(ours) > 0 else Verdict.CONTRADICTED


def judged_cases(held: Collection[bool]) -> Verdict:
    """Judge a statement about all cases by those of ours in which it holds."""
    if not held:
        return Verdict.UNTESTABLE
    share = sum(held) / len(held)
    if share >= NEARLY_ALL:
        return Verdict.REPRODUCED
    return Verdict.DIRECTION if share > 0.5 else Verdict.CONTRADICTED


def judged_most(held: Collection[bool]) -> Verdict:
    """Judge a statement about most cases by those of ours in which it holds."""
    if not held:
        return Verdict.UNTESTABLE
    return Verdict.REPRODUCED if sum(held) > len(held) / 2 else Verdict.CONTRADICTED


def _is_near(ours: float, paper: float) -> bool:
    # The end of a tolerance belongs to it, whatever binary64 makes of a tenth.
    return abs(ours - paper) <= TOLERANCE * abs(paper) * (1 + 1e-9)


def counted(claims: Collection[Claim]) -> dict[Verdict, int]:
    """Return how many claims have which verdict, without those that are true by construction."""
    return {
        verdict: sum(claim.verdict is verdict for claim in claims if not claim.by_construction)
        for verdict in Verdict
    }
