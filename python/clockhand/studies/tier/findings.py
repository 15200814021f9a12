"""What a run on two tiers says: how much fast memory can go, which policy, whether moving pays."""

from collections.abc import Sequence

import polars as pl

from clockhand.report.scales import ratio_text
from clockhand.report.series import first_spellings
from clockhand.report.words import percent, titled, unique
from clockhand.study.facts import Facts, printable, trace_label
from clockhand.study.phrases import all_of, counted
from clockhand.study.records import Fields, Record
from clockhand.study.sizes import bytes_text

BOUND = "bound"
STATIC = "static"
SLOWDOWNS = (0.01, 0.05, 0.10)
"""How much slower than with fast memory alone a program may become."""

NOTHING = ("nothing", "")
"""What slow memory can replace where no size tried is enough, and under which policy."""

NAMES = ("line",)
"""What tells rows of one group and size apart, as :func:`with_lines` names them."""


def groups(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the rows of each trace, page size and pair of tiers, doubles once."""
    cells = ["trace", "page_bytes", "tiers", "fast_frames", "policy", "promote"]
    once = rows.unique(cells, keep="first", maintain_order=True)
    return once.partition_by("trace", "page_bytes", "tiers", maintain_order=True)


def group_label(
    rows: pl.DataFrame, group: pl.DataFrame, facts: Facts | None, *, has_tiers: bool = True
) -> str:
    """Return the name of a group: its trace, with page size and tiers where there are several."""
    first = group.row(0, named=True)
    label = trace_label(first["trace"], facts)
    if has_tiers and rows["tiers"].n_unique() > 1:
        label += f" on {printable(first['tiers'])}"
    if rows["page_bytes"].n_unique() > 1:
        label += f", pages of {bytes_text(first['page_bytes'])}"
    return label


def with_lines(group: pl.DataFrame) -> pl.DataFrame:
    """Return rows of a group with the column ``line``: what figures and sentences call each.

    It is the policy, and the rule of promotion where there are several; of two spellings that mean
    the same the first counts.
    """
    several = group["promote"].drop_nulls().n_unique() > 1
    rows = group.to_dicts()

    def spelled(row: Record) -> str:
        policy = printable(str(row["policy"]))
        return f"{policy}, {row['promote']}" if several and row["promote"] else policy

    names = first_spellings(
        (spelled(row), (row["fast_frames"],), (row["policy_resolved"], row["promote_resolved"]))
        for row in rows
    )
    lines = [names[spelled(row)] for row in rows]
    return group.with_columns(pl.Series("line", lines, pl.String))


def offline_lines(rows: pl.DataFrame) -> set[str]:
    """Return the lines of rows whose policies know the future."""
    return set(rows.filter(pl.col("kind").is_in(["offline", "bound"]))["line"])


def latencies(row: Record) -> dict[str, float]:
    """Return every value of the tiers of a row, by its name."""
    options = row["tiers_resolved"].rpartition(":")[2].split(",")
    return {name: float(text) for name, _, text in (pair.partition("=") for pair in options)}


def alone_ns(row: Record, tier: str) -> float:
    """Return the mean access time of a row's references in one of the tiers alone."""
    values = latencies(row)
    reads, writes = row["read_references"], row["write_references"]
    times = values[f"{tier}_read_ns"] * reads + values[f"{tier}_write_ns"] * writes
    return float(times / row["references"])


def fast_alone_ns(group: pl.DataFrame) -> float | None:
    """Return the mean access time with fast memory alone; none without a row that counts."""
    counted = group.filter(pl.col("fast_reads").is_not_null() & (pl.col("references") > 0))
    return None if counted.is_empty() else alone_ns(counted.row(0, named=True), "fast")


def findings(rows: pl.DataFrame, facts: Facts | None) -> list[str]:
    """Return how much fast memory can go, which policy, and whether migration pays."""
    sentences = []
    for group in map(with_lines, groups(rows)):
        where = group_label(rows, group, facts)
        sizes = group.partition_by("fast_frames", maintain_order=True)
        if len(sizes) > 1:
            sentences += _replaced(group, where) + _over_sizes(sizes, where)
        else:
            sentences += _at_size(sizes[0], where)
    return sentences


def _replaced(group: pl.DataFrame, where: str) -> list[str]:
    """Say how much of the footprint can be in slow memory, under a policy that can run."""
    found = replaceable(group)
    if found.is_empty():
        return []
    found = found.filter(~pl.col("policy").is_in(offline_lines(group)))
    runnable, count = found.drop_nulls(), found["policy"].n_unique()
    limits: dict[tuple[str, str], list[str]] = {}
    for slowdown in reversed(SLOWDOWNS):
        at = runnable.filter(pl.col("slowdown") == slowdown).sort("fast_memory_share")
        share = 0.0 if at.is_empty() else 1 - at["fast_memory_share"][0]
        what = f"{100 * share:.3g}\u00a0%" if share > 0 else NOTHING[0]
        of = f" ({_under(at, count)})" if share > 0 else ""
        limits.setdefault((what, of), []).append(f"{100 * slowdown:.0f}")
    if list(limits) == [NOTHING]:
        return [_too_slow(group, where)]
    at_most = {
        part: f"{' to '.join(unique([at[-1], at[0]]))}\u00a0%" for part, at in limits.items()
    }
    (what, of), *others = at_most
    less = [f"{part[0]} at {at_most[part]}{part[1]}" for part in others if part != NOTHING]
    below = [f"it can replace {all_of(less)}"] if less else []
    if NOTHING in at_most:
        below.append(f"none of the sizes tried keeps within {at_most[NOTHING]}")
    said = "; ".join(below)
    return [
        f"Slow memory can replace {what} of the memory of {where} at a slowdown of "
        f"{at_most[what, of]}{of}.",
        *([f"{said[0].upper()}{said[1:]}."] if said else []),
    ]


def _under(at: pl.DataFrame, count: int) -> str:
    """Name the policies that need the least fast memory, or say that all of so many do."""
    least = pl.col("fast_memory_share") == at["fast_memory_share"][0]
    names = at.filter(least)["policy"].unique(maintain_order=True)
    if len(names) == count > 1:
        return "every policy"
    return all_of(names)


def _too_slow(group: pl.DataFrame, where: str) -> str:
    """Say that slow memory can replace nothing, and which of less fast memory comes nearest."""
    rows = _runnable(group)
    least = min([row for row in rows if row["fast_memory_share"] < 1] or rows, key=_mean_ns)
    alone = fast_alone_ns(group) or 1.0
    return (
        f"None of the sizes tried keeps {where} within {100 * SLOWDOWNS[-1]:.0f}\u00a0% of fast "
        f"memory alone: {least['line']}, the nearest, takes "
        f"{ratio_text(least['mean_ns'] / alone)} times as long with {share_text(least)} of fast "
        "memory."
    )


def _mean_ns(row: Record) -> float:
    return float(row["mean_ns"])


def _over_sizes(sizes: Sequence[pl.DataFrame], where: str) -> list[str]:
    """Say which policy is fastest at how many sizes, and whether migration pays at each."""
    fastest: dict[str, int] = {}
    pays = compared = 0
    for cells in sizes:
        runnable = _runnable(cells)
        if not runnable:
            continue
        name = runnable[0]["line"]
        fastest[name] = fastest.get(name, 0) + 1
        still, moving = still_and_moving(cells)
        if still and moving:
            compared += 1
            pays += moving[0]["mean_ns"] < still[0]["mean_ns"]
    ranked = sorted(fastest.items(), key=lambda item: -item[1])
    sentences = []
    if len({row["line"] for cells in sizes for row in _runnable(cells)}) > 1:
        *others, (last, count) = ranked
        texts = [f"{name} at {count}" for name, count in others]
        texts.append(f"{last} at {counted(count, sum(fastest.values()), 'sizes')}")
        sentences.append(f"Fastest for {where}: {', '.join(texts)}.")
    if compared:
        at = f"{pays} of the {compared} sizes" if pays else "none of the sizes"
        sentences.append(f"Migration pays at {at} at which pages move.")
    return sentences


def headline(rows: pl.DataFrame, facts: Facts | None) -> str:
    """Return the title of a report."""
    split = groups(rows)
    if len(split) > 1:
        fastest = [name for group in split if (name := _fastest(with_lines(group)))]
        if not fastest:
            return f"Two tiers of memory: {len(split)} inputs"
        most = max(fastest, key=fastest.count)
        return f"{most} is the fastest for {counted(fastest.count(most), len(split), 'inputs')}"
    found = findings(rows, facts)
    if found:
        return titled(found, 1, "")[0]
    return f"Two tiers of memory: {group_label(rows, split[0], facts)}"


def _fastest(group: pl.DataFrame) -> str | None:
    """Return the line whose mean time over all sizes is least, of those that can run."""
    runnable = group.filter(~pl.col("kind").is_in(["offline", "bound"])).drop_nulls("mean_ns")
    if runnable["line"].n_unique() < 2:
        return None
    means = runnable.group_by("line", maintain_order=True).agg(pl.col("mean_ns").log().mean())
    return str(means.sort("mean_ns", maintain_order=True)["line"][0])


def _runnable(cells: pl.DataFrame) -> list[Fields]:
    timed = cells.drop_nulls("mean_ns").to_dicts()
    return sorted((row for row in timed if row["kind"] not in ("offline", "bound")), key=_mean_ns)


def still_and_moving(cells: pl.DataFrame) -> tuple[list[Fields], list[Fields]]:
    """Return the rows of one size whose policies can run, the fastest first: those that promote
    nothing, and the others."""
    runnable = _runnable(cells)
    still = [row for row in runnable if not row["promotions"]]
    return still, [row for row in runnable if row["promotions"]]


def _at_size(cells: pl.DataFrame, where: str) -> list[str]:
    runnable = _runnable(cells)
    if not runnable:
        return []
    best = runnable[0]
    if len(runnable) == 1:
        times = ratio_text(best["mean_ns"] / (fast_alone_ns(cells) or 1.0))
        verdict = f"takes {times} times as long as fast memory alone on {where}"
    else:
        verdict = f"is fastest for {where}"
    text = (
        f"{best['line']} {verdict}: {best['mean_ns']:,.4g} ns per reference with "
        f"{share_text(best)} of fast memory"
    )
    if len(runnable) > 1 and runnable[1]["mean_ns"] > best["mean_ns"]:
        text += f", {_percent_more(runnable[1], best)} less than {runnable[1]['line']}"
    bounds = [row for row in cells.to_dicts() if row["policy"] == BOUND and row["mean_ns"]]
    if bounds:
        more = 100 * (best["mean_ns"] / bounds[0]["mean_ns"] - 1)
        text += f", and {more:,.3g} % above the bound"
    sentences = [f"{text}."]
    still, moving = still_and_moving(cells)
    if still and moving:
        saved = still[0]["mean_ns"] - moving[0]["mean_ns"]
        verdict = "pays" if saved > 0 else "does not pay"
        sentences.append(
            f"Migration {verdict} there: {moving[0]['line']} takes "
            f"{moving[0]['mean_ns']:,.4g} ns, {still[0]['line']} without promotions "
            f"{still[0]['mean_ns']:,.4g} ns."
        )
    return sentences


def _percent_more(other: Record, best: Record) -> str:
    return percent(1 - best["mean_ns"] / other["mean_ns"])


def share_text(row: Record) -> str:
    """Return the size of a row's fast memory."""
    share = row["fast_memory_share"]
    if not share:
        return "no page"
    return f"{row['fast_frames']:,} pages ({100 * share:.3g} % of the footprint)"


def replaceable(group: pl.DataFrame) -> pl.DataFrame:
    """Return the least fast memory of each line of rows at :data:`SLOWDOWNS`.

    The columns are policy, slowdown and fast_memory_share, null where no size of the grid serves.
    """
    most_ns = (1 + pl.col("slowdown")) * fast_alone_ns(group)
    timed = group.filter((pl.col("policy") != BOUND) & pl.col("mean_ns").is_not_null())
    asked = timed.join(pl.DataFrame({"slowdown": SLOWDOWNS}), how="cross")
    return asked.group_by(pl.col("line").alias("policy"), "slowdown", maintain_order=True).agg(
        pl.col("fast_memory_share").filter(pl.col("mean_ns") <= most_ns).min()
    )
