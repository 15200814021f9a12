"""Policies of one's own: ``check-policy`` tries the rules of all, ``new-policy`` begins one."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import clockhand
from clockhand.command.options import OutputFormat
from clockhand.command.output import Format, write_rows
from clockhand.command.saying import say
from clockhand.command.tables import print_table
from clockhand.study.errors import ClockhandError
from clockhand.study.own_policies import Conformance

if TYPE_CHECKING:
    from rich.console import Console

Policy = Annotated[
    str,
    typer.Argument(
        help="FILE.py:CLASS, FILE.so:NAME or a name of clockhand policies, with "
        ":parameter=value,... if wanted."
    ),
]
PolicyLibrary = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE.so",
        help="Load a library of policies, so that they can be named. See: clockhand new-policy.",
    ),
]
NewName = Annotated[
    str, typer.Argument(metavar="NAME", help="The policy's name, such as my-clock.")
]
Folder = Annotated[
    Path | None,
    typer.Option(help="Where the crate will be; a folder of this name here if not given."),
]
Checkout = Annotated[
    Path | None,
    typer.Option(
        "--path", help="Use the crates in this checkout of Clockhand, not the published ones."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="check-policy", epilog="check-policy mine.py:Mine")(
        with_libraries(_check_policy)
    )
    app.command(name="new-policy", epilog="new-policy my-clock")(_new_policy)


def with_libraries(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that names policies the option ``--policy-library``, behind its own.

    Typer makes options of the parameters in a function's signature.
    """
    signature = inspect.signature(command)
    kind = inspect.Parameter.KEYWORD_ONLY
    option = inspect.Parameter(LIBRARIES, kind, default=None, annotation=PolicyLibrary)

    @wraps(command)
    def with_option(**given: Any) -> None:
        for file in given.pop(LIBRARIES) or ():
            clockhand.use_policy_library(file)
        command(**given)

    parameters = [*signature.parameters.values(), option]
    vars(with_option)["__signature__"] = signature.replace(parameters=parameters)
    return with_option


LIBRARIES = "policy_library"


def _new_policy(name: NewName, folder: Folder = None, path: Checkout = None) -> None:
    """Write a small crate for a policy of your own in Rust, with its tests."""
    made = clockhand.new_policy(name, folder, path)
    library = made / "target/release" / f"lib{name.replace('-', '_')}.so"
    say(f"{made / 'src/lib.rs'} is CLOCK: make it yours; then, in {made}, run: cargo test")
    say(f"cargo build --release makes {library}: give it as --policy {library}:{name}")


def _check_policy(policy: Policy, format: OutputFormat = None) -> None:
    """Check a policy against the rules that all keep, and show the steps to a broken rule."""
    checked = clockhand.check_policy(policy)
    write_rows(checked.rules, format or Format.TABLE, partial(_print_rules, policy, checked))
    if checked.raised is not None:
        raise checked.raised
    if checked.sentence is not None:
        raise ClockhandError(checked.sentence)


def _print_rules(policy: str, checked: Conformance, console: "Console") -> None:
    from rich.text import Text

    print_table(f"rules tried on {policy}", checked.rules, console)
    if checked.events:
        console.print(Text("what happened last, each with the number of its reference:"))
    for event in checked.events:
        console.print(Text(f"  {event}"))
