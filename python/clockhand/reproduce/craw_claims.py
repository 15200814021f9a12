"""The claims of the CRAW paper on policies, and the rules by which they are judged.

Quotations are from H. Lee, H. Bahn, K. G. Shin: Page replacement for write references in NAND flash
based virtual memory systems. JCSE 8(3), 2014.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.claims import Claim, Verdict, graded
from clockhand.reproduce.evidence import Comparison, Evidence

LITERAL = "cfclock:clear_passed=false"
CLEARING_RULES = {
    "cfclock": "bits of passed pages cleared",
    LITERAL: "no bit cleared in the window",
}
TOLERANCE = 0.9
"""A figure is met by nine tenths of it: the paper does not say how it took its means."""

READ_INTENSIVE = 7
"""Reads per write; the paper's read-intensive freecell has 7.16, gedit 12.05."""

SMALL_MEMORY = 0.2
"""The share of the footprint up to which memory is called small."""

ALIKE = 0.02
"""The relative difference in I/O time that is called almost impossible to distinguish."""

FEW_MOVEMENTS = 5
NO_READ_INTENSIVE = "No committed trace has seven reads per write or more."
NO_WRITE_INTENSIVE = "No committed trace has more write references than read references."


def policy_claims(evidence: Evidence, gauges: pl.DataFrame) -> Iterator[Claim]:
    """Judge the claims of section V and VI on policies.

    Args:
        evidence: The rows of the experiment.
        gauges: CRAW's gauges at a small memory, for the sizes of its areas.
    """
    yield _mean_against_clock(evidence)
    yield _best_against_clock(evidence)
    yield _range_against_car(evidence)
    yield _range_against_cfclock(evidence)
    yield _abstract(evidence)
    yield _best_of_four(evidence)
    yield _cfclock_behind(evidence)
    yield _cfclock_reads(evidence)
    yield _equal_with_all_memory(evidence)
    yield _writes_of_write_intensive(evidence)
    yield _writes_of_read_intensive(evidence)
    yield _areas_move(evidence, gauges)
    yield _few_hand_movements(evidence)
    yield _craw_a_is_alike(evidence)


def _mean_against_clock(evidence: Evidence) -> Claim:
    compared = evidence.compared("craw", "clock")
    mean = sum(comparison.mean for comparison in compared) / len(compared)
    paper = 0.239
    return Claim(
        "mean-against-clock",
        "section V.B, Figure 12",
        "In comparison with CLOCK, CRAW reduced the total I/O time by an average of 23.9%",
        "Mean over traces of the mean reduction over memory sizes below 100 %: reproduced from "
        f"{percent(TOLERANCE * paper)} on, partly above 0, else not.",
        graded(mean >= TOLERANCE * paper, mean > 0),
        f"{percent(mean)} on average",
        _by_trace(compared) + " " + _where_from(evidence, "craw", "clock"),
    )


def _best_against_clock(evidence: Evidence) -> Claim:
    compared = evidence.compared("craw", "clock")
    best = max(compared, key=lambda comparison: comparison.greatest)
    paper = 0.665
    return Claim(
        "best-against-clock",
        "section V.B, Figure 12",
        "and up to 66.5%.",
        f"Greatest reduction at any memory size of any trace: reproduced from "
        f"{percent(TOLERANCE * paper)} on, partly from half of the paper's on, else not.",
        graded(best.greatest >= TOLERANCE * paper, best.greatest >= paper / 2),
        f"up to {percent(best.greatest)}, on {best.trace} at {percent(best.greatest_at)}",
        _greatest_by_trace(compared),
    )


def _range_rule(low: float) -> str:
    return (
        "The paper does not say what its range is taken over. Reproduced if the mean reduction "
        f"over the memory sizes below 100\u00a0% reaches {percent(low)} on every trace, partly if "
        "the greatest one does on some, else not."
    )


def _range_against_car(evidence: Evidence) -> Claim:
    compared, low = evidence.compared("craw", "car"), 0.25
    return Claim(
        "range-against-car",
        "section V.B, Figure 12",
        "The performance improvements of CRAW over CAR and CFCLOCK are in the range of 25%–66% …",
        _range_rule(low),
        _in_range(compared, low),
        _greatest_range(compared),
        _by_trace(compared) + " " + _where_from(evidence, "craw", "car"),
    )


def _range_against_cfclock(evidence: Evidence) -> Claim:
    low = 0.16
    compared = {rule: evidence.compared("craw", rule) for rule in CLEARING_RULES}
    verdicts = {rule: _in_range(compared[rule], low) for rule in CLEARING_RULES}
    return Claim(
        "range-against-cfclock",
        "section V.B, Figure 12",
        "… and 16%–58%, respectively.",
        _range_rule(low) + " The paper does not say when CFCLOCK clears reference bits: reproduced "
        "if so under both clearing rules, partly if under one.",
        _both_rules(list(verdicts.values())),
        _by_rule({rule: _greatest_range(compared[rule]) for rule in CLEARING_RULES}),
        _by_rule({rule: _by_trace(compared[rule]) for rule in CLEARING_RULES}),
    )


def _abstract(evidence: Evidence) -> Claim:
    low, others = 0.2, ("clock", "car", "cflru")
    compared = {other: evidence.compared("craw", other) for other in others}
    verdicts = [_in_range(comparisons, low) for comparisons in compared.values()]
    everywhere = all(verdict is Verdict.REPRODUCED for verdict in verdicts)
    return Claim(
        "abstract",
        "abstract",
        "the proposed algorithm outperforms CLOCK, CAR, and CFLRU by 20%–66%.",
        _range_rule(low) + " Against each of the three.",
        graded(everywhere, any(verdict is not Verdict.NOT for verdict in verdicts)),
        "; ".join(f"{other}: {_greatest_range(compared[other])}" for other in others),
        f"cflru: {_by_trace(compared['cflru'])} The paper's evaluation shows CFCLOCK where its "
        "abstract says CFLRU.",
    )


def _best_of_four(evidence: Evidence) -> Claim:
    shares = {rule: _shares_of_sizes_won(evidence, rule) for rule in CLEARING_RULES}
    verdicts = [
        graded(
            all(share > 0.5 for share in of_rule.values()),
            any(share > 0.5 for share in of_rule.values()),
        )
        for of_rule in shares.values()
    ]
    return Claim(
        "best-of-four",
        "section V.B, Figure 12",
        "CRAW outperforms the other algorithms for a wide range of memory size and a variety of "
        "workloads.",
        "Share of the memory sizes below 100 % at which CRAW needs less I/O time than each of "
        "CLOCK, CAR and CFCLOCK: above half on every trace, or on some. Reproduced if on every "
        "trace under both clearing rules of CFCLOCK.",
        _both_rules(verdicts),
        _by_rule(
            {
                rule: f"{percent(sum(of_rule.values()) / len(of_rule))} of the sizes on average"
                for rule, of_rule in shares.items()
            }
        ),
        _by_rule(
            {
                rule: "; ".join(f"{trace} {percent(share)}" for trace, share in of_rule.items())
                for rule, of_rule in shares.items()
            }
        ),
    )


def _shares_of_sizes_won(evidence: Evidence, cfclock: str) -> dict[str, float]:
    wins = []
    for other in ("clock", "car", cfclock):
        ratios = evidence.ratios("craw", other)
        wins.append(ratios.with_columns((pl.col("ratio") < 1).alias(other)).drop("ratio"))
    joined = wins[0]
    for more in wins[1:]:
        joined = joined.join(more, on=["trace", "memory_share"])
    won = pl.all_horizontal("clock", "car", cfclock).mean()
    shares = joined.group_by("trace", maintain_order=True).agg(won.alias("won"))
    return dict(shares.iter_rows())


def _cfclock_behind(evidence: Evidence) -> Claim:
    quote = (
        "it falls behind CLOCK and CAR in dealing with some read-intensive workloads, such as "
        "freecell and gedit, for small memory sizes."
    )
    rule = (
        f"On traces with {READ_INTENSIVE} reads per write or more, up to {percent(SMALL_MEMORY)} "
        "of memory: is there a size at which CFCLOCK needs more I/O time than both? Reproduced if "
        "on every such trace under both clearing rules, partly if on one under one."
    )
    place = "section V.B, Figure 12(c), (d)"
    intensive = _read_intensive(evidence)
    if not intensive:
        return _untested("cfclock-behind", place, quote, rule, NO_READ_INTENSIVE)
    behind = {name: _sizes_behind(evidence, name, intensive) for name in CLEARING_RULES}
    verdicts = [graded(all(sizes.values()), any(sizes.values())) for sizes in behind.values()]
    found = {
        name: "; ".join(f"{trace}: {count} sizes" for trace, count in sizes.items())
        for name, sizes in behind.items()
    }
    return Claim(
        "cfclock-behind",
        place,
        quote,
        rule,
        _both_rules(verdicts),
        _by_rule(found),
        _pages_of_cfclock(evidence, intensive),
    )


def _pages_of_cfclock(evidence: Evidence, traces: Sequence[str]) -> str:
    texts = {}
    for name in CLEARING_RULES:
        reads, writes = (
            evidence.mean_ratio(name, "clock", value, traces) for value in ("read_ios", "write_ios")
        )
        texts[name] = f"reads {percent(reads)} and writes {percent(writes)}"
    return f"Of CLOCK's pages, on average over the memory sizes: {_by_rule(texts)}."


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


def _cfclock_reads(evidence: Evidence) -> Claim:
    quote = "Observe the amount of read I/Os of CFCLOCK in Fig. 13(c) that is almost 200% of CLOCK."
    rule = (
        f"Greatest read I/Os of CFCLOCK over CLOCK's on traces with {READ_INTENSIVE} reads per "
        "write or more: from 180 % on, reproduced if under both clearing rules, partly if under "
        "one."
    )
    place = "section V.B, Figure 13(c)"
    intensive = _read_intensive(evidence)
    if not intensive:
        return _untested("cfclock-reads", place, quote, rule, NO_READ_INTENSIVE)
    greatest = {}
    for name in CLEARING_RULES:
        ratios = evidence.ratios(name, "clock", "read_ios")
        of_traces = ratios.filter(pl.col("trace").is_in(intensive))
        greatest[name] = of_traces.sort("ratio").row(-1, named=True)
    verdicts = [graded(row["ratio"] >= 1.8, False) for row in greatest.values()]
    found = {
        name: f"{percent(row['ratio'])} of CLOCK's, on {row['trace']} with "
        f"{percent(row['memory_share'])} of memory"
        for name, row in greatest.items()
    }
    return Claim(
        "cfclock-reads",
        place,
        quote,
        rule,
        _both_rules(verdicts),
        _by_rule(found),
        _pages_of_cfclock(evidence, intensive),
    )


def _equal_with_all_memory(evidence: Evidence) -> Claim:
    complete = evidence.rows.filter((pl.col("memory_share") == 1.0) & (pl.col("policy") != "bound"))
    times = complete.group_by("trace", maintain_order=True).agg(
        pl.col("io_time_us").n_unique().alias("times")
    )
    equal = times.filter(pl.col("times") == 1).height
    return Claim(
        "equal-with-all-memory",
        "section V.B",
        "The 100% memory size means the unrealistic condition that a complete memory footprint "
        "can be loaded at the same time … In this environment, all algorithms perform the same.",
        "All policies need exactly the same I/O time with memory for the whole footprint: "
        "reproduced if on every trace, partly if on some.",
        graded(equal == times.height, equal > 0),
        f"equal on {equal} of {times.height} traces",
        "Every page is read once, and nothing is replaced.",
    )


def _writes_of_write_intensive(evidence: Evidence) -> Claim:
    quote = (
        "In the case of xmms and gqview traces, there are more write references than read "
        "references. In these environments, CRAW preserves dirty pages in the memory as much as "
        "possible by enlarging write areas, which eventually reduces the number of write I/Os and "
        "total I/O time."
    )
    rule = (
        "On traces with more writes than reads, mean write I/Os and mean I/O time over those of "
        "CLOCK: reproduced if both are below 1 on every such trace, partly if on some."
    )
    place = "section V.B, Figures 12 and 14(a), (b)"
    intensive = evidence.select_traces(lambda trace: evidence.reads_per_write(trace) < 1)
    if not intensive:
        return _untested("writes-of-write-intensive", place, quote, rule, NO_WRITE_INTENSIVE)
    held, found = [], []
    for trace in intensive:
        writes, time = (
            evidence.mean_ratio("craw", "clock", value, [trace])
            for value in ("write_ios", "io_time_us")
        )
        held.append(writes < 1 and time < 1)
        found.append(f"{trace}: writes {percent(writes)}, I/O time {percent(time)} of CLOCK's")
    verdict = graded(all(held), any(held))
    return Claim("writes-of-write-intensive", place, quote, rule, verdict, "; ".join(found), "")


def _writes_of_read_intensive(evidence: Evidence) -> Claim:
    quote = (
        "In the case of gedit and freecell traces, however, read references are dominant. … CRAW "
        "focuses on reducing the number of expensive write I/Os, but it also keeps the number of "
        "read I/Os to a certain limited range."
    )
    rule = (
        f"On traces with {READ_INTENSIVE} reads per write or more, over CLOCK's: reproduced if the "
        "mean write I/Os are below 1 and the read I/Os below 2 (what the paper holds against "
        "CFCLOCK) at every size of every such trace, partly if on some."
    )
    place = "section V.B, Figures 13 and 14(c), (d)"
    intensive = _read_intensive(evidence)
    if not intensive:
        return _untested("writes-of-read-intensive", place, quote, rule, NO_READ_INTENSIVE)
    held, found = [], []
    reads = evidence.ratios("craw", "clock", "read_ios")
    for trace in intensive:
        writes = evidence.mean_ratio("craw", "clock", "write_ios", [trace])
        most_reads = reads.filter(pl.col("trace") == trace).sort("ratio").row(-1, named=True)
        held.append(writes < 1 and most_reads["ratio"] < 2)
        found.append(
            f"{trace}: writes {percent(writes)} on average, reads at most "
            f"{percent(most_reads['ratio'])} of CLOCK's"
        )
    verdict = graded(all(held), any(held))
    return Claim("writes-of-read-intensive", place, quote, rule, verdict, "; ".join(found), "")


def _areas_move(evidence: Evidence, gauges: pl.DataFrame) -> Claim:
    sizes = gauges.filter(pl.col("gauge") == "S_R_pages").group_by(
        "trace", "frames", maintain_order=True
    )
    spans = sizes.agg(pl.col("value").min().alias("least"), pl.col("value").max().alias("most"))
    moved = {
        row["trace"]: (row["most"] - row["least"]) / row["frames"]
        for row in spans.iter_rows(named=True)
    }
    return Claim(
        "areas-move",
        "section V.B, Figure 15",
        "we can notice that the memory space is dynamically allocated according to the change of "
        "reference patterns.",
        f"The span of the desired size of the read area at {percent(SMALL_MEMORY)} of memory: "
        "reproduced if it is a tenth of memory or more on every trace, partly if on some.",
        graded(
            bool(moved) and all(span >= 0.1 for span in moved.values()),
            any(span >= 0.1 for span in moved.values()),
        ),
        "; ".join(
            f"{row['trace']}: {row['least']:.0f} to {row['most']:.0f} of {row['frames']} pages"
            for row in spans.iter_rows(named=True)
        ),
        "The areas start at S/c for reads and the rest for writes. A hit in a ghost write area "
        "moves a whole page from the read area, while the read area needs c hits in its ghosts "
        "for one.",
    )


def _few_hand_movements(evidence: Evidence) -> Claim:
    movements = (
        evidence.rows.filter(
            (pl.col("policy") == "craw")
            & (pl.col("clean_evictions") + pl.col("dirty_evictions") > 0)
        )
        .with_columns(
            (
                pl.col("hand_movements") / (pl.col("clean_evictions") + pl.col("dirty_evictions"))
            ).alias("each")
        )
        .sort("each")
    )
    median = float(str(movements["each"].median()))
    most = movements.row(-1, named=True)
    within = movements.filter(pl.col("each") <= FEW_MOVEMENTS).height / movements.height
    return Claim(
        "few-hand-movements",
        "section V.C",
        "in practical situations, the scanning requires only a few movements of the clock-hand",
        f"Hand movements per replaced page in each cell: reproduced if at most {FEW_MOVEMENTS} in "
        "nine of ten cells, partly if in half of them.",
        graded(within >= 0.9, within >= 0.5),
        f"median {median:.1f}; at most {FEW_MOVEMENTS} in {percent(within)} of the cells",
        f"The most are {most['each']:.1f}, on {most['trace']} with "
        f"{percent(most['memory_share'])} of memory: the fewer pages leave, the more bits have "
        "been set since the hand came by.",
    )


def _craw_a_is_alike(evidence: Evidence) -> Claim:
    ratios = evidence.ratios("craw-a", "craw")
    alike = ratios.filter((pl.col("ratio") - 1).abs() <= ALIKE).height / ratios.height
    better = ratios.filter(pl.col("ratio") < 1).height / ratios.height
    ordered = ratios.sort("ratio")
    best, worst = ordered.row(0, named=True), ordered.row(-1, named=True)
    return Claim(
        "craw-a-is-alike",
        "section VI.A, Figure 17",
        "for most cases, the performances of CRAW and CRAW-A are so similar that they are almost "
        "impossible to distinguish. Furthermore, in some cases, CRAW-A performs better",
        f"Reproduced if the I/O times differ by at most {percent(ALIKE)} at more than half of the "
        "sizes and CRAW-A's is less at some; partly if only the latter.",
        graded(alike > 0.5 and better > 0, better > 0),
        f"alike at {percent(alike)} of the sizes, CRAW-A better at {percent(better)}",
        f"From {percent(1 - best['ratio'])} less on {best['trace']} with "
        f"{percent(best['memory_share'])} of memory to {percent(worst['ratio'] - 1)} more on "
        f"{worst['trace']} with {percent(worst['memory_share'])}.",
    )


def _read_intensive(evidence: Evidence) -> list[str]:
    return evidence.select_traces(lambda trace: evidence.reads_per_write(trace) >= READ_INTENSIVE)


def _untested(key: str, place: str, quote: str, rule: str, why: str) -> Claim:
    return Claim(key, place, quote, rule, Verdict.UNTESTED, "–", why)


def _in_range(compared: Sequence[Comparison], low: float) -> Verdict:
    return graded(
        all(comparison.mean >= low for comparison in compared),
        any(comparison.greatest >= low for comparison in compared),
    )


def _both_rules(verdicts: Sequence[Verdict]) -> Verdict:
    return graded(
        all(verdict is Verdict.REPRODUCED for verdict in verdicts),
        any(verdict is not Verdict.NOT for verdict in verdicts),
    )


def _greatest_range(compared: Sequence[Comparison]) -> str:
    mean = sum(comparison.mean for comparison in compared) / len(compared)
    greatest = max(comparison.greatest for comparison in compared)
    return f"{percent(mean)} on average, up to {percent(greatest)}"


def _greatest_by_trace(compared: Sequence[Comparison]) -> str:
    return "; ".join(
        f"{comparison.trace}: {percent(comparison.greatest)} with "
        f"{percent(comparison.greatest_at)} of memory"
        for comparison in compared
    )


def _by_trace(compared: Sequence[Comparison]) -> str:
    texts = (
        f"{comparison.trace}: mean {percent(comparison.mean)}, from {percent(comparison.least)} "
        f"(at {percent(comparison.least_at)}) to {percent(comparison.greatest)} (at "
        f"{percent(comparison.greatest_at)})"
        for comparison in compared
    )
    return "; ".join(texts) + "."


def _by_rule(texts: dict[str, str]) -> str:
    return "; ".join(f"{CLEARING_RULES[rule]}: {text}" for rule, text in texts.items())


def _where_from(evidence: Evidence, policy: str, other: str) -> str:
    reads, writes = (
        evidence.mean_ratio(policy, other, value, evidence.traces)
        for value in ("read_ios", "write_ios")
    )
    return (
        f"On average CRAW reads {percent(reads)} and writes {percent(writes)} of the pages that "
        f"{other.upper()} does."
    )
