"""Writes calls on files of three programs at once, for a memory that one of them would not fill.

    .venv/bin/python traces/shared.py FOLDER

Neighbours among the programs of the CFLRU paper's Table 2, and among the applications of its
section 6 (`traces/files`), take turns of 100 calls. One program alone seldom fills 16 MiB with
files; of three at once all do. ``clockhand reproduce cflru --traces FOLDER`` takes the traces
along.
"""

import sys
from pathlib import Path

from clockhand import Trace, convert_traces

FILES = Path(__file__).with_name("files")
PROGRAMS = ("pictures", "document", "sheet", "pdf", "browser")
APPLICATIONS = ("gcc", "tar", "diff", "encoding", "postmark")
AT_ONCE = 3
"""Programs: the fewest with which each of the five sets fills 16 MiB."""

TURN = 100
"""Calls of a program before the next one's."""


def main(folder: Path) -> None:
    """Write a trace for each program with its neighbours, called as the first of them."""
    for names in (PROGRAMS, APPLICATIONS):
        for first, name in enumerate(names):
            chosen = [names[(first + it) % len(names)] for it in range(AT_ONCE)]
            files = [FILES / f"{it}.parquet" for it in chosen]
            together = Trace.joined(files, order=f"turns:{TURN}", watch=False)
            convert_traces(together, folder / f"shared-{name}.parquet", watch=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
