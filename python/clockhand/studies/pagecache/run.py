"""Page caches: policies under traces of calls, syncs, truncations, a flusher and reading ahead."""

from clockhand.studies.result import StudyResult
from clockhand.study.run import Study, call_of


class PageCacheRun(StudyResult):
    """The result of :func:`run_pagecache`, with the attributes of :class:`~.result.StudyResult`.

    Rows are in the order trace, memory size, policy. All I/Os and evictions are counted in pages,
    times in microseconds.
    """

    compared_by = "policy"
    leading = (
        "trace", "policy", "frames", "memory_share", "hit_ratio", "read_ios", "write_ios",
        "io_time_us",
    )  # fmt: skip


STUDY = Study("pagecache", PageCacheRun, predicts_windows=True)

run_pagecache = call_of(
    STUDY,
    "run_pagecache",
    """Run policies under traces of events and keep the facts for a report.

    A trace that knows of nothing but reads and writes is taken as accesses of memory; with
    ``first_touch="read"`` it gives the counts of :func:`clockhand.run_simulation`.
    """,
)
