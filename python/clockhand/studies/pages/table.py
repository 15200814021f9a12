"""The table of all rows, with every number printed for reading."""

from dataclasses import replace

import polars as pl

from clockhand.report.table import Table, plain_table
from clockhand.report.words import number_text, unique
from clockhand.studies.pages.comparison import SETTING_COLUMNS, io_time_over_bound
from clockhand.study.facts import Facts, printable, trace_label
from clockhand.study.policies import called
from clockhand.study.sampling import SAMPLE_COLUMNS

# The columns that readers look for come first; others follow in the order of the rows.
LEADING_COLUMNS = (
    "trace", "policy", "frames", "memory_share", "io_time_us", "io_time_over_bound",
    "read_ios", "write_ios", "hit_ratio", "misses", "read_misses", "write_misses",
    "clean_evictions", "dirty_evictions", "energy_uj",
)  # fmt: skip
HEADINGS = {
    "frames": "memory (frames)",
    "memory_share": "share of footprint",
    "io_time_us": "I/O time (µs)",
    "io_time_over_bound": "I/O time over the bound",
    "read_ios": "read I/Os",
    "write_ios": "write I/Os",
    "energy_uj": "energy (µJ)",
    "policy_resolved": "policy with defaults",
    "page_bytes": "page (bytes)",
    "footprint_pages": "footprint (pages)",
    "bits": "reference bits",
    "reserve": "reserve (frames)",
    "sample_share": "share of pages sampled",
    "io_time_us_standard_error": "I/O time, standard error (µs)",
    "misses_standard_error": "misses, standard error",
    "read_ios_standard_error": "read I/Os, standard error",
    "write_ios_standard_error": "write I/Os, standard error",
}
# Columns that are left out where no row has a value: most results know nothing of them.
OPTIONAL_COLUMNS = ("hand_movements", "hand_ns", "permission_faults", "fault_ns", *SAMPLE_COLUMNS)
# Fewer rows than this can be read at a glance, and need no filter.
FILTERED_ROWS = 20


def table(rows: pl.DataFrame, facts: Facts | None) -> Table:
    """Lay out result rows as a table, with the distance to the lower bound where there is one."""
    over_bound = io_time_over_bound(rows)
    if over_bound.null_count() < rows.height:
        rows = rows.with_columns(over_bound)
    constants = []
    for name in SETTING_COLUMNS:
        if name in rows.columns and len(values := rows[name].drop_nulls().unique()) == 1:
            constants.append((name, values[0]))
    shared = {name for name, _ in constants}
    names = [
        name
        for name in unique([*LEADING_COLUMNS, *rows.columns])
        if name in rows.columns and name not in shared
        if name not in OPTIONAL_COLUMNS or rows[name].null_count() < rows.height
    ]
    labels = {name: trace_label(name, facts) for name in rows["trace"].unique()}
    called_so = called(rows["policy"])
    shown = rows.select(names).with_columns(
        pl.col("policy").replace(called_so),
        pl.col("trace").cast(pl.String).replace_strict(labels, return_dtype=pl.String),
    )
    laid_out = plain_table(shown, HEADINGS)
    return replace(
        laid_out,
        constants=[(_heading(name), number_text(value)) for name, value in constants],
        traces=unique(labels[name] for name in rows["trace"]),
        policies=unique(printable(called_so[policy]) for policy in rows["policy"]),
        has_filter=rows.height > FILTERED_ROWS,
    )


def _heading(name: str) -> str:
    return HEADINGS.get(name, name.replace("_", " "))
