"""Statistics of the pager as rows, and what in them is wrong."""

from collections.abc import Sequence

import polars as pl

from clockhand.capture.programs import Program
from clockhand.studies.programs.options import PAGE_BYTES
from clockhand.studies.programs.samples import Statistics
from clockhand.study.columns import schema
from clockhand.study.errors import ClockhandError
from clockhand.study.records import Fields

SIMULATED = ("misses", "clean_evictions", "dirty_evictions", "read_ios", "write_ios")

RUN_SCHEMA = schema("run")
"""Names, order and types of the columns of a run: a row per process, the first first. Counts that
the simulator also has bear its names. The simulator's counts on the log of the run have the prefix
``exact_``, and ``mapped_`` or ``sensed_`` by the bits of the run."""


def process_rows(statistics: Sequence[Statistics], policy: str, program: Program) -> pl.DataFrame:
    """Return the final statistics with the columns of :data:`RUN_SCHEMA`.

    Raises:
        ClockhandError: there are none.
    """
    if not statistics:
        raise ClockhandError(
            f"{program.path}: it ran, but none of its processes was paged; only programs that are "
            "linked with glibc and run without rights of their own take the library"
        )
    unknown = dict.fromkeys(RUN_SCHEMA)
    rows = [
        {**unknown, **row_of(process), "stream": stream, "policy": policy}
        for stream, process in enumerate(statistics)
    ]
    return pl.DataFrame(rows, schema=RUN_SCHEMA)


def row_of(process: Statistics) -> Fields:
    """Return one process's statistics as a row, with the simulator's read and write I/Os.

    To the simulator every miss reads a page, and every dirty eviction and write-back writes one.
    The pager reads nothing on first touch, or if the page was still to be written. It does not
    write pages that the program has freed, or that were still to be written when it ended.
    """
    row = {name: process[name] for name in process if name in RUN_SCHEMA}
    row["page_bytes"] = PAGE_BYTES
    row["read_ios"] = sum(
        process[name] for name in ("pages_read", "pages_zero_filled", "pages_rescued")
    )
    row["write_ios"] = process["dirty_evictions"] + process["write_backs"]
    return row


def failures(rows: pl.DataFrame) -> list[str]:
    """Return what ended the paging of a process before its end, and writes that failed."""
    sentences = []
    for row in rows.iter_rows(named=True):
        who = f"{row['name']} (process {row['process']})"
        if row["failure"] is not None:
            sentences.append(f"{who}: {row['failure']}")
        elif row["write_errors"]:
            sentences.append(
                f"{who}: {row['write_errors']:,} writes to swap failed; their pages stayed in "
                "memory and were written later"
            )
    return sentences


def other_bits(rows: pl.DataFrame, wanted: str) -> list[str]:
    """Return which processes have other bits than the wanted ones."""
    others = rows.filter(pl.col("bits") != wanted)
    if others.is_empty():
        return []
    first = others.row(0, named=True)
    more = "" if others.height == 1 else f" and {others.height - 1:,} more"
    return [
        f"{first['name']} (process {first['process']}){more}: the kernel does not let the pager "
        f"look at the translations, so the bits are {first['bits']} ones"
    ]


def disagreements(rows: pl.DataFrame) -> list[str]:
    """Return where the simulator counts other than the pager; a process that failed may differ.

    The end of a program may cut its last fault short: a page has left for it, another may have been
    read, and the log does not have it. The pager may count that much more.
    """
    sentences = []
    for row in rows.filter(pl.col("failure").is_null()).iter_rows(named=True):
        differing = []
        for name in SIMULATED:
            simulated = row[f"{row['bits']}_{name}"]
            cut_short = 0 if name == "misses" else 1
            if simulated is not None and not 0 <= row[name] - simulated <= cut_short:
                words = name.replace("_ios", " I/Os").replace("_", " ")
                differing.append(f"{words} {row[name]:,} against {simulated:,}")
        if differing:
            sentences.append(
                f"{row['name']} (process {row['process']}): pager and simulator disagree, "
                f"{', '.join(differing)}; this is a defect of Clockhand: keep the log with "
                "--record and report it"
            )
    return sentences
