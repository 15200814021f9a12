"""Capture the stand-ins for the SCM paper's mobile programs, or those that are named.

    .venv/bin/python traces/mobile/capture.py [NAME...]

Each program is used on a virtual screen (desktop.py) behind the first-level filter alone, and is
interrupted once its session is done. The first records become `whole/NAME.parquet`, which is too
large to commit, and fewer of them `NAME.parquet`. It takes a quarter of an hour.
"""

import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from captured import CLOCKHAND, capture_named
from desktop import Desktop, SessionError

import clockhand

HERE = Path(__file__).parent
WHOLE, COMMITTED = 60_000_000, 1_400_000
"""Records from the start on; the paper's traces have 13 to 21 million."""
SENTENCE = "the weather is fine and we had a very good time with all of you last night"
MESSAGES, FRIENDS, PORT = 600, 200, 16667
POSTS, CLIP_S = 100, 4
SETTINGS = {
    # WebKit: interpreted scripts, no sandbox of its own, no address space for a heap in advance.
    "JSC_useJIT": "0",
    "Gigacage_ENABLED": "0",
    "WEBKIT_DISABLE_COMPOSITING_MODE": "1",
    "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
    "SDL_AUDIODRIVER": "dummy",
}


@dataclass(frozen=True)
class Session:
    """One program at work: what it stands for, and what is done with it."""

    name: str
    stands_for: str
    does: str
    prepare: Callable[[Path], list[str]]
    """Makes what it needs in a folder; the command."""
    use: Callable[[Desktop], None]
    answer_s: float = 300
    """How long it may take to answer at most; a game is never idle."""


def chat(folder: Path) -> list[str]:
    threading.Thread(target=_serve_friends, daemon=True).start()
    return ["hexchat", "-d", str(folder / "chat"), f"--url=irc://127.0.0.1:{PORT}/#friends"]


def use_chat(desktop: Desktop) -> None:
    if os.geteuid() == 0:
        # It warns of running as root, in a window without a title.
        empty = desktop.picture()
        desktop.wait_for(lambda: desktop.picture() != empty, "warning")
        desktop.settle()
        desktop.keys("Return")
    desktop.window("friends")
    for _ in range(3):
        desktop.keys("Page_Up", "Page_Up")
        desktop.write("I like this\n")


def _serve_friends() -> None:
    """A server of one channel whose members have much to tell."""
    with socket.create_server(("127.0.0.1", PORT)) as listener:
        connection, _ = listener.accept()
    words = SENTENCE.split()
    with connection, connection.makefile("rw", encoding="utf-8", newline="\r\n") as lines:

        def say(line: str) -> None:
            lines.write(f"{line}\n")
            lines.flush()

        nick = "me"
        for line in lines:
            command, _, rest = line.strip().partition(" ")
            if command == "NICK":
                nick = rest
            elif command == "USER":
                say(f":here 001 {nick} :Welcome")
                say(f":here 376 {nick} :End of the message of the day")
            elif command == "PING":
                say(f"PONG {rest}")
            elif command == "JOIN":
                say(f":{nick}!u@here JOIN {rest}")
                members = " ".join(f"friend{n}" for n in range(FRIENDS))
                say(f":here 353 {nick} = {rest} :{nick} {members}")
                say(f":here 366 {nick} {rest} :End of names")
                for n in range(MESSAGES):
                    text = " ".join(words[(n * 7 + k) % len(words)] for k in range(1 + n % 29))
                    say(f":friend{n * 31 % FRIENDS}!u@here PRIVMSG {rest} :{text}")


def physics(folder: Path) -> list[str]:
    return ["/usr/games/numptyphysics"]


def use_physics(desktop: Desktop) -> None:
    desktop.place(desktop.window("Numpty"), (0, 0))
    before = desktop.picture()
    desktop.drag((600, 380), (602, 382))
    for offset in (0, 100):
        desktop.drag((200 + offset, 150), (320 + offset, 260))
    if desktop.picture() == before:
        raise SessionError("numptyphysics did not begin a level")


def player(folder: Path) -> list[str]:
    clip = ["-f", "lavfi", "-i", f"testsrc2=size=320x180:rate=25:duration={CLIP_S}"]
    encode = ["-c:v", "mpeg4", "-q:v", "4", "clip.avi"]
    subprocess.run(["ffmpeg", "-loglevel", "error", *clip, *encode], cwd=folder, check=True)
    return ["mplayer", "-really-quiet", "-vo", "x11", "-nosound", "-benchmark", "clip.avi"]


def use_player(desktop: Desktop) -> None:
    """It plays what it is given and ends by itself."""
    assert desktop.program is not None
    desktop.program.wait()


def town(folder: Path) -> list[str]:
    video = ["-v", "sdl", "-s", "null", "-m", "null", "-b", "32bpp-simple", "-r", "640x480"]
    return ["/usr/games/openttd", *video, "-g", "-G", "7"]


def use_town(desktop: Desktop) -> None:
    desktop.window("OpenTTD")
    desktop.keys("Right", "Right", "Down", "Down", "m", "Escape", "Left", "Up")


def browser(folder: Path) -> list[str]:
    for number in range(6):
        picture = folder / f"picture-{number}.jpg"
        plasma = ["-size", "480x270", "-seed", str(number), "plasma:"]
        subprocess.run(["convert", *plasma, str(picture)], check=True)
    (folder / "feed.html").write_text(
        f"""<title>feed</title><body><script>
        const posts = Array.from({{length: {POSTS}}}, (_, n) => ({{n, likes: n * 7919 % 1009}}));
        posts.sort((a, b) => b.likes - a.likes);
        for (const {{n, likes}} of posts) document.write(
          `<h3>Post ${{n}}</h3><img width=480 height=270 src=picture-${{n % 6}}.jpg>` +
          `<p>${{'some words of a friend '.repeat(5 + n % 20)}}</p><i>${{likes}} likes</i>`);
        </script>"""
    )
    (program,) = Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser")
    return [str(program), (folder / "feed.html").as_uri()]


def use_browser(desktop: Desktop) -> None:
    desktop.window("feed")
    desktop.keys("Tab", *["Page_Down"] * 4)


SESSIONS = (
    Session("chat", "facebook", f"hexchat in a channel of {FRIENDS} members: {MESSAGES} messages "
            "arrive, three are typed, it is paged up", chat, use_chat),
    Session("physics", "angrybirds", "numptyphysics: a first level, two lines drawn", physics,
            use_physics, answer_s=1),
    Session("player", "youtube", f"mplayer shows {CLIP_S} s of 320 x 180 at 25 pictures a second",
            player, use_player),
    Session("town", "farmstory", "OpenTTD: a new world is made and moved over", town, use_town,
            answer_s=5),
    Session("browser", "chrome", f"WebKitGTK's MiniBrowser (scripts interpreted): a script makes a "
            f"feed of {POSTS} posts with pictures, four pages down", browser, use_browser),
)  # fmt: skip


class Screen(Desktop):
    """A screen for programs that need settings of their own, and some of which are never idle."""

    def __init__(self, folder: Path, answer_s: float) -> None:
        super().__init__(folder)
        self._answer_s = answer_s
        self._answered_by_s = math.inf

    def settle(self) -> None:
        """Wait until the program waits for its user, or for as long as an answer may take."""
        self._answered_by_s = time.monotonic() + self._answer_s
        super().settle()

    def is_idle(self, used_s: float, passed_s: float) -> bool:
        """A program that has had its time to answer counts as idle."""
        return super().is_idle(used_s, passed_s) or time.monotonic() > self._answered_by_s

    def environment(self) -> dict[str, str]:
        return {**super().environment(), **SETTINGS}


def capture(session: Session) -> None:
    """Run one session and put its traces into place."""
    with tempfile.TemporaryDirectory(prefix=f"{session.name}-") as name:
        folder = Path(name)
        with Screen(folder, session.answer_s) as desktop:
            desktop.environment()
            labels = [f"session={session.does}", f"stand-in for={session.stands_for} (SCM, 2020)"]
            words = [word for label in (*labels, "kind=stand-in") for word in ("--label", label)]
            command = [str(CLOCKHAND), "trace", "capture", "--out", "all.parquet", *words, "--"]
            desktop.start([*command, *session.prepare(folder)])
            session.use(desktop)
            assert desktop.program is not None
            if desktop.program.poll() is None:
                desktop.program.terminate()
            desktop.program.wait()
        if not (folder / "all.parquet").exists():
            log = (folder / "program.log").read_text(errors="replace").splitlines()
            raise SessionError(f"nothing was captured: {' '.join(log[-2:])}")
        keep(session.name, folder / "all.parquet")


def keep(name: str, whole: Path) -> None:
    """Cut a capture to its first records, once for `whole`, once to be committed."""
    records = clockhand.Trace(whole).info()["records"]
    if records < 2 * COMMITTED:
        raise SessionError(f"only {records:,} records were captured")
    (HERE / "whole").mkdir(exist_ok=True)
    for place, most in ((HERE / "whole", WHOLE), (HERE, COMMITTED)):
        taken = min(most, records)
        rule = f"the first {taken:,} of {records:,} records"
        cut = ["--limit", str(taken), "--label", f"window={rule}"]
        made = whole.with_name("cut.parquet")
        subprocess.run([CLOCKHAND, "trace", "convert", *cut, whole, made], check=True)
        shutil.move(made, place / f"{name}.parquet")


if __name__ == "__main__":
    sys.exit(capture_named(SESSIONS, capture))
