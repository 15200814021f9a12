"""What is played step by step: a page, in a file or in a notebook."""

import html
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from clockhand.study.errors import UsageError, option
from clockhand.study.files import publish
from clockhand.traces import Reading, Trace

DEFAULT_LIMIT = 1000
"""Requests that are watched if no limit is given."""

MAXIMUM_SIDE_BY_SIDE = 2

PLAYER_HEIGHT = 960
"""Pixels of the frame in which a notebook shows the player."""


def check_side_by_side(option_name: str, what: str, named: Sequence[str]) -> None:
    """Refuse more than stand side by side on a page."""
    if len(named) > MAXIMUM_SIDE_BY_SIDE:
        raise UsageError(
            option(option_name) + f" names {len(named)} {what}",
            "give one, or two that stand side by side",
        )


def first_requests(trace: object, reading: Reading) -> Reading:
    """Have only the first requests of a path read, if it is not said how many."""
    if not isinstance(trace, Trace) and reading.get("limit") is None:
        reading["limit"] = DEFAULT_LIMIT
    return reading


class Playing(ABC):
    """Steps that a page plays."""

    @abstractmethod
    def page(self) -> str:
        """Return the page that plays the steps, as HTML text that needs no network."""

    def _repr_html_(self) -> str:
        """Return the player in a frame of its own, as notebooks show it."""
        page = html.escape(self.page(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="step by step" '
            f'style="width:100%;height:{PLAYER_HEIGHT}px;border:0"></iframe>'
        )

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Write the page that plays the steps."""
        publish({Path(path): self.page().encode()})
