"""`clockhand ssd` and `run_ssd`: rows, files, report, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand.command.ssd import for_people
from clockhand.studies.ssd.findings import findings, geometry_line, years_text
from clockhand.studies.ssd.tables import CELL, WEAR
from clockhand.study.columns import schema
from conftest import (
    Clockhand,
    assert_one_sentence,
    os_course,
    run_each,
)

CONTRACT = [
    "trace", "buffer", "buffer_pages", "ssd", "references", "read_hits", "write_hits",
    "dirty_pages_flushed", "clean_pages_flushed", "batches", "nvm_writes", "residual_dirty",
    "host_writes", "flash_programs", "erases", "waf",
]  # fmt: skip
# The drive of A-77's example: 8 logical pages, 5 blocks of 4.
EXAMPLE_DRIVE = "dnv-textbook:size=32KiB,pages_per_block=4"
EXAMPLE_WRITES = (0, 1, 2, 3, 4, 5, 6, 7, 0, 4, 1, 5, 0, 4, 0, 4, 2)


def written(pages: tuple[int, ...], **columns: Any) -> clockhand.Trace:
    addresses = np.array(pages, dtype=np.uint64) * 4096
    return clockhand.Trace.from_arrays([True] * len(pages), addresses, **columns)


def overwrites(count: int = 4000, pages: int = 3500) -> clockhand.Trace:
    """Uniform random overwrites of most of the drive `small`, one per millisecond."""
    drawn = np.random.default_rng(7).integers(0, pages, count)
    times_ns = np.arange(count, dtype=np.uint64) * 1_000_000
    return written(tuple(int(page) for page in drawn), time_ns=times_ns, name="overwrites")


@pytest.fixture
def block_trace(tmp_path: Path) -> Path:
    path = tmp_path / "block.trace"
    path.write_text(os_course((0, 1, 3, 1, 64, 65, 1, 129, 0, 3)))
    return path


def test_the_example_of_a_77_in_python() -> None:
    run = clockhand.run_ssd(
        written(EXAMPLE_WRITES),
        buffers="lru:total=1",
        ssds=EXAMPLE_DRIVE,
        precondition="none",
        drain=True,
    )
    (row,) = run.rows.to_dicts()
    assert (row["host_writes"], row["flash_programs"], row["erases"]) == (17, 21, 2)
    assert row["waf"] == pytest.approx(21 / 17)
    assert run.rows.schema == schema("ssd") and list(run.wear.schema) == [*CELL, *WEAR]
    assert run.wear.select("erases", "blocks").rows() == [(0, 3), (1, 2)]
    assert "--drain" in run.facts["command"] and "--endurance" not in run.facts["command"]


def test_several_sizes_stand_in_one_buffer() -> None:
    run = clockhand.run_ssd(
        written(EXAMPLE_WRITES), buffers="lru:total=1,3,fab:total=1..4", ssds=EXAMPLE_DRIVE
    )
    buffers = ["lru:total=1", "lru:total=3", "fab:total=1", "fab:total=2", "fab:total=4"]
    assert run.rows["buffer"].to_list() == buffers
    assert run.rows["buffer_pages"].to_list() == [1, 3, 1, 2, 4]


def test_a_mapping_is_an_option_of_the_drive_and_fills_its_columns() -> None:
    drive = "dnv-textbook:size=32KiB,pages_per_block=4,over_provisioning=100%"
    run = clockhand.run_ssd(
        written(EXAMPLE_WRITES * 9),
        buffers="lru:total=1",
        ssds=[drive, f"{drive},mapping=fast", f"{drive},mapping=dftl,cmt_entries=2"],
    )
    page, fast, dftl = run.rows.to_dicts()
    assert (page["partial_merges"], page["cmt_misses"]) == (None, None)
    assert fast["partial_merges"] > 0 and fast["cmt_misses"] is None
    assert dftl["cmt_misses"] > 0 and dftl["translation_programs"] > 0
    busy_us = sum(page[what] * us for what, us in (("flash_reads", 25), ("flash_programs", 200)))
    assert page["device_busy_us"] == busy_us + 1500 * page["erases"]


@pytest.mark.usefixtures("block_trace")
def test_json_is_an_array_of_rows_with_the_columns_of_the_contract_first(
    clockhand: Clockhand,
) -> None:
    run = clockhand(
        "ssd", "block.trace", "--buffer", "clock-dnv:total=3,dram_share=1/3", "--buffer",
        "fab:total=3", "--ssd", "small", "--ssd", "dnv-textbook:size=8MiB", "--format", "json",
    )  # fmt: skip
    assert (run.code, run.err) == (0, "")
    rows = json.loads(run.out)
    assert [(row["ssd"], row["buffer"]) for row in rows] == [
        (ssd, buffer)
        for ssd in ("small", "dnv-textbook:size=8MiB")
        for buffer in ("clock-dnv:total=3,dram_share=1/3", "fab:total=3")
    ]
    assert list(rows[0])[: len(CONTRACT)] == CONTRACT
    assert list(rows[0]) == list(schema("ssd"))
    assert rows[0]["buffer_resolved"].startswith("clock-dnv:dram_share=1/3,")
    assert rows[0]["ssd_resolved"].startswith("small:")
    for row in rows:
        served = row["read_hits"] + row["write_hits"]
        assert row["references"] == 10 and row["hit_ratio"] == served / 10
        assert row["host_writes"] == row["dirty_pages_flushed"] + row["clean_pages_flushed"]


def test_all_formats_hold_the_same_rows(clockhand: Clockhand, block_trace: Path) -> None:
    words = ("ssd", "block.trace", "--buffer", "bplru:total=2", "--ssd", "small")
    files = [f"rows.{ending}" for ending in ("json", "csv", "parquet")]
    for file in files:
        assert clockhand(*words, "--out", file).code == 0
    folder = block_trace.parent
    parquet = pl.read_parquet(folder / "rows.parquet")
    assert pl.DataFrame(
        json.loads((folder / "rows.json").read_text()), schema=schema("ssd")
    ).equals(parquet)
    assert pl.read_csv(folder / "rows.csv", schema=schema("ssd")).equals(parquet)


@pytest.mark.usefixtures("block_trace")
def test_the_table_says_how_the_drive_is_divided_and_that_nothing_was_collected(
    clockhand: Clockhand,
) -> None:
    run = clockhand("ssd", "block.trace", "--buffer", "fab:total=2", "--ssd", "small")
    text = run.out.decode()
    for words in ("raw 4,096 pages", "logical 3,561 pages", "of raw", "of logical", "alpha"):
        assert words in text
    assert "Collection never started on block.trace" in text
    assert "fab:total=2" in text and "to flash" in text


def test_a_run_with_collection_says_how_long_the_drive_lasts() -> None:
    buffers = ["clock-dnv:total=64", "fab:total=64"]
    run = clockhand.run_ssd(
        overwrites(), buffers=buffers, ssds="small", precondition="random", endurance=3000,
        repeat="until-steady",
    )  # fmt: skip
    assert run.rows["collection_started"].all() and run.rows["waf"].min() > 1.5
    assert run.facts["ssds"][0]["preconditioned"]["is_steady"]
    sentences = " ".join(findings(run.rows, run.facts))
    assert "at the trace's rate" in sentences and "drive writes per day" in sentences
    assert "Collection never started" not in sentences
    assert "steady" in geometry_line(run.facts["ssds"][0])
    assert {"years", "NVM years"} <= set(for_people(run.rows).columns)
    by_rate = run.rows["life_repetitions"] * (3999 * 1e6 / (365 * 86400 * 1e9))
    assert run.rows["life_years"].to_list() == pytest.approx(by_rate.to_list())


def test_a_run_below_one_drive_write_is_warned_of_and_has_no_years() -> None:
    run = clockhand.run_ssd(
        overwrites(),
        buffers="fab:total=64",
        ssds="dnv-textbook:size=64MiB",
        precondition="random:1",
    )
    assert run.rows["drive_writes"][0] < 1 and run.rows["life_years"][0] is None
    sentences = " ".join(findings(run.rows, run.facts))
    assert "Less than one drive write" in sentences and "--repeat until-steady" in sentences
    assert "years" not in sentences.replace("5 years", "")


def test_the_sentences_compare_buffers_of_one_size() -> None:
    run = clockhand.run_ssd(
        overwrites(), buffers=["lru:total=64", "bplru:total=64", "lru:total=32"], ssds="small"
    )
    (sentence,) = [text for text in findings(run.rows, run.facts) if "fewest" in text]
    said = sentence.replace("\u00a0", " ")
    assert said.startswith("With 256 KiB of buffer, lru writes the fewest pages to flash")


def test_the_title_of_a_report_is_the_best_buffer_in_a_line(tmp_path: Path) -> None:
    for buffers, title in (
        (["lru:total=64", "bplru:total=64"], "lru writes the fewest pages to flash with 256 KiB"),
        (
            ["lru:total=32", "bplru:total=32", "lru:total=64", "bplru:total=64"],
            "lru writes the fewest pages to flash at both sizes",
        ),
    ):
        run = clockhand.run_ssd(overwrites(), buffers=buffers, ssds="small")
        run.write_report(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text().replace("\u00a0", " ")
        assert re.search(f"<h1>{title}, by [0-9.]+ %</h1>", page)


@pytest.mark.parametrize(
    ("years", "text"),
    [(12.345, "12.3 years"), (0.5, "182 days"), (0.001, "8.76 hours"), (5.02e-5, "26.4 minutes")],
)
def test_a_short_life_is_told_in_days_or_less(years: float, text: str) -> None:
    assert years_text(years) == text


def test_at_one_size_lru_and_the_buffers_that_write_least_have_colours() -> None:
    names = ("clock-dnv", "fab", "cbm", "lru", "clock", "craw", "lru-wsr", "bplru")
    buffers = [f"{name}:total=64" for name in names]
    run = clockhand.run_ssd(overwrites(), buffers=buffers, ssds="small")
    bars = run.specifications()["host_writes"]["layer"][0]
    scale = bars["encoding"]["color"]["scale"]
    shades = dict(zip(scale["domain"], scale["range"], strict=True))
    grey = max(shades.values(), key=list(shades.values()).count)
    best = [*run.rows.sort("host_writes", maintain_order=True)["buffer"].to_list()[:3], "lru"]
    assert {name for name in names if shades[name] != grey} == {
        name.partition(":")[0] for name in best
    }


def test_a_seed_is_a_run_and_threads_change_nothing() -> None:
    options: dict[str, Any] = {
        "buffers": ["fab:total=16", "cbm:total=16", "craw:total=16"],
        "ssds": "small:victim=d-choices:2",
        "precondition": "random:2",
    }
    first = clockhand.run_ssd(overwrites(), **options, seed=3, jobs=1)
    again = clockhand.run_ssd(overwrites(), **options, seed=3, jobs=3)
    other = clockhand.run_ssd(overwrites(), **options, seed=4)
    assert first.rows.equals(again.rows) and first.wear.equals(again.wear)
    assert not first.rows["erases"].equals(other.rows["erases"])


def test_report_and_plots_are_written(clockhand: Clockhand, tmp_path: Path) -> None:
    trace = tmp_path / "hot.parquet"
    recipe = "zipf:skew=0.9,footprint=8MiB,reads=30%"
    clockhand_synthesize = ("trace", "synthesize", recipe, "hot.parquet", "--requests", "20000")
    assert clockhand(*clockhand_synthesize).code == 0 and trace.exists()
    sizes = [f"{name}:total={size}" for name in ("fab", "clock-dnv") for size in ("16", "32")]
    words = [word for size in sizes for word in ("--buffer", size)]
    run = clockhand(
        "ssd", "hot.parquet", *words, "--ssd", "small", "--precondition", "random:1",
        "--report", "report.html", "--plots", "plots",
    )  # fmt: skip
    assert run.code == 0 and run.err.startswith("report.html: the report; open it in a browser\n")
    page = (tmp_path / "report.html").read_text()
    for words_of_page in (
        "Pages written to flash", "Write amplification", "Wear: blocks", "hot.parquet (synthetic)",
        "3,561", "Kang", "alpha",
    ):  # fmt: skip
        assert words_of_page in page
    plots = {path.name for path in (tmp_path / "plots").iterdir()}
    assert {"hit_ratio.svg", "host_writes.png", "wear.svg", "erases.svg"} <= plots


def test_pages_of_buffers_and_drives(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(
        'summary = "mine"\nsource = "me"\n[drive]\nsize = "8MiB"\npages_per_block = 16\n'
        'page_bytes = 4096\nover_provisioning = "20%"\n'
    )
    pages = (["policies", "fab"], ["policies", "lru"], ["devices", "dnv-paper"],
             ["devices", "mine.toml"], ["policies"], ["devices"])  # fmt: skip
    runs = run_each(pages, tmp_path)
    assert [run.code for run in runs] == [0] * len(pages)
    fab, lru, paper, mine, policies, devices = (run.out.decode() for run in runs)
    assert "clean_padding" in fab and "write buffer" in fab
    assert "LRU: least recently used" in lru and "cache_reads" in lru
    assert "17.65 % of logical" in paper and "154 blocks" in mine
    assert "clock-dnv" in policies and "dnv-textbook" in devices


FAILED, WRONG_USAGE = 1, 2
ON_SMALL = "ssd block.trace --ssd small --buffer "
REFUSALS = (
    (ON_SMALL + "fab", WRONG_USAGE, "add total=SIZE"),
    (ON_SMALL + "fab:total=4000", WRONG_USAGE, "give it a smaller total"),
    (ON_SMALL + "fab:total=0", WRONG_USAGE, "is not a size"),
    (ON_SMALL + "car:total=4", WRONG_USAGE, "is no write buffer; the write buffers are clock-dnv"),
    (ON_SMALL + "clock-dvn:total=4", WRONG_USAGE, 'did you mean "clock-dnv"?'),
    (ON_SMALL + "fab:total=4,threshold=2", WRONG_USAGE, "clean_padding"),
    (ON_SMALL + "clock-dnv:total=1", WRONG_USAGE, "no page of NVM"),
    (ON_SMALL + "fab:total=4 --precondition old", WRONG_USAGE, "use fill, random"),
    (ON_SMALL + "fab:total=4 --map fold", WRONG_USAGE, "original, wrap or compact"),
    (ON_SMALL + "fab:total=4 --endurance 0", WRONG_USAGE, "from 1 to"),
    (ON_SMALL + "fab:total=4 --jobs 0", WRONG_USAGE, "from 1 to"),
    (ON_SMALL + "fab:total=4 --out x.json --report x.json", WRONG_USAGE, "different names"),
    (ON_SMALL + "fab:total=4 --report missing/x.html", FAILED, "make its folder first"),
    ("ssd block.trace --ssd smal --buffer fab:total=4", WRONG_USAGE, "did you mean 'small'?"),
    ("ssd block.trace --ssd small:over_provisioning=0% --buffer fab:total=4", WRONG_USAGE, "above"),
    ("ssd block.trace --ssd contradiction.toml --buffer fab:total=4", FAILED, "line 4: size"),
    ("ssd block.trace --ssd broken.toml --buffer fab:total=4", FAILED, "broken.toml, line"),
    ("ssd far.trace --ssd small --buffer fab:total=4", WRONG_USAGE, "--map wrap or --map compact"),
    ("ssd missing.trace --ssd small --buffer fab:total=4", FAILED, "missing.trace"),
    ("ssd block.trace --ssd small", WRONG_USAGE, "'--buffer'"),
)


def test_what_is_wrong_is_refused_in_one_sentence(block_trace: Path) -> None:
    folder = block_trace.parent
    (folder / "far.trace").write_text(os_course((0, 5_000)))
    (folder / "broken.toml").write_text('summary = "x"\nsource = 3\n')
    (folder / "contradiction.toml").write_text(
        'summary = "x"\nsource = "y"\n[drive]\nsize = "8MiB"\nblocks_per_plane = 9\n'
        'pages_per_block = 16\npage_bytes = 4096\nover_provisioning = "20%"\n'
    )
    before = set(folder.iterdir())
    runs = run_each([arguments.split() for arguments, _, _ in REFUSALS], folder)
    for (arguments, code, words), run in zip(REFUSALS, runs, strict=True):
        assert run.code == code, (arguments, run.err)
        assert_one_sentence(run)
        assert words in run.err, (arguments, run.err)
    assert set(folder.iterdir()) == before
