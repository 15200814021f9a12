"""`clockhand tier` and `tier`: rows, sweeps, report, and what is refused."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand.studies.tier.course import at_middle, course_records
from clockhand.studies.tier.findings import findings, replaceable, with_lines
from clockhand.studies.tier.price import pays_from, priced
from clockhand.study.columns import schema
from conftest import Clockhand, assert_one_sentence

GZIP = Path(__file__).resolve().parents[2] / "traces/tar-gzip.parquet"
GOLDEN = Path(__file__).resolve().parents[2] / "crates/sim/tests/golden"


def trace_of(references: list[str], name: str = "golden") -> clockhand.Trace:
    pages = [int(word[1:]) * 4096 for word in references]
    return clockhand.Trace.from_arrays([word[0] == "W" for word in references], pages, name=name)


def test_a_golden_vector_gives_its_counts_and_times() -> None:
    golden = json.loads((GOLDEN / "tier_storage.json").read_text())
    run = clockhand.tier(
        trace_of(golden["trace"]), fast_frames=1, slow_frames=2, tiers="pcm", promote="write",
        placement="make-room",
    )  # fmt: skip
    (row,) = run.rows.to_dicts()
    expected = golden["result"]
    for name in ("promotions", "demotions", "evictions", "storage_writes", "slow_entries"):
        assert row[name] == expected[name]
    assert row["time_ns"] == float(expected["time_ns"])
    assert run.rows.schema == schema("tier")


def test_rows_come_in_the_order_of_the_grid_and_own_ways_have_nulls() -> None:
    trace = trace_of(["R1", "W2", "R3", "R1", "W2", "R3"] * 20)
    run = clockhand.tier(
        trace, fast_frames="1,2", policies="lru,tpp,static,bound", promote="never,write",
        tiers="cxl,pcm",
    )  # fmt: skip
    cells = run.rows.select("fast_frames", "policy", "promote", "tiers").rows()
    of_size = [
        *(("lru", rule, tiers) for rule in ("never", "write") for tiers in ("cxl", "pcm")),
        *((name, None, tiers) for name in ("tpp", "static", "bound") for tiers in ("cxl", "pcm")),
    ]
    assert cells == [(size, *cell) for size in (1, 2) for cell in of_size]
    bound = run.rows.filter(pl.col("policy") == "bound")
    assert bound["fast_hits"].null_count() == bound.height
    assert bound["mean_ns"].null_count() == 0
    best = run.rows.filter(pl.col("policy") != "bound").group_by("fast_frames", "tiers").agg(
        (pl.col("access_ns") + pl.col("migration_ns")).min().alias("least")
    )  # fmt: skip
    joined = best.join(bound, on=["fast_frames", "tiers"])
    assert (joined["time_ns"] <= joined["least"] + 1e-9).all()


def test_a_captured_trace_gets_findings_figures_and_a_report(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    report = tmp_path / "tiers.html"
    done = clockhand(
        "tier", str(GZIP), "--fast", "10%,100%", "--policy", "lru,clock-dwf,memtis", "--promote",
        "never,first-touch", "--report", str(report),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "Fastest for" in done.out.decode()
    page = report.read_text()
    assert "two tiers of memory" in page and "memtis" in page


def test_the_memory_that_slow_memory_replaces_is_found() -> None:
    trace = trace_of(["R1", "R2", "R1", "R2", "R3", "R1"] * 50)
    run = clockhand.tier(trace, fast_frames="0,1,2,3", policies="lru", promote="never")
    table = replaceable(with_lines(run.rows))
    assert table.height == 3
    assert table["fast_memory_share"].to_list()[0] == 1.0


class Newest:
    """Last in, first out: the page that came last leaves."""

    def __init__(self) -> None:
        self.stack: list[int] = []

    def choose_victim(self, frames: object) -> int:
        return self.stack.pop()

    def loaded(self, frame: int, page: int, is_write: bool, frames: object) -> None:
        self.stack.append(frame)

    def dropped(self, frame: int, frames: object) -> None:
        self.stack.remove(frame)


def test_a_policy_of_ones_own_decides_who_lives_in_fast_memory() -> None:
    trace = trace_of(["R1", "R2", "R3", "R1", "W3", "R2", "R3"])
    run = clockhand.tier(trace, fast_frames=2, policies=[Newest])
    (row,) = run.rows.to_dicts()
    # 3 takes the place of 2, 2 that of 3, and 3 that of 2 again; 1 stays.
    assert (row["promotions"], row["demotions"], row["fast_hits"]) == (3, 3, 1)
    assert row["fast_writes"] == 1


def independent(probabilities: list[float], references: int) -> clockhand.Trace:
    random = np.random.default_rng(9)
    pages = random.choice(len(probabilities), size=references, p=probabilities)
    reads = np.zeros(references, dtype=bool)
    return clockhand.Trace.from_arrays(reads, pages.astype(np.uint64) * 4096, name="independent")


def test_nothing_beats_the_most_probable_pages_where_references_are_independent() -> None:
    weights = [1 / rank for rank in range(1, 25)]
    probabilities = [weight / sum(weights) for weight in weights]
    references, frames = 20_000, 6
    trace = independent(probabilities, references)
    best = sum(probabilities[:frames])
    noise = 4 * (best * (1 - best) / references) ** 0.5
    catalog = clockhand.policies().filter(pl.col("kind").str.ends_with("-driven"))["name"]
    names = [name for name in catalog if not name.startswith("linux")]
    tiered = ["clock-dwf", "m-clock", "tpp:scan_period=20,scan_pages=4", "memtis", "hemem"]
    runs = [
        clockhand.tier(trace, fast_frames=frames, policies=[*names, *tiered], promote=rule, see=see)
        for rule, see in (("first-touch", "all"), ("threshold:4:500", "sample:3"))
    ]
    shares = pl.concat([run.rows for run in runs])["fast_share"]
    assert shares.max() <= best + noise
    still = clockhand.tier(trace, fast_frames=frames, policies="static").rows["fast_share"][0]
    assert abs(still - best) <= noise


def test_what_happens_over_time_adds_up_to_the_row() -> None:
    probabilities = [1 / 40] * 20 + [1 / 120] * 60
    trace = independent(probabilities, 3000)
    tpp = "tpp:scan_period=20,rule=first"
    run = clockhand.tier(trace, fast="10%,40%", policies=["lru", tpp, "static", "bound"])
    for row, course in zip(run.rows.to_dicts(), run.courses.to_dicts(), strict=True):
        if row["policy"] == "bound":
            assert not any(course.values())
            continue
        assert course["course_references"][-1] == row["references"]
        for column in ("fast_hits", "promotions", "demotions"):
            assert sum(course[f"course_{column}"]) == row[column]
        groups = len(course["course_group_pages"])
        assert sum(course["course_group_pages"]) == row["footprint_pages"]
        for start in range(0, len(course["course_fast_pages"]), groups):
            here = course["course_fast_pages"][start : start + groups]
            if here[0] is None:  # A look at all pages would take longer than a window.
                continue
            assert sum(here) <= row["fast_frames"]
            assert all(
                fast <= pages
                for fast, pages in zip(here, course["course_group_pages"], strict=True)
            )


def test_who_lives_where_is_told_by_how_often_pages_are_referenced() -> None:
    trace = trace_of(["R1", "R2", "R3", "R4", "R3", "R3", "R4", "R3"] * 12)
    run = clockhand.tier(trace, fast_frames=1, policies="static")
    cells = at_middle(with_lines(pl.concat([run.rows, run.courses], how="horizontal")))
    last = [r for r in course_records(cells) if "lives" in r and r["until"] == 96]
    assert [record["fast"] for record in last] == [1, 0, 0, 0]


def test_other_prices_of_slow_memory_need_no_other_run() -> None:
    grid = {"fast": "20%", "policies": "lru,memtis,static", "promote": "never,first-touch"}
    run = clockhand.tier(GZIP, tiers="pcm", **grid)
    other = clockhand.tier(GZIP, tiers="pcm:slow_read_ns=200,slow_write_ns=400", **grid)
    doubled = clockhand.tier(GZIP, tiers="pcm:slow_read_ns=350,slow_write_ns=750", **grid)
    for before, after in zip(other.rows.to_dicts(), doubled.rows.to_dicts(), strict=True):
        one, same = priced(before), priced(after)
        assert one is not None and same is not None
        assert one.mean_ns(one.ratio) == pytest.approx(before["mean_ns"])
        # Both latencies are twice as far above those of fast memory.
        assert one.mean_ns(same.ratio) == pytest.approx(after["mean_ns"])
    ratio = pays_from(with_lines(run.rows))
    assert ratio is not None and ratio > 1


def test_findings_say_how_much_memory_can_go_and_whether_moving_pays() -> None:
    trace = trace_of((["R1", "R2", "R3", "R4"] * 25 + ["R5", "R6", "R7", "R8"] * 5000) * 2)
    run = clockhand.tier(
        trace, fast_frames="4,6,8", policies="lru,tpp", promote="never,first-touch",
        tiers="cxl:migrate_ns=0",
    )  # fmt: skip
    said = findings(run.rows, run.facts)
    assert said[0].replace("\u00a0", " ") == (
        "Slow memory can replace 50 % of the memory of golden at a slowdown of 1 to 10 % "
        "(lru, first-touch)."
    )
    assert said[2].startswith("Migration pays at 2 of the 3 sizes")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--fast-frames", "0", "--slow-frames", "0"], "both have no frame"),
        (["--fast", "10%", "--policy", "linux-lru"], "kernel's reclaim"),
        (["--fast", "10%", "--policy", "clock", "--promote", "tinylfu"], "tinylfu compares"),
        (["--fast", "10%", "--policy", "min", "--see", "sample:3"], "must see every reference"),
        (["--fast", "10%", "--policy", "tpp", "--placement", "make-room"], "make-room is for"),
        (["--fast", "10%", "--policy", "static", "--placement", "slow"], "--placement has no"),
        (["--fast", "10%", "--policy", "tpp", "--promote", "write"], "--promote and --see are"),
        (["--fast", "10%", "--policy", "static", "--slow-frames", "0"], "static needs a slow"),
        (["--fast", "10%", "--policy", "bound", "--slow", "50%"], "as many slow frames"),
        (["--fast", "10%", "--migrate-limit", "3MB/s"], "no times"),
        (["--fast", "10%", "--see", "bits:0"], "not what a policy can see"),
        (["--fast", "10%", "--promote", "k-touch:0"], "whole number from 1"),
        (["--fast", "10%", "--policy", "tpp:low_share=2"], "low_share=2"),
        (["--fast", "10%", "--tiers", "cxl:slow_speed=3"], "there is no option slow_speed"),
        (["--fast", "10%", "--tiers", "cxl:slow_read_ns=fast"], "slow_read_ns"),
        (["--fast", "10%", "--promote", "k-touch:2:x"], "whole number from 0"),
        (["--fast", "10%", "--promote", "threshold:0"], "whole number from 1"),
        (["--fast", "10%", "--promote", "threshold:2:0"], "whole number from 1"),
        (["--fast", "10%", "--see", "sample:0"], "not what a policy can see"),
        (["--fast", "10%", "--placement", "interleave:0:0"], "at least 1"),
        (["--fast", "10%", "--migrate-limit", "5/0r"], "is no limit"),
        (["--fast", "10%", "--policy", "tpp:scan_period=0"], "scan_period=0"),
        (["--fast", "10%", "--policy", "tpp:scan_pages=0"], "scan_pages=0"),
        (["--fast", "10%", "--policy", "memtis:sample=0"], "sample=0"),
        (["--fast", "10%", "--policy", "memtis:adapt=0"], "adapt=0"),
        (["--fast", "10%", "--policy", "memtis:cool=0"], "cool=0"),
        (["--fast", "10%", "--policy", "hemem:migrate=0"], "migrate=0"),
        (["--fast", "10%", "--policy", "tpp:high_share=-1"], "high_share=-1"),
        (["--fast", "10%", "--policy", "tpp", "--see", "bits:9"], "--promote and --see are"),
        (
            ["--fast", "10%", "--policy", "tpp", "--promote", "first-touch"],
            "--promote and --see are",
        ),
        (["--fast", "10%", "--policy", "tpp,static", "--see", "all"], "--promote and --see are"),
        (
            ["--fast", "10%", "--policy", "clock-dwf,bound", "--placement", "slow"],
            "--placement has",
        ),
        (["--fast", "10%", "--policy", "hemem", "--placement", "make-room"], "make-room is for"),
        (["--fast", "10%", "--fast-frames", "3"], "give one of them"),
        ([], "no size of the fast tier"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    clockhand: Clockhand, tmp_path: Path, words: list[str], expected: str
) -> None:
    path = tmp_path / "few.trace"
    path.write_text("00001000 R\n00002000 W\n00001000 R\n" * 20)
    done = clockhand("tier", str(path), "--trace-format", "os-course", *words)
    assert done.code == 2
    assert_one_sentence(done)
    assert expected in done.err


def test_a_sweep_of_tiers_keeps_and_finds_its_cells(clockhand: Clockhand, tmp_path: Path) -> None:
    file = tmp_path / "tiers.toml"
    file.write_text(
        'question = "?"\nexpected = "?"\n'
        f'traces = ["{GZIP}"]\n'
        '[tier]\nfast = ["10%", "50%"]\npolicies = ["lru", "tpp"]\ntiers = ["cxl", "pcm"]\n'
    )
    first = clockhand("sweep", str(file), "--format", "json")
    assert first.code == 0, first.err
    rows = json.loads(first.out)
    assert len(rows) == 8
    again = clockhand("sweep", str(file), "--format", "json")
    assert json.loads(again.out) == rows


def test_all_policies_leave_out_the_bound_where_it_cannot_be_computed(clockhand: Clockhand) -> None:
    on = ("tier", GZIP, "--fast-frames", "8", "--limit")
    run = clockhand(*on, "100001", "--policy", "lru,s*,b*")
    assert run.code == 0 and "100,001 references: bound is left out" in run.err
    assert "bound" not in run.out.decode()
    named = clockhand(*on, "100001", "--policy", "lru,bound")
    assert named.code == 2 and "at most 100000 references" in named.err
    short = clockhand(*on, "300", "--policy", "lru,b*")
    assert "bound" in short.out.decode() and "bound is left out" not in short.err
