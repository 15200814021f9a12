"""The process that follows a program's calls on files; ``python -m clockhand.capture.following``.

It is a process of its own because a tracer waits for whatever it has started, and because it stays
behind with programs that outlive the command.
"""

import json
import os
import signal
import sys
from contextlib import suppress

from clockhand import _engine

CANNOT_RUN = 127
"""The exit code of a program that cannot be run, as of shells."""


def main() -> None:
    """Follow a command; arguments are the log, a descriptor for the news, the source of its calls
    (``stopped``: the kernel stops it; ``told``: its tool reports them), and the command.

    The news are lines of JSON about processes, the last of them ``{"done": true}``.
    """
    log, news, calls, *command = sys.argv[1:]
    tells = calls == "told"
    os.set_inheritable(int(news), False)
    child = os.fork()
    if child == 0:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        reason = _engine.become_followed(command, tells)
        os.write(2, f"{command[0]}: it cannot be run ({reason})\n".encode())
        os._exit(CANNOT_RUN)
    # The program gets these signals itself, and what outlives it needs the tracer.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    try:
        _engine.follow(child, tells, log, f"/dev/fd/{news}")
    except OSError as error:
        # Until it is followed it has stopped itself, and it would stay so.
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.write(int(news), json.dumps({"error": str(error)}).encode() + b"\n")


if __name__ == "__main__":
    main()
