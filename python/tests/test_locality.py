"""Locality from Python and from the command: the examples of the definitions, tables, refusals."""

import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import clockhand
from clockhand import Trace, convert_traces, locality
from clockhand.studies.locality.findings import write_verdict
from clockhand.studies.locality.tables import TABLES
from clockhand.study.knee import knee
from conftest import Clockhand, assert_one_sentence, os_course, run_all

COMMITTED = Path(__file__).resolve().parents[2] / "traces/tar-gzip.parquet"


def trace(references: str, name: str = "example") -> clockhand.Trace:
    """Make a trace of page references such as ``r1 w2``."""
    words = references.split()
    ops = [word[0].upper() for word in words]
    addresses = [int(word[1:]) * 4096 for word in words]
    return clockhand.Trace.from_arrays(ops, addresses, name=name)


def counts(found: clockhand.Locality, ranking: str, op: str) -> list[int]:
    chosen = (pl.col("ranking") == ranking) & (pl.col("op") == op)
    references: list[int] = found.ranks.filter(chosen)["references"].to_list()
    return references


def test_three_separate_lists_count_stack_distances() -> None:
    found = clockhand.locality(trace("r1 w1 r2 w3 r1 w1 w3 r2"))
    assert counts(found, "recency", "all") == [2, 1, 2]
    assert counts(found, "recency", "read") == [0, 2]
    assert counts(found, "recency", "write") == [0, 2]
    assert found.summary["pages"].to_list() == [3, 2, 2, 2]
    assert found.summary["re_references"].to_list() == [5, 2, 2, 2]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [("stable", [0, 3, 2]), ("recent", [1, 2, 2]), ("best", [2, 2, 1])],
)
def test_ties_of_write_counts_are_broken_as_asked(ties: str, expected: list[int]) -> None:
    found = clockhand.locality(trace("w1 w2 w3 w2 w3 w3 w1 w2"), ties=ties)
    assert counts(found, "frequency", "write") == expected


def test_shares_are_of_all_references_of_the_kind() -> None:
    row = clockhand.locality(trace("r1 w1 r2 w3 r1 w1 w3 r2")).summary.row(0, named=True)
    assert row["top_1_share"] == 2 / 8
    assert row["top_10_share"] == row["top_100_share"] == 5 / 8
    # One percent of three pages is less than a page; the top rank is the least there is.
    assert row["top_1_percent_share"] == row["top_10_percent_share"] == 2 / 8


def test_an_inversion_displaces_what_stands_above_its_ranges_mean() -> None:
    # Recency ranks 1, 3, 3, 3: rank 2 is never used, rank 3 three times.
    found = clockhand.locality(trace("r1 r2 r3 r3 r1 r2 r3"))
    assert counts(found, "recency", "read") == [1, 0, 3]
    (row,) = found.inversions.filter(op="read").rows(named=True)
    assert (row["first_rank"], row["last_rank"], row["references"]) == (1, 3, 4)
    assert row["displaced_references"] == pytest.approx(3 - 4 / 3)
    assert row["displaced_share"] == pytest.approx((3 - 4 / 3) / 4)


def test_the_curve_holds_what_lru_counts_at_every_size() -> None:
    curve = clockhand.locality(COMMITTED, device="mlc-nand").miss_curve
    simulated = clockhand.simulate(
        COMMITTED, policies="lru", frames=[1, 33, 110, 581], device="mlc-nand"
    ).rows
    shared = ["frames", "references", "misses", "read_misses", "write_misses", "read_ios",
              "write_ios", "io_time_us", "footprint_pages", "memory_share"]  # fmt: skip
    assert curve["frames"].to_list() == list(range(1, 582))
    at = curve.filter(pl.col("frames").is_in([1, 33, 110, 581]))
    assert_frame_equal(at.select(shared), simulated.select(shared))


def test_working_sets_and_recency_of_a_small_trace() -> None:
    found = clockhand.locality(trace("r1 w1 r2 r1"))
    sets = found.working_set.filter(op="all")
    assert sets["window_references"].to_list() == [1, 2, 3, 4]
    assert sets["mean_pages"].to_list() == [1, 6 / 4, 6 / 4, 6 / 4]
    assert found.working_set.filter(op="write")["mean_pages"].to_list() == [0.25, 0.5, 0.75, 0.75]
    assert found.recency.select("recency_pages", "read_references", "write_references").rows() == [
        (0, 0, 1),
        (1, 1, 0),
    ]


def test_the_probability_of_a_rank_counts_only_references_made_while_a_page_had_it() -> None:
    found = clockhand.locality(trace("r1 r1 r2 r1 r1"))
    probabilities = found.ranks.filter(op="all")["re_reference_probability"].to_list()
    assert probabilities == [2 / 4, 1 / 2]
    alone = clockhand.locality(trace("r1")).ranks.filter(op="all")
    assert alone["re_reference_probability"].to_list() == [None]


def test_a_trace_without_writes_has_no_write_ranks() -> None:
    found = clockhand.locality(trace("r1 r2 r1"))
    assert counts(found, "recency", "write") == counts(found, "frequency", "write") == []
    assert found.summary.filter(op="write")["top_10_share"].to_list() == [None, None]
    assert write_verdict(found.summary).lead == "No page is written twice."


def test_the_verdict_follows_the_shares_of_the_top_ranks() -> None:
    # Page 0 is written again and again, always after another one: frequency puts it first.
    often = " ".join(f"w0 w{page}" for page in range(1, 40))
    # A loop that moves on: what was written last is written next, whatever was written most.
    moving = " ".join(f"w{page}" for page in range(40) for _ in range(3))
    assert (
        "Write frequency predicts" in write_verdict(clockhand.locality(trace(often)).summary).lead
    )
    assert "Write recency predicts" in write_verdict(clockhand.locality(trace(moving)).summary).lead


def test_the_knee_is_where_the_curve_bends_most() -> None:
    assert knee([1, 2, 3, 4, 5], [100, 90, 5, 4, 3]) == 3
    assert knee([1, 2, 3], [5, 5, 5]) is None
    assert knee([1, 2], [5, 1]) is None
    assert knee([1, 2, 3], [30, 20, 10]) is None


def test_a_sample_of_all_pages_is_exact_and_one_of_some_states_its_error() -> None:
    exact = clockhand.locality(COMMITTED).miss_curve
    everything = clockhand.locality(COMMITTED, sample=1.0).miss_curve
    assert everything["misses_standard_error"].to_list() == [0.0] * everything.height
    columns = ["frames", "misses", "write_ios"]
    beside = everything.select(columns).join(exact.select(columns), on="frames")
    assert beside.height == everything.filter(pl.col("frames") <= 581).height
    assert (beside["misses"] == beside["misses_right"]).all()
    assert (beside["write_ios"] == beside["write_ios_right"]).all()
    usual = clockhand.locality(COMMITTED, sample="auto").miss_curve
    assert_frame_equal(usual, clockhand.locality(COMMITTED, sample=0.1).miss_curve)
    some = clockhand.locality(COMMITTED, sample=128, seed=3)
    assert some.summary.is_empty() and some.ranks.is_empty()
    assert (some.miss_curve["misses_standard_error"] > 0).all()
    assert "pages were followed" in some.facts["traces"][0]["notes"][-1]


def test_several_traces_stand_below_each_other() -> None:
    traces = [trace("r1 w1", "one"), trace("w2 r2 r3", "two")]
    found = clockhand.locality(traces, every=2)
    for name, schema in TABLES.items():
        table = found.table(name)
        assert dict(table.schema) == dict(schema)
        if name != "inversions":
            assert table["trace"].unique(maintain_order=True).to_list() == ["one", "two"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ties": "first"}, ["ties ", "stable, recent or best"]),
        ({"sample": "0"}, ["sample ", "whole number of pages"]),
        ({"sample": 0.0}, ["sample ", "above 0"]),
        ({"seed": -1}, ["seed -1"]),
        ({"page_size": 3000}, ["page_size "]),
        ({"device": "paper"}, ["paper"]),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(clockhand.UsageError) as refused:
        clockhand.locality(trace("r1"), **options)
    assert all(word in str(refused.value) for word in words), refused.value


def test_no_trace_is_refused() -> None:
    with pytest.raises(clockhand.UsageError, match="no trace"):
        clockhand.locality([])


def test_the_equivalent_command_gives_the_same_rows(clockhand: Clockhand, textbook: Path) -> None:
    import clockhand as library

    found = library.locality(textbook, page_size="8KiB", sample="50%", seed=7)
    words = found.facts["command"].split()
    assert words[:2] == ["clockhand", "locality"]
    run = clockhand(*words[1:], "--format", "json")
    assert (run.code, run.err) == (0, "")
    rows = pl.DataFrame(json.loads(run.out), schema=TABLES["miss-curve"])
    assert_frame_equal(rows, found.miss_curve)


@pytest.mark.usefixtures("textbook")
def test_every_table_is_written_in_every_format(clockhand: Clockhand, tmp_path: Path) -> None:
    import clockhand as library

    found = library.locality(tmp_path / "textbook.trace", every=3)
    readers: dict[str, Callable[[bytes, Any], pl.DataFrame]] = {
        "json": lambda content, schema: pl.DataFrame(json.loads(content), schema=schema),
        "csv": lambda content, schema: pl.read_csv(content, schema=schema),
        "parquet": lambda content, _: pl.read_parquet(io.BytesIO(content)),
    }
    cells = [(name, format) for name in TABLES for format in readers]
    command = ["locality", str(tmp_path / "textbook.trace"), "--rows"]
    runs = run_all(
        [
            lambda name=name, format=format: clockhand(
                *command,
                name,
                "--format",
                format,
                *(["--every", "3"] if name == "intervals" else []),
            )
            for name, format in cells
        ]
    )
    for (name, format), run in zip(cells, runs, strict=True):
        assert (run.code, run.err) == (0, ""), name
        assert_frame_equal(readers[format](run.out, TABLES[name]), found.table(name))


@pytest.mark.usefixtures("textbook")
def test_the_summary_for_people_has_shares_verdict_curve_and_knees(clockhand: Clockhand) -> None:
    run = clockhand("locality", "textbook.trace")
    assert (run.code, run.err) == (0, "")
    text = run.out.decode()
    assert "textbook.trace: 20 references to 6 pages, 9 writes" in text
    for words in ("write by frequency", "predict", "Ranking inversions displace", "Knees: "):
        assert words in text
    # Three frames: 8 of the textbooks' 20 references hit under LRU.
    assert re.search(r"3 +50\.0 % +60\.000 +", text)


@pytest.mark.usefixtures("textbook")
def test_a_sampled_summary_has_the_curve_and_its_errors(clockhand: Clockhand) -> None:
    run = clockhand("locality", "textbook.trace", "--sample", "0.5", "--seed", "2")
    assert (run.code, run.err) == (0, "")
    text = run.out.decode()
    assert "references to about" in text and "misses ±" in text
    assert "predict" not in text


@pytest.mark.usefixtures("textbook")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["textbook.trace", "--rows", "curves"], "--rows 'curves'"),
        (["textbook.trace", "--rows", "ranks", "--sample", "64"], "leave out --sample"),
        (["textbook.trace", "--sample", "2"], "--sample"),
        (["textbook.trace", "--ties", "none"], "--ties"),
        (["textbook.trace", "--out", "x", "--report", "x"], "different names"),
        ([], "Missing argument"),
    ],
)
def test_wrong_usage_is_one_sentence(
    clockhand: Clockhand, arguments: list[str], words: str
) -> None:
    run = clockhand("locality", *arguments)
    assert run.code == 2
    assert_one_sentence(run)
    assert words in run.err


def test_a_missing_trace_fails_in_one_sentence(clockhand: Clockhand, tmp_path: Path) -> None:
    run = clockhand("locality", "absent.trace", "--out", "rows.csv")
    assert run.code == 1
    assert_one_sentence(run)
    assert not os.listdir(tmp_path)


def test_skipped_lines_are_told(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "bad.trace").write_text(os_course(range(40)) + "what\n")
    run = clockhand("locality", "bad.trace", "--trace-format", "os-course", "--format", "json")
    assert run.code == 0
    assert "malformed records that were skipped: 1" in run.err


@pytest.mark.usefixtures("textbook")
def test_plots_are_one_picture_for_each_panel(clockhand: Clockhand, tmp_path: Path) -> None:
    run = clockhand("locality", "textbook.trace", "--plots", "figures", "--format", "json")
    assert (run.code, run.err) == (0, "figures: 20 files\n")
    panels = ["all-by-recency", "io-time", "misses", "re-reference-probability", "read-by-recency",
              "recency", "working-set", "write-by-frequency", "write-by-recency",
              "write-ios"]  # fmt: skip
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == sorted(f"{panel}.{suffix}" for panel in panels for suffix in ("svg", "png"))
    text = (tmp_path / "figures/write-by-frequency.svg").read_text()
    assert "Writes, by frequency" in text and "textbook.trace" in text


def test_larger_distances_than_there_are_references_do_not_overflow() -> None:
    pages = np.arange(3000, dtype=np.uint64)
    ends = clockhand.Trace.from_arrays(
        np.ones(6000, dtype=bool), np.concatenate([pages, pages[::-1]]) * 4096, name="turn"
    )
    found = clockhand.locality(ends)
    assert counts(found, "recency", "write") == [1] * 3000
    assert found.summary["inversion_share"].to_list()[0] == 0.0


def test_the_documentation_names_every_table() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/locality.md").read_text(encoding="utf-8")
    assert [name for name in TABLES if f"`{name}`" not in page] == []


def test_a_thinned_curve_has_exact_rows_and_says_how_far_lines_between_them_are_off(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    pages = [place * place % 4001 % 1700 for place in range(30_000)]
    trace = Trace.from_arrays([page % 3 == 0 for page in pages], [page * 4096 for page in pages])
    whole = locality(trace).miss_curve
    found = locality(trace, points=40)
    thin = found.miss_curve
    assert 2 <= thin.height <= 40 < whole.height
    assert thin.rows() == whole.join(thin.select("frames"), on="frames").rows()
    [note] = [note for note in found.facts["traces"][0]["notes"] if "straight lines" in note]
    assert note.startswith(f"the miss curve has {thin.height} of {whole.height:,} sizes; between")
    stated = re.search(r"at most ([\d,.]+) misses or writes", note)
    assert stated is not None
    most = 0.0
    for column in ("misses", "read_misses", "write_misses", "write_ios"):
        line = np.interp(whole["frames"], thin["frames"], thin[column])
        most = max(most, float(np.abs(line - whole[column].to_numpy()).max()))
    assert abs(most - float(stated[1].replace(",", ""))) <= 0.05 + 1e-6
    assert most < 0.01 * 30_000
    convert_traces(trace, tmp_path / "t.parquet")
    run = clockhand(
        "locality", "t.parquet", "--rows", "miss-curve", "--points", "40", "--out", "c.csv"
    )
    assert run.code == 0 and "t.parquet: the miss curve has " in run.err, run.err
    assert pl.read_csv(tmp_path / "c.csv").height == thin.height
    refused = clockhand("locality", "t.parquet", "--points", "1")
    assert refused.code == 2
