"""A recommendation: the answer, what it rests on, and its figures and report."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.canvas import Spec
from clockhand.report.reported import Reported
from clockhand.study.columns import schema
from clockhand.study.facts import Facts, printable

SITUATION_SCHEMA = schema("pages situations")
"""Names, order and types of the columns of :attr:`Recommendation.situations`."""


@dataclass(frozen=True, repr=False)
class Recommendation(Reported):
    """The answer, and what it rests on.

    Attributes:
        policy: The recommended policy.

        sentences: The choice and by how much; how far the bound is; how robust it is; which
            policy loses least where it loses most, if it is another one; and, where the trace can
            be read again, how the choice of its first half does on the second.

        situations: One row for the question as asked and for each of its variations, with the
            columns of :data:`SITUATION_SCHEMA`: what the recommended policy and the best one need
            there. The first row's ``answer`` has the sentences.

        rows: The result rows at the memory size asked for, with the columns of ``simulate``.

        warnings: What the reader passed over or assumed, one sentence each.
        cells: The result rows at half and at double that size too.
        facts: How the rows were made, for a report.
    """

    policy: str
    sentences: tuple[str, ...]
    situations: pl.DataFrame
    rows: pl.DataFrame
    warnings: list[str]
    cells: pl.DataFrame
    facts: Facts

    compared_by = "policy"

    def specification(self) -> Spec:
        """Return the I/O times of all policies at the memory size asked for, in Vega-Lite."""
        from clockhand.studies.pages.charts import recommendation_chart

        return recommendation_chart(self.rows, self.policy)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return the I/O times, and every figure of the report, in Vega-Lite by their keys."""
        from clockhand.studies.pages.charts import specifications

        figures = specifications(self.cells, self.facts, [self.policy, *highlight])
        return {"recommendation": self.specification(), **figures}

    def __str__(self) -> str:
        """Return what the command says first."""
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        return f"Recommendation: {self.sentences[0]}"

    def _answer(self) -> Sequence[str]:
        return self.sentences

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.report.table import plain_table
        from clockhand.studies.pages.report import Answer, render

        asked = self.situations.row(0, named=True)
        times = {
            "best_io_time_us": "I/O time (µs)",
            "recommended_io_time_us": f"{self.policy} (µs)",
            "bound_io_time_us": "lower bound (µs)",
        }
        shown = self.situations.select(
            "situation", "frames", pl.col("write_read_ratio").alias("a write costs (reads)"),
            "best", *times,
        )  # fmt: skip
        # The distance to the bound interests fewer readers than the choice if one is not sure.
        choice, distance, *others = self.sentences
        answer = Answer(
            f"Take {self.policy} with {asked['frames']:,} frames on {asked['device']}",
            printable([choice, *others, distance]),
            plain_table(shown, times),
        )
        return render(self.cells, self.facts, [self.policy, *highlight], answer=answer)

    def _leading(self) -> pl.DataFrame:
        return self.situations.select(
            "situation", "frames", "write_read_ratio", "best", "best_io_time_us",
            "recommended_io_time_us",
        )  # fmt: skip
