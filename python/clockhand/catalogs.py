"""What there is: policies, devices and trace formats."""

import polars as pl

from clockhand import _engine


def policies() -> pl.DataFrame:
    """Return all policies: name, kind, parameters, summary and paper.

    ``kind`` says what a policy must be told: ``bit-driven`` ones only of faults, so that they can
    drive real memory; ``access-driven`` ones of every hit; ``offline`` ones of the future.
    """
    rows = [
        {
            "name": policy["name"],
            "kind": policy["kind"],
            "parameters": ", ".join(parameter["name"] for parameter in policy["parameters"]),
            "summary": policy["summary"],
            "paper": policy["paper"],
        }
        for policy in _engine.policies()
    ]
    return pl.DataFrame(rows)


def devices() -> pl.DataFrame:
    """Return the built-in devices: name, summary and source of the figures."""
    return pl.DataFrame(_engine.devices())


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
