"""Which series a figure emphasises; the others are grey, and named under the pointer."""

from collections.abc import Iterable, Mapping, Sequence

from clockhand.report.appearance import is_muted
from clockhand.report.words import unique
from clockhand.study.selections import MOST_HIGHLIGHTED, matching

MOST_EMPHASISED = MOST_HIGHLIGHTED
BEST = 3
"""The number of the best that are emphasised where not all series can be."""


def kept(
    series: Sequence[str], best_first: Iterable[str], always: Iterable[str], named: Iterable[str]
) -> list[str]:
    """Return what every figure names: what the user wants to see, what the others are compared
    with, and the best one.

    Args:
        series: All of them.
        best_first: Those that can be recommended, the best one first.
        always: What the others are compared with.
        named: What the user wants to see, as ``--highlight`` names it.
    """
    wanted = unique([*matching(named, series), *always, *list(best_first)[:1]])
    return [name for name in wanted if name in series][:MOST_EMPHASISED]


def emphasised(
    series: Sequence[str], best_first: Iterable[str], always: Iterable[str], named: Iterable[str]
) -> list[str]:
    """Return the series that are emphasised, at most six, in the order of ``series``.

    The arguments are those of :func:`kept`; if there are no more than six series, all are
    emphasised.
    """
    best = list(best_first)
    return _chosen(series, [*kept(series, best, always, named), *best[:BEST]])


def in_figure(
    heights: Mapping[str, float], always: Sequence[str], *, most_is_best: bool
) -> list[str]:
    """Return the series that one figure emphasises: by what differs there.

    Those are the ones that every figure names, the best three that can run, and the worst.

    Args:
        heights: The mean height of each line, in the order of the legend.
        always: What every figure names.
        most_is_best: Whether more is better.
    """
    ranked = sorted(heights, key=heights.__getitem__, reverse=most_is_best)
    can_run = [name for name in ranked if not is_muted(name)]
    return _chosen(list(heights), [*always, *can_run[:BEST], *ranked[-1:]])


def _chosen(series: Sequence[str], wanted: Iterable[str]) -> list[str]:
    if len(series) <= MOST_EMPHASISED:
        return list(series)
    chosen = [name for name in unique(wanted) if name in series][:MOST_EMPHASISED]
    return [name for name in series if name in chosen]
