"""Which series a figure emphasises; the others are grey, and named under the pointer."""

from collections.abc import Iterable, Sequence

from clockhand.report.words import unique
from clockhand.study.selections import MOST_HIGHLIGHTED, matching

MOST_EMPHASISED = MOST_HIGHLIGHTED
BEST = 3
"""The number of the best that are emphasised where not all series can be."""


def emphasised(
    series: Sequence[str], best_first: Iterable[str], always: Iterable[str], named: Iterable[str]
) -> list[str]:
    """Return the series that are emphasised, at most six, in the order of ``series``.

    Args:
        series: All of them; if there are no more than six, all are emphasised.

        best_first: Those that can be recommended, the best one first.

        always: What the others are compared with.

        named: What the user wants to see, as ``--highlight`` names it.
    """
    if len(series) <= MOST_EMPHASISED:
        return list(series)
    wanted = unique([*matching(named, series), *always, *list(best_first)[:BEST]])
    chosen = [name for name in wanted if name in series][:MOST_EMPHASISED]
    return [name for name in series if name in chosen]
