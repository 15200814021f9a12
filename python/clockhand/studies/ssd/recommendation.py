"""Which write buffer, and how large: the frontier of sizes, its knee, what lives long enough."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import Reported
from clockhand.studies.ssd.recommendation_sentences import Sentences
from clockhand.studies.ssd.result import SsdRun
from clockhand.studies.ssd.run import run_ssd
from clockhand.studies.ssd.sizes import frontier_of, sizes_of, smallest_that_lives, table_of
from clockhand.studies.ssd.time_findings import BASELINE
from clockhand.study.calls import READING, RUN, arguments, in_python
from clockhand.study.errors import UsageError, option
from clockhand.study.knee import knee
from clockhand.study.options import names_of, options_of
from clockhand.study.policies import settings_of
from clockhand.study.selections import expanded
from clockhand.traces import OneTrace

DEFAULT_SIZES = ("1%", "2%", "5%", "10%", "20%")
"""Of the trace's footprint, for buffers that are given without a size."""

OF_DRIVES = (
    "precondition", "map", "repeat", "endurance", "timed", "arrivals", "clamp_times", "seed",
)  # fmt: skip
"""Options of ``ssd`` that a recommendation takes too."""


@dataclass(frozen=True, repr=False)
class BufferRecommendation(Reported):
    """The answer, and what it rests on.

    Attributes:
        buffer: The recommended buffer with its size.

        sentences: The choice and by how much, what other sizes give, erases, latency and life.

        sizes: A row per size with the columns of :data:`SIZES_SCHEMA`: which buffer writes the
            fewest pages to flash, which erases the fewest blocks, which has the shortest p99 of
            writes and which lives longest. The first row's ``answer`` has the sentences.

        run: The result of every buffer at every size.

        rows: Its rows.
    """

    buffer: str
    sentences: tuple[str, ...]
    sizes: pl.DataFrame
    run: SsdRun

    compared_by = "buffer"

    @property
    def rows(self) -> pl.DataFrame:  # type: ignore[override]
        """The rows of every buffer at every size."""
        return self.run.rows

    @property
    def warnings(self) -> list[str]:
        """What the readers passed over or assumed, one sentence each."""
        return self.run.warnings

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return the frontiers, and every figure of the run, in Vega-Lite by their keys."""
        from clockhand.studies.ssd.report import specifications

        return specifications(self.run.tables(self.rows), highlight, self.sizes)

    def __str__(self) -> str:
        """Return what the command says first."""
        return "\n".join(self.sentences)

    def _answer(self) -> Sequence[str]:
        return self.sentences

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.ssd.report import render

        return render(self.run.tables(self.rows), highlight, self.sizes, self.sentences)

    def _leading(self) -> pl.DataFrame:
        return self.sizes.select(
            "buffer_bytes", "best", "host_writes", "next_best", "next_best_host_writes",
            "lru_host_writes", "is_knee",
        )  # fmt: skip


@in_python(*arguments("ssd", OF_DRIVES), *RUN, *READING)
def recommend_buffer(
    trace: OneTrace,
    *,
    ssd: str | os.PathLike[str] = "dnv-textbook",
    buffers: str | Sequence[str] = "all",
    years: float | None = None,
    **options: object,
) -> BufferRecommendation:
    """Say which write buffer suits a trace and a drive, and how large it should be.

    Every buffer runs at every size, with what is left dirty written at the end, so that no buffer
    hides pages. The frontier is the fewest pages to flash that each size allows, and the
    recommended size is its knee, or the smallest that lives long enough.

    Args:
        trace: The trace, as :class:`Trace` or as a path.

        ssd: The drive with options, or a TOML file.

        buffers: Buffers as :func:`run_ssd` takes them, with lists and ranges of sizes. Those
            without a size get 1, 2, 5, 10 and 20 % of the footprint. ``lru`` is compared at every
            size.

        years: How long the flash is to live at the trace's rate; then the smallest size that does
            is recommended. Years need a steady run.

        options: Those of the drive, of the run, and how a path is read.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: the trace or the drive's file cannot be read.
    """
    if years is not None and not years > 0:
        raise UsageError(option("years") + f" {years} is no time to live", "give a number above 0")
    if len(options_of("ssd")["arrivals"].checked(options.get("arrivals"))) > 1:
        raise UsageError(
            "a recommendation is for one kind of arrivals", "give " + option("arrivals") + " once"
        )
    run: SsdRun = run_ssd(trace, buffers=candidates(buffers), ssds=ssd, drain=True, **options)
    if run.rows["ssd"].n_unique() > 1 or run.rows["trace"].n_unique() > 1:
        raise UsageError("a recommendation is for one trace and one drive", "give one of each")
    return _answer(run, years)


def candidates(buffers: str | Sequence[str]) -> list[str]:
    """Return each buffer with each of its sizes, and ``lru`` at every size.

    Raises:
        UsageError: a pattern matches nothing, or no buffer is given.
    """
    expansion = expanded("buffer", buffers, names_of("write_buffers"))
    given = [text for text in expansion if text != "none"]
    if not given:
        raise UsageError(
            "no write buffer is given",
            "add " + option("buffer") + " NAME:total=SIZE, or leave it out",
        )
    sized = [
        with_size
        for text in given
        for with_size in (
            [text] if _total(text) else [_sized(text, total) for total in DEFAULT_SIZES]
        )
    ]
    totals = dict.fromkeys(total for text in sized if (total := _total(text)))
    compared = [_sized(BASELINE, total) for total in totals]
    return list(dict.fromkeys([*sized, *compared]))


def _total(buffer: str) -> str | None:
    found = [part for part in settings_of(buffer) if part.startswith("total=")]
    return found[0].removeprefix("total=") if found else None


def _sized(buffer: str, total: str) -> str:
    return _engine.buffer_with_total(buffer, total)


def _answer(run: SsdRun, years: float | None) -> BufferRecommendation:
    sizes = sizes_of(run.rows)
    frontier = frontier_of(sizes)
    bend = knee([size.pages for size in frontier], [size.best["host_writes"] for size in frontier])
    bent = next((size for size in frontier if size.pages == bend), frontier[-1])
    lives = None if years is None else smallest_that_lives(sizes, years)
    chosen, row = lives or (bent, bent.best)
    found = Sentences(run, sizes, chosen, row)
    sentences = (
        found.choice(),
        *found.neighbours(bend == chosen.pages),
        *found.erases(),
        *found.latency(),
        *found.life(years),
        *found.memory(),
        *found.warnings(),
    )
    table = table_of(sizes, frontier, bend, row, sentences)
    return BufferRecommendation(row["buffer"], sentences, table, run)
