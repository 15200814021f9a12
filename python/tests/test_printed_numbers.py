"""Every number that is printed from a kept table is what the table says.

Tables of pages are made again from `experiments/results`, claims are judged again from the counts
that are kept there, and what a sentence says is recomputed. The manifests of traces have a test of
their own (test_committed_traces.py), the examples of the README and the tutorial too (test_docs.py,
test_tutorial.py). Timings are exempt: they are of one machine on one day.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import geometric_mean, median
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import clockhand
from clockhand.reproduce import Claim, judge, read_paper_experiment
from clockhand.reproduce.figures import drawn
from clockhand.reproduce.packaged import packaged_content
from clockhand.reproduce.printed import OF_PAPER
from clockhand.reproduce.statements import claim_table
from clockhand.reproduce.tables import ALL_TRACES, ablation, band_rows
from clockhand.studies.ssd.findings import FAMILY
from clockhand.study.columns import schema
from conftest import Clockhand

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "experiments/results"
MARK = re.compile(r"<!-- (.+?): begin -->.*?<!-- \1: end -->", re.DOTALL)
MEASURED = re.compile(r"\d\.\d|\d\u00a0?\s?%")
"""What looks like a result: a decimal, or a percentage."""


@pytest.fixture(scope="module")
def scripts() -> Iterator[None]:
    """The scripts in `experiments` can be imported."""
    sys.path.insert(0, str(ROOT / "experiments"))
    yield
    sys.path.remove(str(ROOT / "experiments"))


@cache
def script(name: str) -> ModuleType:
    return import_module(name)


def table(name: str, **options: Any) -> pl.DataFrame:
    return pl.read_csv(RESULTS / f"{name}.csv", comment_prefix="#", **options)


@pytest.mark.usefixtures("scripts")
def test_the_page_of_papers_is_made_from_the_kept_tables() -> None:
    text = (ROOT / "experiments/papers.md").read_text(encoding="utf-8")
    assert script("papers_page").page(text) == text, "run experiments/papers_page.py"


@pytest.mark.usefixtures("scripts")
def test_the_page_of_two_tiers_is_made_from_the_kept_tables() -> None:
    text = (ROOT / "experiments/tiers.md").read_text(encoding="utf-8")
    assert script("tiers_page").page(text) == text, "run experiments/tiers_page.py"


@pytest.mark.usefixtures("scripts")
def test_what_slow_memory_replaces_follows_from_cells() -> None:
    page = script("tiers_page")
    # Nine pages are read once and the tenth then a thousand times: 10 % of fast memory serve.
    pages = [*range(9), *[9] * 1000]
    trace = clockhand.Trace.from_arrays([False] * len(pages), [4096 * it for it in pages])
    run = clockhand.tier(
        trace, fast="10%,50%", policies="lru", promote=["never", "first-touch"], tiers="cxl"
    )
    cells = [page._with_sizes(page.with_lines(group)) for group in page.groups(run.rows)]
    table = page.replaced(pl.concat(cells)).filter(pl.col("slowdown") == 0.1)
    assert table["replaced"].to_list() == [0.9] and table["policy"].to_list() == [
        "lru, first-touch"
    ]


@pytest.mark.usefixtures("scripts")
def test_the_pages_of_credit_clock_are_made_from_the_kept_tables(tmp_path: Path) -> None:
    names = script("credit_clock_page").PAGES
    for name in names:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"))
    script("credit_clock_page").write_tables(tmp_path, RESULTS / "credit-clock")
    for name in names:
        assert (tmp_path / name).read_text() == (ROOT / name).read_text(encoding="utf-8")


def test_the_page_of_papers_has_no_result_outside_of_its_blocks() -> None:
    text = MARK.sub("", (ROOT / "experiments/papers.md").read_text(encoding="utf-8"))
    text = re.sub(r"`[^`]*`", "", text)
    known = (
        "up to 10 %, 20 to 40 %, from 60 %",  # bands
        "sessions 5, 10, 20, 30, 40, 60 and 80 %",
        "first 1.4 million records", "13.7 to 21.0 million",
        "Linux 2.4", "Section 5.3", "Section 3.3",
    )  # fmt: skip
    for words in known:
        assert " ".join(words.split()) in " ".join(text.split()), words
    rest = " ".join(text.split())
    for words in known:
        rest = rest.replace(words, "")
    found = [rest[max(0, m.start() - 30) : m.end() + 10] for m in MEASURED.finditer(rest)]
    assert not found


def test_the_lengths_of_mobile_captures_are_those_of_their_manifest() -> None:
    lines = (ROOT / "traces/mobile/MANIFEST.md").read_text().splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| `whole/")]
    millions = [int(row[4].replace(",", "")) / 1e6 for row in rows]
    page = (ROOT / "experiments/papers.md").read_text(encoding="utf-8")
    assert f"{min(millions):.0f} to {max(millions):.0f} million references, which" in page


def as_kept(claims: list[Claim]) -> list[dict[str, str]]:
    return [
        {name: value or "" for name, value in row.items()} for row in claim_table(claims).to_dicts()
    ]


def kept(folder: str) -> list[dict[str, str]]:
    rows = table(f"{folder}/claims", infer_schema_length=0).to_dicts()
    return [{name: value or "" for name, value in row.items()} for row in rows]


@pytest.mark.usefixtures("scripts")
def test_a_table_that_is_judged_again_names_both_its_makings() -> None:
    merged = script("whole_sessions").merged
    before = "# Claims\n# command: a\n# machine: m\n# trace: x, SHA-256 1\nclaim\nold\n"
    now = "# Claims\n# command: b\n# machine: n\n# trace: x, whole, SHA-256 2\nclaim\nnew\n"
    both = (
        "# Claims\n# command: a\n# command: b\n# machine: m\n"
        "# trace: x, SHA-256 1\n# trace: x, whole, SHA-256 2\nclaim\nnew\n"
    )
    assert merged(before, now) == both == merged(both, now)
    part = now.replace("command: b", "command: b part")
    of_both = merged(both, part)
    assert "# command: b\n# command: b part\n" in of_both
    assert merged(of_both, now, ["part", "other"]) == both
    assert merged(of_both, now, ["other"]) != both


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize("folder", ["craw", "craw/whole", "cflru", "scm", "clock-dnv"])
def test_claims_follow_from_the_kept_counts(folder: str) -> None:
    paper = folder.partition("/")[0]
    results = script("whole_sessions").kept_results(paper, folder)
    assert as_kept(judge(paper, results)) == kept(folder)


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize("paper", ["craw", "cflru", "scm", "clock-dnv"])
def test_numbers_that_a_paper_gives_of_a_figure_stand_behind_ours(paper: str) -> None:
    results = script("whole_sessions").kept_results(paper, paper)
    looked_up = 0
    for figure in packaged_content(paper, "report.toml")["figure"]:
        said = {
            (place, it["says"], it.get("of"))
            for place, panel in enumerate(figure.get("panel", ()))
            for it in panel.get("paper", ())
        }
        if not said:
            continue
        tables = [results[name] for name in figure["of"] if name in results]
        shown = set()
        for _, panels in drawn(figure, *tables):
            for place, lines in enumerate(panels):
                ours = [it for it in lines.series if not it.startswith(OF_PAPER)]
                assert lines.series[-len(ours) :] == tuple(ours) and ours, "theirs are behind"
                theirs = {it for it in lines.series if it not in ours}
                assert theirs <= {record["series"] for record in lines.records}
                shown |= {(place, it.removeprefix(OF_PAPER)) for it in theirs}
        assert {(place, says) for place, says, _ in said} == shown, figure["key"]
        looked_up += len(said)
    assert looked_up


@pytest.mark.parametrize("paper", ["craw", "cflru", "scm", "clock-dnv"])
def test_every_claim_is_judged_by_what_the_experiment_asks(paper: str) -> None:
    path = ROOT / f"experiments/{paper}/experiment.toml"
    experiment = read_paper_experiment(paper, path)
    # Traces that are taken along are asked where they are there.
    parts = tomllib.loads(path.read_text(encoding="utf-8"))["part"]
    asked = {*experiment.beside, *dict(experiment.parts), *parts}
    content = tomllib.loads((ROOT / f"experiments/{paper}/claims.toml").read_text())
    shared = [content.get("defaults", {}), *content.get("measure", {}).values()]
    tables = {name for it in (*shared, *content["claim"]) for name in it.get("tables", [])}
    assert tables <= asked <= set(content["needs"])


@pytest.mark.parametrize("folder", ["craw", "craw/whole"])
def test_bands_follow_from_the_kept_counts(folder: str) -> None:
    bands = table(f"{folder}/bands")
    assert_frame_equal(band_rows(table(f"{folder}/rows", infer_schema_length=None)), bands)
    assert ALL_TRACES in bands["trace"]


def test_the_ablation_of_clock_dnv_follows_from_the_kept_counts() -> None:
    rows = table("clock-dnv/rows", schema_overrides=schema("ssd")).with_columns(FAMILY)
    measures = ["hit_ratio", "host_writes", "batches", "nvm_writes", "erases"]
    again = ablation(rows, columns=measures)
    assert again.equals(table("clock-dnv/ablation", schema_overrides=again.schema))


@pytest.mark.usefixtures("scripts")
def test_rank_correlations_follow_from_the_kept_times() -> None:
    again = script("io_time").correlated(table("io-time/times"))
    kept = table("io-time/correlations")
    assert_frame_equal(again.with_columns(pl.col("policies").cast(pl.Int64)), kept)
    assert (kept["rank_correlation_cost_of_1"] > 0).all()


def test_the_prose_on_credit_clock_says_what_its_tables_say() -> None:
    page = (ROOT / "experiments/credit-clock.md").read_text(encoding="utf-8")
    counts = {
        row["policy"]: row
        for row in table("credit-clock/counts").filter(pl.col("flush_at_end")).to_dicts()
    }
    beyond = 100 * (counts["credit-clock"]["io_time_over_feasible"] - 1)
    assert f"It still needs {beyond:.0f} %\nmore I/O time" in page
    of_traces = table("credit-clock/by-trace").row(
        by_predicate=pl.col("flush_at_end") & (pl.col("policy") == "credit-clock"), named=True
    )
    programs = [path.stem for path in (ROOT / "traces").glob("*.parquet")]
    mean = geometric_mean([of_traces[name] for name in programs])
    assert len(programs) == 8
    assert f"eight traces of programs alone the mean is {mean:.3f}" in page


def test_the_prose_on_the_optimum_says_what_its_tables_say() -> None:
    page = (ROOT / "docs/method.md").read_text(encoding="utf-8")
    by_trace = table("credit-clock/bracket-widths").drop("trace")
    widths = [float(width) for row in by_trace.iter_rows() for width in row]
    said = re.search(r"None is wider than ([\d.]+) %, half are narrower than ([\d.]+) %", page)
    assert said is not None
    assert f"{max(widths):.1f}" == said[1] and median(widths) < float(said[2])
    gaps = table("credit-clock/bracket").group_by("flush_at_end").agg(pl.max("median_gap_percent"))
    most = dict(gaps.iter_rows())
    assert most[True] < 1 and most[False] < 3
    assert (
        "half of the brackets are narrower than one percent with the final flush, and than" in page
    )


def test_the_prose_of_the_readme_says_what_its_trace_says() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    info = clockhand.Trace(ROOT / "traces/tar-gzip.parquet").info()
    writes = 100 * info["write_references"] / info["references"]
    said = f"{info['references']:,} references of `tar` and `gzip` to {info['footprint_pages']} "
    assert f"{said}pages, {writes:.1f} % of them writes" in readme
    rows = {
        row["policy"]: row
        for row in clockhand.simulate(
            ROOT / "traces/tar-gzip.parquet", policies=["clock", "craw-a"], memory="5%",
            device="slc-nand",
        ).rows.to_dicts()
    }  # fmt: skip
    less = 100 * (1 - rows["craw-a"]["io_time_us"] / rows["clock"]["io_time_us"])
    assert f"still needs {less:.0f} % less I/O time at 5 % of memory" in readme


def test_the_example_of_file_caches_says_what_its_command_prints(clockhand: Clockhand) -> None:
    page = (ROOT / "docs/caches.md").read_text(encoding="utf-8")
    [words] = re.findall(r"^\(`clockhand (filecache traces/servers/web.*?)`\)", page, re.MULTILINE)
    run = clockhand(*words.replace("traces/", f"{ROOT}/traces/").split(), "--format", "json")
    rows = {(row["capacity"], row["admission"], row["device"]): row for row in json.loads(run.out)}
    shares = re.findall(r"^\| (\d+ %) ", page, re.MULTILINE)

    def told(row: dict[str, Any]) -> str:
        change = 100 * (row["time_us"] / row["time_without_cache_us"] - 1)
        return f"{abs(change):.1f} % {'more' if change > 0 else 'less'}"

    capacities = list(dict.fromkeys(capacity for capacity, _, _ in rows))
    for share, capacity in zip(shares, capacities, strict=True):
        always = rows[capacity, "always", "hdd"]
        cells = [f"{100 * always['hit_ratio']:.1f} %", told(always)]
        cells += [told(rows[capacity, name, "scm:ratio=1"]) for name in ("always", "second-touch")]
        [line] = [line for line in page.splitlines() if line.startswith(f"| {share} ")]
        shown = line.replace(" time than without a cache", "").replace(" of the footprint", "")
        assert shown == f"| {' | '.join([share, *cells])} |"
