"""``clockhand policies``, ``devices`` and ``formats``: what there is, each kind with its pages."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

import clockhand
from clockhand import _engine
from clockhand.command.options import OutputFormat
from clockhand.command.output import Format, write_rows
from clockhand.command.saying import print_markdown
from clockhand.command.tables import print_table
from clockhand.completion.values import values_of
from clockhand.study.catalogs import describes_ssd, describes_tiers
from clockhand.study.errors import UsageError, option
from clockhand.study.policies import name_of
from clockhand.study.records import Fields

PAGE_OF = "Show the page of this one."
PolicyName = Annotated[
    str | None,
    typer.Argument(help=PAGE_OF, autocompletion=values_of("pages_of_policies")),
]
DeviceName = Annotated[
    str | None,
    typer.Argument(help=PAGE_OF, autocompletion=values_of("pages_of_devices")),
]
FormatName = Annotated[
    str | None, typer.Argument(help=PAGE_OF, autocompletion=values_of("formats"))
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="policies", epilog="policies craw")(_policies)
    app.command(name="devices", epilog="devices slc-nand")(_devices)
    app.command(name="formats", epilog="formats spc")(_formats)


def _policies(name: PolicyName = None, format: OutputFormat = None) -> None:
    """List the policies and write buffers, or show one: victim, parameters, cost, paper."""
    if name is None:
        columns = ["name", "kind", "parameters", "summary", "paper"]
        listed = {
            "policies": clockhand.policies().select(columns),
            "write buffers of flash drives, for clockhand ssd; all take total=SIZE": (
                clockhand.write_buffers().select(columns)
            ),
            "policies of two tiers, for clockhand tier, beside page policies": (
                clockhand.tier_policies().select(columns)
            ),
        }
        _list(listed, ("policy", "write buffer", "tier policy"), format)
        return
    _refuse_format(name, format)
    word = name_of(name)
    policies = {entry["name"]: entry for entry in _engine.policies()}
    buffers = {entry["name"]: entry for entry in _engine.write_buffers()}
    of_tiers = {entry["name"]: entry for entry in _engine.tier_policies()}
    if word in of_tiers:
        _show(_engine.tier_policy_page(word) or "", of_tiers[word])
        return
    if word not in buffers:
        # Of an unknown name it says which policy is near.
        page = _engine.policy_page(name)
        own = {entry["name"]: entry for entry in _engine.own_policies()}
        _show(page, (own | policies)[_engine.policy_name(name)])
        return
    if word in policies:
        _show(_engine.policy_page(word), policies[word])
    _show(_engine.write_buffer_page(word), buffers[word])


def _show(page: str, entry: Fields) -> None:
    print_markdown(page)
    parameters = [
        {
            "parameter": p["name"],
            "takes": p["domain"],
            "default": p["default"],
            "meaning": p["summary"],
        }
        for p in entry["parameters"]
    ]
    if parameters:
        typer.echo()
        print_table(f"parameters of {entry['name']} ({entry['kind']})", pl.DataFrame(parameters))


def _devices(name: DeviceName = None, format: OutputFormat = None) -> None:
    """List devices, flash drives and memory tiers, or show one, built-in or from a TOML file."""
    if name is None:
        listed = {
            "devices": clockhand.devices().select("name", "summary"),
            "flash drives, for clockhand ssd": clockhand.ssds().select("name", "summary"),
            "fast and slow memory, for clockhand tier": (
                clockhand.tier_profiles().select("name", "summary")
            ),
        }
        _list(listed, ("device", "flash drive", "tiers"), format)
        return
    _refuse_format(name, format)
    print_markdown(_page(name))


def _page(name: str) -> str:
    """Return the page of a device or a drive; a file is a drive if it describes one."""
    word = name_of(name)
    if word in clockhand.ssds()["name"] or describes_ssd(name) or describes_ssd(word):
        return _engine.ssd_page(name)
    if word in clockhand.tier_profiles()["name"] or describes_tiers(name) or describes_tiers(word):
        return _engine.tier_profile_page(name)
    return _engine.device_page(name)


def _formats(name: FormatName = None, format: OutputFormat = None) -> None:
    """List the trace formats, or show one: fields, units, what is skipped."""
    if name is None:
        _list({"trace formats": clockhand.formats()}, ("trace format",), format)
        return
    _refuse_format(name, format)
    print_markdown(_engine.format_page(name))


def _list(listed: Mapping[str, pl.DataFrame], kinds: Sequence[str], format: Format | None) -> None:
    """Print tables under their titles, or all their rows in a format, each with what it is."""
    together = pl.concat(
        [
            table.select(pl.lit(kind).alias("what"), pl.all())
            for kind, table in zip(kinds, listed.values(), strict=True)
        ],
        how="diagonal_relaxed",
    )

    def print_for_people(to: Console) -> None:
        for title, table in listed.items():
            print_table(title, table, to)

    write_rows(together, format or Format.TABLE, print_for_people)


def _refuse_format(name: str, format: Format | None) -> None:
    if format is not None:
        raise UsageError(
            option("format") + f" is for the list, and {name} has a page of text", "leave one out"
        )
