"""The reproduction of the CRAW paper: its numbers are those of `simulate`, its page opens."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import clockhand
from clockhand.report import render_reproduction
from clockhand.reproduce import (
    Claim,
    Reproduction,
    Verdict,
    judge,
    read_paper_experiment,
    reproduce,
)
from clockhand.reproduce.figures import drawn as drawn_figure
from clockhand.reproduce.measures.cflru import misses_least
from clockhand.reproduce.measures.compared import Compared
from clockhand.reproduce.measures.craw import equal_with_all_memory
from clockhand.reproduce.measures.data_caches import disperses, saved
from clockhand.reproduce.measures.locality import Ranked, locality_rows
from clockhand.reproduce.measures.noise import closest_falling, inversion, redrawings
from clockhand.reproduce.packaged import packaged_content
from clockhand.reproduce.report import title_of
from clockhand.reproduce.rules import (
    LIMITS,
    RULES,
    TRIED,
    interval,
    judged_cases,
    judged_every,
    judged_most,
    judged_number,
    judged_range,
    verdict_of,
)
from clockhand.reproduce.statements import counted, headline, statements
from conftest import Clockhand, assert_one_sentence, cut
from opened import opened_page

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "traces" / "tar-gzip.parquet"
MEMORY = "4%,8%,20%,50%,100%"
BESIDE = ["car", "cfclock", "cfclock:clear_passed=false", "craw", "cflru", "lru-wsr", "arc"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The beginning of a trace, as read-intensive as some claims need."""
    return cut(TRACE, tmp_path_factory.mktemp("traces"), 500_000)


@pytest.fixture(scope="module")
def experiment(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The committed experiment on one trace at five memory sizes."""
    text = (ROOT / "experiments/craw/experiment.toml").read_text()
    assert '"../../traces/*.parquet"' in text and '"1%..100%"' in text
    path = tmp_path_factory.mktemp("reproduction") / "craw.toml"
    small = text.replace("../../traces/*.parquet", str(trace)).replace("1%..100%", MEMORY)
    small = small.replace('dataset = "../datasets/craw"\n', "")
    path.write_text(small)
    return path


@pytest.fixture(scope="module")
def made(experiment: Path) -> Reproduction:
    return reproduce(read_paper_experiment("craw", experiment))


@pytest.fixture(scope="module")
def simulated(trace: Path) -> dict[tuple[str, float], dict[str, float]]:
    """Rows of `simulate`, by policy and share of the footprint."""
    policies = ["clock", "craw-a", *BESIDE]
    rows = clockhand.simulate(trace, policies=policies, memory=MEMORY).rows
    return {(row["policy"], row["memory_share"]): row for row in rows.to_dicts()}


def kept(made: Reproduction, slug: str) -> pl.DataFrame:
    [table] = [table.content for table in made.tables if table.slug == slug]
    return table


def claim(made: Reproduction, key: str) -> Claim:
    [found] = [claim for claim in made.claims if claim.key == key]
    return found


def percentages(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"(-?[0-9.]+)\u00a0%", text)]


def reductions(
    simulated: dict[tuple[str, float], dict[str, float]], policy: str, other: str
) -> list[float]:
    shares = sorted({share for _, share in simulated if share < 1})
    times = [
        (simulated[policy, share]["io_time_us"], simulated[other, share]["io_time_us"])
        for share in shares
    ]
    return [100 * (1 - mine / others) for mine, others in times]


def evidence(made: Reproduction, key: str) -> list[dict[str, str]]:
    heads, *rows = claim(made, key).evidence
    return [dict(zip(heads, row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("mean-against-clock", "clock"),
        ("range-against-car-means", "car"),
        ("range-against-cfclock-cleared-means", "cfclock"),
        ("range-against-cfclock-literal-greatest", "cfclock:clear_passed=false"),
        ("abstract-cflru-means", "cflru"),
    ],
)
def test_reductions_on_the_page_are_those_of_simulate(
    made: Reproduction,
    simulated: dict[tuple[str, float], dict[str, float]],
    key: str,
    other: str,
) -> None:
    [row] = evidence(made, key)
    values = reductions(simulated, "craw", other)
    expected = [sum(values) / len(values), min(values), max(values)]
    shown = [row[name] for name in ("mean reduction", "worst", "greatest")]
    assert [percentages(text)[0] for text in shown] == pytest.approx(expected, abs=0.06)


def test_the_greatest_reduction_against_clock_is_that_of_simulate(
    made: Reproduction, simulated: dict[tuple[str, float], dict[str, float]]
) -> None:
    greatest = max(reductions(simulated, "craw", "clock"))
    assert percentages(claim(made, "best-against-clock").found)[0] == pytest.approx(
        greatest, abs=0.06
    )


def test_reads_of_cfclock_over_clock_are_those_of_simulate(
    made: Reproduction, simulated: dict[tuple[str, float], dict[str, float]]
) -> None:
    shares = sorted({share for _, share in simulated if share < 1})
    for name, key in (("cfclock", "cleared"), ("cfclock:clear_passed=false", "literal")):
        expected = max(
            100 * simulated[name, share]["read_ios"] / simulated["clock", share]["read_ios"]
            for share in shares
        )
        found = percentages(claim(made, f"cfclock-reads-{key}").found)
        assert found[0] == pytest.approx(expected, abs=0.06)


def test_verdicts_follow_from_the_numbers(made: Reproduction) -> None:
    assert claim(made, "mean-against-clock").verdict is Verdict.TOO_FEW, "one trace"
    best = percentages(claim(made, "best-against-clock").found)[0]
    assert claim(made, "best-against-clock").verdict is judged_number(best, 66.5)
    equal = claim(made, "equal-with-all-memory")
    assert equal.verdict is Verdict.REPRODUCED and equal.by_construction
    untested = claim(made, "writes-of-write-intensive")
    assert untested.verdict is Verdict.UNTESTABLE and "more write references" in untested.why


def test_numbers_ranges_and_cases_are_judged_on_both_sides() -> None:
    assert judged_number(0.239, 0.239) is Verdict.REPRODUCED
    assert judged_number(0.316, 0.239) is Verdict.DIRECTION, "more is not the same"
    assert judged_number(0.5, 1.0) is judged_number(2.0, 1.0) is Verdict.DIRECTION
    assert judged_number(0.027, 1.0) is judged_number(-2.1, -1.0) is Verdict.SIGN
    assert judged_number(-0.01, 0.239) is Verdict.CONTRADICTED
    assert judged_number(-0.24, -0.239) is Verdict.REPRODUCED
    assert judged_range([0.26, 0.65], 0.25, 0.66) is Verdict.REPRODUCED
    assert judged_range([0.3, 0.4], 0.25, 0.66) is Verdict.REPRODUCED, "inside"
    assert judged_range([0.23, 0.72], 0.25, 0.66) is Verdict.REPRODUCED, "a tenth beyond"
    assert judged_range([0.26, 0.9], 0.25, 0.66) is Verdict.DIRECTION
    assert judged_range([0.05, 0.1], 0.25, 0.66) is Verdict.SIGN, "a third of the least"
    assert judged_range([-0.1, 0.9], 0.25, 0.66) is Verdict.SIGN, "one of them loses"
    assert judged_range([-0.3, 0.1], 0.25, 0.66) is Verdict.CONTRADICTED
    assert judged_range([], 0.25, 0.66) is Verdict.UNTESTABLE
    assert judged_cases([True] * 9 + [False]) is Verdict.REPRODUCED
    assert judged_cases([True] * 6 + [False] * 4) is Verdict.DIRECTION
    assert judged_cases([True, False]) is Verdict.CONTRADICTED
    assert judged_every([True] * 9) is Verdict.REPRODUCED
    assert judged_every([True] * 9 + [False]) is Verdict.DIRECTION
    assert judged_every([True, False]) is Verdict.CONTRADICTED
    assert judged_most([True, True, False]) is Verdict.REPRODUCED
    assert judged_most([True, False]) is Verdict.CONTRADICTED


def test_every_claim_has_words_place_and_rule(made: Reproduction) -> None:
    assert len({claim.key for claim in made.claims}) == len(made.claims) >= 18
    for made_claim in made.claims:
        assert made_claim.quote and made_claim.place and made_claim.rule and made_claim.found


def test_tables_one_and_two_stand_beside_ours(made: Reproduction) -> None:
    devices, workloads, *_ = made.paper_tables.values()
    slc = devices.row(0, named=True)
    assert (slc["read µs"], slc["write µs"], slc["ratio"]) == (25.0, 200.0, "1:8.0")
    assert workloads["workload"].to_list()[-2:] == ["tar_gzip (paper)", "tar-gzip"]


def locality_tables(
    curves: dict[tuple[str, str], list[int]], tenths: dict[tuple[str, str], float]
) -> Ranked:
    """The analysis of five traces that are alike: references by rank, and the top tenth's share."""
    summary = [
        {
            "trace": trace, "ranking": ranking, "op": op, "re_references": sum(counts),
            "inversion_share": 0.0, "top_10_percent_share": tenths[ranking, op],
            **dict.fromkeys(
                ("top_1_share", "top_10_share", "top_100_share", "top_1_percent_share"),
                tenths[ranking, op],
            ),
        }
        for trace in "abcde"
        for (ranking, op), counts in curves.items()
    ]  # fmt: skip
    ended = {
        (trace, *key): even_blocks(counts) for trace in "abcde" for key, counts in curves.items()
    }
    return Ranked(pl.DataFrame(summary), ended)


def even_blocks(counts: Sequence[int] | npt.NDArray[np.int64]) -> list[npt.NDArray[np.float64]]:
    """Counts as each of fifty equal blocks ended."""
    return [np.asarray(counts) * block / 50 for block in range(1, 51)]


def test_verdicts_on_locality_follow_from_the_tables() -> None:
    falling = [1000, 500, 250, 125, 60]
    rising = [60, 1000, 125, 500, 250]

    def verdicts(write_recency: list[int], write_tenth: float) -> list[Verdict]:
        keys = (
            ("recency", "all"),
            ("recency", "read"),
            ("recency", "write"),
            ("frequency", "write"),
        )
        nearly = [1000, 500, 250, 120, 130]
        curves = dict(zip(keys, (nearly, falling, write_recency, falling), strict=True))
        shares = (0.9, 0.9, write_tenth, 0.8)
        tables = locality_tables(curves, dict(zip(keys, shares, strict=True)))
        return [
            made.verdict
            for made in judge("craw", {"locality": locality_rows({("paper", "each"): tables})})
        ]

    assert verdicts(rising, 0.45) == [Verdict.REPRODUCED] * 10
    assert verdicts(falling, 0.95) == [
        *[Verdict.REPRODUCED] * 3,
        *[Verdict.CONTRADICTED] * 2,
        Verdict.REPRODUCED,
        *[Verdict.CONTRADICTED] * 2,
        *[Verdict.REPRODUCED] * 2,
    ]


def test_each_view_is_a_reading_of_its_own(made: Reproduction) -> None:
    keys = {claim.key for claim in made.claims}
    for key in ("read-recency-strong", "write-recency-weak", "write-frequency-ordered"):
        for view in ("paper", "bus", "fault"):
            assert {f"{key}-{view}", f"{key}-{view}-collapsed"} <= keys
    paper, fault = claim(made, "write-recency-weak-paper"), claim(made, "write-recency-weak-fault")
    assert paper.reading != fault.reading and paper.evidence != fault.evidence
    collapsed = claim(made, "write-recency-weak-paper-collapsed")
    assert "each access" in paper.reading and "the first read" in collapsed.reading
    assert collapsed.evidence != paper.evidence


def test_inversions_are_those_of_the_engine(made: Reproduction) -> None:
    localities = made.results["localities"]
    summary, ranks = localities["summary"], localities["ranks"]
    for row in summary.iter_rows(named=True):
        of_ranking = ranks.filter(
            (pl.col("ranking") == row["ranking"]) & (pl.col("op") == row["op"])
        )
        counts = of_ranking.sort("rank")["references"].to_numpy()
        assert inversion([counts]).share == pytest.approx(row["inversion_share"])


@pytest.mark.parametrize("burst", [1, 10, 30])
def test_noise_alone_is_within_the_null_and_a_rise_is_not(burst: int) -> None:
    falling = 1000 / np.arange(1, 201)
    random = np.random.default_rng(1)

    def within(mean: npt.NDArray[np.float64]) -> int:
        """Of twenty traces, references to a page in bursts, those whose curve is in order."""
        blocks = [random.poisson(mean / 50 / burst, (50, 200)) * burst for _ in range(20)]
        return sum(inversion(list(it.cumsum(axis=0))).is_within_noise for it in blocks)

    assert within(falling) >= 18, "about 39 of 40"
    parts = (slice(10), slice(60, 110), slice(10, 60), slice(110, None))
    swapped = np.concatenate([falling[part] for part in parts])
    assert burst == 30 or within(swapped) <= 2, "long bursts hide it"
    falling_whole = even_blocks(np.round(falling))
    assert inversion(falling_whole) == inversion(falling_whole), "the same each time"
    assert inversion(falling_whole).share == 0.0
    nothing = [np.zeros(0)], [np.zeros(2)]
    assert [inversion(blocks).share for blocks in nothing] == [0.0, 0.0]


def test_a_redrawing_has_a_level_in_each_block_at_a_random_place() -> None:
    blocks = np.array([[9.0, 0, 4, 0, 0], [9, 0, 0, 4, 0]])
    fit, _ = closest_falling(blocks.sum(axis=0))
    assert fit.tolist() == [18, 8 / 3, 8 / 3, 8 / 3, 0] or fit.tolist()[0] == 18
    seen = [tuple(redrawn) for redrawn in redrawings(blocks, fit)]
    assert all(one[0] == 18 and sum(one[1:]) == 8 for one in seen)
    assert len(set(seen)) > 3


def test_bands_are_those_of_simulate(
    made: Reproduction, simulated: dict[tuple[str, float], dict[str, float]]
) -> None:
    bands = kept(made, "bands")
    policies = set(bands["policy"])
    assert {*BESIDE, "bound", "opt-feasible"} <= policies and "clock" not in policies
    assert bands["memory"].unique(maintain_order=True).to_list() == ["≤ 10 %", "20–40 %"]
    shares = {"≤ 10 %": (0.0, 0.1), "20–40 %": (0.19, 0.41)}
    for row in bands.filter(pl.col("policy").is_in(BESIDE)).iter_rows(named=True):
        low, high = shares[row["memory"]]
        ratios = {
            share: cell["io_time_us"] / simulated["clock", share]["io_time_us"]
            for (policy, share), cell in simulated.items()
            if policy == row["policy"] and low <= share <= high
        }
        assert row["cells"] == len(ratios)
        assert row["mean"] == pytest.approx(sum(ratios.values()) / len(ratios))
        assert (row["worst"], row["best"]) == (max(ratios.values()), min(ratios.values()))
        assert ratios[row["worst_at"]] == row["worst"]
    order = bands.filter((pl.col("trace") == "tar-gzip") & (pl.col("memory") == "≤ 10 %"))
    means = dict(order.select("policy", "mean").rows())
    assert means["bound"] <= means["opt-feasible"] <= min(means[policy] for policy in BESIDE)


def test_the_worst_cell_is_that_of_simulate(
    made: Reproduction, simulated: dict[tuple[str, float], dict[str, float]]
) -> None:
    behind = []
    for share in sorted({share for _, share in simulated if share < 1}):
        times = {policy: simulated[policy, share]["io_time_us"] for policy in BESIDE}
        best = min([simulated["clock", share]["io_time_us"], *times.values()])
        others = [time for policy, time in times.items() if policy != "craw"]
        others.append(simulated["clock", share]["io_time_us"])
        assert min(others) >= best
        behind.append(100 * (times["craw"] / min(others) - 1))
    judged = claim(made, "consistently-good-beyond")
    share, worst, *_ = percentages(judged.found)
    assert worst == pytest.approx(max(behind), abs=0.06)
    assert share == pytest.approx(100 * sum(it <= 10 for it in behind) / len(behind), abs=0.06)


def test_overheads_are_the_priced_counts_of_simulate(made: Reproduction, trace: Path) -> None:
    table = kept(made, "overheads")
    rows = clockhand.simulate(
        trace, policies=["clock", "craw"], memory="5%,80%", bits="mapped", hand_ns=0
    ).rows
    for row in rows.iter_rows(named=True):
        [priced] = table.filter(
            (pl.col("policy") == row["policy"]) & (pl.col("memory_share") == row["memory_share"])
        ).to_dicts()
        assert priced["permission_faults"] == row["permission_faults"] > 0
        assert priced["fault_time_us"] == pytest.approx(8 * row["permission_faults"])
        assert priced["hand_time_us"] == pytest.approx(0.05 * row["hand_movements"])
        assert priced["device_time_us"] == pytest.approx(row["io_time_us"])
    worst = (
        table.filter(pl.col("policy") == "craw")
        .select((pl.col("fault_time_us") / pl.col("device_time_us")).max())
        .item()
    )
    found = percentages(claim(made, "efficient-without-bits").found)
    assert found[1] == pytest.approx(100 * worst, abs=0.06)


def test_the_median_recency_is_that_of_the_table(made: Reproduction) -> None:
    [row] = kept(made, "inter-reference-recency").to_dicts()
    recency = made.results["localities"]["recency"].sort("recency_pages")
    writes = [
        pages
        for pages, count in recency.select("recency_pages", "write_references").rows()
        for _ in range(count)
    ]
    assert row["median of writes (pages)"] == writes[(len(writes) - 1) // 2]


def test_sizes_with_the_same_frames_weigh_once() -> None:
    rows = pl.DataFrame(
        {
            "trace": ["t"] * 6,
            "policy": ["craw", "clock"] * 3,
            "frames": [1, 1, 1, 1, 2, 2],
            "memory_share": [0.25, 0.25, 0.25, 0.25, 0.5, 0.5],
            "io_time_us": [1.0, 2.0, 1.0, 2.0, 3.0, 4.0],
        }
    )
    [compared] = Compared(rows).reductions("craw", "clock").to_dicts()
    assert compared["mean"] == pytest.approx((0.5 + 0.25) / 2)
    assert (compared["greatest"], compared["greatest_at"], compared["least_at"]) == (0.5, 0.25, 0.5)


def test_the_page_opens_in_a_browser(made: Reproduction, tmp_path: Path) -> None:
    page = render_reproduction(made)
    assert page.count('<details class="folded" id="statement-') == len(
        {claim.statement for claim in made.claims}
    )
    # Figures in what is folded wait until it is opened.
    unfolded = page.replace('<details class="folded"', '<details open class="folded"')
    (tmp_path / "page.html").write_text(unfolded)
    opened = opened_page(tmp_path / "page.html")
    assert opened.count('class="claim"') == len(made.claims)
    figures = re.findall(r'class="chart[^"]*" data-figure=', opened)
    assert len(figures) == opened.count('class="marks"') > 0
    assert "http://" not in re.sub(r"http://www\.w3\.org/[^\"' ]*", "", page.split("<script")[0])


def test_the_command_prints_verdicts_and_writes_page_and_tables(
    experiment: Path, made: Reproduction, tmp_path: Path, clockhand: Clockhand
) -> None:
    run = clockhand(
        "reproduce", "craw", "--experiment", experiment, "--html", "p.html", "--tables", "t",
        "--out", "claims.csv",
    )  # fmt: skip
    assert run.code == 0, run.err
    claims = pl.read_csv(tmp_path / "claims.csv")
    assert claims["verdict"].to_list() == [str(claim.verdict) for claim in made.claims]
    head = (tmp_path / "t" / "claims.csv").read_text()
    assert "# command: clockhand reproduce craw" in head and "# machine: " in head
    assert "mean-i-o-time-relative-to-clock.csv" in {
        path.name for path in (tmp_path / "t").iterdir()
    }
    page = (tmp_path / "p.html").read_text()
    assert "The CRAW paper on 1 trace" in page
    assert "“In comparison with CLOCK, CRAW reduced the total I/O time by an average" in page


def test_captures_of_a_folder_are_judged_and_nothing_is_written_into_the_checkout(
    tmp_path: Path, clockhand: Clockhand
) -> None:
    (tmp_path / "captures").mkdir()
    cut = ["--skip", "700000", "--limit", "6000"]
    assert clockhand("trace", "convert", *cut, TRACE, "captures/short.parquet").code == 0
    kept = ROOT / "experiments/datasets"
    before = sorted(kept.rglob("*")) if kept.exists() else []
    run = clockhand(
        "reproduce", "craw", "--traces", "captures", "--tables", "t",
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )  # fmt: skip
    assert run.code == 0, run.err
    assert "# trace: short, SHA-256" in (tmp_path / "t" / "rows.csv").read_text()
    assert (tmp_path / "cache/clockhand/datasets/craw").is_dir()
    assert (sorted(kept.rglob("*")) if kept.exists() else []) == before
    absent = (ROOT / "experiments/craw/whole.toml").read_text().replace("../../traces", "absent")
    (tmp_path / "absent.toml").write_text(absent)
    asked = read_paper_experiment("craw", tmp_path / "absent.toml", traces=tmp_path / "captures")
    assert dict(asked.parts)["rows"].names == ("short",), "its own traces are not looked for"
    (tmp_path / "empty").mkdir()
    run = clockhand("reproduce", "craw", "--traces", "empty")
    assert run.code == 2 and "there is no trace (*.parquet) in empty" in run.err
    assert_one_sentence(run)


def committed(table: str) -> pl.DataFrame:
    return pl.read_csv(ROOT / f"experiments/results/craw/{table}.csv", comment_prefix="#")


def test_committed_rows_are_made_again() -> None:
    policies = ["clock", "craw", "cflru", "arc"]
    again = clockhand.simulate(TRACE, policies=policies, memory="5%,40%", hand_ns=0).rows
    kept = committed("rows").filter(
        (pl.col("trace") == "tar-gzip")
        & pl.col("policy").is_in(policies)
        & pl.col("frames").is_in(again["frames"].unique().implode())
    )
    assert kept.height == 8
    columns = kept.columns[1:]
    order = ["frames", "policy"]
    mine, theirs = (rows.select(columns).sort(order) for rows in (again, kept))
    assert_frame_equal(mine, theirs, check_dtypes=False)


def test_committed_claims_follow_from_the_committed_tables() -> None:
    found = dict(committed("claims").select("claim", "found").rows())
    of_craw = committed("mean-i-o-time-relative-to-clock").row(
        by_predicate=pl.col("policy") == "craw", named=True
    )
    means = [100 * (1 - ratio) for name, ratio in of_craw.items() if name != "policy"]
    mean, _, low, high, least, greatest = percentages(
        found["mean-against-clock"].replace(" %", "\u00a0%")
    )
    expected = (sum(means) / len(means), min(means), max(means))
    assert (mean, least, greatest) == pytest.approx(expected, abs=0.06)
    assert least < low < mean < high < greatest
    overheads = committed("overheads").filter(pl.col("policy") == "craw")
    shares = 100 * overheads["fault_time_us"] / overheads["device_time_us"]
    median, worst, _ = percentages(found["efficient-without-bits"].replace(" %", "\u00a0%"))
    assert (median, worst) == pytest.approx((shares.median(), shares.max()), abs=0.06)
    assert found["efficient-without-bits"].startswith(f"{(shares <= 10).sum()} of {len(shares)}")


def test_what_cannot_be_reproduced_is_refused(clockhand: Clockhand) -> None:
    absent = ["craw", "--experiment", "absent.toml"]
    for arguments, words in ((["lru"], "there is: craw"), (absent, "absent.toml is not here")):
        run = clockhand("reproduce", *arguments)
        assert run.code == 2
        assert_one_sentence(run)
        assert words in run.err


def test_the_title_counts_the_verdicts_that_occur() -> None:
    verdicts = (Verdict.REPRODUCED, Verdict.REPRODUCED, Verdict.CONTRADICTED)
    claims = [Claim(f"claim-{i}", "", "", "", "", it, "") for i, it in enumerate(verdicts)]
    expected = "The paper on 1 trace: of 3 claims 2 reproduced, 1 contradicted"
    assert title_of("The paper", claims, 1) == expected
    beyond = replace(claims[0], beyond_the_paper=True)
    assert title_of("The paper", [*claims, beyond], 1) == (
        f"{expected}; 1 beyond the paper, not counted"
    )


def test_the_headline_counts_statements_and_no_readings() -> None:
    verdicts = {"both": (Verdict.REPRODUCED,) * 2, "one": (Verdict.REPRODUCED, Verdict.DIRECTION)}
    verdicts["none"] = (Verdict.CONTRADICTED,)
    claims = [
        Claim(f"{name}-{place}", name, "", "", "", verdict, "")
        for name, of in verdicts.items()
        for place, verdict in enumerate(of)
    ]
    said = headline("The paper", claims)
    assert said == "The paper: 1 of 3 statements hold in every reading, 1 in some, 1 in none"


def judged_mean_of(*ours: float, paper: float) -> Verdict:
    return RULES["mean"][0](ours, {"paper": paper}, LIMITS)


def test_verdicts_move_with_the_thresholds_of_the_rules() -> None:
    held = [True] * 17 + [False] * 3
    cases = [(replace(LIMITS, nearly_all=share), verdict) for share, verdict in (
        (0.8, Verdict.REPRODUCED), (0.9, Verdict.DIRECTION), (0.95, Verdict.DIRECTION),
    )]  # fmt: skip
    assert all(judged_cases(held, limits) is verdict for limits, verdict in cases)
    assert judged_cases(held, replace(LIMITS, most=0.85)) is Verdict.CONTRADICTED
    assert judged_number(0.3, 0.24, LIMITS) is Verdict.DIRECTION
    assert judged_number(0.3, 0.24, replace(LIMITS, tolerance=0.25)) is Verdict.REPRODUCED
    assert judged_number(0.5, 0.24, replace(LIMITS, alike=3)) is Verdict.DIRECTION
    four = {"rule": "cases"}, [True] * 4
    assert verdict_of(*four, LIMITS) is Verdict.TOO_FEW
    assert verdict_of(*four, replace(LIMITS, least_cases=3)) is Verdict.REPRODUCED


def test_all_claims_are_judged_at_each_threshold_of_the_rules(made: Reproduction) -> None:
    table = made.results["rules"]
    columns = [str(verdict) for verdict in Verdict]
    ours = table.filter(ours="yes").select(columns)
    judged = [it for it in made.claims if it.verdict is not Verdict.UNTESTABLE]
    counts = counted(judged)
    assert ours.rows() == [tuple(counts[verdict] for verdict in Verdict)] * len(TRIED)
    assert table.select(pl.sum_horizontal(columns)).to_series().n_unique() == 1


def test_a_mean_is_inconclusive_if_other_cases_might_have_met_the_number() -> None:
    # Around the number and narrow: reproduced. Around it and wide: other cases might say otherwise.
    assert judged_mean_of(0.24, 0.25, 0.23, 0.24, 0.245, paper=0.24) is Verdict.REPRODUCED
    assert judged_mean_of(0.02, 0.46, 0.1, 0.4, 0.24, paper=0.24) is Verdict.INCONCLUSIVE
    # Wide, but all of it beyond the number: by less than a factor of two, and by more.
    assert judged_mean_of(0.3, 0.6, 0.4, 0.5, 0.45, paper=0.24) is Verdict.DIRECTION
    assert judged_mean_of(0.5, 0.9, 0.6, 0.8, 0.7, paper=0.24) is Verdict.SIGN
    low, high = interval([0.02, 0.46, 0.1, 0.4, 0.24])
    assert 0.02 < low < 0.244 < high < 0.46
    assert interval([0.3] * 7) == pytest.approx((0.3, 0.3))


def test_a_statement_holds_in_some_of_its_readings() -> None:
    def claim(key: str, verdict: Verdict, support: float, **more: bool) -> Claim:
        return Claim(
            key, "said", "place", "quote", "rule", verdict, f"found {key}", "20 %", key,
            support=support, **more,
        )  # fmt: skip

    claims = [
        claim("a", Verdict.DIRECTION, -0.1),
        claim("b", Verdict.REPRODUCED, -0.02),
        claim("c", Verdict.REPRODUCED, 0.0),
        claim("d", Verdict.TOO_FEW, 0.0),
        claim("e", Verdict.REPRODUCED, 1.0, by_construction=True),
        claim("g", Verdict.CONTRADICTED, -1.0, beyond_the_paper=True),
    ]
    [row] = statements(claims).to_dicts()
    assert row["holds"] == "2 of 3 readings"
    # What is inconclusive says nothing against a claim, however far its number is off.
    unsure = claim("f", Verdict.INCONCLUSIVE, -9.0)
    [more] = statements([*claims, unsure]).to_dicts()
    assert more == {**row, "holds": "2 of 4 readings"}
    [alone] = statements([unsure]).to_dicts()
    assert (alone["holds"], alone["best"]) == ("0 of 1 reading", "inconclusive: found f")
    assert (row["best"], row["best_reading"]) == ("reproduced: found c", "c")
    assert (row["worst"], row["worst_reading"]) == ("direction only: found a", "a")
    # As written is the first that is counted, whatever its verdict, unless another one is marked.
    assert (row["as_written"], row["as_written_reading"]) == ("direction only: found a", "a")
    [few] = statements([claims[4], claims[3], *claims[:3]]).to_dicts()
    assert few["as_written"] == "too few cases: found d"
    [marked] = statements([*claims, replace(claims[1], key="h", as_written=True)]).to_dicts()
    assert (marked["as_written"], marked["best"]) == ("reproduced: found b", row["best"])


def test_what_the_paper_prints_of_a_figure_stands_behind_ours(made: Reproduction) -> None:
    panels = packaged_content("craw", "report.toml")["figure"]
    [figure] = [it for it in panels if it["key"] == "figure-12"]
    [(_, [lines, without, others])] = drawn_figure(figure, made.results["rows"])
    drawn = [record for record in lines.records if record["series"] == "paper: CRAW on average"]
    assert {record["y"] for record in drawn} == {0.761} and len(drawn) == 2
    assert lines.series[0] == drawn[0]["series"], "it is behind ours"
    assert not any(name.startswith("paper") for name in without.series)
    times = {
        (row["policy"], row["memory_share"]): row["io_time_us"]
        for row in made.results["rows"].to_dicts()
    }
    of_car = [it for it in others.records if it["series"] == "car"]
    assert of_car and all(
        it["y"] == times["craw", it["x"] / 100] / times["car", it["x"] / 100] for it in of_car
    )


def test_what_craw_saves_behind_a_cache_is_that_of_the_kept_table(made: Reproduction) -> None:
    kept_rows = pl.read_csv(ROOT / "experiments/results/craw/data-cache.csv", comment_prefix="#")
    of_cache = kept_rows.filter(view="paper", data_cache="16KiB")
    for key, column in (("", "craw_over_clock"), ("-flushed", "craw_over_clock_flushed")):
        found = claim(made, f"mean-behind-a-cache{key}")
        assert found.statement == "mean-against-clock" and found.verdict is Verdict.TOO_FEW
        mean = 100 * (1 - of_cache[column].mean())  # type: ignore[operator]
        assert percentages(found.found)[0] == pytest.approx(mean, abs=0.06)
        assert "128\u00a0B" in found.why and "256\u00a0KiB" in found.why


def test_a_cache_disperses_writes_if_fewer_go_to_the_top_than_behind_the_smallest() -> None:
    shares = {"a": (0.9, 0.5, 0.95), "b": (0.8, 0.8, 0.7)}
    rows = pl.DataFrame(
        [
            {"session": "s", "command": name, "view": "paper", "data_cache": cache,
             "top_10_percent_share": share, "out_of_order_share": 1 - share,
             "by_chance_at_most": 0.05, "craw_over_clock": share, "craw_over_clock_flushed": 1.0}
            for name, of_program in shares.items()
            for cache, share in zip(("128", "1KiB", "256KiB"), of_program, strict=True)
        ]
    )  # fmt: skip
    weaker = disperses(rows, view="paper", column="top_10_percent_share", more=False)
    assert weaker.values == [True, False, False, True]
    irregular = disperses(rows, view="paper", column="beyond_chance", more=True)
    assert irregular.values == [True, False, False, True]
    assert saved(rows, final_flush=False, data_cache=1024).values == pytest.approx([0.5, 0.2])
    assert saved(rows, final_flush=True, data_cache=128).values == [0.0, 0.0]


def test_pages_that_go_to_swap_are_a_reading_of_their_own(made: Reproduction, trace: Path) -> None:
    rows = clockhand.simulate(
        trace, policies=["clock", "craw"], memory="20%", only="anonymous"
    ).rows
    kept = made.results["anonymous"].filter(pl.col("frames") == rows["frames"][0])
    for row in rows.to_dicts():
        [of_policy] = kept.filter(pl.col("policy") == row["policy"]).to_dicts()
        assert of_policy["io_time_us"] == row["io_time_us"]
    readings = {one.reading for one in made.claims if one.statement == "mean-against-clock"}
    assert len(readings) == 6, "four, and two behind a cache"
    assert sum("would go to swap" in reading for reading in readings) == 2


def test_choices_multiply_into_readings(made: Reproduction) -> None:
    keys = {claim.key: claim for claim in made.claims}
    both = keys["range-against-cfclock-literal-greatest-flushed"]
    assert both.statement == "range-against-cfclock"
    assert both.reading.count(";") == 2
    assert both.reading.endswith("what is dirty at the end is written")
    assert keys["range-against-cfclock-literal-greatest"].reading.endswith("is never written")
    # What is written at the end is the same for both policies at least in part: less is saved.
    free, flushed = (keys[f"mean-against-clock{end}"] for end in ("", "-flushed"))
    assert percentages(flushed.found)[0] < percentages(free.found)[0]


def random_requests(random: np.random.Generator, spread: int) -> pl.DataFrame:
    pages = random.integers(0, spread, 2000)
    return pl.DataFrame({"op": random.choice(["R", "W"], len(pages)), "address": 4096 * pages})


@pytest.mark.parametrize("spread", [8, 64, 1024])
def test_claims_by_construction_hold_whatever_the_trace(spread: int) -> None:
    """MIN misses least, nothing is replaced with all memory, and CRAW has no more ghosts than
    frames. CLOCK-DNV writes no clean page, and NVM at most once for each write, as the CBM-like
    buffer does each time."""
    requests = random_requests(np.random.default_rng(spread), spread)
    windows = [f"cflru:window_share=1/{share}" for share in range(1, 7)]
    rows = clockhand.simulate(
        requests, policies=["min", "lru", *windows, "cflru-dynamic"], memory="20%,50%"
    ).rows
    assert all(misses_least(rows.with_columns(workload=pl.lit("w")), of="min").values)
    whole = clockhand.simulate(
        requests, policies=["clock", "car", "cfclock", "craw", "craw-a"], memory="100%"
    ).rows
    assert all(equal_with_all_memory(whole).values)
    craw = clockhand.run_simulation(requests, policies=["craw"], memory="20%,50%", gauge_every=1)
    ghosts = craw.gauges.filter(pl.col("gauge").str.ends_with("_ghosts"))
    sums = ghosts.group_by("frames", "fault").agg(pl.col("value").sum())
    assert sums["value"].max() > 0
    assert (sums["value"] <= sums["frames"]).all(), "as the bytes of the paper's ghosts assume"
    totals = [f"total={pages}" for pages in (8, 32, 128)]
    ours = [f"clock-dnv:{total}" for total in totals]
    promoting = [f"{buffer},nvm_write_hit=promote" for buffer in ours]
    cbm = [f"cbm:{total},threshold={pages}" for total in totals for pages in (4, 32)]
    drives = clockhand.run_ssd(
        requests, buffers=[*ours, *promoting, *cbm], ssds="dnv-textbook:size=64MiB"
    ).rows
    writes = requests["op"].eq("W").sum()
    is_ours = drives["buffer"].str.starts_with("clock-dnv")
    assert set(drives.filter(is_ours)["clean_pages_flushed"]) == {0}
    assert drives.filter(is_ours)["nvm_writes"].max() <= writes
    assert set(drives.filter(~is_ours)["nvm_writes"]) == {writes}
