"""`clockhand reproduce cflru`: what becomes of the CFLRU paper's claims, and what is refused."""

import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clockhand
from clockhand import UsageError
from clockhand.reproduce import (
    Claim,
    Reproduction,
    Verdict,
    judge,
    read_paper_experiment,
    reproduce,
)
from clockhand.reproduce.figures import kernel_bars
from clockhand.reproduce.judge import NotTestableError
from clockhand.reproduce.measures.cflru import KERNELS, WINDOWS, hits_in_working_region
from clockhand.reproduce.packaged import packaged_content
from clockhand.reproduce.statements import thresholds
from conftest import Clockhand, cut
from opened import opened_page

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "experiments/cflru/experiment.toml"
NEEDS = packaged_content("cflru", "claims.toml")["needs"]
PROGRAMS, APPLICATIONS = NEEDS["swap"]["workloads"], NEEDS["kernels"]["workloads"]
POLICIES = NEEDS["swap"]["policies"]
LINUX, STATIC, DYNAMIC = (KERNELS[name][0] for name in ("plain", "static", "dynamic"))
PAPERS_MB = {
    claim["key"]: next(it["papers_mb"] for it in claim["readings"] if "papers_mb" in it)
    for claim in packaged_content("cflru", "claims.toml")["claim"]
    if claim["key"] in ("swap", "buffers")
}
CLAIMS = 46
PREDICTED = 2
"""With the predicted window; these and journals go beyond the paper."""
BESIDE = 2 * 12 + PREDICTED
"""Controllers of the window that adapts, and the predicted window."""
ANONYMOUS = 10
"""Of pages that would go to swap, half of them flushed."""
JOURNALED = 2
"""On a journaling file system."""
FLUSHED = 13
"""Further readings, in which what is dirty at the end is written."""
ELAPSED = {"no-readahead-time", "static-time", "dynamic-time"}
AHEAD = "file:3-31,swap:8"
"""Plain Linux in one timeline."""

WORKING_REGION = {"hits-in-working-region-half", "hits-in-working-region-quarter"}
"""They need memories that differ by the window."""


def programs(part: str, static: float, dynamic: float, offline: float) -> pl.DataFrame:
    """Rows in which policies cost these shares of what LRU costs, at 16 MiB and at a share."""
    best = WINDOWS[3]
    share_of_lru = {"lru": 1.0, "cflru-dynamic": dynamic, "min": offline, best: static}
    rows = []
    for program in PROGRAMS:
        for frames, share in ((4096, 0.5), (1000, 16 / PAPERS_MB[part][program])):
            for policy in POLICIES:
                # Other windows write more or miss more, and so cost a little more.
                place = WINDOWS.index(policy) if policy in WINDOWS else 3
                cost = share_of_lru.get(policy, static * (1 + 0.02 * abs(place - 3)))
                rows.append(
                    {
                        "workload": program,
                        "trace": program,
                        "policy": policy,
                        "frames": frames,
                        "memory_share": share,
                        "misses": 0 if policy == "min" else 1000 - place,
                        "hits": 9000,
                        "read_ios": round(10_000 * cost) - 8 * (100 + place),
                        "write_ios": 100 + place,
                        "clean_evictions": 9,
                        "dirty_evictions": 0,
                        "dirty_pages_mean": 5.0 if policy == "lru" else 5.4,
                    }
                )
    return pl.DataFrame(rows)


def kernels(changes: dict[str, tuple[float, float]], unused: int) -> pl.DataFrame:
    """Rows in which kernels change time and energy of plain Linux by these shares."""
    rows = []
    for application in APPLICATIONS:
        for frames in (4096, 512):
            for policy, ahead, name in (
                (LINUX, "file:3-31", "plain"),
                (LINUX, "none", "no-readahead"),
                (STATIC, "none", "static"),
                (DYNAMIC, "none", "dynamic"),
                (STATIC, "file:3-31", "unjudged"),
            ):
                time, energy = changes.get(name, (0.0, 0.0))
                is_cflru = name in ("static", "dynamic")
                rows.append(
                    {
                        "workload": application,
                        "policy": policy,
                        "read_ahead": ahead,
                        "frames": frames,
                        "memory_share": 0.4,
                        "misses": 1000 if name == "plain" else 900,
                        "read_ios": 1000 if name == "plain" else 900 + 10 * is_cflru,
                        "write_ios": 500 - 50 * is_cflru,
                        "io_time_us": 1e6 * (1 + time),
                        "energy_uj": 1e6 * (1 + energy),
                        "clean_evictions": 9,
                        "dirty_evictions": 0,
                        "readahead_ios": 100 if ahead != "none" else 0,
                        "readahead_unused": unused if ahead != "none" else 0,
                    }
                )
    return pl.DataFrame(rows)


def verdicts(**rows: pl.DataFrame) -> dict[str, Verdict]:
    return {claim.key: claim.verdict for claim in judge("cflru", rows)}


def test_rows_as_the_paper_tells_them_reproduce_its_claims() -> None:
    told = {"no-readahead": (-0.024, -0.044), "static": (-0.062, -0.114),
            "dynamic": (-0.057, -0.121)}  # fmt: skip
    found = verdicts(
        swap=programs("swap", 0.716, 0.769, 0.8),
        buffers=programs("buffers", 0.738, 0.765, 0.8),
        kernels=kernels(told, unused=80),
    )
    assert len(found) == CLAIMS
    untestable = ELAPSED | WORKING_REGION
    assert {key for key, verdict in found.items() if verdict is Verdict.UNTESTABLE} == untestable
    others = {key: verdict for key, verdict in found.items() if key not in untestable}
    assert {key for key, verdict in others.items() if verdict is not Verdict.REPRODUCED} == set()


def test_rows_unlike_the_paper_do_not() -> None:
    worse = dict.fromkeys(("no-readahead", "static", "dynamic"), (0.05, 0.05))
    found = verdicts(
        swap=programs("swap", 1.1, 1.4, 0.5),
        buffers=programs("buffers", 0.95, 1.4, 0.5),
        kernels=kernels(worse, unused=20),
    )
    for key in (
        "swap-static-share", "swap-dynamic-16-mib", "buffers-dynamic-share",
        "swap-min-is-not-optimal", "read-ahead-is-wasted", "static-energy-small",
        "no-readahead-device-time-16-mib", "dynamic-falls-behind-a-little",
        "dynamic-is-similar", "no-window-to-configure",
    ):  # fmt: skip
        assert found[key] is Verdict.CONTRADICTED, key
    assert found["buffers-static-16-mib"] is Verdict.SIGN, "-5 % for -26.2 %"


def test_hits_in_the_working_region_are_those_of_a_shorter_list() -> None:
    def of(hits: dict[float, int]) -> list[bool]:
        rows = [
            {"workload": "gcc", "policy": policy, "memory_share": share, "hits": count}
            for share, count in hits.items()
            for policy in ("lru", "min")
        ]
        found = hits_in_working_region(pl.DataFrame(rows), window=0.5, most=0.5)
        return list(found.values)

    assert of({0.1: 51, 0.2: 100, 0.4: 103}) == [True, True]
    assert of({0.1: 50, 0.2: 100}) == [False], "half is not most"
    with pytest.raises(NotTestableError, match="differ by the window"):
        of({0.1: 51, 0.3: 100})


def test_both_read_aheads_of_one_timeline_are_readings() -> None:
    told = {"no-readahead": (-0.024, -0.044), "static": (-0.062, -0.114),
            "dynamic": (-0.057, -0.121)}  # fmt: skip
    alone = kernels(told, unused=80)
    without_any = alone.with_columns(pl.col("read_ahead").replace("file:3-31", AHEAD))
    without_swap = alone.filter(pl.col("read_ahead") == "none").with_columns(
        read_ahead=pl.lit("file:3-31")
    )
    both = pl.concat([without_any, without_swap])
    found = verdicts(timeline=both)
    assert found["static-timeline-16-mib"] is Verdict.REPRODUCED
    assert found["dynamic-timeline-32-mib-none"] is Verdict.REPRODUCED
    assert found["no-read-ahead-reads-less-timeline"] is Verdict.REPRODUCED
    assert not any("flushed" in key for key in found)


def test_ties_are_not_against_the_paper() -> None:
    rows = kernels({}, unused=80)
    is_small = pl.col("frames") == 512
    same = rows.with_columns(write_ios=pl.when(is_small).then(500).otherwise(pl.col("write_ios")))
    [claim] = [it for it in judge("cflru", {"kernels": same}) if it.key == "cflru-writes-less"]
    assert claim.verdict is Verdict.REPRODUCED
    assert claim.found == "in 10 of 10 cases, 10 ties, total -5.0 %"


def test_a_memory_that_no_program_fills_is_not_judged() -> None:
    unfilled = pl.when(pl.col("frames") == 4096).then(0).otherwise("clean_evictions")
    large = programs("swap", 0.7, 0.8, 0.9).with_columns(clean_evictions=unfilled)
    found = verdicts(swap=large, buffers=large, kernels=kernels({}, 50))
    assert found["swap-static-16-mib"] is Verdict.UNTESTABLE
    assert found["swap-static-share"] is Verdict.REPRODUCED


def test_a_cell_with_nothing_to_save_says_nothing_and_no_other_stands_for_it() -> None:
    """Kword was judged at 10 % of memory where the reading says 46."""

    rows = programs("swap", 0.7, 0.8, 0.9)
    is_kword = (pl.col("workload") == "Kword") & (pl.col("frames") == 1000)
    for column in ("clean_evictions", "write_ios"):
        fewer = rows.with_columns(pl.when(is_kword).then(0).otherwise(column).alias(column))
        [claim] = [it for it in judge("cflru", {"swap": fewer}) if it.key == "swap-static-share"]
        assert "4 cases" in claim.found
        assert "Kword" not in {line[0] for line in claim.evidence}


@pytest.fixture(scope="module")
def short_experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment on the beginnings of traces, with fewer cells; geeqie's fills the 16 MiB."""
    folder = tmp_path_factory.mktemp("cflru")
    text = EXPERIMENT.read_text().replace('dataset = "../datasets/cflru"\n', "")
    small = {"geeqie": "tar-gzip", "gedit": "sqlite3", "freecell": "geeqie", "evince": "evince",
             "audacious": "gedit"}  # fmt: skip
    for name, instead in small.items():
        whole = ROOT / f"traces/{instead}.parquet"
        short = cut(whole, folder, 200_000 if instead == "geeqie" else 50_000)
        text = text.replace(f'"../../traces/{name}.parquet"', f'"{short}"')
    text = re.sub(
        r"memory = \[.*\]", 'memory = ["16MiB", "30%"]', text.replace('"../../', f'"{ROOT}/')
    )
    path = folder / "short.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the cells of the short experiment are kept."""
    return tmp_path_factory.mktemp("cells")


@pytest.fixture(scope="module")
def made(short_experiment: Path, dataset: Path) -> Reproduction:
    return reproduce(read_paper_experiment("cflru", short_experiment), dataset=dataset)


def test_the_command_prints_verdicts_and_writes_page_and_tables(
    made: Reproduction, short_experiment: Path, dataset: Path, tmp_path: Path, clockhand: Clockhand
) -> None:
    parts = sorted(dataset.glob("*/part-*.parquet"))
    run = clockhand(
        "reproduce", "cflru", "--experiment", short_experiment, "--dataset", dataset,
        "--html", "p.html", "--tables", "t", "--out", "claims.csv",
    )  # fmt: skip
    assert run.code == 0, run.err
    assert sorted(dataset.glob("*/part-*.parquet")) == parts, "no cell is computed twice"
    claims = pl.read_csv(tmp_path / "claims.csv")
    assert claims["found"].to_list() == [it.found.replace("\u00a0", " ") for it in made.claims]
    all_claims = CLAIMS + FLUSHED + BESIDE + JOURNALED + ANONYMOUS
    assert claims.height == all_claims
    assert claims["claim"].str.ends_with("-flushed").sum() == FLUSHED + BESIDE // 2 + ANONYMOUS // 2
    assert set(claims.filter(pl.col("verdict") == "not testable here")["claim"]) >= ELAPSED
    assert {path.name for path in (tmp_path / "t").iterdir()} == {
        "claims.csv", "statements.csv", "swap.csv", "swap-flushed.csv", "buffers.csv",
        "swap-anonymous.csv", "swap-anonymous-flushed.csv",
        "buffers-flushed.csv", "buffers-journal.csv", "kernels.csv", "predicted.csv",
        "controller.csv", "controller-flushed.csv", "thresholds.csv", "rules.csv",
    }  # fmt: skip
    page = (tmp_path / "p.html").read_text()
    beyond = PREDICTED + JOURNALED
    assert f"The CFLRU paper on 15 traces: of {all_claims - 3 - beyond} claims" in page
    assert f"; {beyond} beyond the paper, not counted" in page
    assert "in how many readings it holds" in page and "of 2 readings" in page
    opened_page(tmp_path / "p.html")


def test_cells_are_those_of_the_studies(made: Reproduction, dataset: Path) -> None:
    assert {part.parent.name for part in dataset.glob("*/part-*.parquet")} == {
        "swap", "swap_flushed", "controller", "controller_flushed", "buffers", "buffers_flushed",
        "buffers_journal", "kernels", "swap_anonymous", "swap_anonymous_flushed",
    }  # fmt: skip
    alone = clockhand.pagecache(
        ROOT / "traces/files/postmark.parquet",
        policies=LINUX, memory="30%", device="cflru-nand", read_ahead="file:3-31",
    ).rows  # fmt: skip
    same = made.results["kernels"].filter(
        (pl.col("workload") == "file system benchmark")
        & (pl.col("policy") == LINUX)
        & (pl.col("read_ahead") == "file:3-31")
        & (pl.col("memory_share") < 0.5)
        & (pl.col("frames") != 4096)
    )
    own = [name for name in alone.columns if name != "trace"]
    assert same.select(own).rows() == alone.select(own).rows()


def test_experiments_that_are_none_are_refused(tmp_path: Path) -> None:
    text = EXPERIMENT.read_text().replace('"../', f'"{ROOT}/')
    wrong = {
        "no-toml.toml": ("question = ", "is not TOML"),
        "unknown.toml": (text.replace("part.swap.", "part.swapped."), "the part 'swap' is missing"),
        "workload.toml": (text.replace("Mozilla =", "doom ="), "the workloads of swap are"),
        "twice.toml": (text.replace("files/tar.", "files/gcc."), "no trace twice"),
        "window.toml": (text.replace('"cflru:window_share=1/6", ', ""), "policies of swap lack"),
        "memory.toml": (text.replace('"16MiB", ', ""), "the memory of swap lack 16MiB"),
        "text.toml": (text.replace('["file:3-31", "none"]', '"none"'), "not a list"),
        "option.toml": (text.replace("read_ahead =", "ahead ="), "'read_ahead'"),
    }
    for name, (content, words) in wrong.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(UsageError, match=re.escape(words)):
            read_paper_experiment("cflru", tmp_path / name)


def test_longer_captures_in_a_folder_are_taken_and_named_so(tmp_path: Path) -> None:
    """The option was ignored without a word."""
    longer = tmp_path / "longer"
    longer.mkdir()
    with pytest.raises(UsageError, match=r"longer holds none of the traces that the experiment"):
        read_paper_experiment("cflru", EXPERIMENT, traces=longer)
    for name in ("gedit", "pictures"):
        shutil.copy(ROOT / "traces/tar-gzip.parquet", longer / f"{name}.parquet")
    parts = dict(read_paper_experiment("cflru", EXPERIMENT, traces=longer).parts)
    names = {name: dict(zip(it.workloads, it.names, strict=True)) for name, it in parts.items()}
    assert names["swap"]["Kword"] == "gedit, whole" and names["swap"]["Gqview"] == "geeqie"
    assert names["buffers"]["Gqview"] == "pictures, whole"
    assert str(longer / "gedit.parquet") in parts["swap"].sweep.traces


def test_whole_sessions_of_a_folder_are_readings_of_their_own(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    for path in (whole / "gedit.parquet", whole / "evince.parquet"):
        shutil.copy(ROOT / "traces/tar-gzip.parquet", path)
    (tmp_path / "geeqie.parquet").symlink_to(ROOT / "traces/geeqie.parquet")
    parts = read_paper_experiment("cflru", EXPERIMENT, traces=tmp_path).parts
    taken = {(name, it.workloads, it.names) for name, it in parts if name == "swap_whole_flushed"}
    assert taken == {
        ("swap_whole_flushed", ("Kword",), ("gedit, whole",)),
        ("swap_whole_flushed", ("Acrobat reader",), ("evince, whole",)),
    }
    names = dict(parts)["swap"].names
    assert names[0] == "geeqie", "the experiment's own trace is no longer one"


def predicted(lru: float, of_prediction: float, best: float) -> list[Claim]:
    rows = [
        {"workload": workload, "trace": workload, "flush_at_end": flush, "frames": 4096,
         "predicted_window": 100, "lru": lru, "predicted": of_prediction, "best": best}
        for workload in "abcde"
        for flush in (False, True)
    ]  # fmt: skip
    claims = judge("cflru", {"predicted": pl.DataFrame(rows)})
    return [claim for claim in claims if claim.statement == "predicted-window"]


def test_a_predicted_window_is_held_against_the_best_one() -> None:
    [free, flushed] = predicted(100.0, 55.0, 50.0)
    assert free.verdict is flushed.verdict is Verdict.REPRODUCED and "90% to 90%" in free.found
    assert predicted(100.0, 60.0, 50.0)[0].verdict is Verdict.CONTRADICTED
    assert predicted(100.0, 100.0, 100.0)[0].verdict is Verdict.UNTESTABLE, "nothing to save"


def test_thresholds_of_ours_are_tried_and_named() -> None:
    rows = pl.DataFrame(
        [
            {"workload": str(number), "trace": "t", "flush_at_end": flush, "frames": 4096,
             "predicted_window": 1, "lru": 100.0, "predicted": 60.0, "best": 50.0}
            for number in range(5)
            for flush in (False, True)
        ]
    )  # fmt: skip
    tried = thresholds("cflru", {"predicted": rows}).filter(claim="predicted-window")
    verdicts = dict(tried.select("value", "verdict").rows())
    assert verdicts["0.8"] == "reproduced" and verdicts["0.9"] == "contradicted"
    assert tried.filter(ours="yes")["value"].to_list() == ["0.9"]


def test_a_controller_is_a_reading_of_the_window_that_adapts() -> None:
    def cells(policy: str, writes: int) -> list[dict[str, Any]]:
        return [
            {"workload": workload, "frames": 4096, "policy": policy, "clean_evictions": 1,
             "dirty_evictions": 1, "read_ios": 0, "write_ios": writes}
            for workload in "abcde"
        ]  # fmt: skip

    rows = [*cells("lru", 1000), *cells("cflru-dynamic:period=100,step=8", 769)]
    claims = judge("cflru", {"controller": pl.DataFrame(rows)})
    [claim, *others] = [claim for claim in claims if claim.key.startswith("controller")]
    assert claim.statement == "swap-dynamic" and "100 references" in claim.reading
    assert claim.verdict is Verdict.REPRODUCED and "-23.1 %" in claim.found
    assert {other.verdict for other in others} == {Verdict.UNTESTABLE}


def test_more_lost_pages_are_judged_by_how_many() -> None:
    def found(of_windows: float, of_dynamic: float) -> dict[str, Claim]:
        dirty = {"lru": 100.0, "cflru-dynamic": of_dynamic}
        rows = programs("buffers", 0.7, 0.8, 0.9).with_columns(
            pl.col("policy").replace_strict(dirty, default=of_windows).alias("dirty_pages_mean")
        )
        claims = judge("cflru", {"buffers": rows})
        prefix = "little-more-is-lost-"
        return {it.key.removeprefix(prefix): it for it in claims if it.key.startswith(prefix)}

    few = found(110.0, 111.0)
    assert few["all"].verdict is few["best"].verdict is Verdict.REPRODUCED
    assert few["dynamic"].verdict is Verdict.CONTRADICTED
    assert "in 0 of 10 cases, +11.0 % in the median" in few["dynamic"].found
    assert "in 60 of 60 cases" in few["all"].found and "in 10 of 10 cases" in few["best"].found
    assert found(111.0, 90.0)["best"].verdict is Verdict.CONTRADICTED


def test_a_journal_is_judged_where_lru_has_something_to_save() -> None:
    def found(static: float, dirty: int) -> dict[str, Claim]:
        rows = programs("buffers", static, 0.8, 0.9).with_columns(dirty_evictions=dirty)
        claims = judge("cflru", {"buffers_journal": rows})
        return {it.key: it for it in claims if it.statement == "with-a-journal"}

    less = found(0.7, dirty=1)
    assert {claim.verdict for claim in less.values()} == {Verdict.REPRODUCED}
    # LRU reads 9,176 pages and CFLRU 6,176; both write 103, which weigh 824, or twice that.
    assert "in 10 of 10 cases, -30.0 % on average" in less["with-a-journal"].found
    assert "-27.7 % on average" in less["with-a-journal-data"].found
    assert found(1.0, dirty=1)["with-a-journal"].verdict is Verdict.CONTRADICTED
    assert found(0.7, dirty=0)["with-a-journal"].verdict is Verdict.UNTESTABLE


def test_bars_are_what_kernels_read_and_write() -> None:
    rows = [
        {"trace": "t", "workload": "gcc", "frames": 4096, "policy": policy, "read_ahead": ahead,
         "read_ios": reads, "write_ios": 10}
        for (policy, ahead), reads in zip(KERNELS.values(), (100, 80, 70, 60), strict=True)
    ]  # fmt: skip
    panel = {
        "title": "t", "x": "kernel", "y": "pages", "ahead": "file:3-31", "without": "none",
        "bars": {"read": [1, 0], "energy": [2.0, 10.0]},
    }  # fmt: skip
    [(trace, [lines])] = kernel_bars([panel], pl.DataFrame(rows))
    assert trace == "t" and lines.is_bars
    bars = {(it["series"], it["at"]): it["y"] for it in lines.records}
    assert bars["read", "plain"] == 100 and bars["energy", "dynamic"] == 220
    [(_, [over])] = kernel_bars([{**panel, "relative": True}], pl.DataFrame(rows))
    assert {it["y"] for it in over.records if it["at"] == "plain"} == {1.0}
