"""The options of every command that reads a trace."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any

import typer

from clockhand.traces import Reading


class Operation(StrEnum):
    """Which requests ``--only`` leaves."""

    READS = "reads"
    WRITES = "writes"
    ANONYMOUS = "anonymous"


class Order(StrEnum):
    """In which order files are one trace."""

    TIME = "time"
    FILES = "files"


class YesNo(StrEnum):
    """An answer on the command line."""

    YES = "yes"
    NO = "no"


def reading_of(
    trace_format: Annotated[
        str | None,
        typer.Option(
            help="Format of the traces, or csv: and the columns of a table, such as "
            "csv:sep=;,op=cmd,address=lba*512,size=bytes,time=when:ms. See: clockhand formats csv."
        ),
    ] = None,
    assume_reads: Annotated[
        bool,
        typer.Option(
            "--assume-reads",
            help="Take requests as reads where a trace does not tell their operation.",
        ),
    ] = False,
    only: Annotated[
        Operation | None,
        typer.Option(
            help="Take the reads or the writes alone, or only the pages of a captured program "
            "that would go to swap."
        ),
    ] = None,
    streams: Annotated[
        str | None,
        typer.Option(help="Take these streams alone, such as 0,3-5. See: clockhand trace info."),
    ] = None,
    skip: Annotated[
        int, typer.Option(min=0, help="Leave out this many of the chosen requests.")
    ] = 0,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Take this many of the requests that are left.")
    ] = None,
    view: Annotated[
        str | None,
        typer.Option(
            help="For traces with record classes; what a store-miss fill is. paper: nothing; bus: "
            "a read; fault: a write. paper if not given."
        ),
    ] = None,
    fetches: Annotated[
        YesNo | None,
        typer.Option(help="Whether instruction fetches of such traces are part; yes if not given."),
    ] = None,
    as_one: Annotated[
        bool,
        typer.Option(
            "--as-one",
            help="Read all files, and those in folders, as one trace, in the order of time if they "
            "have times.",
        ),
    ] = False,
    order: Annotated[
        Order | None,
        typer.Option(help="The order of --as-one. files: one after the other, as they are named."),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            "--memory-budget",
            metavar="SIZE",
            help="How much memory what is made of a trace may take, cells at work too; half of the "
            "machine's if not given.",
        ),
    ] = None,
) -> Reading:
    """Return the options as the library takes them; the parameters are those of the command."""
    return {
        "trace_format": trace_format,
        "assume_reads": assume_reads,
        "only": only,
        "streams": streams,
        "skip": skip,
        "limit": limit,
        "view": view,
        "as_one": as_one,
        "order": order,
        "fetches": None if fetches is None else fetches is YesNo.YES,
        "memory_limit": memory_limit,
    }


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :func:`reading_of`, behind its own, as one ``reading``.

    Typer makes options of the parameters in a function's signature: these take the place of the
    command's parameter ``reading``.
    """
    options = inspect.signature(reading_of).parameters
    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "reading"]

    @wraps(command)
    def with_options(**given: Any) -> None:
        reading = reading_of(**{name: given.pop(name) for name in options})
        command(**given, reading=reading)

    vars(with_options)["__signature__"] = signature.replace(parameters=[*own, *options.values()])
    return with_options
