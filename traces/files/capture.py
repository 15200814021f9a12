"""Capture the committed calls on files again: every session of sessions.py, or those named.

    .venv/bin/python traces/files/capture.py [NAME...]

Each session runs in a folder of its own under `clockhand trace capture --files`; it needs the
programs that its entry names. Writes the table of MANIFEST.md; `--check` alone says whether that is
what the traces are. It takes some minutes.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Behind this folder, whose sessions.py is meant.
sys.path.append(str(Path(__file__).resolve().parents[1]))
from captured import CLOCKHAND, capture_named
from desktop import SessionError
from sessions import SESSIONS, Session

import clockhand

HERE = Path(__file__).parent
MANIFEST = HERE / "MANIFEST.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
PATHS = "/usr/bin:/bin"
"""Where programs are found: the system's own, so that others have the same."""


def capture(session: Session) -> None:
    """Run one session and put its trace beside this file.

    Raises:
        SessionError: a program that it needs is not installed.
    """
    missing = [word for word in session.needs if shutil.which(word, path=PATHS) is None]
    if missing:
        raise SessionError(f"{missing[0]} is not installed")
    with tempfile.TemporaryDirectory(prefix=f"clockhand-{session.name}-") as name:
        folder = Path(name)
        session.prepare(folder)
        environment = {"PATH": PATHS, "LANG": "C.UTF-8", "HOME": name}
        labels = ["--label", f"session={session.does}"]
        labels += ["--label", f"stands for={session.stands_for} (CFLRU, 2006)"]
        out = ["--out", "captured.parquet", *labels]
        words = [str(CLOCKHAND), "trace", "capture", "--files", *out, "--"]
        subprocess.run(
            [*words, "sh", "-e", "-c", session.script], cwd=folder, env=environment, check=True
        )
        shutil.move(folder / "captured.parquet", HERE / f"{session.name}.parquet")


def manifest() -> str:
    """What MANIFEST.md should be: the table between its two marks, and the rest as it is."""
    lines = [
        "| trace | stands for | what it does | calls | pages read, written | footprint |",
        "|---|---|---|---|---|---|",
    ]
    for session in SESSIONS:
        info = clockhand.Trace(HERE / f"{session.name}.parquet").info()
        mib = info["footprint_pages"] * info["page_bytes"] / (1 << 20)
        lines.append(
            f"| `{session.name}.parquet` | {session.stands_for} | {session.does} | "
            f"{info['requests']:,} | {info['read_references']:,}, {info['write_references']:,} | "
            f"{mib:.1f} MiB |"
        )
    before, _, rest = MANIFEST.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}"


def main() -> int:
    """Capture what is asked for, and write the table if all of it could be."""
    if sys.argv[1:] == ["--check"]:
        return int(manifest() != MANIFEST.read_text())
    code = capture_named(SESSIONS, capture)
    if code == 0:
        MANIFEST.write_text(manifest())
    return code


if __name__ == "__main__":
    sys.exit(main())
