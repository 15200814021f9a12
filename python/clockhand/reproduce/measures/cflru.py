"""Measures of the CFLRU paper: weighted counts of its policies, and of its four kernels.

A cost is a weighted count: pages read, and eight times the pages written (section 4.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

import polars as pl

from clockhand.reproduce.judge import Evidence, Found, NotTestableError, signed
from clockhand.study.records import Fields, Record

WINDOWS = tuple(f"cflru:window_share=1/{x}" for x in range(1, 7))
"""Section 4.2: ``S/x``, where ``x`` varies from 1 to 6."""

COST = (pl.col("read_ios") + 8 * pl.col("write_ios")).cast(pl.Float64).alias("cost")
PAPERS_FRAMES = 4096
"""16 MB in pages of 4 KiB."""

KERNEL_POLICIES = {
    "no-readahead": "linux24",
    "static": "linux24-cflru",
    "dynamic": "linux24-cflru:dynamic=true",
}
"""The paper's changed kernels."""


def kernels_of(ahead: str, without: str) -> dict[str, tuple[str, str]]:
    """Return policy and read-ahead of the paper's four kernels: that of plain Linux, and what is
    left of it in the others."""
    changed = {name: (policy, without) for name, policy in KERNEL_POLICIES.items()}
    return {"plain": ("linux24", ahead), **changed}


KERNELS = kernels_of("file:3-31", "none")
"""The four kernels on files alone."""

Kernels = Mapping[str, Fields]
"""A row for each of the paper's four kernels."""


def replaced(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of programs and memories for which pages are replaced, with their cost.

    A program that deletes its files may never fill a memory that is smaller than what it touches;
    all policies are equal then.
    """
    evicts = (pl.col("clean_evictions") + pl.col("dirty_evictions") > 0).any()
    return rows.filter(evicts.over("workload", "frames")).with_columns(COST)


def costs(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the cost of each of the paper's four algorithms, with CFLRU's best window.

    Returns:
        The columns workload, LRU, CFLRU-static, window, CFLRU-dynamic and MIN.
    """
    names = ("lru", *WINDOWS, "cflru-dynamic", "min")
    cost = rows.group_by("workload", maintain_order=True).agg(
        pl.col("cost").filter(pl.col("policy") == name).last().alias(name) for name in names
    )
    best = pl.min_horizontal(WINDOWS)
    shares = {window: pl.lit(f"S/{window.rpartition('/')[2]}") for window in WINDOWS}
    share = pl.coalesce(pl.when(pl.col(it) == best).then(shares[it]) for it in WINDOWS)
    return cost.select(
        "workload", pl.col("lru").alias("LRU"), best.alias("CFLRU-static"), share.alias("window"),
        pl.col("cflru-dynamic").alias("CFLRU-dynamic"), pl.col("min").alias("MIN"),
    )  # fmt: skip


def at_memory(rows: pl.DataFrame, papers_mb: Mapping[str, float] | None = None) -> pl.DataFrame:
    """Return the rows at 16 MiB, or at the share of what the paper's program used that this is."""
    if papers_mb is None:
        return replaced(rows).filter(pl.col("frames") == PAPERS_FRAMES)
    papers = {name: 16 / used for name, used in papers_mb.items()}
    share = pl.col("workload").replace_strict(papers, return_dtype=pl.Float64)
    away = rows.with_columns((pl.col("memory_share") - share).abs().alias("away"))
    return replaced(away.filter(pl.col("away") == pl.col("away").min().over("workload")))


def _by_policy(cells: pl.DataFrame, column: str) -> Fields:
    return dict(cells.select("policy", column).iter_rows())


def _cells(*parts: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows of each program and memory size that needs replacement."""
    for rows in parts:
        yield from replaced(rows).partition_by("workload", "frames", maintain_order=True)


def _changes(values: Sequence[float], evidence: Evidence) -> Found:
    if not values:
        raise NotTestableError("No program of ours fills this memory and has pages to write back.")
    cases = "1 case" if len(values) == 1 else f"{len(values)} cases"
    return Found(values, evidence, {"cases": cases})


def times_of_write(*, read: Sequence[float], write: Sequence[float]) -> Found:
    """Say how often a write takes the time and the energy of a read."""
    time, energy = (f"{many / one:.2f}" for one, many in zip(read, write, strict=True))
    return Found([True], (), {"time": time, "energy": energy})


def in_order_of_window(*parts: pl.DataFrame, column: str, falls: bool) -> Found:
    """Ask of each program and memory whether a count never rises, or falls, with the window."""
    held = []
    for cells in _cells(*parts):
        counts = _by_policy(cells, column)
        ordered = [counts[policy] for policy in reversed(WINDOWS)]
        held.append(ordered == sorted(ordered, reverse=not falls))
    return Found(held)


def change_of_cost(
    rows: pl.DataFrame, *, of: str, against: str, papers_mb: Mapping[str, float] | None = None
) -> Found:
    """Measure by which share an algorithm costs more than another, program by program.

    Programs for which LRU writes nothing back are left out: nothing can be saved.
    """
    writes = (pl.col("policy") == "lru") & (pl.col("write_ios") > 0)
    table = costs(at_memory(rows, papers_mb).filter(writes.any().over("workload")))
    changes = [row[of] / row[against] - 1 for row in table.iter_rows(named=True)]
    lines = (
        tuple(f"{value:,.0f}" if isinstance(value, float) else str(value) for value in row)
        for row in table.iter_rows()
    )
    return _changes(changes, (tuple(table.columns), *lines))


def against_lru(rows: pl.DataFrame) -> pl.DataFrame:
    """Return by which share each policy costs more than LRU, where LRU writes pages back.

    Returns:
        The columns workload, policy and change.
    """
    own = replaced(rows)
    lru = own.filter((pl.col("policy") == "lru") & (pl.col("write_ios") > 0))
    both = own.filter(pl.col("policy") != "lru").join(
        lru.select("workload", "frames", pl.col("cost").alias("of_lru")),
        on=["workload", "frames"], maintain_order="left",
    )  # fmt: skip
    change = (pl.col("cost") / pl.col("of_lru") - 1).alias("change")
    return both.select("workload", "policy", change)


def controller_map(rows: pl.DataFrame) -> pl.DataFrame:
    """Return how much more than LRU CFLRU-dynamic costs, by its period and its step."""
    policy = pl.col("policy").str
    both = against_lru(rows).with_columns(
        policy.extract(r"period=(\d+)").alias("period"), policy.extract(r"step=(\d+)").alias("step")
    )
    texts = pl.col("change").map_elements(signed, return_dtype=pl.String)
    return both.with_columns(texts).pivot("step", index=["workload", "period"], values="change")


def prediction_row(at: Record, pages: int, predicted: str, rows: pl.DataFrame) -> Fields:
    """Return a program's costs with LRU, with the window that was predicted, and with the best."""
    cost = dict(rows.select("policy", COST).iter_rows())
    others = [value for policy, value in cost.items() if policy != predicted]
    return {
        **at, "frames": rows["frames"][0], "predicted_window": pages, "lru": cost["lru"],
        "predicted": cost[predicted], "best": min(others),
    }  # fmt: skip


def change_of_policy(rows: pl.DataFrame, *, of: str) -> Found:
    """Measure by which share a policy costs more than LRU, program by program."""
    changes = against_lru(rows).filter(pl.col("policy") == of)
    lines = ((name, signed(change)) for name, _, change in changes.iter_rows())
    return _changes(changes["change"].to_list(), (("program", "change"), *lines))


def gain_of_prediction(rows: pl.DataFrame, *, flush: bool, share: float) -> Found:
    """Ask of each program whether the predicted window saves nearly what the best one saves."""
    known = rows.filter((pl.col("flush_at_end") == flush) & (pl.col("best") < pl.col("lru")))
    saved = (pl.col("lru") - pl.col("predicted")) / (pl.col("lru") - pl.col("best"))
    shares = known.select("workload", "predicted_window", saved.alias("share")).rows()
    lines = ((name, f"{pages:,}", f"{part:.0%}") for name, pages, part in shares)
    parts = [part for *_, part in shares]
    if not parts:
        raise NotTestableError("LRU is the best of all here.")
    words = {"least_share": f"{min(parts):.0%}", "greatest_share": f"{max(parts):.0%}"}
    heads = ("program", "predicted window (pages)", "of what the best window saves")
    return Found([part >= share for part in parts], (heads, *lines), words)


def another_costs_less(rows: pl.DataFrame, *, than: str) -> Found:
    """Ask of each program and memory whether some policy costs less than one."""
    every = [_by_policy(cells, "cost") for cells in _cells(rows)]
    return Found([min(cost.values()) < cost[than] for cost in every])


def misses_least(rows: pl.DataFrame, *, of: str) -> Found:
    """Ask of each program and memory whether no policy has fewer misses than one."""
    every = [_by_policy(cells, "misses") for cells in _cells(rows)]
    return Found([misses[of] == min(misses.values()) for misses in every])


def costs_little_more(*parts: pl.DataFrame, of: str, against: str, up_to: float) -> Found:
    """Ask of each program and memory whether an algorithm costs a little more than another."""
    rows = [costs(cells).row(0, named=True) for cells in _cells(*parts)]
    return Found([row[against] < row[of] <= up_to * row[against] for row in rows])


def near_the_best_window(*parts: pl.DataFrame, of: str, within: float) -> Found:
    """Ask of each program and memory whether an algorithm costs little more than CFLRU with the
    window that is best there."""
    rows = [costs(cells).row(0, named=True) for cells in _cells(*parts)]
    return Found([row[of] <= (1 + within) * row["CFLRU-static"] for row in rows])


def near_one_window(*parts: pl.DataFrame, of: str, within: float) -> Found:
    """Ask of each program and memory whether a policy costs little more than CFLRU with the one
    window that costs least over all of them, each weighing the same."""
    every = [_by_policy(cells, "cost") for cells in _cells(*parts)]

    def over_lru(window: str) -> float:
        return float(sum(cost[window] / cost["lru"] for cost in every) / len(every))

    window = min(WINDOWS, key=over_lru)
    words = {
        "window": f"S/{window.rpartition('/')[2]}",
        "fixed": signed(over_lru(window) - 1),
        "adaptive": signed(over_lru(of) - 1),
    }
    held = [cost[of] <= (1 + within) * cost[window] for cost in every]
    return Found(held, (), words)


def hits_in_working_region(*parts: pl.DataFrame, window: float, most: float) -> Found:
    """Ask of each program and memory whether most hits of LRU are in its working region.

    A list of LRU has the shorter ones in it, so that the hits in the region are those of LRU with
    the frames that a window of this share of the memory leaves.

    Raises:
        NotTestableError: no two memories differ by the window.
    """
    held = []
    for rows in parts:
        of_lru = rows.filter(pl.col("policy") == "lru")
        for (_,), cells in of_lru.group_by("workload", maintain_order=True):
            hits = {
                round(100 * share): count
                for share, count in cells.select("memory_share", "hits").iter_rows()
            }
            regions = {at: round(at * (1 - window), 6) for at in hits}
            pairs = [(hits[region], hits[at]) for at, region in regions.items() if region in hits]
            held += [inner > most * all_hits for inner, all_hits in pairs]
    if not held:
        raise NotTestableError("No two memories of ours differ by the window.")
    return Found(held)


def dirtier(rows: pl.DataFrame, *, than: str) -> Found:
    """Ask of each window, program and memory whether as many pages are dirty as under a policy."""
    every = [_by_policy(cells, "dirty_pages_mean") for cells in _cells(rows)]
    pairs = [
        (dirty[policy], dirty[than]) for dirty in every for policy in (*WINDOWS, "cflru-dynamic")
    ]
    more = [ours / others - 1 for ours, others in pairs if others]
    words = {"median_more": signed(median(more)) if more else "–"}
    return Found([ours >= others for ours, others in pairs], (), words)


def little_dirtier(rows: pl.DataFrame, *, than: str, up_to: float, window: str) -> Found:
    """Ask of each program and memory how many more pages are dirty than under a policy: with
    ``each`` of six windows, with the ``best`` of them, or with the ``dynamic`` one."""
    pairs = []
    for cells in _cells(rows):
        dirty, cost = (_by_policy(cells, column) for column in ("dirty_pages_mean", "cost"))
        windows = {
            "each": WINDOWS,
            "best": (min(WINDOWS, key=cost.__getitem__),),
            "dynamic": ("cflru-dynamic",),
        }
        pairs += [(dirty[policy], dirty[than]) for policy in windows[window]]
    more = [ours / others - 1 for ours, others in pairs if others]
    words = {
        "median_more": signed(median(more)) if more else "–",
        "most_more": signed(max(more)) if more else "–",
    }
    return Found([ours <= up_to * others for ours, others in pairs], (), words)


def still_costs_less(rows: pl.DataFrame, *, of: str, than: str, times_written: int) -> Found:
    """Ask of each program and memory whether an algorithm costs less than another, where each page
    that is written is written several times. Where LRU evicts no dirty page, nothing can be saved.
    """
    saves = (pl.col("policy") == "lru") & (pl.col("dirty_evictions") > 0)
    savable = rows.filter(saves.any().over("workload", "frames"))
    written = savable.with_columns(pl.col("write_ios") * times_written)
    table = [costs(cells).row(0, named=True) for cells in _cells(written)]
    changes = [row[of] / row[than] - 1 for row in table]
    words = {"mean_change": signed(sum(changes) / len(changes)) if changes else "–"}
    return Found([change < 0 for change in changes], (), words)


def _kernels(
    rows: pl.DataFrame, ahead: str = "file:3-31", without: str = "none"
) -> Iterator[Kernels]:
    """The paper's four kernels, for each program and memory."""
    for cells in _cells(rows):
        by_kernel = {(row["policy"], row["read_ahead"]): row for row in cells.iter_rows(named=True)}
        yield {name: by_kernel[kernel] for name, kernel in kernels_of(ahead, without).items()}


def wasted_read_ahead(rows: pl.DataFrame, *, most: float, **read_ahead: str) -> Found:
    """Ask where pages are read ahead whether more than a share of them leave without use."""
    plain = [kernels["plain"] for kernels in _kernels(rows, **read_ahead)]
    return Found(
        [row["readahead_unused"] > row["readahead_ios"] * most
         for row in plain if row["readahead_ios"]]
    )  # fmt: skip


def fewer(
    rows: pl.DataFrame,
    *,
    of: Sequence[str],
    against: str,
    column: str,
    more: bool = False,
    **read_ahead: str,
) -> Found:
    """Ask of each case whether kernels have less of something than another, or more.

    Cases in which both have the same are ties and say neither; ``total`` is of all of them.
    """
    pairs = [
        (kernels[name][column], kernels[against][column])
        for kernels in _kernels(rows, **read_ahead)
        for name in of
    ]
    held = [(ours > others) is more for ours, others in pairs if ours != others]
    of_others = sum(others for _, others in pairs)
    change = signed(sum(ours for ours, _ in pairs) / of_others - 1) if of_others else "–"
    same = len(pairs) - len(held)
    ties = {0: "no tie", 1: "1 tie"}.get(same, f"{same} ties")
    return Found(held, (), {"ties": ties, "total": change})


def change(
    rows: pl.DataFrame,
    *,
    of: str,
    against: str,
    column: str,
    papers_memory: bool | None = None,
    per_page: Sequence[float] = (),
    **read_ahead: str,
) -> Found:
    """Measure by which share a kernel takes more of something than another, case by case.

    Args:
        rows: The cells.
        of: The kernel.
        against: The other.
        column: What is compared.
        papers_memory: Whether the cases are those of the paper's memory, or the others. All if
            ``None``.
        per_page: What a page that is read and one that is written take of it, if not as in the
            cells.
        read_ahead: That of plain Linux (``ahead``), and what is left of it (``without``).
    """
    if per_page:
        read, write = per_page
        rows = rows.with_columns(
            (read * pl.col("read_ios") + write * pl.col("write_ios")).alias(column)
        )
    cells = [
        (kernels[of], kernels[against])
        for kernels in _kernels(rows, **read_ahead)
        if papers_memory in (None, kernels[of]["frames"] == PAPERS_FRAMES)
    ]
    changes = [row[column] / other[column] - 1 for row, other in cells]
    lines = (
        (str(other["workload"]), f"{other['frames']:,}", signed(share))
        for (_, other), share in zip(cells, changes, strict=True)
    )
    return _changes(changes, (("application", "frames", "change"), *lines))
