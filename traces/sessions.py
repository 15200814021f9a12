"""The sessions whose references are committed: what each program is given, does, must have done.

Today's equivalents of the six workloads of the CRAW paper (its programs of 2014 are gone), and two
small ones. Each is prepared from what Debian's packages hold or from a seed, so that anyone can
repeat it.
"""

import array
import math
import shutil
import sqlite3
import subprocess
import wave
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from desktop import Desktop, SessionError

LICENCES = [
    Path("/usr/share/common-licenses") / name
    for name in ("GPL-1", "GPL-2", "GPL-3", "LGPL-2", "LGPL-2.1", "LGPL-3")
]
PICTURES = 6
TONE_S = 20
RATE = 44100
ITEMS = 3000
FUNCTIONS = 8
PARAGRAPHS = 12
RESERVE = [(162, 228), (258, 228), (353, 228), (449, 228)]
"""Freecell's four empty cells on the screen, in pixels."""
LAST_CARDS = [(162, 520), (262, 520), (362, 520), (462, 520)]
"""The last cards of the first four columns of a new game."""
BOARD = "800x490+112+160"


@dataclass(frozen=True)
class Session:
    """One program at work."""

    name: str
    equivalent_of: str | None
    """The workload of the CRAW paper that it stands for."""
    does: str
    """One line for the manifest."""
    prepare: Callable[[Path], list[list[str]]]
    """Makes the input in a folder; the commands to run, one after the other."""
    use: Callable[[Desktop], None] | None
    """Uses the program on a screen until it ends; none for a program without a window."""
    is_large: bool
    """Whether its trace needs a second-level cache to be short enough."""
    check: Callable[[Path], None]
    """Looks at what was left in the folder."""
    serve: Callable[[Path], None] | None = None
    """Asks a server in the folder as its client, and has it shut down; none for other programs."""


def must(condition: bool, otherwise: str) -> None:
    """Raise ``SessionError`` unless a condition holds."""
    if not condition:
        raise SessionError(otherwise)


def run(*command: str | Path, **options: object) -> None:
    """Run a command of the preparation."""
    subprocess.run([str(word) for word in command], check=True, **options)  # type: ignore[call-overload]


def check_nothing_more(folder: Path) -> None:
    """For a session whose use looks at the screen and says what is wrong itself."""


# tar and gzip


def prepare_tar_gzip(folder: Path) -> list[list[str]]:
    names = [licence.name for licence in LICENCES]
    source = str(LICENCES[0].parent)
    tar = ["tar", "--create", "--file=licences.tar", f"--directory={source}", *names]
    return [tar, ["gzip", "licences.tar"]]


def check_tar_gzip(folder: Path) -> None:
    run("tar", "--compare", f"--file={folder / 'licences.tar.gz'}", cwd=LICENCES[0].parent)


# sqlite3


def prepare_sqlite(folder: Path) -> list[list[str]]:
    (folder / "job.sql").write_text(
        f"""CREATE TABLE item (id INTEGER PRIMARY KEY, word TEXT, amount INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ITEMS})
          INSERT INTO item SELECT i, hex(i * 7919 % 10007), i * 31 % 1009 FROM n;
        CREATE INDEX by_word ON item (word);
        UPDATE item SET amount = amount + 1 WHERE id % 7 = 0;
        DELETE FROM item WHERE id % 11 = 0;
        CREATE TABLE answer AS SELECT substr(word, 1, 2) AS start, sum(amount) AS total
          FROM item GROUP BY start ORDER BY total DESC;
        """
    )
    return [["sqlite3", "items.db", ".read job.sql"]]


def check_sqlite(folder: Path) -> None:
    kept = [i for i in range(1, ITEMS + 1) if i % 11]
    total = sum(i * 31 % 1009 + (i % 7 == 0) for i in kept)
    with sqlite3.connect(folder / "items.db") as database:
        ((sound,),) = database.execute("PRAGMA integrity_check")
        ((answer,),) = database.execute("SELECT sum(total) FROM answer")
    must(sound == "ok" and answer == total, f"sqlite3 found {answer} instead of {total}")


# a compiler


def prepare_compiler(folder: Path) -> list[list[str]]:
    functions = "".join(
        f"""static int step_{n}(const int *values, int count) {{
            int sum = {n};
            for (int i = {n % 5}; i < count; i += {1 + n % 3})
              sum = values[i] > {n * 3} ? sum * {n + 3} + values[i] : sum - (values[i] >> {n % 7});
            switch (sum & 7) {{ case {n % 8}: return sum / {n + 1}; default: return sum; }}
        }}
        """
        for n in range(FUNCTIONS)
    )
    calls = " + ".join(f"step_{n}(values, count)" for n in range(FUNCTIONS))
    program = f"{functions}int steps(const int *values, int count) {{ return {calls}; }}\n"
    (folder / "steps.c").write_text(program)
    compiler = subprocess.check_output(["gcc", "-print-prog-name=cc1"], text=True).strip()
    return [[compiler, "-quiet", "-O2", "steps.c", "-o", "steps.s"]]


def check_compiler(folder: Path) -> None:
    run("gcc", "-O2", "-S", "steps.c", "-o", "again.s", cwd=folder)
    again = (folder / "again.s").read_text()
    must((folder / "steps.s").read_text() == again, "the compiler's output is not gcc's")


# geeqie, for gqview


def prepare_geeqie(folder: Path) -> list[list[str]]:
    pictures = folder / "pictures"
    pictures.mkdir()
    for number in range(1, PICTURES + 1):
        picture = pictures / f"picture-{number}.jpg"
        run("convert", "-size", "1024x768", "-seed", str(number), "plasma:", picture)
    return [["geeqie", "--disable-clutter", "pictures/picture-1.jpg"]]


def use_geeqie(desktop: Desktop) -> None:
    window = desktop.window("picture-1.jpg")
    for number in range(2, PICTURES + 1):
        desktop.keys("Page_Down")
        shown = f"picture-{number}.jpg"
        desktop.wait_for(lambda shown=shown: shown in desktop.title(window), f"title {shown}")
    before = desktop.picture()
    desktop.keys("plus", "plus", "bracketright")
    must(desktop.picture() != before, "geeqie did not enlarge and turn the picture")
    desktop.keys("ctrl+q")


# gedit


def prepare_gedit(folder: Path) -> list[list[str]]:
    shutil.copy(LICENCES[2], folder / "letter.txt")
    return [["gedit", "--standalone", "letter.txt"]]


def use_gedit(desktop: Desktop) -> None:
    desktop.window("letter.txt")
    for number in range(1, PARAGRAPHS + 1):
        desktop.write(f"Paragraph {number} is typed before the text and moved over by pages.\n")
        desktop.keys("Page_Down", "Page_Down", "ctrl+Home")
    desktop.keys("ctrl+s", "ctrl+q")


def check_gedit(folder: Path) -> None:
    lines = (folder / "letter.txt").read_text().splitlines()
    typed = [line for line in lines if line.startswith("Paragraph ")]
    must(len(typed) == PARAGRAPHS, f"gedit saved {len(typed)} of {PARAGRAPHS} paragraphs")


# aisleriot's freecell


def prepare_freecell(folder: Path) -> list[list[str]]:
    return [["/usr/games/sol", "--variation", "freecell"]]


def use_freecell(desktop: Desktop, rounds: int = 1) -> None:
    desktop.window("Freecell")
    board = desktop.picture(BOARD)
    for card, cell in zip(LAST_CARDS, RESERVE, strict=True):
        desktop.drag(card, cell)
        moved = desktop.picture(BOARD)
        must(moved != board, "no card moved")
        board = moved
    for _ in range(rounds):
        desktop.keys(*["ctrl+z"] * len(RESERVE), *["ctrl+shift+z"] * len(RESERVE))
        must(desktop.picture(BOARD) == board, "undo and redo do not end where they began")
        desktop.keys("ctrl+h", "Escape")
    desktop.keys("ctrl+w")


# evince, for kghostview


def prepare_evince(folder: Path) -> list[list[str]]:
    text = LICENCES[2].read_text().replace("\n\n", "\n.PP\n")
    with (folder / "licence.pdf").open("wb") as pdf:
        run("groff", "-Tpdf", "-ms", input=text.encode(), stdout=pdf)
    return [["evince", "licence.pdf"]]


def use_evince(desktop: Desktop) -> None:
    desktop.window("licence")
    pages = {desktop.picture()}
    for _ in range(6):
        desktop.keys("ctrl+Page_Down")
        pages.add(desktop.picture())
    must(len(pages) == 7, f"evince showed {len(pages)} of 7 pages")
    desktop.keys("ctrl+w")


# audacious, for xmms


def prepare_audacious(folder: Path, tone_s: int = TONE_S) -> list[list[str]]:
    write_tone(folder / "tone.wav", tone_s)
    run("lame", "--quiet", "-b", "128", folder / "tone.wav", folder / "tone.mp3")
    (folder / "tone.wav").unlink()
    settings = folder / "home" / ".config" / "audacious"
    settings.mkdir(parents=True)
    # There is no sound card: the decoded music goes to a file, through the plug-in that does so.
    (settings / "config").write_text(
        f"[audacious]\nuse_qt=FALSE\n"
        f"[filewriter]\nfileext=0\nfilenamefromtags=FALSE\nfile_path={folder.as_uri()}\n"
    )
    (plugin,) = Path("/usr/lib").glob("*/audacious/Output/filewriter.so")
    (settings / "plugin-registry").write_text(
        f"format 11\noutput {plugin}\nstamp {int(plugin.stat().st_mtime)}\nversion 48\nflags 0\n"
        "name FileWriter Plugin\ndomain audacious-plugins\npriority 10\nabout 1\nconfig 1\n"
        "enabled 1\n"
    )
    return [["audacious", "--gtk", "--quit-after-play", "--play", "tone.mp3"]]


def use_audacious(desktop: Desktop) -> None:
    """It plays what it is given and ends by itself."""


def check_audacious(folder: Path, tone_s: int = TONE_S) -> None:
    (music,) = folder.glob("*.wav")
    with music.open("rb") as sound:
        must(sound.read(4) == b"RIFF", "audacious wrote no music")
    played_s = music.stat().st_size / (RATE * 2 * 4)
    must(abs(played_s - tone_s) < 0.5, f"audacious played {played_s:.1f} of {tone_s} s")


def write_tone(file: Path, tone_s: int) -> None:
    """Write some seconds of a slowly rising chord in two channels."""
    samples = array.array("h")
    for step in range(RATE * tone_s):
        time_s = step / RATE
        level = sum(math.sin(2 * math.pi * (hertz + 9 * time_s) * time_s) for hertz in (262, 330))
        samples.extend([int(9000 * level), int(9000 * level * math.cos(time_s))])
    with wave.open(str(file), "wb") as sound:
        sound.setnchannels(2)
        sound.setsampwidth(2)
        sound.setframerate(RATE)
        sound.writeframes(samples.tobytes())


SESSIONS = [
    Session(
        "tar-gzip",
        "tar_gzip",
        "`tar --create`, then `gzip`, on the six GNU licences of Debian's base-files (130 kB)",
        prepare_tar_gzip,
        None,
        False,
        check_tar_gzip,
    ),
    Session(
        "sqlite3",
        None,
        f"fills a table with {ITEMS:,} rows, indexes, updates, deletes and sums them",
        prepare_sqlite,
        None,
        False,
        check_sqlite,
    ),
    Session(
        "cc1",
        None,
        f"gcc's compiler proper on {FUNCTIONS} generated functions, -O2",
        prepare_compiler,
        None,
        True,
        check_compiler,
    ),
    Session(
        "geeqie",
        "gqview",
        f"shows {PICTURES} JPEG pictures of 1024 x 768, enlarges one and turns it",
        prepare_geeqie,
        use_geeqie,
        True,
        check_nothing_more,
    ),
    Session(
        "gedit",
        "gedit",
        f"types {PARAGRAPHS} paragraphs into a text of 35 kB, pages through it, saves",
        prepare_gedit,
        use_gedit,
        True,
        check_gedit,
    ),
    Session(
        "freecell",
        "freecell",
        "aisleriot: four cards to the free cells, undo, redo, a hint (the deal is random)",
        prepare_freecell,
        use_freecell,
        True,
        check_nothing_more,
    ),
    Session(
        "evince",
        "kghostview",
        "shows seven pages of a PDF",
        prepare_evince,
        use_evince,
        True,
        check_nothing_more,
    ),
    Session(
        "audacious",
        "xmms",
        f"decodes {TONE_S} s of MP3 music to a file (there is no sound card)",
        prepare_audacious,
        use_audacious,
        True,
        check_audacious,
    ),
]
