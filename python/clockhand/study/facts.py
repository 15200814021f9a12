"""Facts about how a report's numbers were made."""

import os
import platform
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar, cast

from clockhand import _engine
from clockhand.study.records import Fields, Record
from clockhand.study.shell import shell_line

Value = TypeVar("Value")


class Origin(TypedDict):
    """Origin of a trace: made from a recipe or not, and perhaps in place of a known workload."""

    synthetic: bool
    stand_in: NotRequired[bool]


class TraceFacts(Origin):
    """One input trace; ``name`` is what the rows have in their ``trace`` column."""

    name: str
    format: str
    sha256: str
    requests: int
    references: int
    read_references: int
    write_references: int
    footprint_pages: int
    dirty_footprint_pages: int
    page_bytes: int
    notes: list[str]
    view: str | None


class DeviceFacts(TypedDict):
    """One device profile; times are per page of the run."""

    name: str
    resolved: str
    summary: str
    source: str
    read_time_us: float | None
    write_time_us: float | None
    write_read_ratio: float | str | None


class PolicyFacts(TypedDict):
    """One policy: ``name`` as the user wrote it, ``resolved`` with every default added."""

    name: str
    resolved: str
    summary: str
    paper: str | None


class PredictedWindow(TypedDict):
    """The window of CFLRU that an LRU list of this trace and memory size predicts."""

    trace: str
    page_bytes: int
    device: str
    frames: int
    window_pages: int


class Facts(TypedDict):
    """Everything a reader needs to repeat the run; ``created`` is an ISO 8601 time."""

    predicted_windows: NotRequired[list[PredictedWindow]]

    command: str
    version: str
    created: str
    seed: int | None
    options: Fields
    traces: list[TraceFacts]
    devices: list[DeviceFacts]
    policies: list[PolicyFacts]


class AgedFacts(TypedDict):
    """What was written to a drive before the traces; pages, and erases of blocks."""

    host_writes: int
    erases: int
    write_amplification: float | None
    is_steady: bool


class SsdFacts(TypedDict):
    """One drive: how much of it is for what, in pages, and how it was aged."""

    name: str
    resolved: str
    summary: str
    source: str
    geometry: str
    blocks: int
    pages_per_block: int
    page_bytes: int
    raw_pages: int
    logical_pages: int
    reserve_pages: int
    reserve_of_raw: float
    reserve_of_logical: float
    minimum_free_pages: int
    alpha: float
    endurance_erases: int | None
    preconditioned: AgedFacts


class SsdRunFacts(TypedDict):
    """Everything a reader needs to repeat a run of write buffers on drives."""

    command: str
    version: str
    created: str
    seed: int
    options: Fields
    traces: list[TraceFacts]
    ssds: list[SsdFacts]
    buffers: list[PolicyFacts]


class PagedRunFacts(TypedDict):
    """Everything a reader needs to repeat a run of a real program; ``traces`` has its log, if kept.

    ``notes`` has the machine's settings and the basis of the numbers, a sentence each.
    """

    command: str
    version: str
    created: str
    seed: int
    options: Fields
    program: str
    exit_code: int
    seconds: float
    notes: list[str]
    traces: list[TraceFacts]
    devices: list[DeviceFacts]
    policies: list[PolicyFacts]


def equivalent_command(name: str, traces: Iterable[str], options: Mapping[str, object]) -> str:
    """Return the command line that does what a call of the library does.

    Args:
        name: The name of the command.
        traces: What it reads.
        options: Values by the names of parameters. An option that is ``None`` or ``False`` is left
            out, one that is ``True`` has no value, and a list gives its option once per item.
    """
    words = ["clockhand", name, *traces]
    for parameter, value in options.items():
        option = f"--{parameter.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            for item in value if isinstance(value, list) else [value]:
                words += [option, str(item)]
    return shell_line(words)


COMMAND_LINES = ("command", "program")
"""Facts with line breaks where a program on the command line has them."""


def printable(value: Value) -> Value:
    """Return ``value`` with control, direction and surrogate characters spelled out in every text.

    File names may hold any of them: a direction mark would let a name rewrite the line that it
    stands in, and a surrogate cannot be encoded as UTF-8. Mappings and lists are walked. Only
    command lines keep their line breaks.
    """
    result: Any = value
    if isinstance(value, str):
        result = "".join(_spelled_out(character) for character in value)
    elif isinstance(value, Mapping):
        result = {
            printable(key): printable_lines(item) if key in COMMAND_LINES else printable(item)
            for key, item in value.items()
        }
    elif isinstance(value, list | tuple):
        result = [printable(item) for item in value]
    return cast(Value, result)


def printable_lines(text: Value) -> Value:
    """Return a text as :func:`printable` does, with its line breaks; other values are as there."""
    if not isinstance(text, str):
        return printable(text)
    return cast(Value, "\n".join(printable(line) for line in text.split("\n")))


def _spelled_out(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cf", "Cs"):
        return character.encode("unicode_escape").decode("ascii")
    return character


def origin_of(labels: Iterable[Sequence[str]]) -> Origin:
    """Return what the labels of a trace, pairs of key and value, say about its origin."""
    pairs = [tuple(label) for label in labels]
    return {
        "synthetic": any(key == "synthetic" for key, _ in pairs),
        "stand_in": ("kind", "stand-in") in pairs,
    }


def synthetic_mark(origin: Origin) -> str:
    """Return what follows the name of a trace; nothing if it was captured."""
    if not origin["synthetic"]:
        return ""
    return "(synthetic stand-in)" if origin.get("stand_in") else "(synthetic)"


def trace_label(name: str, facts: Record | None) -> str:
    """Return the printable base name of a trace, with a mark where the facts call it synthetic.

    Raises:
        ValueError: there are facts, and they do not describe this trace.
    """
    shown = printable(name)
    if facts is None:
        return shown
    entries = [trace for trace in facts["traces"] if printable(trace["name"]) == shown]
    if not entries:
        raise ValueError(
            f"the rows name the trace {name!r}, which facts['traces'] does not describe: "
            "give each trace the same name in both"
        )
    # Several inputs may have one name: a stand-in among them is called one.
    mark = max((synthetic_mark(entry) for entry in entries), key=len)
    base = base_names([trace["name"] for trace in facts["traces"]])[entries[0]["name"]]
    return f"{printable(base)} {mark}" if mark else printable(base)


def base_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names of files without their folders, or with as few as tell them apart.

    Recipes and other names that are no files stay as they are.
    """
    # Behind the name of a file there may be settings in brackets.
    split = {name: name.partition(" (") for name in names}
    parts = {
        name: ([file] if _RECIPE.match(file) else file.split("/"), behind)
        for name, (file, _, behind) in split.items()
    }
    short: dict[str, str] = {}
    for name, (folders, behind) in parts.items():
        others = [it for it, its in parts.values() if it != folders and its == behind]
        kept = 1
        while kept < len(folders) and any(it[-kept:] == folders[-kept:] for it in others):
            kept += 1
        short[name] = ("/".join(folders[-kept:]) or split[name][0]) + "".join(split[name][1:])
    return short


_RECIPE = re.compile(r"[^/]*(:(?!/)|<)")


def provenance(title: str, facts: Record) -> list[str]:
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
    model, processors = platform.machine(), Path("/proc/cpuinfo")
    if processors.exists():
        for line in processors.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
