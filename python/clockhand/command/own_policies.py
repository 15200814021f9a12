"""``clockhand check-policy``: the rules that every policy keeps, tried on one's own."""

from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

import clockhand
from clockhand import ClockhandError
from clockhand.command.options import OutputFormat
from clockhand.command.output import Format, print_table, write_rows
from clockhand.study.own_policies import Conformance

Policy = Annotated[
    str,
    typer.Argument(
        help="FILE.py:CLASS or a name of clockhand policies, with :parameter=value,... if wanted."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="check-policy")(_check_policy)


def _check_policy(policy: Policy, format: OutputFormat = None) -> None:
    """Try the rules that every policy keeps, and say which one broke and what happened before."""
    checked = clockhand.check_policy(policy)
    write_rows(checked.rules, format or Format.TABLE, partial(_print_rules, policy, checked))
    if checked.raised is not None:
        raise checked.raised
    if checked.sentence is not None:
        raise ClockhandError(checked.sentence)


def _print_rules(policy: str, checked: Conformance, console: Console) -> None:
    print_table(f"rules tried on {policy}", checked.rules, console)
    if checked.events:
        console.print(Text("what happened last, each with the number of its reference:"))
    for event in checked.events:
        console.print(Text(f"  {event}"))
