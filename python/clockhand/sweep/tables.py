"""Tables that are kept: CSV files that say how they were made."""

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

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
    traces = {trace["name"]: trace["sha256"] for trace in facts["traces"]}
    origin = [
        title,
        f"command: {facts['command']}",
        f"version: {facts['version']}, numbers {_engine.NUMBERS_VERSION}",
        f"machine: {machine()}",
        *(f"trace: {name}, SHA-256 {digest}" for name, digest in traces.items()),
    ]
    head = "".join(f"# {printable(line)}\n" for line in origin)
    return head.encode() + table.write_csv().encode()


def machine() -> str:
    """Return processor, cores and system of this machine."""
    model = platform.machine()
    if PROCESSORS.exists():
        for line in PROCESSORS.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
