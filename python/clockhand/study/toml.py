"""TOML of users' files."""

import tomllib

from clockhand.study.records import Fields


def toml_content(text: str) -> Fields:
    """Return what a text in TOML says.

    Raises:
        tomllib.TOMLDecodeError: it is not TOML, or nested too deeply to be read.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("its brackets are nested too deeply") from None
