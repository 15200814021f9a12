"""The rules that judge a paper's claims by our numbers, the same for all papers.

A number is *reproduced* if ours lies within a tenth of the paper's, above or below; a range if all
of ours are in it, or at most a tenth beyond its ends. A statement about all cases is *reproduced*
if it holds in nine of ten of ours. A number within a factor of two of the paper's, or a statement
that only holds in more than half of the cases, is *direction only*; a number that is farther off
has its *sign only*. With the other sign, or in at most half of the cases, it is *contradicted*.
Fewer than five cases are *too few*. A mean over cases has an interval, by a bootstrap over them: it
is *inconclusive* if the interval is wider than what counts as the paper's number and reaches into
it. These thresholds are ours: :data:`TRIED` has others.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any

import numpy as np

from clockhand.study.records import Record

TOLERANCE = 0.1
"""A number is met within this share of the paper's, on both sides."""

ALIKE = 2
"""A number that differs by a larger factor from the paper's has its sign alone."""

NEARLY_ALL = 0.9
"""The share of the cases in which a statement about all of them must hold."""

MOST = 0.5
"""The share beyond which a statement about all cases has its direction."""

LEAST_CASES = 5
"""Fewer say nothing of all cases, unless a claim is true by construction."""


@dataclass(frozen=True)
class Limits:
    """The thresholds of the rules: those above, or others that are tried."""

    tolerance: float = TOLERANCE
    alike: float = ALIKE
    nearly_all: float = NEARLY_ALL
    most: float = MOST
    least_cases: float = LEAST_CASES


LIMITS = Limits()

TRIED: Mapping[str, tuple[float, ...]] = {
    "tolerance": (0.02, 0.05, 0.1, 0.2, 0.3),
    "alike": (1.25, 1.5, 2, 3, 5),
    "nearly_all": (0.7, 0.8, 0.9, 0.95, 1.0),
    "most": (0.4, 0.5, 0.6, 0.75),
    "least_cases": (1, 3, 5, 8, 12),
}
"""What each of these thresholds could be instead."""

RESAMPLES = 10_000
"""Of the cases with repetition, whose means make an interval."""

INTERVAL = (0.025, 0.975)
"""The quantiles of these means."""

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


def judged_number(ours: float, paper: float, limits: Limits = LIMITS) -> Verdict:
    """Judge a number whose sign is the direction: a gain, or what is above or below a baseline."""
    if _is_near(ours, paper, limits):
        return Verdict.REPRODUCED
    return _by_size(ours, paper, paper, limits) if ours * paper > 0 else Verdict.CONTRADICTED


def _by_size(ours: float, low: float, high: float, limits: Limits) -> Verdict:
    """Judge the size of an effect whose sign is the paper's."""
    is_alike = abs(low) / limits.alike <= abs(ours) <= abs(high) * limits.alike
    return Verdict.DIRECTION if is_alike else Verdict.SIGN


def judged_range(
    ours: Collection[float], low: float, high: float, limits: Limits = LIMITS
) -> Verdict:
    """Judge a range of gains: whether all of ours are in it, and by their mean.

    Where some of ours are losses, the mean has the sign alone.
    """
    if not ours:
        return Verdict.UNTESTABLE
    if all(
        low <= one <= high or any(_is_near(one, end, limits) for end in (low, high)) for one in ours
    ):
        return Verdict.REPRODUCED
    mean = sum(ours) / len(ours)
    if mean <= 0:
        return Verdict.CONTRADICTED
    return _by_size(mean, low, high, limits) if min(ours) > 0 else Verdict.SIGN


def judged_cases(held: Collection[bool], limits: Limits = LIMITS) -> Verdict:
    """Judge a statement about all cases by the share of ours that fulfil it."""
    if not held:
        return Verdict.UNTESTABLE
    share = sum(held) / len(held)
    if share >= limits.nearly_all:
        return Verdict.REPRODUCED
    return Verdict.DIRECTION if share > limits.most else Verdict.CONTRADICTED


def judged_every(held: Collection[bool], limits: Limits = LIMITS) -> Verdict:
    """Judge a statement that says "in all cases": one of ours against it, and it is not met."""
    verdict = judged_cases(held, limits)
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


def judged_mean(ours: Values, paper: float, limits: Limits = LIMITS) -> Verdict:
    """Judge a mean over cases; inconclusive if other cases might have met the number, or not."""
    low, high = interval(ours)
    reach = limits.tolerance * abs(paper)
    if high - low > 2 * reach and low <= paper + reach and high >= paper - reach:
        return Verdict.INCONCLUSIVE
    return judged_number(sum(ours) / len(ours), paper, limits)


def _is_near(ours: float, paper: float, limits: Limits) -> bool:
    # The end of a tolerance belongs to it, whatever binary64 makes of a tenth.
    return abs(ours - paper) <= limits.tolerance * abs(paper) * (1 + 1e-9)


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
RULES: Mapping[str, tuple[Callable[[Values, Record, Limits], Verdict], str]] = {
    "mean": (lambda ours, it, at: judged_mean(ours, it["paper"], at), MEAN),
    "greatest": (lambda ours, it, at: judged_number(max(ours), it["paper"], at), NUMBER),
    "range": (
        lambda ours, it, at: judged_range(ours, it["paper"][0], it["paper"][1], at),
        "Reproduced if all of ours are in the paper's range, or at most a tenth beyond its ends; "
        "direction only if all have its sign, and their mean is at most a factor of two beyond it; "
        "sign only if the mean has its sign; else contradicted.",
    ),
    "cases": (
        lambda held, it, at: judged_cases(held, at),
        "Reproduced if in nine of ten cases or more; direction only if in more than half; else "
        "contradicted.",
    ),
    "every": (
        lambda held, it, at: judged_every(held, at),
        "Reproduced if in every case; direction only if in more than half; else contradicted.",
    ),
    "most": (
        lambda held, it, at: judged_most(held),
        "Reproduced if in more than half of the cases, else contradicted.",
    ),
    "alike": (lambda ours, it, at: judged_alike(ours, it["within"], it["nearly"]), ""),
    "exists": (lambda held, it, at: _yes(any(held)), ""),
    "all": (lambda held, it, at: _yes(all(held)), ""),
}
"""By name, how a rule judges our values beside the claim, and what it says of itself."""

NUMBERS = ("mean", "greatest", "range")
OVER_CASES = ("mean", "cases", "every", "most")
"""Rules whose cases stand for all others: of a few they say nothing."""


def verdict_of(claim: Record, values: Values, limits: Limits) -> Verdict:
    """Return the verdict on a claim, by its rule."""
    if claim["rule"] in NUMBERS and not values:
        return Verdict.UNTESTABLE
    is_certain = claim.get("by_construction", False)
    if claim["rule"] in OVER_CASES and not is_certain and 0 < len(values) < limits.least_cases:
        return Verdict.TOO_FEW
    judging, _ = RULES[claim["rule"]]
    return judging(values, claim, limits)
