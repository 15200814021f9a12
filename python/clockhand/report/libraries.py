"""What draws: libraries that the core can do without, imported when something is drawn."""

import importlib.util
from typing import Any

from clockhand._engine import ClockhandError

DRAWING = {"altair": "altair", "vl_convert": "vl-convert-python"}
"""The modules that draw, and what installs them."""


def check_drawing() -> None:
    """Find out before the work that figures can be drawn.

    Raises:
        ClockhandError: a library is missing.
    """
    missing = [name for module, name in DRAWING.items() if not importlib.util.find_spec(module)]
    if missing:
        raise ClockhandError(
            f"figures and reports need {' and '.join(missing)}, which this Python lacks; run: "
            "pip install 'clockhand[report]'"
        )


def converter() -> Any:
    """Return the module that turns Vega-Lite into pictures, and has Vega itself."""
    check_drawing()
    import vl_convert

    return vl_convert
