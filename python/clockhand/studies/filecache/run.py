"""Runs of file caches: traces before caches of every policy, capacity and admission."""

import polars as pl

from clockhand import _engine
from clockhand.studies.result import StudyResult
from clockhand.study.calls import arguments, asks, in_python
from clockhand.study.columns import schema
from clockhand.study.options import Names
from clockhand.study.records import Record
from clockhand.study.run import Study, called
from clockhand.traces import Traces

SCHEMA = schema("filecache")
"""Names, order and types of the columns of a result; the first eight are the contract."""

BREAK_EVEN_SCHEMA = schema("break-even")
"""Names, order and types of the columns of :func:`break_even`."""


class FileCacheRun(StudyResult):
    """The result of :func:`run_filecache`, with the attributes of :class:`~.result.StudyResult`.

    Rows are in the order trace, block size, capacity, policy, admission, device, insertion, with
    the columns of :data:`SCHEMA`; the bound has one for all admissions. Counts are of blocks, times
    in microseconds.
    """

    leading = (
        "trace", "policy", "admission", "capacity", "device", "hit_ratio", "admitted", "time_us",
        "time_without_cache_us",
    )  # fmt: skip


FILE_CACHE = Study(
    name="filecache",
    command="filecache",
    made=FileCacheRun,
    page_column="block_bytes",
)


@asks("filecache")
def run_filecache(traces: Traces, **options: object) -> FileCacheRun:
    """Put file caches in front of devices, and return the time of all references with and without.

    Names may be lists with commas, ``all`` or patterns.
    """
    return called(FILE_CACHE, traces, options)


PRICES = ("page_size", "insert", "insert_ns", "stack_share", "cache_device")
"""The options that say after how many hits a block has paid, beside the devices."""


@in_python(*arguments("filecache", PRICES))
def break_even(devices: Names, **options: object) -> pl.DataFrame:
    """Return after how many hits caching a block pays on devices, whatever the trace.

    Args:
        devices: Names with options, such as ``"scm:ratio=100"``, or TOML files.
        options: Block sizes, and what is charged.

    Returns:
        One row per block size, device and insertion, as given, with the columns of
        :data:`BREAK_EVEN_SCHEMA`.

    Raises:
        UsageError: something is unknown or out of range.
    """
    return break_even_of({"device": devices, **options})


def break_even_of(given: Record) -> pl.DataFrame:
    """Return the same for options by the names of the command's; others do not matter."""
    rows = _engine.break_even(FILE_CACHE.options(given))
    return pl.DataFrame(rows, schema=BREAK_EVEN_SCHEMA)
