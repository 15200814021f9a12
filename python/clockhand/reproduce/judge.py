"""The claims of a paper, and how they are judged.

A paper's ``claims.toml`` says of each claim what the paper says and where, which measure takes our
numbers from which tables, and which rule of :mod:`clockhand.reproduce.rules` judges them. If the
paper's words have several readings, or a choice of ours decides, each reading has a verdict of its
own.
"""

import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from clockhand.report.words import percent
from clockhand.reproduce.packaged import packaged_content
from clockhand.reproduce.rules import (
    LIMITS,
    NUMBERS,
    RULES,
    TRIED,
    Values,
    Verdict,
    interval,
    verdict_of,
)
from clockhand.study.records import Fields, Record

Evidence = tuple[tuple[str, ...], ...]
"""A small table as text; its first row has the headings."""


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
        beyond_the_paper: Whether it asks what the paper does not say; such a claim is not counted.
        as_written: Whether it is the reading of the statement that follows the paper's own words,
            although others stand before it.
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
    beyond_the_paper: bool = False
    as_written: bool = False
    support: float = 0.0

    @property
    def uncounted(self) -> str:
        """Why its verdict is not counted; empty if it is."""
        if self.by_construction:
            return "true by construction"
        return "beyond the paper" if self.beyond_the_paper else ""


@dataclass(frozen=True)
class Found:
    """A measure's result: values for a rule, the numbers behind them, and words that the texts of a
    claim name in braces."""

    values: Values
    evidence: Evidence = ()
    words: Mapping[str, str] = field(default_factory=dict)


class NotTestableError(Exception):
    """Our tables do not have what a measure needs; the text says why."""


UNCOUNTED = ("by_construction", "beyond_the_paper")
"""Keys of claims whose verdicts are not counted."""

TEXTS = ("what", "found", "says", "reading", "why")
OWN = {
    *TEXTS, "key", "place", "quote", "tables", "measure", "rule", "rule_text", "paper",
    "by_construction", "beyond_the_paper", "as_written", "each", "readings", "nearly", "statement",
    "curve",
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


def judged_within(paper: str, tables: Record) -> Iterator[tuple[str, float, bool, list[Verdict]]]:
    """Judge all claims that count with other thresholds of the rules: each of :data:`TRIED`.

    Returns:
        The threshold's name and value, whether it is the one that claims are judged by, and the
        verdicts.
    """
    content = packaged_content(paper, "claims.toml")
    measured = []
    for claim in _readings(content):
        if all(name in tables for name in claim.get("tables", ())):
            try:
                found = None if claim["rule"] == "untestable" else _measured(claim, tables)
            except NotTestableError:
                continue
            if found is not None and not any(claim.get(name, False) for name in UNCOUNTED):
                measured.append((claim, found.values))
    for name, values in TRIED.items():
        for value in values:
            limits = replace(LIMITS, **{name: value})
            verdicts = [verdict_of(claim, ours, limits) for claim, ours in measured]
            yield name, value, limits == LIMITS, verdicts


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


def _measured(claim: Record, tables: Record) -> Found | None:
    """What the claim's measure finds; every key that is not the claim's own is the measure's."""
    arguments = {name: value for name, value in claim.items() if name not in OWN}
    return measure_of(claim["measure"])(*(tables[name] for name in claim["tables"]), **arguments)


def _judged(content: Record, claim: Fields, tables: Record) -> Claim | None:
    """The claim with its verdict; none if the tables do not have what its reading is about."""
    shown = signed if content.get("shares") == "signed" else percent
    own = (claim["key"], claim["statement"], claim["place"], claim["quote"])
    arguments = {name: value for name, value in claim.items() if name not in OWN}
    marks = {name: claim.get(name, False) for name in ("beyond_the_paper", "as_written")}
    try:
        if claim["rule"] == "untestable":
            raise NotTestableError(claim["why"].format_map(content.get("words", {})))
        found = _measured(claim, tables)
    except NotTestableError as error:
        return Claim(
            *own, "Not testable here.", Verdict.UNTESTABLE, "–", why=str(error), **marks
        )  # fmt: skip
    if found is None:
        return None
    paper = claim.get("paper")
    _, sentence = RULES[claim["rule"]]
    is_empty = claim["rule"] in NUMBERS and not found.values
    is_certain = claim.get("by_construction", False)
    verdict = verdict_of(claim, found.values, LIMITS)
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
        **marks,
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
