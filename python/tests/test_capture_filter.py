"""The cache filter of the capture front ends, against a slow twin and the reader's own filter, and
the stream of what it lets through."""

import random
import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
import pytest

from clockhand import ClockhandError, Trace, convert_traces
from clockhand._engine import convert_capture
from clockhand.capture import Caches
from clockhand.capture.building import SOURCES

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

FETCH, LOAD, STORE = range(3)
Access = tuple[int, int, int]
Record = tuple[str, int]

TINY = Caches(instruction_bytes=64, data_bytes=64, ways=2, line_bytes=32)
"""Two lines of one set, of instructions and of data: small enough to follow by hand."""

TINY_SECOND = Caches(
    instruction_bytes=64, data_bytes=64, ways=2, line_bytes=32, second_bytes=128, second_ways=4
)

SHAPES = [
    TINY,
    TINY_SECOND,
    Caches(),
    Caches(instruction_bytes=128, data_bytes=256, ways=1, line_bytes=4),
    Caches(instruction_bytes=192, data_bytes=384, ways=3, line_bytes=64),
    Caches(
        instruction_bytes=256, data_bytes=256, ways=4, line_bytes=16, second_bytes=96, second_ways=6
    ),
]


class TwinCache:
    """One cache as the textbook has it: a set is a list of (line, dirty), the oldest first."""

    def __init__(self, size_bytes: int, ways: int, line_bytes: int) -> None:
        self.ways = ways
        self.sets: list[list[tuple[int, bool]]] = [
            [] for _ in range(size_bytes // ways // line_bytes)
        ]

    def touch(self, line: int, dirty: bool) -> tuple[bool, int | None]:
        """Touch a line; whether it was there, and which dirty line had to leave."""
        lines = self.sets[line % len(self.sets)]
        for entry in lines:
            if entry[0] == line:
                lines.remove(entry)
                lines.append((line, dirty or entry[1]))
                return True, None
        lines.append((line, dirty))
        if len(lines) <= self.ways:
            return False, None
        victim, was_dirty = lines.pop(0)
        return False, victim if was_dirty else None


class Twin:
    """The filter, slow and literal."""

    def __init__(self, caches: Caches) -> None:
        shape = (caches.ways, caches.line_bytes)
        self.line_bytes = caches.line_bytes
        self.instructions = TwinCache(caches.instruction_bytes, *shape)
        self.data = TwinCache(caches.data_bytes, *shape)
        self.second = None
        if caches.second_bytes:
            self.second = TwinCache(caches.second_bytes, caches.second_ways, caches.line_bytes)
        self.records: list[Record] = []

    def access(self, kind: int, address: int, size_bytes: int) -> None:
        if size_bytes == 0:
            return
        last_byte = min(address + size_bytes - 1, 2**64 - 1)
        for line in range(address // self.line_bytes, last_byte // self.line_bytes + 1):
            first = self.instructions if kind == FETCH else self.data
            hit, victim = first.touch(line, kind == STORE)
            if victim is not None:
                self.to_memory("W", victim)
            if not hit:
                self.to_memory("IRA"[kind], line)

    def to_memory(self, record_class: str, line: int) -> None:
        if self.second is not None:
            hit, victim = self.second.touch(line, record_class == "W")
            if victim is not None:
                self.record("W", victim)
            if hit or record_class == "W":
                return
        self.record(record_class, line)

    def record(self, record_class: str, line: int) -> None:
        self.records.append((record_class, line * self.line_bytes))


def twins_records(caches: Caches, accesses: Iterable[Access]) -> list[Record]:
    twin = Twin(caches)
    for access in accesses:
        twin.access(*access)
    return twin.records


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The filter with a main function."""
    program = tmp_path_factory.mktemp("driver") / "filter_driver"
    source = Path(__file__).parent / "programs/filter_driver.c"
    flags = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
    include = f"-I{SOURCES / 'filter'}"
    subprocess.run(["cc", *flags, include, str(source), "-o", str(program)], check=True)
    return program


def written_stream(
    driver: Path, stream: Path, caches: Caches, accesses: Sequence[Access], mode: str
) -> Path:
    shape = [
        caches.instruction_bytes,
        caches.data_bytes,
        caches.ways,
        caches.line_bytes,
        caches.second_bytes,
        caches.second_ways,
    ]
    packed = b"".join(struct.pack("<QQQ", *access) for access in accesses)
    command = [str(driver), str(stream), mode, *map(str, shape)]
    subprocess.run(command, input=packed, check=True)
    return stream


def records_of(trace: Path) -> list[Record]:
    frame = pl.read_parquet(trace).select(pl.col("class").cast(pl.String), "address")
    return list(frame.iter_rows())


def filtered(
    driver: Path, folder: Path, caches: Caches, accesses: Sequence[Access], mode: str = "all"
) -> list[Record]:
    stream = written_stream(driver, folder / "stream.1.0", caches, accesses, mode)
    convert_capture([stream], folder / "out.parquet", [])
    return records_of(folder / "out.parquet")


def random_accesses(seed: int, count: int = 4000) -> list[Access]:
    """Accesses to a few thousand bytes with much repetition, some across lines, some far away."""
    draw = random.Random(seed)
    accesses = []
    for _ in range(count):
        base = draw.choice([0, 0, 0, 4096, 0x1FFE_FFE0, 0x7FFF_FFFF_F000, 2**64 - 4096])
        address = base + draw.choice([draw.randrange(64), draw.randrange(4000)])
        accesses.append((draw.randrange(3), address, draw.choice([1, 4, 8, 8, 16, 32, 200])))
        if draw.random() < 0.3:
            accesses.append((draw.choice([LOAD, STORE]), address, 1))
    return accesses


@pytest.mark.parametrize(
    ("caches", "accesses", "expected"),
    [
        (TINY, [(LOAD, 0, 4), (LOAD, 28, 4), (STORE, 8, 4)], [("R", 0)]),
        (TINY, [(STORE, 0, 4), (LOAD, 0, 4)], [("A", 0)]),
        (
            TINY,
            [(STORE, 0, 4), (LOAD, 32, 4), (LOAD, 64, 4)],
            [("A", 0), ("R", 32), ("W", 0), ("R", 64)],
        ),
        (TINY, [(FETCH, 0, 4), (LOAD, 0, 4), (FETCH, 4, 4)], [("I", 0), ("R", 0)]),
        (TINY, [(LOAD, 30, 36)], [("R", 0), ("R", 32), ("R", 64)]),
        (TINY, [(LOAD, 5, 0)], []),
        # The clean victim of the first level is found in the second; the dirty one goes there.
        (
            TINY_SECOND,
            [(STORE, 0, 4), (LOAD, 32, 4), (LOAD, 64, 4), (LOAD, 0, 4)],
            [("A", 0), ("R", 32), ("R", 64)],
        ),
        # Line 0 is dirty in the second level only, and leaves it as its oldest line.
        (
            TINY_SECOND,
            [(STORE, 0, 4), *((LOAD, 32 * line, 4) for line in range(1, 7))],
            [
                ("A", 0),
                *(("R", 32 * line) for line in range(1, 5)),
                ("W", 0),
                ("R", 160),
                ("R", 192),
            ],
        ),
    ],
)
def test_cases_worked_by_hand(
    driver: Path,
    tmp_path: Path,
    caches: Caches,
    accesses: list[Access],
    expected: list[Record],
) -> None:
    assert twins_records(caches, accesses) == expected
    # A stream without a record makes no trace of its own; a fetch far away is one.
    far = [(FETCH, 2**40, 1)]
    assert filtered(driver, tmp_path, caches, accesses + far) == [*expected, ("I", 2**40)]


@pytest.mark.parametrize("mode", ["all", "compared"])
@pytest.mark.parametrize("caches", SHAPES, ids=str)
def test_the_filter_lets_through_what_the_twin_does(
    driver: Path, tmp_path: Path, caches: Caches, mode: str
) -> None:
    for seed in range(3):
        accesses = random_accesses(seed)
        assert filtered(driver, tmp_path, caches, accesses, mode) == twins_records(caches, accesses)


@pytest.mark.parametrize("seed", range(3))
def test_the_reader_filters_as_the_front_ends_do(driver: Path, tmp_path: Path, seed: int) -> None:
    # An access past the end of the address space is malformed to a reader.
    accesses = [access for access in random_accesses(seed) if access[1] + access[2] <= 2**64]
    kinds = {FETCH: "I ", LOAD: " L", STORE: " S"}
    lines = [f"{kinds[kind]} {address:x},{size}\n" for kind, address, size in accesses]
    (tmp_path / "lackey").write_text("".join(lines))
    trace = Trace(tmp_path / "lackey", format="lackey", cpu_cache=True)
    convert_traces(trace, tmp_path / "read.parquet")
    expected = filtered(driver, tmp_path, Caches(), accesses)
    assert records_of(tmp_path / "read.parquet") == expected


def test_a_stream_that_was_cut_gives_its_whole_records(driver: Path, tmp_path: Path) -> None:
    accesses = random_accesses(7, count=120)
    stream = written_stream(driver, tmp_path / "stream.1.0", TINY, accesses, "all")
    whole, expected = stream.read_bytes(), twins_records(TINY, accesses)
    lengths = []
    for length in range(0, len(whole), 7):
        stream.write_bytes(whole[:length])
        (process,) = convert_capture([stream], tmp_path / "out.parquet", [])
        assert process["end"] == "cut"
        records = records_of(tmp_path / "out.parquet")
        assert records == expected[: len(records)]
        assert sum(process["classes"].values()) == len(records)
        lengths.append(len(records))
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(expected)


def test_a_file_that_is_no_stream_is_named(tmp_path: Path) -> None:
    (tmp_path / "stream.1.0").write_text("no stream at all")
    with pytest.raises(ClockhandError, match=r"stream\.1\.0, byte 0: there is no mark"):
        convert_capture([tmp_path / "stream.1.0"], tmp_path / "out.parquet", [])
    assert not (tmp_path / "out.parquet").exists()


def test_streams_interleave_by_the_times_of_their_blocks(driver: Path, tmp_path: Path) -> None:
    pieces = []
    for number in range(2):
        name = tmp_path / f"stream.{number}.0"
        accesses = [(LOAD, 64 * number, 1)]
        pieces.append(written_stream(driver, name, TINY, accesses, "all"))
    later = bytearray(pieces[0].read_bytes())
    # The time of the block of records, which follows the header block.
    at = 8 + 13 + int.from_bytes(later[9:13], "little")
    assert later[at : at + 1] == b"R"
    later[at + 5 : at + 13] = (5).to_bytes(8, "little")
    pieces[0].write_bytes(later)
    convert_capture(pieces, tmp_path / "out.parquet", [])
    frame = pl.read_parquet(tmp_path / "out.parquet")
    assert frame["stream"].to_list() == [1, 0]
