"""Where the ``clockhand`` command begins: signals, and what needs no more than names.

The libraries behind the command take half a second to load. A signal during this time ends the
command at once and with one sentence. The version and the completion of words do not need these
libraries.

Python looks for garbage each time that many objects have been made. Loading makes hundreds of
thousands, and none is garbage: collection waits until everything is loaded, and skips them all at
the end. That was a third of a short command's time.
"""

import gc
import os
import signal
import sys
from types import FrameType

from clockhand import completion

FAILED = 1
STANDARD_ERROR = 2
TO_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = b"clockhand: interrupted; nothing was written\n"
LEAST_DESCRIPTORS = 32
"""What a run under the pager takes, with a margin; below 14, libraries break without a message."""
TOO_FEW_DESCRIPTORS = b"clockhand: it takes %d descriptors and may have %d: raise `ulimit -n`\n"


def main() -> None:
    """Run the command and exit."""
    _handle(_end)
    _open_standard_error()
    gc.disable()
    if sys.argv[1:] == ["--version"] and not completion.is_asked():
        _print_version()
    if completion.is_asked():
        from clockhand.completion.stand_in import stand_in_for_libraries

        stand_in_for_libraries()
    elif 0 <= (descriptors := os.sysconf("SC_OPEN_MAX")) < LEAST_DESCRIPTORS:
        os.write(STANDARD_ERROR, TOO_FEW_DESCRIPTORS % (LEAST_DESCRIPTORS, descriptors))
        os._exit(FAILED)
    elif (code := _plain_answer()) is not None:
        _handle(signal.SIG_IGN)
        gc.freeze()
        sys.exit(code)
    from clockhand import command

    command.load(sys.argv[1:])
    gc.freeze()
    gc.enable()
    try:
        _handle(signal.default_int_handler)
        code = command.run()
    except KeyboardInterrupt:
        _handle(signal.SIG_IGN)
        code = command.interrupted()
    # Only the interpreter's own end is left; a signal would break it with a traceback.
    _handle(signal.SIG_IGN)
    gc.freeze()
    sys.exit(code)


def _plain_answer() -> int | None:
    """Answer plain words at once; the exit code, or ``None`` if the command has to answer."""
    from clockhand.start.plain import asked

    cell = asked(sys.argv[1:])
    if cell is None:
        return None
    try:
        _handle(signal.default_int_handler)
        code = cell.answer()
    except KeyboardInterrupt:
        _handle(signal.SIG_IGN)
        os.write(STANDARD_ERROR, INTERRUPTED)
        return FAILED
    _handle(_end)
    return code


def _handle(handler: object) -> None:
    """Handle what would end us, but for signals that our parent ignores, as nohup does."""
    for number in TO_END:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)  # type: ignore[arg-type]


def _open_standard_error() -> None:
    """Let messages go nowhere if standard error is closed, and not into the next file opened."""
    if sys.stderr is not None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != STANDARD_ERROR:
        os.dup2(nowhere, STANDARD_ERROR)
        os.close(nowhere)
    sys.stderr = os.fdopen(STANDARD_ERROR, "w", closefd=False)


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: nothing has been started that would have to be undone."""
    os.write(STANDARD_ERROR, INTERRUPTED)
    os._exit(FAILED)


def _print_version() -> None:
    from clockhand._engine import __version__

    try:
        print(f"clockhand {__version__}", flush=True)
    except (OSError, AttributeError):
        os._exit(FAILED)
    sys.exit(0)
