"""Agreement with libCacheSim, an independent simulator, where its package is installed.

Both replay the same page numbers with the same number of frames. Under the same rules the misses
are equal, to the last one. Elsewhere the miss ratios agree to the third digit, and the policy's
page names the difference.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import clockhand

libcachesim = pytest.importorskip(
    "libcachesim", reason="the package libcachesim is not installed: pip install libcachesim"
)

PAGE_BYTES = 4096
SHARED_TRACE = Path(__file__).resolve().parents[3] / "shared/traces/cloudPhysicsIO.vscsi.xz"

Pages = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Twin:
    """A policy and the same one in libCacheSim, made for a number of frames."""

    policy: str
    theirs: Callable[[int], Any]


SAME_RULES = [
    Twin("fifo", lambda frames: libcachesim.FIFO(frames)),
    Twin("lru", lambda frames: libcachesim.LRU(frames)),
    Twin("clock", lambda frames: libcachesim.Clock(frames)),
    Twin("clock:insert_ref=1", lambda frames: libcachesim.Clock(frames, init_freq=1)),
    Twin("lfu", lambda frames: libcachesim.LFU(frames)),
    Twin("arc", lambda frames: libcachesim.ARC(frames)),
    Twin("sieve", lambda frames: libcachesim.Sieve(frames)),
    Twin("s3-fifo:fill=main", lambda frames: libcachesim.S3FIFO(frames)),
    Twin("min", lambda frames: libcachesim.Belady(frames)),
]
OTHER_RULES = [
    Twin("2q", lambda frames: libcachesim.TwoQ(frames)),
]
LARGEST_DIFFERENCE = 0.0005
"""Of two miss ratios that agree to the third digit."""


def zipf_pages() -> Pages:
    """Return 200,000 references by Zipf's law to a million pages, ranked in random order."""
    generator = np.random.default_rng(1969)
    weights = 1 / np.arange(1, 1_000_001)
    shares = np.cumsum(weights) / weights.sum()
    ranks = np.searchsorted(shares, generator.random(200_000))
    return generator.permutation(1_000_000)[ranks].astype(np.uint64)


def requested_pages(trace: Path, folder: Path) -> Pages:
    """Return every page that the requests of a trace touch, in their order."""
    parquet = folder / "requests.parquet"
    clockhand.convert_traces(trace, out=parquet)
    requests = pl.read_parquet(parquet).filter(pl.col("size") > 0)
    first = requests["address"].to_numpy() // PAGE_BYTES
    last = (requests["address"].to_numpy() + requests["size"].to_numpy() - 1) // PAGE_BYTES
    counts = (last - first + 1).astype(np.int64)
    begins = np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(first, counts) + (np.arange(counts.sum()) - begins).astype(np.uint64)


def write_with_future(pages: Pages, path: Path) -> None:
    """Write pages in the format that tells libCacheSim when each is requested next."""
    with path.open("wb") as file:
        next_position: dict[int, int] = {}
        records = []
        for position in range(len(pages) - 1, -1, -1):
            page = int(pages[position])
            following = next_position.get(page, -1)
            records.append(struct.pack("<IQIq", position // 1000, page, 1, following))
            next_position[page] = position
        file.writelines(reversed(records))


@dataclass(frozen=True)
class Workload:
    """The same references for both simulators, and the memory sizes to compare."""

    pages: Pages
    file: Path
    frames: list[int]

    def our_misses(self, policy: str) -> list[int]:
        reads = np.zeros(len(self.pages), dtype=np.bool_)
        trace = clockhand.Trace.from_arrays(reads, self.pages * np.uint64(PAGE_BYTES))
        rows = clockhand.simulate(
            trace, policies=policy, frames=self.frames, page_size=PAGE_BYTES, device="unit"
        ).rows
        return rows["misses"].to_list()

    def their_misses(self, make: Callable[[int], Any]) -> list[int]:
        misses = []
        for frames in self.frames:
            reader = libcachesim.TraceReader(
                str(self.file), libcachesim.TraceType.ORACLE_GENERAL_TRACE
            )
            miss_ratio, _ = make(frames).process_trace(reader)
            misses.append(round(miss_ratio * len(self.pages)))
        return misses


@pytest.fixture(scope="module", params=["zipf", "cloudphysics"])
def workload(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Workload:
    folder = tmp_path_factory.mktemp("libcachesim")
    if request.param == "zipf":
        pages, frames = zipf_pages(), [100, 1_000, 10_000]
    else:
        if not SHARED_TRACE.exists():
            pytest.skip("the trace cloudPhysicsIO.vscsi.xz is not here")
        pages, frames = requested_pages(SHARED_TRACE, folder), [100, 1_000, 10_000]
    file = folder / "pages.oracleGeneral"
    write_with_future(pages, file)
    return Workload(pages, file, frames)


@pytest.mark.parametrize("twin", SAME_RULES, ids=lambda twin: twin.policy)
def test_the_same_rules_give_the_same_misses(workload: Workload, twin: Twin) -> None:
    assert workload.our_misses(twin.policy) == workload.their_misses(twin.theirs)


@pytest.mark.parametrize("twin", OTHER_RULES, ids=lambda twin: twin.policy)
def test_miss_ratios_agree_to_the_third_digit(workload: Workload, twin: Twin) -> None:
    ours = np.array(workload.our_misses(twin.policy)) / len(workload.pages)
    theirs = np.array(workload.their_misses(twin.theirs)) / len(workload.pages)
    assert ours == pytest.approx(theirs, rel=0, abs=LARGEST_DIFFERENCE)
