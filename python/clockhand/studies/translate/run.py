"""Address translation and paging: traces under TLBs, page sizes and memory sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.study.calls import asks
from clockhand.study.columns import schema
from clockhand.study.facts import Facts
from clockhand.study.run import Options, Study, called
from clockhand.traces import Traces

RATIOS = ("1", "10", "100", "1000")
"""How many times slower than memory the SCM paper's storage is."""


def _with_storage(options: Options) -> Options:
    """Storage is the SCM paper's where none is given."""
    is_given = options["ratio"] or options["device"]
    return options if is_given else {**options, "ratio": list(RATIOS)}


TRANSLATE_SCHEMA = schema("translate")
"""Names, order and types of the columns of a result."""


@dataclass(frozen=True, repr=False)
class Translation(ReportedRows):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, page size, memory size, policy, TLB, storage,
            with the columns of :data:`TRANSLATE_SCHEMA`. Times are means per reference in
            nanoseconds.

        facts: Command, version, trace hashes, devices and policies, for a report.

        warnings: What the readers passed over or assumed, one sentence each.

        cells: The same as ``rows``; with ``every`` these are of intervals, and the cells are here.
    """

    rows: pl.DataFrame
    facts: Facts
    warnings: list[str]
    cells: pl.DataFrame

    leading = (
        "trace", "page_bytes", "tlb_entries", "frames", "storage_ratio", "device", "tlb_misses",
        "page_faults", "amat_ns",
    )  # fmt: skip

    def _answer(self) -> list[str]:
        from clockhand.studies.translate.findings import findings

        return findings(self.cells, self.facts)

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.translate.report import render

        return render(self.cells, self.facts, intervals=self.intervals)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.translate.charts import OVER_TIME
        from clockhand.studies.translate.report import specifications

        figures = specifications(self.cells, self.facts)
        return figures | OVER_TIME.charts(self.intervals, self.facts)


TRANSLATE = Study(
    name="translate",
    command="translate",
    made=lambda ran: Translation(ran.rows, ran.facts, ran.warnings, ran.cells),
    completed=_with_storage,
)


@asks("translate")
def translate(traces: Traces, **options: object) -> Translation:
    """Translate every address of traces and page the memory behind, for a grid of cells.

    Every list is a dimension of the grid; one reading of each trace serves all cells. A request is
    one reference, to the page of its first byte. Each stream is an address space of its own.
    """
    return called(TRANSLATE, traces, options)
