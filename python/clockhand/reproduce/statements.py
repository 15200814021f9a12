"""Tables of judged claims: one row each, statements over their readings, and thresholds of ours."""

from collections.abc import Callable, Collection, Iterable, Mapping

import polars as pl

from clockhand.report.words import unique
from clockhand.reproduce.judge import Claim, judged_at, judged_within
from clockhand.reproduce.rules import Verdict
from clockhand.study.records import Record


def claim_table(claims: Collection[Claim]) -> pl.DataFrame:
    """Return claims as a table, a row each."""
    columns: Mapping[str, Callable[[Claim], str]] = {
        "claim": lambda claim: claim.key,
        "statement": lambda claim: claim.statement,
        "place": lambda claim: claim.place,
        "reading": lambda claim: claim.reading,
        "verdict": lambda claim: str(claim.verdict),
        "counted": lambda claim: f"no, {claim.uncounted}" if claim.uncounted else "yes",
        "paper": lambda claim: claim.paper,
        "found": lambda claim: claim.found,
        "quote": lambda claim: claim.quote,
    }
    texts = {
        name: [text(claim).replace("\u00a0", " ") for claim in claims]
        for name, text in columns.items()
    }
    return pl.DataFrame(texts)


DECIDED = (Verdict.CONTRADICTED, Verdict.SIGN, Verdict.DIRECTION, Verdict.REPRODUCED)
"""Verdicts that say for or against, the worst first."""

JUDGED = (Verdict.INCONCLUSIVE, *DECIDED)
"""Verdicts about numbers."""


def statements(claims: Collection[Claim]) -> pl.DataFrame:
    """Return what the paper says, a row each, and in how many of its readings it holds.

    Returns:
        The columns statement, place, paper, holds (``k of n readings``: reproduced in k of the n
        that have a verdict about numbers), as_written, best and worst (their verdict and numbers),
        each followed by how it reads (``best_reading``). As written is the reading that follows the
        paper's own words: the first in the file, unless another one is marked. Best and worst are
        by verdict, then by number; what is inconclusive is neither, unless all readings are. What
        is not counted, or testable in no reading, has no row.
    """
    rows = []
    every = by_statement(claim for claim in claims if not claim.uncounted)
    for statement, readings in _judged(claims).items():
        decided = [claim for claim in readings if claim.verdict in DECIDED] or readings
        ranked = sorted(decided, key=lambda it: (JUDGED.index(it.verdict), it.support))
        as_written = next((it for it in every[statement] if it.as_written), every[statement][0])
        held = _held(readings)
        worst, best = ranked[0], ranked[-1]
        many = "reading" if len(readings) == 1 else "readings"
        papers = unique(claim.paper for claim in readings)
        rows.append({
            "statement": statement,
            "place": readings[0].place,
            "paper": "; ".join(paper for paper in papers if paper),
            "holds": f"{held} of {len(readings)} {many}",
            **_end("as_written", as_written),
            **_end("best", best),
            **_end("worst", worst if len(decided) > 1 else None),
        })  # fmt: skip
    columns = (
        "statement", "place", "paper", "holds", "as_written", "as_written_reading", "best",
        "best_reading", "worst", "worst_reading",
    )  # fmt: skip
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String))


def headline(paper: str, claims: Collection[Claim]) -> str:
    """Return how many rows of :func:`statements` hold in every reading, in some and in none."""
    judged = _judged(claims).values()
    held = [(_held(readings), len(readings)) for readings in judged]
    everywhere = sum(count == of for count, of in held)
    some = sum(0 < count < of for count, of in held)
    none = len(held) - everywhere - some
    said = f"{paper}: {everywhere} of {len(held)} statements hold in every reading"
    return said + (f", {some} in some" if some else "") + (f", {none} in none" if none else "")


def by_statement(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    """Return the readings of each statement, in the order of the claims."""
    found: dict[str, list[Claim]] = {}
    for claim in claims:
        found.setdefault(claim.statement, []).append(claim)
    return found


def _judged(claims: Collection[Claim]) -> dict[str, list[Claim]]:
    """The readings that have a verdict about numbers, without what is not counted."""
    return by_statement(
        claim for claim in claims if claim.verdict in JUDGED and not claim.uncounted
    )


def _held(readings: Collection[Claim]) -> int:
    return sum(claim.verdict is Verdict.REPRODUCED for claim in readings)


def _end(name: str, claim: Claim | None) -> dict[str, str]:
    """The verdict and the numbers of a reading, and how it reads."""
    told = f"{claim.verdict}: {claim.found}".replace("\u00a0", " ") if claim else ""
    return {name: told, f"{name}_reading": claim.reading if claim else ""}


def counted(claims: Collection[Claim]) -> dict[Verdict, int]:
    """Return how many claims that are counted have which verdict."""
    return {
        verdict: sum(claim.verdict is verdict for claim in claims if not claim.uncounted)
        for verdict in Verdict
    }


def thresholds(paper: str, tables: Record) -> pl.DataFrame:
    """Return what becomes of claims if a threshold of ours is another one.

    A claim names such thresholds in ``curve``, with the values that are tried.

    Args:
        paper: The paper's short name.
        tables: What claims are judged by.

    Returns:
        The columns claim, statement, threshold, value, ours (``yes`` for the value that is judged
        by), verdict and found; a row for each value.
    """
    rows = [
        {
            "claim": claim.key,
            "statement": claim.statement,
            "threshold": name,
            "value": f"{value:g}",
            "ours": "yes" if is_ours else "no",
            "verdict": str(claim.verdict),
            "found": claim.found.replace("\u00a0", " "),
        }
        for claim, name, value, is_ours in judged_at(paper, tables)
    ]
    columns = ("claim", "statement", "threshold", "value", "ours", "verdict", "found")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String))


def rule_thresholds(paper: str, tables: Record) -> pl.DataFrame:
    """Return how many claims have which verdict if a threshold of the rules is another one.

    Args:
        paper: The paper's short name.
        tables: What claims are judged by.

    Returns:
        The columns threshold, value, ours (``yes`` for the value that is judged by) and one for
        each verdict; a row for each value. Claims that are not counted, or that nothing here can
        judge, are left out.
    """
    rows = [
        {
            "threshold": name,
            "value": f"{value:g}",
            "ours": "yes" if is_ours else "no",
            **{str(verdict): verdicts.count(verdict) for verdict in Verdict},
        }
        for name, value, is_ours, verdicts in judged_within(paper, tables)
    ]
    return pl.DataFrame(rows)
