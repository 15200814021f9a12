"""What each panel of a locality report shows: its lines, thinned for reading, as records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from clockhand.report.words import byte_text, time_unit
from clockhand.study.knee import knee
from clockhand.study.records import Fields

Tables = Mapping[str, pl.DataFrame]

# Each rank or size up to here has a point of its own; beyond, each doubling has a fixed number.
FIRST_OCTAVES = 5
POINTS_PER_OCTAVE = 16
# An inverted range that displaces a smaller share of the re-references would not be seen.
SHADED_SHARE = 0.005

READS = "reads"
WRITES = "writes"
BOTH = "reads and writes"
BY_FREQUENCY = "writes by frequency"
SERIES_OF_OP = {"all": BOTH, "read": READS, "write": WRITES}


@dataclass(frozen=True)
class Panel:
    """One small figure: lines over a logarithmic axis; ``key`` also names its file.

    ``is_share`` puts it on a linear axis from 0 to 1; the other axes are logarithmic, and reach at
    least to ``x_last`` and over ``y_domain``.
    """

    key: str
    title: str
    caption: str
    x_title: str
    y_title: str
    records: list[Fields]
    series: tuple[str, ...]
    is_share: bool = False
    x_last: float = 1
    y_domain: tuple[float, float] | None = None
    shaded: list[Fields] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """The panels of one trace beside each other."""

    trace: str
    panels: list[Panel]


@dataclass(frozen=True)
class Topic:
    """One part of the page: the same panels for every trace."""

    key: str
    title: str
    text: str
    rows: list[Row]


def topics(tables: Tables, traces: Sequence[str]) -> list[Topic]:
    """Return the parts of the page; those that need the whole trace only where it was followed."""
    curves = Topic(
        "miss-curves",
        "What LRU misses and writes back",
        "Exact at every memory size, from one pass over the stack distances. A page is written "
        "back once for each stretch between two of its writes in which it is evicted. A dot marks "
        "the knee: the size at which the curve bends most on linear axes.",
        [Row(trace, _curve_panels(_of(tables["miss-curve"], trace))) for trace in traces],
    )
    if tables["summary"].is_empty():
        text = (
            "Estimated from a sample of the pages; the band is two standard errors wide on either "
            "side. A dot marks the knee: the size at which the curve bends most on linear axes."
        )
        return [Topic(curves.key, curves.title, text, curves.rows)]
    rankings = Topic(
        "rankings",
        "References by the rank of their page",
        "How many references went to the page at each rank, the rank taken just before the "
        "reference. Each list knows only references of its "
        "own kind. Where a curve rises, a better rank does not mean more references: shaded are "
        "the ranges of such ranking inversions that displace at least 0.5\u00a0% of the "
        "re-references. Beyond rank 32 a point is the mean of neighbouring ranks; the four panels "
        "of a trace have the same axes.",
        [Row(trace, _ranking_panels(tables, trace)) for trace in traces],
    )
    sets = Topic(
        "sets",
        "Working sets, recency and re-reference probability",
        "How much is used together, after how many other pages a page is used again, and how "
        "likely the next reference goes to the page at a position of its list.",
        [Row(trace, _set_panels(tables, trace)) for trace in traces],
    )
    return [rankings, curves, sets]


def _of(table: pl.DataFrame, trace: str) -> pl.DataFrame:
    """Return the rows of a trace, once if the trace was given twice."""
    return table.filter(pl.col("trace") == trace).unique(maintain_order=True)


def _bins(last: int) -> list[tuple[int, int]]:
    """Return ranges of whole numbers from 1 to ``last``: single ones, then even in ratio."""
    ends = list(range(1, min(last, 1 << FIRST_OCTAVES) + 1))
    end, step = 1 << FIRST_OCTAVES, (1 << FIRST_OCTAVES) // POINTS_PER_OCTAVE
    while end < last:
        end += step
        ends.append(min(end, last))
        if end == 2 * POINTS_PER_OCTAVE * step:
            step *= 2
    return list(zip([1, *(end + 1 for end in ends)], ends, strict=False))


def _binned(series: str, values: pl.Series, what: str) -> Iterator[Fields]:
    """Give the mean value of each bin of ranks; ranks that have none are left out."""
    numbers = values.to_numpy()
    for first, last in _bins(len(numbers)):
        inside = numbers[first - 1 : last]
        known = inside[np.isfinite(inside.astype(np.float64))]
        if len(known):
            where = f"{first:,}" if first == last else f"{first:,}–{last:,}"
            # Zero has no place on a logarithmic axis; the line is broken there.
            mean = float(known.mean()) or None
            yield {"series": series, "x": (first * last) ** 0.5, "y": mean, "at": f"{what} {where}"}


def _ranking(tables: Tables, trace: str, ranking: str, op: str) -> pl.DataFrame:
    chosen = (pl.col("ranking") == ranking) & (pl.col("op") == op)
    return _of(tables["ranks"], trace).filter(chosen)


RANKINGS = (
    ("recency", "all", BOTH, "Reads and writes, by recency",
     "Ranks on one LRU list of all references. Figure\u00a02 of the CRAW paper."),
    ("recency", "read", READS, "Reads, by recency",
     "Ranks on an LRU list of reads only. Figure\u00a03 of the CRAW paper."),
    ("recency", "write", WRITES, "Writes, by recency",
     "Ranks on an LRU list of writes only. Figure\u00a04 of the CRAW paper."),
    ("frequency", "write", BY_FREQUENCY, "Writes, by frequency",
     "Ranks by the number of writes so far. Figure\u00a05 of the CRAW paper."),
)  # fmt: skip


def _ranking_panels(tables: Tables, trace: str) -> list[Panel]:
    drawn = {
        (ranking, op): list(
            _binned(series, _ranking(tables, trace, ranking, op)["references"], "rank")
        )
        for ranking, op, series, _, _ in RANKINGS
    }
    heights = [record["y"] for records in drawn.values() for record in records if record["y"]]
    pages = max(record["x"] for records in drawn.values() for record in records)
    domain = (min([1.0, *heights]), max([1.0, *heights]))
    return [
        Panel(
            key=f"{op}-by-{ranking}",
            title=title,
            caption=caption,
            x_title="Rank" if ranking == "frequency" else "Rank (LRU stack distance)",
            y_title="References",
            records=drawn[ranking, op],
            series=(series,),
            x_last=pages,
            y_domain=domain,
            shaded=_shaded(tables, trace, ranking, op),
        )
        for ranking, op, series, title, caption in RANKINGS
    ]


def _shaded(tables: Tables, trace: str, ranking: str, op: str) -> list[Fields]:
    chosen = (
        (pl.col("ranking") == ranking)
        & (pl.col("op") == op)
        & (pl.col("displaced_share") >= SHADED_SHARE)
    )
    return [
        {
            # Half a rank on either side, so that neighbours touch.
            "from": row["first_rank"] - 0.5,
            "to": row["last_rank"] + 0.5,
            "at": f"ranks {row['first_rank']:,}–{row['last_rank']:,}",
            "displaced": row["displaced_share"],
        }
        for row in _of(tables["inversions"], trace).filter(chosen).iter_rows(named=True)
    ]


def _curve_panels(curve: pl.DataFrame) -> list[Panel]:
    unit, unit_us = time_unit(curve["io_time_us"])
    memory = f"Memory (frames of {byte_text(curve['page_bytes'][0])})"
    device = curve["device"][0]
    misses = [
        *_curve_records(curve, READS, "read_misses"),
        *_curve_records(curve, WRITES, "write_misses"),
        *_curve_records(curve, BOTH, "misses", "misses_standard_error"),
    ]
    write_ios = _curve_records(curve, WRITES, "write_ios", "write_ios_standard_error")
    times = _curve_records(curve, BOTH, "io_time_us", divisor=unit_us)
    return [
        Panel("misses", "Misses", "References that do not find their page in memory.",
              memory, "Misses", misses, (BOTH, READS, WRITES)),
        Panel("write-ios", "Write I/Os", "Pages that are written back; those that are still in "
              "memory when the trace ends are not.",
              memory, "Write I/Os", write_ios, (WRITES,)),
        Panel("io-time", f"I/O time ({unit})", f"What all reads and writes take on {device}.",
              memory, f"I/O time ({unit})", times, (BOTH,)),
    ]  # fmt: skip


def _curve_records(
    curve: pl.DataFrame, series: str, column: str, error: str | None = None, divisor: float = 1
) -> list[Fields]:
    frames = curve["frames"].to_list()
    values = [value / divisor for value in curve[column].to_list()]
    errors = curve[error].to_list() if error is not None else [None] * len(frames)
    bend = knee(frames, values)
    wanted = {last for _, last in _bins(frames[-1])} | {bend}
    return [
        {
            "series": series,
            "x": size,
            "y": value or None,
            "low": None if off is None else max(value - 2 * off, 0) or None,
            "high": None if off is None else value + 2 * off,
            "knee": size == bend,
            "at": f"{size:,} frames ({100 * share:.3g}\u00a0% of the footprint)"
            + (" – knee" if size == bend else ""),
        }
        for size, share, value, off in zip(
            frames, curve["memory_share"].to_list(), values, errors, strict=True
        )
        if size in wanted or off is not None
    ]


def _set_panels(tables: Tables, trace: str) -> list[Panel]:
    sets = [
        {
            "series": SERIES_OF_OP[row["op"]],
            "x": row["window_references"],
            "y": row["mean_pages"] or None,
            "at": f"window of {row['window_references']:,} references",
        }
        for row in _of(tables["working-set"], trace).iter_rows(named=True)
    ]
    recency = _of(tables["recency"], trace)
    between = [
        *_distribution(READS, recency["read_references"]),
        *_distribution(WRITES, recency["write_references"]),
    ]
    likely = [
        record
        for ranking, op, series, _, _ in RANKINGS
        for record in _binned(
            series,
            _ranking(tables, trace, ranking, op)["re_reference_probability"].fill_null(
                float("nan")
            ),
            "position",
        )
    ]
    return [
        Panel("working-set", "Average working set",
              "Pages that were referenced, read or written within the last references.",
              "Window (references)", "Pages", sets, (BOTH, READS, WRITES)),
        Panel("recency", "Inter-reference recency",
              "Share of re-references with at most this many other pages since the last reference "
              "to their page.",
              "Other pages in between, plus 1", "Share of re-references", between, (READS, WRITES),
              is_share=True),
        Panel("re-reference-probability", "Re-reference probability",
              "Probability that the next reference of the kind goes to the page at this position.",
              "Position on the list", "Probability", likely, (BOTH, READS, WRITES, BY_FREQUENCY)),
    ]  # fmt: skip


def _distribution(series: str, counts: pl.Series) -> list[Fields]:
    """Return the share of all counts up to the end of each bin."""
    up_to = counts.cum_sum().to_list()
    if not up_to or not up_to[-1]:
        return []
    return [
        {
            "series": series,
            "x": last,
            "y": up_to[last - 1] / up_to[-1],
            "at": f"at most {last - 1:,} other pages",
        }
        for _, last in _bins(len(up_to))
    ]
