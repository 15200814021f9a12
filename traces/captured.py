"""What the scripts share that capture committed traces: a command line that names sessions."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeVar

from desktop import SessionError

import clockhand

CLOCKHAND = Path(sys.executable).parent / "clockhand"
FAILURES = (SessionError, OSError, clockhand.ClockhandError, subprocess.SubprocessError)
"""What may become of a session on some machine; others are captured nevertheless."""


class Named(Protocol):
    """A session has a name, which its trace will have."""

    @property
    def name(self) -> str: ...


Session = TypeVar("Session", bound=Named)


def capture_named(sessions: Iterable[Session], capture: Callable[[Session], None]) -> int:
    """Capture the sessions that the command line names, or all of them.

    Returns:
        The exit code: 2 if there is no such session, 1 if one failed, whose traces are left as
        they were. What is not installed is no failure.
    """
    known = {session.name: session for session in sessions}
    wanted = sys.argv[1:] or list(known)
    if unknown := [name for name in wanted if name not in known]:
        print(f"there is no session {unknown[0]}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed = 0
    for name in wanted:
        print(name, flush=True)
        try:
            capture(known[name])
        except FileNotFoundError as error:
            print(
                f"  {error.filename} is not installed; {name} was left as it was", file=sys.stderr
            )
        except FAILURES as error:
            print(f"  {name}: {error}; its traces were left as they were", file=sys.stderr)
            failed = 1
    return failed
