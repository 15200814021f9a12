"""Lists of policies, write buffers and devices as users write them: commas, ``all``, patterns."""

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from clockhand.study.errors import UsageError, option
from clockhand.study.own_policies import Entry, texts_of
from clockhand.study.policies import IN_FILE, IN_LIBRARY, name_of
from clockhand.study.ranges import each_value, goes_on_with_sizes

ALL = "all"


def expanded(
    option_name: str,
    texts: Entry | Iterable[Entry],
    names: Sequence[str],
) -> list[str]:
    """Return one entry for each thing that ``texts`` name, in the order given.

    What is named twice is kept twice, unless a pattern named it: of ``clock,all`` each is one.

    An entry is ``NAME`` or ``NAME:parameter=value,...``; several stand in one text with commas
    between them. A comma before ``parameter=`` goes on with the entry before it. ``all`` and
    patterns such as ``clock*`` stand for the ``names`` that they match, in their order, each with
    the parameters that follow the pattern. A parameter may have a range, and ``total`` a list of
    sizes (:mod:`clockhand.study.ranges`). A text that is the name of a file is one entry, and a
    class is the policy that it is.

    Args:
        option_name: The command's option_name, for the error.
        texts: What the user gave.
        names: What there is.

    Raises:
        UsageError: an entry is empty, or a pattern matches nothing.
    """
    given = [texts] if isinstance(texts, str | os.PathLike | type) else list(texts)
    found: list[str] = []
    by_pattern: set[str] = set()
    for text in texts_of(given):
        for entry in [text] if os.path.isfile(text) else entries(option_name, text):
            matched = _matching(option_name, entry, names)
            ones = [
                one
                for named in matched
                for one in ([named] if os.path.isfile(named) else each_value(option_name, named))
            ]
            if matched != [entry]:
                ones = [one for one in ones if one not in found]
                by_pattern.update(ones)
            found += [one for one in ones if one not in by_pattern or one not in found]
    return found


def entries(option_name: str, text: str) -> list[str]:
    """Return the entries of a text with commas, each name with its parameters.

    Raises:
        UsageError: one is empty.
    """
    found: list[str] = []
    for part in text.split(","):
        if found and ("=" in name_of(part) or goes_on_with_sizes(found[-1], part)):
            found[-1] += f",{part}"
        else:
            found.append(part)
    if not all(entry.strip() for entry in found):
        raise UsageError(
            option(option_name) + f" {text!r} names nothing at one place", "give a name there"
        )
    return [entry.strip() for entry in found]


def _matching(option_name: str, entry: str, names: Sequence[str]) -> list[str]:
    if IN_FILE in entry or IN_LIBRARY in entry:
        return [entry]
    word = entry[: len(name_of(entry))]
    pattern = "*" if word == ALL else word
    if not set("*?[") & set(pattern):
        return [entry]
    matched = [name for name in names if fnmatchcase(name, pattern)]
    if not matched:
        raise UsageError(
            option(option_name) + f" {entry!r} matches nothing", f"there are: {', '.join(names)}"
        )
    return [name + entry[len(word) :] for name in matched]


MOST_HIGHLIGHTED = 6
"""The eye cannot distinguish more lines at a glance."""


def highlighted(texts: Sequence[str] | None, given: Sequence[str]) -> list[str]:
    """Return the entries of ``--highlight``; each matches something that is run.

    Args:
        texts: What the user gave: names, with or without parameters, and patterns; commas too.
        given: What is run.

    Raises:
        UsageError: an entry matches nothing, or all of them together too much.
    """
    wanted = [entry for text in texts or () for entry in entries("highlight", text)]
    for entry in wanted:
        if not matching([entry], given):
            raise UsageError(
                option("highlight") + f" {entry!r} is none of those that are run",
                f"there are {', '.join(dict.fromkeys(given))}",
            )
    if len(matching(wanted, given)) > MOST_HIGHLIGHTED:
        raise UsageError(
            option("highlight") + f" names {len(matching(wanted, given))} of those that are run",
            f"give at most {MOST_HIGHLIGHTED}",
        )
    return wanted


def matching(entries: Iterable[str], given: Sequence[str]) -> list[str]:
    """Return what is meant by entries of ``--highlight``, in their order, each once.

    An entry means what is written like it, else everything whose name it is or whose name or text
    its pattern fits.
    """
    found: dict[str, None] = {}
    for entry in entries:
        if entry in given:
            found[entry] = None
            continue
        for text in given:
            if fnmatchcase(text, entry) or fnmatchcase(name_of(text), entry):
                found[text] = None
    return list(found)
