"""No command overwrites what it reads: outputs are compared with inputs, whatever their names."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clockhand.study.errors import UsageError
from clockhand.study.files import refuse_overwriting
from clockhand.study.records import Record

OUTPUTS = frozenset(
    {"out", "report", "plots", "html", "tables", "gauges", "figure", "record", "io_log"}
)
"""Parameters of commands that name what is written, files and folders."""

FOLDERS = frozenset({"plots", "tables", "dataset", "folder"})
"""Parameters that name folders, which are made if absent."""


def check_overwriting(given: Record) -> None:
    """Refuse a command whose outputs are among its inputs, or twice the same.

    Args:
        given: The command's parameters by name. All texts and paths in them count as inputs if
            there is such a file, also those that go on behind a colon with options.

    Raises:
        UsageError: an output is an input, or what another option writes.
    """
    given = dict(given)
    traces = given.get("traces")
    if "to" in given and isinstance(traces, list) and traces:  # trace convert TRACE... OUT
        *given["traces"], given["out"] = traces
    if given.get("old_out") is not None:  # trace synthesize RECIPE OUT
        given["out"] = given.pop("old_out")
    outputs: dict[str, Path] = {}
    for name, value in given.items():
        if name not in OUTPUTS | FOLDERS or value is None:
            continue
        if name not in FOLDERS:
            outputs[f"--{name.replace('_', '-')}"] = Path(value)
    inputs = [
        text for name, value in given.items() if name not in OUTPUTS for text in _texts(value)
    ]
    refuse_overwriting(outputs, inputs)


def refuse_empty_values(words: Sequence[str]) -> None:
    """Refuse options whose value is nothing, such as an unset variable of a script.

    Args:
        words: The command line without the command's name.

    Raises:
        UsageError: there is such an option.
    """
    has_program = list(words[:1]) == ["run"] or list(words[:2]) == ["trace", "capture"]
    if has_program and "--" not in words:
        return
    if "--" in words:
        words = words[: list(words).index("--")]
    for before, word in zip(["", *words], words, strict=False):
        option = before if word == "" else word.removesuffix("=")
        if option.startswith("--") and (word == "" or word == f"{option}="):
            raise UsageError(f"{option} has no value", "give one, or leave the option out")


def _texts(value: object) -> Iterator[str]:
    """Return the names of files that a value of an option may have in it."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, str | Path):
        text = str(value)
        yield text
        while ":" in text:
            text = text.rpartition(":")[0]
            yield text
