"""Capture the applications of the CFLRU paper's section 6 with memory and files in one timeline.

    .venv/bin/python traces/timelines/capture.py [NAME...]

Each session runs in a folder of its own under `clockhand trace capture --files --memory`, behind a
second-level cache of 256 KiB, and becomes `timeline-NAME.parquet` here, which is too large to
commit. The inputs are those of `traces/files/sessions.py`, smaller where Valgrind would take hours.
"""

import math
import random
import shutil
import subprocess
import sys
import tempfile
import wave
from array import array
from dataclasses import replace
from pathlib import Path

# Before this folder, whose sessions are meant.
sys.path.append(str(Path(__file__).resolve().parents[1] / "files"))
sys.path.append(str(Path(__file__).resolve().parents[1]))
from captured import CLOCKHAND, capture_named
from desktop import SessionError
from sessions import SEED, SESSIONS, Session

HERE = Path(__file__).parent
SMALL_CACHE = ["--second-cache", "256KiB", "--second-ways", "8"]
PATHS = "/usr/bin:/bin"
"""Where programs are found: the system's own, so that others have the same."""

SOURCES = 2
"""Of the thirty C files that the session gcc compiles."""

RATE = 44100
SOUND_S = 120
TONES = (220, 331, 587)


def prepare_sound(folder: Path) -> None:
    """Two minutes of three tones and noise, as a WAV file of 21 MB."""
    source = random.Random(SEED)
    period = array("h")
    for sample in range(RATE):
        tones = sum(math.sin(2 * math.pi * tone * sample / RATE) for tone in TONES)
        period.append(int(6000 * tones + source.gauss(0, 300)))
    both = array("h", (value for sample in period for value in (sample, sample // 2)))
    with wave.open(str(folder / "sound.wav"), "wb") as sound:
        sound.setparams((2, 2, RATE, 0, "NONE", ""))
        for _ in range(SOUND_S):
            sound.writeframes(both.tobytes())


def timelines() -> list[Session]:
    """Return the five sessions."""
    by_name = {session.name: session for session in SESSIONS}
    gcc = by_name["gcc"]
    sources = " ".join(f"part-{number}.c" for number in range(SOURCES))
    return [
        replace(
            gcc,
            does=f"compiles {SOURCES} C files, makes a library and links (gcc, ar, ld)",
            script=gcc.script.replace("part-*.c", sources),
        ),
        by_name["tar"],
        by_name["diff"],
        Session(
            "encoding", "encoding", "encodes two minutes of sound, 21 MB, to FLAC (flac)",
            ("flac",), prepare_sound, "flac --silent -o sound.flac sound.wav",
        ),
        by_name["postmark"],
    ]  # fmt: skip


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
        words = [str(CLOCKHAND), "trace", "capture", "--files", "--memory", *SMALL_CACHE]
        subprocess.run(
            [*words, "--out", "captured.parquet", *labels, "--", "sh", "-e", "-c", session.script],
            cwd=folder,
            env=environment,
            check=True,
        )
        shutil.move(folder / "captured.parquet", HERE / f"timeline-{session.name}.parquet")


if __name__ == "__main__":
    sys.exit(capture_named(timelines(), capture))
