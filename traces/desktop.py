"""A virtual screen on which programs are used through keys, as a person would, and looked at.

Needs Xvfb, openbox (a window gets the focus only from a window manager), xdotool and ImageMagick.
Keys are sent with the XTEST extension: many programs ignore events sent straight to a window.
"""

import hashlib
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

SCREEN = "1024x768x24"
PATIENCE_S = 1800
"""How long a window or a result may take to appear; a captured program is many times slower."""
LOOKS = 20
LOOK_EVERY_S = 0.05
IDLE_SHARE = 0.25
"""A program that runs or waits for a core at fewer looks waits for its user; a caret blinks."""


class SessionError(Exception):
    """A program did not do what its session asked for."""


class Desktop:
    """One screen with one program on it; a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.display = ""
        self._servers: list[subprocess.Popen[bytes]] = []
        self.program: subprocess.Popen[bytes] | None = None
        self._shots = 0

    def __enter__(self) -> "Desktop":
        read, write = os.pipe()
        server = ["Xvfb", "-displayfd", str(write), "-screen", "0", SCREEN, "-nolisten", "tcp"]
        self._servers.append(subprocess.Popen(server, pass_fds=[write], stderr=subprocess.DEVNULL))
        os.close(write)
        with os.fdopen(read) as answer:
            self.display = f":{answer.readline().strip()}"
        self._servers.append(
            subprocess.Popen(["openbox"], env=self.environment(), stderr=subprocess.DEVNULL)
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self.program is not None and self.program.poll() is None:
            self.program.terminate()
            self.program.wait()
        for server in reversed(self._servers):
            server.terminate()
            server.wait()

    def environment(self) -> dict[str, str]:
        """The program's environment, without a user's session and the machine's configuration."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(home),
            "DISPLAY": self.display,
            "LANG": "C.UTF-8",
            "GDK_BACKEND": "x11",
            "GSETTINGS_BACKEND": "memory",
            "GIO_USE_VFS": "local",
            "NO_AT_BRIDGE": "1",
            "DBUS_SESSION_BUS_ADDRESS": "disabled:",
            "LIBGL_ALWAYS_SOFTWARE": "1",
        }

    def start(self, command: list[str]) -> None:
        """Start the program; what it says goes to ``program.log``."""
        with (self.folder / "program.log").open("wb") as log:
            self.program = subprocess.Popen(
                command, cwd=self.folder, env=self.environment(), stdout=log, stderr=log
            )

    def window(self, title: str) -> str:
        """Wait for a window whose title matches, give it the focus, and return its number."""
        found: list[str] = []

        def appears() -> bool:
            found[:] = self._xdotool("search", "--onlyvisible", "--name", title).split()
            return bool(found)

        self.wait_for(appears, f"a window named {title!r}")
        self._xdotool("windowactivate", "--sync", found[-1])
        self.settle()
        return found[-1]

    def place(self, window: str, corner: tuple[int, int]) -> None:
        """Move a window's upper left corner to a place of the screen, in pixels."""
        self._xdotool("windowmove", window, str(corner[0]), str(corner[1]))
        self.settle()

    def title(self, window: str) -> str:
        """The title that a window has now."""
        return self._xdotool("getwindowname", window).strip()

    def keys(self, *keys: str) -> None:
        """Press keys, each after the program has answered the one before."""
        for key in keys:
            self._xdotool("key", "--clearmodifiers", key)
            self.settle()

    def write(self, text: str) -> None:
        """Type text, line by line."""
        for line in text.splitlines(keepends=True):
            self._xdotool("type", "--delay", "30", line.rstrip("\n"))
            if line.endswith("\n"):
                self._xdotool("key", "Return")
            self.settle()

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Drag with the first button from one place of the screen to another, in pixels."""
        (x, y), (to_x, to_y) = start, end
        self._xdotool("mousemove", str(x), str(y), "mousedown", "1")
        self.settle()
        self._xdotool("mousemove", str((x + to_x) // 2), str((y + to_y) // 2))
        self._xdotool("mousemove", str(to_x), str(to_y))
        self.settle()
        self._xdotool("mouseup", "1")
        self.settle()

    def picture(self, part: str = SCREEN.rpartition("x")[0]) -> str:
        """Take a screenshot, kept as ``screen-N.png``; a hash of the pixels of a part (WxH+X+Y)."""
        self._shots += 1
        file = self.folder / f"screen-{self._shots}.png"
        subprocess.run(["import", "-window", "root", str(file)], env=self.environment(), check=True)
        pixels = subprocess.run(
            ["convert", str(file), "-crop", part, "rgb:-"], stdout=subprocess.PIPE, check=True
        ).stdout
        return hashlib.sha256(pixels).hexdigest()

    def wait_for(self, happens: Callable[[], bool], what: str) -> None:
        """Wait until something has happened.

        Raises:
            SessionError: it takes too long, or the program ends first.
        """
        end = time.monotonic() + PATIENCE_S
        while not happens():
            if self.program is not None and self.program.poll() is not None:
                raise SessionError(f"the program ended before there was {what}")
            if time.monotonic() > end:
                raise SessionError(f"there was no {what} within {PATIENCE_S} s")
            time.sleep(0.25)

    def settle(self) -> None:
        """Wait until the program waits for its user, also on a machine that others keep busy."""
        while self.program is not None and self.program.poll() is None:
            busy = 0
            for _ in range(LOOKS):
                busy += self._is_busy()
                time.sleep(LOOK_EVERY_S)
            if busy < LOOKS * IDLE_SHARE:
                return

    def finish(self) -> None:
        """Wait for the program's end.

        Raises:
            SessionError: it fails.
        """
        assert self.program is not None
        if code := self.program.wait():
            raise SessionError(f"the program ended with code {code}")

    def _is_busy(self) -> bool:
        """Whether a thread of the program or its children runs, waits for a core or for a disk."""
        assert self.program is not None
        for process in [self.program.pid, *_descendants(self.program.pid)]:
            for file in Path(f"/proc/{process}/task").glob("*/stat"):
                try:
                    state = file.read_text().rpartition(")")[2].split()[0]
                except OSError:
                    continue
                if state in "RD":
                    return True
        return False

    def _xdotool(self, *words: str) -> str:
        run = subprocess.run(
            ["xdotool", *words],
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return run.stdout


def _descendants(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_descendants(child)]
    return found
