"""Write what the mobile stand-ins are into the tables of MANIFEST.md; `make traces` runs it.

    .venv/bin/python traces/mobile/manifest.py [--check]

Every figure is read from the traces; whole sessions that are not on this machine keep their rows.
With `--check` nothing is written.
"""

import sys
from pathlib import Path

from capture import SESSIONS, Session

import clockhand

HERE = Path(__file__).parent
MANIFEST = HERE / "MANIFEST.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


def tables() -> str:
    """The two tables: what was done, and what came of it."""
    done = ["| trace | stands for | what it does |", "|---|---|---|"]
    done += [
        f"| `{session.name}.parquet` | {session.stands_for} | {session.does} |"
        for session in SESSIONS
    ]
    came = [
        "| trace | records | I, R, A, W | footprint | references, `paper` | processes | SHA-256 |",
        "|---|---|---|---|---|---|---|",
    ]
    came += [
        row
        for session in SESSIONS
        for file in (f"{session.name}.parquet", f"whole/{session.name}.parquet")
        for row in _came(session, file)
    ]
    return "\n".join([*done, "", *came])


def _came(session: Session, file: str) -> list[str]:
    if not (HERE / file).exists():
        # Whole sessions are not committed: the row of the capture that was made last stays.
        return [
            line for line in MANIFEST.read_text().splitlines() if line.startswith(f"| `{file}`")
        ]
    info = clockhand.Trace(HERE / file).info()
    classes = ", ".join(f"{count:,}" for count in info["classes"].values())
    footprint_mib = info["footprint_pages"] * info["page_bytes"] / 2**20
    window = dict(info["labels"])["window"]
    return [
        f"| `{file}` | {window} | {classes} | {footprint_mib:.1f} MiB | {info['references']:,} "
        f"| {info['streams']} | {info['sha256']} |"
    ]


def manifest() -> str:
    """What MANIFEST.md should be: the tables between its two marks, and the rest as it is."""
    before, _, rest = MANIFEST.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(manifest() != MANIFEST.read_text() and "MANIFEST.md is not what the traces are")
    MANIFEST.write_text(manifest())
