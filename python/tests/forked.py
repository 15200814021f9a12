"""The command in a fork of a process that has loaded its libraries, which take longer than most
commands do.

Each process of the tests starts this file once, as a program. A request over its socket has a
folder, words, variables and three files; the answer is the command's process, and how it ended.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

LIBRARIES = ("jinja2", "numpy", "polars", "rich.console", "rich.table", "typer")
"""What is loaded before; modules of ours are loaded by each command, as those that it needs."""

STARTED: dict[int, tuple[socket.socket, object]] = {}
"""The end of the socket for requests, and the program, by the process that started it."""

LOCK = threading.Lock()


def run_forked(
    executable: Path, words: Sequence[str], cwd: Path, seconds: float
) -> tuple[int, bytes, bytes]:
    """Run the command to its end, without any input; its exit code and what it wrote."""
    ours, theirs = socket.socketpair()
    pipes = [os.pipe() for _ in range(3)]
    (nothing, no_input), (out, written), (err, told) = pipes
    os.close(no_input)
    request = json.dumps([os.fspath(cwd), os.fspath(executable), *words, dict(os.environ)])
    server = _server()
    socket.send_fds(server, [b"x"], [nothing, written, told, theirs.fileno()])
    for descriptor in (nothing, written, told):
        os.close(descriptor)
    theirs.close()
    found: dict[int, bytes] = {}

    def read(descriptor: int) -> None:
        with open(descriptor, "rb") as stream:
            found[descriptor] = stream.read()

    readers = [threading.Thread(target=read, args=(end,)) for end in (out, err)]
    for reader in readers:
        reader.start()
    with ours, ours.makefile("rw") as answers:
        answers.write(request + "\n")
        answers.flush()
        process = int(answers.readline())
        ours.settimeout(seconds)
        try:
            status = answers.readline()
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(words), seconds) from None
    for reader in readers:
        reader.join()
    return os.waitstatus_to_exitcode(int(status)), found[out], found[err]


def _server() -> socket.socket:
    with LOCK:
        if os.getpid() not in STARTED:
            STARTED[os.getpid()] = _started()
        return STARTED[os.getpid()][0]


def _started() -> tuple[socket.socket, object]:
    ours, theirs = socket.socketpair()
    with theirs:
        program = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            # Pipes, as each command has: Python looks once at what its streams are.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    return ours, program


def main() -> None:
    """Answer requests, each in a process of its own, until there can be no more."""
    for library in LIBRARIES:
        __import__(library)
    requests = socket.socket(fileno=int(sys.argv[1]))
    while True:
        word, files, _, _ = socket.recv_fds(requests, 1, 4)
        if not word:
            return
        if os.fork() == 0:
            # Which has no parent that waits for it.
            if os.fork() != 0:
                os._exit(0)
            requests.close()
            return _answer(*files)
        os.wait()
        for file in files:
            os.close(file)


def _answer(nothing: int, out: int, err: int, asks: int) -> None:
    """Run the command of a request in a process below this one, and say how it ended."""
    with socket.socket(fileno=asks) as asked, asked.makefile("rw") as answers:
        cwd, *words, variables = json.loads(answers.readline())
        process = os.fork()
        if process != 0:
            for file in (nothing, out, err):
                os.close(file)
            answers.write(f"{process}\n")
            answers.flush()
            answers.write(f"{os.waitpid(process, 0)[1]}\n")
            answers.flush()
            os._exit(0)
    for place, file in enumerate((nothing, out, err)):
        os.dup2(file, place)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = words
    # Processes that the command starts look at the file that was started.
    sys.modules["__main__"].__file__ = words[0]
    from clockhand.start import main as command

    command()


if __name__ == "__main__":
    main()
