"""What a run of file caches says, in sentences: whether a cache pays on each device."""

import polars as pl

from clockhand.study.facts import Facts, printable, trace_label
from clockhand.study.phrases import all_of
from clockhand.study.records import Record
from clockhand.study.sizes import bytes_text

BOUND = "bound"
"""The bound that no cache exceeds, as a policy; its rows have no admission."""

NOTICEABLE = 0.0005
"""Below one part in two thousand a difference would be printed as 0.0 %."""

UNITS_US = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))


def time_text(time_us: float) -> str:
    """Return a time in the largest unit that makes it at least 1, with three digits."""
    for unit_us, name in UNITS_US:
        if time_us >= unit_us:
            value = time_us / unit_us
            return f"{value:,.0f} {name}" if value >= 1000 else f"{value:.4g} {name}"
    return f"{1000 * time_us:,.4g} ns"


def required_text(required_hits: int | None) -> str:
    """Return after how many hits caching a block pays, as the end of a sentence."""
    if required_hits is None:
        return "however often a block is hit, caching it does not pay"
    if required_hits == 1:
        return "the first hit already pays for caching a block"
    return f"a block must be hit {required_hits:,} times before caching it pays"


def groups(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the rows of each trace and block size, doubles once."""
    cells = ["trace", "block_bytes", "capacity", "policy", "admission", "device", "insert"]
    once = rows.unique(cells, keep="first", maintain_order=True)
    return once.partition_by("trace", "block_bytes", maintain_order=True)


def group_label(rows: pl.DataFrame, group: pl.DataFrame, facts: Facts | None) -> str:
    """Return the name of a group: its trace, and its block size where there are several."""
    label = trace_label(group["trace"][0], facts)
    if rows["block_bytes"].n_unique() > 1:
        label += f", blocks of {bytes_text(group['block_bytes'][0])}"
    return label


def by_device(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows of each device, with its name; of each insertion if there are several."""
    several = rows["insert"].n_unique() > 1
    split = rows.partition_by("device", "insert", maintain_order=True)
    return [(device_label(cells.row(0, named=True), several), cells) for cells in split]


def device_label(row: Record, several_inserts: bool) -> str:
    """Return the name of a device, and of its reading of what inserting a block takes."""
    device = printable(row["device"])
    return f"{device} (insertion: {printable(row['insert'])})" if several_inserts else device


def caches(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that are of caches: the bound is none."""
    return rows.filter(pl.col("admission").is_not_null())


def findings(rows: pl.DataFrame, facts: Facts | None) -> list[str]:
    """Return whether a cache pays, a sentence for each trace, block size and device."""
    sentences = []
    for group in groups(rows):
        where = group_label(rows, group, facts)
        for device, cells in by_device(group):
            if not caches(cells).is_empty():
                sentences.append(_verdict(caches(cells), device, where))
                sentences += _of_admission(caches(cells), device, where)
            sentences += _of_bound(cells, device, where)
    return sentences


def headline(rows: pl.DataFrame, facts: Facts | None) -> str:
    """Return the title of a report: on which devices a cache pays, and for how many inputs."""
    split = groups(rows)
    where = group_label(rows, split[0], facts) if len(split) == 1 else f"{len(split)} inputs"
    saves: dict[str, list[bool]] = {}
    for group in split:
        for device, cells in by_device(group):
            if caches(cells).is_empty():
                return f"What no file cache can do better, for {where}"
            saving = any(_saving(row) >= NOTICEABLE for row in caches(cells).to_dicts())
            saves.setdefault(device, []).append(saving)
    some = [device for device, known in saves.items() if any(known)]
    none = [device for device in saves if device not in some]
    if not some:
        return f"No file cache pays on {all_of(none)} for {where}"
    but = f", but not on {all_of(none)}," if none else ""
    always = [device for device in some if all(saves[device])]
    if len(split) > 1 and len(always) < len(some):
        of = [f"on {device} for {sum(saves[device])}" for device in some if device not in always]
        everywhere = f" on {all_of(always)};" if always else ""
        return f"A file cache pays{everywhere} {all_of(of)} of {len(split)} inputs"
    return f"A file cache pays on {all_of(some)}{but} for {where}"


def _saving(row: Record) -> float:
    """Return which share of the time without a cache the cache saves; negative if it costs."""
    return 1 - float(row["time_us"]) / float(row["time_without_cache_us"])


def _verdict(cells: pl.DataFrame, device: str, where: str) -> str:
    best = cells.row(int(cells["time_us"].arg_min() or 0), named=True)
    saving = _saving(best)
    times = (
        f"{time_text(best['time_us'])} against {time_text(best['time_without_cache_us'])} without "
        "a cache"
    )
    required = required_text(best["required_hits"])
    cache = _cache(best)
    if saving >= NOTICEABLE:
        return (
            f"On {device} a cache pays for {where}: {cache} takes {times}, "
            f"{100 * saving:.1f} % less; {required}."
        )
    if saving > -NOTICEABLE:
        return f"On {device} a cache makes no difference for {where}: {cache}; {required}."
    return (
        f"On {device} no cache pays for {where}: the best, {cache}, takes {times}, "
        f"{-100 * saving:.1f} % more; {required}."
    )


def _cache(row: Record) -> str:
    share = 100 * row["capacity_share"]
    return (
        f"{printable(row['policy'])} with admission {row['admission']} and {row['capacity']:,} "
        f"blocks ({share:.3g} % of the footprint)"
    )


def _of_bound(cells: pl.DataFrame, device: str, where: str) -> list[str]:
    """Say what no cache takes less than, at the largest capacity."""
    bounds = cells.filter(pl.col("admission").is_null() & pl.col("time_us").is_not_null())
    if bounds.is_empty():
        return []
    least = bounds.row(int(bounds["capacity"].arg_max() or 0), named=True)
    return [
        f"On {device} no cache of {least['capacity']:,} blocks takes less than "
        f"{time_text(least['time_us'])} for {where}, or hits more than {least['hits']:,} times."
    ]


def _of_admission(cells: pl.DataFrame, device: str, where: str) -> list[str]:
    """Say at which capacity another admission than ``always`` saves most."""
    keys = ["policy", "capacity"]
    always = cells.filter(pl.col("admission") == "always").select(
        *keys, pl.col("time_us").alias("always_us")
    )
    others = cells.filter(pl.col("admission") != "always").join(always, on=keys)
    if others.is_empty():
        return []
    saved = others.with_columns((1 - pl.col("time_us") / pl.col("always_us")).alias("saved"))
    best = saved.row(int(saved["saved"].arg_max() or 0), named=True)
    admission = best["admission"]
    if best["saved"] < NOTICEABLE:
        return [f"On {device} no admission beats always for {where}."]
    return [
        f"On {device} {admission} takes up to {100 * best['saved']:.1f} % less than always for "
        f"{where}: with {printable(best['policy'])} and {best['capacity']:,} blocks."
    ]
