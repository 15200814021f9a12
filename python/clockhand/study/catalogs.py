"""What there is: policies, write buffers, devices, drives, tiers and trace formats."""

from pathlib import Path
from typing import overload

import polars as pl

from clockhand import _engine
from clockhand.study.records import Fields
from clockhand.study.toml import toml_content


class Page(str):
    """The documentation page of something in a catalog, as Markdown; notebooks show it set."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return str(self)


@overload
def policies() -> pl.DataFrame: ...
@overload
def policies(name: str) -> Page: ...
def policies(name: str | None = None) -> pl.DataFrame | Page:
    """Return all policies: name, kind, parameters, summary and paper; or the page of one.

    ``kind`` is the input of a policy. ``bit-driven`` ones need only faults, so that they can drive
    real memory; ``access-driven`` ones need every hit; ``offline`` ones the future.

    Args:
        name: A policy whose page is wanted.

    Raises:
        UsageError: no policy has this name.
    """
    return _catalog(_engine.policies()) if name is None else Page(_engine.policy_page(name))


@overload
def write_buffers() -> pl.DataFrame: ...
@overload
def write_buffers(name: str) -> Page: ...
def write_buffers(name: str | None = None) -> pl.DataFrame | Page:
    """Return all write buffers of flash drives: name, kind, parameters, summary and paper.

    All of them also take ``total``, their size. The page-level ones have the names of the policies
    that decide in them.

    Args:
        name: A buffer whose page is wanted, instead of the list.

    Raises:
        UsageError: no buffer has this name.
    """
    if name is not None:
        return Page(_engine.write_buffer_page(name))
    return _catalog(_engine.write_buffers())


def _catalog(entries: list[Fields]) -> pl.DataFrame:
    rows = [
        {
            "name": entry["name"],
            "kind": entry["kind"],
            "parameters": ", ".join(parameter["name"] for parameter in entry["parameters"]),
            "summary": entry["summary"],
            "paper": entry["paper"],
        }
        for entry in entries
    ]
    return pl.DataFrame(rows)


def tier_policies() -> pl.DataFrame:
    """Return the policies that are made for two tiers: name, kind, parameters, summary, paper."""
    return _catalog(_engine.tier_policies())


def tier_profiles() -> pl.DataFrame:
    """Return the built-in profiles of fast and slow memory: name, summary, source of figures."""
    return pl.DataFrame(_engine.tier_profiles())


@overload
def devices() -> pl.DataFrame: ...
@overload
def devices(name: str) -> Page: ...
def devices(name: str | None = None) -> pl.DataFrame | Page:
    """Return the built-in devices: name, summary and source of the figures; or the page of one.

    Args:
        name: A device, with options if wanted, whose page is wanted.

    Raises:
        UsageError: there is no such device.
    """
    return pl.DataFrame(_engine.devices()) if name is None else Page(_engine.device_page(name))


@overload
def ssds() -> pl.DataFrame: ...
@overload
def ssds(name: str) -> Page: ...
def ssds(name: str | None = None) -> pl.DataFrame | Page:
    """Return the built-in flash drives: name, summary and source of the figures; or one's page.

    Args:
        name: A drive, with options if wanted, whose page is wanted.

    Raises:
        UsageError: there is no such drive.
    """
    return pl.DataFrame(_engine.ssds()) if name is None else Page(_engine.ssd_page(name))


def describes_ssd(path: str) -> bool:
    """Tell whether a file is the profile of a flash drive, and not that of a device."""
    return _has_table(path, "drive")


def describes_tiers(path: str) -> bool:
    """Tell whether a file is the profile of two tiers, and not that of a device."""
    return _has_table(path, "fast")


def _has_table(path: str, name: str) -> bool:
    try:
        return name in toml_content(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


@overload
def formats() -> pl.DataFrame: ...
@overload
def formats(name: str) -> Page: ...
def formats(name: str | None = None) -> pl.DataFrame | Page:
    """Return the trace formats that can be read: name, as what they can be written, and summary.

    Args:
        name: A format whose page is wanted, instead of the list.

    Raises:
        UsageError: there is no such format.
    """
    if name is not None:
        return Page(_engine.format_page(name))
    rows = [
        {
            "name": format["name"],
            "writes": ", ".join(format["written_as"]) or "no",
            "summary": format["summary"],
        }
        for format in _engine.formats()
    ]
    return pl.DataFrame(rows)
