"""Sweeps: the same rows as single simulations, kept cell by cell whatever happens."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import clockhand
from clockhand import ClockhandError, _engine
from clockhand.study.columns import schema
from clockhand.sweep import KEY, Dataset, analyse, read_experiment, run_sweep
from clockhand.sweep import task as running
from conftest import EXECUTABLE, Clockhand, assert_one_sentence, os_course, scattered_pages

EXPERIMENT = """
question = "Which policy needs the least I/O time?"
expected = "CRAW, where pages are written."
traces = ["*.trace"]
policies = ["clock", { craw = { c = [2, 8], ghosts = "exclusive" } }, "random", "bound"]
memory = "20%..100%"
page_sizes = ["4KiB", 8192]
devices = ["slc-nand", "scm:ratio=10"]
bits = ["exact", "mapped"]
bound_effort = 0
seed = 3
"""
POLICIES = ["clock", "craw:c=2,ghosts=exclusive", "craw:c=8,ghosts=exclusive", "random", "bound"]

# Parts after every few cells, so that a kill meets all that a long sweep goes through.
SWEEP_WITH_MANY_PARTS = """
import sys
import clockhand.sweep.run as running
from clockhand.sweep import read_experiment
running.SECONDS_BETWEEN_PARTS = 0.0
print("ready", flush=True)
print(running.run_sweep(read_experiment(sys.argv[1]), jobs=1).computed)
"""


@pytest.fixture
def experiment(tmp_path: Path, textbook: Path) -> Path:
    """An experiment of 2 traces, 8 settings, 81 memory sizes and 5 policies."""
    (tmp_path / "other.trace").write_text(os_course(scattered_pages(300, 40)))
    path = tmp_path / "which.toml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture
def long_experiment(tmp_path: Path) -> Path:
    """An experiment of 60 cells that take a while each."""
    (tmp_path / "long.trace").write_text(os_course(scattered_pages(20_000, 5_000)))
    path = tmp_path / "long.toml"
    path.write_text(
        'question = "q"\nexpected = "e"\ntraces = "long.trace"\n'
        'policies = ["lru", "clock", "craw"]\nmemory = "1%..20%"\n'
    )
    return path


@pytest.fixture
def small_experiment(experiment: Path) -> Path:
    """The same experiment at 2 memory sizes."""
    experiment.write_text(EXPERIMENT.replace("20%..100%", "20%,50%"))
    return experiment


def simulated(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(*schema("pages"))


def test_a_sweep_gives_the_rows_of_single_simulations(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = run_sweep(read_experiment(experiment))
    parts = [
        clockhand.simulate(
            trace,
            policies=POLICIES,
            memory="20%..100%",
            page_size=page_size,
            device=device,
            bits=bits,
            bound_effort=0,
            seed=3,
        ).rows
        for trace in ["other.trace", "textbook.trace"]
        for page_size in [4096, 8192]
        for device in ["slc-nand", "scm:ratio=10"]
        for bits in ["exact", "mapped"]
    ]
    single = pl.concat(parts)
    assert sweep.rows.height == 2 * 8 * 81 * 5
    assert simulated(sweep.rows).equals(single)


def test_each_view_of_a_trace_with_classes_is_what_simulate_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        f" {'LS'[page % 2]} {page * 4096 + offset * 32:x},4"
        for page in scattered_pages(400, 50)
        for offset in range(3)
    ]
    Path("accesses.lackey").write_text("\n".join(lines) + "\n")
    accesses = clockhand.Trace("accesses.lackey", format="lackey", cpu_cache=True)
    clockhand.convert_traces(accesses, "accesses.parquet")
    Path("views.toml").write_text(
        'question = "q"\nexpected = "e"\ntraces = "accesses.parquet"\nframes = [5, 20]\n'
        'policies = ["clock", "craw"]\nviews = ["paper", "bus", "fault"]\n'
    )
    sweep = run_sweep(read_experiment("views.toml"))
    single = [
        clockhand.simulate(
            "accesses.parquet", policies=["clock", "craw"], frames=[5, 20], view=view
        ).rows
        for view in ("paper", "bus", "fault")
    ]
    assert simulated(sweep.rows).equals(pl.concat(single))
    assert sweep.rows["view"].unique(maintain_order=True).to_list() == ["paper", "bus", "fault"]
    assert sweep.rows["write_references"].n_unique() == 2


def test_what_is_taken_alone_of_a_trace_is_what_simulate_sees_and_another_cell(
    tmp_path: Path, textbook: Path
) -> None:
    path = tmp_path / "alone.toml"

    def swept(first_line: str) -> pl.DataFrame:
        path.write_text(
            f'{first_line}\nquestion = "q"\nexpected = "e"\ntraces = "{textbook.name}"\n'
            'frames = [3, 5]\npolicies = ["clock", "craw"]\n'
        )
        return run_sweep(read_experiment(path)).rows

    whole = swept("")
    for only in ("reads", "writes"):
        alone = swept(f'only = "{only}"')
        single = clockhand.simulate(
            textbook, policies=["clock", "craw"], frames=[3, 5], only=only
        ).rows
        assert simulated(alone).drop("trace").equals(single.drop("trace"))
        assert alone["view"].unique().to_list() == [f"none, only {only}"]
    assert swept("").equals(whole)


def test_a_repeated_sweep_computes_nothing_and_opens_no_trace(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_sweep(read_experiment(experiment))
    monkeypatch.setattr(running, "sources", None)
    second = run_sweep(read_experiment(experiment))
    assert first.computed > 0 and second.computed == 0
    assert first.rows.equals(second.rows)


def test_a_larger_grid_computes_only_what_it_adds(experiment: Path) -> None:
    run_sweep(read_experiment(experiment))
    experiment.write_text(EXPERIMENT.replace('"clock",', '"clock", "fifo",'))
    sweep = run_sweep(read_experiment(experiment))
    fifo = sweep.rows.filter(pl.col("policy") == "fifo")
    assert sweep.computed == fifo.unique(KEY).height


def test_a_policy_spelled_out_is_the_same_cell(experiment: Path) -> None:
    run_sweep(read_experiment(experiment))
    experiment.write_text(EXPERIMENT.replace('"clock",', '"clock:insert_ref=0",'))
    sweep = run_sweep(read_experiment(experiment))
    assert sweep.computed == 0
    assert "clock:insert_ref=0" in set(sweep.rows["policy"])


def test_each_trace_is_read_once_for_all_its_settings(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[tuple[str, str], None] = {}
    held_traces = _engine.HeldTraces

    class Noted:
        def __init__(self) -> None:
            self._held = held_traces()

        def __getattr__(self, name: str) -> Any:
            def called(*arguments: Any) -> Any:
                # What is held is not read again for the same trace and settings.
                trace = [it for it in arguments if not callable(it)]
                asked[name, str([*trace[:1], *trace[2:]])] = None
                return getattr(self._held, name)(*arguments)

            return called

    monkeypatch.setattr(_engine, "HeldTraces", Noted)
    run_sweep(read_experiment(experiment), jobs=2)
    assert [name for name, _ in asked] == ["read", "read_ahead", "read", "forget"]
    asked.clear()
    run_sweep(read_experiment(experiment), jobs=1, dataset=experiment.parent / "of-one-thread")
    assert [name for name, _ in asked] == ["read", "read", "forget"]


def test_another_version_of_the_numbers_is_another_cell(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_sweep(read_experiment(experiment))
    monkeypatch.setattr(_engine, "NUMBERS_VERSION", _engine.NUMBERS_VERSION + 1)
    second = run_sweep(read_experiment(experiment))
    assert second.computed == first.computed
    rows, _ = Dataset(read_experiment(experiment).dataset).report()
    assert set(rows["numbers_version"]) == {_engine.NUMBERS_VERSION}


def test_each_reserve_is_what_simulate_keeps_free(experiment: Path) -> None:
    experiment.write_text(EXPERIMENT.replace("20%..100%", "100%") + "reserve = [0, 3]\n")
    sweep = run_sweep(read_experiment(experiment))
    trace = experiment.parent / "textbook.trace"
    for reserve in (0, 3):
        alone = clockhand.simulate(
            trace, policies=POLICIES, memory="100%", bound_effort=0, seed=3, reserve=reserve
        ).rows
        rows = sweep.rows.filter(
            pl.col("trace").str.ends_with("textbook.trace"),
            reserve=reserve, page_bytes=4096, device="slc-nand", bits="exact",
        )  # fmt: skip
        assert simulated(rows).drop("trace").equals(alone.drop("trace"))
    assert run_sweep(read_experiment(experiment)).computed == 0


def test_a_part_from_before_there_was_a_reserve_counts_as_without_one(experiment: Path) -> None:
    first = run_sweep(read_experiment(experiment))
    for number, part in enumerate(Dataset(read_experiment(experiment).dataset).parts()):
        facts = pl.read_parquet_metadata(part)
        cells = pl.read_parquet(part).drop("reserve")
        part.unlink()
        older = part.with_name(f"part-{number}.parquet")
        cells.write_parquet(older, metadata={"clockhand_facts": facts["clockhand_facts"]})
    second = run_sweep(read_experiment(experiment))
    assert second.computed == 0 and second.rows.equals(first.rows)


@pytest.mark.parametrize(
    ("reserve", "words"),
    [("-1", "out of range"), ("[0, 4294967296]", "out of range"), ("'1'", "is not a whole number"),
     ("64", "reserve 64 leaves no frame to the policies in the smallest cell")],
)  # fmt: skip
def test_a_reserve_that_makes_no_sense_is_refused_with_the_file(
    experiment: Path, reserve: str, words: str
) -> None:
    changed = EXPERIMENT.replace('memory = "20%..100%"', "frames = [64, 80]")
    experiment.write_text(f"{changed}reserve = {reserve}\n")
    with pytest.raises(clockhand.UsageError, match=rf"^{experiment}: .*{words}"):
        read_experiment(experiment)


def test_a_reserve_that_is_too_large_for_some_trace_is_refused_with_the_file(
    experiment: Path,
) -> None:
    experiment.write_text(EXPERIMENT + "reserve = 5\n")
    with pytest.raises(clockhand.UsageError, match=rf"^{experiment}: reserve 5 leaves no frame"):
        run_sweep(read_experiment(experiment))


def test_a_device_file_that_changed_is_another_device(textbook: Path, tmp_path: Path) -> None:
    profile = 'summary = "x"\nsource = "y"\ncharged = "per-page"\n[read]\ntime_us = 10\n[write]\n'
    device, path = tmp_path / "mine.toml", tmp_path / "sweep" / "e.toml"
    path.parent.mkdir()
    path.write_text(
        'question = "q"\nexpected = "e"\ntraces = "../textbook.trace"\npolicies = "clock"\n'
        'frames = [2, 3]\ndevices = "../mine.toml"\n'
    )
    times_us = []
    for write_time_us in (20, 30, 20):
        device.write_text(f"{profile}time_us = {write_time_us}\n")
        times_us.append(run_sweep(read_experiment(path)).rows["io_time_us"].to_list())
    assert times_us[0] == times_us[2] != times_us[1]


def test_a_trace_that_changed_is_another_trace(experiment: Path, textbook: Path) -> None:
    before = run_sweep(read_experiment(experiment))
    textbook.write_text(os_course([1, 2, 3, 1, 2, 3]))
    after = run_sweep(read_experiment(experiment))
    assert 0 < after.computed < before.computed
    rows, facts = Dataset(read_experiment(experiment).dataset).report()
    assert rows["trace"].n_unique() == 3
    assert {trace["name"] for trace in facts["traces"]} == set(rows["trace"])


@pytest.mark.parametrize("seed", range(4))
def test_kills_at_any_moment_lose_no_written_cell_and_leave_no_broken_file(
    long_experiment: Path, seed: int
) -> None:
    moments = random.Random(seed)
    dataset = Dataset(read_experiment(long_experiment).dataset)
    command = [sys.executable, "-c", SWEEP_WITH_MANY_PARTS, long_experiment]
    kept = 0
    for _ in range(8):
        sweep = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert sweep.stdout is not None
        sweep.stdout.readline()
        time.sleep(moments.uniform(0, 0.25))
        sweep.kill()
        sweep.communicate()
        cells = dataset.cells()
        assert cells.height >= kept
        kept = cells.height
    rest = run_sweep(read_experiment(long_experiment))
    assert rest.computed == 60 - kept
    assert not list(dataset.folder.glob(".clockhand-*"))
    alone = clockhand.simulate(
        rest.rows["trace"][0], policies=["lru", "clock", "craw"], memory="1%..20%"
    ).rows
    assert simulated(rest.rows).equals(alone)


def test_two_sweeps_into_one_dataset_do_no_harm(long_experiment: Path) -> None:
    command = [sys.executable, "-c", SWEEP_WITH_MANY_PARTS, long_experiment]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    computed = [int(sweep.communicate()[0].split()[-1]) for sweep in both]
    dataset = Dataset(read_experiment(long_experiment).dataset)
    stored = pl.concat(pl.read_parquet(part) for part in dataset.parts())
    # Parts that hold the same have the same name.
    assert 60 <= stored.height <= sum(computed)
    cells = dataset.cells()
    assert cells.height == 60 and cells.unique(KEY).height == 60
    assert cells.equals(dataset.cells())
    after = run_sweep(read_experiment(long_experiment))
    assert after.computed == 0 and after.rows.height == 60


def test_an_interruption_says_what_is_kept_and_the_next_run_goes_on(
    long_experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (long_experiment.parent / "long.trace").write_text(os_course(scattered_pages(300_000, 5_000)))
    experiment = read_experiment(long_experiment)

    def interrupt(trace: str, done: int, total: int) -> None:
        if 0 < done < total:
            raise KeyboardInterrupt

    with pytest.raises(ClockhandError, match=r"^interrupted; (\d+) of 60 cells are kept") as caught:
        run_sweep(experiment, jobs=1, watch=interrupt)
    kept = int(str(caught.value).split()[1])
    assert 0 < kept < 60
    assert run_sweep(experiment).computed == 60 - kept


def test_an_interrupted_command_fails_with_one_sentence(long_experiment: Path) -> None:
    os.mkfifo(long_experiment.parent / "pipe.trace")
    long_experiment.write_text(long_experiment.read_text().replace("long.trace", "pipe.trace"))
    sweep = subprocess.Popen(
        [EXECUTABLE, "sweep", long_experiment], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # It has opened the pipe, and so is at work, when this returns.
    with open(long_experiment.parent / "pipe.trace", "wb"):
        sweep.send_signal(signal.SIGINT)
    out, errors = sweep.communicate(timeout=300)
    assert (sweep.returncode, out) == (1, b"")
    assert errors.decode().startswith("clockhand: interrupted; 0 of 60 cells are kept in ")
    assert errors.count(b"\n") == 1


def test_leftovers_of_the_killed_are_removed_but_not_those_of_the_living(tmp_path: Path) -> None:
    dataset = Dataset(tmp_path)
    leftover = tmp_path / ".clockhand-00.partial"
    leftover.write_bytes(b"half")
    with dataset.at_work():
        dataset.remove_leftovers()
        assert leftover.exists()
    dataset.remove_leftovers()
    assert not leftover.exists()


def test_a_damaged_part_is_named(experiment: Path) -> None:
    run_sweep(read_experiment(experiment))
    part = Dataset(read_experiment(experiment).dataset).parts()[0]
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(ClockhandError, match=f"{part.name} is damaged .* delete it"):
        run_sweep(read_experiment(experiment))
    part.unlink()
    assert run_sweep(read_experiment(experiment)).computed > 0


def test_the_command_prints_analyses_and_writes_tables_report_and_rows(
    small_experiment: Path, tmp_path: Path, clockhand: Clockhand
) -> None:
    small_experiment.write_text(
        small_experiment.read_text()
        + """
[[analysis]]
title = "I/O time relative to CLOCK"
relative_to = "clock"
columns = "trace"
where = { memory_share = { from = 0.2, to = 0.5 }, device = "slc-nand", bits = "exact" }
summary = "geometric-mean"
"""
    )
    run = clockhand(
        "sweep", small_experiment, "--tables", "tables", "--html", "r.html", "--out", "rows.parquet"
    )
    assert run.code == 0, run.err
    text = (tmp_path / "tables" / "i-o-time-relative-to-clock.csv").read_text()
    assert "# command: clockhand sweep" in text and "# machine: " in text
    table = pl.read_csv(tmp_path / "tables/i-o-time-relative-to-clock.csv", comment_prefix="#")
    assert table.filter(pl.col("policy") == "clock").row(0)[1:] == (1.0, 1.0)
    rows = pl.read_parquet(tmp_path / "rows.parquet")
    assert rows.height == 2 * 8 * 2 * 5
    assert "other.trace" in (tmp_path / "r.html").read_text()
    shown = clockhand("sweep", small_experiment)
    assert b"I/O time relative to CLOCK" in shown.out
    printed = json.loads(clockhand("sweep", small_experiment, "--format", "json").out)
    assert printed == rows.to_dicts()


def test_a_dataset_is_reported_without_its_experiment(
    small_experiment: Path, tmp_path: Path, clockhand: Clockhand
) -> None:
    clockhand("sweep", small_experiment)
    small_experiment.unlink()
    run = clockhand("report", "datasets/which", "--html", "r.html")
    assert run.code == 0, run.err
    assert b"textbook.trace" in run.out and b"scm:ratio=10" in run.out
    page = (tmp_path / "r.html").read_text()
    assert "bits" in page and "other.trace" in page
    rows = json.loads(clockhand("report", "datasets/which", "--format", "json").out)
    assert len(rows) == Dataset(tmp_path / "datasets/which").cells().height


def test_a_folder_without_parts_is_no_dataset(tmp_path: Path, clockhand: Clockhand) -> None:
    run = clockhand("report", tmp_path)
    assert run.code == 2
    assert_one_sentence(run)


GOOD = 'question = "q"\nexpected = "e"\ntraces = "textbook.trace"\npolicies = "clock"\nframes = 3\n'
BAD = (
    (GOOD + "policy = 3", "unknown key 'policy'"),
    (GOOD + "seed = \n", "line 6"),
    (GOOD + "seed = -1", "seed -1 is out of range"),
    (GOOD.replace('question = "q"', ""), "no question"),
    (GOOD.replace('"clock"', '"clok"'), 'did you mean "clock"'),
    (GOOD.replace('"clock"', "[]"), "policies is empty"),
    (GOOD.replace('"clock"', "{ craw = { c = [0.5] } }"), "from 1"),
    (GOOD.replace('"clock"', "{ craw = 2 }"), "not a table"),
    (GOOD.replace("frames = 3", ""), "by frames or by memory"),
    (GOOD + 'memory = "5%"', "by frames or by memory"),
    (GOOD.replace("frames = 3", 'memory = "5"'), 'memory "5" is not a memory size'),
    (GOOD.replace("frames = 3", "frames = 0"), 'frames "0"'),
    (GOOD + "page_sizes = 3000", 'page_sizes "3000"'),
    (GOOD + 'devices = "flopy"', "flopy"),
    (GOOD + 'bits = "fuzzy"', "exact, mapped or sensed"),
    (GOOD + 'views = "sky"', "'sky' is unknown"),
    (GOOD + 'views = "bus"', "textbook.trace"),
    (GOOD + 'only = "files"', "'files' is unknown; there is: reads, writes, anonymous"),
    (GOOD + 'only = "anonymous"', "textbook.trace"),
    (GOOD + "flush_at_end = 1", "not true or false"),
    (GOOD.replace("textbook.trace", "*.absent"), "no file matches '*.absent'"),
    (GOOD.replace("textbook.trace", "absent.trace"), "absent.trace: cannot be read"),
    (GOOD + "[[analysis]]\nvalue = 3", "no title"),
    (GOOD + '[[analysis]]\ntitle = "t"\nvalue = "speed"', "'speed' is unknown"),
    (GOOD + '[[analysis]]\ntitle = "t"\nrelative_to = "lru"', "'lru' is unknown"),
    (GOOD + '[[analysis]]\ntitle = "t"\nsummary = "typical"', "'typical' is unknown"),
    (GOOD + '[[analysis]]\ntitle = "t"\nrows = "colour"', "no column 'colour'"),
    (GOOD + '[[analysis]]\ntitle = "t"\nwhere = { frames = { from = 3 } }', "is not a range"),
)


@pytest.mark.parametrize(("content", "words"), BAD)
def test_a_bad_experiment_is_one_sentence(
    content: str, words: str, tmp_path: Path, textbook: Path, clockhand: Clockhand
) -> None:
    (tmp_path / "bad.toml").write_text(content)
    run = clockhand("sweep", "bad.toml")
    assert run.code == (1 if ".trace" in words else 2), run.err
    assert_one_sentence(run)
    assert words in run.err
    assert "bad.toml" in run.err or ".trace" in run.err
    assert not (tmp_path / "datasets").exists() or not list(tmp_path.glob("datasets/*/*.parquet"))


def test_an_experiment_that_is_no_text_or_not_there_is_one_sentence(
    tmp_path: Path, clockhand: Clockhand
) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("bytes.toml", "absent.toml", "."):
        run = clockhand("sweep", name)
        assert run.code in (1, 2)
        assert_one_sentence(run)
        assert name in run.err


def test_analyses_divide_filter_sum_up_and_name_the_best() -> None:
    rows = pl.DataFrame(
        {
            "trace": ["t"] * 4,
            "policy": ["clock", "craw", "clock", "craw"],
            "frames": [1, 1, 2, 2],
            "io_time_us": [100.0, 50.0, 200.0, 400.0],
        }
    )
    from clockhand.datasets.analysis import read_analysis

    def table(**wanted: object) -> list[tuple[object, ...]]:
        analysis = read_analysis({"title": "t", **wanted}, ["clock", "craw"])
        return analyse(rows, analysis).rows()

    assert table(relative_to="clock") == [("clock", 1.0), ("craw", 1.25)]
    assert table(relative_to="clock", summary="geometric-mean") == [
        ("clock", 1.0),
        ("craw", pytest.approx(1.0)),
    ]
    assert table(summary="best", rows="frames") == [(1, "craw"), (2, "clock")]
    assert table(columns="frames", summary="sum") == [
        ("clock", 100.0, 200.0),
        ("craw", 50.0, 400.0),
    ]
    assert table(where={"frames": 2}, summary="greatest") == [("clock", 200.0), ("craw", 400.0)]
    # A mean over a disk and flash would be about neither.
    devices = ("slc-nand", "hdd")
    rows = pl.concat(rows.with_columns(pl.lit(name).alias("device")) for name in devices)
    assert table(rows="policy") == [
        (policy, device, value)
        for device in devices
        for policy, value in (("clock", 150.0), ("craw", 225.0))
    ]
    assert table(columns="device", summary="greatest") == [
        ("clock", 200.0, 200.0), ("craw", 400.0, 400.0),
    ]  # fmt: skip


def test_a_sweep_runs_from_any_folder(experiment: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    here = os.getcwd()
    try:
        os.chdir(elsewhere)
        first = run_sweep(read_experiment("../which.toml"))
        os.chdir(tmp_path)
        second = run_sweep(read_experiment("which.toml"))
    finally:
        os.chdir(here)
    assert second.computed == 0
    assert set(first.rows["trace"]) == {"../other.trace", "../textbook.trace"}
    assert set(second.rows["trace"]) == {"other.trace", "textbook.trace"}


def test_parts_from_before_rows_told_of_kinds_still_count(experiment: Path) -> None:
    read = read_experiment(experiment)
    first = run_sweep(read)
    for number, part in enumerate(list(read.dataset.glob("part-*.parquet"))):
        facts = pl.read_parquet_metadata(part)
        kept = {name: text for name, text in facts.items() if name != "ARROW:schema"}
        older = part.with_name(f"part-{number:016x}.parquet")
        pl.read_parquet(part).drop("kind").write_parquet(older, metadata=kept)
        part.unlink()
    again = run_sweep(read)
    assert again.computed == 0
    assert_frame_equal(again.rows, first.rows)
