"""The ``clockhand`` command.

It holds no logic that the library lacks: each module reads options, calls the library and prints.
Exit codes: 0 done, 1 failed, 2 wrong usage. An error is one sentence on standard error.
"""

import errno
import io
import os
import sys
from functools import wraps
from typing import Any

import typer
from typer.exceptions import TyperException

from clockhand._engine import ClockhandError, UsageError, __version__
from clockhand.command import (
    catalogs,
    filecache,
    locality,
    measure,
    pagecache,
    pages,
    programs,
    recommendation,
    reproduction,
    ssd,
    sweeps,
    traces,
    translation,
    watch,
)
from clockhand.command.output import say
from clockhand.command.overwriting import check_overwriting, refuse_empty_values
from clockhand.command.shells import install_for_named_shell

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
"""What Typer gives after Ctrl-C."""

REMEDY = "choose another place"
REMEDIES = {
    errno.EFBIG: "raise `ulimit -f`",
    errno.EISDIR: "name a file in it",
    errno.EMFILE: "raise `ulimit -n`",
    errno.ENOENT: "make its folder first",
    errno.ENOSPC: "make room or choose another place",
    errno.ENOTDIR: "name a folder",
}

app = typer.Typer(
    name="clockhand",
    help="Measure, compare and run memory-replacement policies where a write costs more than a "
    "read.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clockhand {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_print_version, is_eager=True
    ),
) -> None:
    pass


pages.register(app)
pagecache.register(app)
ssd.register(app)
translation.register(app)
filecache.register(app)
measure.register(app)
recommendation.register(app)
sweeps.register(app)
reproduction.register(app)
locality.register(app)
watch.register(app)
programs.register(app)
catalogs.register(app)
traces.register(app)


def run() -> int:
    """Run the command; the exit code."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return _fail("standard output is closed; open it or send it to a file", FAILED)
    # A terminal or a file that knows few characters is no reason to fail.
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        if install_for_named_shell(sys.argv[1:]):
            return 0
        refuse_empty_values(sys.argv[1:])
        code = _checked(typer.main.get_command(app))(standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        return _wrong_usage(error)
    except UsageError as error:
        return _fail(str(error), WRONG_USAGE)
    except UnicodeEncodeError as error:
        return _fail(f"{error.object!r} is not UTF-8 text; give a name that is", WRONG_USAGE)
    except (ClockhandError, ValueError) as error:
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


def _checked(command: Any) -> Any:
    """Have every command below refuse outputs that are its inputs, before it does anything."""
    for below in getattr(command, "commands", {}).values():
        _checked(below)
    callback = command.callback
    if callback is not None and not getattr(command, "commands", None):

        def checked(**given: Any) -> Any:
            check_overwriting(given)
            return callback(**given)

        command.callback = wraps(callback)(checked)
    return command


def _wrong_usage(error: TyperException) -> int:
    """Say what was wrong with the words of the command, and where to look."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if context is not None and message == context.get_help():
        typer.echo(message, err=True)
        return error.exit_code
    reason = " ".join(message.split()).replace("Value error, ", "").removesuffix(".")
    command = "clockhand" if context is None else context.command_path
    return _fail(f"{reason} (see: {command} --help)", error.exit_code)


def _about_writing(error: OSError) -> str:
    place = error.filename or "standard output"
    reason = error.strerror or str(error)
    remedy = REMEDIES.get(error.errno or 0, REMEDY)
    return f"{place}: nothing was written there ({reason}); {remedy}"


def _forget_output() -> None:
    """Drop what standard output did not take; the interpreter would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str, code: int) -> int:
    say(f"clockhand: {sentence}")
    return code
