"""Runs of file caches: traces before caches of every policy, capacity and admission."""

import polars as pl

from clockhand import _engine
from clockhand.studies.result import StudyResult
from clockhand.study.calls import arguments, in_python
from clockhand.study.columns import schema
from clockhand.study.options import Names
from clockhand.study.records import Record
from clockhand.study.run import Study, call_of


class FileCacheRun(StudyResult):
    """The result of :func:`run_filecache`, with the attributes of :class:`~.result.StudyResult`.

    Rows are in the order trace, block size, capacity, policy, admission, device, insertion; the
    bound has one for all admissions. Counts are of blocks, times in microseconds.
    """

    leading = (
        "trace", "policy", "admission", "capacity", "device", "hit_ratio", "admitted", "time_us",
        "time_without_cache_us",
    )  # fmt: skip


STUDY = Study("filecache", FileCacheRun, page_column="block_bytes")

run_filecache = call_of(
    STUDY,
    "run_filecache",
    """Put file caches in front of devices, and return the time of all references with and without.

    Names may be lists with commas, ``all`` or patterns.
    """,
)

PRICES = ("page_size", "insert", "insert_ns", "stack_share", "cache_device")
"""The options that say after how many hits a block has paid, beside the devices."""


@in_python(*arguments("filecache", PRICES))
def break_even(devices: Names, **options: object) -> pl.DataFrame:
    """Return after how many hits caching a block pays on devices, whatever the trace.

    Args:
        devices: Names with options, such as ``"scm:ratio=100"``, or TOML files.
        options: Block sizes, and what is charged.

    Returns:
        One row per block size, device and insertion, as given.

    Raises:
        UsageError: something is unknown or out of range.
    """
    return break_even_of({"device": devices, **options})


def break_even_of(given: Record) -> pl.DataFrame:
    """Return the same for options by the names of the command's; others do not matter."""
    rows = _engine.break_even(STUDY.options(given))
    return pl.DataFrame(rows, schema=schema("break-even"))
