"""Tables of reproductions: the papers' own beside ours, and what is kept of the results.

``report.toml`` of a paper names each with what it is made of.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from clockhand import _engine
from clockhand.report.words import percent
from clockhand.reproduce.measures.cflru import KERNELS, PAPERS_FRAMES, at_memory, costs
from clockhand.reproduce.measures.cflru import controller_map as controller_map
from clockhand.reproduce.measures.cflru import replaced as replaced
from clockhand.reproduce.measures.clock_dnv import OURS, per_run
from clockhand.reproduce.measures.compared import BANDS, Compared, in_band
from clockhand.reproduce.measures.page_sizes import best_pages
from clockhand.study.policies import BASELINE, name_of
from clockhand.study.records import Fields, Record

ALL_TRACES = "all traces"
STAND_IN = "stand-in"
"""In the name of each recipe that stands for a workload."""

Row = Fields
Rows = Sequence[Sequence[Any]]


def made(entry: Record, results: Record) -> pl.DataFrame:
    """Return a table that ``report.toml`` names: results as they are, or what is made of them.

    ``select`` names its columns: each is a column of the result, or one over a number, with as many
    decimals.
    """
    known = {name: results[name] for name in entry["of"] if name in results}
    if "make" not in entry:
        [table, *_] = known.values()
        left: pl.DataFrame = table.drop(entry.get("drop", []))
        return left.select(entry.get("columns", left.columns))
    said = ("title", "slug", "of", "make", "select")
    own = {key: it for key, it in entry.items() if key not in said}
    make: Callable[..., pl.DataFrame] = globals()[entry["make"]]  # A function of this file.
    parts = [
        it.with_columns(part=pl.lit(name)) if isinstance(it, pl.DataFrame) else it
        for name, it in known.items()
    ]
    table = make(*parts, **own)
    named = entry.get("select", {name: name for name in table.columns})
    return table.select(_column(it).alias(name) for name, it in named.items())


def _column(said: str | list[Any]) -> pl.Expr:
    if isinstance(said, str):
        return pl.col(said)
    name, divisor, decimals = said
    rounded: pl.Expr = (pl.col(name) / divisor).round(decimals)
    return rounded


def literal(*, columns: Sequence[str], rows: Rows) -> pl.DataFrame:
    """Return a table as it stands in the file."""
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def beside(
    *parts: pl.DataFrame,
    columns: Sequence[str],
    papers: Rows,
    ours: Sequence[str],
    by: Sequence[str] = (),
    where: Record | None = None,
) -> pl.DataFrame:
    """Return a table of a paper's workloads, with those of our traces.

    Args:
        parts: The results that the traces are of.
        columns: The heads of the table.
        papers: The paper's rows.
        ours: What the table has of a trace: a column, one of :func:`_described` too, or a text
            with columns in braces.
        by: The columns of a trace that the first ones of the paper's row must match; ours are put
            behind it. Without any, our traces have rows of their own below.
        where: Columns of the results with the values that are looked at.
    """
    rows = [
        part.filter(**(where or {})).unique("trace", keep="first", maintain_order=True)
        for part in parts
    ]
    traces = [_described(row) for table in rows for row in table.iter_rows(named=True)]
    told = [[it.format(**row) if "{" in it else row[it] for it in ours] for row in traces]
    if not by:
        return literal(columns=columns, rows=[*papers, *told])
    keys = [[row[name] for name in by] for row in traces]
    matched = [
        [
            *row,
            *(it for key, of in zip(keys, told, strict=True) if key == row[: len(by)] for it in of),
        ]
        for row in papers
    ]
    return literal(columns=columns, rows=matched)


def _described(row: Record) -> Fields:
    """A trace's row, with its footprint and its size in words' units, and its reads to writes."""
    reads, writes = row["read_references"], row["write_references"]
    footprint = row["footprint_pages"] * row["page_bytes"]
    stands = "stand-in for" if STAND_IN in row["trace"] else "given for"
    workload = row.get("workload")
    of_ten = 10 * reads / max(1, reads + writes)
    return {
        **row,
        "kB": footprint / 1e3,
        "MB": round(footprint / 1e6, 2),
        "MiB": footprint / (1 << 20),
        "GB": row["references"] / row.get("repetitions", 1) * row["page_bytes"] / 1e9,
        "origin": f"{stands} {workload}" if workload else "real, not the paper's",
        "reads_to_writes": _reads_to_writes(reads, writes),
        "of_ten": f"{of_ten:.1f} : {10 - of_ten:.1f}",
    }


def _reads_to_writes(reads: int, writes: int) -> str:
    if reads == 0 or writes == 0:
        return f"{reads} : {writes}"
    return f"{reads / writes:.2f} : 1" if reads >= writes else f"1 : {writes / reads:.2f}"


def area_rows(gauges: pl.DataFrame) -> pl.DataFrame:
    """Return the least and the most pages of CRAW's read area, of each trace's gauges."""
    sizes = gauges.filter(pl.col("gauge") == "S_R_pages")
    return sizes.group_by("trace", "frames", maintain_order=True).agg(
        pl.col("value").min().alias("least"), pl.col("value").max().alias("most")
    )


def overhead_rows(rows: pl.DataFrame, priced: Record) -> pl.DataFrame:
    """Return what the policies' software costs beside their I/O, by what an event was priced at."""
    hand, fault = (
        (pl.col(count) * priced[f"{kind}_ns"] / 1e3).alias(f"{kind}_time_us")
        for kind, count in (("hand", "hand_movements"), ("fault", "permission_faults"))
    )
    device_time = pl.col("io_time_us") - pl.col("hand_time_us") - pl.col("fault_time_us")
    return rows.with_columns(hand, fault).select(
        "trace", "memory_share", "policy", device_time.alias("device_time_us"), "hand_movements",
        "hand_time_us", "permission_faults", "fault_time_us",
    )  # fmt: skip


def band_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return I/O time over CLOCK's of the same memory, by band, trace and policy.

    Returns:
        The columns memory, trace, policy, cells, mean, worst (the greatest), worst_at (its share of
        the footprint) and best. The trace ``all traces`` weighs each trace the same in its mean,
        and has the worst and the best cell of all. Bands without a memory size have no row.
    """
    compared = Compared(rows)
    ratio, at = pl.col("ratio"), pl.col("memory_share")
    worst_at = at.filter(ratio == ratio.max()).last()
    counts = (
        pl.len().cast(pl.Int64).alias("cells"), ratio.mean().alias("mean"),
        ratio.max().alias("worst"), worst_at.alias("worst_at"), ratio.min().alias("best"),
    )  # fmt: skip
    found = []
    for policy in rows.filter(pl.col("policy") != BASELINE)["policy"].unique(maintain_order=True):
        ratios = compared.ratios(policy, BASELINE)
        for band in BANDS:
            cells = ratios.filter(in_band(at, band))
            of_traces = cells.group_by("trace", maintain_order=True).agg(*counts)
            tables = [of_traces]
            if of_traces.height > 1:
                whole = cells.select(pl.lit(ALL_TRACES).alias("trace"), *counts)
                tables.append(whole.with_columns(mean=pl.lit(of_traces["mean"].mean())))
            named = (pl.lit(band).alias("memory"), "trace", pl.lit(policy).alias("policy"))
            found += [table.select(*named, pl.exclude("trace")) for table in tables]
    places = {name: place for place, name in enumerate((*BANDS, *compared.traces, ALL_TRACES))}
    order = (
        pl.col(column).replace_strict(places, return_dtype=pl.Int64)
        for column in ("memory", "trace")
    )
    return pl.concat(found).sort(*order, maintain_order=True)


def band_table(rows: pl.DataFrame, *, value: str) -> pl.DataFrame:
    """Return one value of :func:`band_rows` with a column per policy, to two decimals as text."""
    text = pl.col(value).map_elements("{:.2f}".format, return_dtype=pl.String).alias(value)
    shown = band_rows(rows).with_columns(text)
    wide = shown.pivot("policy", index=["memory", "trace"], values=value, maintain_order=True)
    return wide.fill_null("–")


def flash_devices(*, papers: Rows) -> pl.DataFrame:
    """Return the CRAW paper's Table 1 beside our profiles."""
    rows = []
    for column, device, page_bytes, read, write, ratio in papers:
        asked = {"policy": ["clock"], "frames": "1", "page_size": str(page_bytes), "device": device}
        ours = _engine.plan("pages", asked)["device"]
        read_us, write_us = ours["read_time_us"], ours["write_time_us"]
        rows.append((
            column, read, write, ratio, device, round(read_us, 2), round(write_us, 2),
            f"1:{write_us / read_us:.1f}",
        ))  # fmt: skip
    columns = (
        "Table 1", "read, paper", "write, paper", "ratio, paper", "our profile", "read µs",
        "write µs", "ratio",
    )  # fmt: skip
    return literal(columns=columns, rows=rows)


def inter_reference(localities: Mapping[str, pl.DataFrame], rows: pl.DataFrame) -> pl.DataFrame:
    """Return the median of the other pages between two references to one, by the later one."""
    footprints = dict(rows.select("trace", "footprint_pages").unique().rows())
    table = localities["recency"].sort("recency_pages", maintain_order=True)
    found = []
    for trace in rows["trace"].unique(maintain_order=True):
        of_trace = table.filter(pl.col("trace") == trace)
        row = {"trace": trace, "footprint (pages)": footprints[trace]}
        for op in ("read", "write"):
            counts = of_trace[f"{op}_references"]
            total = max(1, int(counts.sum()))
            median = of_trace.filter(2 * counts.cum_sum() >= total)["recency_pages"]
            near = of_trace.filter(pl.col("recency_pages") <= 0.1 * footprints[trace])
            row[f"median of {op}s (pages)"] = median[0] if len(median) else None
            share = int(near[f"{op}_references"].sum()) / total
            row[f"{op}s within a tenth of the footprint"] = percent(share)
        found.append(row)
    return pl.DataFrame(found)


def costs_at_16_mib(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the CFLRU paper's Figure 4 as a table."""
    return costs(at_memory(rows))


def kernels_at_16_mib(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of the CFLRU paper's four kernels in its memory."""
    judged = pl.DataFrame(list(KERNELS.values()), ["policy", "read_ahead"], orient="row")
    kernels = replaced(rows).filter(pl.col("frames") == PAPERS_FRAMES)
    return kernels.join(judged, on=judged.columns, how="semi", maintain_order="left")


def ablation(*parts: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return how many percent each measure changes against CLOCK-DNV's defaults of that size.

    Counts are those of a run of the trace: cells may have repeated it differently often.
    """
    key = ["trace", "buffer_pages"]
    rows = pl.concat(parts).with_columns(per_run(name) for name in columns)
    base = rows.filter(pl.col("policy") == OURS).select(
        *key, *(pl.col(name).alias(f"{name} of {OURS}") for name in columns)
    )
    joined = rows.join(base.unique(key), on=key, how="left", maintain_order="left")
    changes = [
        pl.when(pl.col(f"{name} of {OURS}") > 0)
        .then((100 * (pl.col(name) / pl.col(f"{name} of {OURS}") - 1)).round(2) + 0.0)
        .alias(f"{name} change %")
        for name in columns
    ]
    others = joined.filter(pl.col("policy") != OURS)
    return others.select("trace", "buffer_pages", pl.col("policy").alias("buffer"), *changes)


def own_modes(*parts: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return CLOCK-DNV's own modes at the second size of each trace; the kept table has all."""
    changes = ablation(*parts, columns=columns)
    second = changes.group_by("trace").agg(
        pl.col("buffer_pages").unique().sort().head(2).last().alias("second")
    )
    modes = [text for text in changes["buffer"].unique() if name_of(text) == OURS != text]
    of_mode = changes.filter(pl.col("buffer").is_in(modes))
    at_size = of_mode.join(second, on="trace", maintain_order="left")
    return at_size.filter(pl.col("buffer_pages") == pl.col("second")).drop("second")


def timed_ranking(*parts: pl.DataFrame) -> pl.DataFrame:
    """Return buffers by pages to flash, with their ranks by p99 of writes.

    Counts are those of a run of the trace. Ranks are within a trace, a drive and a size.
    """
    rows = pl.concat(parts).with_columns(per_run(name) for name in ("host_writes", "erases"))
    place = ["trace", "ssd", "buffer_pages"]
    ranks = [
        pl.col(column).rank("min").over(place).cast(pl.Int64).alias(f"rank by {said}")
        for column, said in (("host_writes", "pages"), ("write_p99_us", "p99"))
    ]
    shown = rows.select(
        "trace", "ssd", "buffer_pages", pl.col("policy").alias("buffer"), "host_writes",
        "erases", "write_mean_us", "write_p50_us", "write_p99_us", "write_p999_us",
        "read_p99_us", "collection_share", *ranks,
    )  # fmt: skip
    return shown.sort(*place, "rank by pages", maintain_order=True)


VERDICTS = {1: "confirms", 0: "neither", -1: "inverts"}


def timed_verdicts(*parts: pl.DataFrame) -> pl.DataFrame:
    """Return whether p99 of writes orders buffers as pages to flash do, for each trace and drive.

    It confirms the ranking if more pairs of buffers are ordered alike than the other way round.
    Pairs that are equal in one of the two count for neither.
    """
    found = []
    ranked = timed_ranking(*parts)
    for group in ranked.partition_by("trace", "ssd", "buffer_pages", maintain_order=True):
        alike, unlike = _pairs(group.select("rank by pages", "rank by p99").rows())
        by_p99 = group.sort("rank by p99", maintain_order=True)["buffer"]
        [ours] = group.filter(pl.col("buffer") == OURS).to_dicts()
        first = group.row(0, named=True)
        found.append(
            {
                "trace": first["trace"],
                "drive": first["ssd"],
                "fewest pages": first["buffer"],
                "shortest p99": by_p99[0],
                "pairs alike": alike,
                "pairs the other way": unlike,
                "clock-dnv by pages": ours["rank by pages"],
                "clock-dnv by p99": ours["rank by p99"],
                "p99": VERDICTS[(alike > unlike) - (alike < unlike)],
            }
        )
    return pl.DataFrame(found)


def _pairs(ranks: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return how many pairs two rankings order alike, and how many the other way round."""
    signs = [
        (one[0] - other[0]) * (one[1] - other[1]) for one, other in itertools.combinations(ranks, 2)
    ]
    return sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)


def media(*, drive: str, papers: Rows) -> pl.DataFrame:
    """Return the CLOCK-DNV paper's Table I, and our profile of its drive."""
    facts = _engine.ssd_facts(drive)
    nand = f"{facts['times']}; {facts['endurance']}"
    ours = (f"our profile {drive}", "not timed", nand, facts["NVM"])
    return literal(columns=("property", "DRAM", "NAND", "NVM"), rows=[*papers, ours])


def parameters(*, drive: str, papers: Rows) -> pl.DataFrame:
    """Return the CLOCK-DNV paper's Table II beside our profile's facts."""
    facts = _engine.ssd_facts(drive)
    rows = [(name, value, facts[fact]) for name, value, fact in papers]
    return literal(columns=("parameter", "paper", f"our profile {drive}"), rows=rows)


def fewest_faults(rows: pl.DataFrame, *, papers_kib: Mapping[str, int]) -> pl.DataFrame:
    """Return the SCM paper's Figure 7 as a table: page sizes with the fewest faults."""
    best = best_pages(rows, "page_fault_ratio", 1.0).pivot("memory", values="page_bytes")
    paper = {name: 1024 * kib for name, kib in papers_kib.items()}
    return best.select(
        "workload",
        pl.col("workload").replace_strict(paper).alias("paper (bytes)"),
        *(pl.col(name).alias(f"{name} (bytes)") for name in best.columns[1:]),
    )


def fastest_pages(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the SCM paper's Figures 8 and 9 as a table: the fastest page of each ratio."""
    tables = []
    for ratio in rows["storage_ratio"].unique(maintain_order=True):
        best = best_pages(rows, "amat_ns", ratio).pivot("memory", values="page_bytes")
        tables.append(best.insert_column(1, pl.lit(ratio).alias("storage ratio")))
    return pl.concat(tables)
