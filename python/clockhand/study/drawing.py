"""What draws: libraries that the core can do without, imported when something is drawn."""

import importlib.util
from collections.abc import Iterable
from typing import Any

from clockhand._engine import ClockhandError, UsageError

DRAWING = {"altair": "altair", "vl_convert": "vl-convert-python"}
"""The modules that draw, and what installs them."""


def what_is_missing() -> str | None:
    """Return what is to be done before figures can be drawn, in a sentence; none if nothing is."""
    missing = [name for module, name in DRAWING.items() if not importlib.util.find_spec(module)]
    if not missing:
        return None
    return (
        f"figures and reports need {' and '.join(missing)}, which this Python lacks; run: "
        "pip install 'clockhand[report]'"
    )


def check_drawing() -> None:
    """Find out before the work that figures can be drawn.

    Raises:
        ClockhandError: a library is missing.
    """
    missing = what_is_missing()
    if missing is not None:
        raise ClockhandError(missing)


def chosen(name: str | None, figures: Iterable[str]) -> str:
    """Return the name of one of the figures; of the first one if none is given.

    Raises:
        UsageError: there is no such figure, or none at all.
    """
    names = list(figures)
    if not names:
        raise UsageError("there is nothing to draw: all counts are 0")
    if name is not None and name not in names:
        raise UsageError(f"there is no figure {name!r}; there are: {', '.join(names)}")
    return names[0] if name is None else name


def converter() -> Any:
    """Return the module that turns Vega-Lite into pictures, and has Vega itself."""
    check_drawing()
    import vl_convert

    return vl_convert
