"""Sessions of two servers of data, which are captured whole as those of larger.py are.

A server is captured from its start to its shutdown, while a client that is not captured asks it
over a socket in the session's folder. All clients have fixed seeds.
"""

import errno
import os
import pwd
import random
import socket
import subprocess
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from desktop import SessionError
from sessions import Session, must, run

KEYS, OPERATIONS, AT_ONCE = 20_000, 500_000, 16
SHARES = {"GET": 0.70, "SET": 0.22, "INCR": 0.08}
EXPONENT = 0.9
"""Popularity of redis's keys, by Zipf."""
SEED = 2014
TRANSACTIONS = 600
SECONDS_TO_START = 300
ORDINARY_USER = "daemon"
"""Whom root becomes for postgres, in a user namespace: its files stay root's outside of it."""

# redis-server under a client


class Redis:
    """A client that speaks redis's protocol, several commands to a round trip."""

    def __init__(self, path: Path) -> None:
        self._socket = _connected(path)
        self._answers = self._socket.makefile("rb")

    def ask(self, commands: list[list[bytes]]) -> list[bytes | None]:
        """Send commands; their answers, in order."""
        words = (
            b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in command)
            for command in commands
        )
        self._socket.sendall(b"".join(words))
        return [self._answer() for _ in commands]

    def shut_down(self) -> None:
        """Tell the server to save its keys and end."""
        self._socket.sendall(b"SHUTDOWN SAVE\r\n")
        must(self._answers.readline() == b"", "redis-server did not shut down")

    def _answer(self) -> bytes | None:
        line = self._answers.readline()
        kind, rest = line[:1], line[1:].strip()
        if kind in b"+:" and line:
            return rest
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self._answers.read(size + 2)[:-2]
        raise SessionError(f"redis-server answered {line!r}")


def prepare_redis(folder: Path) -> list[list[str]]:
    quiet = ["--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", "redis.log"]
    return [["redis-server", "--port", "0", "--unixsocket", "redis.sock", *quiet]]


def use_redis(folder: Path) -> None:
    client = Redis(folder / "redis.sock")
    values: dict[int, bytes] = {}
    counts: dict[int, int] = {}
    commands, expected = [], []
    for kind, key in operations():
        if kind == "GET":
            commands.append([b"GET", b"item:%06d" % key])
            expected.append(values.get(key))
        elif kind == "SET":
            values[key] = b"%d " % (key * 7919 % 10007) * (20 + key % 60)
            commands.append([b"SET", b"item:%06d" % key, values[key]])
            expected.append(b"OK")
        else:
            counts[key] = counts.get(key, 0) + 1
            commands.append([b"INCR", b"count:%06d" % key])
            expected.append(b"%d" % counts[key])
        if len(commands) == AT_ONCE:
            must(client.ask(commands) == expected, "redis-server answered wrongly")
            commands, expected = [], []
    (size,) = client.ask([[b"DBSIZE"]])
    must(size == b"%d" % (len(values) + len(counts)), "redis-server has other keys")
    client.shut_down()


def operations() -> Iterator[tuple[str, int]]:
    """What the client asks for: each key is set once, and then the operations follow."""
    for key in range(KEYS):
        yield "SET", key
    generator = random.Random(SEED)
    ranked = generator.sample(range(KEYS), KEYS)
    weights = list(accumulate(1 / rank**EXPONENT for rank in range(1, KEYS + 1)))
    keys = generator.choices(ranked, cum_weights=weights, k=OPERATIONS)
    kinds = generator.choices(list(SHARES), list(SHARES.values()), k=OPERATIONS)
    yield from zip(kinds, keys, strict=True)


def check_redis(folder: Path) -> None:
    saved = (folder / "dump.rdb").read_bytes()
    must(saved.startswith(b"REDIS") and len(saved) > 10 * KEYS, "redis-server saved no keys")


# postgres under pgbench


def prepare_postgres(folder: Path) -> list[list[str]]:
    programs = _programs_of_postgres()
    command = [programs / "initdb", "-D", "data", "-U", "clockhand", "-A", "trust", "--no-sync"]
    run(*as_ordinary_user(), *command, cwd=folder, stdout=subprocess.DEVNULL)
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(folder),
        "shared_buffers": "32MB",
        "dynamic_shared_memory_type": "mmap",
        "autovacuum": "off",
        "jit": "off",
        "max_parallel_workers": "0",
        "max_parallel_maintenance_workers": "0",
        "authentication_timeout": "10min",
    }
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return [[str(programs / "postgres"), "-D", "data", *words]]


def use_postgres(folder: Path) -> None:
    programs = _programs_of_postgres()
    _wait_until_ready([programs / "pg_isready", "-q", "-h", folder])
    client = [programs / "pgbench", "-h", folder, "-U", "clockhand"]
    _patiently([*client, "-i", "-s", "1", "-q", "postgres"])
    _patiently(
        [*client, "-n", "-t", str(TRANSACTIONS), f"--random-seed={SEED}", "-M", "prepared",
         "postgres"]
    )  # fmt: skip
    question = "SELECT count(*) || ' ' || (SELECT sum(abalance) FROM pgbench_accounts) "
    question += "- sum(delta) FROM pgbench_history"
    asked = [programs / "psql", "-h", folder, "-U", "clockhand", "-Atc", question, "postgres"]
    answer = _patiently(asked)
    must(answer.strip() == f"{TRANSACTIONS} 0", f"postgres keeps {answer!r}")
    # A fast shutdown, which the postmaster's own process is asked for.
    run("kill", "-INT", (folder / "data" / "postmaster.pid").read_text().split()[0])


def check_postgres(folder: Path) -> None:
    must(not (folder / "data" / "postmaster.pid").exists(), "postgres did not shut down")


def as_ordinary_user() -> list[str]:
    """The words before a command that refuses to be root's; none for another user."""
    if os.geteuid() != 0:
        return []
    entry = pwd.getpwnam(ORDINARY_USER)
    maps = [f"--map-user={entry.pw_uid}", f"--map-group={entry.pw_gid}"]
    return ["unshare", "--user", *maps, "--"]


def _programs_of_postgres() -> Path:
    """The folder of the newest postgres, which is not on the PATH of Debian.

    Raises:
        FileNotFoundError: there is none.
    """
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise FileNotFoundError(errno.ENOENT, "not installed", "postgresql")
    return found[-1].parent


def _wait_until_ready(command: list[str | Path]) -> None:
    """Ask postgres until it takes clients: it listens before it does.

    Raises:
        SessionError: it never does.
    """
    end = time.monotonic() + SECONDS_TO_START
    while subprocess.run(command).returncode != 0:
        must(time.monotonic() < end, f"postgres takes no clients after {SECONDS_TO_START} s")
        time.sleep(1)


def _patiently(command: list[str | Path]) -> str:
    """What a client says; a captured server is slow, but not that slow."""
    words = [str(word) for word in command]
    return subprocess.run(
        words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        timeout=SECONDS_TO_START * 12,
    ).stdout  # fmt: skip


def _connected(path: Path) -> socket.socket:
    """A connection to a server that has just been started.

    Raises:
        SessionError: it does not listen.
    """
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
            return connection
        except OSError:
            connection.close()
            time.sleep(0.25)
    raise SessionError(f"there is no server at {path.name} after {SECONDS_TO_START} s")


DATABASES = [
    Session(
        "redis",
        None,
        f"redis-server: a client sets {KEYS:,} keys, then {OPERATIONS:,} operations by Zipf; saved",
        prepare_redis,
        None,
        False,
        check_redis,
        use_redis,
    ),
    Session(
        "postgres",
        None,
        f"postgres: pgbench fills tables of 100,000 accounts, then {TRANSACTIONS:,} transactions",
        prepare_postgres,
        None,
        False,
        check_postgres,
        use_postgres,
    ),
]
