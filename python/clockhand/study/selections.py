"""Lists of policies, write buffers and devices as users write them: commas, ``all``, patterns."""

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from clockhand._engine import UsageError

ALL = "all"


def expanded(
    option: str,
    texts: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    names: Sequence[str],
) -> list[str]:
    """Return one entry for each thing that ``texts`` name, in the order given, doubles kept.

    An entry is ``NAME`` or ``NAME:parameter=value,...``; several stand in one text with commas
    between them. A comma before ``parameter=`` goes on with the entry before it. ``all`` and
    patterns such as ``clock*`` stand for the ``names`` that they match, in their order, each with
    the parameters that follow the pattern. A text that is the name of a file is one entry.

    Args:
        option: The command's option, for the error.
        texts: What the user gave.
        names: What there is.

    Raises:
        UsageError: an entry is empty, or a pattern matches nothing.
    """
    given = [texts] if isinstance(texts, str | os.PathLike) else texts
    return [
        named
        for text in (os.fspath(entry) for entry in given)
        for entry in ([text] if os.path.isfile(text) else _entries(option, text))
        for named in _matching(option, entry, names)
    ]


def _entries(option: str, text: str) -> list[str]:
    entries: list[str] = []
    for part in text.split(","):
        if entries and "=" in part.partition(":")[0]:
            entries[-1] += f",{part}"
        else:
            entries.append(part)
    if not all(entry.strip() for entry in entries):
        raise UsageError(f"{option} {text!r} names nothing at one place; give a name there")
    return [entry.strip() for entry in entries]


def _matching(option: str, entry: str, names: Sequence[str]) -> list[str]:
    word, colon, parameters = entry.partition(":")
    pattern = "*" if word == ALL else word
    if not set("*?[") & set(pattern):
        return [entry]
    matched = [name for name in names if fnmatchcase(name, pattern)]
    if not matched:
        raise UsageError(f"{option} {entry!r} matches nothing; there are: {', '.join(names)}")
    return [f"{name}{colon}{parameters}" for name in matched]
