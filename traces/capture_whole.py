"""Capture whole sessions behind one small filter: all of them, or those that are named.

    .venv/bin/python traces/capture_whole.py [NAME...]

A session of larger.py becomes `whole/NAME.parquet`, from its cold start to its end, which is too
large to commit. Of those that are not among the committed traces a part is kept as
`larger/NAME.parquet`. A session whose program is not on this machine is named and left out.
"""

import shutil
import sys
from pathlib import Path

from capture import TRACES, run_session, take_middle
from captured import capture_named
from larger import LARGER, whole_sessions
from sessions import Session

import clockhand

SMALL_CACHE = ["--second-cache", "256KiB", "--second-ways", "8"]
"""Behind the first level of the CRAW study, the same for all sessions."""
PART = 300_000
"""Records that are kept of a session of larger.py."""


def capture(session: Session) -> None:
    """Run one session and keep all of its trace.

    Raises:
        SessionError: the program did not do what its session asked for.
    """
    run_session(session, SMALL_CACHE, keep_whole)


def keep_whole(session: Session, folder: Path) -> None:
    """Put a trace into `whole`, and a part of a larger session into `larger`."""
    name = f"{session.name}.parquet"
    (TRACES / "whole").mkdir(exist_ok=True)
    shutil.move(folder / name, TRACES / "whole" / name)
    if session in LARGER:
        keep_part(name)


def keep_part(name: str) -> None:
    """Put a part of a whole trace into `larger`."""
    whole = TRACES / "whole" / name
    records = clockhand.Trace(whole).info()["records"]
    (TRACES / "larger").mkdir(exist_ok=True)
    take_middle(whole, records, PART, TRACES / "larger" / name)


if __name__ == "__main__":
    sys.exit(capture_named(whole_sessions(), capture))
