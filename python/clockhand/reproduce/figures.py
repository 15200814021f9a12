"""Figures of papers beside ours: the lines of each panel, for each trace.

``report.toml`` of a paper says which results a figure shows, and how each of its panels looks. A
panel says its title, its axes and, unless its lines follow from the results, its ``series``.
:mod:`clockhand.reproduce.printed` has the paper's own numbers behind them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.words import byte_text, number_text
from clockhand.reproduce.measured import Measured
from clockhand.reproduce.measures.cflru import KERNELS, PAPERS_FRAMES, kernels_of, replaced
from clockhand.reproduce.measures.clock_dnv import OURS, per_run
from clockhand.reproduce.printed import printed
from clockhand.study.records import Fields, Record

MOST_POINTS = 400
MOST_LINES = 3
"""Memory sizes that a panel shows: more lines have no look of their own."""

MOST_RATIOS = 4

Panel = Record
Records = list[Fields]


@dataclass(frozen=True)
class Lines:
    """One panel: lines over memory, over time, or over sizes each of which doubles the last; or
    bars, side by side for each text at which they are."""

    title: str
    caption: str
    x_title: str
    y_title: str
    series: tuple[str, ...]
    records: Records
    is_logarithmic: bool
    doubles_x: bool = False
    is_bars: bool = False


Figure = Iterator[tuple[str, list[Lines]]]
"""Traces with their panels."""


def _lines(
    panel: Panel, series: Iterable[str], records: Records, *of: str | None, **own: str
) -> Lines:
    """A panel as the file has it, but for what ``own`` says of it.

    Args:
        panel: What the file says.
        series: The names of its lines.
        records: Their points.
        of: What they are of: the trace, and the workload that it stands for.
    """
    said = {**panel, **own}
    behind = printed(said, records, *of)
    names = dict.fromkeys(record["series"] for record in behind)
    return Lines(
        said["title"], said.get("caption", ""), said["x"], said["y"], (*names, *series),
        [*behind, *records],
        said.get("logarithmic", False), said.get("doubles_x", False), "bars" in said,
    )  # fmt: skip


def _present(series: Iterable[str], records: Records) -> list[str]:
    present = {record["series"] for record in records}
    return [name for name in series if name in present]


def _of(rows: pl.DataFrame) -> list[str | None]:
    """The trace that rows are of, and the workload that it stands for."""
    return list(rows.select("trace", "workload").row(0)) if rows.height else []


def _each_trace(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for group in rows.partition_by("trace", maintain_order=True):
        yield group["trace"][0], group


def _over_memory(rows: pl.DataFrame, panel: Panel, *of: str | None) -> Lines:
    """Lines of the columns series and y over the share of the footprint."""
    chosen = rows.filter(pl.col("series").is_in(panel["series"]))
    records = (
        chosen.unique(["series", "frames"], keep="first", maintain_order=True)
        .select(
            "series",
            (100 * pl.col("memory_share")).alias("x"),
            pl.col("y").cast(pl.Float64),
            pl.format("{} frames", "frames").alias("at"),
        )
        .to_dicts()
    )
    return _lines(panel, _present(panel["series"], records), records, *of)


def policies(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """Policies over memory: a column, or its ratio to another policy's (``over``), or that of one
    policy over those of others (``of``)."""
    named, key = rows.with_columns(pl.col("policy").alias("series")), ["trace", "frames"]
    for panel in panels:
        if other := panel.get("over", panel.get("of")):
            column = pl.col(panel["column"]).alias(f"{panel['column']} of {other}")
            others = rows.filter(pl.col("policy") == other).select(*key, column).unique(key)
            if column.meta.output_name() not in named.columns:
                named = named.join(others, on=key, how="left", maintain_order="left")
    for trace, of_trace in _each_trace(named):
        lines = []
        for panel in panels:
            y = pl.col(panel["column"])
            if other := panel.get("over", panel.get("of")):
                pair = (y, pl.col(f"{panel['column']} of {other}"))
                above, below = pair if "over" in panel else reversed(pair)
                y = pl.when(below > 0).then(above / below)
            # A logarithmic axis has no place for 0.
            shown = pl.when(y > 0).then(y) if panel.get("logarithmic") else y
            lines.append(_over_memory(of_trace.with_columns(shown.alias("y")), panel, trace))
        yield trace, lines


def areas(panels: Sequence[Panel], gauges: pl.DataFrame, rows: pl.DataFrame) -> Figure:
    """The desired sizes of CRAW's areas, at page faults."""
    [panel] = panels
    for trace in rows["trace"].unique(maintain_order=True):
        of_trace = gauges.filter(
            (pl.col("trace") == trace) & pl.col("gauge").is_in(list(panel["gauges"]))
        )
        records = of_trace.select(
            pl.col("gauge").replace_strict(panel["gauges"], return_dtype=pl.String).alias("series"),
            pl.col("fault").alias("x"),
            pl.col("value").alias("y"),
            pl.format("fault {}", "fault").alias("at"),
        ).to_dicts()
        frames = of_trace["frames"].max()
        caption = f"{number_text(frames)} page frames." if frames is not None else "No page leaves."
        yield trace, [_lines(panel, panel["gauges"].values(), records, trace, caption=caption)]


def windows(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """The probability of a future reference by position in an LRU list."""
    [panel] = panels
    [series] = panel["series"]
    for trace, of_trace in _each_trace(rows):
        thinned = of_trace.gather_every(max(1, len(of_trace) // MOST_POINTS))
        probability = pl.col("future_reference_probability")
        shown = thinned.filter(probability.is_not_null()).select("position", probability)
        records = [
            {"series": series, "x": position, "y": y, "at": f"position {position}"}
            for position, y in shown.iter_rows()
        ]
        if records:
            window = of_trace["predicted_window"][0]
            title = f"Predicted window: {window:,} of {len(of_trace):,} pages"
            yield trace, [_lines(panel, [series], records, *_of(of_trace), title=title)]


def costs(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """Weighted counts of policies over those of LRU."""
    yield from _relative(panels, rows.with_columns(pl.col("policy").alias("series")))


def kernel_bars(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """What the paper's four kernels read and write in its memory, a bar for each of ``bars``.

    A bar says what a page that is read and one that is written add to it. With ``relative`` it is a
    share of plain Linux's.
    """
    for trace, of_trace in _each_trace(rows.filter(pl.col("frames") == PAPERS_FRAMES)):
        cells = {(row["policy"], row["read_ahead"]): row for row in of_trace.to_dicts()}
        lines = []
        for panel in panels:
            kernels = kernels_of(panel["ahead"], panel["without"])
            records = []
            for bar, (read, write) in panel["bars"].items():
                counts = {
                    name: read * cells[key]["read_ios"] + write * cells[key]["write_ios"]
                    for name, key in kernels.items()
                }
                whole = counts["plain"] if panel.get("relative") else 1
                records += [
                    {"series": bar, "x": x, "y": count / whole, "at": name}
                    for x, (name, count) in enumerate(counts.items())
                    if whole
                ]
            lines.append(_lines(panel, panel["bars"], records, *_of(of_trace)))
        yield trace, lines


def kernels(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """Weighted counts of the paper's four kernels over those of plain Linux."""
    names = [
        (*kernel, name) for kernel, name in zip(KERNELS.values(), panels[0]["series"], strict=True)
    ]
    named = pl.DataFrame(names, ["policy", "read_ahead", "series"], orient="row")
    yield from _relative(
        panels, rows.join(named, on=["policy", "read_ahead"], how="inner", maintain_order="left")
    )


def _relative(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """Costs over those of the first series with as much memory, where pages are replaced."""
    key = ["trace", "frames"]
    shown = replaced(rows)
    first = shown.filter(pl.col("series") == panels[0]["series"][0])
    others = first.select(*key, pl.col("cost").alias("others")).unique(key)
    joined = shown.join(others, on=key, how="left", maintain_order="left")
    over = joined.filter(pl.col("others") > 0).with_columns(
        (pl.col("cost") / pl.col("others")).alias("y")
    )
    for trace, of_trace in _each_trace(over):
        sorted_rows = of_trace.sort("frames", maintain_order=True)
        yield trace, [_over_memory(sorted_rows, panel, *_of(of_trace)) for panel in panels]


def buffers(panels: Sequence[Panel], *parts: pl.DataFrame) -> Figure:
    """Counts of write buffers over their sizes, per run of the trace, or CLOCK-DNV's over those of
    other buffers (``over_others``)."""
    mib = pl.col("buffer_pages") * pl.col("page_bytes") / (1 << 20)
    for trace, of_trace in _each_trace(pl.concat(parts)):
        own = of_trace.filter(pl.col("policy") == OURS).unique("buffer_pages", keep="first")
        lines = []
        for panel in panels:
            y = per_run(panel["column"]).cast(pl.Float64).alias("y")
            cells = of_trace.filter(pl.col("policy").is_in(panel["series"]))
            shown = cells.select(
                pl.col("policy").alias("series"), "buffer_pages",
                mib.alias("x"), y, pl.format("{} pages", "buffer_pages").alias("at"),
            )  # fmt: skip
            if panel.get("over_others"):
                ours = own.select("buffer_pages", y.alias("ours"))
                both = shown.join(ours, on="buffer_pages", maintain_order="left")
                known = both.filter(pl.min_horizontal("y", "ours") > 0)
                shown = known.with_columns(y=pl.col("ours") / pl.col("y")).drop("ours")
            records = shown.drop("buffer_pages").to_dicts()
            present = _present(panel["series"], records)
            lines.append(_lines(panel, present, records, *_of(of_trace)))
        yield trace, lines


def latencies(panels: Sequence[Panel], measured: Measured) -> Figure:
    """Times of reads over their sizes, and those of storage over the page cache's; a machine takes
    the place of a trace."""
    times, ratios = panels
    of_both = {"storage": measured.read, "page cache": measured.cached}
    records = [
        {"series": name, "x": size / 1024, "y": point.median_us,
         "at": f"requests of {byte_text(size)}, "
               f"99 % of them within {point.p1_us:.3g} to {point.p99_us:.3g} µs"}
        for name, points in of_both.items()
        for size, point in sorted(points.items())
    ]  # fmt: skip
    over = [
        {"series": "storage over page cache", "x": size / 1024, "at": byte_text(size),
         "y": point.median_us / measured.cached[size].median_us}
        for size, point in sorted(measured.read.items())
        if size in measured.cached
    ]  # fmt: skip
    yield (
        f"{measured.machine}, measured on {measured.date}",
        [_lines(times, of_both, records), _lines(ratios, ["storage over page cache"], over)],
    )


def hits(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """The hits after which a cached block pays, over what storage takes as a multiple of a hit."""
    [panel] = panels
    records = [
        {"series": panel["series"][row["insert"]], "x": row["bypass_time_us"] / row["hit_time_us"],
         "y": row["required_hits"], "at": row["device"]}
        for row in rows.to_dicts()
    ]  # fmt: skip
    yield "the paper's own times", [_lines(panel, panel["series"].values(), records)]


def caches(panels: Sequence[Panel], *parts: pl.DataFrame) -> Figure:
    """The time of a server's references over that without a cache, over the cache's size."""
    columns = (
        "trace", "workload", "device", "insert", "admission", "capacity", "capacity_share",
        "time_us", "time_without_cache_us",
    )  # fmt: skip
    rows = pl.concat([part.select(columns) for part in parts], how="vertical_relaxed")
    for trace, of_trace in _each_trace(rows.filter(pl.col("insert") == "copy")):
        yield trace, [_over_capacity(of_trace, panel) for panel in panels]


def _over_capacity(rows: pl.DataFrame, panel: Panel) -> Lines:
    records = [
        {"series": name, "x": 100 * row["capacity_share"],
         "y": row["time_us"] / row["time_without_cache_us"], "at": f"{row['capacity']:,} blocks"}
        for name, admission in panel["series"].items()
        for row in rows.filter(device=panel["device"], admission=admission).to_dicts()
    ]  # fmt: skip
    return _lines(panel, panel["series"], records, *_of(rows))


def pages(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """A column over page sizes, with a line for each memory size."""
    memory = rows["memory"].unique(maintain_order=True).to_list()[:MOST_LINES]
    named = rows.filter(pl.col("memory").is_in(memory)).with_columns(series="memory")
    for trace, of_trace in _each_trace(named):
        chosen = (of_trace.filter(pl.col("storage_ratio") == panel["ratio"]) for panel in panels)
        yield trace, [_over_pages(*pair, memory) for pair in zip(panels, chosen, strict=True)]


def _over_pages(panel: Panel, rows: pl.DataFrame, series: Sequence[str]) -> Lines:
    records = [
        {"series": row["series"], "x": row["page_bytes"] / 1024,
         "y": panel.get("factor", 1.0) * row[panel["column"]],
         "at": f"pages of {byte_text(row['page_bytes'])}"}
        for row in rows.to_dicts()
    ]  # fmt: skip
    return _lines(panel, series, records, *_of(rows))


def mobile(panels: Sequence[Panel], rows: pl.DataFrame, tlbs: pl.DataFrame) -> Figure:
    """A program's TLB over its entries, and what follows from its page size."""
    over_entries, *over_pages, over_ratios = panels
    for trace, of_trace in _each_trace(rows):
        entries = [
            {"series": trace, "x": row["tlb_entries"], "y": 100 * row["tlb_hit_ratio"],
             "at": f"{row['tlb_entries']} entries"}
            for row in tlbs.filter(pl.col("trace") == trace).to_dicts()
        ]  # fmt: skip
        ratio = pl.col("storage_ratio")
        ratios = of_trace["storage_ratio"].unique(maintain_order=True).to_list()
        names = {it: "as fast as memory" if it == 1.0 else f"{it:,.0f} times slower"
                 for it in ratios[:MOST_RATIOS]}  # fmt: skip
        first = of_trace.filter(ratio == ratios[0]).with_columns(series="trace")
        shown = of_trace.filter(ratio.is_in(list(names)))
        named = shown.with_columns(series=ratio.replace_strict(names, return_dtype=pl.String))
        yield (
            trace,
            [
                _lines(over_entries, [trace], entries, *_of(of_trace)),
                *(_over_pages(panel, first, [trace]) for panel in over_pages),
                _over_pages(over_ratios, named, list(names.values())),
            ],
        )
