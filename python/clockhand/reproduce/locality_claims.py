"""The claims of the CRAW paper on locality, section III, and the rules that judge them."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.claims import Claim, graded
from clockhand.studies.locality.findings import TOP_COLUMNS

STRONG_INVERSION_SHARE = 0.01
"""Up to this share of re-references out of order, a ranking is called monotonic."""

Ranking = Mapping[str, Any]


def locality_claims(summary: pl.DataFrame) -> Iterator[Claim]:
    """Judge the claims of section III.

    Args:
        summary: The summary of a locality analysis of all traces, one row per trace and ranking.
    """
    traces: dict[str, dict[tuple[str, str], Ranking]] = {}
    for row in summary.iter_rows(named=True):
        traces.setdefault(row["trace"], {})[row["ranking"], row["op"]] = row
    # A trace without a second write says nothing of writes.
    known = {
        trace: rankings
        for trace, rankings in traces.items()
        if rankings["recency", "write"]["re_references"]
    }
    yield _read_recency(known)
    yield _write_recency(known)
    yield _write_frequency_order(known)
    yield _write_frequency_top(known)


def _read_recency(traces: Mapping[str, Mapping[tuple[str, str], Ranking]]) -> Claim:
    shares = {trace: of["recency", "read"]["inversion_share"] for trace, of in traces.items()}
    held = [share <= STRONG_INVERSION_SHARE for share in shares.values()]
    return Claim(
        "read-recency-strong",
        "section III.A, Figure 3",
        "read references exhibit strong temporal locality",
        "The share of re-reads that would have to move to an earlier rank for a curve that never "
        f"rises: reproduced if at most {percent(STRONG_INVERSION_SHARE)} on every trace, partly "
        "if on some.",
        graded(all(held), any(held)),
        _listed(shares),
        "The most recently read tenth of the pages takes "
        + _listed(
            {trace: of["recency", "read"]["top_10_percent_share"] for trace, of in traces.items()}
        )
        + " of the reads.",
    )


def _write_recency(traces: Mapping[str, Mapping[tuple[str, str], Ranking]]) -> Claim:
    inverted, concentrated = {}, {}
    for trace, of in traces.items():
        write, read = of["recency", "write"], of["recency", "read"]
        inverted[trace] = write["inversion_share"] > read["inversion_share"]
        concentrated[trace] = write["top_10_percent_share"] < read["top_10_percent_share"]
    both = [inverted[trace] and concentrated[trace] for trace in traces]
    either = [inverted[trace] or concentrated[trace] for trace in traces]
    writes, reads = (
        {trace: of["recency", op]["inversion_share"] for trace, of in traces.items()}
        for op in ("write", "read")
    )
    return Claim(
        "write-recency-weak",
        "section III.A, Figure 4",
        "unlike read references that exhibit strong temporal locality, the temporal locality of "
        "write references is weak and irregular.",
        "Against reads by recency, irregular: more re-references are out of order; weak: the most "
        "recent tenth of the pages takes a smaller share. Reproduced if both on every trace, "
        "partly if one of them on some.",
        graded(bool(both) and all(both), any(either)),
        f"out of order: {_listed(writes)} of re-writes; {_listed(reads)} of re-reads",
        "The most recently written tenth of the pages takes "
        + _listed(
            {trace: of["recency", "write"]["top_10_percent_share"] for trace, of in traces.items()}
        )
        + " of the writes.",
    )


def _write_frequency_order(traces: Mapping[str, Mapping[tuple[str, str], Ranking]]) -> Claim:
    frequency, recency = (
        {trace: of[ranking, "write"]["inversion_share"] for trace, of in traces.items()}
        for ranking in ("frequency", "recency")
    )
    ordered = [share <= STRONG_INVERSION_SHARE for share in frequency.values()]
    held = [
        is_ordered and recency[trace] > STRONG_INVERSION_SHARE
        for trace, is_ordered in zip(traces, ordered, strict=True)
    ]
    return Claim(
        "write-frequency-ordered",
        "section III.B, Figure 5",
        "Unlike the temporal locality of write references, the frequency of write references does "
        "not show the ranking inversion problem.",
        f"The problem is shown if more than {percent(STRONG_INVERSION_SHARE)} of the re-writes are "
        "out of order: reproduced if recency shows it and frequency does not, on every trace; "
        "partly if frequency does not on some.",
        graded(bool(held) and all(held), any(ordered)),
        f"out of order: by frequency {_listed(frequency)}; by recency {_listed(recency)}",
        "",
    )


def _write_frequency_top(traces: Mapping[str, Mapping[tuple[str, str], Ranking]]) -> Claim:
    wins = {
        trace: sum(
            of["frequency", "write"][column] > of["recency", "write"][column]
            for column in TOP_COLUMNS
        )
        for trace, of in traces.items()
    }
    tenth = "top_10_percent_share"
    frequency, recency = (
        {trace: of[ranking, "write"][tenth] for trace, of in traces.items()}
        for ranking in ("frequency", "recency")
    )
    held = [count > len(TOP_COLUMNS) / 2 for count in wins.values()]
    return Claim(
        "write-frequency-better",
        "section III.B, Figure 5",
        "It also exhibits larger reference counts than temporal locality for a certain range of "
        "top ranking.",
        "Share of the writes in the top 1, 10 and 100 ranks and the top 1 % and 10 % of the "
        "written pages: reproduced if larger by frequency than by recency at most of these cuts "
        "on every trace, partly if at some cut of some trace.",
        graded(bool(held) and all(held), any(wins.values())),
        "; ".join(f"{trace}: larger at {count} of 5 cuts" for trace, count in wins.items()),
        f"The top tenth takes {_listed(frequency)} by frequency, {_listed(recency)} by recency.",
    )


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{percent(share)} ({trace})" for trace, share in shares.items())
