"""Address translation and paging: traces under TLBs, page sizes and memory sizes."""

from clockhand.studies.result import StudyResult
from clockhand.study.run import Options, Study, call_of

RATIOS = ("1", "10", "100", "1000")
"""How many times slower than memory the SCM paper's storage is."""


def _with_storage(options: Options) -> Options:
    """Storage is the SCM paper's where none is given."""
    is_given = options["ratio"] or options["device"]
    return options if is_given else {**options, "ratio": list(RATIOS)}


class Translation(StudyResult):
    """The result of :func:`run_translate`, with the attributes of :class:`~.result.StudyResult`.

    Rows are in the order trace, page size, memory size, policy, TLB, storage. Times are means per
    reference in nanoseconds.
    """

    leading = (
        "trace", "page_bytes", "tlb_entries", "frames", "storage_ratio", "device", "tlb_misses",
        "page_faults", "amat_ns",
    )  # fmt: skip


STUDY = Study("translate", Translation, completed=_with_storage)

run_translate = call_of(
    STUDY,
    "run_translate",
    """Translate every address of traces and page the memory behind, for a grid of cells.

    Every list is a dimension of the grid; one reading of each trace serves all cells. A request is
    one reference, to the page of its first byte. Each stream is an address space of its own.
    """,
)
