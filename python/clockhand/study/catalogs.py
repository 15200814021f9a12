"""What there is: policies, write buffers, devices, drives and trace formats."""

import tomllib
from pathlib import Path
from typing import Any

import polars as pl

from clockhand import _engine


def policies() -> pl.DataFrame:
    """Return all policies: name, kind, parameters, summary and paper.

    ``kind`` says what a policy must be told: ``bit-driven`` ones only of faults, so that they can
    drive real memory; ``access-driven`` ones of every hit; ``offline`` ones of the future.
    """
    return _catalog(_engine.policies())


def write_buffers() -> pl.DataFrame:
    """Return all write buffers of flash drives: name, kind, parameters, summary and paper.

    All of them also take ``total``, their size. The page-level ones have the names of the policies
    that decide in them.
    """
    return _catalog(_engine.write_buffers())


def _catalog(entries: list[dict[str, Any]]) -> pl.DataFrame:
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


def devices() -> pl.DataFrame:
    """Return the built-in devices: name, summary and source of the figures."""
    return pl.DataFrame(_engine.devices())


def ssds() -> pl.DataFrame:
    """Return the built-in flash drives: name, summary and source of the figures."""
    return pl.DataFrame(_engine.ssds())


def describes_ssd(path: str) -> bool:
    """Tell whether a file is the profile of a flash drive, and not that of a device."""
    try:
        return "drive" in tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def formats() -> pl.DataFrame:
    """Return the trace formats that can be read: name, as what they can be written, and summary."""
    rows = [
        {
            "name": format["name"],
            "writes": ", ".join(format["written_as"]) or "no",
            "summary": format["summary"],
        }
        for format in _engine.formats()
    ]
    return pl.DataFrame(rows)
