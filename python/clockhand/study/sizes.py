"""Sizes as users write them and as people read them."""

from clockhand import _engine
from clockhand.study.errors import UsageError, option


def parsed_bytes(option_name: str, text: str) -> int:
    """Return the bytes of a size such as ``16KiB`` or ``32``, that an option of the command has.

    Raises:
        UsageError: the text is not a size.
    """
    size_bytes = _engine.parse_bytes(text.strip())
    if size_bytes is None:
        raise UsageError(
            option(option_name) + f" {text!r} is not a size", "give bytes, or such as 16KiB"
        )
    return size_bytes


def bytes_text(size_bytes: float) -> str:
    """Return a size in the largest unit that makes it at least 1, with four digits."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:,.4g} {name}"
    return f"{size_bytes:,.0f} bytes"
