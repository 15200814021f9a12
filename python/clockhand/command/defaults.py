"""Options that a project's ``clockhand.toml`` gives, in the folder where the command runs."""

from collections.abc import Collection, Sequence
from pathlib import Path

from clockhand.command.saying import say
from clockhand.study.errors import UsageError
from clockhand.study.records import Fields

FILE = "clockhand.toml"
INSTEAD = {"memory": ("frames",), "frames": ("memory",), "fast": ("fast_frames",)}
"""Options that mean the same in another way: what is given there replaces a default."""


def with_defaults(words: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return the words of a command line, with the options that the project gives.

    A table of the file has the name of a command, and its keys those of options; what stands on
    the command line counts.

    Args:
        words: The command line without the command's name.
        commands: The names of the commands that take options.

    Raises:
        UsageError: the file is no TOML, or names a command that there is not.
    """
    file = Path(FILE)
    if not words or words[0] not in commands or not file.is_file():
        return list(words)
    given = {word.partition("=")[0] for word in words}
    added: list[str] = []
    for key, value in _tables(file, commands).get(words[0], {}).items():
        if not any(_flag(name) in given for name in (key, *INSTEAD.get(key, ()))):
            added += _options(_flag(key), value)
    if not added or given & {"--help", "-h"}:
        return list(words)
    if "--quiet" not in given:
        say(f"{FILE}: {' '.join(added)}")
    # Behind a program that is run, they would be the program's.
    return [words[0], *added, *words[1:]]


def _tables(file: Path, commands: Collection[str]) -> dict[str, Fields]:
    import tomllib

    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{FILE} is no TOML: {error}", "correct it there") from None
    for name, table in tables.items():
        if name not in commands or not isinstance(table, dict):
            raise UsageError(
                f"{FILE}: {name!r} is no command", "write a table for each, such as [simulate]"
            )
    return tables


def _options(flag: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [flag] if value else []
    return [
        it for one in (value if isinstance(value, list) else [value]) for it in (flag, str(one))
    ]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
