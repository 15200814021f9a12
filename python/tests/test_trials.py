# ruff: noqa: E501
"""Trials from a fixed seed: damaged inputs of every format, and command lines of every kind.

The rule is one for all: exit code 0, 1 or 2; a failure is one sentence; no file is lost and none is
left half-written; memory and time are bounded. ``make torture`` tries more of them, and
``CLOCKHAND_TRIALS_SEED`` others.
"""

import gzip
import lzma
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from many_commands import Done, assert_told, run_many

TRIALS = int(os.environ.get("CLOCKHAND_TRIALS", "300"))
SEED = int(os.environ.get("CLOCKHAND_TRIALS_SEED", "1"))
MEMORY_LIMIT = 256 << 20
LIBRARIES_BYTES = 400 << 20
"""Memory of the libraries before a command does anything, and of allocators."""

LONGEST_SECONDS = 40
EXCERPTS = Path(__file__).parents[2] / "crates/trace/tests/excerpts"
BORDERS = (
    b"18446744073709551616", b"18446744073709551615", b"4294967296", b"4294967295", b"-1", b"0",
    b"1e308", b"nan", b"", b"\n\n", b"\r", b"\x00", b"\xff\xff\xff\xff\xff\xff\xff\xff", b"PAR1",
    b"\xff\xff\xff\x7f",
)  # fmt: skip
ENDINGS = (
    "csv",
    "parquet",
    "spc",
    "din",
    "csv.gz",
    "fio-iolog",
    "vscsi",
    "msr",
    "nothing",
    "lackey",
)

VALUES: dict[str, tuple[str, ...]] = {
    "--policy": ("clock", "craw", "lru", "min", "cflru:window_share=1/3", "crow", "craw:c=0", "bound", ""),
    "--frames": ("3", "1,2,3", "0", "-1", "64,,2", "1e9", "4294967295", "5000000000"),
    "--memory": ("5%", "1%..100%", "64MiB", "0%", "101%", "9%..3%", "", "1TiB"),
    "--page-size": ("4KiB", "512", "3000", "0", "1EiB", "2MiB", "1"),
    "--device": ("slc-nand", "scm:ratio=10", "absent", "device.toml", "scm:ratio=7", "none.toml:x=1"),
    "--bits": ("exact", "mapped", "sensed", "some"),
    "--reserve": ("0", "1", "-1", "99999999999"),
    "--seed": ("0", "-1", "18446744073709551615", "x"),
    "--jobs": ("1", "0", "2"),
    "--limit": ("10", "0", "-1", "99999999999999999999"),
    "--skip": ("1", "1000000"),
    "--only": ("reads", "writes", "anonymous", "some"),
    "--streams": ("0", "0-3", "3-0", "x"),
    "--view": ("paper", "bus", "fault", "some"),
    "--memory-limit": ("64MiB", "1KiB", "x"),
    "--format": ("json", "csv", "table", "parquet", "xml"),
    "--buffer": ("fab:total=2", "clock-dnv:total=10%", "clock-dnv:total=8,padding=off,pad_migrating=true",
                 "fab", "fab:total=0", "lru:total=99TiB", "crow:total=1"),
    "--ssd": ("small", "small:victim=fifo", "drive.toml", "absent", "small:over_provisioning=0%",
              "dnv-textbook:size=64KiB"),
    "--precondition": ("fill", "none", "random:1", "random:-1", "some"),
    "--map": ("compact", "wrap", "original", "some"),
    "--repeat": ("1", "3", "0", "until-steady", "x"),
    "--endurance": ("10", "0", "-1"),
    "--rows": ("summary", "miss-curve", "", "some"),
    "--sample": ("10%", "100", "0", "-1%", "x"),
    "--ties": ("stable", "best", "some"),
    "--trace-format": ("csv", "dinero", "parquet", "absent"),
    "--to": ("csv", "parquet", "spc", "absent"),
    "--label": ("a=b", "=x", "x", "a="),
    "--requests": ("100", "0", "-1", "1k", "x"),
    "--arrivals": ("constant:100", "poisson:0", "none", "some:1"),
}  # fmt: skip
READING = ("--limit", "--skip", "--only", "--streams", "--view", "--memory-limit", "--trace-format")
SHOWING = ("--format",)
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "simulate": (("--policy", "--frames"), ("--memory", "--page-size", "--device", "--bits",
                 "--reserve", "--seed", "--jobs", *READING, *SHOWING)),
    "ssd": (("--buffer", "--ssd"), ("--precondition", "--map", "--repeat", "--endurance", "--seed",
            *READING, *SHOWING)),
    "locality": ((), ("--rows", "--sample", "--ties", "--page-size", "--device", *READING, *SHOWING)),
    "recommend": (("--frames",), ("--device", "--page-size", *READING, *SHOWING)),
    "watch": (("--policy", "--frames"), ("--page-size", "--device", "--bits", "--seed", *READING)),
    "trace info": ((), ("--page-size", *READING, *SHOWING)),
    "trace convert": ((), ("--to", "--label", *READING)),
    "trace synthesize": ((), ("--requests", "--seed", "--arrivals")),
}  # fmt: skip
RECIPES = ("uniform:footprint=1MiB", "zipf:skew=0.9,footprint=64KiB,reads=70%", "loop", "zipf:skew=-1",
           "uniform:footprint=0", "recipe.toml", "a + b then c")  # fmt: skip

DEVICE = b"""summary = "x"
source = "y"
charged = "per-page"
[read]
time_us = 10
[write]
time_us = 20
"""
DRIVE = b"""summary = "x"
source = "y"
[drive]
blocks_per_plane = 64
pages_per_block = 16
page_bytes = 4096
over_provisioning = "15%"
"""
EXPERIMENT = b"""question = "x"
expected = "y"
traces = ["whole.trace"]
policies = ["clock", { craw = { c = [1, 8], ghosts = [true] } }]
frames = [2, 3]
page_sizes = ["4KiB", 512]
devices = ["slc-nand"]
bits = ["exact", "mapped"]
seed = 1

[[analysis]]
title = "times"
value = "io_time_us"
rows = ["policy"]
columns = "frames"
relative_to = "clock"
where = { frames = [2, 3] }
"""
RECIPE = b"""requests = "1k"
seed = 1
pattern = "uniform:footprint=1MiB"
"""


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Damage a file as a disk, a download or a person might."""
    text = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.randint(0, 60))
        way = chance.randrange(7)
        if way == 0 and text:
            text[start % len(text)] ^= 1 << chance.randrange(8)
        elif way == 1:
            del text[start:]
        elif way == 2:
            del text[start:end]
        elif way == 3:
            text[start:start] = text[start:end] * chance.randint(1, 200)
        elif way == 4:
            text[start:end] = chance.choice(BORDERS)
        elif way == 5:
            text[start:start] = chance.choice(BORDERS)
        else:
            text = bytearray(bytes(text).replace(b"\n", chance.choice((b"\r", b"\r\n", b" "))))
    packed: Callable[[bytes], bytes] = chance.choice(
        (bytes, bytes, bytes, gzip.compress, lzma.compress)
    )
    return packed(bytes(text))


class Trials:
    """Makes the files and the command lines of the trials."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.excerpts = sorted(
            path
            for path in EXCERPTS.iterdir()
            if path.suffix != ".md" and not path.name.endswith(".expected.csv")
        )
        (folder / "whole.trace").write_bytes(b"".join(b"%x R\n" % (n * 4096) for n in range(40)))
        for name, content in (
            ("device.toml", DEVICE), ("drive.toml", DRIVE), ("recipe.toml", RECIPE)
        ):  # fmt: skip
            (folder / name).write_bytes(content)

    def case(self, number: int) -> list[str]:
        """Return the words of a trial whose files are in the folder."""
        kind = self.chance.randrange(10)
        if kind < 5:
            return self._damaged_trace(number)
        if kind < 7:
            return self._damaged_toml(number)
        return self._command_line(number)

    def _trace(self, number: int) -> tuple[str, str]:
        excerpt = self.chance.choice(self.excerpts)
        name = f"{number}-{excerpt.name}"
        (self.folder / name).write_bytes(damaged(excerpt.read_bytes(), self.chance))
        return name, excerpt.name.partition(".")[0]

    def _damaged_trace(self, number: int) -> list[str]:
        name, format = self._trace(number)
        bounded = ["--memory-limit", f"{MEMORY_LIMIT >> 20}MiB"]
        if self.chance.random() < 0.6:
            bounded += ["--trace-format", format, "--assume-reads"]
        ending = self.chance.choice(ENDINGS)
        return self.chance.choice((
            ["trace", "info", name, *bounded],
            ["simulate", name, "--policy", "craw", "--frames", "3", *bounded],
            ["trace", "convert", name, f"{number}-out.{ending}", "--widen", *bounded],
            ["ssd", name, "--buffer", "fab:total=4", "--ssd", "small", "--map", "compact", *bounded],
            ["locality", name, *bounded],
        ))  # fmt: skip

    def _damaged_toml(self, number: int) -> list[str]:
        kind, content = self.chance.choice((
            ("experiment", EXPERIMENT), ("device", DEVICE), ("drive", DRIVE), ("recipe", RECIPE)
        ))  # fmt: skip
        name = f"{number}-{kind}.toml"
        text = bytearray(content)
        for _ in range(self.chance.randint(1, 2)):
            start = self.chance.randrange(len(text))
            end = start + self.chance.randint(0, 12)
            text[start:end] = self.chance.choice(
                (
                    b"",
                    b"[]",
                    b"{}",
                    b"0",
                    b"-1",
                    b'""',
                    b"1e999",
                    b"nan",
                    b"[[]]",
                    b"\xff",
                    b"9" * 30,
                )
            )
        (self.folder / name).write_bytes(bytes(text))
        return {
            "experiment": ["sweep", name, "--dataset", f"{number}-cells", "--jobs", "1"],
            "device": ["simulate", "whole.trace", "--policy", "lru", "--frames", "3", "--device", name],
            "drive": ["ssd", "whole.trace", "--buffer", "fab:total=4", "--map", "compact", "--ssd", name],
            "recipe": ["trace", "synthesize", name, f"{number}-out.parquet", "--requests", "100"],
        }[kind]  # fmt: skip

    def _command_line(self, number: int) -> list[str]:
        command = self.chance.choice(list(COMMANDS))
        needed, others = COMMANDS[command]
        words = command.split()
        if command == "trace synthesize":
            words += [self.chance.choice(RECIPES), f"{number}-out.parquet"]
        else:
            words.append("whole.trace" if self.chance.random() < 0.8 else self._trace(number)[0])
        if command == "trace convert":
            words.append(f"{number}-out.{self.chance.choice(ENDINGS)}")
        if command == "watch":
            words += ["--out", f"{number}-out.html"]
        for option in (*needed, *self.chance.sample(others, min(len(others), 3))):
            words += [option, self.chance.choice(VALUES[option])]
        return words


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Done], dict[Path, bytes], Path]:
    """What became of all trials, what the files held before, and where they are."""
    folder = tmp_path_factory.mktemp("trials")
    maker = Trials(folder, SEED)
    cases = [maker.case(number) for number in range(TRIALS)]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    return run_many(cases, folder), before, folder


def test_every_trial_ends_with_0_1_or_2_and_one_sentence(
    trials: tuple[list[Done], dict[Path, bytes], Path],
) -> None:
    done, _, _ = trials
    for run in done:
        assert_told(run)
    codes = {run.code for run in done}
    assert codes == {0, 1, 2}, "the trials are of all kinds"


def test_no_trial_loses_a_file_or_leaves_one_half_written(
    trials: tuple[list[Done], dict[Path, bytes], Path],
) -> None:
    done, before, folder = trials
    assert all(path.read_bytes() == content for path, content in before.items())
    failed = {run.words for run in done if run.code}
    made = {word for words in failed for word in words if "-out." in word}
    assert not [name for name in made if (folder / name).exists()]
    assert not list(folder.rglob(".clockhand-*"))


def test_every_trial_is_bounded_in_memory_and_time(
    trials: tuple[list[Done], dict[Path, bytes], Path],
) -> None:
    for run in trials[0]:
        assert run.peak_bytes < LIBRARIES_BYTES + 2 * MEMORY_LIMIT, run
        assert run.seconds < LONGEST_SECONDS, run
    shutil.rmtree(trials[2])
