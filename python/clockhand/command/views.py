"""The options by which a trace with record classes is seen, for every command that reads traces."""

from enum import StrEnum
from typing import Annotated

import typer


class YesNo(StrEnum):
    """An answer on the command line."""

    YES = "yes"
    NO = "no"


View = Annotated[
    str | None,
    typer.Option(
        help="For traces with record classes; what a store-miss fill is. paper: nothing; bus: a "
        "read; fault: a write. paper if not given."
    ),
]
Fetches = Annotated[
    YesNo | None,
    typer.Option(help="Whether instruction fetches of such traces are part; yes if not given."),
]
Only = Annotated[
    str | None,
    typer.Option(help="anonymous: only pages of a captured program that would go to swap."),
]


def as_bool(answer: YesNo | None) -> bool | None:
    """Return whether the answer is yes; none if there is none."""
    return None if answer is None else answer is YesNo.YES
