"""What a run of write buffers on drives says, in sentences."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from clockhand.report.overview import Overview
from clockhand.report.words import percent, size_text
from clockhand.studies.ssd.time_findings import BASELINE, key_of, of_time, of_windows
from clockhand.study.facts import SsdFacts, SsdRunFacts, printable, trace_label
from clockhand.study.phrases import all_of, counted
from clockhand.study.policies import name_of, without
from clockhand.study.records import Fields

NOTICEABLE = 0.0005
"""Below one part in two thousand a difference would be printed as 0.0 %."""


NEAR = 0.03
"""Numbers within this share of the best hardly differ."""

FAR_FEWER = 0.02
"""Below this share of another number, a percentage less says nothing: 99.9 % less is a tenth of
99 % less."""


def _without_size(column: str) -> pl.Expr:
    return pl.col(column).map_elements(lambda text: without(text, "total"), return_dtype=pl.String)


FAMILY = _without_size("buffer").alias("policy")
"""A buffer without its size: what a line of a figure is, over sizes."""

FAMILY_RESOLVED = _without_size("buffer_resolved").alias("meaning")
"""The same with every default."""


def geometry_line(ssd: SsdFacts) -> str:
    """Return a drive in one line: how it is divided, how much is for what, and how it was aged."""
    return (
        f"{printable(ssd['name'])}: raw {_pages(ssd, ssd['raw_pages'])} ({ssd['geometry']}), "
        f"logical {_pages(ssd, ssd['logical_pages'])}, "
        f"reserve {100 * ssd['reserve_of_raw']:.2f} % of raw, "
        f"{100 * ssd['reserve_of_logical']:.2f} % of logical, alpha {ssd['alpha']:.4f}; "
        f"{_aged(ssd)}"
    )


def _pages(ssd: SsdFacts, pages: int) -> str:
    return f"{pages:,} pages, {size_text(pages * ssd['page_bytes'])}"


def _aged(ssd: SsdFacts) -> str:
    done = ssd["preconditioned"]
    if done["host_writes"] == 0:
        return "new"
    text = f"aged by {done['host_writes']:,} page writes"
    if done["write_amplification"] is None:
        return text
    steady = "steady" if done["is_steady"] else "not yet steady"
    return f"{text}, the last drive write with WAF {done['write_amplification']:.3f}, {steady}"


def findings(
    rows: pl.DataFrame, facts: SsdRunFacts, classes: pl.DataFrame | None = None
) -> list[str]:
    """Return what stands out in each trace on each drive, a sentence each.

    Args:
        rows: The rows.
        facts: How they were made.
        classes: Requests by latency, of timed runs: what the slowest waited for.
    """
    sentences = []
    several = rows["ssd"].n_unique() > 1
    # A window tells only a part of what the sentences are about.
    if "window_us" in rows.columns:
        for group in rows.drop_nulls("window_us").partition_by("trace", "ssd", maintain_order=True):
            sentences += of_windows(group, _where(group, facts, several))
        rows = rows.filter(pl.col("window_us").is_null())
    groups = rows.partition_by("trace", "ssd", maintain_order=True)
    for group in groups:
        where = _where(group, facts, several)
        cells = group.unique(["buffer", "buffer_pages"], keep="first", maintain_order=True)
        if "duration_us" in group.columns:
            sentences += of_time(group, where, classes)
        sentences += _of_writes(cells, where)
        sentences += of_collection(cells, where)
        sentences += of_length(cells, where)
        sentences += _of_life(cells, where)
    return sentences


def _where(group: pl.DataFrame, facts: SsdRunFacts, several_ssds: bool) -> str:
    where = trace_label(group["trace"][0], facts)
    return f"{where} and {printable(group['ssd'][0])}" if several_ssds else where


def headline(rows: pl.DataFrame) -> str:
    """Return the answer in a line: which buffer of the rows of one drive writes least to flash; of
    timed ones, which has the shortest p99."""
    key = key_of(rows) if "duration_us" in rows.columns else None
    column = key or "host_writes"
    what = f"the shortest p99 of {key.split('_')[0]}s" if key else "the fewest pages to flash"
    has, have, same = (
        (f"has {what}", f"have {what}", "have the same p99")
        if key
        else (f"writes {what}", f"write {what}", "write the same number of pages to flash")
    )
    sizes = rows.filter(pl.col("buffer_pages") > 0).partition_by("buffer_pages")
    sizes = [size for size in sizes if size["buffer"].n_unique() > 1]
    if not sizes:
        return _alone(rows) if rows.height == 1 and not key else ""
    best: dict[str, list[float]] = {}
    ties = 0
    alike = [
        size for size in sizes if size["buffer"].n_unique() > 2 and _mostly_alike(size, column)
    ]
    if 2 * len(alike) > len(sizes) and any(size[column].n_unique() > 1 for size in sizes):
        return _hardly(alike, sizes, column, "p99" if key else "pages written to flash")
    for size in (size for size in sizes if size[column].n_unique() > 1):
        named = size.with_columns(pl.Series("called", _called(size), pl.String))
        leading = named.filter(pl.col(column) == pl.col(column).min())["called"].unique(
            maintain_order=True
        )
        ties = max(ties, len(leading) - 1)
        values = sorted(set(size[column].drop_nulls()))
        for name in leading:
            best.setdefault(printable(str(name)), []).append(values[0] / values[1])
    if not best:
        return f"All {rows['buffer'].n_unique()} buffers {same}"
    name = max(best, key=lambda name: len(best[name]))
    where = f"at {counted(len(best[name]), len(sizes), 'sizes')}"
    if len(sizes) == 1:
        where = f"with {_buffer_size(sizes[0])}"
    elif 2 * len(best[name]) <= len(sizes) and (steady := _best_on_average(sizes, column)):
        return f"On average over the sizes {steady} {has}"
    if ties:
        return f"{name} and {ties} other{'s' if ties > 1 else ''} {have} {where}"
    return f"{name} {has} {where}{_ahead(best[name])}"


def _alone(rows: pl.DataFrame) -> str:
    row = rows.row(0, named=True)
    buffer = printable(str(row["buffer"]))
    return f"{buffer} writes {row['host_writes']:,} pages to flash, {row['erases']:,} erases"


def over_inputs(ranking: Overview) -> str:
    """Return the answer of the ranking of all inputs in a line; nothing if drives have one each.

    Args:
        ranking: The buffers by pages written to flash, or by p99.
    """
    what = {
        "host_writes": "writes the fewest pages to flash",
        "write_p99_us": "has the shortest p99 of writes",
        "read_p99_us": "has the shortest p99 of reads",
    }.get(ranking.key)
    if what is None or not ranking.entries[0].mean:
        return ""
    best, other = ranking.entries[:2]
    return f"{best.name} {what} over {ranking.of}{_ahead([best.mean / other.mean])}"


def _ahead(ratios: Sequence[float]) -> str:
    """Say by how much the best is ahead of the next: the mean over sizes is geometric."""
    if min(ratios) < FAR_FEWER:
        return ""
    by = 1 - statistics.geometric_mean(ratios)
    return f", by {percent(by)}" if by >= NOTICEABLE else ""


def _best_on_average(sizes: Sequence[pl.DataFrame], column: str) -> str:
    """Return the buffer with the least geometric mean over all sizes, as rankings have it."""
    ratios: dict[str, list[float]] = {}
    sizes = [size for size in sizes if size[column].min()]
    for size in sizes:
        least: Any = size[column].min()
        named = size.with_columns(pl.Series("called", _called(size), pl.String))
        for name, value in named.unique("called").select("called", column).iter_rows():
            if value is not None:
                ratios.setdefault(name, []).append(value / least)
    means = {
        name: statistics.geometric_mean(of_name)
        for name, of_name in ratios.items()
        if len(of_name) == len(sizes)
    }
    return printable(min(means, key=means.__getitem__)) if means else ""


def _mostly_alike(size: pl.DataFrame, column: str) -> bool:
    known = size.drop_nulls(column)
    return 3 * _near_best(known, column).height >= 2 * known.height


def _near_best(size: pl.DataFrame, column: str) -> pl.DataFrame:
    least: Any = size[column].min()
    return size.filter(pl.col(column) <= (1 + NEAR) * (least or 0))


def _hardly(
    alike: Sequence[pl.DataFrame], sizes: Sequence[pl.DataFrame], column: str, what: str
) -> str:
    """Say that most buffers hardly differ, and where."""
    if len(sizes) > 1:
        at = counted(len(alike), len(sizes), "sizes")
        return f"Most buffers hardly differ in {what} at {at}"
    near = _near_best(sizes[0], column)
    said = counted(near.height, sizes[0].height, "buffers")
    return f"{said[0].upper()}{said[1:]} hardly differ in {what} with {_buffer_size(sizes[0])}"


def _called(same: pl.DataFrame) -> list[str]:
    """Return how buffers of one size are called: without it, as far as that tells them apart."""
    short = same.select(FAMILY)["policy"]
    return list(short if short.n_unique() == same["buffer"].n_unique() else same["buffer"])


def _buffer_size(same: pl.DataFrame) -> str:
    row = same.row(0, named=True)
    return size_text(row["buffer_pages"] * row["page_bytes"])


def _of_writes(cells: pl.DataFrame, where: str) -> list[str]:
    """Compare buffers of the same size, with the next best and with LRU: across sizes the larger
    one wins."""
    sentences = []
    for same in cells.partition_by("buffer_pages", maintain_order=True):
        if same.height < 2:
            continue
        called = same.with_columns(pl.Series("called", _called(same), pl.String))
        ordered = called.sort("host_writes", maintain_order=True)
        least = ordered["host_writes"][0]
        names = called.filter(pl.col("host_writes") == least)["called"]
        others = ordered.filter(pl.col("host_writes") > least)
        size = f"With {_buffer_size(same)} of buffer"
        near = _near_best(ordered, "host_writes")
        if others.is_empty() or 1 - least / others["host_writes"][-1] < NOTICEABLE:
            sentences.append(f"{size}, all write the same number of pages to flash on {where}.")
            continue
        if same.height > 2 and _mostly_alike(same, "host_writes"):
            worst = ordered.row(-1, named=True)
            sentences.append(
                f"{size}, {counted(near.height, same.height, 'buffers')} hardly differ on {where}: "
                f"{least:,} ({_listed(names)}) to {near['host_writes'][-1]:,} pages to flash"
                + (f"; the most, {worst['host_writes']:,}, writes {printable(worst['called'])}."
                   if near.height < same.height else ".")
            )  # fmt: skip
            continue
        verb = "writes" if len(names) == 1 else "write"
        against = [f"{_more(others, 0, least)}, the next best,"]
        lru = [place for place, name in enumerate(others["buffer"]) if name_of(name) == BASELINE]
        against += [_more(others, place, least) for place in lru[:1] if place > 0]
        sentences.append(
            f"{size}, {_listed(names)} {verb} the fewest pages to flash on {where}: "
            f"{least:,}; {all_of(against).removesuffix(',')}."
        )
    return sentences


def _more(others: pl.DataFrame, place: int, least: int) -> str:
    name, writes = printable(others["called"][place]), others["host_writes"][place]
    if least == 0:
        return f"{name} writes {writes:,}"
    if least < FAR_FEWER * writes:
        return f"{name} writes {writes / least:,.0f} times as many"
    return f"{100 * (1 - least / writes):.1f} % fewer than {name}"


def of_collection(cells: pl.DataFrame, where: str) -> list[str]:
    never = cells.filter(~pl.col("collection_started"))
    if never.is_empty():
        return []
    who = "any buffer" if never.height == cells.height else _listed(never["buffer"])
    return [
        f"Collection never started on {where} with {who}: WAF and erases there say nothing of an "
        "old drive; age it with --precondition random, or give a smaller drive."
    ]


def of_length(cells: pl.DataFrame, where: str) -> list[str]:
    """Warn where a run writes so little that its numbers are those of the ageing."""
    short = cells.filter(pl.col("drive_writes") < 1)
    sentences = []
    if not short.is_empty():
        least = short.sort("drive_writes").row(0, named=True)
        who = "every buffer" if short.height == cells.height else _listed(short["buffer"])
        sentences.append(
            f"Less than one drive write on {where} with {who} ({percent(least['drive_writes'])} of "
            f"one with {printable(str(least['buffer']))}): WAF and life describe how the drive was "
            "aged, not the trace; repeat it with --repeat until-steady."
        )
    restless = cells.filter((pl.col("repetitions") > 1) & ~pl.col("is_steady"))
    if not restless.is_empty():
        most = max(restless["repetitions"].to_list())
        sentences.append(
            f"Not steady on {where} after {most:,} repetitions with "
            f"{_listed(restless['buffer'])}: their years of life are left out."
        )
    return sentences


def _of_life(cells: pl.DataFrame, where: str) -> list[str]:
    known = cells.drop_nulls("life_repetitions")
    if known.is_empty():
        return []
    shortest = known.sort("life_repetitions").row(0, named=True)
    longest = known.sort("life_repetitions").row(-1, named=True)
    texts = [_life(row) for row in ([shortest] if known.height == 1 else [shortest, longest])]
    return [f"Flash life on {where}: {'; '.join(texts)}."]


def _life(row: Fields) -> str:
    text = f"{printable(str(row['buffer']))} "
    if row["life_years"] is None:
        why = "which has no real times" if row["is_steady"] else "if all are like those of this run"
        text += f"lasts {row['life_repetitions']:,.0f} repetitions of the trace, {why}"
    else:
        text += f"lasts {years_text(row['life_years'])} at the trace's rate"
    return (
        text + f", or {row['drive_writes_per_day_5_years']:,.3g} drive writes per day for 5 years"
    )


def years_text(years: float) -> str:
    """Return a time in the largest unit that fits in it."""
    time, unit = years, "years"
    for smaller, per in (("days", 365), ("hours", 24), ("minutes", 60), ("seconds", 60)):
        if time < 1:
            time, unit = time * per, smaller
    return f"{time:,.3g} {unit}"


def _listed(names: Iterable[str] | Sequence[str]) -> str:
    return all_of(printable(name) for name in names)
