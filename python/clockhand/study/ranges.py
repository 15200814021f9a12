"""Ranges of parameters: ``cflru:window_share=0..1/20`` stands for 21 policies, one per value.

``total``, the size of a write buffer, takes a list and ranges of sizes: ``4MiB,16MiB``, and
``4MiB..64MiB``, which doubles.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from clockhand.study.errors import UsageError, option
from clockhand.study.policies import name_of, settings_of, written

MOST_VALUES = 10_000
"""More policies than this from one entry are a mistake: the cells alone would fill the memory."""

_NUMBER = r"\d{1,18}(?:\.\d{1,18})?"
_RANGE = re.compile(
    rf"({_NUMBER}(?:/\d{{1,18}})?)\.\.({_NUMBER}(?:/\d{{1,18}})?)(?:/(\d{{1,18}}))?"
)
SIZE = "total"
"""The parameter that is a size."""
_SIZE_NUMBER = r"(\d{1,15}(?:\.\d{1,9})?)"
_ONE_SIZE = re.compile(rf"{_SIZE_NUMBER}([KMGT]i?B|B|%)?")
_SIZES = re.compile(rf"{_SIZE_NUMBER}([KMGT]i?B|B|%)?\.\.{_SIZE_NUMBER}([KMGT]i?B|B|%)?")
_UNITS = {
    "B": 1,
    **{f"{prefix}B": 1000 ** (power + 1) for power, prefix in enumerate("KMGT")},
    **{f"{prefix}iB": 1024 ** (power + 1) for power, prefix in enumerate("KMGT")},
}

WINDOWED = "cflru"
WINDOWS = ("window_pages", "window_share")
"""The parameters of the policy whose window can be predicted."""

LEAST_VALUES = 3
"""Policies that differ in one parameter are drawn against it if they have this many values."""


def each_value(option_name: str, entry: str) -> list[str]:
    """Return one entry for each value of the ranges in the parameters of ``entry``.

    ``FROM..TO/N`` is N steps from FROM to TO, both included; ``FROM..TO`` is every whole number
    between two whole ones. Numbers are exact: whole, decimal or fractions; a range that ends in a
    fraction needs its steps (``0..1/2/10``). Several ranges in one entry are combined. A value
    without a parameter's name may be a range too (``rate:100..800/7``).

    Args:
        option_name: The command's option_name, for the error.
        entry: A name, with parameters behind a colon or without.

    Raises:
        UsageError: a range runs backwards, has no steps, or stands for too many values.
    """
    settings = settings_of(entry)
    if not any(".." in part or "=" not in part for part in settings):
        return [entry]
    choices: list[list[str]] = []
    for part in settings:
        key, equals, value = part.partition("=")
        if not equals and choices and choices[-1][0].startswith(f"{SIZE}="):
            choices[-1] += [f"{SIZE}={size}" for size in _sizes(option_name, part, part)]
        elif key == SIZE:
            choices.append([f"{SIZE}={size}" for size in _sizes(option_name, part, value)])
        else:
            before, text = (f"{key}=", value) if equals else ("", part)
            values = _values(option_name, part, text) if ".." in text else [text]
            choices.append([f"{before}{value}" for value in values])
        if prod(map(len, choices)) > MOST_VALUES:
            raise _refused(option_name, part, f"it stands for more than {MOST_VALUES:,} policies")
    return [written(name_of(entry), chosen) for chosen in product(*choices)]


def goes_on_with_sizes(entry: str, part: str) -> bool:
    """Tell whether ``part``, behind a comma, is one more size of what ``entry`` ends with."""
    settings = settings_of(entry)
    while settings and "=" not in settings[-1]:
        settings.pop()
    is_size = _ONE_SIZE.fullmatch(part) or _SIZES.fullmatch(part)
    return bool(settings and settings[-1].startswith(f"{SIZE}=") and is_size)


def _sizes(option_name: str, part: str, text: str) -> list[str]:
    """Return a size, or those of a range: doubled up to the last, shares by whole percent."""
    matched = _SIZES.fullmatch(text)
    if not matched:
        return [text]
    first_text, first_unit, last_text, last_unit = matched.groups()
    first, last = Fraction(first_text), Fraction(last_text)
    if (first_unit == "%") != (last_unit == "%") or (first_unit is None) != (last_unit is None):
        raise _refused_size(option_name, part, "its ends are of two kinds")
    if first_unit == "%":
        if first.denominator != 1 or last.denominator != 1:
            raise _refused_size(option_name, part, "only whole shares have a range")
        sizes = [f"{percent}%" for percent in range(int(first), int(last) + 1)]
    else:
        last_size = last * _UNITS.get(last_unit, 1)
        if first == 0:
            raise _refused_size(option_name, part, "nothing doubled is nothing")
        sizes, size = [], first
        while size * _UNITS.get(first_unit, 1) < last_size:
            sizes.append(f"{_decimal(size)}{first_unit or ''}")
            size *= 2
        if first * _UNITS.get(first_unit, 1) <= last_size:
            sizes.append(f"{last_text}{last_unit or ''}")
    if not sizes:
        raise _refused_size(option_name, part, "it runs backwards")
    return sizes


def _decimal(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else str(float(number))


def _refused_size(option_name: str, part: str, reason: str) -> UsageError:
    return UsageError(
        option(option_name) + f": {part!r} is no range of sizes, {reason}",
        "give FROM..TO, 4MiB..64MiB for example is 4MiB, 8MiB, 16MiB, 32MiB and 64MiB",
    )


def _values(option_name: str, part: str, text: str) -> list[str]:
    matched = _RANGE.fullmatch(text)
    if not matched:
        return [text]
    first_text, last_text, steps_text = matched.groups()
    is_fraction = "." in first_text and "." not in last_text
    if steps_text is None and last_text.count("/") == 1 and not is_fraction:
        # The usual form: what follows the one slash is the number of steps.
        last_text, _, steps_text = last_text.partition("/")
    try:
        first, last = Fraction(first_text), Fraction(last_text)
    except ZeroDivisionError:
        raise _refused(option_name, part, "a fraction over 0 is no number") from None
    if last < first:
        raise _refused(option_name, part, "it runs backwards")
    if steps_text is None:
        if first.denominator != 1 or last.denominator != 1:
            raise _refused(option_name, part, "only whole numbers need no steps")
        steps = int(last - first)
    else:
        steps = int(steps_text)
    if steps >= MOST_VALUES:
        raise _refused(option_name, part, f"it stands for more than {MOST_VALUES:,} policies")
    if steps == 0:
        if steps_text is not None:
            raise _refused(option_name, part, "it has 0 steps")
        return [str(first)]
    return [str(first + (last - first) * step / steps) for step in range(steps + 1)]


def _refused(option_name: str, part: str, reason: str) -> UsageError:
    return UsageError(
        option(option_name) + f": {part!r} is no range, {reason}",
        "give FROM..TO/STEPS, 0..1/20 for example is 0, 1/20, 1/10 to 1",
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
    """Return the policies that differ in one number, in their order."""
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
