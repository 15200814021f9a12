"""Manual pages, one for each command, written from what the command declares.

``clockhand man`` prints one; ``python -m clockhand.command.man FOLDER`` writes all of them.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from clockhand._engine import __version__
from clockhand.command import whole_command
from clockhand.command.help import sections, summary
from clockhand.study.files import publish

if TYPE_CHECKING:
    from typer._click import Command

SECTION = 1
EXIT_CODES = (("0", "done"), ("1", "failed"), ("2", "wrong usage"))


def pages() -> dict[str, str]:
    """Return the manual page of each command by the name of its file."""
    return {f"{'-'.join(words)}.{SECTION}": _page(command, words) for words, command in _walk()}


def _walk() -> "Iterator[tuple[tuple[str, ...], Command]]":
    def below(
        command: "Command", words: tuple[str, ...]
    ) -> "Iterator[tuple[tuple[str, ...], Command]]":
        yield words, command
        for name, one in getattr(command, "commands", {}).items():
            yield from below(one, (*words, name))

    yield from below(whole_command(), ("clockhand",))


def _page(command: "Command", words: tuple[str, ...]) -> str:
    context = command.context_class(command, info_name=" ".join(words))
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{"-".join(words).upper()}" "{SECTION}" "" "clockhand {__version__}" "Clockhand"',
        ".SH NAME",
        f"{_text('-'.join(words))} \\- {_text(summary(command))}",
        ".SH SYNOPSIS",
        f".B {_text(' '.join(words))}",
        _text(usage),
        ".SH DESCRIPTION",
        *(_text(" ".join(part.split())) + "\n" for part in (command.help or "").split("\n\n")),
    ]
    for title, records in sections(command, context):
        lines += [f'.SH "{title.upper()}"', *_list(records)]
    commands = getattr(command, "commands", {})
    if commands:
        lines += [".SH COMMANDS", *_list((name, summary(one)) for name, one in commands.items())]
    if command.epilog:
        lines += [".SH EXAMPLE", ".nf", f"clockhand {_text(command.epilog)}", ".fi"]
    lines += [".SH EXIT STATUS", *_list(EXIT_CODES)]
    others = [words[:-1]] if len(words) > 1 else []
    others += [(*words, name) for name in commands]
    links = (f"\\fB{_text('-'.join(other))}\\fR({SECTION})" for other in others)
    lines += [".SH SEE ALSO", ", ".join(links)]
    return "\n".join(lines) + "\n"


def _list(records: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, meaning in records:
        yield ".TP"
        yield f"\\fB{_text(term)}\\fR"
        yield _text(" ".join(meaning.split()))


def _text(text: str) -> str:
    """Return text that roff prints as it is: hyphens to copy, no requests at the start of lines."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def write(folder: Path) -> None:
    """Write all pages into a folder, which is made if absent."""
    publish({folder / name: page.encode() for name, page in pages().items()}, folder)


def main(words: list[str]) -> int:
    """Write all pages into the folder that is named; the exit code."""
    if len(words) != 1:
        print("usage: python -m clockhand.command.man FOLDER", file=sys.stderr)
        return 2
    write(Path(words[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
