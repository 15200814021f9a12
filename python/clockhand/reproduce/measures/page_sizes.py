"""Measures of the SCM paper's sections 3 to 5: page sizes, faults and TLBs."""

import itertools
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from clockhand.report.words import byte_text, number_text, percent
from clockhand.reproduce.judge import Evidence, Found

KIB = 1024


def best_pages(rows: pl.DataFrame, value: str, ratio: float) -> pl.DataFrame:
    """Return the page size with the least ``value`` for each workload and memory size.

    Returns:
        The columns workload, memory, page_bytes; of equals the smallest page.
    """
    at_ratio = rows.filter(pl.col("storage_ratio") == ratio).sort(value, "page_bytes")
    best = at_ratio.group_by("workload", "memory", maintain_order=True).agg(
        pl.col("page_bytes").first()
    )
    order = rows.select("workload", "memory").unique(maintain_order=True)
    return order.join(best, on=["workload", "memory"], how="left", maintain_order="left")


def _at_least_ratio(rows: pl.DataFrame, by: Sequence[str]) -> list[pl.DataFrame]:
    """The rows of each combination, by page size, where storage is fastest."""
    of_ratio = _programs(rows).filter(pl.col("storage_ratio") == rows["storage_ratio"].min())
    return of_ratio.sort("page_bytes").partition_by(by, maintain_order=True)


def never_turns(
    rows: pl.DataFrame, *, column: str, by: Sequence[str], falls: bool, shown: bool = False
) -> Found:
    """Ask of each combination whether a column never rises, or falls, as pages grow."""
    held = [group[column].is_sorted(descending=falls) for group in _at_least_ratio(rows, by)]
    return Found(held, _over_pages(rows, column) if shown else ())


def slows_down(
    rows: pl.DataFrame,
    *,
    column: str,
    by: Sequence[str],
    falls: bool,
    below: float,
    shown: bool = False,
) -> Found:
    """Ask of each combination whether the last doubling of pages gives less than a share of the
    first."""
    sign = -1 if falls else 1
    held = []
    for group in _at_least_ratio(rows, by):
        values = group[column].to_list()
        last, first = sign * (values[-1] - values[-2]), sign * (values[1] - values[0])
        held.append(last < below * first)
    return Found(held, _over_pages(rows, column) if shown else ())


def doubling_faults_less(rows: pl.DataFrame) -> Found:
    """Ask of each program, memory and doubling of the page whether fewer references fault."""
    groups = _at_least_ratio(rows, ["program", "memory"])
    faults = [group["page_fault_ratio"].to_list() for group in groups]
    return Found([more < less for each in faults for less, more in itertools.pairwise(each)])


def best_grows_with_memory(rows: pl.DataFrame) -> Found:
    """Ask of each program whether the page with the fewest faults grows with memory.

    Rows have the least memory first.
    """
    best = best_pages(rows, "page_fault_ratio", 1.0)
    groups = best.partition_by("workload", maintain_order=True)
    pages = {group["workload"][0]: group["page_bytes"].to_list() for group in groups}
    memories = groups[0]["memory"].to_list()
    lines = ((program, *map(byte_text, sizes)) for program, sizes in pages.items())
    held = [sizes == sorted(sizes) and sizes[0] < sizes[-1] for sizes in pages.values()]
    return Found(held, (("best page", *memories), *lines))


def takes_less(
    plain: pl.DataFrame, changed: pl.DataFrame, *, device: str, more: bool = False
) -> Found:
    """Ask of each program and memory whether a change makes the mean access faster, or not."""
    key = ["workload", "memory"]
    before, after = (
        rows.filter(pl.col("device") == device).select(*key, pl.col("amat_ns").alias(name))
        for rows, name in ((plain, "before"), (changed, "after"))
    )
    both = before.join(after, on=key, maintain_order="left")
    ratios = (both["after"] / both["before"]).to_list()
    lines = (
        (program, memory, *(f"{time:,.1f}" for time in times), f"{times[1] / times[0]:.2f}")
        for program, memory, *times in both.iter_rows()
    )
    heads = ("program", "memory", "without (ns)", "with (ns)", "ratio")
    words = {"least_ratio": f"{min(ratios):.2f}", "greatest_ratio": f"{max(ratios):.2f}"}
    return Found([(ratio < 1) is not more for ratio in ratios], (heads, *lines), words)


def best_for(rows: pl.DataFrame, *, workload: str, kib: int) -> Found:
    """Ask of each memory size whether a program has the fewest faults with a page."""
    best = best_pages(rows, "page_fault_ratio", 1.0).filter(pl.col("workload") == workload)
    lines = ((memory, byte_text(size)) for _, memory, size in best.iter_rows())
    held = [size == kib * KIB for size in best["page_bytes"]]
    return Found(held, (("memory", "best page"), *lines))


def best_differs(rows: pl.DataFrame, *, column: str) -> Found:
    """Ask of each memory size whether programs differ in the page that is best for them."""
    by_memory = best_pages(rows, column, 1.0).partition_by("memory", maintain_order=True)
    different = {group["memory"][0]: group["page_bytes"].n_unique() for group in by_memory}
    lines = ((memory, str(count)) for memory, count in different.items())
    held = [count > 1 for count in different.values()]
    return Found(held, (("memory", "different best pages"), *lines))


def best_is_another(rows: pl.DataFrame, *, columns: Sequence[str]) -> Found:
    """Ask of each program and memory whether the page that is best in one column is not in one."""
    first, second = (best_pages(rows, column, 1.0)["page_bytes"].to_list() for column in columns)
    return Found([one != other for one, other in zip(first, second, strict=True)])


def fastest_is(rows: pl.DataFrame, *, ratio: float, pages: Sequence[int]) -> Found:
    """Ask of each program and memory whether one of some pages is fastest."""
    best = best_pages(rows, "amat_ns", ratio)
    counts = best.group_by("page_bytes").len().sort("page_bytes").iter_rows()
    lines = ((byte_text(size), str(count)) for size, count in counts)
    held = [size in pages for size in best["page_bytes"]]
    return Found(held, (("fastest page", "programs and memories"), *lines))


def faster_than(rows: pl.DataFrame, *, ratio: float, pages: Sequence[int], than: int) -> Found:
    """Ask of each program and memory whether one of some pages is faster than another one."""
    at_ratio = rows.filter(pl.col("storage_ratio") == ratio)
    times = at_ratio.group_by("workload", "memory", maintain_order=True).agg(
        pl.col("amat_ns").filter(pl.col("page_bytes").is_in(pages)).min().alias("ours"),
        pl.col("amat_ns").filter(pl.col("page_bytes") == than).first().alias("other"),
    )
    return Found((times["ours"] < times["other"]).to_list())


def another_is_fastest(rows: pl.DataFrame, *, than: int) -> Found:
    """Ask of each program, memory and ratio of storage whether a page is not the fastest."""
    ratios = rows["storage_ratio"].unique().sort()
    pages = [size for ratio in ratios for size in best_pages(rows, "amat_ns", ratio)["page_bytes"]]
    return Found([size != than for size in pages])


def translation_weighs_less(rows: pl.DataFrame) -> Found:
    """Ask of each program, memory, page and slower storage whether translation is a smaller part
    of the access time there."""
    cell = ["workload", "memory", "page_bytes"]
    share = (pl.col("t_addr_ns") / pl.col("amat_ns")).alias("share")
    shares = rows.select(*cell, "storage_ratio", share).sort("storage_ratio", maintain_order=True)
    held = [
        more >= less
        for _, of_cell in shares.group_by(cell, maintain_order=True)
        for more, less in itertools.pairwise(of_cell["share"])
    ]
    medians = shares.group_by("storage_ratio", maintain_order=True).agg(pl.col("share").median())
    lines = tuple((number_text(ratio), percent(part)) for ratio, part in medians.iter_rows())
    words = {"fast": lines[0][1], "slow": lines[-1][1], "slowest": lines[-1][0]}
    return Found(held, (("storage over memory", "translation, in the median"), *lines), words)


def _programs(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the column ``program``: the stand-in, and what it stands for."""
    return rows.with_columns(pl.format("{} for {}", "trace", "workload").alias("program"))


def _over_pages(rows: pl.DataFrame, column: str, index: str = "page_bytes") -> Evidence:
    """Shares in percent: a row per page size, a column per program."""
    chosen = _programs(rows)
    if "storage_ratio" in rows.columns:
        chosen = chosen.filter(pl.col("storage_ratio") == rows["storage_ratio"].min())
    wide = chosen.sort(index).pivot("program", index=index, values=column)
    name, size_text = ("page", byte_text) if index == "page_bytes" else ("entries", str)
    lines = ((size_text(size), *map(percent, values)) for size, *values in wide.iter_rows())
    return ((name, *wide.columns[1:]), *lines)


Curve = list[tuple[float, float]]


def knee(points: Curve) -> float:
    """Return where a rising curve bends most: the point highest above the line between its ends.

    Args:
        points: Its points in order; of equal ones the first is taken.
    """
    (first_x, first_y), (last_x, last_y) = points[0], points[-1]
    slope = (last_y - first_y) / (last_x - first_x)
    return max(points, key=lambda point: point[1] - first_y - slope * (point[0] - first_x))[0]


def _gained(curve: Curve, entries: float) -> float:
    """The share of a curve's rise that is there with some entries; all of none."""
    at = max((point for point in curve if point[0] <= entries), default=curve[0])
    rise = curve[-1][1] - curve[0][1]
    return (at[1] - curve[0][1]) / rise if rise > 0 else 1.0


def bends_below(tlbs: pl.DataFrame, *, entries: int, up_to: int) -> Found | None:
    """Ask of each program whether its TLB's curve bends most below some entries.

    The curve ends at ``up_to`` entries; nothing where it was not run so far.
    """
    if up_to not in tlbs["tlb_entries"]:
        return None
    tlbs = tlbs.filter(pl.col("tlb_entries") <= up_to)
    knees = {program: knee(curve) for program, curve in _curves(tlbs).items()}
    bends = ", ".join(f"{program} at {at:g}" for program, at in knees.items())
    return _of_curves(tlbs, [at < entries for at in knees.values()], {"bends": bends})


def gained_by(tlbs: pl.DataFrame, *, entries: int, share: float, up_to: int) -> Found | None:
    """Ask of each program whether some entries give a share of what all up to some give."""
    if up_to not in tlbs["tlb_entries"]:
        return None
    tlbs = tlbs.filter(pl.col("tlb_entries") <= up_to)
    return _of_curves(
        tlbs, [_gained(curve, entries) >= share for curve in _curves(tlbs).values()], {}
    )


def _of_curves(tlbs: pl.DataFrame, held: list[bool], words: Mapping[str, str]) -> Found:
    sizes = tlbs["tlb_entries"].unique().sort()
    pages = f"pages of {byte_text(tlbs['page_bytes'][0])}"
    ends = {"first": str(sizes[0]), "last": str(sizes[-1]), "pages": pages}
    return Found(held, _over_pages(tlbs, "tlb_hit_ratio", "tlb_entries"), {**ends, **words})


def _curves(tlbs: pl.DataFrame) -> dict[str, Curve]:
    groups = _programs(tlbs).sort("tlb_entries").partition_by("program", maintain_order=True)
    points = ("tlb_entries", "tlb_hit_ratio")
    return {group["program"][0]: list(group.select(points).iter_rows()) for group in groups}


def largest_is_near(rows: pl.DataFrame, *, within: float) -> Found:
    """Ask of each program and ratio whether the largest page is hardly slower than the fastest."""
    near = _near(rows, lambda group: (group["amat_ns"][-1], min(group["amat_ns"])), within)
    largest = byte_text(rows["page_bytes"].sort()[-1])
    return Found(near.values, near.evidence, {**near.words, "largest": largest})


def larger_are_near(rows: pl.DataFrame, *, than: int, within: float) -> Found:
    """Ask of each program and ratio whether all larger pages hardly differ."""

    def ends(group: pl.DataFrame) -> tuple[float, float]:
        times = group.filter(pl.col("page_bytes") > than)["amat_ns"]
        return max(times), min(times)

    return _near(rows, ends, within)


def _near(
    rows: pl.DataFrame, ends: Callable[[pl.DataFrame], tuple[float, float]], within: float
) -> Found:
    programs = _programs(rows)
    groups = programs.sort("page_bytes").partition_by("program", "storage_ratio")
    wide = programs.sort("page_bytes").pivot(
        "page_bytes", index=["program", "storage_ratio"], values="amat_ns"
    )
    lines = (
        (f"{program}, ratio {ratio:g}", *(number_text(round(value, 1)) for value in values))
        for program, ratio, *values in wide.sort("storage_ratio", maintain_order=True).iter_rows()
    )
    heads = ("access time (ns)", *(byte_text(int(name)) for name in wide.columns[2:]))
    lengths: list[int] = rows["references"].sort().to_list()
    words = {"shortest": f"{lengths[0] / 1e6:.1f}", "longest": f"{lengths[-1] / 1e6:.1f}"}
    held = [one <= (1 + within) * other for one, other in map(ends, groups)]
    return Found(held, (heads, *lines), words)
