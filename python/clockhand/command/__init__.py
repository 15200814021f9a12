"""The ``clockhand`` command.

It holds no logic that the library lacks: each module reads options, calls the library and prints.
Exit codes: 0 done, 1 failed, 2 wrong usage. An error is one sentence on standard error.
"""

import os
import sys

import typer
from typer.exceptions import TyperException

from clockhand._engine import ClockhandError, UsageError, __version__
from clockhand.command import catalogs, simulation, traces

FAILED = 1
WRONG_USAGE = 2

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


simulation.register(app)
catalogs.register(app)
traces.register(app)


def main() -> None:
    """Run the command and exit."""
    sys.exit(_run())


def _run() -> int:
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        return _say(error.format_message(), error.exit_code)
    except UsageError as error:
        return _say(str(error), WRONG_USAGE)
    except (ClockhandError, ValueError) as error:
        return _say(str(error), FAILED)
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        reason = error.strerror or str(error)
        return _say(f"{place}{reason}; nothing was written there, make room or choose another "
                    "place", FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted; nothing was written", FAILED)
    return code if isinstance(code, int) else 0


def _say(sentence: str, code: int) -> int:
    typer.echo(f"clockhand: {' '.join(sentence.split())}", err=True)
    return code
