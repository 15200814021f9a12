"""What a run under the pager, or a comparison of runs, says in sentences."""

import signal
from collections.abc import Sequence
from contextlib import suppress

import polars as pl

from clockhand.study.facts import PagedRunFacts, printable
from clockhand.study.records import Fields
from clockhand.study.sizes import bytes_text

KERNEL = "kernel"
"""The contender that is not a policy: the program without our library, under the kernel's swap."""

MIB = 1 << 20

MOST_SHOWN = 8
"""The most processes that are shown on the terminal."""

NOTICEABLE_SHARE = 0.01
"""Of the references of the busiest process; processes with fewer are not shown."""

NOTICEABLE_UNPAGED_BYTES = 4 * MIB
UNPAGED_SHARE = 0.25
"""Of the memory of a process; stacks and data are never paged, so that less is nothing to tell."""

NOTICEABLE = 0.0005
"""Below one part in two thousand a difference would be printed as 0.0 %."""


def busiest(rows: pl.DataFrame, most: int = MOST_SHOWN) -> pl.DataFrame:
    """Return the processes that people look at, in their order: those with the most references.

    Shells and other helpers with hardly any beside the busiest are left out.
    """
    least = max(rows["references"].to_list(), default=0) * NOTICEABLE_SHARE
    return rows.filter(pl.col("references") >= least).top_k(most, by="references").sort("stream")


def left_out(rows: pl.DataFrame, shown: pl.DataFrame) -> list[str]:
    """Return a sentence about the processes that are not shown, if there are any."""
    hidden = rows.filter(~pl.col("stream").is_in(shown["stream"].to_list()))
    if hidden.is_empty():
        return []
    references = int(hidden["references"].sum())
    others = "one other process" if hidden.height == 1 else f"{hidden.height:,} other processes"
    return [f"Not shown: {others} with {references:,} references; the rows have all of them."]


def beside(rows: pl.DataFrame) -> pl.DataFrame:
    """Return, for each process that was simulated, what pager and simulator count.

    The last two columns are per cent of the pager's misses and writes.
    """
    records: list[Fields] = []
    for row in rows.filter(pl.col("exact_misses").is_not_null()).iter_rows(named=True):
        for who, prefix in (
            ("pager", ""),
            (f"simulator, {row['bits']}", f"{row['bits']}_"),
            ("simulator, exact", "exact_"),
        ):
            records.append(
                {
                    "process": f"{row['name']} ({row['process']})",
                    "counted by": who,
                    "misses": row[f"{prefix}misses"],
                    "clean evictions": row[f"{prefix}clean_evictions"],
                    "dirty evictions": row[f"{prefix}dirty_evictions"],
                    "read I/Os": row[f"{prefix}read_ios"],
                    "write I/Os": row[f"{prefix}write_ios"],
                    "misses %": _percent(row[f"{prefix}misses"], row["misses"]),
                    "writes %": _percent(row[f"{prefix}write_ios"], row["write_ios"]),
                }
            )
    schema = {"misses %": pl.Float64, "writes %": pl.Float64}
    return pl.DataFrame(records, schema_overrides=schema)


def _percent(value: int, of: int) -> float | None:
    return None if of == 0 else 100 * value / of


def processes_for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of processes that people look at, bytes in MiB and times in seconds."""
    shown = rows.select(
        pl.format("{} ({})", "name", "process").alias("process"),
        (pl.col("footprint_pages") * pl.col("page_bytes") / MIB).alias("used MiB"),
        "misses",
        pl.col("minor_faults").alias("minor faults"),
        pl.col("write_protect_faults").alias("write faults"),
        pl.when((pl.col("bits") == "sensed").any())
        .then(pl.col("sensed_references"))
        .alias("sensed"),
        pl.col("pages_read").alias("reads"),
        pl.col("pages_written").alias("writes"),
        pl.when(pl.col("pages_copied_for_forks").sum() > 0)
        .then("pages_copied_for_forks")
        .alias("fork copies"),
        (pl.col("bytes_read") / MIB).alias("read MiB"),
        (pl.col("bytes_written") / MIB).alias("written MiB"),
        pl.col("seconds").alias("time s"),
        (pl.col("service_us") / 1e6).alias("pager s"),
        pl.col("fault_us_p50").alias("fault µs, median"),
        pl.col("fault_us_p99").alias("99 %"),
    )
    return shown.select(column for column in shown if column.null_count() < len(shown))


def comparison_for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a line per contender with the medians of its runs; times in seconds.

    ``vs kernel`` is the time over the kernel's, where that is known.
    """
    shown = medians(rows)
    kernel = shown.filter(pl.col("policy") == KERNEL)["seconds"]
    base = kernel[0] if len(kernel) else None
    table = shown.select(
        "policy",
        "runs",
        pl.col("seconds").alias("time s"),
        pl.col("seconds_least").alias("least"),
        pl.col("seconds_most").alias("most"),
        (pl.col("seconds") / pl.lit(base, pl.Float64)).alias("vs kernel"),
        pl.col("faults").round().cast(pl.UInt64),
        pl.col("pages_read").round().cast(pl.UInt64).alias("reads"),
        pl.col("pages_written").round().cast(pl.UInt64).alias("writes"),
        pl.col("cpu_seconds").alias("CPU s"),
        pl.when(pl.col("zero_pages_not_written").sum() > 0)
        .then(pl.col("zero_pages_not_written").round().cast(pl.UInt64))
        .alias("zero pages"),
    )
    if (shown["runs"] <= 1).all():
        table = table.drop("runs", "least", "most")
    return table.select(column for column in table if column.null_count() < len(table))


def run_findings(rows: pl.DataFrame, facts: PagedRunFacts) -> list[str]:
    """Return what stands out in a run: what it cost, and how far its bits are from exact ones."""
    row = totals(rows)
    policy = printable(rows["policy"][0])
    memory = bytes_text(int(rows["frames"][0]) * int(rows["page_bytes"][0]))
    each = "" if rows.height == 1 else f" for each of {rows.height:,} processes"
    sentences = [
        f"{row['misses']:,} misses in {facts['seconds']:,.2f} s under {policy} with "
        f"{memory}{each}: {row['pages_read']:,} pages are read from swap and "
        f"{row['pages_written']:,} written."
    ]
    sentences += device_reads(rows) + unpaged(rows)
    known = rows.filter(pl.col("exact_misses").is_not_null())
    if known.is_empty():
        return sentences
    sums = totals(known)
    agree = all(
        sums[f"mapped_{name}"] + sums[f"sensed_{name}"] == sums[name]
        for name in ("misses", "read_ios", "write_ios")
    )
    if agree:
        sentences.append(
            f"The simulator replayed the {sums['references']:,} references that the pager saw and "
            "counts the same misses, evictions, reads and writes."
        )
    sentences.append(
        "On this log, which lacks the hits that the pager did not see, the simulator with exact "
        f"bits counts {_difference(sums['exact_misses'], sums['misses'], 'misses')} and "
        f"{_difference(sums['exact_write_ios'], sums['write_ios'], 'writes')}."
    )
    return sentences


def totals(rows: pl.DataFrame) -> Fields:
    """Return the sums over all processes of all counts."""
    numbers = [name for name, kind in rows.schema.items() if kind == pl.UInt64]
    return rows.select(pl.col(numbers).sum()).row(0, named=True)


def _difference(value: int, of: int, noun: str) -> str:
    change = (value - of) / of if of else 0.0
    if abs(change) < NOTICEABLE:
        return f"as many {noun}"
    return f"{abs(change):.1%} {'more' if change > 0 else 'fewer'} {noun}".replace("%", " %")


MEASURES = (
    "seconds", "cpu_seconds", "faults", "pages_read", "pages_written", "zero_pages_not_written",
)  # fmt: skip
"""The counts that contenders are compared by."""

FIRST_SIGNAL = 128
"""A program that a signal ended has this exit code plus the signal's number, as in a shell."""


def comparable(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a comparison without measures of runs that ended otherwise than others.

    A run that was killed or failed did not do the work, however little time it took.
    """
    usual = _usual_exit_code(rows)
    ended_so = pl.col("exit_code") == usual if usual is not None else pl.lit(False)
    return rows.with_columns(pl.when(ended_so).then(pl.col(name)).alias(name) for name in MEASURES)


def _usual_exit_code(rows: pl.DataFrame) -> int | None:
    """Return 0 if any run ended so, else what most did; none if a signal ended all."""
    codes = rows["exit_code"].drop_nulls().to_list()
    own = [code for code in codes if code < FIRST_SIGNAL]
    return min(own, key=lambda code: (code != 0, -own.count(code), code), default=None)


def not_comparable(rows: pl.DataFrame) -> list[str]:
    """Return which runs are not compared, because they ended otherwise than the others."""
    usual = _usual_exit_code(rows)
    return [
        f"Run {row['run']} under {printable(row['policy'])} is not compared: it ended with exit "
        f"code {row['exit_code']}{_signal(row['exit_code'])}, so that it did not do the same work."
        for row in rows.iter_rows(named=True)
        if row["exit_code"] is not None and row["exit_code"] != usual
    ]


def _signal(exit_code: int) -> str:
    """Name the signal that an exit code tells of, if it does."""
    with suppress(ValueError):
        return f" ({signal.Signals(exit_code - FIRST_SIGNAL).name})"
    return ""


def medians(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row per contender with the medians of its runs that can be compared, in the order
    given."""
    return (
        comparable(rows)
        .group_by("policy", maintain_order=True)
        .agg(
            pl.col("problem").first(),
            pl.col("seconds").count().alias("runs"),
            pl.col(MEASURES).median(),
            pl.col("seconds").min().alias("seconds_least"),
            pl.col("seconds").max().alias("seconds_most"),
        )
    )


def comparison_findings(rows: pl.DataFrame) -> list[str]:
    """Return who was fastest, who wrote least, and how they compare with the kernel."""
    known = [row for row in medians(rows).to_dicts() if row["seconds"] is not None]
    if len(known) < 2:
        return not_comparable(rows)
    least = min(known, key=lambda row: row["pages_written"])
    fewest = (
        f"The fewest pages are written to swap by {printable(least['policy'])}: "
        f"{least['pages_written']:,.0f}{_zeros(least)}."
    )
    if not any(row["pages_written"] for row in known):
        fewest = f"No pages were written to swap{_zeros(least)}."
    sentences = [_fastest(known), fewest]
    return [
        *sentences,
        *_against_kernel(known),
        *not_comparable(rows),
        *compared_device_reads(rows),
    ]


def device_reads(rows: pl.DataFrame) -> list[str]:
    """Return into which processes' memory devices may have written unseen by the pager."""
    known = rows.filter(pl.col("device_reads").is_not_null())
    return [
        f"{row['name']} (process {row['process']}) {row['device_reads']}."
        for row in known.iter_rows(named=True)
    ]


def unpaged(rows: pl.DataFrame) -> list[str]:
    """Return a sentence about the process with the most memory that no policy decides about.

    None, if every process has little of it beside what is paged: stacks and data are never paged.
    """
    paged_bytes = pl.col("footprint_pages") * pl.col("page_bytes")
    is_noticeable = (pl.col("unpaged_bytes") >= NOTICEABLE_UNPAGED_BYTES) & (
        pl.col("unpaged_bytes") >= UNPAGED_SHARE * (paged_bytes + pl.col("unpaged_bytes"))
    )
    noticed = rows.filter(is_noticeable).sort("unpaged_bytes", descending=True)
    if noticed.is_empty():
        return []
    first = noticed.row(0, named=True)
    others = "" if noticed.height == 1 else f", and {noticed.height - 1:,} more like it,"
    paged = bytes_text(int(first["footprint_pages"]) * int(first["page_bytes"]))
    return [
        f"{first['name']} (process {first['process']}){others} had "
        f"{bytes_text(int(first['unpaged_bytes']))} in memory that was not paged, beside {paged} "
        "that were: stacks, shared, fixed, huge or locked mappings, programs that it started and "
        "that are not paged, or reservations for which its --address-space has no room. The policy "
        "does not decide about it, and the frames do not limit it."
    ]


def compared_device_reads(rows: pl.DataFrame) -> list[str]:
    """Return the first run's sentence; the program does the same in each, as another process."""
    return rows["device_reads"].drop_nulls().head(1).to_list()


def _fastest(known: Sequence[Fields]) -> str:
    """Say who was fastest, if every run was faster than every other contender's."""
    ordered = sorted(known, key=lambda row: row["seconds"])
    first, slowest = ordered[0], ordered[-1]
    rivals = [row for row in ordered[1:] if row["seconds_least"] <= first["seconds_most"]]
    if first["runs"] == 1:
        least = f"{printable(first['policy'])} took{{}} {first['seconds']:,.2f} s"
        most = f" and {printable(slowest['policy'])}{{}} {slowest['seconds']:,.2f} s"
        words = ("", "") if len(known) == 2 else (" least time,", " most,")
        both = ("" if len(known) == 2 else ",").join([least, most]).format(*words)
        return f"{both}, in one run each, which says little."
    if rivals:
        names = " and ".join(printable(row["policy"]) for row in (first, *rivals))
        return (
            f"None is the fastest: the times of {names} overlap (medians "
            f"{first['seconds']:,.2f} to {rivals[-1]['seconds']:,.2f} s)."
        )
    return (
        f"{printable(first['policy'])} is the fastest, "
        f"{slowest['seconds'] / first['seconds']:,.2f} times as fast as "
        f"{printable(slowest['policy'])}: {first['seconds']:,.2f} s (median; "
        f"{first['seconds_least']:,.2f} to {first['seconds_most']:,.2f})."
    )


def _zeros(row: Fields) -> str:
    """Name the pages that left without a write because they held zeros."""
    zeros = row["zero_pages_not_written"]
    return f" (and {zeros:,.0f} of zeros left unwritten)" if zeros else ""


def _against_kernel(known: Sequence[Fields]) -> list[str]:
    kernel = next((row for row in known if row["policy"] == KERNEL), None)
    if kernel is None:
        return []
    return [
        f"{printable(row['policy'])} takes {row['seconds'] / kernel['seconds']:,.2f} times the "
        f"kernel's time, {_against(row, kernel, 'pages_read', 'reads')} and "
        f"{_against(row, kernel, 'pages_written', 'writes')}{_zeros(row)}."
        for row in known
        if row["policy"] != KERNEL
    ]


def _against(row: Fields, kernel: Fields, name: str, verb: str) -> str:
    if kernel[name]:
        return f"{verb} {row[name] / kernel[name]:,.2f} times its pages"
    return f"{verb} {row[name]:,.0f} pages against none"
