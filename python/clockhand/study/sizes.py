"""Sizes as users write them and as people read them."""

import re

from clockhand._engine import UsageError

UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def parsed_bytes(option: str, text: str) -> int:
    """Return the bytes of a size such as ``16KiB`` or ``32``, which stood behind ``option``.

    Raises:
        UsageError: the text is no size.
    """
    match = re.fullmatch(r"(\d{1,12})\s*([A-Za-z]*)", text.strip())
    unit = UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise UsageError(f"{option} {text!r} is no size; give bytes, or such as 16KiB")
    return int(match[1]) * unit


def bytes_text(size_bytes: float) -> str:
    """Return a size in the largest unit of which it is at least one, with four digits."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:,.4g} {name}"
    return f"{size_bytes:,.0f} bytes"
