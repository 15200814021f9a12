"""Tables that are kept: CSV files that say how they were made."""

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clockhand import _engine
from clockhand.study.facts import Facts, SsdRunFacts, printable

PROCESSORS = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Table:
    """A table with its title, and the name of its file without the ending."""

    title: str
    slug: str
    content: pl.DataFrame


def table_files(
    folder: Path, tables: Iterable[Table], facts: Facts | SsdRunFacts
) -> dict[Path, bytes]:
    """Return a CSV file per table in ``folder``."""
    return {
        folder / f"{table.slug}.csv": csv_with_origin(table.title, table.content, facts)
        for table in tables
    }


def csv_with_origin(title: str, table: pl.DataFrame, facts: Facts | SsdRunFacts) -> bytes:
    """Return a table as CSV after comments that name title, command, version, machine and traces.

    Read it with ``polars.read_csv(path, comment_prefix="#")``.
    """
    return csv_of(table, origin_of_table(title, facts))


def origin_of_table(title: str, facts: Mapping[str, Any]) -> list[str]:
    """Return what is to be known of a table, in lines: title, command, version, machine, traces."""
    traces = {trace["name"]: trace["sha256"] for trace in facts["traces"]}
    return [
        title,
        f"command: {facts['command']}",
        f"version: {facts['version']}, numbers {_engine.NUMBERS_VERSION}",
        f"machine: {machine()}",
        *(f"trace: {name}, SHA-256 {digest}" for name, digest in traces.items()),
    ]


def csv_of(table: pl.DataFrame | Mapping[str, Sequence[Any]], origin: Iterable[str]) -> bytes:
    """Return a table as CSV after comments that say how it was made."""
    head = "".join(f"# {printable(line)}\n" for line in origin)
    rows = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table, strict=False)
    return head.encode() + rows.write_csv().encode()


def machine() -> str:
    """Return processor, cores and system of this machine."""
    model = platform.machine()
    if PROCESSORS.exists():
        for line in PROCESSORS.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
