"""The ``clockhand`` command.

It holds no logic that the library lacks: each module reads options, calls the library and prints.
Exit codes: 0 done, 1 failed, 2 wrong usage. An error is one sentence on standard error.
"""

import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer
from typer.exceptions import TyperException

from clockhand import completion
from clockhand._engine import STUDIES, __version__
from clockhand.command.defaults import with_defaults
from clockhand.command.help import laid_out
from clockhand.command.overwriting import check_overwriting, refuse_empty_values
from clockhand.command.saying import be_quiet, tell
from clockhand.command.tables import show_all_columns
from clockhand.completion.shells import install_for_named_shell
from clockhand.study.errors import ClockhandError, UsageError
from clockhand.study.own_policies import raised_by
from clockhand.study.phrases import all_of

if TYPE_CHECKING:
    from typer._click import Command, Parameter

FILES = {
    **{study: (command,) for study, command in STUDIES},
    "serve": ("serve",),
    "measure": ("measure",),
    "recommendation": ("recommend",),
    "sweeps": ("sweep", "report"),
    "reproduction": ("reproduce",),
    "watch": ("watch",),
    "explore": ("explore",),
    "programs": ("run",),
    "own_policies": ("check-policy", "new-policy"),
    "catalogs": ("policies", "devices", "formats"),
    "traces": ("trace",),
    "manual": ("man",),
}
"""The files of this folder that register commands, and the names of these commands."""

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
"""Typer's exit code after Ctrl-C."""

REMEDY = "choose another place"
REMEDIES = {
    errno.EFBIG: "raise `ulimit -f`",
    errno.EISDIR: "name a file in it",
    errno.EMFILE: "raise `ulimit -n`",
    errno.ENOENT: "make its folder first",
    errno.ENOSPC: "make room or choose another place",
    errno.ENOTDIR: "name a folder",
}


PLAIN_WORDS = {
    "is not a valid int": "is not a whole number",
    "is not a valid float": "is not a number",
}
"""What the library of options says, and what people say."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clockhand {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_print_version, is_eager=True
    ),
) -> None:
    pass


def app(words: Sequence[str] = ()) -> typer.Typer:
    """Return the command, with everything below it or with what the words need.

    Args:
        words: The command line without the command's name. If it begins with the name of a command,
            no other is loaded.
    """
    whole = typer.Typer(
        name="clockhand",
        help="Measure, compare and run memory-replacement policies where a write costs more than a "
        "read.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    whole.callback()(_options)
    for file in load(words):
        file.register(whole)
    return whole


def whole_command(words: Sequence[str] = ()) -> "Command":
    """Return the command as it runs, with --quiet and --wide everywhere and help by subject."""
    command = typer.main.get_command(app(words))
    _checked(command)
    laid_out(command)
    return command


def load(words: Sequence[str] = ()) -> list[ModuleType]:
    """Import the files whose commands the words need, all if they name none.

    A shell that completes words needs the commands that begin as its word does.
    """
    if completion.is_asked():
        begun = completion.begun_command()
        names = {name for names in FILES.values() for name in names if name.startswith(begun)}
    else:
        names = set(words[:1])
    named = [file for file, commands in FILES.items() if names.intersection(commands)]
    return [import_module(f"{__name__}.{name}") for name in named or FILES]


TAKING_DEFAULTS = {name for names in FILES.values() for name in names} - {"trace", "man"}
"""The commands that take options from a project's file."""


def run() -> int:
    """Run the command; the exit code."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return _fail("standard output is closed; open it or send it to a file", FAILED)
    # A terminal or a file that knows few characters is no reason to fail.
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        words = sys.argv[1:]
        if install_for_named_shell(words):
            return 0
        refuse_empty_values(words)
        whole = whole_command(words)
        sys.argv[1:] = with_defaults(words, TAKING_DEFAULTS)
        code = whole(standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        return _wrong_usage(error)
    except UsageError as error:
        return _fail(error.in_command(), WRONG_USAGE)
    except UnicodeEncodeError as error:
        return _fail(f"{error.object!r} is not UTF-8 text; give a name that is", WRONG_USAGE)
    except ClockhandError as error:
        return _fail(error.in_command(), FAILED)
    except ValueError as error:
        return _fail(str(error), FAILED)
    except BrokenPipeError:
        # The reader of our output has gone, so there is no one to tell.
        _forget_output()
        return FAILED
    except OSError as error:
        if error.filename is None:
            _forget_output()
        return _fail(_about_writing(error), FAILED)
    except MemoryError:
        return _fail("there is not enough memory; give a smaller trace or --limit", FAILED)
    except KeyboardInterrupt:
        return interrupted()
    if code == INTERRUPTED:
        return interrupted()
    return code if isinstance(code, int) else 0


def interrupted() -> int:
    """Say that a signal ended the command; the exit code."""
    return _fail("interrupted; nothing was written", FAILED)


def _show_policy_failure(error: Exception) -> None:
    """End the command if the code of a user's own policy raised this: show it, from there on."""
    raised = raised_by(error)
    if raised is None:
        return
    policy, own_code = raised
    for line in "".join(traceback.format_exception(type(error), error, own_code)).splitlines():
        tell(line)
    raise typer.Exit(_fail(f"policy {policy} failed as is shown above; correct it there", FAILED))


QUIET = "quiet"
WIDE = "wide"


def _common_options() -> "list[Parameter]":
    """Return the options that every command has, as Typer makes them of a function's parameters."""
    alone = typer.Typer(add_completion=False)

    @alone.command()
    def _(
        quiet: bool = typer.Option(
            False, f"--{QUIET}", help="Print results and errors alone: no progress, no notes."
        ),
        wide: bool = typer.Option(
            False, f"--{WIDE}", help="Print all columns of tables, however narrow the terminal is."
        ),
    ) -> None:
        pass

    made = typer.main.get_command(alone).params
    return [option for option in made if option.name in (QUIET, WIDE)]


def _checked(command: Any) -> None:
    """Have every command below take --quiet and --wide, and refuse outputs that are its inputs."""
    for below in getattr(command, "commands", {}).values():
        _checked(below)
    callback = command.callback
    if callback is not None and not getattr(command, "commands", None):
        command.params.extend(_common_options())

        def checked(**given: Any) -> object:
            be_quiet(given.pop(QUIET))
            show_all_columns(given.pop(WIDE))
            check_overwriting(given)
            try:
                return callback(**given)
            except Exception as error:
                _show_policy_failure(error)
                raise

        command.callback = wraps(callback)(checked)


MEMORY = ("--memory", "--frames")
"""Options of which one is required."""


def _wrong_usage(error: TyperException) -> int:
    """Say what was wrong with the words of the command, and where to look."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if context is not None and message == context.get_help():
        typer.echo(message, err=True)
        return error.exit_code
    reason = " ".join(message.split()).replace("Value error, ", "").removesuffix(".")
    for words, plain in PLAIN_WORDS.items():
        reason = reason.replace(words, plain)
    missing = [] if context is None else _missing(error, context.command.params)
    if len(missing) > 1:
        reason = f"Missing options {all_of(repr(option) for option in missing)}"
    command = "clockhand" if context is None else context.command_path
    return _fail(f"{reason} (see: {command} --help)", error.exit_code)


def _missing(error: TyperException, params: "Sequence[Parameter]") -> list[str]:
    """Return all required options that are not given, if one of them is what is wrong."""
    if getattr(error, "param", None) is None or "Missing option" not in error.format_message():
        return []
    words = {word.partition("=")[0] for word in sys.argv[1:]}
    names = {name for param in params for name in param.opts}
    either = [MEMORY] if set(MEMORY) <= names and not words & set(MEMORY) else []
    return [
        str(param.opts[0])
        for param in params
        if param.required and param.param_type_name == "option" and not words & set(param.opts)
    ] + [" or ".join(options) for options in either]


def _about_writing(error: OSError) -> str:
    place = error.filename or "standard output"
    reason = error.strerror or str(error)
    remedy = REMEDIES.get(error.errno or 0, REMEDY)
    return f"{place}: nothing was written there ({reason}); {remedy}"


def _forget_output() -> None:
    """Drop what standard output did not take; the interpreter would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str, code: int) -> int:
    tell(f"clockhand: {sentence}")
    return code
