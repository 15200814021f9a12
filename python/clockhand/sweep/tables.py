"""Tables that are kept: files that say how they were made."""

import os
import platform
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from clockhand import _engine
from clockhand.report.paper_tables import PaperTable, latex, markdown
from clockhand.study.facts import printable
from clockhand.study.records import Record

PROCESSORS = Path("/proc/cpuinfo")


def csv(table: PaperTable, origin: Iterable[str]) -> str:
    """Return a table as CSV after comments that say how it was made.

    Read it with ``polars.read_csv(path, comment_prefix="#")``.
    """
    head = "".join(f"# {printable(line)}\n" for line in origin)
    return head + table.content.write_csv()


FORMS: Mapping[str, tuple[str, Callable[[PaperTable, list[str]], str]]] = {
    "latex": ("tex", latex),
    "markdown": ("md", markdown),
    "csv": ("csv", csv),
}
"""How tables are written: the ending of files, and what writes them."""


def table_files(
    folder: Path, tables: Iterable[PaperTable], facts: Record, form: str = "csv"
) -> dict[Path, bytes]:
    """Return a file per table in ``folder``, which says how it was made."""
    ending, write = FORMS[form]
    return {
        folder / f"{table.slug}.{ending}": write(table, _origin(table.title, facts)).encode()
        for table in tables
    }


def _origin(title: str, facts: Record) -> list[str]:
    """Return what is to be known of a table, in lines: title, command, version, machine, traces."""
    traces = {trace["name"]: trace["sha256"] for trace in facts["traces"]}
    return [
        title,
        f"command: {facts['command']}",
        f"version: {facts['version']}, numbers {_engine.NUMBERS_VERSION}",
        f"machine: {machine()}",
        *(f"trace: {name}, SHA-256 {digest}" for name, digest in traces.items()),
    ]


def machine() -> str:
    """Return processor, cores and system of this machine."""
    model = platform.machine()
    if PROCESSORS.exists():
        for line in PROCESSORS.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
