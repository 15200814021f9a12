"""One program under several policies and under the kernel's own swap, with equal memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.canvas import Spec
from clockhand.report.reported import Reported
from clockhand.studies.programs.findings import KERNEL, compared_device_reads, not_comparable
from clockhand.studies.programs.options import OPTIONS
from clockhand.studies.programs.plan import Prepared
from clockhand.studies.programs.samples import Live
from clockhand.studies.programs.streams import standard_input
from clockhand.studies.programs.turns import COMPARED_SAMPLE_SCHEMA, COMPARISON_SCHEMA, Turns
from clockhand.study.calls import in_python
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import PagedRunFacts
from clockhand.study.limits import check_range
from clockhand.study.records import Record
from clockhand.study.selections import entries

MOST_RUNS = 1000


@dataclass(frozen=True, repr=False)
class PagedComparison(Reported):
    """What a program did under each contender.

    Attributes:
        rows: One row per contender and run, with the columns of :data:`COMPARISON_SCHEMA`.

        samples: Counts while each contender's first run went on.

        facts: How the runs were made, for a report.

        warnings: What went wrong without ending the comparison, one sentence each.

        exit_code: The first that was not 0, else 0.

        interrupted: Whether a signal asked the program to end, so that runs are missing.
    """

    rows: pl.DataFrame
    samples: pl.DataFrame
    facts: PagedRunFacts
    warnings: list[str]
    exit_code: int
    interrupted: bool

    def _leading(self) -> pl.DataFrame:
        from clockhand.studies.programs.findings import comparison_for_people

        return comparison_for_people(self.rows)

    def _answer(self) -> list[str]:
        from clockhand.studies.programs.findings import comparison_findings

        return comparison_findings(self.rows)

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.programs.report import (
            render_comparison,
        )

        return render_comparison(self.rows, self.samples, self.facts)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.programs.report import comparison_specifications

        return comparison_specifications(self.rows, self.samples)


def contenders(text: str) -> list[str]:
    """Return the names in ``clock,craw:c=8,ghosts=literal,kernel``, parameters with their policy.

    Raises:
        UsageError: one is empty.
    """
    return list(dict.fromkeys(entries("compare", text)))


@in_python(*OPTIONS, renamed={"compare": "policies", "swap_in_ram": "swap=None"})
def compare(
    command: Sequence[str],
    *,
    policies: Sequence[str],
    repeat: int = 1,
    live: Live | None = None,
    tell: Callable[[str], None] | None = None,
    made_by: str | None = None,
    **options: object,
) -> PagedComparison:
    """Run a program once per policy, with the same memory and swap.

    What it writes to standard output goes to ours in the first run; later runs must write the same.
    Standard input that can be read once is read to its end first, and given to every run.

    Args:
        command: The program and its arguments.

        policies: Bit-driven policies with parameters, at least one, and ``"kernel"`` for the
            kernel's own swap, in a memory cgroup, which is always run last.

        repeat: How often, in turns.

        live: Opens what is called four times a second with the processes' statistics.

        tell: Called with a sentence before each run.

        made_by: The command line for the facts; the equivalent one if not given.

        options: Memory, swap and so on, and how programs are paged.

    Raises:
        UsageError: something is unknown, out of range or contradictory, or cannot be paged.
        ClockhandError: this machine refuses, or no process was paged.
    """
    check_range("repeat", repeat, 1, MOST_RUNS)
    paged = [policy for policy in policies if policy != KERNEL]
    if not paged:
        raise UsageError(
            option("compare")
            + f" names no policy, and the {KERNEL} gets as much memory as a policy uses",
            "add one, such as clock",
        )
    prepared = Prepared.of(command, paged, options)
    with standard_input() as given:
        turns = Turns(prepared.program, prepared.settings, prepared.planned, given, live)
        turns.run(paged, KERNEL in policies, repeat, tell)
    order = {policy: place for place, policy in enumerate(policies)}
    rows = sorted(turns.rows, key=lambda row: (order[row["policy"]], row["run"]))
    table = pl.DataFrame(rows, schema=COMPARISON_SCHEMA)
    return PagedComparison(
        rows=table,
        samples=pl.DataFrame(turns.samples, schema=COMPARED_SAMPLE_SCHEMA),
        facts=prepared.facts(
            turns.ended[0],
            command=made_by or prepared.equivalent(compare=",".join(policies), repeat=repeat),
            notes=turns.notes,
        ),
        warnings=[
            *turns.warnings,
            *compared_device_reads(table),
            *differing_output(rows),
            *not_comparable(table),
        ],
        exit_code=next((row["exit_code"] for row in rows if row["exit_code"]), 0),
        interrupted=turns.interrupted,
    )


def differing_output(rows: Sequence[Record]) -> list[str]:
    """Return a sentence for each run that wrote otherwise than the first."""
    known = [row for row in rows if row["problem"] is None]
    sentences = []
    for row in known[1:]:
        which = f"run {row['run']} under {row['policy']}"
        first = f"run {known[0]['run']} under {known[0]['policy']}"
        if row["output_sha256"] != known[0]["output_sha256"]:
            sentences.append(f"{which} wrote other output than {first}; only the latter was shown")
    return sentences
