"""`clockhand translate` and `translate`: rows, files, sentences, report, and what is refused."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand.command.translate import for_people
from clockhand.studies.translate.charts import panels
from clockhand.studies.translate.findings import best_pages, findings, headline
from clockhand.study.columns import schema
from conftest import (
    Clockhand,
    assert_one_sentence,
    os_course,
    run_each,
)
from opened import opened_page

CONTRACT = [
    "trace", "page_bytes", "tlb_entries", "frames", "references", "tlb_hits", "tlb_misses",
    "page_faults", "t_addr_ns", "t_data_ns", "amat_ns", "storage_ratio", "device", "tlb2_hits",
    "walks", "walk_accesses", "write_ios", "promotions", "demotions", "promotion_fetches",
    "prefetched", "prefetched_in_vain", "kills", "page_table_bytes",
]  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]


def program(count: int = 6000) -> clockhand.Trace:
    """References to lines of 64 bytes with some locality, a quarter of them writes."""
    random = np.random.default_rng(5)
    pages = (np.arange(count) // 200 + random.integers(0, 30, count)) % 256
    addresses = pages * 4096 + random.integers(0, 64, count) * 64
    return clockhand.Trace.from_arrays(
        random.integers(0, 4, count) == 0, addresses.astype(np.uint64), name="program"
    )


def grid(**options: Any) -> clockhand.Translation:
    settings: dict[str, Any] = {
        "page_size": "512,4KiB,16KiB",
        "tlb": "4,16,64/4:plru",
        "memory": "20%,60%",
        "ratio": "1,100",
    }
    return clockhand.translate(program(), **{**settings, **options})


def test_a_case_worked_by_hand_in_python() -> None:
    # Two pages in four references: 2 faults, 2 TLB misses; a page of 4 KiB takes 10 x 50 x 64 ns.
    addresses = np.array([0, 4096, 64, 4160], dtype=np.uint64)
    trace = clockhand.Trace.from_arrays([False, True, False, True], addresses)
    run = clockhand.translate(trace, page_size=4096, tlb=64, frames=4, ratio=10, fixed_ns=100)
    (row,) = run.rows.to_dicts()
    assert (row["tlb_hits"], row["page_faults"], row["page_table_bytes"]) == (2, 2, 16)
    assert (row["t_addr_ns"], row["t_data_ns"], row["amat_ns"]) == (26.0, 16_100.0, 16_126.0)
    assert run.rows.schema == schema("translate")
    assert "--ratio 10" in run.facts["command"] and "--huge" not in run.facts["command"]


def test_rows_come_in_the_order_of_the_grid_and_every_list_is_a_dimension_of_it() -> None:
    rows = grid().rows
    order = rows.select("page_bytes", "memory", "tlb", "storage_ratio").rows()
    assert order == [
        (page, memory, tlb, ratio)
        for page in (512, 4096, 16384)
        for memory in ("20%", "60%")
        for tlb in ("4", "16", "64/4:plru")
        for ratio in (1.0, 100.0)
    ]
    assert grid(jobs=1).rows.equals(rows)
    both = grid(ratio=None, device=["slc-nand", "scm:ratio=1"])
    assert both.rows["device"].unique(maintain_order=True).to_list() == ["slc-nand", "scm:ratio=1"]
    assert both.rows["storage_ratio"].null_count() == both.rows.height
    # scm:ratio=1 is storage as fast as memory, and CLOCK has no c.
    like = both.rows.filter(pl.col("device") == "scm:ratio=1")["amat_ns"].to_list()
    assert like == rows.filter(pl.col("storage_ratio") == 1)["amat_ns"].to_list()


def test_memory_faults_as_simulate_says() -> None:
    split = grid(split=True, page_size="4KiB", policies=["lru", "craw:c=8"])
    simulated = clockhand.simulate(program(), policies=["lru", "craw:c=8"], memory="20%,60%").rows
    of_tlb = split.rows.filter((pl.col("tlb") == "4") & (pl.col("storage_ratio") == 1))
    assert of_tlb["page_faults"].to_list() == simulated["misses"].to_list()
    assert of_tlb["write_ios"].to_list() == simulated["write_ios"].to_list()


def test_huge_pages_prefetch_and_memory_without_swap_are_counted() -> None:
    options: dict[str, Any] = {"page_size": 4096, "tlb": 16, "ratio": 10, "memory": None}
    huge = grid(**options, frames=400, huge="16KiB:1/2", walk_levels=4, walk_cache=8).rows
    assert huge["promotions"][0] > 0 and huge["promotion_fetches"][0] > 0
    assert huge["walk_accesses"][0] < 4 * huge["walks"][0]
    ahead = grid(**options, frames=50, prefetch=4).rows
    plain = grid(**options, frames=50).rows
    assert ahead["prefetched"][0] > 0 and ahead["page_faults"][0] < plain["page_faults"][0]
    killed = grid(**options, frames=20, no_swap=True).rows
    assert killed["kills"][0] > 0 and killed["write_ios"][0] == killed["evictions"][0] == 0


def test_the_sentences_name_the_best_page_and_what_4_kib_costs() -> None:
    one = grid(tlb="16", memory="20%")
    sentences = findings(one.rows, one.facts)
    assert len(sentences) == 2
    assert re.fullmatch(
        r"On program with storage 100 times slower than memory, pages of 512.B are best: "
        r"[\d,.]+ ns per reference; 4.KiB takes \d+.% longer\.",
        sentences[1],
    )
    slow = one.rows.filter(pl.col("storage_ratio") == 100)
    best = best_pages(slow).row(0, named=True)
    times = dict(slow.select("page_bytes", "amat_ns").iter_rows())
    assert best["page_bytes"] == min(times, key=lambda size: times[size])
    assert best["usual_cost"] == pytest.approx(times[4096] / times[best["page_bytes"]] - 1)
    many = grid()
    first, second = findings(many.rows, many.facts)
    said = headline(many.rows, "t").replace("\u00a0", " ")
    assert (
        said == "Best page on t: 512 B or 4 KiB on storage as fast as memory or 100 \u00d7 slower"
    )
    assert "storage as fast as memory, the best page of 6 combinations of memory and TLB" in first
    assert "512\u00a0B in 3, 4\u00a0KiB in 3; 4\u00a0KiB takes 0\u00a0% to" in second
    (all_alike,) = findings(grid(memory="20%", ratio=100).rows, many.facts)
    assert "pages of 512\u00a0B are best in all 3 combinations of memory and TLB" in all_alike
    assert findings(grid(page_size="4KiB").rows, many.facts) == []


def test_the_table_has_a_row_for_each_page_size_memory_and_tlb() -> None:
    run = grid()
    shown = for_people(run.rows)
    assert shown.height == run.rows.height // 2
    assert shown.columns == ["page", "memory", "frames", "TLB", "TLB hits %", "faults %",
                             "address", "1 times", "100 times"]  # fmt: skip
    assert (
        shown["100 times"].to_list()
        == run.rows.filter(pl.col("storage_ratio") == 100)["amat_ns"].to_list()
    )
    assert "TLB 2" in for_people(grid(tlb2="32/4,0").rows).columns


def test_figures_are_those_that_the_grid_can_show() -> None:
    everything = [panel.key for panel in panels(grid().rows)]
    assert everything == [
        "access-time-1", "access-time-2",
        "tlb-hit-rate-entries", "tlb-hit-rate-page-size", "page-fault-rate-page-size",
    ]  # fmt: skip
    stacked = panels(grid().rows)[1]
    cell = grid().rows.row(1, named=True)
    assert [record["y"] for record in stacked.records[:2]] == [cell["t_data_ns"], cell["t_addr_ns"]]
    one = [panel.key for panel in panels(grid(page_size=512, tlb=4, ratio=1).rows)]
    assert one == ["access-time-1"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.trace"
    path.write_text(os_course((0, 1, 3, 1, 64, 65, 1, 129, 0, 3, 3, 3)))
    return path


@pytest.mark.usefixtures("small")
def test_json_is_an_array_of_rows_with_the_columns_of_the_contract_first(
    clockhand: Clockhand,
) -> None:
    run = clockhand(
        "translate", "small.trace", "--page-size", "512,4KiB", "--tlb", "0,2,4/2:fifo", "--tlb2",
        "8/4", "--frames", "3", "--device", "slc-nand", "--format", "json",
    )  # fmt: skip
    assert (run.code, run.err) == (0, "")
    rows = json.loads(run.out)
    assert len(rows) == 6
    assert list(rows[0])[: len(CONTRACT)] == CONTRACT
    assert list(rows[0]) == list(schema("translate"))
    for row in rows:
        assert row["references"] == 12 == row["tlb_hits"] + row["tlb_misses"]
        assert row["tlb_misses"] == row["tlb2_hits"] + row["walks"]
        assert row["amat_ns"] == pytest.approx(row["t_addr_ns"] + row["t_data_ns"])
        assert (row["storage_ratio"], row["device"]) == (None, "slc-nand")


def test_all_formats_hold_the_same_rows(clockhand: Clockhand, small: Path) -> None:
    words = ("translate", "small.trace", "--memory", "50%", "--walk-levels", "2")
    for ending in ("json", "csv", "parquet"):
        assert clockhand(*words, "--out", f"rows.{ending}").code == 0
    parquet = pl.read_parquet(small.parent / "rows.parquet")
    assert parquet.height == 8 * 4
    from_json = json.loads((small.parent / "rows.json").read_text())
    assert pl.DataFrame(from_json, schema=schema("translate")).equals(parquet)
    assert pl.read_csv(small.parent / "rows.csv", schema=schema("translate")).equals(parquet)


def test_table_report_and_plots_through_the_executable(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    trace = ROOT / "traces/tar-gzip.parquet"
    run = clockhand(
        "translate", trace, "--limit", "100000", "--page-size", "1KiB,4KiB", "--tlb", "8,64",
        "--memory", "20%", "--ratio", "1,10", "--report", "report.html", "--plots", "plots",
    )  # fmt: skip
    assert run.code == 0, run.err
    text = run.out.decode()
    assert "times are ns per reference" in text and "TLB hits %" in text
    assert "with storage 10 times slower than memory" in text
    plots = {path.name for path in (tmp_path / "plots").iterdir()}
    assert {"tlb-hit-rate-entries.svg", "access-time-2.png"} <= plots
    page = (tmp_path / "report.html").read_text()
    for words in ("TLB hit rate and entries", "Access time, storage as fast as memory",
                  "second chance", "All rows"):  # fmt: skip
        assert words in page
    opened_page(tmp_path / "report.html")


WRONG_USAGE = 2
ON_SMALL = "translate small.trace --frames 4 "
REFUSALS = (
    ("translate small.trace", "--frames or by --memory"),
    (ON_SMALL + "--tlb 64/5", "cannot be divided into sets of 5 ways"),
    (ON_SMALL + "--tlb 12:plru", "a power of two"),
    (ON_SMALL + "--tlb 64:mru", "lru, fifo, random or plru"),
    (ON_SMALL + "--tlb 64 --tlb2 32:fifo", "replaced as the first"),
    ("translate small.trace --memory 2KiB --page-size 4KiB", "holds no page of 4096 bytes"),
    (ON_SMALL + "--huge 2MiB --page-size 4KiB,2MiB", "--huge 2097152 bytes is not 2, 4, 8"),
    (ON_SMALL + "--huge 12KiB --page-size 4KiB", "leave out --page-size 4096"),
    (ON_SMALL + "--huge 16KiB:2", "above 0 and at most 1"),
    (ON_SMALL + "--prefetch 129", "--prefetch 129 is out of range"),
    (ON_SMALL + "--prefetch -1", "--prefetch -1 is out of range"),
    (ON_SMALL + "--walk-levels 0", "from 1 to 8"),
    (ON_SMALL + "--page-size 3000", "a power of two"),
    (ON_SMALL + "--ratio 0", "--ratio 0 is no storage"),
    (ON_SMALL + "--ratio fast", '--ratio "fast"'),
    (ON_SMALL + "--t-mem -5", '--t-mem "-5"'),
    (ON_SMALL + "--ratio 1 --device scm", "give one of them"),
    (ON_SMALL + "--policy bound", "--policy bound pages nothing"),
    (ON_SMALL + "--policy crow", 'did you mean "craw"?'),
    (ON_SMALL + "--seed -1", "--seed -1 is out of range"),
    (
        "translate numbers.bin --trace-format oracle-general-opns --assume-reads --frames 4",
        "numbers blocks of 4096 bytes",
    ),
)


def test_what_is_wrong_is_refused_in_one_sentence(small: Path) -> None:
    folder = small.parent
    numbers = ROOT / "crates/trace/tests/excerpts/oracle-general-opns.bin"
    shutil.copy(numbers, folder / "numbers.bin")
    runs = run_each([arguments.split() for arguments, _ in REFUSALS], folder)
    for (arguments, words), run in zip(REFUSALS, runs, strict=True):
        assert run.code == WRONG_USAGE, (arguments, run.err)
        assert_one_sentence(run)
        assert words in run.err, (arguments, run.err)
