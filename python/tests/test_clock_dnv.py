"""The reproduction of the CLOCK-DNV paper: rules judge as they say, rows are those of `ssd`."""

import re
from pathlib import Path

import polars as pl
import pytest

import clockhand
from clockhand.reproduce import Claim, Reproduction, Verdict, read_paper_experiment, reproduce
from clockhand.reproduce import judge as judge_paper
from clockhand.reproduce.judge import signed
from clockhand.reproduce.measures.clock_dnv import MODES, NOT_PADDED, OURS
from clockhand.reproduce.statements import counted
from clockhand.study.columns import schema
from conftest import Clockhand, assert_one_sentence

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "experiments/clock-dnv/experiment.toml"
RECIPES = ROOT / "experiments/recipes"
PROMOTE = "clock-dnv:nvm_write_hit=promote"
WORKLOADS = ("Financial", "CAMWEBDEV", "Filebench")
STAND_INS = (
    "financial-wide-stand-in", "camwebdev-wide-stand-in", "filebench-random-rw-stand-in",
)  # fmt: skip


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The committed experiment at one size, aged less, with few of its other modes."""
    text = EXPERIMENT.read_text().replace('dataset = "../datasets/clock-dnv"\n', "")
    path = tmp_path_factory.mktemp("reproduction") / "clock-dnv.toml"
    for committed, small in (
        ('precondition = "random"', 'precondition = "fill"'),
        ('repeat = "until-steady"', 'repeat = "1"'),
        ('"recipe:../recipes', f'"recipe:{RECIPES}'),
        ('"hplajw_1week.srt.xz"', '"real.trace"'),
        ('"hp-srt"', '"os-course"'),
    ):
        assert committed in text, committed
        text = text.replace(committed, small)
    text, begins, in_time = text.partition("[part.timed]")
    before, of_paper, after = text.partition("[part.paper_drive.ssd]")
    own, end, after = after.partition("[part.real]")
    text = before + of_paper + own.replace("32MiB", "16MiB") + end + after
    for total in ("32MiB", "64MiB", "128MiB", "1%", "2%", "5%"):
        text = re.sub(rf'"[^"]*total={total}[^"]*",', "", text)
    in_time = re.sub(r'"(cbm|bplru|lru|fab:[^"]*,)[^"]*",', "", in_time)
    recipe = f"recipe:{RECIPES}/camwebdev-wide-stand-in.toml"
    in_time = in_time.replace('traces_of = "rows"', f'traces = {{ CAMWEBDEV = "{recipe}" }}')
    path.write_text(text + begins + in_time)
    (path.parent / "real.trace").write_text(
        "".join(f"{page * 4096:08x} W\n" for page in range(0, 4000, 7))
    )
    return path


@pytest.fixture(scope="module")
def made(experiment: Path) -> Reproduction:
    return reproduce(read_paper_experiment("clock-dnv", experiment, traces=experiment.parent))


def judge(rows: pl.DataFrame) -> list[Claim]:
    return judge_paper("clock-dnv", {"rows": rows})


def rows_of(values: dict[str, dict[str, float]]) -> pl.DataFrame:
    """Rows of one size for every workload: by buffer, columns that differ from 100."""
    rows = []
    for workload in WORKLOADS:
        for policy in (OURS, PROMOTE, NOT_PADDED, *MODES["fab"], *MODES["cbm"], "bplru"):
            row = {
                "workload": workload,
                "policy": policy,
                "buffer_pages": 4096,
                "repetitions": 1,
                "hit_ratio": 0.5,
                "host_writes": 100.0,
                "batches": 100.0,
                "nvm_writes": 100.0,
                "erases": 100.0,
                "clean_pages_flushed": 0 if policy.startswith(OURS) else 10,
            }
            rows.append(row | values.get(policy, {}))
    return pl.DataFrame(rows)


def verdict(claims: list[Claim], key: str) -> Verdict:
    [claim] = [claim for claim in claims if claim.key == key]
    return claim.verdict


def test_rows_are_those_of_ssd(made: Reproduction) -> None:
    run = clockhand.run_ssd(
        clockhand.synthesize(RECIPES / "camwebdev-wide-stand-in.toml"),
        buffers=["fab:total=16MiB,clean_padding=false"],
        ssds="dnv-textbook:size=1GiB",
        repeat=1,
        seed=1,
    )
    same = made.results["rows"].filter(
        (pl.col("workload") == "CAMWEBDEV") & (pl.col("policy") == "fab:clean_padding=false")
    )
    assert same.select(run.rows.columns).rows() == run.rows.rows()


def test_the_ranking_by_p99_stands_beside_that_by_pages(made: Reproduction) -> None:
    tables = {table.slug: table.content for table in made.tables}
    ranking = tables["timed"]
    drives = ["dnv-textbook:size=1GiB", *(
        f"dnv-textbook:size=1GiB,mapping={mapping}" for mapping in ("bast", "fast")
    )]  # fmt: skip
    assert ranking["ssd"].unique(maintain_order=True).to_list() == drives
    timed = made.results["timed"]
    for buffer in ("clock-dnv", "fab"):
        [row] = ranking.filter(buffer=buffer, ssd=drives[0]).to_dicts()
        [run] = timed.filter(policy=buffer).to_dicts()
        assert row["write_p99_us"] == run["write_p99_us"]
        assert row["host_writes"] == run["host_writes"]
        assert row["rank by p99"] == 1 + (timed["write_p99_us"] < run["write_p99_us"]).sum()
    verdicts = tables["timed-verdicts"]
    for place in verdicts.to_dicts():
        one, other = ranking.filter(ssd=place["drive"]).sort("host_writes").to_dicts()
        assert place["fewest pages"] == one["buffer"]
        longer_us = other["write_p99_us"] - one["write_p99_us"]
        pairs = (place["pairs alike"], place["pairs the other way"])
        assert pairs == (longer_us > 0, longer_us < 0)
        verdict = "confirms" if longer_us > 0 else "inverts" if longer_us < 0 else "neither"
        assert place["p99"] == verdict
    assert all(
        title.startswith("Ours, the paper has no times")
        for title in made.paper_tables
        if "p99" in title or "latency" in title
    )


def test_stand_ins_meet_the_papers_table_and_are_called_so(made: Reproduction) -> None:
    table = made.paper_tables["Table III: workloads"]
    stated = dict(table.select("workload", "reads : writes").rows())
    sizes = dict(table.select("workload", "size").rows())
    for workload in WORKLOADS:
        [ours] = [name for name in stated if f"(stand-in for {workload})" in name]
        papers = f"{workload} (paper)"
        assert sizes[ours] == sizes[papers].replace("1.8 GB", "1.80 GB")
        ratio = [float(part) for part in stated[papers].split(" : ")]
        assert [float(part) for part in stated[ours].split(" : ")] == pytest.approx(ratio, abs=0.1)
    for claim in made.claims:
        assert claim.verdict is Verdict.UNTESTABLE or "stand-in" in claim.rule + claim.why
    assert all(trace["stand_in"] for trace in made.facts["traces"][:3])


def test_a_real_trace_that_is_at_hand_is_taken_along_and_judged_apart(
    made: Reproduction,
) -> None:
    real = made.results["real"]
    assert real["workload"].is_null().all()
    assert set(real["trace"]) == {"real"} and set(real["map"]) == {"compact"}
    assert "real-traces" in {table.slug for table in made.tables}
    tables = {name: made.results[name] for name in ("rows", "paper_drive", "real")}
    assert judge_paper("clock-dnv", tables) == made.claims
    apart = {claim.key: claim for claim in made.claims if "-real" in claim.key}
    judged = [claim for claim in apart.values() if claim.verdict is not Verdict.UNTESTABLE]
    assert all("public block traces" in claim.reading for claim in judged)
    assert "conclusion-real" in apart and "hit-ratio-financial-real" not in apart
    assert "Nothing is written" in apart["padding-erases-real"].why, "of so few pages"
    named = made.paper_tables["Table III: workloads"]["workload"]
    assert any("not the paper's" in name for name in named)


def test_a_file_called_as_a_workload_takes_the_place_of_its_stand_in(tmp_path: Path) -> None:
    (tmp_path / "financial.spc").write_text("0,16,4096,W,0.5\n0,900000000,4096,r,0.6\n")
    [part, *_] = [
        part
        for name, part in read_paper_experiment("clock-dnv", EXPERIMENT, traces=tmp_path).parts
        if name == "rows"
    ]
    assert part.names == (
        "financial.spc",
        "camwebdev-wide-stand-in",
        "filebench-random-rw-stand-in",
    )
    assert part.workloads == WORKLOADS
    assert part.sweep.settings[0].options["map"] == "compact", "it reaches beyond the drive"
    (tmp_path / "Financial.csv").write_text("")
    with pytest.raises(clockhand.UsageError, match="has several files for Financial"):
        read_paper_experiment("clock-dnv", EXPERIMENT, traces=tmp_path)


def test_the_papers_parameters_stand_in_the_profile() -> None:
    facts = clockhand._engine.ssd_facts("dnv-paper")
    assert facts["times"] == "read 25 µs, program 200 µs, erase 1500 µs"
    assert "15.00 % of raw" in facts["reserve"] and "32.000 GiB" in facts["raw"]
    assert facts["NVM"].endswith("endurance 100000000 writes")


def test_a_number_is_met_within_a_tenth_on_both_sides() -> None:
    def of_fab(host_writes: float) -> Verdict:
        rows = rows_of({OURS: {"host_writes": host_writes}})
        return verdict(judge(rows), "write-requests-financial-fab")

    # The paper has 48 % fewer: from 43.2 % to 52.8 % is the same.
    assert of_fab(52.0) is of_fab(56.7) is of_fab(47.3) is Verdict.REPRODUCED
    assert of_fab(57.0) is of_fab(47.0) is Verdict.DIRECTION
    assert of_fab(1.0) is Verdict.SIGN
    assert of_fab(100.0) is of_fab(150.0) is Verdict.CONTRADICTED


def test_fab_is_judged_as_the_paper_words_it_and_its_other_modes_are_shown() -> None:
    in_another_mode = {OURS: {"host_writes": 52.0}, "fab:cache_reads=false": {"host_writes": 40.0}}
    claims = judge(rows_of(in_another_mode))
    assert verdict(claims, "write-requests-financial-fab") is Verdict.REPRODUCED
    [claim] = [claim for claim in claims if claim.key == "write-requests-financial-fab"]
    shown = {row[1]: row[2] for row in claim.evidence[1:]}
    assert shown["fab"] == "+48.0 %" and shown["fab:cache_reads=false"] == "-30.0 %"
    assert claim.reading == "FAB writes clean pages along; a request is a page"
    assert verdict(claims, f"{claim.key}-no-reads") is Verdict.CONTRADICTED


def test_padding_is_judged_against_no_padding() -> None:
    padded = judge(rows_of({OURS: {"host_writes": 101.0, "erases": 95.0}}))
    of = {claim.key: claim for claim in padded if claim.key.startswith("padding")}
    assert of["padding-writes"].verdict is Verdict.TOO_FEW, "three cells"
    assert "3 of 3 cells; +1.0 % to +1.0 %" in of["padding-writes"].found
    assert "3 of 3 cells; fewer by +5.0 %" in of["padding-erases"].found
    assert "0 of 3 cells" in of["padding-erases-tenth"].found, "a tenth is more than 5 %"
    lacking = rows_of({}).filter(pl.col("policy") != NOT_PADDED)
    assert verdict(judge(lacking), "padding-writes") is Verdict.UNTESTABLE


def test_buffers_that_heed_syncs_are_compared_with_their_like() -> None:
    def heeding(policy: str) -> str:
        return f"{policy}{',' if ':' in policy else ':'}commands=safe"

    rows = rows_of({OURS: {"host_writes": 90.0}})
    policies = [heeding(policy) for policy in rows["policy"]]
    synced = rows.with_columns(policy=pl.Series(policies))
    claims = {it.key: it for it in judge_paper("clock-dnv", {"rows": rows, "synced": synced})}
    fewer = claims["write-requests-in-all-cases-synced"]
    assert fewer.verdict is Verdict.REPRODUCED and "6 of 6 cells" in fewer.found


def test_twice_the_hit_ratio_is_twice() -> None:
    twice = rows_of({OURS: {"hit_ratio": 1.0}})
    assert verdict(judge(twice), "hit-ratio-financial") is Verdict.REPRODUCED
    less = rows_of({OURS: {"hit_ratio": 0.9}})
    assert verdict(judge(less), "hit-ratio-financial") is Verdict.DIRECTION


def test_lifetime_is_the_inverse_of_erases() -> None:
    # 100 / 73 = 1.3699, 37 % longer; a range is met if all of ours are in it, or a tenth beyond.
    same = judge(rows_of({OURS: {"erases": 73.0}}))
    assert verdict(same, "lifetime-financial") is Verdict.REPRODUCED
    assert verdict(same, "lifetime-filebench") is Verdict.DIRECTION, "11 to 20 %"
    [claim] = [claim for claim in same if claim.key == "lifetime-financial"]
    assert "+37.0 % to +37.0 %" in claim.found and claim.paper == "+37.0 % to +48.0 %"
    assert verdict(judge(rows_of({OURS: {"erases": 120.0}})), claim.key) is Verdict.CONTRADICTED


def test_a_clean_page_of_clock_dnv_refutes_the_claim_that_there_is_none() -> None:
    claims = judge(rows_of({}))
    assert verdict(claims, "no-clean-pages") is Verdict.REPRODUCED
    certain = [claim.statement for claim in claims if claim.by_construction]
    assert set(certain) == {"no-clean-pages", "nvm-writes-in-all-cases"}
    assert sum(counted(claims).values()) == len(claims) - len(certain), "they are not counted"
    one = rows_of({OURS: {"clean_pages_flushed": 1}})
    assert verdict(judge(one), "no-clean-pages") is Verdict.CONTRADICTED


def test_counts_are_compared_per_run_of_the_trace() -> None:
    twice = rows_of({OURS: {"host_writes": 104.0, "repetitions": 2}})
    assert verdict(judge(twice), "write-requests-financial-fab") is Verdict.REPRODUCED, "-48 %"
    same_ratio = rows_of({OURS: {"hit_ratio": 1.0, "repetitions": 2}})
    assert verdict(judge(same_ratio), "hit-ratio-financial") is Verdict.REPRODUCED


def test_what_rounds_to_nothing_has_no_minus() -> None:
    assert signed(-0.0004) == "+0.0 %" and signed(-0.004) == "-0.4 %"


def test_sizes_at_which_nothing_is_written_are_left_out() -> None:
    nothing = rows_of({OURS: {"host_writes": 0.0, "erases": 0.0}})
    assert verdict(judge(nothing), "lifetime-camwebdev") is Verdict.UNTESTABLE
    assert verdict(judge(nothing), "write-requests-camwebdev-body") is Verdict.UNTESTABLE


def test_the_command_writes_claims_tables_and_a_page(
    clockhand: Clockhand, experiment: Path, made: Reproduction, tmp_path: Path
) -> None:
    run = clockhand(
        "reproduce", "clock-dnv", "--experiment", str(experiment), "--html", "page.html",
        "--tables", "tables", "--out", "claims.json",
    )  # fmt: skip
    assert (run.code, run.out) == (0, b""), run.err
    page = (tmp_path / "page.html").read_text()
    for words in (
        "Figure 5: cache hit ratios", "Figure 8", "synthetic stand-in", "Table II",
        "cannot be shipped",
    ):  # fmt: skip
        assert words in page
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        "claims.csv", "statements.csv", "thresholds.csv", "rules.csv", "rows.csv", "ablation.csv",
        "timed.csv", "timed-verdicts.csv", "paper-drive.csv",
    }  # fmt: skip
    claims = pl.read_json(tmp_path / "claims.json")
    judged = {name: made.results[name] for name in ("rows", "paper_drive")}
    assert len(claims) == len(judge_paper("clock-dnv", judged)) and set(claims["counted"]) == {
        "yes",
        "no, true by construction",
    }


def test_what_is_wrong_is_refused_in_one_sentence(clockhand: Clockhand, tmp_path: Path) -> None:
    text = EXPERIMENT.read_text()
    (tmp_path / "unknown.toml").write_text('colour = "red"\n' + text)
    (tmp_path / "kind.toml").write_text(text.replace("seed = 1", 'seed = "one"'))
    (tmp_path / "workload.toml").write_text(text.replace("Filebench =", "Filebunch ="))
    (tmp_path / "broken.toml").write_text(text + "=")
    for words, expected in (
        (["--experiment", "unknown.toml"], "'colour' is unknown"),
        (["--experiment", "kind.toml"], "seed = 'one' is not a whole number"),
        (["--experiment", "workload.toml"], "the workloads of rows are Financial, CAMWEBDEV"),
        (["--experiment", "broken.toml"], "is not TOML"),
        (["--experiment", "absent.toml"], "absent.toml is not here"),
    ):
        run = clockhand("reproduce", "clock-dnv", *words)
        assert run.code == 2
        assert_one_sentence(run)
        assert expected in run.err, run.err


def test_committed_results_are_made_again() -> None:
    path = ROOT / "experiments" / "results" / "clock-dnv" / "rows.csv"
    whole = pl.read_csv(path, comment_prefix="#", schema_overrides=schema("ssd")).filter(
        (pl.col("trace") == "camwebdev-wide-stand-in") & (pl.col("buffer_pages") == 8192)
    )
    assert whole.height > 20
    committed = whole.filter(pl.col("buffer").str.contains("^(clock-dnv|fab|cbm):total=32MiB$"))
    assert committed.height == 3 and committed["is_steady"].all()
    [(_, part), *_] = read_paper_experiment("clock-dnv", EXPERIMENT).parts
    asked = part.sweep.settings[0].options
    run = clockhand.run_ssd(
        clockhand.synthesize(RECIPES / "camwebdev-wide-stand-in.toml"),
        buffers=committed["buffer"].to_list(),
        ssds=asked["ssd"],
        precondition=asked["precondition"],
        repeat=asked["repeat"],
        seed=asked["seed"],
    )
    # Columns that came later are not kept, and a drive has more options to resolve.
    kept = [name for name in run.rows.columns if name in committed and name != "ssd_resolved"]
    assert committed.select(kept).rows() == run.rows.select(kept).rows()
