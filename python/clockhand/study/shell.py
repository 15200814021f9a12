"""Command lines as people would type them."""

import re
import shlex
from collections.abc import Iterable

PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""Words that a shell takes as they are."""

ESCAPED = re.compile(r'(["\\])')
"""What is escaped between double quotes."""

EXPANDED = re.compile(r"[$`!]")
"""What a shell, or its history, would expand between double quotes."""


def shell_line(words: Iterable[str]) -> str:
    """Return a command line that a POSIX shell, and Python's shlex, split into these words again.

    Unlike :func:`shlex.join` it takes whichever quotes need the fewer escapes.
    """
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if PLAIN.fullmatch(word):
        return word
    single, double = shlex.quote(word), '"' + ESCAPED.sub(r"\\\1", word) + '"'
    return double if len(double) < len(single) and not EXPANDED.search(word) else single
