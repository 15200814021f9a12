"""What is made of a pager's statistics: rows, findings, tables, reports, comparisons."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clockhand import UsageError
from clockhand.command.live import LiveView, bar_of, sparkline
from clockhand.studies.programs.comparison import contenders, differing_output
from clockhand.studies.programs.findings import (
    beside,
    comparison_findings,
    comparison_for_people,
    device_reads,
    medians,
    not_comparable,
    processes_for_people,
    run_findings,
    unpaged,
)
from clockhand.studies.programs.memory_group import Charged, Swapped
from clockhand.studies.programs.options import ProgramSettings, kept_frames
from clockhand.studies.programs.plan import Planned
from clockhand.studies.programs.report import render, render_comparison
from clockhand.studies.programs.rows import RUN_SCHEMA, disagreements, failures, other_bits
from clockhand.studies.programs.samples import MOST_SAMPLES, Moments, Samples
from clockhand.studies.programs.turns import (
    COMPARED_SAMPLE_SCHEMA,
    COMPARISON_SCHEMA,
    kernel_notes,
    summed_samples,
)
from clockhand.studies.programs.used import Used
from programs_example import AGREEING, compared, courses, facts, rows_of, sampled, statistics
from report_example import unpacked

HOSTILE = "<script>document.title='taken'</script>"


def test_rows_have_the_simulators_reads_and_writes() -> None:
    rows = rows_of(statistics(), statistics(process=4712, forked=True))
    assert rows.schema == RUN_SCHEMA
    assert rows["stream"].to_list() == [0, 1]
    # Every miss reads a page, and every dirty eviction writes one.
    assert rows["read_ios"].to_list() == rows["misses"].to_list() == [100, 100]
    assert rows["write_ios"].to_list() == rows["dirty_evictions"].to_list() == [30, 30]
    assert rows["page_bytes"][0] == 4096
    assert rows["mapped_misses"].is_null().all()


def test_a_disagreement_with_the_simulator_names_process_and_counts() -> None:
    assert disagreements(rows_of(statistics(), **AGREEING)) == []
    assert disagreements(rows_of(statistics())) == []
    (sentence,) = disagreements(rows_of(statistics(), **{**AGREEING, "mapped_misses": 101}))
    assert "sort (process 4711)" in sentence and "misses 100 against 101" in sentence
    assert "evictions" not in sentence and "--record" in sentence


def test_the_last_fault_may_be_cut_short_by_the_end_but_no_other() -> None:
    cut = {**AGREEING, "mapped_dirty_evictions": 29, "mapped_write_ios": 29, "mapped_read_ios": 99}
    assert disagreements(rows_of(statistics(), **cut)) == []
    for name, value in (("read_ios", 98), ("read_ios", 101), ("misses", 99)):
        (sentence,) = disagreements(rows_of(statistics(), **{**AGREEING, f"mapped_{name}": value}))
        assert f"against {value}" in sentence


def test_a_process_that_failed_need_not_agree_but_is_reported() -> None:
    failed = statistics(failure="the pager was killed")
    rows = rows_of(failed, **{**AGREEING, "mapped_misses": 101})
    assert disagreements(rows) == []
    assert failures(rows) == ["sort (process 4711): the pager was killed"]


def test_sensed_bits_are_compared_with_sensed_ones_and_their_lack_is_said() -> None:
    simulated = {name.replace("mapped", "sensed"): value for name, value in AGREEING.items()}
    rows = rows_of(statistics(bits="sensed"), **simulated)
    assert disagreements(rows) == [] and other_bits(rows, "sensed") == []
    assert beside(rows)["counted by"][1] == "simulator, sensed"
    assert "counts the same" in run_findings(rows, facts())[1]
    (sentence,) = disagreements(rows.with_columns(sensed_misses=pl.lit(99, pl.UInt64)))
    assert "misses 100 against 99" in sentence
    (sentence,) = other_bits(rows_of(statistics(), statistics()), "sensed")
    assert "sort (process 4711) and 1 more" in sentence and "mapped ones" in sentence


def test_memory_that_is_not_paged_is_reported_where_there_is_much() -> None:
    mebibytes = 1 << 20
    rows = rows_of(
        statistics(footprint_pages=256, unpaged_bytes=4 * mebibytes),
        statistics(footprint_pages=256, unpaged_bytes=16 * mebibytes, process=12),
    )
    (sentence,) = unpaged(rows)
    assert sentence.startswith(
        "sort (process 12), and 1 more like it, had 16 MiB in memory that was not paged, "
    )
    assert sentence in run_findings(rows, facts())
    assert not unpaged(rows_of(statistics(footprint_pages=9999, unpaged_bytes=8 * mebibytes)))
    assert not unpaged(rows_of(statistics(footprint_pages=1, unpaged_bytes=4 * mebibytes - 1)))


def test_failed_writes_are_reported() -> None:
    (sentence,) = failures(rows_of(statistics(write_errors=1200)))
    assert "1,200 writes to swap failed" in sentence


def test_devices_that_may_have_written_unseen_are_reported() -> None:
    rows = rows_of(statistics(), statistics(process=12, device_reads="has an io_uring: it is lost"))
    assert device_reads(rows) == ["sort (process 12) has an io_uring: it is lost."]
    assert run_findings(rows, facts())[1:] == device_reads(rows)
    compared_rows = compared(("clock", 3.0, 100, 25), ("craw", 2.0, 50, 50))
    assert comparison_findings(compared_rows)[-1] != "it is lost."
    lost = pl.Series("device_reads", ["it is lost.", "so is this."])
    assert comparison_findings(compared_rows.with_columns(lost))[-1] == "it is lost."


def test_the_table_beside_has_three_lines_per_process_in_per_cent_of_the_pager() -> None:
    table = beside(rows_of(statistics(), **AGREEING))
    assert table["counted by"].to_list() == ["pager", "simulator, mapped", "simulator, exact"]
    assert table["misses %"].to_list() == [100.0, 100.0, 90.0]
    assert table["writes %"].to_list() == [100.0, 100.0, pytest.approx(110.0)]
    assert beside(rows_of(statistics())).is_empty()


def test_findings_say_what_it_cost_and_how_far_mapped_is_from_exact() -> None:
    cost, agreement, distance = run_findings(rows_of(statistics(), **AGREEING), facts())
    assert cost == (
        "100 misses in 2.00 s under clock with 256 KiB: 40 pages are read from swap and 28 written."
    )
    assert "300 references" in agreement
    assert "10.0 % fewer misses and 10.0 % more writes" in distance
    two = rows_of(statistics(), statistics())
    assert "with 256 KiB for each of 2 processes: " in run_findings(two, facts())[0]


def test_the_table_of_processes_leaves_out_nothing_that_is_known() -> None:
    table = processes_for_people(rows_of(statistics()))
    assert table["process"].to_list() == ["sort (4711)"]
    assert {"misses", "reads", "writes", "time s", "pager s"} <= set(table.columns)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("clock,craw,kernel", ["clock", "craw", "kernel"]),
        ("craw:c=8,ghosts=literal,clock", ["craw:c=8,ghosts=literal", "clock"]),
        ("clock, kernel,clock", ["clock", "kernel"]),
        ("nru:mode=scan,cfclock:window_share=1/4", ["nru:mode=scan", "cfclock:window_share=1/4"]),
    ],
)
def test_parameters_stay_with_their_policy_in_a_list(text: str, names: list[str]) -> None:
    assert contenders(text) == names


@pytest.mark.parametrize("text", ["", "clock,,craw", ","])
def test_an_empty_name_in_a_list_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="names nothing"):
        contenders(text)


def test_medians_are_over_the_runs_of_a_contender() -> None:
    rows = compared(("clock", 3.0, 10, 5), ("clock", 1.0, 20, 5), ("clock", 2.0, 60, 8))
    (row,) = medians(rows).to_dicts()
    assert (row["runs"], row["seconds"], row["pages_read"]) == (3, 2.0, 20)
    assert (row["seconds_least"], row["seconds_most"]) == (1.0, 3.0)


def test_a_comparison_tells_the_fastest_and_each_policy_against_the_kernel() -> None:
    once = [("clock", 3.0, 100, 50), ("craw", 1.5, 80, 25), ("kernel", 2.0, 50, 0)]
    rows = compared(*once, *once)
    sentences = comparison_findings(rows)
    assert sentences[0] == (
        "craw is the fastest, 2.00 times as fast as clock: 1.50 s (median; 1.50 to 1.50)."
    )
    assert "by kernel: 0." in sentences[1]
    assert "1.50 times the kernel's time, reads 2.00 times its pages" in sentences[2]
    assert "writes 25 pages against none" in sentences[3]
    assert comparison_for_people(rows)["vs kernel"].to_list() == [1.5, 0.75, 1.0]


def test_nobody_is_the_fastest_where_times_overlap_or_were_taken_once() -> None:
    rows = compared(("clock", 3.0, 1, 1), ("craw", 2.0, 1, 1), ("nru", 9.0, 1, 1))
    assert comparison_findings(rows)[0] == (
        "craw took least time, 2.00 s, and nru most, 9.00 s, in one run each, which says little."
    )
    two = compared(("clock", 3.0, 1, 0), ("craw", 2.0, 1, 0))
    assert comparison_findings(two)[:2] == [
        "craw took 2.00 s and clock 3.00 s, in one run each, which says little.",
        "No pages were written to swap.",
    ]
    setting = {"memory of each process": "8 MiB, 2,048 frames", "swap": "/swap.img"}
    page = render_comparison(
        two, pl.DataFrame(schema=COMPARED_SAMPLE_SCHEMA), facts(options=setting)
    )
    assert "One run each · memory of each process 8 MiB, 2,048 frames · swap /swap.img" in page
    again = compared(("clock", 1.9, 1, 1), ("craw", 2.2, 1, 1), ("nru", 8.0, 1, 1))
    assert comparison_findings(pl.concat([rows, again]))[0] == (
        "None is the fastest: the times of craw and clock overlap (medians 2.10 to 2.45 s)."
    )


def test_pages_of_zeros_that_nobody_wrote_are_named_beside_the_writes() -> None:
    rows = compared(("clock", 3.0, 100, 25), ("kernel", 2.0, 50, 50), zero_pages_not_written=1234)
    sentences = comparison_findings(rows)
    assert "by clock: 25 (and 1,234 of zeros left unwritten)." in sentences[1]
    assert sentences[2].endswith("0.50 times its pages (and 1,234 of zeros left unwritten).")
    assert comparison_for_people(rows)["zero pages"].to_list() == [1234, 1234]


def test_a_contender_with_a_problem_takes_no_part() -> None:
    rows = compared(("clock", 3.0, 100, 50), ("craw", 1.5, 80, 25))
    unknown = {**dict.fromkeys(COMPARISON_SCHEMA), "policy": "kernel", "run": 1, "problem": "no"}
    rows = pl.concat([rows, pl.DataFrame([unknown], schema=COMPARISON_SCHEMA)])
    assert not any("kernel" in sentence for sentence in comparison_findings(rows))
    assert "vs kernel" not in comparison_for_people(rows).columns
    assert render_comparison(rows, pl.DataFrame(schema=COMPARED_SAMPLE_SCHEMA), facts())


def test_other_output_is_told() -> None:
    rows = compared(("clock", 1, 1, 1), ("craw", 1, 1, 1)).to_dicts()
    assert differing_output(rows) == []
    rows[1] |= {"output_sha256": "other"}
    (output,) = differing_output(rows)
    assert "run 1 under craw wrote other output than run 1 under clock" in output


def test_the_notes_say_what_the_kernel_charges() -> None:
    outside = Charged(7 << 20, 1 << 20)
    settings = {"vm.page-cluster": "3", "zswap": "N"}
    library = Charged(72 << 10, 56 << 10)
    swapped = Swapped(5, 6, 7, 8, 9, "X")
    notes = kernel_notes(24 << 20, outside, library, 3 << 20, 2, swapped, settings)
    text = " ".join(notes)
    assert "(version 2) may have 24 MiB: the paged memory, 16 MiB, and 8 MiB" in text
    assert "7 MiB of stacks, data and small mappings" in text
    assert "own library adds to a program, 128 KiB, is not among it" in text
    assert "up to 3 MiB at a time" in text
    assert "counted in pages by X" in text
    assert "8 pages of zeros left and 7 came back" in text
    assert "up to 8 neighbouring pages" in text
    assert "zswap N" in text


def test_samples_stay_few_and_evenly_spaced() -> None:
    moments: Moments[int] = Moments()
    for tick in range(100_000):
        seconds = tick / 100
        if seconds >= moments.next_seconds:
            moments.add(seconds, tick)
    assert MOST_SAMPLES / 2 <= len(moments.seen) <= MOST_SAMPLES
    times = [seconds for seconds, _ in moments.seen]
    steps = [after - before for before, after in itertools.pairwise(times)]
    assert times[0] == 0 and max(steps) <= 3 * min(steps)


def test_samples_add_up_processes_and_know_the_most_memory() -> None:
    class Pager:
        def __init__(self) -> None:
            self.looks = 0

        def statistics(self) -> list[dict[str, Any]]:
            self.looks += 1
            return [statistics(running=True), statistics(running=True, resident_pages=4)]

    watched: list[float] = []
    samples = Samples(Pager(), lambda seconds, _: watched.append(seconds))
    for tick in range(100):
        samples.look(tick / 100)
    assert samples.most_resident_pages == 64
    assert watched == [0.0, 0.25, 0.5, 0.75]
    assert samples.gauges()["gauge"].unique().sort().to_list() == ["R_ghosts", "R_pages"]
    summed = summed_samples(samples.counts(), "clock")
    assert summed[0] == {
        "policy": "clock",
        "seconds": 0.0,
        "faults": 200,
        "pages_read": 80,
        "pages_written": 56,
    }


def test_the_live_view_shows_rates_between_two_looks() -> None:
    view = LiveView()
    view.shown(1.0, [statistics(running=True)])
    shown = view.shown(2.0, [statistics(running=True, misses=350)])
    (heading, table) = shown.renderables
    assert "60 of 64 frames" in str(heading)
    rates = list(table.columns[1].cells)  # type: ignore[union-attr]
    assert rates[0] == "250" and rates[1] == "0"
    assert not view.shown(3.0, [statistics()]).renderables


def test_blocks_and_bars_are_shares() -> None:
    assert sparkline([0, 4, 8]) == "▁▅█"
    assert sparkline([]) == "" and sparkline([0, 0]) == "▁▁"
    assert len(bar_of(32, 64)) == 20 and bar_of(1, 0) == "" and len(bar_of(99, 9)) == 40


def data_of(page: str) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = unpacked(page)["parts"]
    return data


def test_the_report_of_a_run_draws_each_process_and_no_name_breaks_it() -> None:
    samples = sampled(*((second, {"misses": 100 * second**2}) for second in (0, 1, 2)))
    rows = rows_of(statistics(name=HOSTILE), **AGREEING)
    page = render(rows, samples.counts(), samples.gauges(), facts(program=HOSTILE))
    assert HOSTILE not in page
    (part,) = data_of(page)
    names = [figure["identity"] for figure in part["figures"]]
    assert names == ["process-0-faults", "process-0-areas", "process-0-ghosts"]
    misses = [
        record["y"]
        for record in part["rows"]
        if record["series"] == "misses" and record["panel"] == "process-0-faults"
    ]
    assert misses == [100.0, 300.0]
    assert "There is nothing to draw" in page
    assert "simulator, exact" in page


def test_the_report_of_a_comparison_has_bars_and_courses() -> None:
    rows = compared(("clock", 3.0, 100, 50), ("clock", 5.0, 100, 50), ("kernel", 2.0, 50, 1))
    page = render_comparison(
        rows, courses("clock", "kernel"), facts(notes=["The kernel charges all."])
    )
    bars, meanwhile = data_of(page)
    assert len(bars["figures"]) == len(meanwhile["figures"]) == 3
    seconds = [r for r in bars["rows"] if r["panel"] == "comparison-seconds"]
    assert seconds[0] == {
        "panel": "comparison-seconds",
        "series": "clock",
        "value": 4.0,
        "least": 3.0,
        "most": 5.0,
        "runs": 2,
    }
    assert "The kernel charges all." in page


def test_memory_is_whole_frames_and_the_reserve_follows_it() -> None:
    paging = ProgramSettings.parse({"memory": "16MiB", "swap": "swap.img", "swap_limit": "1GiB"})
    assert (paging.frames, paging.reserve, paging.swap_limit_bytes) == (4096, 64, 1 << 30)
    assert ProgramSettings.parse({"frames": 20}).reserve == 1
    assert ProgramSettings.parse({"memory": "100"}).frames == 1


def test_few_frames_are_kept_for_writes_and_for_reading_ahead() -> None:
    """A 32nd; a sixteenth where that would be too few, and none where even these are missed."""
    sizes = (1, 15, 16, 255, 256, 511, 512, 544, 1060, 2047, 2048, 1 << 20)
    assert [kept_frames(frames) for frames in sizes] == [
        0,
        0,
        1,
        15,
        16,
        16,
        16,
        17,
        33,
        63,
        64,
        64,
    ]

    def read_ahead(frames: int, reserve: int | None = None) -> int:
        options: dict[str, Any] = {"swap": "swap.img", "frames": frames, "reserve": reserve}
        return ProgramSettings.parse(options).read_ahead

    shares = [read_ahead(frames) for frames in (63, 64, 320, 1024, 2048, 1 << 20)]
    assert shares == [0, 4, 16, 32, 64, 64]
    assert read_ahead(2048, reserve=1025) == 0
    assert ProgramSettings.parse({"frames": 2048}).read_ahead == 0


@pytest.mark.parametrize(
    ("given", "frames", "predictors"),
    [
        (None, 64, None),
        (7, 7, None),
        ("0", 0, None),
        ("slots, streams", 64, ["slots", "streams"]),
        ("7,offsets", 7, ["offsets"]),
    ],
)
def test_read_ahead_is_frames_and_what_predicts(
    given: int | str | None, frames: int, predictors: list[str] | None
) -> None:
    settings = ProgramSettings.parse({"frames": 4096, "swap": "swap", "read_ahead": given})
    assert (settings.read_ahead, settings.predictors) == (frames, predictors)
    again = ProgramSettings.parse(
        {"frames": 4096, "swap": "swap", "read_ahead": settings.given()["read_ahead"]}
    )
    assert again == settings


def test_a_policy_is_told_the_devices_ratio() -> None:
    paging = ProgramSettings.parse({"frames": 64, "device": "mlc-nand"})
    planned = Planned.of(["craw"], paging)
    ratio = planned.device["write_read_ratio"]
    assert planned.policies[0]["resolved"].startswith(f"craw:c={ratio},")
    with pytest.raises(UsageError, match="every hit"):
        Planned.of(["clock", "lru"], paging)


def test_what_a_run_uses_is_its_own_processor_time_and_that_of_ended_children() -> None:
    used = Used(None)
    subprocess.run([sys.executable, "-c", "sum(range(1_000_000))"], check=True)
    since = used.since()
    assert since["cpu_seconds"] > 0
    assert since["block_requests"] is None


def test_requests_of_a_drive_never_become_fewer_or_are_unknown(tmp_path: Path) -> None:
    requests = Used(tmp_path / "swap").since()["block_requests"]
    assert requests is None or requests >= 0


def test_a_run_that_was_killed_is_not_the_fastest() -> None:
    """It ended with 143 after 0.1 s, and was named the fastest."""
    codes = [0, 143, 0]
    once = compared(("clock", 3.0, 100, 50), ("craw", 0.1, 1, 0), ("nru", 4.0, 80, 25))
    rows = once.with_columns(exit_code=pl.Series(codes, dtype=pl.UInt64))
    sentences = comparison_findings(rows)
    assert "clock took 3.00 s and nru 4.00 s, in one" in sentences[0]
    assert "to swap by nru: 25." in sentences[1]
    assert not_comparable(rows) == sentences[2:] == [
        "Run 1 under craw is not compared: it ended with exit code 143 (SIGTERM), so that it did "
        "not do the same work."
    ]  # fmt: skip
    table = comparison_for_people(rows)
    assert table.filter(pl.col("policy") == "craw")["time s"].to_list() == [None]
    assert render_comparison(rows, pl.DataFrame(schema=COMPARED_SAMPLE_SCHEMA), facts())
    again = pl.concat([once, rows])
    (craw,) = medians(again).filter(pl.col("policy") == "craw").to_dicts()
    assert (craw["runs"], craw["seconds"]) == (1, 0.1)


@pytest.mark.parametrize(
    ("codes", "compared_runs"),
    [([1, 1, 1], 3), ([1, 1, 0], 1), ([2, 1, 1], 2), ([139, 139, 139], 0), ([137, 3, 139], 1)],
)
def test_runs_are_compared_that_ended_as_most_did(codes: list[int], compared_runs: int) -> None:
    rows = compared(("clock", 3.0, 1, 1), ("craw", 2.0, 1, 1), ("nru", 4.0, 1, 1))
    rows = rows.with_columns(exit_code=pl.Series(codes, dtype=pl.UInt64))
    assert medians(rows)["runs"].sum() == compared_runs
    assert len(not_comparable(rows)) == 3 - compared_runs
