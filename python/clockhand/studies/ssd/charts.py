"""The figures of write buffers on drives, as Vega-Lite charts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from clockhand.report.appearance import Mark
from clockhand.report.canvas import Canvas, Spec
from clockhand.report.compared import Compared, Record, SizeAxis, exact_tooltip
from clockhand.report.lines import lines_chart
from clockhand.report.measures import drawable
from clockhand.report.over_time import Over, OverTime
from clockhand.report.overview import Overview, overview
from clockhand.report.places import Place
from clockhand.report.scales import Kind, Measure
from clockhand.report.series import first_spellings
from clockhand.report.words import size_text
from clockhand.studies.ssd.findings import FAMILY, FAMILY_RESOLVED
from clockhand.study.facts import printable

OVER_TIME = OverTime(
    ("buffer", "ssd", "buffer_pages"),
    Over("waf", "waf", "Write amplification", "Pages programmed per page that the buffer wrote."),
    Over("hit-ratio", "hit_ratio", "Hit ratio of the buffer",
         "Share of the interval's references."),
    Over("host-writes", "host_writes", "Pages written to flash",
         "By the buffer, in the interval."),
    Over("iops", "iops", "Requests per second", "Completed in the interval, in timed runs."),
    Over("read-p99", "read_p99_us", "Latency of reads, 99 % (µs)",
         "Of the interval, in timed runs."),
)  # fmt: skip
"""What the rows of intervals show."""


MIB = 1 << 20

MEASURES = (
    Measure("host_writes", "host_writes", "Pages written to flash",
            "What the buffer sent on, dirty pages and clean padding; lower is better.", Kind.COUNT),
    Measure("hit_ratio", "hit_ratio", "Hit ratio",
            "Share of page references, reads and writes, that were served by the buffer.",
            Kind.SHARE),
    Measure("write_hit_ratio", "write_hit_ratio", "Write hit ratio",
            "The same of writes alone.", Kind.SHARE),
    Measure("clean_pages_flushed", "clean_pages_flushed", "Clean pages written to flash",
            "Pages written only as padding.", Kind.COUNT),
    Measure("batches", "batches", "Batches sent to flash",
            "How often pages were sent; fewer batches of the same pages are longer runs.",
            Kind.COUNT),
    Measure("nvm_writes", "nvm_writes", "Pages written to NVM",
            "Migrations from DRAM and writes in place.", Kind.COUNT),
    Measure("erases", "erases", "Erases",
            "Blocks erased; lower is longer life.", Kind.COUNT),
    Measure("waf", "waf", "Write amplification",
            "Flash pages programmed per page that the buffer wrote.", Kind.RATIO),
    Measure("device_busy_us", "device_busy_us", "Time of all flash operations",
            "Reads, programs and erases, one after the other.", Kind.TIME),
    Measure("write_p99_us", "write_p99_us", "p99 of writes",
            "99 of 100 writes take no longer.", Kind.TIME),
    Measure("read_p99_us", "read_p99_us", "p99 of reads",
            "99 of 100 reads take no longer.", Kind.TIME),
    Measure("iops", "iops", "Requests served a second",
            "Reads and writes that were completed.", Kind.NUMBER),
    Measure("collection_share", "collection_share", "Time of collection",
            "Share of all dies' time that the operations of collection take.", Kind.SHARE),
    Measure("life_repetitions", "life_repetitions", "Life of the flash (repetitions)",
            "Repetitions of the trace until the average block reaches its endurance.",
            Kind.NUMBER),
    Measure("life_years", "life_years", "Life of the flash (years)",
            "At the trace's rate, until the average block reaches its endurance.", Kind.NUMBER),
    Measure("nvm_life_repetitions", "nvm_life_repetitions", "Life of the NVM (repetitions)",
            "Repetitions of the trace until its cells reach their endurance, worn alike.",
            Kind.NUMBER),
)  # fmt: skip


def cell_records(rows: pl.DataFrame) -> list[Record]:
    """Return the values that figures show, one record per buffer and size, the first of doubles.

    Buffers that mean the same with all defaults filled in are one series. No buffer at all is
    compared with buffers of every size. Windows of time have no values here.
    """
    rows = rows.filter(pl.col("window_us").is_null())
    fields = list(dict.fromkeys(measure.field for measure in MEASURES))
    shown = _at_every_size(rows).with_columns(FAMILY)
    shown = shown.with_columns(pl.col("policy").replace_strict(one_name(rows)))
    shown = shown.select(
        "policy",
        "buffer",
        "buffer_pages",
        (pl.col("buffer_pages") * pl.col("page_bytes") / MIB).alias("buffer_mib"),
        *fields,
    ).unique(["policy", "buffer_pages"], keep="first", maintain_order=True)
    return [printable(record) for record in shown.to_dicts()]


def _at_every_size(rows: pl.DataFrame) -> pl.DataFrame:
    """Repeat rows without a buffer at the sizes of the others."""
    without = rows.filter(pl.col("buffer_pages") == 0)
    sizes = rows.filter(pl.col("buffer_pages") > 0)["buffer_pages"].unique(maintain_order=True)
    if without.is_empty() or sizes.is_empty():
        return rows
    repeated = without.drop("buffer_pages").join(sizes.to_frame(), how="cross")
    return pl.concat([rows.filter(pl.col("buffer_pages") > 0), repeated.select(rows.columns)])


def one_name(rows: pl.DataFrame) -> dict[str, str]:
    """Return each buffer without its size, with the first spelling that means the same."""
    known = rows.filter(pl.col("buffer_resolved").is_not_null())
    spelled = known.select(FAMILY, "buffer_pages", FAMILY_RESOLVED)
    return first_spellings(spelled.iter_rows())


def wear_records(wear: pl.DataFrame, series: Sequence[str]) -> list[Record]:
    """Return erase counts of some series at the smallest size; none where no block was erased."""
    if wear.is_empty() or wear["erases"].max() == 0:
        return []
    with_buffer = wear.filter(pl.col("buffer_pages") > 0)["buffer_pages"]
    smallest = wear.filter(pl.col("buffer_pages").is_in([0, with_buffer.min() or 0]))
    shown = (
        smallest.with_columns(FAMILY)
        .filter(pl.col("policy").is_in(series))
        .unique(["policy", "erases"], keep="first", maintain_order=True)
    )
    columns = ("policy", "buffer", "buffer_pages", "ssd", "blocks")
    records = shown.select(*columns, pl.col("erases").alias("block_erases")).to_dicts()
    return [printable(record) for record in records]


BUFFER_LABEL = (
    "datum.value < 1 ? format(1024 * datum.value, ',.3~r') + '\u00a0KiB' : "
    "format(datum.value, ',.3~r') + '\u00a0MiB'"
)
"""The Vega expression of a size of a buffer in MiB."""


def compared_of(
    records: Sequence[Record], looks: Sequence[Mark], focus: Sequence[str], label: str
) -> Compared:
    """Return what the figures of a trace on a drive share."""
    sizes = sorted({record["buffer_mib"] for record in records})
    tooltip = [("buffer", "Buffer", None), ("buffer_pages", "Pages", ",")]
    return Compared(
        label=label,
        word="Buffer",
        records=records,
        sizes=SizeAxis("buffer_mib", "Buffer", sizes, BUFFER_LABEL),
        looks=looks,
        focus=focus,
        tooltip=[*tooltip, *map(exact_tooltip, drawable(MEASURES, records))],
    )


def wear_chart(records: Sequence[Record], compared: Compared, title: str, canvas: Canvas) -> Spec:
    """Draw how many blocks were erased how often, a line per buffer."""
    erases = sorted({record["block_erases"] for record in records})
    worn = replace(
        compared,
        records=records,
        sizes=SizeAxis("block_erases", "Erases of a block", erases),
        tooltip=[
            ("buffer", "Buffer", None),
            ("block_erases", "Erases", ","),
            ("blocks", "Blocks", ","),
        ],
    )
    return lines_chart(worn, Measure("wear", "blocks", title, "", Kind.COUNT), canvas)


def overviews(records_by_label: Mapping[str, Sequence[Record]]) -> list[Overview]:
    """Return the rankings with heat maps: p99 if times are known, writes to flash, and erases where
    blocks were erased.

    All are over those of the best buffer of the same size, as no buffer is everyone's baseline.
    """
    return [summed for summed in rankings(records_by_label) if summed.has_ranges]


def rankings(records_by_label: Mapping[str, Sequence[Record]]) -> list[Overview]:
    """Return the same, also where it is of one place and bars show it."""
    records = [record for of_label in records_by_label.values() for record in of_label]
    timed = [field for field in P99 if any(record[field] is not None for record in records)][:1]
    summed: list[Overview] = []
    for field in (*timed, "host_writes", "erases"):
        title = f"The same of {SUMMED[field][1]}" if summed else "Which buffer, where, by how much"
        summed += _ranking(records_by_label, field, title, SUMMED[field][0])
    return summed


P99 = ("write_p99_us", "read_p99_us")
"""What leads where runs are timed: the first that is known."""

SUMMED = {
    "host_writes": ("Pages written to flash over the fewest", "pages written to flash"),
    "erases": ("Erases over the fewest", "erases"),
    "write_p99_us": ("p99 of writes over the shortest", "p99 of writes"),
    "read_p99_us": ("p99 of reads over the shortest", "p99 of reads"),
}


def _ranking(
    records_by_label: Mapping[str, Sequence[Record]], field: str, title: str, what: str
) -> list[Overview]:
    values: dict[tuple[str, Place], float] = {}
    for label, records in records_by_label.items():
        least: dict[float, float] = {}
        for record in records:
            size, value = record["buffer_mib"], record[field]
            if value:
                least[size] = min(value, least.get(size, value))
        for record in records:
            size = record["buffer_mib"]
            if record[field] is not None and size in least:
                values[record["policy"], Place(label, size)] = record[field] / least[size]
    if len({name for name, _ in values}) < 2:
        return []
    summed = overview(
        values,
        key=field,
        title=title,
        unit=f"{what} of each size",
        word="Buffer",
        size_word="buffer size",
        size_text=lambda mebibytes: size_text(mebibytes * MIB),
        notes={},
        is_diverging=False,
    )
    return [] if summed is None else [summed]
