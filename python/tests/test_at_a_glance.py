"""What first screens say: headlines that can be checked on them, and who looks like whom."""

import itertools
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

import clockhand
from clockhand.report.appearance import IDENTITIES, LIGHT, marks
from clockhand.report.compared import Compared, SizeAxis, axis_of
from clockhand.report.lines import cut_note
from clockhand.report.overview import overview
from clockhand.report.places import Place
from clockhand.report.scales import Kind, Measure
from clockhand.report.sections import headline as ranking_headline
from clockhand.reproduce.judge import Claim
from clockhand.reproduce.report import found_text, quoted, readings_text
from clockhand.reproduce.rules import Verdict
from clockhand.studies.locality.findings import Verdict as Finding
from clockhand.studies.locality.findings import title
from clockhand.studies.programs.report import render
from clockhand.studies.ssd.findings import findings, headline
from clockhand.study.facts import printable
from clockhand.study.shell import shell_line
from programs_example import AGREEING, facts, rows_of, sampled, statistics

GZIP = Path(__file__).resolve().parents[2] / "traces/tar-gzip.parquet"


def test_buffers_of_one_page_have_identities_of_their_own() -> None:
    names = [name for name in clockhand.write_buffers()["name"] if name in IDENTITIES]
    assert len(names) >= 15
    looks = {look.policy: look for look in marks(names, LIGHT)}
    assert looks["clock-dnv"].color != looks["craw"].color
    assert looks["lru"].color != looks["lru-wsr"].color
    colors = [look.color for look in looks.values()]
    # Seven colours and that of bounds, so one is that of three. Shape and dash tell them apart.
    assert sum(count > 2 for count in Counter(colors).values()) <= 1
    assert max(Counter(colors).values()) <= 3
    for one, other in itertools.combinations(looks.values(), 2):
        if one.color == other.color:
            assert one.shape != other.shape and one.dash != other.dash


def test_an_outlier_of_amounts_is_cut_and_flattens_nothing() -> None:
    names = ("fab", "lru", "clock", "craw", "cbm")
    records = [
        {"policy": name, "size": size, "pages": (90_000 if name == "fab" else 1000 + place) / size}
        for place, name in enumerate(names)
        for size in (1, 2, 4)
    ]
    looks = marks(names, LIGHT)
    measure = Measure("pages", "pages", "Pages", "Written.", Kind.COUNT)
    shared = Compared("t", "Buffer", records, SizeAxis("size", "Size", [1, 2, 4]), looks, names)
    axis = axis_of(shared, measure)
    assert axis.is_cut and axis.high < 1200 and not axis.is_logarithmic
    assert "beyond it go, at most: fab 90,000" in cut_note(shared, measure)
    named = replace(shared, anchors=("fab",))
    assert axis_of(named, measure).high >= 90_000


def test_those_that_hardly_differ_from_the_best_are_named() -> None:
    values = {"craw": 0.66, "nru": 0.67, "lru": 0.675, "clock": 1.0}
    summed = overview(
        {(name, Place("t", size)): value for name, value in values.items() for size in (1, 2)},
        key="time", title="", unit="I/O time over clock", word="Policy", size_word="memory",
        size_text=str, notes={"clock": "baseline"},
    )  # fmt: skip
    assert summed is not None
    assert "Within 3\u00a0% of the best: craw, nru and lru." in summed.caption


def test_a_headline_says_of_how_many_sizes_it_is() -> None:
    shares = {29: 0.05, 116: 0.2, 290: 0.5}
    values = {("clock", Place("t", size, share)): 1.0 for size, share in shares.items()}
    values |= {("craw", Place("t", size, share)): 0.5 for size, share in shares.items()}
    values["craw", Place("t", 290, 0.5)] = 0.0
    summed = overview(
        values, key="time", title="", unit="I/O time over clock", word="Policy",
        size_word="memory", size_text=str, notes={"clock": "baseline"},
    )  # fmt: skip
    assert summed is not None
    assert summed.caption.endswith("memory 290 (50\u00a0%), where craw needs nothing.")
    said = ranking_headline([summed], "I/O time", "on t")
    assert said == "craw needs 50.0\u00a0% less I/O time than clock on t, at 2 of 3 sizes"


def test_a_command_is_quoted_as_people_would() -> None:
    for words, said in (
        (["sort", "-o", "a b"], "sort -o 'a b'"),
        (["python3", "-c", "print('it is')"], "python3 -c \"print('it is')\""),
        (["sh", "-c", "a\nb"], "sh -c 'a\nb'"),
        (["awk", '{print "$1"}'], "awk '{print \"$1\"}'"),
        (["say", "it's `$5`!"], "say 'it'\"'\"'s `$5`!'"),
        (["say", 'it\'s "5"'], 'say "it\'s \\"5\\""'),
    ):
        assert shell_line(words) == said
        assert shlex.split(said) == words
    facts = printable({"command": "sh -c 'a\nb\u202e'", "name": "a\nb"})
    assert facts == {"command": "sh -c 'a\nb\\u202e'", "name": "a\\nb"}


def tiers(fast: str) -> Any:
    pages = [page % 40 for page in range(4000)] + [40] * 4000
    trace = clockhand.Trace.from_arrays(["R"] * 8000, [4096 * page for page in pages], name="t")
    return clockhand.tier(trace, fast=fast, policies="lru,tpp")


def test_the_headline_of_tiers_is_a_column_of_the_first_table() -> None:
    page = tiers("20%,50%,100%")._rendered([])
    assert "slow memory can replace, if it may be" in page
    assert "Time of a reference over that in fast memory alone" in page


def test_only_policies_that_serve_are_named_in_the_headline() -> None:
    run = clockhand.tier(GZIP, fast="10%,25%", policies="lru,tpp,memtis", tiers="cxl")
    first, second = [said.replace("\u00a0", " ") for said in run._answer()[:2]]
    assert first.endswith("the memory of tar-gzip.parquet at a slowdown of 10 % (lru and tpp).")
    assert second == "It can replace 90 % at 5 % (tpp); none of the sizes tried keeps within 1 %."
    page = run._rendered([])
    assert page.count(first.replace(" %", "\u00a0%").rstrip(".")) == 2  # title and heading
    assert "no size tried is enough" in page and "Read –" not in page


def test_where_no_size_is_close_to_fast_memory_the_nearest_is_named() -> None:
    for sizes in ("2%,5%", "2%,5%,100%"):
        said = tiers(sizes)._answer()[0].replace("\u00a0", " ")
        assert said.startswith("None of the sizes tried keeps t within 10 % of fast memory alone: ")
        assert " the nearest, takes " in said and "(4.88 % of the footprint)" in said


def writing(**writes: int) -> tuple[pl.DataFrame, Any]:
    """Rows of buffers that write this many pages, and facts."""
    trace = clockhand.Trace.from_arrays(["W"] * 64, [4096 * page for page in range(64)], name="t")
    names = {name: name.replace("_", "-") for name in writes}
    run = clockhand.run_ssd(
        trace, buffers=[f"{name}:total=8" for name in names.values()], ssds="small"
    )
    counts = {f"{name}:total=8": writes[key] for key, name in names.items()}
    count = pl.col("buffer").replace_strict(counts, return_dtype=run.rows["host_writes"].dtype)
    return run.rows.with_columns(count.alias("host_writes")), run.facts


def test_buffers_that_hardly_differ_are_said_to() -> None:
    rows, made = writing(lru=1000, cbm=1010, craw=1020, fab=5000)
    assert headline(rows) == (
        "3 of 4 buffers hardly differ in pages written to flash with 32\u00a0KiB"
    )
    [said] = [text for text in findings(rows, made) if "hardly" in text]
    assert "1,000 (lru) to 1,020 pages to flash; the most, 5,000, writes fab." in said


def test_hardly_any_pages_are_no_hundred_percent_fewer() -> None:
    rows, made = writing(cbm=10, lru=30_000)
    [said] = [text for text in findings(rows, made) if "fewest" in text]
    assert "lru writes 3,000 times as many" in said and "100" not in said.split("fewest")[1]


def test_the_title_of_several_localities_counts_what_predicts_better() -> None:
    better = [Finding("", "", it) for it in ("write recency", "write recency", "")]
    assert title(better, ["a", "b", "c"]) == (
        "Write recency predicts the next write better on 2 of 3 traces"
    )


def test_the_title_of_one_locality_names_its_trace() -> None:
    said = title([Finding("Write recency predicts the next write better.", "", "")], ["t"])
    assert said == "Write recency predicts the next write better on t"


def test_statements_have_the_papers_words_and_say_in_how_many_cases_they_hold() -> None:
    long = "the temporal locality of read references is very similar to that of all " * 3
    claims = [
        Claim("a-1", "a", "", long, "", Verdict.CONTRADICTED, "0 of 8 traces"),
        Claim("a-2", "a", "", long, "", Verdict.REPRODUCED, "8 of 8 traces"),
        Claim("b", "b", "", "short", "", Verdict.UNTESTABLE, ""),
    ]
    assert quoted(claims[2]) == "\u201cshort\u201d"
    assert len(quoted(claims[0])) < 120 and " … " in quoted(claims[0])
    assert quoted(claims[0])[-20:-1] == long[-19:]
    assert found_text("0 of 8 traces") == "holds on 0 of 8 traces"
    assert found_text("-2.9 % on 2026-01-02") == "\u22122.9\u00a0% on 2026-01-02"
    assert found_text("1 of 1 traces") == "holds on 1 of 1 trace"
    assert readings_text(claims).startswith("These are 3 readings of 2 statements, a claim each; 1")


def test_a_figure_of_a_run_begins_where_something_is_seen() -> None:
    samples = sampled(*((second, {"misses": second**2}) for second in range(5, 14)))
    program = "python3 -c \"\nprint('it is')\n\""
    page = render(rows_of(statistics(), **AGREEING), samples.counts(), samples.gauges(),
                  facts(program=program))  # fmt: skip
    assert "it is" in page and "\\n" not in page.split("<main>")[0]
