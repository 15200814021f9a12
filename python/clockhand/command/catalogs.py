"""``clockhand policies``, ``devices`` and ``formats``: what there is."""

from typing import Annotated

import polars as pl
import typer

import clockhand
from clockhand import _engine
from clockhand.command.output import print_markdown, print_table

Name = Annotated[str | None, typer.Argument(help="Show the page of this one.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="policies")(_policies)
    app.command(name="devices")(_devices)
    app.command(name="formats")(_formats)


def _policies(name: Name = None) -> None:
    """List the policies, or show one: what it keeps, victim, parameters, cost, paper."""
    if name is None:
        columns = ["name", "kind", "parameters", "summary", "paper"]
        print_table("policies", clockhand.policies().select(columns))
        return
    print_markdown(_engine.policy_page(name))
    policy = next(policy for policy in _engine.policies() if policy["name"] == name.split(":")[0])
    parameters = [
        {
            "parameter": p["name"],
            "takes": p["domain"],
            "default": p["default"],
            "meaning": p["summary"],
        }
        for p in policy["parameters"]
    ]
    if parameters:
        typer.echo()
        print_table(f"parameters of {policy['name']} ({policy['kind']})", pl.DataFrame(parameters))


def _devices(name: Name = None) -> None:
    """List the devices, or show one, built-in or from a TOML file: costs and their source."""
    if name is None:
        print_table("devices", clockhand.devices().select("name", "summary"))
        return
    print_markdown(_engine.device_page(name))


def _formats(name: Name = None) -> None:
    """List the trace formats, or show one: fields, units, what is skipped."""
    if name is None:
        print_table("trace formats", clockhand.formats())
        return
    print_markdown(_engine.format_page(name))
