"""`clockhand trace capture --files`: programs with known calls, to the byte; threads, forks, what
outlives the command, what is killed, and what is refused."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import polars as pl
import pytest

from clockhand import Trace, pagecache
from clockhand.capture import capture_files
from conftest import EXECUTABLE, Clockhand, Run, assert_one_sentence

Events = dict[str, list[str]]
DROPPED = (pl.col("dropped_dirty") + pl.col("dropped_clean")).alias("dropped")


def can_follow(folder: Path) -> bool:
    """Whether this machine lets programs be followed."""
    command = [EXECUTABLE, "trace", "capture", "--files", "--out", "tried.parquet", "--", "true"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "cannot be followed" not in run.stderr


@pytest.fixture(autouse=True, scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where ptrace or seccomp is refused."""
    if not can_follow(tmp_path_factory.mktemp("tried")):
        pytest.skip("ptrace or seccomp is refused on this machine")


def python(script: str) -> list[str]:
    return [sys.executable, "-S", "-E", "-c", textwrap.dedent(script)]


def capture(clockhand: Clockhand, *words: str | Path) -> Run:
    """Capture to out.parquet, which works."""
    run = clockhand("trace", "capture", "--files", "--out", "out.parquet", "--", *words)
    assert run.code == 0, run.err
    return run


def events(clockhand: Clockhand, folder: Path) -> Events:
    """The events of out.parquet by the file's name in the folder, without times and processes."""
    written = clockhand("trace", "convert", "out.parquet", "out.events")
    assert written.code == 0, written.err
    names: dict[str, str] = {}
    found: Events = {}
    for line in (folder / "out.events").read_text().splitlines():
        if named := re.fullmatch(r"# object (f\d+): (.*)", line):
            names[named[1]] = named[2]
        elif line.startswith("@"):
            _, word, label, *numbers = line.split()
            path = Path(names.get(label, label))
            kept = numbers[:2] if word in ("cr", "cw") else numbers
            if path.parent == folder or label == "*":
                found.setdefault(path.name, []).append(" ".join([word, *kept]))
    return found


def test_reading_and_writing_calls_match_to_the_byte(clockhand: Clockhand, tmp_path: Path) -> None:
    capture(
        clockhand,
        *python("""
            import os
            file = os.open("plain", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(file, b"x" * 5000)
            os.writev(file, [b"y" * 10, b"z" * 20])
            os.pwrite(file, b"p" * 7, 100)
            os.pwritev(file, [b"q" * 9, b"r"], 200)
            os.lseek(file, -30, os.SEEK_END)
            os.read(file, 4096)
            os.lseek(file, 1000, os.SEEK_SET)
            os.readv(file, [bytearray(11), bytearray(12)])
            os.pread(file, 33, 44)
            os.preadv(file, [bytearray(55)], 66)
            os.read(file, 1)
            other = os.dup(file)
            os.read(other, 2)
            os.read(file, 3)
            os.close(file)
            os.read(other, 4)
        """),
    )
    assert events(clockhand, tmp_path) == {
        "plain": [
            "length 0", "cw 0 5000", "cw 5000 30", "cw 100 7", "cw 200 10", "cr 5000 30",
            "cr 1000 23", "cr 44 33", "cr 66 55", "cr 1023 1", "cr 1024 2", "cr 1026 3",
            "cr 1029 4",
        ]
    }  # fmt: skip


def test_calls_that_move_bytes_between_files_match(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "from").write_bytes(b"f" * 9000)
    run = capture(
        clockhand,
        *python("""
            import os
            source = os.open("from", os.O_RDONLY)
            sent = os.open("sent", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            assert os.sendfile(sent, source, 100, 50) == 50
            assert os.sendfile(sent, source, None, 60) == 60
            piped, into = os.pipe()
            spliced = os.open("spliced", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            assert os.splice(source, into, 70) == 70
            assert os.splice(piped, spliced, 70, offset_dst=1000) == 70
            copied = os.open("copied", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                assert os.copy_file_range(source, copied, 80, offset_src=8990) == 10
                assert os.copy_file_range(source, copied, 5) == 5
            except OSError as error:
                print("no copy_file_range:", error)
        """),
    )
    found = events(clockhand, tmp_path)
    assert found["from"][:4] == ["length 9000", "cr 100 50", "cr 0 60", "cr 60 70"]
    assert found["sent"] == ["length 0", "cw 0 50", "cw 50 60"]
    assert found["spliced"] == ["length 0", "cw 1000 70"]
    if b"no copy_file_range" not in run.out:
        assert found["from"][4:] == ["cr 8990 10", "cr 130 5"]
        assert found["copied"] == ["length 0", "cw 0 10", "cw 10 5"]


def test_syncs_lengths_names_and_ends_are_events(clockhand: Clockhand, tmp_path: Path) -> None:
    capture(
        clockhand,
        *python("""
            import mmap, os
            def new(name):
                file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
                os.write(file, b"x" * 8192)
                return file
            os.mkdir("folder")
            os.symlink("folder", "link")
            a = new("a")
            os.fsync(a); os.fdatasync(a); os.ftruncate(a, 100); os.truncate("a", 10)
            os.write(a, b"end"); os.posix_fallocate(a, 0, 50); os.sync()
            b, c = new("b"), new("link/c")
            os.unlink("b"); os.pwrite(b, b"still there", 8192); os.close(b)
            os.close(c); os.rename("link/c", "d"); os.rename("d", "e"); os.unlink("e")
            f = new("f"); mapped = mmap.mmap(f, 8192); mapped[0] = 1; mapped.flush()
            os.unlink("f"); os.close(f); os.write(a, b"1"); mapped.close(); os.write(a, b"2")
            g = new("g"); os.close(g); os.open("g", os.O_WRONLY | os.O_TRUNC)
        """),
    )
    found = events(clockhand, tmp_path)
    assert found["a"] == [
        "length 0", "cw 0 8192", "sync", "sync", "truncate 100", "truncate 10", "cw 10 3",
        "truncate 50", "cw 50 1", "cw 51 1",
    ]  # fmt: skip
    assert found["*"] == ["sync"]
    assert found["b"] == ["length 0", "cw 0 8192", "cw 8192 11", "delete"]
    assert found["f"] == ["length 0", "cw 0 8192", "sync", "delete"]
    assert found["g"] == ["length 0", "cw 0 8192", "truncate 0"]
    everything = (tmp_path / "out.events").read_text()
    (moved,) = re.findall(rf"# object (f\d+): {tmp_path.resolve()}/folder/c\n", everything)
    assert f"delete {moved}\n" in everything
    (unlinked,) = re.findall(r"# object (f\d+): \S+/f\n", everything)
    (appended,) = re.findall(r"# object (f\d+): \S+/a\n", everything)
    assert everything.index(f"cw {appended} 50 1") < everything.index(f"delete {unlinked}\n")
    assert everything.index(f"delete {unlinked}\n") < everything.index(f"cw {appended} 51 1")


def test_direct_io_is_told_apart(clockhand: Clockhand, tmp_path: Path) -> None:
    script = """
        import fcntl, mmap, os
        try:
            file = os.open("direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        except OSError as error:
            raise SystemExit(f"no O_DIRECT: {error}")
        block = mmap.mmap(-1, 8192)
        os.writev(file, [block])
        os.preadv(file, [memoryview(block)[:4096]], 4096)
        fcntl.fcntl(file, fcntl.F_SETFL, 0)
        os.pread(file, 10, 0)
    """
    run = clockhand("trace", "capture", "--files", "--out", "out.parquet", "--", *python(script))
    if "no O_DIRECT" in run.err:
        pytest.skip("the file system knows no O_DIRECT")
    assert events(clockhand, tmp_path) == {
        "direct": ["length 0", "dw 0 8192", "dr 4096 4096", "cr 0 10"]
    }


def test_threads_share_offsets_and_children_have_copies(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "input").write_bytes(bytes(1000))
    run = capture(
        clockhand,
        *python("""
            import os, subprocess, sys, threading
            file = os.open("input", os.O_RDONLY)
            def read(count):
                for _ in range(count):
                    os.read(file, 1)
            threads = [threading.Thread(target=read, args=[100]) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            child = os.fork()
            if child == 0:
                os.read(file, 50)
                os.close(file)
                file = os.open("input", os.O_RDONLY)
                os.read(file, 7)
                os._exit(0)
            os.waitpid(child, 0)
            os.read(file, 60)
            reading = [sys.executable, "-S", "-E", "-c", "import os; os.read(0, 20)"]
            subprocess.run(reading, stdin=file)
            os.read(file, 30)
        """),
    )
    expected = [f"cr {place} 1" for place in range(400)]
    assert events(clockhand, tmp_path)["input"] == [
        "length 1000", *expected, "cr 400 50", "cr 0 7", "cr 450 60", "cr 510 20", "cr 530 30",
    ]  # fmt: skip
    assert "of 3 processes" in run.err
    text = (tmp_path / "out.events").read_text()
    readers = re.findall(r"cr f\d+ (?:\d+ 1|400 50|510 20) (\d+)\n", text)
    assert len(set(readers)) == 3, "threads are of one process"


def test_what_the_program_inherits_is_known(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"i" * 300)
    (tmp_path / "output").write_bytes(b"o" * 40)
    script = "import os; os.read(0, 10); os.write(1, b'12'); os.write(2, b'345')"
    command = [EXECUTABLE, "trace", "capture", "--files", "--out", "out.parquet", "--"]
    with open(tmp_path / "input") as source, open(tmp_path / "output", "a") as output:
        os.lseek(source.fileno(), 25, os.SEEK_SET)
        out = {"stdout": output, "stderr": output}
        subprocess.run([*command, *python(script)], cwd=tmp_path, stdin=source, check=True, **out)
    found = events(clockhand, tmp_path)
    assert found["input"] == ["length 300", "cr 25 10"]
    assert found["output"] == ["length 40", "cw 40 2", "cw 42 3"]


def test_descriptors_that_ioctl_keeps_or_closes_are_known_in_the_next_program(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    # Its capture was taken as closing the kept one, and as keeping the closed one.
    capture(
        clockhand,
        *python("""
            import fcntl, os, sys, termios
            def new(name):
                file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
                os.write(file, b"x")
                os.unlink(name)
                return file
            kept, closed = new("kept"), new("closed")
            fcntl.ioctl(kept, termios.FIONCLEX)
            fcntl.ioctl(closed, termios.FIONCLEX)
            fcntl.ioctl(closed, termios.FIOCLEX)
            script = f"import os; os.write({kept}, b'yz')"
            os.execv(sys.executable, [sys.executable, "-S", "-E", "-c", script])
        """),
    )
    found = events(clockhand, tmp_path)
    assert found["kept"] == ["length 0", "cw 0 1", "cw 1 2", "delete"]
    assert found["closed"] == ["length 0", "cw 0 1", "delete"]
    text = (tmp_path / "out.events").read_text()
    (kept,) = re.findall(r"# object (f\d+): \S+/kept", text)
    (closed,) = re.findall(r"# object (f\d+): \S+/closed", text)
    assert text.index(f"delete {closed}\n") < text.index(f"cw {kept} 1 2")


def test_two_captures_of_a_program_replay_alike(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"line\n" * 20_000)
    rows = []
    for _ in range(2):
        capture(clockhand, "sh", "-c", "sort text > sorted; cat sorted text > both; rm sorted both")
        replayed = pagecache(tmp_path / "out.parquet", policies=["lru"], frames=32).rows
        counts = replayed.select("references", "hits", "file_read_ios", "file_write_ios", DROPPED)
        rows.append(counts.row(0, named=True))
    assert rows[0] == rows[1]
    assert rows[0]["file_write_ios"] > 0
    assert rows[0]["dropped"] > 0


def test_the_end_of_a_program_is_told(clockhand: Clockhand, tmp_path: Path) -> None:
    run = capture(clockhand, "sh", "-c", "echo x > made; exit 3")
    assert "the program ended with exit code 3" in run.err
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert labels["ended"] == "exit code 3"
    run = capture(clockhand, "sh", "-c", "echo x > made; kill -KILL $$")
    assert "the program ended with SIGKILL" in run.err
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert labels["ended"] == "SIGKILL"
    assert any("ended by SIGKILL" in value for value in labels.values())
    assert events(clockhand, tmp_path)["made"][-1] == "cw 0 2"


def test_what_outlives_the_command_runs_on_and_the_trace_says_so(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "go")
    script = "(cat go > late) >/dev/null 2>&1 </dev/null & echo early > first"
    run = capture(clockhand, "sh", "-c", script)
    assert "cut, because it outlived the command" in run.err
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert any("cut, because it outlived the command" in value for value in labels.values())
    found = events(clockhand, tmp_path)
    assert found["first"][-1] == "cw 0 6"
    assert "late" not in found
    (tmp_path / "go").write_text("it still works\n")
    deadline = time.monotonic() + 30
    while not (tmp_path / "late").read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (tmp_path / "late").read_text() == "it still works\n"


def test_an_interrupt_ends_the_program_and_keeps_the_trace(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    command = [EXECUTABLE, "trace", "capture", "--files", "--out", "out.parquet", "--"]
    script = ["sh", "-c", "echo begun > file; echo ready; read line"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*command, *script], cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe
    ) as capturing:
        assert capturing.stdout is not None
        assert capturing.stdout.readline() == b"ready\n"
        capturing.send_signal(signal.SIGINT)
        _, errors = capturing.communicate(timeout=300)
    assert capturing.returncode == 0, errors
    assert b"the program was interrupted; what it did until then is kept" in errors
    assert events(clockhand, tmp_path)["file"][-1] == "cw 0 6"
    assert not list(tmp_path.glob(".clockhand*"))


def test_signals_reach_the_program(clockhand: Clockhand, tmp_path: Path) -> None:
    capture(
        clockhand,
        *python("""
            import os, signal
            file = os.open("got", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number in (signal.SIGUSR1, signal.SIGRTMIN + 2):
                signal.signal(number, lambda number, _: os.write(file, b"s" * number))
                os.kill(os.getpid(), number)
        """),
    )
    real_time = signal.SIGRTMIN + 2
    assert events(clockhand, tmp_path)["got"] == [
        "length 0", f"cw 0 {signal.SIGUSR1.value}", f"cw {signal.SIGUSR1.value} {real_time}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "no-such-program"], "no such program"),
        (["--out", "trace.csv", "--", "true"], "end its name in .parquet"),
        (["--front-end", "qemu", "--", "true"], "--front-end is an option of memory captures"),
        (["--line", "32", "--", "true"], "--line is an option of memory captures"),
    ],
)
def test_wrong_usage_is_one_sentence(clockhand: Clockhand, words: list[str], said: str) -> None:
    run = clockhand("trace", "capture", "--files", *words)
    assert_one_sentence(run)
    assert (run.code, said in run.err) == (2, True), run.err


def test_a_library_call_tells_what_was_captured(tmp_path: Path) -> None:
    command = ["sh", "-c", f"echo x > '{tmp_path}/a'; cat '{tmp_path}/a' > '{tmp_path}/b'"]
    captured = capture_files(command, tmp_path / "out.parquet", labels=[("subject", "test")])
    assert (captured.exit_code, captured.interrupted) == (0, False)
    assert [process.command[0] for process in captured.processes] == ["sh", "cat"]
    assert captured.calls >= 3
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert labels["subject"] == "test"
    assert labels["command"].startswith("sh -c ")


def test_a_program_is_not_told_fewer_processors_than_it_has(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    """A thread that alone keeps stopping is held on one processor, which it must not pass on."""
    capture(
        clockhand,
        *python("""
            import os, threading
            def stop_often():
                for turn in range(100):
                    os.close(os.open("plain", os.O_RDWR | os.O_CREAT, 0o600))
            def note(name):
                seen = sorted(os.sched_getaffinity(0))
                with open(name, "w") as file:
                    file.write(repr(seen))
            stop_often()
            note("alone")
            stop_often()
            thread = threading.Thread(target=note, args=["thread"])
            thread.start()
            thread.join()
            stop_often()
            if (child := os.fork()) == 0:
                note("child")
                os._exit(0)
            os.waitpid(child, 0)
            stop_often()
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            stop_often()
            note("chosen")
        """),
    )
    own = sorted(os.sched_getaffinity(0))
    for name in ("alone", "thread", "child"):
        assert (tmp_path / name).read_text() == repr(own), name
    assert (tmp_path / "chosen").read_text() == repr(own[:1])


def test_a_program_that_cannot_be_followed_is_ended(tmp_path: Path) -> None:
    """Without a place for the log it stayed behind for ever, stopped."""
    news, theirs = os.pipe()
    follower = [sys.executable, "-P", "-m", "clockhand.capture.following"]
    words = [*follower, str(tmp_path / "missing/log"), str(theirs), "stopped", "sleep", "60"]
    with subprocess.Popen(words, pass_fds=[theirs]) as process:
        os.close(theirs)
        with os.fdopen(news) as told:
            # The program has the other end too, until it ends.
            assert "No such file" in json.loads(told.read())["error"]
    assert process.returncode == 0
