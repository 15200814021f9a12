"""``simulate`` as JSON or CSV in plain words, without the libraries of the command.

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
VALUES = ("--device", "--page-size", "--trace-format", "--format")
SIZES = ("--frames", "--memory")
POLICY = "--policy"
JOBS = "--jobs"
WRITERS = {"json": _engine.write_json, "csv": _engine.write_csv}
PATTERN = frozenset("*?[")
TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which Rich takes anything for a terminal, and shows a bar."""

PROJECT = "clockhand.toml"
LINES_AFTER_SECONDS = 9
"""Progress is told in lines from the tenth second on."""


class PlainRun:
    """What plain words ask for.

    Attributes:
        files: The traces.
        reading: How they are read, as the engine takes it.
        options: The options of the study, as the engine takes them.
        jobs: Threads; all cores if ``None``.
        write: Writes a table in the format that is asked for.
    """

    def __init__(self, files: list[str], given: "dict[str, Any]") -> None:
        self.files = files
        jobs = given.pop(JOBS, None)
        self.jobs = None if jobs is None else int(jobs)
        self.write = WRITERS[given.pop("--format")]
        declared = _engine.options()
        self.reading = _options(declared["reading"], given)
        self.options = _options(declared["pages"], given)
        self._began = time.monotonic()
        self._told: Callable[[str, int, int], None] | None = None

    def answer(self) -> int | None:
        """Run the cells and print their rows; the exit code, or ``None`` if the command has to."""
        try:
            files = (_engine.TraceSource.file(file, self.reading) for file in self.files)
            sources = [file.without_digest() for file in files]
            result = _engine.run("pages", sources, self.options, jobs=self.jobs, watch=self._watch)
            traces, table = result["traces"], BytesIO()
            kinds = {column["name"]: column["kind"] for column in _engine.columns()["pages"]}
            rows = result["rows"]
            part = {name: [row[name] for row in rows] for name in kinds}
            self.write(table, list(kinds.items()), [part])
            told = zip(self.files, traces, strict=True)
            notes = "".join(f"{file}: {note}\n" for file, trace in told for note in _notes(trace))
            if not _is_shown(notes):
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


def asked(words: list[str]) -> PlainRun | None:
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
        elif name in (*VALUES, *SIZES, POLICY, JOBS) and (name == POLICY or name not in given):
            value = value or next(rest, "")
            if not _is_plain(name, value):
                return None
            given[name] = [*given.get(name, []), value] if name == POLICY else value
        elif word.startswith("-"):
            return None
        else:
            files.append(word)
    are_sizes_given = any(name in given for name in SIZES)
    if not are_sizes_given or POLICY not in given or given.get("--format") not in WRITERS:
        return None
    if not {*given[POLICY]} <= {entry["name"] for entry in _engine.policies()}:
        return None
    if not files or not all(map(_is_file, files)) or len(set(files)) < len(files):
        return None
    return PlainRun(files, given)


def _is_plain(name: str, value: str) -> bool:
    """Tell whether a value is a number or a name with nothing behind it, or a list of sizes."""
    if name == JOBS and not (value.isascii() and value.isdigit() and 0 < int(value) < 1000):
        return False
    signs = ",%" if name in SIZES else "-"
    bare = "".join(letter for letter in value if letter not in signs)
    return bare.isascii() and bare.isalnum() and not os.path.exists(value)


def _notes(trace: "dict[str, Any]") -> "list[str]":
    """Return what the reader of a trace says; libraries are loaded if it has skipped something."""
    if not trace["skipped_records"] and not trace["zero_size_requests"]:
        return list(trace["notes"])
    from clockhand.traces.reading import reading_notes

    return reading_notes(trace)


def _is_file(name: str) -> bool:
    is_plain = _is_shown(name) and not PATTERN & set(name) and "://" not in name
    return is_plain and os.path.isfile(name)


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
        options[name] = [value] if kind == "names" and not isinstance(value, list) else value
    return options
