"""The claims of the CRAW paper on locality, section III, and the rules that judge them."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.claims import CASES_RULE, Claim, Table, judged_cases
from clockhand.studies.locality.findings import TOP_COLUMNS

STRONG_INVERSION_SHARE = 0.01
"""Up to this share of re-references out of order, a ranking is called monotonic."""

TENTH = "top_10_percent_share"

Ranking = Mapping[str, Any]
Rankings = Mapping[str, Mapping[tuple[str, str], Ranking]]
"""Of each trace the rankings, by name and operation."""


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


def _read_recency(traces: Rankings) -> Claim:
    shares = {trace: of["recency", "read"]["inversion_share"] for trace, of in traces.items()}
    held = [share <= STRONG_INVERSION_SHARE for share in shares.values()]
    return Claim(
        "read-recency-strong",
        "section III.A, Figure 3",
        "read references exhibit strong temporal locality",
        "Traces on which at most "
        f"{percent(STRONG_INVERSION_SHARE)} of the re-reads would have to move to an earlier rank "
        f"for a curve that never rises. {CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} traces",
        evidence=_table(
            traces,
            {
                "re-reads out of order": ("recency", "read", "inversion_share"),
                "reads of the most recent tenth": ("recency", "read", TENTH),
            },
        ),
    )


def _write_recency(traces: Rankings) -> Claim:
    held = []
    for of in traces.values():
        write, read = of["recency", "write"], of["recency", "read"]
        is_irregular = write["inversion_share"] > read["inversion_share"]
        held.append(is_irregular and write[TENTH] < read[TENTH])
    return Claim(
        "write-recency-weak",
        "section III.A, Figure 4",
        "unlike read references that exhibit strong temporal locality, the temporal locality of "
        "write references is weak and irregular.",
        "Traces on which, against reads by recency, more re-references are out of order "
        "(irregular), and the most recent tenth of the pages takes a smaller share (weak). "
        f"{CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} traces",
        evidence=_table(
            traces,
            {
                "re-writes out of order": ("recency", "write", "inversion_share"),
                "re-reads out of order": ("recency", "read", "inversion_share"),
                "writes of the most recent tenth": ("recency", "write", TENTH),
                "reads of the most recent tenth": ("recency", "read", TENTH),
            },
        ),
    )


def _write_frequency_order(traces: Rankings) -> Claim:
    held = [
        of["frequency", "write"]["inversion_share"] <= STRONG_INVERSION_SHARE
        and of["recency", "write"]["inversion_share"] > STRONG_INVERSION_SHARE
        for of in traces.values()
    ]
    return Claim(
        "write-frequency-ordered",
        "section III.B, Figure 5",
        "Unlike the temporal locality of write references, the frequency of write references does "
        "not show the ranking inversion problem.",
        f"The problem is shown if more than {percent(STRONG_INVERSION_SHARE)} of the re-writes are "
        f"out of order. Traces on which recency shows it and frequency does not. {CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} traces",
        evidence=_table(
            traces,
            {
                "out of order by frequency": ("frequency", "write", "inversion_share"),
                "out of order by recency": ("recency", "write", "inversion_share"),
            },
        ),
    )


def _write_frequency_top(traces: Rankings) -> Claim:
    cuts = {
        trace: sum(
            of["frequency", "write"][column] > of["recency", "write"][column]
            for column in TOP_COLUMNS
        )
        for trace, of in traces.items()
    }
    held = [count > len(TOP_COLUMNS) / 2 for count in cuts.values()]
    heads, *rows = _table(
        traces,
        {
            "top tenth by frequency": ("frequency", "write", TENTH),
            "top tenth by recency": ("recency", "write", TENTH),
        },
    )
    return Claim(
        "write-frequency-better",
        "section III.B, Figure 5",
        "It also exhibits larger reference counts than temporal locality for a certain range of "
        "top ranking.",
        "Share of the writes in the top 1, 10 and 100 ranks and the top 1 % and 10 % of the "
        "written pages. Traces on which it is larger by frequency than by recency at most of "
        f"these cuts. {CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} traces",
        evidence=(
            (*heads, "cuts at which frequency is larger"),
            *((*row, f"{cuts[row[0]]} of {len(TOP_COLUMNS)}") for row in rows),
        ),
    )


def _table(traces: Rankings, columns: Mapping[str, tuple[str, str, str]]) -> Table:
    """Shares, a row per trace: headings with the ranking, the operation and the column of each."""
    return (
        ("trace", *columns),
        *(
            (trace, *(percent(of[ranking, op][column]) for ranking, op, column in columns.values()))
            for trace, of in traces.items()
        ),
    )
