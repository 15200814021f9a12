"""The claims of the CRAW paper on policies, and the rules by which they are judged.

Quotations are from H. Lee, H. Bahn, K. G. Shin: Page replacement for write references in NAND flash
based virtual memory systems. JCSE 8(3), 2014.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.claims import (
    CASES_RULE,
    MOST_RULE,
    NUMBER_RULE,
    RANGE_RULE,
    Claim,
    Table,
    Verdict,
    judged_cases,
    judged_most,
    judged_number,
    judged_range,
    untestable,
)
from clockhand.reproduce.craw_inside_claims import SMALL_MEMORY, areas_move, few_hand_movements
from clockhand.reproduce.evidence import Comparison, Evidence
from clockhand.study.policies import BOUND

CLEARING_RULES = {
    "cfclock": ("cleared", "CFCLOCK clears the bits of the pages that its hand passes"),
    "cfclock:clear_passed=false": ("literal", "CFCLOCK clears no bit in its window"),
}
"""The paper does not say when CFCLOCK clears reference bits: the policy of each reading, and it."""

RANGES: Mapping[str, tuple[str, Callable[[Comparison], float]]] = {
    "means": ("a range over traces of means over memory sizes", lambda one: one.mean),
    "greatest": ("a range over traces of the greatest over memory sizes", lambda one: one.greatest),
}
"""The paper does not say what its ranges are taken over: readings, and the number of a trace."""

READ_INTENSIVE = 7
"""Reads per write; the paper's read-intensive freecell has 7.16, gedit 12.05."""

ALIKE = 0.02
"""The relative difference in I/O time that is called almost impossible to distinguish."""

NEARLY_ALIKE = 0.1
NO_READ_INTENSIVE = "No trace here has seven reads per write or more."
NO_WRITE_INTENSIVE = "No trace here has more write references than read references."


def policy_claims(evidence: Evidence, areas: pl.DataFrame) -> Iterator[Claim]:
    """Judge the claims of section V and VI on policies.

    Args:
        evidence: The rows of the experiment.
        areas: The sizes of CRAW's read area at a small memory, as ``area_rows`` returns them.
    """
    yield _mean_against_clock(evidence)
    yield _best_against_clock(evidence)
    yield from _range_against_car(evidence)
    yield from _range_against_cfclock(evidence)
    yield from _abstract(evidence)
    for policy, (slug, reading) in CLEARING_RULES.items():
        yield _best_of_four(evidence, policy, slug, reading)
    for policy, (slug, reading) in CLEARING_RULES.items():
        yield _cfclock_behind(evidence, policy, slug, reading)
    for policy, (slug, reading) in CLEARING_RULES.items():
        yield _cfclock_reads(evidence, policy, slug, reading)
    yield _equal_with_all_memory(evidence)
    yield _writes_of_write_intensive(evidence)
    yield _writes_of_read_intensive(evidence)
    yield areas_move(areas)
    yield few_hand_movements(evidence)
    yield _craw_a_is_alike(evidence)


def _mean_against_clock(evidence: Evidence) -> Claim:
    compared = evidence.compared("craw", "clock")
    mean, paper = _mean(compared), 0.239
    return Claim(
        "mean-against-clock",
        "section V.B, Figure 12",
        "In comparison with CLOCK, CRAW reduced the total I/O time by an average of 23.9%",
        f"Mean over traces of the mean reduction over memory sizes below 100 %. {NUMBER_RULE}",
        judged_number(mean, paper),
        f"{percent(mean)} on average, the traces' means from "
        f"{_span([one.mean for one in compared])}",
        paper=percent(paper),
        why=_where_from(evidence, "craw", "clock"),
        evidence=_table(compared),
    )


def _best_against_clock(evidence: Evidence) -> Claim:
    compared = evidence.compared("craw", "clock")
    best = max(compared, key=lambda comparison: comparison.greatest)
    paper = 0.665
    return Claim(
        "best-against-clock",
        "section V.B, Figure 12",
        "and up to 66.5%.",
        f"Greatest reduction at any memory size of any trace. {NUMBER_RULE}",
        judged_number(best.greatest, paper),
        f"up to {percent(best.greatest)}, on {best.trace} with {percent(best.greatest_at)} of "
        f"memory; the traces' greatest from {_span([one.greatest for one in compared])}",
        paper=percent(paper),
        evidence=_table(compared),
    )


def _ranges(
    claim: Callable[..., Claim],
    compared: Sequence[Comparison],
    low: float,
    high: float,
    *,
    key: str,
    reading: str = "",
    evidence: Table = (),
    why: str = "",
) -> Iterator[Claim]:
    """Judge a range in each reading of what it is taken over."""
    for name, (range_reading, value) in RANGES.items():
        values = [value(comparison) for comparison in compared]
        worst = min(compared, key=lambda comparison: comparison.least)
        yield claim(
            key=f"{key}-{name}",
            rule=RANGE_RULE,
            verdict=judged_range(values, low, high),
            found=f"{_span(values)}, {percent(sum(values) / len(values))} on average; the worst "
            f"cell {percent(worst.least)}, on {worst.trace} with {percent(worst.least_at)} of "
            "memory",
            paper=f"{percent(low)} to {percent(high)}",
            reading="; ".join(text for text in (reading, range_reading) if text),
            why=why,
            evidence=evidence or _table(compared),
        )


def _range_against_car(evidence: Evidence) -> Iterator[Claim]:
    claim = partial(
        Claim,
        place="section V.B, Figure 12",
        quote="The performance improvements of CRAW over CAR and CFCLOCK are in the range of "
        "25%–66% …",
    )
    compared = evidence.compared("craw", "car")
    why = _where_from(evidence, "craw", "car")
    yield from _ranges(claim, compared, 0.25, 0.66, key="range-against-car", why=why)


def _range_against_cfclock(evidence: Evidence) -> Iterator[Claim]:
    claim = partial(Claim, place="section V.B, Figure 12", quote="… and 16%–58%, respectively.")
    for policy, (slug, reading) in CLEARING_RULES.items():
        compared = evidence.compared("craw", policy)
        key = f"range-against-cfclock-{slug}"
        yield from _ranges(claim, compared, 0.16, 0.58, key=key, reading=reading)


def _abstract(evidence: Evidence) -> Iterator[Claim]:
    claim = partial(
        Claim,
        place="abstract",
        quote="the proposed algorithm outperforms CLOCK, CAR, and CFLRU by 20%–66%.",
    )
    compared = {other: evidence.compared("craw", other) for other in ("clock", "car", "cflru")}
    heads, *_ = _table(compared["clock"])
    table = (
        ("against", *heads),
        *((other, *row) for other, ones in compared.items() for row in _table(ones)[1:]),
    )
    every = [comparison for ones in compared.values() for comparison in ones]
    why = "The paper's evaluation shows CFCLOCK where its abstract says CFLRU."
    yield from _ranges(claim, every, 0.2, 0.66, key="abstract", evidence=table, why=why)


def _best_of_four(evidence: Evidence, cfclock: str, slug: str, reading: str) -> Claim:
    won = _sizes_won(evidence, cfclock)
    shares = {trace: sum(of_trace) / len(of_trace) for trace, of_trace in won.items() if of_trace}
    return Claim(
        f"best-of-four-{slug}",
        "section V.B, Figure 12",
        "CRAW outperforms the other algorithms for a wide range of memory size and a variety of "
        "workloads.",
        "Traces on which CRAW needs less I/O time than each of CLOCK, CAR and CFCLOCK at more than "
        f"half of the memory sizes below 100 %. {CASES_RULE}",
        judged_cases([share > 0.5 for share in shares.values()]),
        f"{sum(share > 0.5 for share in shares.values())} of {len(shares)} traces",
        reading=reading,
        evidence=(
            ("trace", "best at"),
            *((trace, f"{percent(share)} of the sizes") for trace, share in shares.items()),
        ),
    )


def _sizes_won(evidence: Evidence, cfclock: str) -> dict[str, list[bool]]:
    wins = []
    for other in ("clock", "car", cfclock):
        ratios = evidence.ratios("craw", other)
        wins.append(ratios.with_columns((pl.col("ratio") < 1).alias(other)).drop("ratio"))
    joined = wins[0]
    for more in wins[1:]:
        joined = joined.join(more, on=["trace", "memory_share"])
    won = pl.all_horizontal("clock", "car", cfclock).alias("won")
    return {
        trace: joined.filter(pl.col("trace") == trace).select(won)["won"].to_list()
        for trace in evidence.traces
    }


def _cfclock_behind(evidence: Evidence, cfclock: str, slug: str, reading: str) -> Claim:
    key, place = f"cfclock-behind-{slug}", "section V.B, Figure 12(c), (d)"
    quote = (
        "it falls behind CLOCK and CAR in dealing with some read-intensive workloads, such as "
        "freecell and gedit, for small memory sizes."
    )
    intensive = _read_intensive(evidence)
    if not intensive:
        return untestable(key, place, quote, NO_READ_INTENSIVE)
    behind = _sizes_behind(evidence, cfclock, intensive)
    held = [count > 0 for count in behind.values()]
    return Claim(
        key,
        place,
        quote,
        f"Traces with {READ_INTENSIVE} reads per write or more on which CFCLOCK needs more I/O "
        f"time than both at some size up to {percent(SMALL_MEMORY)} of memory. {CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} traces",
        reading=reading,
        why=_pages_of_cfclock(evidence, cfclock, intensive),
        evidence=(
            ("trace", "sizes at which CFCLOCK is behind both"),
            *((trace, str(count)) for trace, count in behind.items()),
        ),
    )


def _pages_of_cfclock(evidence: Evidence, cfclock: str, traces: Sequence[str]) -> str:
    reads, writes = (
        evidence.mean_ratio(cfclock, "clock", value, traces) for value in ("read_ios", "write_ios")
    )
    return (
        f"Of CLOCK's pages CFCLOCK reads {percent(reads)} and writes {percent(writes)}, on average "
        "over the memory sizes."
    )


def _sizes_behind(evidence: Evidence, cfclock: str, traces: Sequence[str]) -> dict[str, int]:
    key = ["trace", "memory_share"]
    against_clock, against_car = (
        evidence.ratios(cfclock, other).rename({"ratio": other}) for other in ("clock", "car")
    )
    both = against_clock.join(against_car, on=key)
    behind = both.filter(
        (pl.col("memory_share") <= SMALL_MEMORY) & (pl.min_horizontal("clock", "car") > 1)
    )
    return {trace: behind.filter(pl.col("trace") == trace).height for trace in traces}


def _cfclock_reads(evidence: Evidence, cfclock: str, slug: str, reading: str) -> Claim:
    key, place = f"cfclock-reads-{slug}", "section V.B, Figure 13(c)"
    quote = "Observe the amount of read I/Os of CFCLOCK in Fig. 13(c) that is almost 200% of CLOCK."
    intensive = _read_intensive(evidence)
    if not intensive:
        return untestable(key, place, quote, NO_READ_INTENSIVE)
    ratios = evidence.ratios(cfclock, "clock", "read_ios")
    greatest = [
        ratios.filter(pl.col("trace") == trace).sort("ratio").row(-1, named=True)
        for trace in intensive
    ]
    most = max(greatest, key=lambda row: float(row["ratio"]))
    return Claim(
        key,
        place,
        quote,
        f"What CFCLOCK reads beyond CLOCK, at most, on traces with {READ_INTENSIVE} reads per "
        f"write or more. {NUMBER_RULE}",
        judged_number(most["ratio"] - 1, 1.0),
        f"{percent(most['ratio'])} of CLOCK's, on {most['trace']} with "
        f"{percent(most['memory_share'])} of memory",
        paper=f"{percent(2.0)} of CLOCK's, {percent(1.0)} beyond it",
        reading=reading,
        why=_pages_of_cfclock(evidence, cfclock, intensive),
        evidence=(
            ("trace", "most read I/Os, of CLOCK's", "memory"),
            *(
                (row["trace"], percent(row["ratio"]), percent(row["memory_share"]))
                for row in greatest
            ),
        ),
    )


def _equal_with_all_memory(evidence: Evidence) -> Claim:
    complete = evidence.rows.filter((pl.col("memory_share") == 1.0) & (pl.col("policy") != BOUND))
    times = complete.group_by("trace", maintain_order=True).agg(
        pl.col("io_time_us").n_unique().alias("times")
    )
    equal = [times == 1 for times in times["times"]]
    return Claim(
        "equal-with-all-memory",
        "section V.B",
        "The 100% memory size means the unrealistic condition that a complete memory footprint "
        "can be loaded at the same time … In this environment, all algorithms perform the same.",
        f"Traces on which all policies need exactly the same I/O time. {CASES_RULE}",
        judged_cases(equal),
        f"{sum(equal)} of {len(equal)} traces",
        why="Every page is read once, and nothing is replaced.",
        by_construction=True,
    )


def _writes_of_write_intensive(evidence: Evidence) -> Claim:
    key, place = "writes-of-write-intensive", "section V.B, Figures 12 and 14(a), (b)"
    quote = (
        "In the case of xmms and gqview traces, there are more write references than read "
        "references. In these environments, CRAW preserves dirty pages in the memory as much as "
        "possible by enlarging write areas, which eventually reduces the number of write I/Os and "
        "total I/O time."
    )
    intensive = evidence.select_traces(lambda trace: evidence.reads_per_write(trace) < 1)
    if not intensive:
        return untestable(key, place, quote, NO_WRITE_INTENSIVE)
    ratios = {
        trace: [
            evidence.mean_ratio("craw", "clock", value, [trace])
            for value in ("write_ios", "io_time_us")
        ]
        for trace in intensive
    }
    held = [max(of_trace) < 1 for of_trace in ratios.values()]
    return Claim(
        key,
        place,
        quote,
        "Traces with more writes than reads on which the mean write I/Os and the mean I/O time are "
        f"below CLOCK's. {CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} traces",
        evidence=(
            ("trace", "write I/Os, of CLOCK's", "I/O time, of CLOCK's"),
            *((trace, *map(percent, of_trace)) for trace, of_trace in ratios.items()),
        ),
    )


def _writes_of_read_intensive(evidence: Evidence) -> Claim:
    key, place = "writes-of-read-intensive", "section V.B, Figures 13 and 14(c), (d)"
    quote = (
        "In the case of gedit and freecell traces, however, read references are dominant. … CRAW "
        "focuses on reducing the number of expensive write I/Os, but it also keeps the number of "
        "read I/Os to a certain limited range."
    )
    intensive = _read_intensive(evidence)
    if not intensive:
        return untestable(key, place, quote, NO_READ_INTENSIVE)
    reads = evidence.ratios("craw", "clock", "read_ios")
    most_reads = {
        trace: float(str(reads.filter(pl.col("trace") == trace)["ratio"].max()))
        for trace in intensive
    }
    writes = {
        trace: evidence.mean_ratio("craw", "clock", "write_ios", [trace]) for trace in intensive
    }
    held = [writes[trace] < 1 and most_reads[trace] < 2 for trace in intensive]
    return Claim(
        key,
        place,
        quote,
        f"Traces with {READ_INTENSIVE} reads per write or more on which the mean write I/Os are "
        "below CLOCK's, and the read I/Os below twice CLOCK's (what the paper holds against "
        f"CFCLOCK) at every size. {CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} traces",
        evidence=(
            ("trace", "mean write I/Os, of CLOCK's", "most read I/Os, of CLOCK's"),
            *((trace, percent(writes[trace]), percent(most_reads[trace])) for trace in intensive),
        ),
    )


def _craw_a_is_alike(evidence: Evidence) -> Claim:
    ratios = evidence.ratios("craw-a", "craw")
    alike = ((ratios["ratio"] - 1).abs() <= ALIKE).to_list()
    better = ratios.filter(pl.col("ratio") < 1).height / ratios.height
    ordered = ratios.sort("ratio")
    best, worst = ordered.row(0, named=True), ordered.row(-1, named=True)
    verdict = judged_most(alike)
    if verdict is Verdict.CONTRADICTED:
        median = float(str((ratios["ratio"] - 1).abs().median()))
        verdict = Verdict.DIRECTION if median <= NEARLY_ALIKE else verdict
    return Claim(
        "craw-a-is-alike",
        "section VI.A, Figure 17",
        "for most cases, the performances of CRAW and CRAW-A are so similar that they are almost "
        "impossible to distinguish. Furthermore, in some cases, CRAW-A performs better",
        f"Cells in which the I/O times differ by at most {percent(ALIKE)}. {MOST_RULE[:-1]} unless "
        f"the median difference is at most {percent(NEARLY_ALIKE)}: direction only.",
        verdict,
        f"alike in {percent(sum(alike) / len(alike))} of the cells, CRAW-A better in "
        f"{percent(better)}",
        why=f"From {percent(1 - best['ratio'])} less on {best['trace']} with "
        f"{percent(best['memory_share'])} of memory to {percent(worst['ratio'] - 1)} more on "
        f"{worst['trace']} with {percent(worst['memory_share'])}.",
    )


def _read_intensive(evidence: Evidence) -> list[str]:
    return evidence.select_traces(lambda trace: evidence.reads_per_write(trace) >= READ_INTENSIVE)


def _mean(compared: Sequence[Comparison]) -> float:
    return sum(comparison.mean for comparison in compared) / len(compared)


def _span(values: Sequence[float]) -> str:
    return f"{percent(min(values))} to {percent(max(values))}"


def _table(compared: Sequence[Comparison]) -> Table:
    """Reductions of I/O time, a row per trace."""
    return (
        ("trace", "mean reduction", "worst", "at memory", "greatest", "at memory"),
        *(
            (
                one.trace,
                percent(one.mean),
                percent(one.least),
                percent(one.least_at),
                percent(one.greatest),
                percent(one.greatest_at),
            )
            for one in compared
        ),
    )


def _where_from(evidence: Evidence, policy: str, other: str) -> str:
    reads, writes = (
        evidence.mean_ratio(policy, other, value, evidence.traces)
        for value in ("read_ios", "write_ios")
    )
    return (
        f"On average CRAW reads {percent(reads)} and writes {percent(writes)} of the pages that "
        f"{other.upper()} does."
    )
