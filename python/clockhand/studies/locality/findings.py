"""What the tables of a locality analysis say in words; read by the command and by the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clockhand.report.words import SHARE_DECIMALS, UNKNOWN, percent
from clockhand.study.phrases import counted
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
    """What one trace says.

    Attributes:
        lead: One sentence that can stand alone.
        detail: What it was concluded from.
        better: What predicts the next write better: ``write recency``, ``write frequency`` or
            ``neither``; nothing where no page is written twice.
    """

    lead: str
    detail: str
    better: str = ""


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
    names = ("write frequency", "write recency")
    if better == worse:
        lead = "Write recency and write frequency predict the next write equally well."
        name = NEITHER
    else:
        name, other = names if better > worse else names[::-1]
        lead = f"W{name[1:]} predicts the next write better than {other}."
    return Verdict(lead, _evidence(recency, frequency) + _inversions(rankings), name)


NEITHER = "neither"


def title(verdicts: Sequence[Verdict], labels: Sequence[str]) -> str:
    """Return the finding over all traces in a line.

    Args:
        verdicts: Those of each trace.
        labels: What the traces are called.
    """
    if len(verdicts) == 1:
        return f"{verdicts[0].lead.rstrip('.')} on {labels[0]}"
    known = [verdict.better for verdict in verdicts if verdict.better]
    if not known:
        return f"No page is written twice on {len(labels)} traces"
    most = max(known, key=known.count)
    where = f"on {counted(known.count(most), len(labels), 'traces')}"
    if most == NEITHER:
        return f"Write recency and frequency predict the next write equally well {where}"
    return f"W{most[1:]} predicts the next write better {where}"


WRITERS = {"write recency": "recency", "write frequency": "frequency"}
"""The rankings of writes, by what they are called."""


def evidence(summary: "pl.DataFrame", label: str, verdict: Verdict) -> list[list[str]]:
    """Return what the verdict on one trace was concluded from, as rows for :data:`EVIDENCE`."""
    rankings = {(row["ranking"], row["op"]): row for row in summary.iter_rows(named=True)}

    def share(row: Record, column: str) -> str:
        return UNKNOWN if row[column] is None else f"{100 * row[column]:.{SHARE_DECIMALS}f}\u00a0%"

    return [
        [
            label,
            f"{name}, better" if name == verdict.better else name,
            share(row, "top_10_share"),
            share(row, "top_10_percent_share"),
            share(row, "inversion_share"),
        ]
        for name, ranking in WRITERS.items()
        if (row := rankings[ranking, "write"])["re_references"]
    ]


EVIDENCE = (
    "Trace", "Written pages ranked by", "Writes to the first 10 ranks",
    "Writes to the first tenth of the ranks", "Re-writes that inversions displace",
)  # fmt: skip


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
