"""What a program did under a policy."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.canvas import Spec
from clockhand.report.reported import Reported
from clockhand.study.facts import PagedRunFacts


@dataclass(frozen=True, repr=False)
class PagedRun(Reported):
    """What a program did under a policy.

    Attributes:
        rows: One row per process, with the columns of :data:`RUN_SCHEMA`.

        samples: Counts while it ran, as :data:`.samples.SAMPLE_SCHEMA` says.

        gauges: The values by which the policy adapts, while it ran.

        facts: How the run was made, for a report.

        warnings: What went wrong without ending the run, one sentence each.

        disagreements: Where pager and simulator count differently, one sentence each; none,
            unless something is broken.

        exit_code: The program's, as a shell gives it.

        interrupted: Whether a signal asked the program to end.
    """

    rows: pl.DataFrame
    samples: pl.DataFrame
    gauges: pl.DataFrame
    facts: PagedRunFacts
    warnings: list[str]
    disagreements: list[str]
    exit_code: int
    interrupted: bool

    def _leading(self) -> pl.DataFrame:
        from clockhand.studies.programs.findings import busiest, processes_for_people

        return processes_for_people(busiest(self.rows))

    def _answer(self) -> list[str]:
        from clockhand.studies.programs.findings import run_findings

        return run_findings(self.rows, self.facts)

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.programs.report import render

        return render(self.rows, self.samples, self.gauges, self.facts)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.programs.report import specifications

        return specifications(self.rows, self.samples, self.gauges)
