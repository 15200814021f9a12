"""What the tables of a locality analysis say in words; read by the command and by the report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clockhand.report.words import percent
from clockhand.study.records import Record

if TYPE_CHECKING:
    import polars as pl

# Below one part in two thousand a difference would be printed as 0.0 %.
NOTICEABLE = 0.0005
TOP_COLUMNS = (
    "top_1_share",
    "top_10_share",
    "top_100_share",
    "top_1_percent_share",
    "top_10_percent_share",
)


@dataclass(frozen=True)
class Verdict:
    """``lead`` is one sentence that can stand alone; ``detail`` says what it was concluded from."""

    lead: str
    detail: str


def write_verdict(summary: "pl.DataFrame") -> Verdict:
    """Tell whether recency or frequency says more about the next write, from one trace's summary.

    The ranking with the larger share of the writes in its top ranks at more of the five cuts (1,
    10 and 100 ranks, 1 % and 10 % of the written pages) predicts better.
    """
    rankings = {(row["ranking"], row["op"]): row for row in summary.iter_rows(named=True)}
    recency, frequency = rankings["recency", "write"], rankings["frequency", "write"]
    if recency["re_references"] == 0:
        return Verdict("No page is written twice.", "So there is no next write to predict.")
    gains = [frequency[column] - recency[column] for column in TOP_COLUMNS]
    better = sum(gain > NOTICEABLE for gain in gains)
    worse = sum(gain < -NOTICEABLE for gain in gains)
    if better > worse:
        lead = "Write frequency predicts the next write better than write recency."
    elif better < worse:
        lead = "Write recency predicts the next write better than write frequency."
    else:
        lead = "Write recency and write frequency predict the next write equally well."
    return Verdict(lead, _evidence(recency, frequency) + _inversions(rankings))


def _evidence(recency: Record, frequency: Record) -> str:
    tenth = "top_10_percent_share"
    return (
        f"The tenth of the written pages with the most writes so far takes "
        f"{percent(frequency[tenth])} of the writes, the most recently written tenth "
        f"{percent(recency[tenth])}; the first ten ranks take {percent(frequency['top_10_share'])} "
        f"and {percent(recency['top_10_share'])}. "
    )


def _inversions(rankings: Mapping[tuple[str, str], Record]) -> str:
    shares = [
        f"{percent(row['inversion_share'])} {text}"
        for key, text in (
            (("recency", "write"), "of re-writes by recency"),
            (("frequency", "write"), "of re-writes by frequency"),
            (("recency", "read"), "of re-reads by recency"),
        )
        if (row := rankings[key])["inversion_share"] is not None
    ]
    return f"Ranking inversions displace {', '.join(shares)}."
