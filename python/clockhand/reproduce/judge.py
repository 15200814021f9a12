"""The claims of a paper, and the rules that judge them.

A paper's ``claims.toml`` says of each claim what the paper says and where, which measure takes our
numbers from which tables, and which rule judges them. The rules are the same for all papers. A
number is *reproduced* if ours lies within a tenth of the paper's, above or below; a range if all of
ours are in it, or at most a tenth beyond its ends. A statement about all cases is *reproduced* if
it holds in nine of ten of ours. A number within a factor of two of the paper's, or a statement that
only holds in more than half of the cases, is *direction only*; a number that is farther off has its
*sign only*. With the other sign, or in at most half of the cases, it is *contradicted*. Fewer than
five cases are *too few*. A mean over cases has an interval, by a bootstrap over them: it is
*inconclusive* if the interval is wider than what counts as the paper's number and reaches into it.
If the paper's words have several readings, or a choice of ours decides, each reading has a verdict
of its own.
"""

import importlib
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any, cast

import numpy as np

from clockhand.report.words import percent
from clockhand.reproduce.packaged import packaged_content
from clockhand.study.records import Fields, Record

TOLERANCE = 0.1
"""A number is met within this share of the paper's, on both sides."""

ALIKE = 2
"""A number that differs by a larger factor from the paper's has its sign alone."""

NEARLY_ALL = 0.9
"""The share of the cases in which a statement about all of them must hold."""

LEAST_CASES = 5
"""Fewer say nothing of all cases, unless a claim is true by construction."""

RESAMPLES = 10_000
"""Of the cases with repetition, whose means make an interval."""

INTERVAL = (0.025, 0.975)
"""The quantiles of these means."""

Evidence = tuple[tuple[str, ...], ...]
"""A small table as text; its first row has the headings."""

Values = Sequence[Any]
"""Input of a rule: a number, or true or false, for each case."""


class Verdict(StrEnum):
    """What our numbers say about a claim."""

    REPRODUCED = "reproduced"
    DIRECTION = "direction only"
    SIGN = "sign only"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"
    TOO_FEW = "too few cases"
    UNTESTABLE = "not testable here"


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, in one reading, beside our numbers.

    Attributes:
        key: A short name.
        statement: The name of what the paper says, in whatever reading.

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
        support: How far our numbers support it, beside other readings of the statement: the greater
            the better.
    """

    key: str
    statement: str
    place: str
    quote: str
    rule: str
    verdict: Verdict
    found: str
    paper: str = ""
    reading: str = ""
    why: str = ""
    evidence: Evidence = ()
    by_construction: bool = False
    support: float = 0.0


@dataclass(frozen=True)
class Found:
    """A measure's result: values for a rule, the numbers behind them, and words that the texts of a
    claim name in braces."""

    values: Values
    evidence: Evidence = ()
    words: Mapping[str, str] = field(default_factory=dict)


class NotTestableError(Exception):
    """Our tables do not have what a measure needs; the text says why."""


def judged_number(ours: float, paper: float) -> Verdict:
    """Judge a number whose sign is the direction: a gain, or what is above or below a baseline."""
    if _is_near(ours, paper):
        return Verdict.REPRODUCED
    return _by_size(ours, paper, paper) if ours * paper > 0 else Verdict.CONTRADICTED


def _by_size(ours: float, low: float, high: float) -> Verdict:
    """Judge the size of an effect whose sign is the paper's."""
    is_alike = abs(low) / ALIKE <= abs(ours) <= abs(high) * ALIKE
    return Verdict.DIRECTION if is_alike else Verdict.SIGN


def judged_range(ours: Collection[float], low: float, high: float) -> Verdict:
    """Judge a range of gains: whether all of ours are in it, and by their mean.

    Where some of ours are losses, the mean has the sign alone.
    """
    if not ours:
        return Verdict.UNTESTABLE
    if all(low <= one <= high or _is_near(one, low) or _is_near(one, high) for one in ours):
        return Verdict.REPRODUCED
    mean = sum(ours) / len(ours)
    if mean <= 0:
        return Verdict.CONTRADICTED
    return _by_size(mean, low, high) if min(ours) > 0 else Verdict.SIGN


def judged_cases(held: Collection[bool]) -> Verdict:
    """Judge a statement about all cases by the share of ours that fulfil it."""
    if not held:
        return Verdict.UNTESTABLE
    share = sum(held) / len(held)
    if share >= NEARLY_ALL:
        return Verdict.REPRODUCED
    return Verdict.DIRECTION if share > 0.5 else Verdict.CONTRADICTED


def judged_every(held: Collection[bool]) -> Verdict:
    """Judge a statement that says "in all cases": one of ours against it, and it is not met."""
    verdict = judged_cases(held)
    is_met = verdict is not Verdict.REPRODUCED or all(held)
    return verdict if is_met else Verdict.DIRECTION


def judged_most(held: Collection[bool]) -> Verdict:
    """Judge a statement about most cases by the share of ours that fulfil it."""
    if not held:
        return Verdict.UNTESTABLE
    return _yes(sum(held) > len(held) / 2)


def judged_alike(differences: Values, within: float, nearly: float) -> Verdict:
    """Judge whether most differences are small; direction only if their median nearly is."""
    verdict = judged_most([difference <= within for difference in differences])
    is_nearly = verdict is Verdict.CONTRADICTED and median(differences) <= nearly
    return Verdict.DIRECTION if is_nearly else verdict


def interval(values: Values) -> tuple[float, float]:
    """Return between what the mean lies over the cases that ours stand for, by a bootstrap."""
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(np.asarray(values, dtype=float)[drawn].mean(axis=1), INTERVAL)
    return float(low), float(high)


def judged_mean(ours: Values, paper: float) -> Verdict:
    """Judge a mean over cases; inconclusive if other cases might have met the number, or not."""
    low, high = interval(ours)
    reach = TOLERANCE * abs(paper)
    if high - low > 2 * reach and low <= paper + reach and high >= paper - reach:
        return Verdict.INCONCLUSIVE
    return judged_number(sum(ours) / len(ours), paper)


def _is_near(ours: float, paper: float) -> bool:
    # The end of a tolerance belongs to it, whatever binary64 makes of a tenth.
    return abs(ours - paper) <= TOLERANCE * abs(paper) * (1 + 1e-9)


def _yes(holds: bool) -> Verdict:
    return Verdict.REPRODUCED if holds else Verdict.CONTRADICTED


NUMBER = (
    "Reproduced within a tenth of the paper's number, above or below; direction only within a "
    "factor of two; sign only with its sign; else contradicted."
)
MEAN = (
    f"{NUMBER} Inconclusive if the interval over the cases (95 %, bootstrap) is wider than that "
    "tenth on both sides and reaches into it."
)
RULES: Mapping[str, tuple[Callable[[Values, Record], Verdict], str]] = {
    "mean": (lambda ours, it: judged_mean(ours, it["paper"]), MEAN),
    "greatest": (lambda ours, it: judged_number(max(ours), it["paper"]), NUMBER),
    "range": (
        lambda ours, it: judged_range(ours, *it["paper"]),
        "Reproduced if all of ours are in the paper's range, or at most a tenth beyond its ends; "
        "direction only if all have its sign, and their mean is at most a factor of two beyond it; "
        "sign only if the mean has its sign; else contradicted.",
    ),
    "cases": (
        lambda held, it: judged_cases(held),
        "Reproduced if in nine of ten cases or more; direction only if in more than half; else "
        "contradicted.",
    ),
    "every": (
        lambda held, it: judged_every(held),
        "Reproduced if in every case; direction only if in more than half; else contradicted.",
    ),
    "most": (
        lambda held, it: judged_most(held),
        "Reproduced if in more than half of the cases, else contradicted.",
    ),
    "alike": (lambda ours, it: judged_alike(ours, it["within"], it["nearly"]), ""),
    "exists": (lambda held, it: _yes(any(held)), ""),
    "all": (lambda held, it: _yes(all(held)), ""),
}
"""By name, how a rule judges our values beside the claim, and what it says of itself."""

NUMBERS = ("mean", "greatest", "range")
OVER_CASES = ("mean", "cases", "every", "most")
"""Rules whose cases stand for all others: of a few they say nothing."""

TEXTS = ("what", "found", "says", "reading", "why")
OWN = {
    *TEXTS, "key", "place", "quote", "tables", "measure", "rule", "rule_text", "paper",
    "by_construction", "each", "readings", "nearly", "statement", "curve",
}  # fmt: skip
"""What a claim in ``claims.toml`` may say; everything else is an argument of its measure."""


def judge(paper: str, tables: Record) -> list[Claim]:
    """Judge a paper's claims, in its order: all those whose tables are there.

    Args:
        paper: The paper's short name.
        tables: What claims are judged by: what the parts of the paper's experiment gave, by name.
    """
    content = packaged_content(paper, "claims.toml")
    claims = (
        _judged(content, claim, tables)
        for claim in _readings(content)
        if all(name in tables for name in claim.get("tables", ()))
    )
    return [claim for claim in claims if claim is not None]


def judged_at(paper: str, tables: Record) -> Iterator[tuple[Claim, str, float, bool]]:
    """Judge claims with other thresholds: those of ``curve``, each value in turn.

    Returns:
        The claim, the threshold's name and value, and whether it is the one that claims are judged
        by.
    """
    content = packaged_content(paper, "claims.toml")
    for claim in _readings(content):
        if not all(name in tables for name in claim.get("tables", ())):
            continue
        for name, values in claim.get("curve", {}).items():
            for value in values:
                judged = _judged(content, {**claim, name: value}, tables)
                if judged is not None:
                    yield judged, name, value, value == claim[name]


def measure_of(name: str) -> Callable[..., Found | None]:
    """Return the measure that a claim names: a file of ``measures``, and a function of it."""
    file, _, function = name.partition(".")
    measures = importlib.import_module(f"clockhand.reproduce.measures.{file}")
    return cast(Callable[..., Found | None], getattr(measures, function))


def _readings(content: Record) -> Iterator[Fields]:
    """Each claim in each of its readings, over what the file says of its measure and of all."""
    for claim in content["claim"]:
        shared = content.get("measure", {}).get(claim.get("measure"), {})
        for readings in itertools.product(*_choices(content, claim)):
            keys = (claim["key"], *(reading.get("key", "") for reading in readings))
            whole = {**content.get("defaults", {}), **shared, **claim}
            texts = [one["reading"] for one in readings if "reading" in one]
            texts = texts or [whole.get("reading", "")]
            for reading in readings:
                whole |= reading
            yield {
                **whole,
                "key": "-".join(key for key in keys if key),
                "statement": whole.get("statement", claim["key"]),
                "reading": "; ".join(texts),
            }


def _choices(content: Record, claim: Record) -> list[list[Fields]]:
    """Return the lists that readings combine: a claim's own, in ``each`` of further lists of the
    file, or lists of the file alone."""
    own = claim.get("readings", [{}])
    named = [own] if isinstance(own, str) else own
    first = [content["readings"][name] for name in named] if isinstance(named[0], str) else [own]
    each = claim.get("each", [])
    further = [each] if isinstance(each, str) else each
    return [*first, *(content["readings"][name] for name in further)]


def _judged(content: Record, claim: Fields, tables: Record) -> Claim | None:
    """The claim with its verdict; none if the tables do not have what its reading is about."""
    shown = signed if content.get("shares") == "signed" else percent
    own = (claim["key"], claim["statement"], claim["place"], claim["quote"])
    arguments = {name: value for name, value in claim.items() if name not in OWN}
    try:
        if claim["rule"] == "untestable":
            raise NotTestableError(claim["why"].format_map(content.get("words", {})))
        found = measure_of(claim["measure"])(
            *(tables[name] for name in claim["tables"]), **arguments
        )
    except NotTestableError as error:
        return Claim(*own, "Not testable here.", Verdict.UNTESTABLE, "–", why=str(error))
    if found is None:
        return None
    paper = claim.get("paper")
    judging, sentence = RULES[claim["rule"]]
    is_empty = claim["rule"] in NUMBERS and not found.values
    is_certain = claim.get("by_construction", False)
    verdict = Verdict.UNTESTABLE if is_empty else judging(found.values, claim)
    if claim["rule"] in OVER_CASES and not is_certain and 0 < len(found.values) < LEAST_CASES:
        verdict = Verdict.TOO_FEW
    words = {
        **content.get("words", {}), **arguments, **_in_words(found.values, shown),
        "paper": "" if paper is None else _in_text(paper, shown), **found.words,
    }  # fmt: skip
    words["interval"] = "–"
    if found.values and "{interval}" in claim.get("found", ""):  # Slow for hundreds of cells.
        words["interval"] = " to ".join(map(shown, interval(found.values)))
    text = {name: str(claim.get(name, "")).format_map(words) for name in (*TEXTS, "rule_text")}
    rule = [text["rule_text"]] if text["rule_text"] else [text["what"], sentence]
    return Claim(
        *own,
        " ".join(part for part in (*rule, content.get("caveat")) if part),
        verdict,
        "–" if is_empty else text["found"],
        paper=text["says"] or str(words["paper"]),
        reading=text["reading"],
        why=text["why"],
        evidence=found.evidence,
        by_construction=is_certain,
        support=_support(found.values, claim),
    )


def _support(values: Values, claim: Record) -> float:
    """Nearness of a number to the paper's, or the share of the cases in which something holds."""
    if not values:
        return -1.0
    if claim["rule"] not in NUMBERS:
        return sum(map(float, values)) / len(values) * (-1 if claim["rule"] == "alike" else 1)
    ours = max(values) if claim["rule"] == "greatest" else sum(values) / len(values)
    paper = claim["paper"]
    low, high = paper if isinstance(paper, list) else (paper, paper)
    return -max(float(low) - float(ours), float(ours) - float(high), 0.0)


def signed(share: float) -> str:
    """Return a share as a percentage with its sign; what rounds to nothing has a plus."""
    return f"{round(100 * share, 1) + 0.0:+.1f} %"


def _in_text(paper: float | list[float], shown: Callable[[float], str]) -> str:
    """The paper's number or range; other kinds say themselves in words."""
    return " to ".join(map(shown, paper if isinstance(paper, list) else [paper]))


def _in_words(values: Values, shown: Callable[[float], str]) -> Fields:
    """What the texts of a claim may say of its values."""
    if not values:
        return {
            "held": 0,
            "cases": 0,
            **dict.fromkeys(("least", "greatest", "mean", "interval"), "–"),
        }
    mean = sum(values) / len(values)
    ends = {"least": shown(min(values)), "greatest": shown(max(values))}
    counts = {"held": sum(map(bool, values)), "cases": len(values)}
    return {**counts, **ends, "mean": shown(mean)}
