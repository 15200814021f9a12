"""Measures of the SCM paper's section 2: what file caches save, and after how many hits."""

import itertools
import math
from typing import Any

import polars as pl

from clockhand.measure.measured import LOOP, Measured
from clockhand.report.words import byte_text, number_text, percent
from clockhand.reproduce.judge import Evidence, Found, NotTestableError


def storage_over_cache(measured: Measured) -> Found:
    """Measure how much longer storage takes than a cache, for each size of request."""
    more = {
        size: point.median_us / measured.cached[size].median_us - 1
        for size, point in sorted(measured.read.items())
    }
    spread = "1st to 99th percentile"
    _check_disk(measured, f"a read takes {percent(sum(more.values()) / len(more))} longer")
    heads = ("request", "storage (µs)", spread, "cache (µs)", spread, "storage takes")
    lines = [
        (
            byte_text(size),
            *(text
              for it in (measured.read[size], measured.cached[size])
              for text in (_us(it.median_us), f"{_us(it.p1_us)} to {_us(it.p99_us)}")),
            f"{percent(share)} more",
        )
        for size, share in more.items()
    ]  # fmt: skip
    return Found(list(more.values()), (heads, *lines), _machine(measured))


def _check_disk(measured: Measured, found: str) -> None:
    """Refuse a disk in memory whose driver takes longer than the memory."""
    if measured.disk == LOOP:
        raise NotTestableError(
            f"The paper timed a part of memory that is used as a disk. Ours is {LOOP}, whose own "
            f"thread takes most of the time: there {found} ({measured.machine}, {measured.date})."
        )


def _machine(measured: Measured) -> dict[str, str]:
    return {"machine": measured.machine, "date": measured.date}


def _us(time_us: float) -> str:
    """Three digits, or whole microseconds."""
    return f"{time_us:.3g}" if time_us < 1000 else f"{time_us:,.0f}"


def hits_that_pay(required_hits: pl.DataFrame, *, of: str, insert: str) -> Found:
    """Measure after how many hits a cached block pays on a device."""
    count = _hits_on(required_hits, of)[insert]
    return Found([count or math.inf], _hits_table(required_hits), {"hits": _count_text(count)})


def hits_that_pay_here(measured: Measured, *, hits: int, slowest: float) -> Found:
    """Check for each size of request that this number of hits pays, by times of a machine.

    Raises:
        NotTestableError: storage takes more than ``slowest`` times a hit at each size.
    """
    times = {
        size: (measured.cached[size].median_us, point.median_us, measured.copied[size].median_us)
        for size, point in sorted(measured.read.items())
    }
    ours = {size: _hits_that_pay(*at_size) for size, at_size in times.items()}
    counts = " or ".join(sorted({_count_text(count) for count in ours.values()}))
    _check_disk(measured, f"a block pays after {counts}")
    slower = {size: storage / hit for size, (hit, storage, _) in times.items()}
    if min(slower.values()) > slowest:
        raise NotTestableError(
            f"Storage takes {min(slower.values()):.1f} to {max(slower.values()):.1f} times a hit "
            f"here, so that the sentence's condition is not met; a block pays after {counts}."
        )
    ours = {size: count for size, count in ours.items() if slower[size] <= slowest}
    lines = ((byte_text(size), _count_text(count)) for size, count in ours.items())
    held = [count == hits for count in ours.values()]
    return Found(held, (("request", "hits that pay"), *lines), _machine(measured))


def _hits_that_pay(hit_us: float, storage_us: float, insert_us: float) -> int | None:
    """Expression (3): the fewest hits h with h · (T - t) > what inserting takes; none if T ≤ t."""
    if storage_us <= hit_us:
        return None
    return math.floor(insert_us / (storage_us - hit_us)) + 1


def always_pays(required_hits: pl.DataFrame, *, of: str, hits: int) -> Found:
    """Check that a device needs this number of hits, whatever inserting costs."""
    found = _hits_on(required_hits, of)
    counts = " or ".join(sorted({_count_text(count) for count in found.values()}))
    held = [set(found.values()) == {hits}]
    return Found(held, _hits_table(required_hits), {"needed": counts})


def hits_rise(curve: pl.DataFrame, *, insert: str) -> Found:
    """Ask of each storage and the next slower one whether it needs as many hits or more."""
    over = (pl.col("bypass_time_us") / pl.col("hit_time_us")).alias("over")
    rows = curve.filter(pl.col("insert") == insert).select("device", over, "required_hits")
    told = rows.sort("over").rows()
    hits = [count for *_, count in told]
    lines = ((device, f"{gap:.3g}", str(count)) for device, gap, count in told)
    words = {
        "most": str(hits[0]), "fastest": f"{told[0][1]:.3g}",
        "fewest": str(hits[-1]), "slowest": number_text(round(told[-1][1])),
    }  # fmt: skip
    held = [more >= less for more, less in itertools.pairwise(hits)]
    return Found(held, (("device", "a read over a hit", "hits that pay"), *lines), words)


def _hits_on(required_hits: pl.DataFrame, device: str) -> dict[str, int | None]:
    """Return the hits that pay on a device, by what inserting a block takes."""
    rows = required_hits.filter(pl.col("device") == device)
    return dict(rows.select("insert", "required_hits").iter_rows())


def _hits_table(required_hits: pl.DataFrame) -> Evidence:
    rows = required_hits.select("device", "insert", "required_hits").iter_rows()
    heads = ("device", "insertion", "hits that pay")
    return (heads, *((device, insert, _count_text(count)) for device, insert, count in rows))


def _count_text(count: int | None) -> str:
    return "no number" if count is None else str(count)


def saved(
    *servers: pl.DataFrame,
    device: str,
    admission: str,
    insert: str,
    against: str = "",
    below: float = math.inf,
) -> Found:
    """Measure the share of the time that a cache saves, on each server and at each size.

    Args:
        servers: The rows of file caches, in one table or several.

        device: The storage.

        admission: Which blocks are cached.

        insert: What inserting a block takes.

        against: The admission whose time is the whole; the time without a cache if not given.

        below: The size below which caches are looked at, as a share of the footprint.
    """
    key = ["workload", "capacity_share"]
    columns = (*key, "device", "insert", "admission", "time_us", "time_without_cache_us")
    every = pl.concat([rows.select(columns) for rows in servers], how="vertical_relaxed")
    rows = every.filter((pl.col("device") == device) & (pl.col("insert") == insert))
    # Half of an odd footprint is a little less than a half.
    rows = rows.filter(pl.col("capacity_share").round(2) < below)
    ours = rows.filter(pl.col("admission") == admission)
    whole = ours.select(*key, pl.col("time_without_cache_us").alias("whole"))
    if against:
        others = rows.filter(pl.col("admission") == against)
        whole = others.select(*key, pl.col("time_us").alias("whole"))
    joined = ours.join(whole, on=key, maintain_order="left")
    gains = joined.select(*key, (1 - pl.col("time_us") / pl.col("whole")).alias("gain"))
    size = pl.col("capacity_share").map_elements(lambda share: f"{share:.0%}", pl.String)
    wide = gains.with_columns(size).pivot("workload", index="capacity_share", values="gain")
    lines = ((at, *map(percent, shares)) for at, *shares in wide.iter_rows())
    return Found(gains["gain"].to_list(), (("cache", *wide.columns[1:]), *lines))


def saves_little(
    servers: pl.DataFrame, *, less_than: float, at_least: float = -math.inf, **cache: Any
) -> Found:
    """Ask of each server and size whether a cache saves less than a share, and at least another."""
    found = saved(servers, **cache)
    mean = sum(found.values) / len(found.values)
    words = {"gains": f"{percent(mean)}, {percent(min(found.values))} to "
                      f"{percent(max(found.values))}"}  # fmt: skip
    held = [at_least <= gain < less_than for gain in found.values]
    return Found(held, found.evidence, words)
