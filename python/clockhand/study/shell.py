"""Command lines as people would type them."""

import re
import shlex
from collections.abc import Iterable

PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""Words that a shell takes as they are."""

SPECIAL = re.compile(r'(["$`\\])')
"""What a shell would read between double quotes."""


def shell_line(words: Iterable[str]) -> str:
    """Return a command line that a POSIX shell splits into these words again.

    Unlike :func:`shlex.join` it takes whichever quotes need the fewer escapes.
    """
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if PLAIN.fullmatch(word):
        return word
    single, double = shlex.quote(word), '"' + SPECIAL.sub(r"\\\1", word) + '"'
    # An interactive shell takes a ! between double quotes for its history.
    return double if len(double) < len(single) and "!" not in word else single
