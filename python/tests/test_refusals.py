"""Wrong input is refused in one sentence, with exit code 1 or 2, and leaves nothing behind."""

import gzip
import lzma
import os
import platform
import resource
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from conftest import (
    EXECUTABLE,
    TEXTBOOK_PAGES,
    Clockhand,
    Run,
    assert_one_sentence,
    os_course,
    run_clockhand,
    run_each,
    scattered_pages,
)

FAILED, WRONG_USAGE = 1, 2
PROFILE = """summary = "x"
source = "y"
charged = "per-page"
[read]
time_us = 10
[write]
time_us = {write_time_us}
"""


class Refusal(NamedTuple):
    """A command, the exit code, and words of the sentence."""

    arguments: str
    code: int
    words: str


SIMULATE = "simulate ../textbook --policy clock "
FRAMES = "--policy clock --frames 3"
RUN = "run --policy clock --swap-in-ram "
RAM = "run --frames 64 --swap-in-ram "
REFUSALS = (
    Refusal(SIMULATE + "--frames 0", WRONG_USAGE, "from 1 to"),
    Refusal(SIMULATE + "--frames -1", WRONG_USAGE, '"-1"'),
    Refusal(SIMULATE + "--frames 1.5", WRONG_USAGE, '"1.5"'),
    Refusal(SIMULATE + "--frames 64,,128", WRONG_USAGE, '""'),
    Refusal(SIMULATE + "--frames 5000000000", WRONG_USAGE, "from 1 to"),
    Refusal(
        "ssd ../textbook --buffer lru:total=8 --ssd small:size=2TiB --memory-limit 1GiB",
        FAILED,
        "drive small:size=2TiB: its tables and those of a copy take more than the memory limit of "
        "1GiB; take a smaller drive, or raise --memory-limit",
    ),
    Refusal(SIMULATE + "--memory 101%", WRONG_USAGE, "up to 100%"),
    Refusal(SIMULATE + "--memory 0%", WRONG_USAGE, "above 0%"),
    Refusal(SIMULATE + "--memory -5%", WRONG_USAGE, '"-5%"'),
    Refusal(SIMULATE + "--memory 9%..3%", WRONG_USAGE, "rising"),
    Refusal(SIMULATE + "--memory 64", WRONG_USAGE, "such as 64MiB"),
    Refusal(SIMULATE + "--frames 3 --memory 5%", WRONG_USAGE, "--frames or by --memory"),
    Refusal(SIMULATE, WRONG_USAGE, "--frames or by --memory"),
    Refusal("simulate ../textbook --frames 3", WRONG_USAGE, "'--policy'"),
    Refusal(f"simulate {FRAMES}", WRONG_USAGE, "'traces'"),
    Refusal("simulate ../textbook --policy crow --frames 3", WRONG_USAGE, 'did you mean "craw"?'),
    Refusal("simulate ../textbook --policy craw:c=0 --frames 3", WRONG_USAGE, "from 1"),
    Refusal(
        "simulate ../textbook --policy clock:insert_ref=2 --frames 3", WRONG_USAGE, "from 0 to 1"
    ),
    Refusal("simulate ../textbook --policy clock:insert=1 --frames 3", WRONG_USAGE, '"insert_ref"'),
    Refusal("simulate ../textbook --policy clock:insert_ref --frames 3", WRONG_USAGE, "="),
    Refusal("policies crow", WRONG_USAGE, 'did you mean "craw"?'),
    Refusal("devices absent", WRONG_USAGE, "clockhand devices"),
    Refusal("formats absent", WRONG_USAGE, "os-course"),
    Refusal(f"simulate ../empty {FRAMES}", FAILED, "empty: the file is empty"),
    Refusal(f"simulate ../bad {FRAMES}", FAILED, "once upon a time"),
    Refusal(f"simulate ../bad {FRAMES} --trace-format os-course", FAILED, "50 of 50"),
    Refusal(f"simulate ../absent {FRAMES}", FAILED, "there is no such file"),
    Refusal(f"simulate ../folder {FRAMES}", FAILED, "this is a directory"),
    Refusal(f"simulate ../binary {FRAMES}", FAILED, "binary data"),
    Refusal(f"simulate ../binary {FRAMES} --trace-format os-course", FAILED, "text format"),
    Refusal(f"simulate ../binary {FRAMES} --trace-format parquet", FAILED, "Parquet"),
    Refusal(f"simulate ../cut {FRAMES}", FAILED, "cut in line 50000"),
    Refusal(f"simulate ../cut.gz {FRAMES}", FAILED, "ends in the middle, after byte"),
    Refusal(f"simulate ../cut.xz {FRAMES}", FAILED, "ends in the middle, after byte"),
    Refusal(f"simulate ../cut.parquet {FRAMES}", FAILED, "cut.parquet"),
    Refusal(f"simulate - {FRAMES}", FAILED, "standard input: the file is empty"),
    Refusal(f"simulate ../textbook {FRAMES} --trace-format oscourse", WRONG_USAGE, '"os-course"'),
    Refusal(SIMULATE + "--frames 3 --device absent", WRONG_USAGE, "clockhand devices"),
    Refusal(SIMULATE + "--frames 3 --device absent.toml", FAILED, "absent.toml cannot be read"),
    Refusal(SIMULATE + "--frames 3 --device ../broken.toml", FAILED, "broken.toml, line 5:"),
    Refusal(SIMULATE + "--frames 3 --device scm:ratio=0.5", WRONG_USAGE, "ratio"),
    Refusal(SIMULATE + "--frames 3 --device scm:speed=7", WRONG_USAGE, "ratio"),
    Refusal(
        "simulate ../textbook --policy craw --frames 3 --device ../cheap.toml", WRONG_USAGE, "1/2"
    ),
    Refusal(SIMULATE + "--frames 3 --page-size 3000", WRONG_USAGE, "power of two"),
    Refusal(SIMULATE + "--frames 3 --page-size 4KB", WRONG_USAGE, "power of two"),
    Refusal(SIMULATE + "--frames 3 --bits some", WRONG_USAGE, "exact, mapped or sensed"),
    Refusal(SIMULATE + "--frames 3 --write-miss some", WRONG_USAGE, "fetch or blind"),
    Refusal(SIMULATE + "--frames 9,3 --reserve 3", WRONG_USAGE, "memory is 3 frames; give"),
    Refusal(SIMULATE + "--memory 50% --reserve 9", WRONG_USAGE, "the smallest cell"),
    Refusal(SIMULATE + "--frames 3 --reserve few", WRONG_USAGE, "'--reserve'"),
    Refusal(SIMULATE + "--frames 3 --jobs 0", WRONG_USAGE, "from 1 to 1024"),
    Refusal(SIMULATE + "--frames 3 --jobs 100000", WRONG_USAGE, "from 1 to 1024"),
    Refusal(SIMULATE + "--frames 3 --jobs many", WRONG_USAGE, "'--jobs'"),
    Refusal(SIMULATE + "--frames 3 --seed -1", WRONG_USAGE, "from 0 to"),
    Refusal(SIMULATE + f"--frames 3 --seed {2**64}", WRONG_USAGE, "from 0 to"),
    Refusal(SIMULATE + "--frames 3 --format xml", WRONG_USAGE, "'parquet'"),
    Refusal(SIMULATE + "--frames 3 --colour red", WRONG_USAGE, "simulate --help"),
    Refusal(SIMULATE + "--frames 3 --out absent/rows.json", FAILED, "absent/rows.json: "),
    Refusal(SIMULATE + "--frames 3 --out ../folder", FAILED, "name a file in it"),
    Refusal(SIMULATE + "--frames 3 --report absent/report.html", FAILED, "make its folder first"),
    Refusal(SIMULATE + "--frames 3 --plots ../textbook", FAILED, "name a folder"),
    Refusal(SIMULATE + "--frames 3 --out same --report same", WRONG_USAGE, "different names"),
    Refusal(SIMULATE + "--frames 3 --out /dev/full", FAILED, "/dev/full: "),
    Refusal(SIMULATE + "--frames 3 --out /dev/full --format parquet", FAILED, "/dev/full: "),
    Refusal(SIMULATE + "--frames 3 --report /dev/full --out rows.csv", FAILED, "/dev/full: "),
    Refusal("simulat", WRONG_USAGE, "'simulate'"),
    Refusal("trace inf", WRONG_USAGE, "trace --help"),
    Refusal("trace info ../absent", FAILED, "there is no such file"),
    Refusal("trace info ../textbook --page-size 3", WRONG_USAGE, "power of two"),
    Refusal("trace convert ../textbook", WRONG_USAGE, ".parquet"),
    Refusal("trace convert ../textbook out.trace", WRONG_USAGE, "--to"),
    Refusal("trace convert ../cut out.parquet", FAILED, "cut in line 50000"),
    Refusal("trace convert ../textbook absent/out.parquet", FAILED, "absent/out.parquet"),
    Refusal("trace convert ../table.csv out.parquet --cpu-cache", FAILED, "lackey"),
    Refusal("trace convert ../textbook out.parquet --label synthetic", WRONG_USAGE, "KEY=VALUE"),
    Refusal("trace convert ../textbook out.parquet --label =x", WRONG_USAGE, "has no key"),
    Refusal(SIMULATE + "--frames 3 --plots=", WRONG_USAGE, "--plots has no value"),
    Refusal("locality ../textbook --rows=", WRONG_USAGE, "--rows has no value"),
    Refusal("recommend ../textbook --frames 3 --figure x.gif", WRONG_USAGE, ".svg, .png or"),
    Refusal(SIMULATE + "--frames 3 --memory-limit 1KiB", WRONG_USAGE, "at least 16MiB"),
    Refusal("ssd ../textbook --buffer fab:total=2 --repeat 0", WRONG_USAGE, "until-steady"),
    Refusal("sweep ../grid.toml", WRONG_USAGE, "craw has no value of c; give at least one"),
    Refusal("sweep ../ghosts.toml", WRONG_USAGE, "craw has no value of ghosts"),
    Refusal("sweep ../nothing.toml", WRONG_USAGE, "policies = {} names none"),
    Refusal("sweep ../title.toml", WRONG_USAGE, "its title has 5,000 characters"),
    Refusal("sweep ../twice.toml", WRONG_USAGE, "analyses 1 and 2 would be one file, a-b.csv"),
    Refusal("sweep ../deep.toml", WRONG_USAGE, "its brackets are nested too deeply"),
    Refusal("devices ../deep.toml", FAILED, "deep.toml, line 1:"),
    Refusal("sweep ../where.toml", WRONG_USAGE, "where.frames = 'x' is no number"),
    Refusal(RUN + "-- true", WRONG_USAGE, "--frames or by --memory"),
    Refusal(RUN + "--memory 1MiB", WRONG_USAGE, "'-- CMD...'"),
    Refusal(RUN + "--memory 5% -- true", WRONG_USAGE, "footprint"),
    Refusal(RUN + "--memory 16XB -- true", WRONG_USAGE, "16XB"),
    Refusal(RUN + "--memory 1MiB --frames 4 -- true", WRONG_USAGE, "--frames or by --memory"),
    Refusal(RUN + "--frames 0 -- true", WRONG_USAGE, "from 1 to"),
    Refusal(RUN + "--frames 64 --reserve 64 -- true", WRONG_USAGE, "from 0 to 63"),
    Refusal(RUN + "--frames 64 --reserve 4 --read-ahead 60 -- true", WRONG_USAGE, "0 to 59"),
    Refusal(RUN + "--frames 64 --read-ahead 4,5 -- true", WRONG_USAGE, "one number"),
    Refusal(RUN + "--frames 64 --read-ahead 4,guess -- true", WRONG_USAGE, "slots, streams"),
    Refusal(RUN + "--frames 64 --swap swap -- true", WRONG_USAGE, "--swap FILE or --swap-in-ram"),
    Refusal("run --policy clock --frames 64 -- true", WRONG_USAGE, "--swap FILE or --swap-in-ram"),
    Refusal(RUN + "--frames 64 --swap-limit 1GiB -- true", WRONG_USAGE, "give --swap FILE"),
    Refusal(RUN + "--frames 64 --emulate absent -- true", WRONG_USAGE, "clockhand devices"),
    Refusal(RUN + "--frames 64 --emulate unit --device scm -- true", WRONG_USAGE, "leave --device"),
    Refusal(
        "run --policy clock --frames 64 --swap swap --emulate unit -- true",
        WRONG_USAGE,
        "give --swap-in-ram",
    ),
    Refusal(RUN + "--frames 64 --address-space 16TiB -- true", WRONG_USAGE, "out of range"),
    Refusal(RUN + "--frames 64 --address-space 0 -- true", WRONG_USAGE, "out of range"),
    Refusal("run --frames 64 --swap-in-ram -- true", WRONG_USAGE, "--compare"),
    Refusal(RAM + "--policy lru -- true", WRONG_USAGE, "it needs every hit"),
    Refusal(RAM + "--policy min -- true", WRONG_USAGE, "know the future"),
    Refusal(RAM + "--policy crow -- true", WRONG_USAGE, 'did you mean "craw"?'),
    Refusal(RAM + "--policy clock --device absent -- true", WRONG_USAGE, "clockhand devices"),
    Refusal(RAM + "--policy clock -- absent", WRONG_USAGE, "absent: there is no such program"),
    Refusal(RAM + "--policy clock -- ../foreign", WRONG_USAGE, "it is for"),
    Refusal(RAM + "--policy clock -- ../notes", WRONG_USAGE, "neither a program nor a script"),
    Refusal(RAM + "--policy clock --record log.csv -- true", WRONG_USAGE, ".parquet"),
    Refusal(RAM + "--policy clock --record absent/log.parquet -- true", FAILED, "make its folder"),
    Refusal(RAM + "--policy clock --out absent/rows.json -- true", FAILED, "make its folder"),
    Refusal(RAM + "--policy clock --repeat 3 -- true", WRONG_USAGE, "--compare"),
    Refusal(RAM + "--compare clock,,craw -- true", WRONG_USAGE, "names nothing"),
    Refusal(RAM + "--compare clock,lru -- true", WRONG_USAGE, "it needs every hit"),
    Refusal(RAM + "--compare kernel -- true", WRONG_USAGE, "names no policy"),
    Refusal(RAM + "--compare clock --repeat 0 -- true", WRONG_USAGE, "from 1 to"),
    Refusal(RAM + "--compare clock --record a.parquet -- true", WRONG_USAGE, "leave one out"),
)


ANALYSIS = '[[analysis]]\ntitle = "{}"\n'
EXPERIMENTS = (
    ("grid", "[{ craw = { c = [] } }]", ""),
    ("ghosts", '["clock", { craw = { ghosts = [] } }]', ""),
    ("nothing", "{}", ""),
    ("title", '["clock"]', ANALYSIS.format("x" * 5000)),
    ("twice", '["clock"]', ANALYSIS.format("A b") + ANALYSIS.format("a.b")),
    ("where", '["clock"]', ANALYSIS.format("x") + 'where = { frames = "x" }\n'),
)
"""Experiments that once panicked, dropped a policy, ran nothing, or failed after the work."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    text = os_course(scattered_pages(50_000))
    (folder / "textbook").write_text(os_course(TEXTBOOK_PAGES))
    (folder / "empty").write_text("")
    (folder / "bad").write_text("once upon a time\n" * 50)
    (folder / "binary").write_bytes(bytes(range(256)) * 300)
    (folder / "folder").mkdir()
    (folder / "cut").write_text(text[:-6])
    (folder / "cut.gz").write_bytes(gzip.compress(text.encode())[:-3000])
    (folder / "cut.xz").write_bytes(lzma.compress(text.encode())[:-3000])
    pl.DataFrame({"op": ["R"] * 1000, "address": range(1000)}).write_parquet(folder / "whole")
    (folder / "cut.parquet").write_bytes((folder / "whole").read_bytes()[:-100])
    (folder / "table.csv").write_text("op,address,size\nR,0,512\n")
    write_foreign_program(folder / "foreign")
    (folder / "notes").write_text("no program\n")
    (folder / "notes").chmod(0o755)
    (folder / "broken.toml").write_text(PROFILE.format(write_time_us=20).replace("= 10", "= ten"))
    (folder / "cheap.toml").write_text(PROFILE.format(write_time_us=5))
    (folder / "deep.toml").write_text(f"x = {'[' * 5000}{']' * 5000}")
    for name, policies, analyses in EXPERIMENTS:
        (folder / f"{name}.toml").write_text(
            f'question = "x"\nexpected = "y"\ntraces = "textbook"\nframes = [3]\n'
            f"policies = {policies}\n{analyses}"
        )
    return folder


def write_foreign_program(path: Path) -> None:
    """Write the header of an ELF program of 64 bits for another machine."""
    number = next(n for m, n in {"x86_64": 62, "aarch64": 183}.items() if m != platform.machine())
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    header[18:20] = number.to_bytes(2, "little")
    path.write_bytes(header)
    path.chmod(0o755)


@pytest.fixture(scope="module")
def refusals(inputs: Path) -> Iterator[dict[Refusal, tuple[Run, list[str]]]]:
    """What each refused command said, and the files it left in a folder of its own."""
    folders = {}
    for number, refusal in enumerate(REFUSALS):
        folders[refusal] = inputs / f"run-{number}"
        folders[refusal].mkdir()
    before = sorted(os.listdir(inputs))
    words = [refusal.arguments.split() for refusal in folders]
    runs = run_each(words, inputs, list(folders.values()))
    left = [os.listdir(folder) for folder in folders.values()]
    yield dict(zip(folders, zip(runs, left, strict=True), strict=True))
    assert sorted(os.listdir(inputs)) == before


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.arguments)
def test_refused_in_one_sentence(
    refusals: dict[Refusal, tuple[Run, list[str]]], refusal: Refusal
) -> None:
    run, left = refusals[refusal]
    assert_one_sentence(run)
    assert run.code == refusal.code
    assert refusal.words in run.err
    assert left == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(clockhand: Clockhand, textbook: Path) -> None:
    textbook.chmod(0)
    run = clockhand("simulate", textbook.name, *FRAMES.split())
    assert_one_sentence(run)
    assert run.code == FAILED


def test_a_damaged_name_of_a_policy_is_refused(clockhand: Clockhand, textbook: Path) -> None:
    run = clockhand("simulate", textbook.name, "--policy", b"\xff\xfe", "--frames", "3")
    assert_one_sentence(run)
    assert run.code == WRONG_USAGE


OUTPUTS = (
    ("simulate", "--report", "report.html"),
    ("simulate", "--plots", "new/figures"),
    ("simulate", "--memory", "1%..100%", "--out", "rows.json"),
    ("simulate", "--plots", "figures", "--out", "rows.csv", "--report", "report.html"),
    ("convert", "trace.parquet"),
)


def writing(textbook: Path, large: Path, output: tuple[str, ...]) -> list[str]:
    """A command whose results need more room than the tests below leave."""
    if output[0] == "convert":
        return ["trace", "convert", str(large), *output[1:]]
    size = [] if "--memory" in output else ["--frames", "3,4"]
    return ["simulate", str(textbook), "--policy", "clock", "--policy", "lru", *size, *output[1:]]


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.trace"
    path.write_text(os_course(scattered_pages(100_000)))
    return path


def limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize("output", OUTPUTS, ids=" ".join)
def test_a_file_that_does_not_fit_leaves_nothing(
    textbook: Path, large: Path, output: tuple[str, ...]
) -> None:
    folder = textbook.parent / "results"
    folder.mkdir()
    run = run_clockhand(*writing(textbook, large, output), cwd=folder, preexec_fn=limit_file_size)
    assert run.code == FAILED
    assert run.out == b""
    assert "File too large" in run.err and "Traceback" not in run.err
    assert os.listdir(folder) == []


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("output", OUTPUTS, ids=" ".join)
def test_a_full_disk_leaves_nothing(
    textbook: Path, large: Path, full_disk: Path, output: tuple[str, ...]
) -> None:
    run = run_clockhand(*writing(textbook, large, output), cwd=full_disk)
    assert run.code == FAILED
    assert run.out == b""
    assert "No space left on device" in run.err and "Traceback" not in run.err
    assert os.listdir(full_disk) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "textbook.trace", *FRAMES.split()],
        ["simulate", "textbook.trace", "--policy", "lru", "--memory", "1%..100%", "--format=json"],
        ["policies"],
        ["policies", "craw"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_standard_output_on_a_full_disk_is_one_sentence(
    textbook: Path, arguments: list[str]
) -> None:
    with open("/dev/full", "wb") as full:
        run = run_clockhand(
            *arguments, cwd=textbook.parent, capture_output=False, stdout=full,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    assert_one_sentence(run)
    assert run.code == FAILED


def test_closed_standard_output_is_one_sentence(textbook: Path) -> None:
    shell = f"exec {EXECUTABLE} simulate textbook.trace {FRAMES} >&-"
    done = subprocess.run(
        ["sh", "-c", shell], cwd=textbook.parent, capture_output=True, timeout=300
    )
    assert_one_sentence(Run(done.returncode, done.stdout, done.stderr.decode()))
    assert done.returncode == FAILED


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_closed_standard_error_is_no_reason_to_fail(textbook: Path, closed: str) -> None:
    shell = f"exec {EXECUTABLE} simulate textbook.trace {FRAMES} --format json"
    whole, silent = (
        subprocess.check_output(["sh", "-c", text], cwd=textbook.parent)
        for text in (shell, f"{shell} {closed}")
    )
    assert silent == whole and whole.startswith(b"[")


def test_a_failed_run_keeps_the_results_of_an_earlier_one(
    clockhand: Clockhand, textbook: Path
) -> None:
    command: Callable[..., Run] = partial(clockhand, "simulate", "textbook.trace")
    assert command(*FRAMES.split(), "--out", "rows.csv").code == 0
    earlier = (textbook.parent / "rows.csv").read_bytes()
    refused = command(*FRAMES.split(), "--out", "rows.csv", "--report", "/dev/full")
    assert refused.code == FAILED
    assert (textbook.parent / "rows.csv").read_bytes() == earlier
