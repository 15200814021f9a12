"""Page caches: policies under traces of calls, syncs, truncations, a flusher and reading ahead."""

from clockhand.studies.result import StudyResult
from clockhand.study.calls import asks
from clockhand.study.columns import schema
from clockhand.study.run import Study, called
from clockhand.traces import Traces

SCHEMA = schema("pagecache")
"""Names, order and types of the columns of a result."""


class PageCacheRun(StudyResult):
    """The result of :func:`run_pagecache`, with the attributes of :class:`~.result.StudyResult`.

    Rows are in the order trace, memory size, policy, with the columns of :data:`SCHEMA`. All I/Os
    and evictions are counted in pages, times in microseconds.
    """

    compared_by = "policy"
    leading = (
        "trace", "policy", "frames", "memory_share", "hit_ratio", "read_ios", "write_ios",
        "io_time_us",
    )  # fmt: skip


PAGE_CACHE = Study(
    name="pagecache",
    command="pagecache",
    made=PageCacheRun,
    predicts_windows=True,
)


@asks("pagecache")
def run_pagecache(traces: Traces, **options: object) -> PageCacheRun:
    """Run policies under traces of events and keep the facts for a report.

    A trace that knows of nothing but reads and writes is taken as accesses of memory; with
    ``first_touch="read"`` it gives the counts of :func:`clockhand.run_simulation`.
    """
    return called(PAGE_CACHE, traces, options)
