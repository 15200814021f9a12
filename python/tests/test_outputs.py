"""Outputs: whole or not at all, through links and into pipes, and never over what is read."""

import inspect
import json
import os
import resource
import signal
import stat
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import typer

from clockhand import UsageError, command, convert_traces
from clockhand.command.overwriting import FOLDERS, OUTPUTS
from clockhand.study.files import publish, refuse_overwriting
from conftest import EXECUTABLE, TEXTBOOK_PAGES, Clockhand, assert_one_sentence, os_course
from many_commands import Done, assert_told, run_many

FRAMES = ["--policy", "clock", "--frames", "3"]
DRIVE = ["--buffer", "fab:total=2", "--ssd", "small"]
SWEEP = """
question = "x"
expected = "y"
traces = "t.trace"
policies = ["clock"]
frames = [3]
"""

PROFILE = """summary = "x"
source = "y"
charged = "per-page"
read.time_us = 10
write.time_us = 20
"""

# Each command, with OUT.ending where an output is named.
COMMANDS: dict[str, list[str]] = {
    "simulate --out": ["simulate", "t.trace", *FRAMES, "--out", "OUT.csv"],
    "simulate --gauges": ["simulate", "t.trace", *FRAMES, "--gauges", "OUT.csv"],
    "simulate --report": ["simulate", "t.trace", *FRAMES, "--report", "OUT.html"],
    "ssd --out": ["ssd", "t.trace", *DRIVE, "--out", "OUT.json"],
    "locality --out": ["locality", "t.trace", "--out", "OUT.csv"],
    "recommend --out": ["recommend", "t.trace", "--frames", "3", "--out", "OUT.csv"],
    "recommend --figure": ["recommend", "t.trace", "--frames", "3", "--figure", "OUT.svg"],
    "watch --out": ["watch", "t.trace", "--policy", "lru", "--frames", "3", "--out", "OUT.html"],
    "sweep --out": ["sweep", "e.toml", "--out", "OUT.csv"],
    "sweep --html": ["sweep", "e.toml", "--html", "OUT.html"],
    "trace convert": ["trace", "convert", "t.trace", "OUT.csv"],
    "trace convert parquet": ["trace", "convert", "t.trace", "OUT.parquet"],
    "trace convert gz": ["trace", "convert", "t.trace", "OUT.csv.gz"],
    "trace synthesize": [
        "trace", "synthesize", "uniform:footprint=1MiB", "--requests", "100", "OUT.parquet"
    ],
}  # fmt: skip
KINDS = ("absent", "regular", "link", "dangling", "pipe", "device", "folder")


def is_output(word: str) -> bool:
    return word.startswith("OUT.")


def make(kind: str, path: Path) -> bool:
    """Put something of a kind at a path; false where that cannot be made."""
    elsewhere = path.with_name(f"elsewhere-{path.name}")
    if kind == "regular":
        path.write_text("old")
    elif kind == "link":
        elsewhere.write_text("old")
        path.symlink_to(elsewhere.name)
    elif kind == "dangling":
        path.symlink_to(elsewhere.name)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            path.write_bytes(b"x")
        except OSError:
            return False
    return True


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "t.trace").write_text(os_course(TEXTBOOK_PAGES))
    (folder / "e.toml").write_text(SWEEP)
    return folder


@pytest.fixture(scope="module")
def written(place: Path) -> Iterator[dict[tuple[str, str], tuple[Done, Path, bytes]]]:
    """What every command did with every kind of place, and what a pipe's reader got."""
    cases, readers = {}, {}
    for name, words in COMMANDS.items():
        for kind in KINDS:
            [output] = [word for word in words if is_output(word)]
            path = place / f"{name} {kind}{output[3:]}".replace(" ", "_")
            if make(kind, path):
                command = [path.name if is_output(word) else word for word in words]
                cases[name, kind] = (command, path)
            if kind == "pipe":
                got: list[bytes] = []
                reader = threading.Thread(
                    target=lambda path=path, got=got: got.append(path.read_bytes()), daemon=True
                )
                reader.start()
                readers[name] = (reader, got)
    runs = run_many([command for command, _ in cases.values()], place)
    results = {}
    for (name, kind), run in zip(cases, runs, strict=True):
        content = b""
        if kind == "pipe":
            reader, got = readers[name]
            reader.join(10)
            content = got[0] if got else b""
        results[name, kind] = (run, cases[name, kind][1], content)
    yield results


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_output_goes_to_every_kind_of_place(
    written: dict[tuple[str, str], tuple[Done, Path, bytes]], name: str, kind: str
) -> None:
    if (name, kind) not in written:
        pytest.skip("a device node cannot be made here")
    run, path, piped = written[name, kind]
    assert_told(run)
    facts = path.lstat()
    if kind == "folder":
        assert run.code == 1 and "name a file in it" in run.err and not os.listdir(path)
        return
    assert run.code == 0, run
    if kind == "pipe":
        assert stat.S_ISFIFO(facts.st_mode) and len(piped) > 20
    elif kind == "device":
        assert stat.S_ISCHR(facts.st_mode)
    elif kind in ("link", "dangling"):
        assert stat.S_ISLNK(facts.st_mode)
        assert path.with_name(f"elsewhere-{path.name}").stat().st_size > 20
    else:
        assert stat.S_ISREG(facts.st_mode) and facts.st_size > 20


def test_nothing_unfinished_is_left(
    place: Path, written: dict[tuple[str, str], tuple[Done, Path, bytes]]
) -> None:
    assert not list(place.glob(".clockhand-*"))


OVERWRITING = (
    "trace convert t.csv t.csv --limit 10",
    "trace convert t.csv hard.csv",
    "trace convert t.csv link.csv",
    "simulate t.csv --policy clock --frames 3 --out t.csv",
    "simulate t.csv --policy clock --frames 3 --out hard.csv",
    "simulate t.csv --policy clock --frames 3 --report t.csv",
    "simulate t.csv --policy clock --frames 3 --gauges link.csv",
    "simulate t.csv --policy clock --frames 3 --device d.toml --out d.toml",
    "simulate t.csv --policy clock --frames 3 --device d.toml:ratio=2 --report d.toml",
    "ssd t.csv --buffer fab:total=2 --ssd small --report t.csv",
    "ssd t.csv --buffer fab:total=2 --ssd s.toml:size=1MiB --out s.toml",
    "locality t.csv --out t.csv",
    "recommend t.csv --frames 3 --figure t.svg",
    "sweep e.toml --html e.toml",
    "sweep e.toml --out t.csv",
    "sweep e.toml --out d.toml",
    "trace synthesize r.parquet r.parquet",
)


def test_no_output_overwrites_an_input(tmp_path: Path) -> None:
    lines = "".join(f"{'RW'[page % 2]},{page * 4096},512\n" for page in TEXTBOOK_PAGES)
    files = {
        "t.csv": f"op,address,size\n{lines}",
        "d.toml": PROFILE, "s.toml": "x", "t.svg": "x", "r.parquet": "x",
        "e.toml": SWEEP.replace("t.trace", "t.csv") + 'devices = ["d.toml"]\n',
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    os.link(tmp_path / "t.csv", tmp_path / "hard.csv")
    (tmp_path / "link.csv").symlink_to("t.csv")
    os.link(tmp_path / "t.csv", tmp_path / "t.svg.csv")
    cases = [case.split() for case in OVERWRITING]
    cases[OVERWRITING.index("recommend t.csv --frames 3 --figure t.svg")][1] = "t.svg"
    for run in run_many(cases, tmp_path):
        assert_told(run)
        assert run.code == 2 and "would be lost; give another name" in run.err, run
    for name, text in files.items():
        assert (tmp_path / name).read_text() == text


def test_the_library_refuses_to_convert_a_trace_onto_itself(textbook: Path) -> None:
    with pytest.raises(UsageError, match="would be lost"):
        convert_traces(textbook, textbook, to="csv")


def test_two_outputs_may_share_a_device_and_no_file(tmp_path: Path) -> None:
    null = Path(os.devnull)
    refuse_overwriting({"--out": null, "--report": null}, ["absent"])
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(UsageError, match="both name"):
        refuse_overwriting({"--out": tmp_path / "file", "--report": tmp_path / "link"}, [])


def test_leftovers_of_killed_runs_go_and_what_is_in_use_stays(tmp_path: Path) -> None:
    trace = tmp_path / "t.trace"
    trace.write_text(os_course(TEXTBOOK_PAGES) * 200_000)
    command = [EXECUTABLE, "trace", "convert", "t.trace", "big.csv.xz"]
    process = subprocess.Popen(command, cwd=tmp_path)
    while not (unfinished := list(tmp_path.glob(".clockhand-*"))):
        assert process.poll() is None, "the conversion is slow enough to be seen"
    [leftover] = unfinished
    simulate = ["simulate", "t.trace", *FRAMES, "--limit", "20", "--out", "rows.csv"]
    [run] = run_many([simulate], tmp_path)
    assert run.code == 0 and leftover.exists(), "its writer is alive"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert leftover.exists()
    foreign = tmp_path / ".clockhand-notes"
    foreign.write_text("not ours")
    capture = tmp_path / ".clockhand-capture-abc"
    capture.mkdir()
    (capture / "lock").touch()
    (capture / "stream.1").write_text("x")
    [run] = run_many([simulate], tmp_path)
    assert run.code == 0 and not leftover.exists() and not capture.exists()
    assert foreign.exists() and not (tmp_path / "big.csv.xz").exists()


INPUTS = {
    "dataset", "disk", "experiment", "nvm", "path", "policy_library", "real_traces", "scratch",
    "socket", "swap", "tls_certificate", "tls_clients", "tls_key",
}  # fmt: skip
"""Parameters of commands that name what is read, or kept by rules of its own."""


def test_every_path_of_every_command_is_an_input_or_an_output() -> None:
    commands = [typer.main.get_command(command.app())]
    for one in commands:
        commands.extend(getattr(one, "commands", {}).values())
        if one.callback is None:
            continue
        for parameter in inspect.signature(one.callback).parameters.values():
            if "Path" in str(parameter.annotation):
                assert parameter.name in OUTPUTS | FOLDERS | INPUTS, (one.name, parameter.name)


def test_publishing_is_all_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with pytest.raises(OSError, match="absent"):
        publish({tmp_path / "a": b"new", tmp_path / "absent" / "b": b"new"})
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_limit_on_the_size_of_files_is_told_and_leaves_nothing(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    """Reports went half way, or ended with a signal of the system."""
    (tmp_path / "t.trace").write_text(os_course(range(2000)))
    limited = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1000, 1000))
    for words in (
        ["trace", "convert", "t.trace", "out.csv"],
        ["trace", "convert", "t.trace", "out.parquet"],
        ["simulate", "t.trace", *FRAMES, "--report", "out.html"],
    ):
        run = clockhand(*words, preexec_fn=limited)
        assert run.code == 1 and "File too large" in run.err, run
        assert run.err.startswith("clockhand: ") and run.err.count("\n") == 1, run
        assert os.listdir(tmp_path) == ["t.trace"]


# The engine that draws reserves much of it, and ended the command by a signal.
def test_too_little_address_space_to_draw_in_is_one_sentence(
    clockhand: Clockhand, textbook: Path
) -> None:
    most = 2 << 30
    limited = partial(resource.setrlimit, resource.RLIMIT_AS, (most, most))
    # One size has a table in place of figures.
    sizes = ["--policy", "clock", "--frames", "3,4"]
    run = clockhand("simulate", textbook.name, *sizes, "--report", "out.html", preexec_fn=limited)
    assert_one_sentence(run)
    assert run.code == 1 and "the process that draws figures ended with" in run.err
    assert not (textbook.parent / "out.html").exists()


@pytest.mark.parametrize(("descriptors", "code"), [(6, 1), (12, 1), (31, 1), (32, 0)])
def test_too_few_descriptors_are_told_before_anything_is_read(
    clockhand: Clockhand, textbook: Path, descriptors: int, code: int
) -> None:
    """Libraries panicked with fewer than 14, and a paged program hung once with 12."""
    limited = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (descriptors, descriptors))
    run = clockhand("simulate", textbook.name, *FRAMES, "--report", "out.html", preexec_fn=limited)
    assert run.code == code, run
    if code:
        assert_one_sentence(run)
        assert "raise `ulimit -n`" in run.err


def test_what_a_run_reads_and_writes_is_a_trace(tmp_path: Path, clockhand: Clockhand) -> None:
    (tmp_path / "app.trace").write_text(
        "".join(f"{page * 4096:08x} {'RW'[page % 2]}\n" for page in (1, 2, 3, 1, 5, 2, 7))
    )
    words = ["simulate", "app.trace", "--policy", "clock", "--frames", "2", "--flush-at-end"]
    run = clockhand(*words, "--io-log", "swap.iolog", "--format", "json")
    assert run.code == 0, run.err
    [row] = json.loads(run.out)
    log = (tmp_path / "swap.iolog").read_text().splitlines()
    assert log[:3] == ["fio version 2 iolog", "swap add", "swap open"]
    counts = [sum(f" {word} " in line for line in log) for word in ("read", "write")]
    assert counts == [row["read_ios"], row["write_ios"]]
    ssd = clockhand("ssd", "swap.iolog", "--buffer", "lru:total=1", "--format", "json")
    assert ssd.code == 0, ssd.err
    assert json.loads(ssd.out)[0]["write_references"] == row["write_ios"]
    for more, said in (
        (["--policy", "lru"], "there are 2 policies; give one of each"),
        (["--out", "swap.iolog"], "swap.iolog"),
        (["--sample", "50%"], "leave out --sample"),
    ):
        refused = clockhand(*words, "--io-log", "swap.iolog", *more)
        assert refused.code == 2 and said in refused.err
        assert_one_sentence(refused)
