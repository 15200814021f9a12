"""Measures of locality: the order and the top ranks of curves of references by rank of page.

The order of a curve is compared with chance: a curve that never rises, redrawn with the bursts that
the trace has, is a little out of order too.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.judge import Found
from clockhand.reproduce.measures.noise import Counts, Ended, inversion
from clockhand.studies.locality.findings import TOP_COLUMNS
from clockhand.study.records import Fields

TENTH = "top_10_percent_share"
ORDER = ("out_of_order", "by_chance_on_average", "by_chance_at_most")
RUN = "larger_by_frequency"
"""The longest run of ranks in the top tenth that have more writes by frequency, as its share."""

Curve = Fields
"""The row of :func:`locality_rows` for one trace, reading, ranking and operation."""

Trace = Mapping[tuple[str, str], Curve]
"""The curves of a trace, by ranking and operation."""


class Ranked(NamedTuple):
    """A locality analysis of traces: its summary, and by trace, ranking and operation the
    references by rank when each block of time ended."""

    summary: pl.DataFrame
    ended: Mapping[tuple[str, str, str], Ended]


def locality_rows(readings: Mapping[tuple[str, str], Ranked]) -> pl.DataFrame:
    """Return the rankings of each trace in each reading.

    Args:
        readings: For each view that the traces have, and each counting of repeats, the analysis of
            all traces. Traces without views have one, of any name. The first counting is that of
            the figures.

    Returns:
        The columns view, repeats, trace, ranking, op, re_references, the shares of the top ranks,
        the shares that are out of order, that would be by chance on average, and at most, and, of
        writes by frequency, the share of the top tenth of the ranks that the longest run of ranks
        has in which they are more than by recency. The order by recency is judged without the first
        rank where repeats are collapsed. Traces without a second write are left out, since they say
        nothing of writes.
    """
    tables = []
    for (view, repeats), (summary, ended) in readings.items():
        is_write = (pl.col("ranking") == "recency") & (pl.col("op") == "write")
        silent = summary.filter(is_write & (pl.col("re_references") == 0))["trace"]
        curves = summary.filter(~pl.col("trace").is_in(silent.to_list())).select(
            pl.lit(view).alias("view"), pl.lit(repeats).alias("repeats"), "trace", "ranking", "op",
            "re_references", *TOP_COLUMNS,
        )  # fmt: skip
        found = [
            _curve(ended, trace, ranking, op, passed_over=repeats == "collapsed")
            for trace, ranking, op in curves.select("trace", "ranking", "op").iter_rows()
        ]
        measured = zip((*ORDER, RUN), zip(*found, strict=True), strict=True)
        tables.append(curves.with_columns(pl.Series(name, it, pl.Float64) for name, it in measured))
    return pl.concat(tables)


def _curve(
    ended: Mapping[tuple[str, str, str], Ended],
    trace: str,
    ranking: str,
    op: str,
    *,
    passed_over: bool,
) -> tuple[float | None, ...]:
    """The shares of a curve that are out of order, and the longest run of writes by frequency."""
    blocks = ended[trace, ranking, op]
    order = inversion([counts[passed_over and ranking == "recency" :] for counts in blocks])
    by_frequency = ranking == "frequency" and op == "write"
    run = _longest_run(blocks[-1], ended[trace, "recency", op][-1]) if by_frequency else None
    return order.share, order.null_mean, order.null_high, run


def _longest_run(counts: Counts, others: Counts) -> float:
    """The longest run of ranks in the top tenth with larger counts, as a share of this tenth."""
    top = max(1, len(counts) // 10)
    longest = run = 0
    for one, other in zip(counts[:top], others[:top], strict=False):
        run = run + 1 if one > other else 0
        longest = max(longest, run)
    return longest / top


def _measured(
    rows: pl.DataFrame,
    view: str,
    repeats: str,
    holds: Callable[[Trace], bool],
    columns: Mapping[str, Callable[[Trace], str]],
) -> Found | None:
    """Ask something of each trace; nothing where a reading has no rows."""
    of_reading = rows.filter((pl.col("view") == view) & (pl.col("repeats") == repeats))
    if of_reading.is_empty():
        return None
    traces: dict[str, dict[tuple[str, str], Curve]] = {}
    for row in of_reading.iter_rows(named=True):
        traces.setdefault(row["trace"], {})[row["ranking"], row["op"]] = row
    lines = ((name, *(text(it) for text in columns.values())) for name, it in traces.items())
    return Found([holds(trace) for trace in traces.values()], (("trace", *columns), *lines))


def _order(ranking: str, op: str, what: str) -> dict[str, Callable[[Trace], str]]:
    """Columns of each trace's curve: its disorder, and the disorder by chance."""
    heads = (f"{what} out of order", "by chance, on average", "by chance, at most")
    texts = (_share(ranking, op, column) for column in ORDER)
    return dict(zip(heads, texts, strict=True))


def _share(ranking: str, op: str, column: str = TENTH) -> Callable[[Trace], str]:
    return lambda trace: percent(trace[ranking, op][column])


def _is_ordered(curve: Curve) -> bool:
    """True if chance puts an ordered curve as much out of order."""
    return bool(curve[ORDER[0]] <= curve[ORDER[2]])


def falls(rows: pl.DataFrame, *, view: str, repeats: str, within: float) -> Found | None:
    """Ask of each trace whether its re-references by recency are nearly ordered."""
    return _measured(
        rows, view, repeats,
        lambda trace: bool(trace["recency", "all"][ORDER[0]] <= within),
        _order("recency", "all", "re-references"),
    )  # fmt: skip


def top_share(
    rows: pl.DataFrame,
    *,
    view: str,
    repeats: str,
    at_least: float,
    ranking: str = "recency",
    op: str = "read",
) -> Found | None:
    """Ask of each trace whether the top tenth of its pages takes many of the re-references.

    ``writes`` is on how many traces the re-writes pass the same test.
    """

    def holds(kind: str) -> Callable[[Trace], bool]:
        return lambda trace: bool(trace[ranking, kind][TENTH] >= at_least)

    columns = {f"re-{op}s of the top tenth by {ranking}": _share(ranking, op)}
    found = _measured(rows, view, repeats, holds(op), columns)
    writes = _measured(rows, view, repeats, holds("write"), {})
    if found is None or writes is None:
        return None
    return replace(found, words={"writes": str(sum(writes.values))})


def reads_like_all(rows: pl.DataFrame, *, view: str, repeats: str, within: float) -> Found | None:
    """Ask of each trace whether the most recent tenth takes as much of re-reads as of all."""

    def holds(trace: Trace) -> bool:
        read, every = (trace["recency", op][TENTH] for op in ("read", "all"))
        return bool(abs(read - every) <= within)

    columns = {"of re-reads": _share("recency", "read"), "of all": _share("recency", "all")}
    return _measured(rows, view, repeats, holds, columns)


def more_fluent(rows: pl.DataFrame, *, view: str, repeats: str) -> Found | None:
    """Ask of each trace whether fewer of its re-reads are out of order than of all references."""

    def holds(trace: Trace) -> bool:
        return bool(trace["recency", "read"][ORDER[0]] < trace["recency", "all"][ORDER[0]])

    of_all = list(_order("recency", "all", "all re-references").items())[:1]
    columns = {**_order("recency", "read", "re-reads"), **dict(of_all)}
    return _measured(rows, view, repeats, holds, columns)


def is_weak_and_irregular(
    rows: pl.DataFrame, *, view: str, repeats: str, below: float
) -> Found | None:
    """Ask of each trace whether re-writes are not ordered, and few in its most recent tenth."""

    def holds(trace: Trace) -> bool:
        write = trace["recency", "write"]
        return not _is_ordered(write) and write[TENTH] < below

    columns = {
        **_order("recency", "write", "re-writes"),
        "writes of the most recent tenth": _share("recency", "write"),
        "reads of the most recent tenth": _share("recency", "read"),
    }
    return _measured(rows, view, repeats, holds, columns)


def is_inverted(
    rows: pl.DataFrame, *, view: str, repeats: str, writes_per_read: float
) -> Found | None:
    """Ask of each trace with many re-writes whether they are not ordered by recency."""

    def references(op: str) -> pl.Expr:
        is_of = (pl.col("ranking") == "recency") & (pl.col("op") == op)
        of_trace = pl.col("re_references").filter(is_of).sum()
        return of_trace.over("view", "repeats", "trace")

    return _measured(
        rows.filter(references("write") >= writes_per_read * references("read")), view, repeats,
        lambda trace: not _is_ordered(trace["recency", "write"]),
        _order("recency", "write", "re-writes"),
    )  # fmt: skip


def is_ordered(rows: pl.DataFrame, *, view: str, repeats: str) -> Found | None:
    """Ask of each trace whether its re-writes are ordered by frequency.

    ``recency`` is on how many traces they are by recency too.
    """

    def holds(ranking: str) -> Callable[[Trace], bool]:
        return lambda trace: _is_ordered(trace[ranking, "write"])

    columns = _order("frequency", "write", "re-writes by frequency")
    found = _measured(rows, view, repeats, holds("frequency"), columns)
    by_recency = _measured(rows, view, repeats, holds("recency"), {})
    if found is None or by_recency is None:
        return None
    return replace(found, words={"recency": str(sum(by_recency.values))})


def early_ranks(rows: pl.DataFrame, *, view: str, repeats: str, at_least: int) -> Found | None:
    """Ask of each trace whether the top ranks take more writes by frequency at many cuts."""

    def cuts(trace: Trace) -> int:
        frequency, recency = trace["frequency", "write"], trace["recency", "write"]
        return sum(frequency[column] > recency[column] for column in TOP_COLUMNS)

    columns = {
        "top tenth by frequency": _share("frequency", "write"),
        "top tenth by recency": _share("recency", "write"),
        "cuts at which frequency is larger": lambda it: f"{cuts(it)} of {len(TOP_COLUMNS)}",
    }
    return _measured(rows, view, repeats, lambda trace: cuts(trace) >= at_least, columns)


def larger_in_a_range(rows: pl.DataFrame, *, view: str, repeats: str, share: float) -> Found | None:
    """Ask of each trace whether writes by frequency are more in a range of the top ranks.

    Nothing where a table was kept without what this needs.
    """
    if RUN not in rows.columns:
        return None
    return _measured(
        rows, view, repeats,
        lambda trace: bool(trace["frequency", "write"][RUN] >= share),
        {"longest run, of the top tenth": _share("frequency", "write", RUN)},
    )  # fmt: skip
