"""The claims of the CRAW paper on locality, section III, and the rules that judge them.

What counts as a write of a captured program depends on the view of its records, which the paper
does not state in these terms: each view is a reading. Whether a curve is ordered is held against
chance: a curve that never rises, redrawn with Poisson noise, is a little out of order too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.claims import CASES_RULE, Claim, Table, judged_cases
from clockhand.reproduce.noise import DRAWS, QUANTILE, Inversion, inversion
from clockhand.studies.locality.findings import TOP_COLUMNS

TENTH = "top_10_percent_share"
STRONG = 0.5
"""The share of the references that makes the locality of the top tenth strong."""

WELL_MODELED = 0.05
"""Up to this share out of order, a curve is well modeled by one that falls."""

VIEWS = {
    "paper": "a store miss is no reference, a write-back is a write",
    "bus": "a store miss reads, a write-back is a write",
    "fault": "a store miss is a write",
}
"""The views of a captured trace, and what they make of a store that misses the cache."""

NOISE_RULE = (
    "A curve is ordered if no more of its references are out of order than the "
    f"{percent(QUANTILE)} quantile of {DRAWS} redrawings of the closest curve that never rises, "
    "with Poisson noise."
)

REPEATS = ("each", "collapsed")
"""How consecutive references to one page count; the paper does not say."""

COUNTED = {
    "each": "each access counts",
    "collapsed": "of consecutive references to one page the first read and the first write count, "
    "and recency is judged from rank 2 on, since rank 1 is left with what a run reads and writes",
}

Reading = tuple[str, str]
"""A view, and how repeats count."""

Key = tuple[str, str]
"""A ranking and an operation, such as recency and write."""


@dataclass(frozen=True)
class Trace:
    """What is known of one trace in one reading: the rows of :func:`locality_rows`."""

    name: str
    summary: Mapping[Key, Mapping[str, Any]]
    order: Mapping[Key, Inversion]


ORDER = ("out_of_order", "by_chance_on_average", "by_chance_at_most")
SCHEMA = {
    "view": pl.String, "repeats": pl.String, "trace": pl.String, "ranking": pl.String,
    "op": pl.String, "re_references": pl.Int64, **dict.fromkeys(TOP_COLUMNS, pl.Float64),
    **dict.fromkeys(ORDER, pl.Float64),
}  # fmt: skip


def locality_rows(readings: Mapping[Reading, Mapping[str, pl.DataFrame]]) -> pl.DataFrame:
    """Return what the claims are judged by: the rankings of each trace in each reading.

    Args:
        readings: For each view that the traces have, and each counting of repeats, the tables
            ``summary`` and ``ranks`` of a locality analysis of all traces. Traces without views
            have one, of any name.

    Returns:
        The columns view, repeats, trace, ranking, op, re_references, the shares of the top ranks,
        and the shares that are out of order, that would be by chance on average, and at most. The
        order by recency is judged without the first rank where repeats are collapsed. Traces
        without a second write are left out, since they say nothing of writes.
    """
    rows = []
    for (view, repeats), tables in readings.items():
        summary = tables["summary"]
        silent = summary.filter(
            (pl.col("ranking") == "recency")
            & (pl.col("op") == "write")
            & (pl.col("re_references") == 0)
        )["trace"]
        for row in summary.filter(~pl.col("trace").is_in(silent.to_list())).iter_rows(named=True):
            of_ranking = tables["ranks"].filter(
                (pl.col("trace") == row["trace"])
                & (pl.col("ranking") == row["ranking"])
                & (pl.col("op") == row["op"])
            )
            passed_over = repeats != REPEATS[0] and row["ranking"] == "recency"
            order = inversion(of_ranking.sort("rank")["references"].to_list()[passed_over:])
            found = (order.share, order.null_mean, order.null_high)
            known = {"view": view, "repeats": repeats, **dict(zip(ORDER, found, strict=True))}
            rows.append({name: {**row, **known}[name] for name in SCHEMA})
    return pl.DataFrame(rows, schema=SCHEMA)


def locality_claims(rows: pl.DataFrame) -> Iterator[Claim]:
    """Judge the claims of section III by :func:`locality_rows`."""
    readings = rows.select("view", "repeats").unique(maintain_order=True).rows()
    known = {
        (view, repeats): _traces(
            rows.filter((pl.col("view") == view) & (pl.col("repeats") == repeats))
        )
        for view, repeats in readings
    }
    judges = (
        _curve_falls,
        _read_recency,
        _read_recency_fluent,
        _write_recency,
        _write_frequency_order,
        _write_frequency_top,
    )
    for judge in judges:
        for reading, traces in known.items():
            yield judge(reading, traces)


def _traces(of_reading: pl.DataFrame) -> list[Trace]:
    traces = []
    for name in of_reading["trace"].unique(maintain_order=True):
        rows = of_reading.filter(pl.col("trace") == name).to_dicts()
        summary = {(row["ranking"], row["op"]): row for row in rows}
        order = {
            key: Inversion(*(float(row[column]) for column in ORDER))
            for key, row in summary.items()
        }
        traces.append(Trace(name, summary, order))
    return traces


def _claim(
    key: str,
    place: str,
    quote: str,
    rule: str,
    reading: Reading,
    traces: Sequence[Trace],
    holds: Callable[[Trace], bool],
    evidence: Table,
) -> Claim:
    held = [holds(trace) for trace in traces]
    view, repeats = reading
    of_view = [f"the view {view}: {VIEWS[view]}"] if view in VIEWS else []
    return Claim(
        f"{key}-{view}" if repeats == REPEATS[0] else f"{key}-{view}-{repeats}",
        place,
        quote,
        f"{rule} {CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} traces",
        reading="; ".join([*of_view, COUNTED[repeats]]),
        evidence=evidence,
    )


def _curve_falls(reading: Reading, traces: Sequence[Trace]) -> Claim:
    return _claim(
        "recency-falls",
        "section III.A, Figure 2",
        "the shape of the curve can be well modeled by a monotonic decreasing function, implying "
        "that a more recently referenced page is more likely to be referenced again.",
        f"Traces of whose re-references by recency at most {percent(WELL_MODELED)} are out of "
        "order.",
        reading,
        traces,
        lambda trace: trace.order["recency", "all"].share <= WELL_MODELED,
        _order(traces, ("recency", "all"), "re-references"),
    )


def _read_recency(reading: Reading, traces: Sequence[Trace]) -> Claim:
    return _claim(
        "read-recency-strong",
        "section III.A, Figure 3",
        "read references exhibit strong temporal locality",
        f"Traces on which the most recently read tenth of the pages takes {percent(STRONG)} of the "
        "re-reads or more.",
        reading,
        traces,
        lambda trace: trace.summary["recency", "read"][TENTH] >= STRONG,
        _shares(traces, {"re-reads of the most recent tenth": ("recency", "read")}),
    )


def _read_recency_fluent(reading: Reading, traces: Sequence[Trace]) -> Claim:
    def is_more_fluent(trace: Trace) -> bool:
        return trace.order["recency", "read"].share < trace.order["recency", "all"].share

    return _claim(
        "read-recency-fluent",
        "section III.A, Figures 2 and 3",
        "Unlike the plots in Fig. 2(a) and (b) that contain some projecting points, the plots in "
        "Fig. 3(a) and (b) are more fluent. This means that the temporal locality of read "
        "references is stronger than that of total references including both read and write "
        "references.",
        "Traces of whose re-reads a smaller share is out of order than of all re-references.",
        reading,
        traces,
        is_more_fluent,
        _joined(
            _order(traces, ("recency", "read"), "re-reads"),
            (
                ("trace", "all re-references out of order"),
                *((trace.name, percent(trace.order["recency", "all"].share)) for trace in traces),
            ),
        ),
    )


def _write_recency(reading: Reading, traces: Sequence[Trace]) -> Claim:
    def is_weak_and_irregular(trace: Trace) -> bool:
        write, read = trace.summary["recency", "write"], trace.summary["recency", "read"]
        return not trace.order["recency", "write"].is_within_noise and write[TENTH] < read[TENTH]

    return _claim(
        "write-recency-weak",
        "section III.A, Figure 4",
        "unlike read references that exhibit strong temporal locality, the temporal locality of "
        "write references is weak and irregular.",
        "Traces whose re-writes by recency are not ordered (irregular) and on which the most "
        f"recent tenth of the pages takes a smaller share of the writes than of the reads (weak). "
        f"{NOISE_RULE}",
        reading,
        traces,
        is_weak_and_irregular,
        _joined(
            _order(traces, ("recency", "write"), "re-writes"),
            _shares(
                traces,
                {
                    "writes of the most recent tenth": ("recency", "write"),
                    "reads of the most recent tenth": ("recency", "read"),
                },
            ),
        ),
    )


def _write_frequency_order(reading: Reading, traces: Sequence[Trace]) -> Claim:
    return _claim(
        "write-frequency-ordered",
        "section III.B, Figure 5",
        "Unlike the temporal locality of write references, the frequency of write references does "
        "not show the ranking inversion problem.",
        f"Traces whose re-writes by frequency are ordered. {NOISE_RULE}",
        reading,
        traces,
        lambda trace: trace.order["frequency", "write"].is_within_noise,
        _order(traces, ("frequency", "write"), "re-writes by frequency"),
    )


def _write_frequency_top(reading: Reading, traces: Sequence[Trace]) -> Claim:
    def cuts(trace: Trace) -> int:
        by_frequency, by_recency = (
            trace.summary[ranking, "write"] for ranking in ("frequency", "recency")
        )
        return sum(by_frequency[column] > by_recency[column] for column in TOP_COLUMNS)

    counts: Table = (
        ("trace", "cuts at which frequency is larger"),
        *((trace.name, f"{cuts(trace)} of {len(TOP_COLUMNS)}") for trace in traces),
    )
    return _claim(
        "write-frequency-better",
        "section III.B, Figure 5",
        "It also exhibits larger reference counts than temporal locality for a certain range of "
        "top ranking.",
        "Share of the writes in the top 1, 10 and 100 ranks and the top 1 % and 10 % of the "
        "written pages. Traces on which it is larger by frequency than by recency at most of "
        "these cuts.",
        reading,
        traces,
        lambda trace: cuts(trace) > len(TOP_COLUMNS) / 2,
        _joined(
            _shares(
                traces,
                {
                    "top tenth by frequency": ("frequency", "write"),
                    "top tenth by recency": ("recency", "write"),
                },
            ),
            counts,
        ),
    )


def _order(traces: Sequence[Trace], key: Key, what: str) -> Table:
    """How far each trace's curve is out of order, and its null."""
    return (
        ("trace", f"{what} out of order", "by chance, on average", "by chance, at most"),
        *(
            (
                trace.name,
                percent(trace.order[key].share),
                percent(trace.order[key].null_mean),
                percent(trace.order[key].null_high),
            )
            for trace in traces
        ),
    )


def _shares(traces: Sequence[Trace], columns: Mapping[str, Key]) -> Table:
    """Shares of the top tenth, a row per trace."""
    return (
        ("trace", *columns),
        *(
            (trace.name, *(percent(trace.summary[key][TENTH]) for key in columns.values()))
            for trace in traces
        ),
    )


def _joined(left: Table, right: Table) -> Table:
    """Two tables with a row per trace as one."""
    return tuple((*mine, *others[1:]) for mine, others in zip(left, right, strict=True))
