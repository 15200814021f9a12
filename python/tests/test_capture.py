"""`clockhand trace capture`: programs with known references, children, killed programs, views, and
what is said when something is missing."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clockhand import ClockhandError, Trace, convert_traces, simulate
from clockhand.study.ownership import own_folder
from conftest import EXECUTABLE, Clockhand, Run, assert_one_sentence, run_all, run_clockhand

PROGRAMS = Path(__file__).parent / "programs"
LINE_BYTES = 32
TOUCHED_LINES = 65536 // LINE_BYTES
TOUCH_EXIT_CODE = 7
CROSS_COMPILERS = {"aarch64": "aarch64-linux-gnu-gcc", "arm": "arm-linux-gnueabi-gcc"}

needs_valgrind = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("valgrind", "pkg-config", "cc")),
    reason="valgrind, pkg-config or a C compiler is not installed",
)
needs_qemu = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("qemu-x86_64", "cc")),
    reason="qemu-user or a C compiler is not installed",
)

Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles a program of `programs` without a C library."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_program(name: str, compiler: str = "cc") -> Path:
        program = folder / f"{name}-{compiler}"
        flags = ["-O2", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-fno-pie"]
        plain = ["-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-tree-vectorize"]
        source = str(PROGRAMS / f"{name}.c")
        subprocess.run([compiler, *flags, *plain, source, "-o", str(program)], check=True)
        return program

    return compile_program


def capture(clockhand: Clockhand, *words: str | Path, **options: Any) -> Run:
    """Capture to out.parquet, which works."""
    run = clockhand("trace", "capture", "--out", "out.parquet", *words, **options)
    assert run.code == 0, run.err
    return run


def counts(folder: Path) -> dict[str, int]:
    return Trace(folder / "out.parquet").info()["classes"]


def lines_of_code(program: Path) -> int:
    """Lines of `_start`, which begins one."""
    listing = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True)
    (size,) = re.findall(r"^\w+ (\w+) T _start$", listing.stdout, re.MULTILINE)
    return -(-int(size, 16) // LINE_BYTES)


def touch_counts(program: Path) -> dict[str, int]:
    """Each line is filled and, when the loads need its place, written back; then loaded."""
    known = {"R": TOUCHED_LINES, "A": TOUCHED_LINES, "W": TOUCHED_LINES}
    return {"I": lines_of_code(program), **known}


@contextmanager
def waiting_capture(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A capture of a program that has made some references and waits, and the program's process."""
    script = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo $$; read line"
    command = [EXECUTABLE, "trace", "capture", "--out", "out.parquet", "--", "sh", "-c", script]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe) as capturing:
        assert capturing.stdout is not None
        try:
            yield capturing, int(capturing.stdout.readline())
        finally:
            capturing.kill()


@needs_valgrind
def test_the_references_of_a_known_program_are_exact(
    clockhand: Clockhand, compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("touch")
    run = capture(clockhand, "--", program)
    assert counts(tmp_path) == touch_counts(program)
    assert f"exit code {TOUCH_EXIT_CODE}" in run.err
    frame = pl.read_parquet(tmp_path / "out.parquet")
    fills = frame.filter(pl.col("class") == "A")["address"]
    assert (fills.diff().drop_nulls() == LINE_BYTES).all()
    assert frame["size"].unique().to_list() == [LINE_BYTES]
    # The operation is that of the memory bus, for those who know no classes.
    writes = frame.filter(pl.col("op") == "W")["class"].cast(pl.String).unique()
    assert writes.to_list() == ["W"]


@needs_valgrind
def test_a_second_level_keeps_what_it_can_hold(
    clockhand: Clockhand, compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("touch")
    capture(clockhand, "--second-cache", "128KiB", "--", program)
    code = lines_of_code(program)
    assert counts(tmp_path) == {"I": code, "R": 0, "A": TOUCHED_LINES, "W": 0}
    capture(clockhand, "--line", "64", "--", program)
    assert counts(tmp_path)["A"] == TOUCHED_LINES // 2


@needs_valgrind
def test_memory_that_the_kernel_touches_counts_unless_told(
    clockhand: Clockhand, compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("kernel_touches")
    capture(clockhand, "--", program)
    assert counts(tmp_path)["A"] == 4096 // LINE_BYTES
    capture(clockhand, "--no-system-call-memory", "--", program)
    assert counts(tmp_path)["A"] == 0
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert labels["memory touched by system calls"] == "not included"


@needs_valgrind
def test_the_same_program_twice_gives_the_same_trace(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(map(str, range(2000))))
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    frames = []
    for _ in range(2):
        capture(clockhand, "--", "gzip", "--stdout", "text", env=environment)
        frames.append(pl.read_parquet(tmp_path / "out.parquet"))
    assert frames[0].equals(frames[1])


@needs_valgrind
def test_each_process_is_a_stream(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a text\n" * 3000)
    run = capture(clockhand, "--", "sh", "-c", "gzip -c text | gzip -t && exit 3")
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    streams = [value for key, value in labels.items() if key.startswith("stream ")]
    exited = [stream for stream in streams if "exit code" in stream]
    assert len([stream for stream in exited if stream.startswith("/")]) == 2
    assert len([stream for stream in exited if "exit code 3" in stream]) == 1
    # A shell forks before each program that it starts.
    assert len([stream for stream in streams if "became another program" in stream]) == 2
    assert (run.out, labels["ended"]) == (b"", "exit code 3")
    assert f"of {len(streams)} processes" in run.err
    capture(clockhand, "--no-children", "--", "sh", "-c", "gzip -c text | gzip -t")
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert not any("gzip -c text:" in value for value in labels.values())


@needs_valgrind
def test_a_killed_program_leaves_a_trace_that_says_so(clockhand: Clockhand, tmp_path: Path) -> None:
    with waiting_capture(tmp_path) as (capturing, program):
        os.kill(program, signal.SIGKILL)
        _, errors = capturing.communicate(timeout=300)
    assert (capturing.returncode, b"Traceback" in errors) == (0, False)
    assert b"the program ended with SIGKILL" in errors
    assert b"cut, because it was killed: sh -c" in errors
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert labels["ended"] == "SIGKILL"
    assert "cut, because it was killed" in labels["stream 0"]
    # Which pages were anonymous can no longer be found out.
    refused = clockhand("trace", "info", "out.parquet", "--only", "anonymous")
    assert_one_sentence(refused)
    assert refused.code == 1


@needs_valgrind
def test_a_signal_that_ends_the_program_is_told(clockhand: Clockhand, tmp_path: Path) -> None:
    run = capture(clockhand, "--", "sh", "-c", "kill -TERM $$")
    assert "the program ended with SIGTERM" in run.err
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert ("ended by a signal" in labels["stream 0"], labels["ended"]) == (True, "SIGTERM")


@needs_valgrind
def test_an_interrupt_ends_the_program_and_keeps_the_trace(tmp_path: Path) -> None:
    with waiting_capture(tmp_path) as (capturing, _):
        capturing.terminate()
        _, errors = capturing.communicate(timeout=300)
    assert capturing.returncode == 0, errors
    assert b"the program was interrupted; what it did until then is kept" in errors
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert labels["ended"] == "interrupted"
    assert not list(tmp_path.glob(".clockhand*"))


@needs_valgrind
def test_anonymous_pages_are_those_that_would_go_to_swap(
    clockhand: Clockhand, compiled: Compile, tmp_path: Path
) -> None:
    capture(clockhand, "--", compiled("touch"))
    trace = tmp_path / "out.parquet"
    info = Trace(trace).info()
    assert info["anonymous_pages"] == 65536 // 4096
    assert any(" stack" in segment for segment in info["segments"])
    swapped = Trace(trace, only="anonymous", view="bus").info()
    assert swapped["footprint_pages"] == swapped["dirty_footprint_pages"] == 65536 // 4096
    # The pages of code are left out, and conversion keeps the map with new numbers of streams.
    assert info["footprint_pages"] > swapped["footprint_pages"]
    convert_traces([trace, trace], tmp_path / "both.parquet")
    both = Trace(tmp_path / "both.parquet", only="anonymous").info()
    assert (both["footprint_pages"], both["streams"]) == (2 * 65536 // 4096, 2)


@needs_qemu
@needs_valgrind
def test_both_front_ends_see_the_same(
    clockhand: Clockhand, compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("touch")
    run = capture(clockhand, "--front-end", "qemu", "--", program)
    assert counts(tmp_path) == touch_counts(program)
    assert f"exit code {TOUCH_EXIT_CODE}" in run.err
    # A real program: the dynamic linker has a little more to do under Valgrind.
    (tmp_path / "text").write_text("".join(map(str, range(5000))))
    seen = {}
    for options in (["--front-end", "qemu"], ["--no-system-call-memory"]):
        capture(clockhand, *options, "--", "gzip", "--stdout", "text")
        seen[options[0]] = counts(tmp_path)
    qemu, valgrind = seen.values()
    for letter in "RAW":
        assert qemu[letter] == pytest.approx(valgrind[letter], rel=0.03)
    assert qemu["I"] == pytest.approx(valgrind["I"], rel=0.2)


@needs_qemu
@pytest.mark.parametrize("machine", CROSS_COMPILERS)
def test_programs_for_other_processors_are_captured(
    clockhand: Clockhand, compiled: Compile, tmp_path: Path, machine: str
) -> None:
    for tool in (CROSS_COMPILERS[machine], f"qemu-{machine}"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    program = compiled("touch", CROSS_COMPILERS[machine])
    run = capture(clockhand, "--", program)
    expected = touch_counts(program)
    seen = counts(tmp_path)
    # A compiler for arm keeps an address beside the code, and saves a register on the stack.
    allowed = {"aarch64": 0, "arm": 2}[machine]
    for letter in "RAW":
        assert 0 <= seen[letter] - expected[letter] <= allowed
    assert f"exit code {TOUCH_EXIT_CODE}" in run.err
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    assert labels["capture"].startswith(f"qemu-{machine} ")
    refused = clockhand("trace", "capture", "--front-end", "valgrind", "--", str(program))
    assert_one_sentence(refused)
    assert (refused.code, "use --front-end qemu" in refused.err) == (2, True)


@needs_qemu
def test_a_fork_under_qemu_is_a_stream(clockhand: Clockhand, tmp_path: Path) -> None:
    capture(clockhand, "--front-end", "qemu", "--", "sh", "-c", "(exit 4); exit $?")
    labels = dict(Trace(tmp_path / "out.parquet").info()["labels"])
    streams = [value for key, value in labels.items() if key.startswith("stream ")]
    assert len(streams) == 2
    assert all("exit code 4" in stream for stream in streams)


# ---- views, on a trace that needs no program ----

CLASSED = "op,address,size,class\nR,0,32,I\nR,4096,32,R\nR,8192,32,A\nW,12288,32,W\n"


@pytest.fixture
def classed(tmp_path: Path) -> Path:
    """One record of each class, each in a page of its own."""
    (tmp_path / "classed.csv").write_text(CLASSED)
    convert_traces(tmp_path / "classed.csv", tmp_path / "classed.parquet")
    return tmp_path / "classed.parquet"


@pytest.mark.parametrize(
    ("options", "reads", "writes", "name"),
    [
        ({}, 2, 1, "paper"),
        ({"view": "paper"}, 2, 1, "paper"),
        ({"view": "bus"}, 3, 1, "bus"),
        ({"view": "fault"}, 2, 2, "fault"),
        ({"fetches": False}, 1, 1, "paper without fetches"),
        ({"view": "bus", "fetches": False}, 2, 1, "bus without fetches"),
    ],
)
@pytest.mark.parametrize("file", ["classed.parquet", "classed.csv"])
def test_a_view_makes_reads_and_writes_of_classes(
    classed: Path, file: str, options: Mapping[str, Any], reads: int, writes: int, name: str
) -> None:
    trace = classed.with_name(file)
    info = Trace(trace, **options).info()
    assert (info["read_requests"], info["write_requests"], info["view"]) == (reads, writes, name)
    assert info["classes"] == {"I": 1, "R": 1, "A": 1, "W": 1}
    (row,) = simulate(trace, policies="lru", frames=1, **options).rows.to_dicts()
    assert (row["read_references"], row["write_references"]) == (reads, writes)


def test_reports_name_the_view(clockhand: Clockhand, classed: Path) -> None:
    words = ("--policy", "lru", "--frames", "1", "--view", "fault", "--report", "report.html")
    run = clockhand("simulate", "classed.parquet", *words)
    said = "view fault; reads: 1 fetch, 1 load miss; writes: 1 store fill, 1 write-back"
    written = "report.html: the report; open it in a browser\n"
    assert (run.code, run.err) == (0, f"classed.parquet: {said}\n{written}")
    assert said in classed.with_name("report.html").read_text()
    assert said in clockhand("trace", "info", "classed.parquet", "--view", "fault").out.decode()


def test_conversion_keeps_classes_unless_a_view_is_asked_for(
    clockhand: Clockhand, classed: Path
) -> None:
    assert pl.read_parquet(classed)["class"].to_list() == ["I", "R", "A", "W"]
    run = clockhand("trace", "convert", "--view", "bus", "classed.parquet", "bus.parquet")
    assert run.code == 0, run.err
    # A trace in one view keeps its classes, and another view of it is not the same.
    assert pl.read_parquet(classed.with_name("bus.parquet"))["op"].to_list() == ["R", "R", "R", "W"]


def test_a_view_of_a_trace_without_classes_is_refused(clockhand: Clockhand, textbook: Path) -> None:
    for option in (["--view", "bus"], ["--fetches", "no"]):
        for command in (
            ["trace", "info", textbook.name],
            ["trace", "convert", textbook.name, "out.parquet"],
            ["simulate", textbook.name, "--policy", "lru", "--frames", "3"],
        ):
            refused = clockhand(*command, *option)
            assert_one_sentence(refused)
            assert refused.code == 1
            assert "needs records with classes" in refused.err
    unknown = clockhand("trace", "info", textbook.name, "--view", "buss")
    assert_one_sentence(unknown)
    assert (unknown.code, "bus, paper or fault" in unknown.err) == (2, True)
    only = clockhand("trace", "info", textbook.name, "--only", "anonymous")
    assert_one_sentence(only)
    assert "does not tell which pages are anonymous" in only.err


def test_a_wrong_class_is_named(tmp_path: Path) -> None:
    frame = pl.DataFrame({"op": ["R"], "address": [0], "class": ["X"]})
    frame.write_parquet(tmp_path / "wrong.parquet")
    with pytest.raises(ClockhandError, match=r'row 0.*`class` is "X", none of I, R, A, W'):
        Trace(tmp_path / "wrong.parquet").info()
    (tmp_path / "wrong.csv").write_text("op,address,class\nR,0,X\nR,0,I\n")
    info = Trace(tmp_path / "wrong.csv").info()
    assert info["skipped_records"] == 1
    assert "class" in info["first_skipped"][0]


# ---- what is missing, and what cannot be captured ----


def folder_of_tools(folder: Path, *tools: str) -> Path:
    """A folder that alone is on the path and holds these tools."""
    folder.mkdir()
    for tool in tools:
        found = shutil.which(tool)
        if found is None:
            pytest.skip(f"{tool} is not installed")
        # Debian's valgrind looks beside itself, so a link to it would not work.
        write_script(folder / tool, f'PATH={os.environ["PATH"]} exec {found} "$@"')
    return folder


def write_script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def refusal(tmp_path: Path, path: Path, *words: str | Path) -> str:
    """The error of a capture with only `path` on the path."""
    environment = {**os.environ, "PATH": str(path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    run = run_clockhand("trace", "capture", *words, cwd=tmp_path, env=environment)
    assert_one_sentence(run)
    assert run.code in (1, 2)
    assert not list(tmp_path.glob("*.parquet"))
    return run.err


PROGRAM = shutil.which("true") or "/bin/true"


@pytest.mark.parametrize(
    ("tools", "options", "words"),
    [
        ([], [], "valgrind is not found; install it"),
        (["valgrind"], [], "there is no C compiler (cc)"),
        (["valgrind", "cc"], [], "pkg-config is not found"),
        ([], ["--front-end", "qemu"], "qemu-x86_64 is not found; install it"),
        (["qemu-x86_64"], ["--front-end", "qemu"], "there is no C compiler (cc)"),
    ],
)
def test_a_missing_tool_is_named_with_what_to_install(
    tmp_path: Path, tools: list[str], options: list[str], words: str
) -> None:
    path = folder_of_tools(tmp_path / "tools", *tools)
    assert words in refusal(tmp_path, path, *options, "--", PROGRAM)


@needs_valgrind
def test_missing_headers_are_named_with_what_to_install(tmp_path: Path) -> None:
    path = folder_of_tools(tmp_path / "tools", "valgrind", "cc")
    write_script(path / "pkg-config", "exit 1")
    message = refusal(tmp_path, path, "--", PROGRAM)
    assert "headers and static libraries are not found by pkg-config; install them" in message


def test_a_qemu_without_plugins_is_named(tmp_path: Path) -> None:
    path = folder_of_tools(tmp_path / "tools")
    write_script(path / "qemu-x86_64", "echo usage: qemu")
    message = refusal(tmp_path, path, "--front-end", "qemu", "--", PROGRAM)
    assert "was built without plugins; install one that has them" in message


def program_with_header(path: Path, bits: int, machine: int) -> Path:
    """A file that begins as a program for some processor does."""
    header = b"\x7fELF" + bytes([bits // 32, 1, 1]) + bytes(9) + b"\x02\0" + bytes([machine, 0])
    path.write_bytes(header + bytes(100))
    path.chmod(0o755)
    return path


def test_programs_that_cannot_be_captured_are_refused(tmp_path: Path) -> None:
    path = Path(os.environ["PATH"])
    i386 = program_with_header(tmp_path / "old", 32, 3)
    assert "a program for i386 cannot be captured" in refusal(tmp_path, path, "--", i386)
    privileged = program_with_header(tmp_path / "privileged", 64, 62)
    privileged.chmod(0o4755)
    assert "set-uid or set-gid bit" in refusal(tmp_path, path, "--", privileged)
    plain = tmp_path / "plain"
    plain.write_text("no program\n")
    plain.chmod(0o755)
    assert "neither a program nor a script" in refusal(tmp_path, path, "--", plain)
    assert "no such program" in refusal(tmp_path, path, "--", "no-such-program")
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert "interpreter /no/such/interpreter is not found" in refusal(tmp_path, path, "--", script)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "trace.csv"], "end its name in .parquet"),
        (["--out", "missing/trace.parquet"], "make its folder first"),
        (["--front-end", "gdb"], "give valgrind or qemu"),
        (["--front-end", "qemu", "--system-call-memory"], "does not see memory"),
        (["--line", "48"], "power of two"),
        (["--line", "2"], "4 or more"),
        (["--ways", "0"], "--ways"),
        (["--data-cache", "17KiB"], "--data-cache 17408"),
        (["--data-cache", "much"], "is not a size"),
        (["--second-cache", "100KiB"], "--second-cache 102400"),
        (["--label", "nothing"], "KEY=VALUE"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path: Path, options: list[str], words: str) -> None:
    path = Path(os.environ["PATH"])
    assert words in refusal(tmp_path, path, *options, "--", PROGRAM)


def captured_in(tmp_path: Path) -> Run:
    """Capture with the cache folder of a test."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = ("trace", "capture", "--out", "a.parquet", "--", PROGRAM)
    return run_clockhand(*words, cwd=tmp_path, env=environment)


# What another user had put into a shared cache folder ran with the rights of this one.
@needs_valgrind
def test_a_tool_that_others_could_have_put_there_does_not_run(tmp_path: Path) -> None:
    assert captured_in(tmp_path).code == 0
    cache = tmp_path / "cache/clockhand"
    (tool,) = cache.iterdir()
    binary = tool / "clockhand-amd64-linux"
    binary.chmod(0o777)
    run = captured_in(tmp_path)
    assert run.code == 1 and f"{binary}: another user could have put this there" in run.err
    binary.chmod(0o755)
    cache.chmod(0o777)
    assert captured_in(tmp_path).code == 0 and cache.stat().st_mode & 0o022 == 0
    cache.parent.chmod(0o777)
    run = captured_in(tmp_path)
    assert run.code == 1 and "can be written to by others, who could exchange" in run.err
    cache.parent.chmod(0o1777)
    assert captured_in(tmp_path).code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_cache_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    for place in ("cache/clockhand", "cache"):
        (tmp_path / "cache/clockhand").mkdir(parents=True)
        os.chown(tmp_path / place, 12345, 12345)
        with pytest.raises(ClockhandError, match="belongs to another user, who could exchange"):
            own_folder(tmp_path / "cache/clockhand", "the capture tool")
        shutil.rmtree(tmp_path / "cache")


@needs_valgrind
def test_two_first_uses_at_once_build_one_tool(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    programs = [("trace", "capture", "--out", f"{name}.parquet", "--", PROGRAM) for name in "ab"]
    runs = run_all(
        partial(run_clockhand, *words, cwd=tmp_path, env=environment) for words in programs
    )
    assert [run.code for run in runs] == [0, 0], runs
    (tool,) = (tmp_path / "cache/clockhand").iterdir()
    assert (tool / "clockhand-amd64-linux").exists()
