"""``simulate`` of one policy on one file as JSON or CSV, without the libraries of the command.

To load these takes longer than to replay a small trace. The words of a command are either plain,
which is little more than names and numbers, or they are left to the command. So are errors, which
it finds again and tells.
"""

import os
import sys
import time
from io import BytesIO

from clockhand import _engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

COMMAND = "simulate"
FLAGS = ("--assume-reads",)
VALUES = ("--policy", "--frames", "--device", "--page-size", "--trace-format", "--format")
WRITERS = {"json": _engine.write_json, "csv": _engine.write_csv}
PATTERN = frozenset("*?[")
TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which Rich takes anything for a terminal, and shows a bar."""

PROJECT = "clockhand.toml"
LINES_AFTER_SECONDS = 9
"""Progress is told in lines from the tenth second on."""


class PlainCell:
    """What plain words ask for.

    Attributes:
        file: The trace.
        reading: How it is read, as the engine takes it.
        options: The options of the study, as the engine takes them.
        write: Writes a table in the format that is asked for.
    """

    def __init__(self, file: str, given: "dict[str, Any]") -> None:
        self.file = file
        self.write = WRITERS[given.pop("--format")]
        declared = _engine.options()
        self.reading = _options(declared["reading"], given)
        self.options = _options(declared["pages"], given)
        self._began = time.monotonic()
        self._told: Callable[[str, int, int], None] | None = None

    def answer(self) -> int | None:
        """Run the cell and print its row; the exit code, or ``None`` if the command has to."""
        try:
            source = _engine.TraceSource.file(self.file, self.reading).without_digest()
            result = _engine.run("pages", [source], self.options, jobs=None, watch=self._watch)
            trace, table = result["traces"][0], BytesIO()
            kinds = {column["name"]: column["kind"] for column in _engine.columns()["pages"]}
            rows = result["rows"]
            part = {name: [row[name] for row in rows] for name in kinds}
            self.write(table, list(kinds.items()), [part])
            notes = "".join(f"{self.file}: {note}\n" for note in trace["notes"])
            if trace["skipped_records"] or trace["zero_size_requests"] or not _is_shown(notes):
                return None
            sys.stderr.write(notes)
            sys.stdout.buffer.write(table.getvalue())
            sys.stdout.buffer.flush()
        except Exception:
            return None
        return 0

    def _watch(self, phase: str, done: int, total: int) -> None:
        if self._told is None:
            if time.monotonic() - self._began < LINES_AFTER_SECONDS:
                return
            from clockhand.command.progress import told_in_lines

            self._told = told_in_lines()
        self._told(phase, done, total)


def asked(words: list[str]) -> PlainCell | None:
    """Return what plain words ask for; ``None`` if the command is needed to say it."""
    if words[:1] != [COMMAND] or not sys.stdout or not sys.stderr or sys.stderr.isatty():
        return None
    if any(map(os.environ.get, TERMINAL)) or os.path.exists(PROJECT):
        return None
    files: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(words[1:])
    for word in rest:
        name, _, value = word.partition("=")
        if word in FLAGS:
            given[word] = True
        elif name in VALUES and name not in given:
            value = value or next(rest, "")
            if not _is_name(value):
                return None
            given[name] = value
        elif word.startswith("-"):
            return None
        else:
            files.append(word)
    if len(files) != 1 or given.get("--format") not in WRITERS or not _is_known(given):
        return None
    (file,) = files
    is_plain = os.path.isfile(file) and _is_shown(file) and not PATTERN & set(file)
    return PlainCell(file, given) if is_plain and "://" not in file else None


def _is_name(text: str) -> bool:
    """Tell whether it is a number or a name without anything behind it, and no file."""
    return text.isascii() and text.replace("-", "").isalnum() and not os.path.exists(text)


def _is_known(given: "dict[str, Any]") -> bool:
    """Tell whether a policy has the name, and a memory the size, that are given."""
    policies = {entry["name"] for entry in _engine.policies()}
    return given.get("--policy") in policies and given.get("--frames", "").isdigit()


def _is_shown(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def _options(declared: "list[dict[str, Any]]", given: "dict[str, Any]") -> "dict[str, Any]":
    """Return options as the engine takes them, with defaults for what is not given."""
    options: dict[str, Any] = {}
    for option in declared:
        name, kind, default = option["name"], option["kind"], option["default"]
        value = given.get(f"--{name.replace('_', '-')}", default)
        if kind == "flag":
            value = bool(value)
        elif kind == "whole" and value is not None:
            value = int(value)
        options[name] = [value] if kind == "names" else value
    return options
