"""Layout of help: commands and options by subject, whole summaries, and an example each."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clockhand._engine import STUDIES
from clockhand.command.reading import OPTIONS as READING_OPTIONS

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

WHICH_POLICY = ("simulate", "recommend", "watch", "explore", "pagecache")
SUBJECTS = {
    "Which policy": WHICH_POLICY,
    "Drives, tiers, file caches, translation, locality": tuple(
        command for _, command in STUDIES if command not in WHICH_POLICY
    ),
    "Experiments and papers": ("sweep", "report", "reproduce"),
    "Real programs, disks and machines": ("run", "serve", "measure"),
    "Policies of your own": ("check-policy", "new-policy"),
    "Traces, and what there is": ("trace", "formats", "policies", "devices", "man"),
}
"""The commands by what people come for."""

OUTPUT = (
    "format",
    "out",
    "report",
    "plots",
    "theme",
    "tables",
    "tables_as",
    "figure",
    "gauges",
    "io_log",
    "highlight",
    "html",
    "folder",
    "quiet",
    "wide",
)
"""The options about what is written and where."""

OWN = "Options"
WRITTEN = "What is written"
READ = "How traces are read"
OTHER = "Other"


def laid_out(command: Any, words: Sequence[str] = ()) -> None:
    """Have a command and all below it print help by subject, and its epilog as an example.

    Args:
        command: What Typer has made.
        words: How it is called, after the name of the executable.
    """
    below = getattr(command, "commands", {})
    for name, one in below.items():
        laid_out(one, (*words, name))

    def format_options(context: "Context", formatter: "HelpFormatter") -> None:
        for title, records in sections(command, context):
            with formatter.section(title):
                formatter.write_dl(records)
        if below:
            _write_commands(below, words, formatter)
        elif command.epilog:
            with formatter.section("Example"):
                formatter.write(f"  $ clockhand {command.epilog}\n")

    command.format_options = format_options
    command.format_epilog = lambda *_: None


def sections(command: "Command", context: "Context") -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Return titles with arguments and options: how each is written, and what it means."""
    grouped: dict[str, list[tuple[str, str]]] = {
        "Arguments": [], OWN: [], WRITTEN: [], READ: [], OTHER: []
    }  # fmt: skip
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        if parameter.param_type_name == "argument":
            title = "Arguments"
        elif parameter.name in READING_OPTIONS:
            title = READ
        elif parameter.name in OUTPUT:
            title = WRITTEN
        elif parameter.name in ("jobs", "help") and not hasattr(command, "commands"):
            title = OTHER
        else:
            title = OWN
        grouped[title].append(record)
    for title, records in grouped.items():
        if records:
            yield title, records


def summary(command: "Command") -> str:
    """Return what a command does, in its first sentence."""
    text: str = inspect.cleandoc(command.help or "").partition("\n\n")[0]
    return " ".join(text.split()).removesuffix(".")


def _write_commands(
    below: "Mapping[str, Command]", words: Sequence[str], formatter: "HelpFormatter"
) -> None:
    """Write commands by subject with whole summaries; an example of the first of each subject."""
    listed = {name for names in SUBJECTS.values() for name in names}
    others = tuple(name for name in below if name not in listed)
    subjects = {"Commands": tuple(below)} if words else {**SUBJECTS, "Others": others}
    for title, names in subjects.items():
        known = [name for name in names if name in below]
        if not known:
            continue
        with formatter.section(title):
            formatter.write_dl([(name, summary(below[name])) for name in known])
        example = below[known[0]].epilog
        if example:
            formatter.write(f"\n  $ clockhand {example}\n")
