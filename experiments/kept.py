"""Tables of experiments as CSV files, each with what made it."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from clockhand import _engine
from clockhand.study.facts import machine


def keep(
    path: Path,
    table: pl.DataFrame,
    command: str,
    *facts: str,
    measured: str = "",
    traces: Mapping[str, str] | None = None,
    digits: int | None = None,
) -> None:
    """Write a table with its command, version and machine.

    Args:
        path: The file.
        table: Its content.
        command: What makes it again.
        facts: What else is to be known of it, a line each.
        measured: How, where it was measured.
        traces: The hash of each of its traces, by name.
        digits: Significant digits of its numbers; all if not given.
    """
    head = [
        f"command: {command}",
        f"version: {_engine.__version__}, numbers {_engine.NUMBERS_VERSION}",
        "; ".join(["machine: " + machine(), *([measured] if measured else [])]),
        *facts,
        *(f"trace: {name}, SHA-256 {digest[:12]}" for name, digest in (traces or {}).items()),
    ]
    floats = pl.selectors.float()
    content = table if digits is None else table.with_columns(floats.round_sig_figs(digits))
    path.parent.mkdir(parents=True, exist_ok=True)
    comment = "".join(f"# {line}\n" for line in head)
    path.write_text(comment + content.write_csv(), encoding="utf-8")
