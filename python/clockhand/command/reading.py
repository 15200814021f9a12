"""The options of every command that reads a trace."""

from enum import StrEnum
from typing import Annotated

import typer


class Operation(StrEnum):
    """Which requests ``--only`` leaves."""

    READS = "reads"
    WRITES = "writes"
    ANONYMOUS = "anonymous"


class YesNo(StrEnum):
    """An answer on the command line."""

    YES = "yes"
    NO = "no"


TraceFormat = Annotated[
    str | None, typer.Option(help="Format of the traces. See: clockhand formats.")
]
AssumeReads = Annotated[
    bool,
    typer.Option(
        "--assume-reads", help="Take requests as reads where a trace does not tell their operation."
    ),
]
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
    Operation | None,
    typer.Option(
        help="Take the reads or the writes alone, or only the pages of a captured program that "
        "would go to swap."
    ),
]
Streams = Annotated[
    str | None,
    typer.Option(help="Take these streams alone, such as 0,3-5. See: clockhand trace info."),
]
Skip = Annotated[
    int, typer.Option(min=0, help="Leave out so many requests, of those that are chosen.")
]
Limit = Annotated[
    int | None, typer.Option(min=0, help="Take so many requests, of those that are left.")
]


def as_bool(answer: YesNo | None) -> bool | None:
    """Return whether the answer is yes; none if there is none."""
    return None if answer is None else answer is YesNo.YES
