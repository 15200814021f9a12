"""Ranges of parameters: ``cflru:window_share=0..1/20`` stands for 21 policies, one per value."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from clockhand._engine import UsageError
from clockhand.study.policies import name_of, settings_of, written

MOST_VALUES = 10_000
"""More policies than this from one entry are a mistake: the cells alone would fill the memory."""

_NUMBER = r"\d{1,18}(?:\.\d{1,18})?"
_RANGE = re.compile(
    rf"({_NUMBER}(?:/\d{{1,18}})?)\.\.({_NUMBER}(?:/\d{{1,18}})?)(?:/(\d{{1,18}}))?"
)
WINDOWED = "cflru"
WINDOWS = ("window_pages", "window_share")
"""The parameters of the policy whose window can be predicted."""

LEAST_VALUES = 3
"""Policies that differ in one parameter are drawn against it if they have this many values."""


def each_value(option: str, entry: str) -> list[str]:
    """Return one entry for each value of the ranges in the parameters of ``entry``.

    ``FROM..TO/N`` is N steps from FROM to TO, both included; ``FROM..TO`` is every whole number
    between two whole ones. Numbers are exact: whole, decimal or fractions; a range that ends in a
    fraction needs its steps (``0..1/2/10``). Several ranges in one entry are combined.

    Args:
        option: The command's option, for the error.
        entry: A name, with parameters behind a colon or without.

    Raises:
        UsageError: a range runs backwards, has no steps, or stands for too many values.
    """
    settings = settings_of(entry)
    if not any(".." in part for part in settings):
        return [entry]
    choices = []
    combinations = 1
    for part in settings:
        key, equals, value = part.partition("=")
        values = _values(option, part, value) if equals and ".." in value else [value]
        combinations *= len(values)
        if combinations > MOST_VALUES:
            raise _refused(option, part, f"it stands for more than {MOST_VALUES:,} policies")
        choices.append([f"{key}{equals}{value}" for value in values])
    return [written(name_of(entry), chosen) for chosen in product(*choices)]


def _values(option: str, part: str, text: str) -> list[str]:
    matched = _RANGE.fullmatch(text)
    if not matched:
        return [text]
    first_text, last_text, steps_text = matched.groups()
    if steps_text is None and last_text.count("/") == 1 and "." not in first_text:
        # The usual form: what follows the one slash is the number of steps.
        last_text, _, steps_text = last_text.partition("/")
    try:
        first, last = Fraction(first_text), Fraction(last_text)
    except ZeroDivisionError:
        raise _refused(option, part, "a fraction over 0 is no number") from None
    if last < first:
        raise _refused(option, part, "it runs backwards")
    if steps_text is None:
        if first.denominator != 1 or last.denominator != 1:
            raise _refused(option, part, "only whole numbers need no steps")
        steps = int(last - first)
    else:
        steps = int(steps_text)
    if steps >= MOST_VALUES:
        raise _refused(option, part, f"it stands for more than {MOST_VALUES:,} policies")
    if steps == 0:
        if steps_text is not None:
            raise _refused(option, part, "it has 0 steps")
        return [str(first)]
    return [str(first + (last - first) * step / steps) for step in range(steps + 1)]


def _refused(option: str, part: str, reason: str) -> UsageError:
    return UsageError(
        f"{option}: {part!r} is no range, {reason}; give FROM..TO/STEPS, "
        "0..1/20 for example is 0, 1/20, 1/10 to 1"
    )


@dataclass(frozen=True)
class Family:
    """Policies that differ in the value of one parameter only.

    Attributes:
        name: What they share: name and other parameters.
        parameter: The parameter that differs.
        values: Each policy as the user wrote it, and its value.
    """

    name: str
    parameter: str
    values: dict[str, float]


def families(policies: Iterable[str]) -> list[Family]:
    """Return the policies that differ in one number, in the order in which they come."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for policy in dict.fromkeys(policies):
        parameters = settings_of(policy)
        for place, part in enumerate(parameters):
            key, _, value = part.partition("=")
            number = _number(value)
            if number is not None:
                others = parameters[:place] + parameters[place + 1 :]
                rest = written(name_of(policy), others)
                found.setdefault((rest, key), {})[policy] = number
    return [
        Family(name, parameter, values)
        for (name, parameter), values in found.items()
        if len(set(values.values())) >= LEAST_VALUES
    ]


def is_of_window(family: Family) -> bool:
    """Tell whether policies are CFLRU with windows of a range."""
    return family.parameter in WINDOWS and name_of(family.name) == WINDOWED


def _number(text: str) -> float | None:
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        return None
