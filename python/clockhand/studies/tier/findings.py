"""What a run on two tiers says: how much fast memory can go, which policy, whether moving pays."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from clockhand.study.facts import Facts, printable, trace_label
from clockhand.study.sizes import bytes_text

BOUND = "bound"
SLOWDOWNS = (0.01, 0.05, 0.10)
"""How much slower than with fast memory alone a program may become."""


def cannot_run(rows: pl.DataFrame) -> set[str]:
    """Return the lines of rows whose policies know the future."""
    several = has_several_rules(rows)
    knowing = rows.filter(pl.col("kind").is_in(["offline", "bound"]))
    return {line(row, several) for row in knowing.to_dicts()}


def groups(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the rows of each trace, page size and pair of tiers, doubles once."""
    cells = ["trace", "page_bytes", "tiers", "fast_frames", "policy", "promote"]
    once = rows.unique(cells, keep="first", maintain_order=True)
    return once.partition_by("trace", "page_bytes", "tiers", maintain_order=True)


def group_label(rows: pl.DataFrame, group: pl.DataFrame, facts: Facts | None) -> str:
    """Return the name of a group: its trace, with page size and tiers where there are several."""
    first = group.row(0, named=True)
    label = trace_label(first["trace"], facts)
    if rows["tiers"].n_unique() > 1:
        label += f" on {printable(first['tiers'])}"
    if rows["page_bytes"].n_unique() > 1:
        label += f", pages of {bytes_text(first['page_bytes'])}"
    return label


def line(row: Mapping[str, Any], several_rules: bool) -> str:
    """Return what a row is called in figures: its policy, and the rule of promotion if several."""
    policy = printable(str(row["policy"]))
    return f"{policy}, {row['promote']}" if several_rules and row["promote"] else policy


def has_several_rules(rows: pl.DataFrame) -> bool:
    """Tell whether rows differ in the rule of promotion."""
    return rows["promote"].drop_nulls().n_unique() > 1


def fast_alone_ns(group: pl.DataFrame) -> float | None:
    """Return the mean access time with fast memory alone: of a row that slow memory served not."""
    served = group.filter((pl.col("slow_reads") + pl.col("slow_writes")) == 0)
    return None if served.is_empty() else float(served["mean_access_ns"][0])


def findings(rows: pl.DataFrame, facts: Facts | None) -> list[str]:
    """Return how much fast memory can go, which policy, and whether migration pays."""
    sentences = []
    for group in groups(rows):
        where = group_label(rows, group, facts)
        several = has_several_rules(group)
        sizes = group.partition_by("fast_frames", maintain_order=True)
        if len(sizes) > 1:
            sentences += _replaced(group, where) + _over_sizes(sizes, where, several)
        else:
            sentences += _at_size(sizes[0], where, several)
    return sentences


def _replaced(group: pl.DataFrame, where: str) -> list[str]:
    """Say from which size on a policy that can run is near fast memory alone."""
    found = replaceable(group).drop_nulls()
    offline = cannot_run(group)
    runnable = [row for row in found.to_dicts() if row["policy"] not in offline]
    parts: list[str] = []
    known = None
    for slowdown in SLOWDOWNS:
        at = [row for row in runnable if row["slowdown"] == slowdown]
        least = min(at, key=lambda row: row["fast_memory_share"], default=None)
        if least is None or least["fast_memory_share"] in (1, known):
            continue
        known = least["fast_memory_share"]
        limit = "to be at most {} slower than with fast memory alone" if not parts else "for {}"
        text = limit.format(f"{100 * slowdown:.0f} %")
        parts.append(f"{100 * known:.3g} % {text} ({least['policy']})")
    if not parts:
        return []
    return [f"Of its footprint {where} needs as fast memory {', '.join(parts)}."]


def _over_sizes(sizes: Sequence[pl.DataFrame], where: str, several: bool) -> list[str]:
    """Say which policy is fastest at how many sizes, and whether migration pays at each."""
    fastest: dict[str, int] = {}
    pays = compared = 0
    for cells in sizes:
        runnable = _runnable(cells)
        if not runnable:
            continue
        name = line(runnable[0], several)
        fastest[name] = fastest.get(name, 0) + 1
        still = [row for row in runnable if row["promotions"] == 0]
        moving = [row for row in runnable if row["promotions"]]
        if still and moving:
            compared += 1
            pays += moving[0]["mean_ns"] < still[0]["mean_ns"]
    ranked = sorted(fastest.items(), key=lambda item: -item[1])
    sentences = []
    if len({row["policy"] for cells in sizes for row in _runnable(cells)}) > 1:
        texts = [f"{name} at {count}" for name, count in ranked]
        sentences.append(
            f"Fastest for {where}: {', '.join(texts)} of {sum(fastest.values())} sizes."
        )
    if compared:
        sentences.append(f"Migration pays at {pays} of {compared} sizes.")
    return sentences


def headline(rows: pl.DataFrame, facts: Facts | None) -> str:
    """Return the title of a report."""
    split = groups(rows)
    if len(split) > 1:
        return f"Two tiers of memory: {len(split)} inputs"
    found = findings(rows, facts)
    if found:
        return found[0].rstrip(".")
    return f"Two tiers of memory: {group_label(rows, split[0], facts)}"


def _runnable(cells: pl.DataFrame) -> list[dict[str, Any]]:
    timed = cells.drop_nulls("mean_ns").to_dicts()
    return sorted(
        (row for row in timed if row["kind"] not in ("offline", "bound")),
        key=lambda row: row["mean_ns"],
    )


def _at_size(cells: pl.DataFrame, where: str, several: bool) -> list[str]:
    runnable = _runnable(cells)
    if not runnable:
        return []
    best = runnable[0]
    share = _share_text(best)
    text = (
        f"With {share} of fast memory {line(best, several)} is fastest for {where}: "
        f"{best['mean_ns']:,.4g} ns per reference"
    )
    if len(runnable) > 1 and runnable[1]["mean_ns"] > best["mean_ns"]:
        text += f", {_percent_more(runnable[1], best)} less than {line(runnable[1], several)}"
    bounds = [row for row in cells.to_dicts() if row["policy"] == BOUND and row["mean_ns"]]
    if bounds:
        more = 100 * (best["mean_ns"] / bounds[0]["mean_ns"] - 1)
        text += f", and {more:,.3g} % above the bound"
    sentences = [f"{text}."]
    still = [row for row in runnable if row["promotions"] == 0]
    moving = [row for row in runnable if row["promotions"]]
    if still and moving:
        saved = still[0]["mean_ns"] - moving[0]["mean_ns"]
        verdict = "pays" if saved > 0 else "does not pay"
        sentences.append(
            f"Migration {verdict} there: {line(moving[0], several)} takes "
            f"{moving[0]['mean_ns']:,.4g} ns, {line(still[0], several)} without promotions "
            f"{still[0]['mean_ns']:,.4g} ns."
        )
    return sentences


def _percent_more(other: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    return f"{100 * (1 - best['mean_ns'] / other['mean_ns']):.2g} %"


def _share_text(row: Mapping[str, Any]) -> str:
    share = row["fast_memory_share"]
    if not share:
        return "no page"
    return f"{row['fast_frames']:,} pages ({100 * share:.3g} % of the footprint)"


def replaceable(group: pl.DataFrame, slowdowns: Sequence[float] = SLOWDOWNS) -> pl.DataFrame:
    """Return the least fast memory of each line at some slowdowns against fast memory alone.

    Returns:
        The columns policy, slowdown and fast_memory_share, null where no size of the grid serves;
        no rows if no cell is served by fast memory alone.
    """
    alone = fast_alone_ns(group)
    schema = {"policy": pl.String, "slowdown": pl.Float64, "fast_memory_share": pl.Float64}
    if not alone:
        return pl.DataFrame(schema=schema)
    several = has_several_rules(group)
    lines: dict[str, list[dict[str, Any]]] = {}
    for row in group.drop_nulls("mean_ns").to_dicts():
        lines.setdefault(line(row, several), []).append(row)
    found = [
        {
            "policy": name,
            "slowdown": slowdown,
            "fast_memory_share": min(
                (r["fast_memory_share"] for r in cells if r["mean_ns"] <= (1 + slowdown) * alone),
                default=None,
            ),
        }
        for name, cells in lines.items()
        for slowdown in slowdowns
    ]
    return pl.DataFrame(found, schema=schema)
