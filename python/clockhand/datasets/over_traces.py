"""Is one better than the other over these traces? Paired tests, intervals, and words for both."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import ClassVar

import polars as pl

from clockhand.datasets.comparison import Comparison, word_of
from clockhand.datasets.layout import DATASET, LAYOUTS, PAGES, Layout
from clockhand.datasets.paired import least_p, mean_interval, mean_ranks, pairs_needed
from clockhand.datasets.pairs import ALPHA, Pair, logs_by_trace, pairs_of
from clockhand.report.canvas import Canvas, Spec
from clockhand.report.comparisons import Strip, ranks_chart, strips_chart
from clockhand.report.scales import MOST_IS_BEST, ratio_text
from clockhand.study.calls import in_python
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import base_names
from clockhand.study.intervals import cells_of
from clockhand.study.phrases import all_of
from clockhand.study.records import Record

FEW_TRACES = 10
"""With fewer, an interval by bootstrap is rough, as it knows no trace that is worse than these."""

MOST_SENTENCES = 6
"""Differences, and pairs without one, that are told; all are in the table."""

COMPARED = "compared"
"""The column of what is compared, in rows of every study."""

CANNOT_RUN = ("offline", "bound")
"""Kinds of policies that know the future, or are no policies: nobody chooses between them."""


class OverTraces(Comparison):
    """What traces say of those that ran on all of them.

    Attributes:
        rows: One row per pair, with the fields of :class:`Pair` and whether a difference is shown.
        ranks: The mean rank of each over the traces, the best first.
        traces: The traces that all of them have a value on.
        facts: How the values were made.
    """

    captions: ClassVar[Mapping[str, tuple[str, str]]] = {
        "mean_ranks": (
            "Who is ahead of whom",
            "A bar joins those between which no difference is shown (Wilcoxon's signed ranks, "
            "Holm's correction, 5 %).",
        ),
        "ratios": (
            "By how much, trace by trace",
            "A tick is a trace; the dot is the geometric mean, with its interval by bootstrap over "
            "traces.",
        ),
    }
    slug = "over-traces"
    part_title = "Over the traces"

    def __init__(
        self,
        pairs: Sequence[Pair],
        ranks: Mapping[str, float],
        logs: Mapping[str, Sequence[float]],
        traces: Sequence[str],
        left_out: Sequence[str],
        word: str,
        facts: Record | None,
        against: str | None = None,
    ) -> None:
        self.pairs = list(pairs)
        self.ranks = dict(ranks)
        self.traces = list(traces)
        self.facts = facts
        self._logs = logs
        self._left_out = list(left_out)
        self._word = word
        self._against = against
        self.printed = self.rows = pl.DataFrame(
            {
                "first": [pair.first for pair in pairs],
                "second": [pair.second for pair in pairs],
                "ratio": [pair.ratio for pair in pairs],
                "ratio_low": [pair.low for pair in pairs],
                "ratio_high": [pair.high for pair in pairs],
                "traces_ahead": [pair.ahead for pair in pairs],
                "traces_behind": [pair.behind for pair in pairs],
                "p": [pair.p for pair in pairs],
                "p_holm": [pair.corrected for pair in pairs],
                "is_shown": [pair.is_shown for pair in pairs],
            }
        )

    @property
    def heading(self) -> str:
        """What the table of all pairs is."""
        return f"{self._word} over {len(self.traces)} traces, pair by pair"

    def sentences(self) -> list[str]:
        """Return what can be said, and what cannot."""
        traces, tests = len(self.traces), len(self.pairs)
        said: list[str] = []
        shown = self._shown()
        for pair in shown[:MOST_SENTENCES]:
            of = f"on {pair.ahead} of {traces} traces"
            corrected = f", {_p(pair.corrected)} corrected for {tests} pairs" if tests > 1 else ""
            said.append(
                f"Over these {traces} traces {pair.first} is better than {pair.second}: "
                f"{self._word} {ratio_text(pair.ratio)} times (95 % interval "
                f"{ratio_text(pair.low)} to {ratio_text(pair.high)}), {of}; "
                f"p = {_p(pair.p)}{corrected}."
            )
        if len(shown) > MOST_SENTENCES:
            said.append(f"{len(shown) - MOST_SENTENCES} more differences are in the table.")
        if least_p(traces) * tests > ALPHA:
            said.append(
                f"{traces} traces are too few to show any difference among "
                f"{len(self.ranks)}: even if one is always ahead, p is {_p(least_p(traces))}, "
                f"{_p(min(1.0, least_p(traces) * tests))} corrected for "
                f"{tests} {'pair' if tests == 1 else 'pairs'}; it takes "
                f"{pairs_needed(tests, ALPHA)} traces{self._fewer()}."
            )
        else:
            said += self._undecided()
        said += [*self._limits(), *self._left_out]
        return said

    def _shown(self) -> list[Pair]:
        """Return the pairs with a difference, those of the best first."""
        names = list(self.ranks)
        shown = [pair for pair in self.pairs if pair.is_shown]
        return sorted(shown, key=lambda pair: (names.index(pair.first), names.index(pair.second)))

    def _headline(self) -> str:
        """Return in a line of how many others something is shown to be better."""
        shown, others = self._shown(), len(self.ranks) - 1
        over = f"over {len(self.traces)} traces"
        best = self._against or next(iter(self.ranks))
        ahead = sum(pair.first == best for pair in shown)
        behind = sum(pair.second == best for pair in shown)
        if self._against is not None and (behind or not ahead):
            return f"{behind} of {others} are shown to be better than {best} {over}"
        if ahead:
            return f"{best} is shown to be better than {ahead} of {others} others {over}"
        if shown:
            return f"{len(shown)} of {len(self.pairs)} pairs are shown to differ {over}"
        return f"No difference is shown among {others + 1} {over}"

    def _fewer(self) -> str:
        """Return the way to fewer pairs, if there is one, as the end of a sentence."""
        one = len(self.ranks) - 1
        if self._against is not None or one == len(self.pairs):
            return ""
        return f", or {pairs_needed(one, ALPHA)} if each is compared with one alone"

    def _undecided(self) -> list[str]:
        open_pairs = [pair for pair in self.pairs if not pair.is_shown]
        if not open_pairs:
            return []
        named = all_of(f"{pair.first} and {pair.second}" for pair in open_pairs[:MOST_SENTENCES])
        more = len(open_pairs) - MOST_SENTENCES
        others = f", nor in {more} more pairs" if more > 0 else ""
        return [
            f"No difference is shown between {named}{others}. That does not say that they are "
            "equal."
        ]

    def _limits(self) -> list[str]:
        rough = " Intervals from so few are rough." if 1 < len(self.traces) < FEW_TRACES else ""
        return [
            "This is about these traces: they were chosen and not drawn at random, and each counts "
            f"as independent of the others.{rough}"
        ]

    def groups(self) -> list[tuple[float, float]]:
        """Return the ranks of the largest groups in which no pair differs, least and greatest."""
        differing = {frozenset((pair.first, pair.second)) for pair in self.pairs if pair.is_shown}
        names = list(self.ranks)
        found: list[tuple[int, int]] = []
        for start in range(len(names)):
            end = start
            while end + 1 < len(names) and not any(
                frozenset((names[end + 1], name)) in differing for name in names[start : end + 1]
            ):
                end += 1
            if end > start and not any(end <= other for _, other in found):
                found.append((start, end))
        ranks = list(self.ranks.values())
        return [(ranks[start], ranks[end]) for start, end in found]

    def _about(self) -> tuple[str, str, Sequence[str], str]:
        traces = len(self.traces)
        return (
            "a comparison over traces",
            self._headline(),
            self.sentences(),
            f"{traces} traces, one value each: the geometric mean over the sizes and settings that "
            "all of them ran with.",
        )

    def _figures(self, canvas: Canvas) -> dict[str, Spec]:
        label = f"{len(self.traces)} traces"
        title = f"Mean rank of the {self._word} over {label}"
        best = self._against or next(iter(self.ranks))
        strips = []
        for name in self.ranks:
            logs = [a - b for a, b in zip(self._logs[name], self._logs[best], strict=True)]
            low, high = mean_interval(logs)
            interval = None if name == best else (math.exp(low), math.exp(high))
            strips.append(
                Strip(name, math.exp(statistics.fmean(logs)), interval, list(map(math.exp, logs)))
            )
        of_best = f"{self._word} over that of {best}"
        ratios = strips_chart(
            strips,
            canvas,
            title=f"{of_best}, trace by trace",
            axis_title=of_best if canvas.on_page else f"{of_best}: each trace, mean, 95 % interval",
            label=label,
        )
        if self._against is not None:
            # Of the other pairs it is not known whether they differ.
            return {"ratios": ratios}
        ranks = ranks_chart(self.ranks, self.groups(), canvas, title=title, label=label)
        return {"mean_ranks": ranks, "ratios": ratios}


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"


@in_python()
def over_traces(
    rows: pl.DataFrame,
    *,
    compared: str = "policy",
    value: str = "io_time_us",
    against: str | None = None,
    settings: Sequence[str] | None = None,
    facts: Record | None = None,
) -> OverTraces:
    """Compare what ran on the same traces, pair by pair.

    A trace is one observation: its value is the geometric mean over all sizes and settings that
    were run on it. What cannot run (``kind`` offline or bound) is left out.

    Args:
        rows: Result rows of any study.

        compared: The column of what is compared.

        value: The column that decides; less is better, but for hits, lives and the like.

        against: The one that all others are compared with; all pairs if not given.

        settings: The columns that tell the rows of a trace apart; those of sizes, devices and other
            dimensions of studies if not given.

        facts: How the rows were made, for a report.

    Raises:
        UsageError: a column is missing, or there are not two to compare on two traces.
    """
    missing = [name for name in ("trace", compared, value) if name not in rows.columns]
    if missing:
        raise UsageError(f"the rows have no column {missing[0]!r}", "name one that they have")
    if settings is None:
        every = dict.fromkeys(name for one in LAYOUTS.values() for name in dimensions(one))
        known = (name for name in every if name in rows.columns)
        settings = [name for name in known if name not in (compared, f"{compared}_resolved")]
    can_run = rows
    if "kind" in rows.columns:
        can_run = rows.filter(~pl.col("kind").is_in(CANNOT_RUN).fill_null(False))
    names = can_run[compared].unique(maintain_order=True).to_list()
    logs, left_out = logs_by_trace(can_run, compared, value, settings, names)
    if len(names) < 2 or len(logs) < 2:
        raise UsageError(
            f"there are {len(names)} to compare, and traces that all of them ran on: {len(logs)}",
            "run at least two on the same two traces",
        )
    if against is not None and against not in names:
        raise UsageError(
            option("against") + f" {against!r} is not compared", f"there are: {all_of(names)}"
        )
    sign = -1 if value.endswith(MOST_IS_BEST) else 1
    by_name = {name: [of_trace[name] for of_trace in logs.values()] for name in names}
    ranks = mean_ranks([[sign * of_trace[name] for name in names] for of_trace in logs.values()])
    ordered = dict(sorted(zip(names, ranks, strict=True), key=lambda entry: entry[1]))
    short = base_names(list(logs))
    return OverTraces(
        pairs=pairs_of(by_name, sign, against),
        ranks=ordered,
        logs=by_name,
        traces=[short[trace] for trace in logs],
        left_out=left_out,
        word=word_of(value),
        facts=facts,
        against=against,
    )


def dimensions(layout: Layout) -> list[str]:
    """Return the columns that tell the rows of one trace apart, beside what is compared."""
    of_label = {*layout.label.meta.root_names(), "policy_resolved", "policy_place"}
    listed = (*layout.order, *(layout.key if layout is PAGES else ()))
    own = {*DATASET, *of_label}
    return [name for name in dict.fromkeys(listed) if name not in own]


def dataset_over_traces(
    rows: pl.DataFrame, facts: Record, layout: Layout, against: str | None = None
) -> OverTraces:
    """Compare what a dataset's cells compare, over its traces.

    Raises:
        UsageError: its study compares nothing, or there are not two to compare on two traces.
    """
    if layout.study.contender is None:
        raise UsageError(
            f"{layout.study.name} compares nothing", "there is nothing better or worse"
        )
    cells = cells_of(rows)
    shown, settings = layout.shown(cells), layout.setting(cells)
    beside = settings.rename({name: f"option_{name}" for name in settings.columns})
    together = pl.concat([shown, beside], how="horizontal").with_columns(
        layout.label.alias(COMPARED)
    )
    known = [name for name in dimensions(layout) if name in together.columns]
    return over_traces(
        together,
        compared=COMPARED,
        value=layout.value,
        against=against,
        settings=[*known, *beside.columns],
        facts=facts,
    )
