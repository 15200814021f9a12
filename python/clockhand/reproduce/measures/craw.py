"""Measures of the CRAW paper on policies, sections V and VI."""

from collections.abc import Sequence

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.judge import Evidence, Found, NotTestableError
from clockhand.reproduce.measures.compared import BANDS, Compared, in_band, reduction_table
from clockhand.study.policies import BASELINE, BOUND
from clockhand.study.records import Fields

PAGE_BYTES = 4096
"""Of the sweep."""


def reduction(rows: pl.DataFrame, *, of: str, against: str, number: str = "mean") -> Found:
    """Measure on each trace how much less I/O time a policy needs than another.

    Args:
        rows: The rows of the sweep.
        of: The policy.
        against: The other.
        number: What is taken over the memory sizes: the ``mean``, or the ``greatest``.
    """
    compared = Compared(rows)
    every = compared.reductions(of, against)
    best = every.row(int(every["greatest"].arg_max() or 0), named=True)
    worst = every.row(int(every["least"].arg_min() or 0), named=True)
    words = {
        "best_trace": best["trace"], "best_at": percent(best["greatest_at"]),
        "worst": percent(worst["least"]), "worst_trace": worst["trace"],
        "worst_at": percent(worst["least_at"]),
        **_reads_and_writes(compared, of, against, compared.traces),
    }  # fmt: skip
    return Found(every[number].to_list(), reduction_table(every), words)


def _reads_and_writes(
    compared: Compared, of: str, against: str, traces: Sequence[str]
) -> dict[str, str]:
    """The mean of what a policy reads and writes of another's pages."""
    return {
        f"{name}s": percent(compared.mean_ratio(of, against, f"{name}_ios", traces))
        for name in ("read", "write")
    }


def _read_intensive(compared: Compared, reads_per_write: float) -> list[str]:
    traces = compared.select_traces(lambda it: compared.reads_per_write(it) >= reads_per_write)
    if not traces:
        raise NotTestableError("No trace here has seven reads per write or more.")
    return traces


def best_at_many_sizes(
    rows: pl.DataFrame, *, of: str, against: Sequence[str], share: float
) -> Found:
    """Ask of each trace whether a policy needs less I/O time than all others beyond a share of the
    sizes."""
    compared = Compared(rows)
    wins = [
        compared.ratios(of, other).with_columns((pl.col("ratio") < 1).alias(other)).drop("ratio")
        for other in against
    ]
    joined = wins[0]
    for more in wins[1:]:
        joined = joined.join(more, on=["trace", "memory_share"])
    won = joined.group_by("trace").agg(pl.all_horizontal(against).mean().alias("share"))
    by_trace = dict(won.iter_rows())
    shares = {trace: by_trace[trace] for trace in compared.traces if trace in by_trace}
    lines = ((trace, f"{percent(part)} of the sizes") for trace, part in shares.items())
    return Found([part > share for part in shares.values()], (("trace", "best at"), *lines))


def behind_both(
    rows: pl.DataFrame,
    *,
    of: str,
    against: Sequence[str],
    reads_per_write: float,
    up_to_memory: float,
) -> Found:
    """Ask of each read-intensive trace whether a policy is behind both others at a small memory."""
    compared = Compared(rows)
    traces = _read_intensive(compared, reads_per_write)
    first, second = (compared.ratios(of, other).rename({"ratio": other}) for other in against)
    both = first.join(second, on=["trace", "memory_share"])
    is_small = pl.col("memory_share") <= up_to_memory
    behind = both.filter(is_small & (pl.min_horizontal(against) > 1))["trace"].to_list()
    lines = ((trace, str(behind.count(trace))) for trace in traces)
    evidence = (("trace", "sizes at which CFCLOCK is behind both"), *lines)
    words = _reads_and_writes(compared, of, against[0], traces)
    return Found([trace in behind for trace in traces], evidence, words)


def with_most_reads(rows: pl.DataFrame, *, of: str, against: str, reads_per_write: float) -> Found:
    """Measure what a policy reads beyond another at most, on read-intensive traces."""
    compared = Compared(rows)
    traces = _read_intensive(compared, reads_per_write)
    ratios = compared.ratios(of, against, "read_ios")
    greatest: list[Fields] = [
        ratios.filter(pl.col("trace") == trace).sort("ratio").row(-1, named=True)
        for trace in traces
    ]
    most = max(greatest, key=lambda row: float(row["ratio"]))
    lines = (
        (row["trace"], percent(row["ratio"]), percent(row["memory_share"])) for row in greatest
    )
    words = {
        "most": percent(most["ratio"]), "trace": most["trace"],
        "at": percent(most["memory_share"]), **_reads_and_writes(compared, of, against, traces),
    }  # fmt: skip
    heads = ("trace", "most read I/Os, of CLOCK's", "memory")
    return Found([row["ratio"] - 1 for row in greatest], (heads, *lines), words)


def equal_with_all_memory(rows: pl.DataFrame) -> Found:
    """Ask of each trace whether all policies need the same I/O time with all memory."""
    complete = rows.filter((pl.col("memory_share") == 1.0) & (pl.col("policy") != BOUND))
    times = complete.group_by("trace", maintain_order=True).agg(pl.col("io_time_us").n_unique())
    return Found([count == 1 for count in times["io_time_us"]])


def lower_means(rows: pl.DataFrame, *, of: str, against: str) -> Found:
    """Ask of each trace with more writes than reads whether write I/Os and I/O time are less."""
    compared = Compared(rows)
    traces = compared.select_traces(lambda trace: compared.reads_per_write(trace) < 1)
    if not traces:
        raise NotTestableError("No trace here has more write references than read references.")
    ratios = {
        trace: [
            compared.mean_ratio(of, against, value, [trace])
            for value in ("write_ios", "io_time_us")
        ]
        for trace in traces
    }
    heads = ("trace", "write I/Os, of CLOCK's", "I/O time, of CLOCK's")
    lines = ((trace, *map(percent, pair)) for trace, pair in ratios.items())
    return Found([max(pair) < 1 for pair in ratios.values()], (heads, *lines))


def fewer_writes(
    rows: pl.DataFrame, *, of: str, against: str, reads_per_write: float, most_reads: float
) -> Found:
    """Ask of each read-intensive trace whether writes are fewer, and reads within a limit."""
    compared = Compared(rows)
    reads = compared.ratios(of, against, "read_ios")
    pairs = {
        trace: (
            compared.mean_ratio(of, against, "write_ios", [trace]),
            float(str(reads.filter(pl.col("trace") == trace)["ratio"].max())),
        )
        for trace in _read_intensive(compared, reads_per_write)
    }
    heads = ("trace", "mean write I/Os, of CLOCK's", "most read I/Os, of CLOCK's")
    lines = ((trace, *map(percent, pair)) for trace, pair in pairs.items())
    held = [writes < 1 and most < most_reads for writes, most in pairs.values()]
    return Found(held, (heads, *lines))


def areas_move(areas: pl.DataFrame, *, by: float) -> Found:
    """Ask of each trace whether the read area's desired size moves by a share of memory."""
    rows = areas.to_dicts()
    heads = ("trace", "least (pages)", "most (pages)", "memory (pages)")
    lines = (
        (row["trace"], f"{row['least']:.0f}", f"{row['most']:.0f}", str(row["frames"]))
        for row in rows
    )
    held = [(row["most"] - row["least"]) / row["frames"] >= by for row in rows]
    return Found(held, (heads, *lines))


def hand_movements(rows: pl.DataFrame, *, of: str, at_most: float) -> Found:
    """Ask of each cell whether a page is replaced with few movements of the hand."""
    evictions = pl.col("clean_evictions") + pl.col("dirty_evictions")
    each = (
        rows.filter((pl.col("policy") == of) & (evictions > 0))
        .with_columns((pl.col("hand_movements") / evictions).alias("each"))
        .sort("each")
    )
    held = (each["each"] <= at_most).to_list()
    most = each.row(-1, named=True)
    words = {
        "share": percent(sum(held) / len(held)), "median": f"{_median(each['each']):.1f}",
        "most": f"{most['each']:.1f}", "trace": most["trace"],
        "at": percent(most["memory_share"]),
    }  # fmt: skip
    return Found(held, (), words)


def _median(values: pl.Series) -> float:
    return float(str(values.median()))


def alike(rows: pl.DataFrame, *, of: str, against: str, within: float) -> Found:
    """Measure in each cell by what share two policies differ in I/O time."""
    ratios = Compared(rows).ratios(of, against).sort("ratio")
    differences = (ratios["ratio"] - 1).abs()
    best, worst = ratios.row(0, named=True), ratios.row(-1, named=True)
    words = {
        "alike": percent(int((differences <= within).sum()) / len(differences)),
        "better": percent(ratios.filter(pl.col("ratio") < 1).height / ratios.height),
        "less": percent(1 - best["ratio"]), "less_trace": best["trace"],
        "less_at": percent(best["memory_share"]), "more": percent(worst["ratio"] - 1),
        "more_trace": worst["trace"], "more_at": percent(worst["memory_share"]),
    }  # fmt: skip
    return Found(differences.to_list(), (), words)


def near_the_best(rows: pl.DataFrame, *, of: str, against: Sequence[str], within: float) -> Found:
    """Ask of each cell whether a policy is near the best of others in I/O time."""
    compared, key = Compared(rows), ["trace", "memory_share"]
    ratios = [
        compared.ratios(of, other).with_columns(pl.lit(other).alias("best")) for other in against
    ]
    worst_first = pl.concat(ratios).sort("ratio", descending=True, maintain_order=True)
    behind = worst_first.unique(key, keep="first", maintain_order=True).select(
        *key, "best", (pl.col("ratio") - 1).alias("behind")
    )
    held = (behind["behind"] <= within).to_list()
    worst = behind.sort("behind", maintain_order=True).row(-1, named=True)
    words = {
        "share": percent(sum(held) / len(held)), "worst": percent(worst["behind"]),
        "best": worst["best"], "trace": worst["trace"], "at": percent(worst["memory_share"]),
    }  # fmt: skip
    return Found(held, _by_band(behind, within), words)


def near_each(rows: pl.DataFrame, *, of: Sequence[str], against: str, within: float) -> Found:
    """Ask of each cell and policy whether it needs hardly more I/O time than another one."""
    compared = Compared(rows)
    every = [compared.ratios(name, against).with_columns(pl.lit(name).alias("of")) for name in of]
    cells = pl.concat(every).sort("ratio", maintain_order=True)
    worst = cells.row(-1, named=True)
    words = {
        "worst": percent(worst["ratio"] - 1), "worst_of": worst["of"], "trace": worst["trace"],
        "at": percent(worst["memory_share"]),
    }  # fmt: skip
    return Found((cells["ratio"] <= 1 + within).to_list(), (), words)


def ghosts_beside_memory(
    rows: pl.DataFrame, *, ghost_bytes: int, papers_bytes: int, within: float
) -> Found:
    """Ask of each cell whether the paper's ghosts are small, of which there are at most as many as
    frames; ``median`` and ``most`` are of ours, so many bytes for each page that is touched."""
    cells = rows.select("trace", "memory_share").unique(maintain_order=True)
    ours = cells.select(share=ghost_bytes / (PAGE_BYTES * pl.col("memory_share")))["share"]
    share = papers_bytes / PAGE_BYTES
    words = {
        "median": percent(_median(ours)), "most": percent(float(str(ours.max()))),
        "papers": percent(share),
    }  # fmt: skip
    return Found([share <= within] * len(ours), (), words)


def _by_band(behind: pl.DataFrame, within: float) -> Evidence:
    rows = []
    for band in BANDS:
        cells = behind.filter(in_band(pl.col("memory_share"), band))
        if cells.is_empty():
            continue
        worst = cells.sort("behind", maintain_order=True).row(-1, named=True)
        good = float(str((cells["behind"] <= within).mean()))
        place = f"{worst['trace']}, {percent(worst['memory_share'])}, {worst['best']}"
        shares = (good, _median(cells["behind"]), worst["behind"])
        rows.append((band, *map(percent, shares), place))
    return (("memory", "cells that are good", "median", "worst cell", "which, behind whom"), *rows)


def overhead(
    overheads: pl.DataFrame, *, of: str, kind: str, within: float, fault_ns: float | None = None
) -> Found:
    """Ask of each cell whether a kind of software overhead is small beside the device's time.

    ``fault_ns`` prices permission faults otherwise than they were.
    """
    if fault_ns is not None:
        priced = pl.col("permission_faults") * fault_ns / 1e3
        overheads = overheads.with_columns(priced.alias("fault_time_us"))
    share = (pl.col(f"{kind}_time_us") / pl.col("device_time_us")).alias("share")
    cells = overheads.filter(pl.col("policy") == of).with_columns(share)
    worst = cells.sort("share", maintain_order=True).row(-1, named=True)
    software = ["hand_time_us", "fault_time_us"]
    words = {
        "median": percent(_median(cells["share"])), "worst": percent(worst["share"]),
        "trace": worst["trace"], "at": percent(worst["memory_share"]),
        "without": _reduced(overheads, of, ["device_time_us"]),
        "with": _reduced(overheads, of, ["device_time_us", *software]),
    }  # fmt: skip
    return Found((cells["share"] <= within).to_list(), _by_memory(cells), words)


def _by_memory(cells: pl.DataFrame) -> Evidence:
    sizes = (100 * pl.col("memory_share")).round().cast(pl.Int64).alias("size")
    wide = cells.with_columns(sizes).sort("size", maintain_order=True)
    wide = wide.pivot("size", index="trace", values="share", aggregate_function="last")
    order = cells["trace"].unique(maintain_order=True).to_list()
    rows = {trace: shares for trace, *shares in wide.iter_rows()}
    heads = (f"{size}\u00a0% of memory" for size in wide.columns[1:])
    return (
        ("trace", *heads),
        *((name, *("–" if it is None else percent(it) for it in rows[name])) for name in order),
    )


def _reduced(rows: pl.DataFrame, of: str, columns: Sequence[str]) -> str:
    """The mean over cells by how much less time a policy takes than CLOCK, of kinds of time."""
    times = rows.with_columns(pl.sum_horizontal(columns).alias("time"))
    both = times.pivot("policy", index=["trace", "memory_share"], values="time")
    return percent(float(str((1 - both[of] / both[BASELINE]).mean())))
