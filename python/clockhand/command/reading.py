"""The options of every command that reads a trace."""

from enum import StrEnum
from typing import Annotated

import typer


class Operation(StrEnum):
    """Which requests ``--only`` leaves."""

    READS = "reads"
    WRITES = "writes"


TraceFormat = Annotated[
    str | None, typer.Option(help="Format of the traces. See: clockhand formats.")
]
AssumeReads = Annotated[
    bool,
    typer.Option(
        "--assume-reads", help="Take requests as reads where a trace does not tell their operation."
    ),
]
Only = Annotated[Operation | None, typer.Option(help="Take the reads or the writes alone.")]
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
