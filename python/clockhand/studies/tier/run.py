"""Two tiers of memory: traces under fast and slow memory that is loaded from in place."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.study.calls import in_python
from clockhand.study.columns import schema
from clockhand.study.facts import Facts
from clockhand.study.progress import Watching
from clockhand.study.run import Ran, Study, run_study
from clockhand.traces import READING, Reading, Traces

TIER_SCHEMA = schema("tier")
"""Names, order and types of the columns of a result."""

COURSE_SCHEMA: Mapping[str, pl.DataType] = dict.fromkeys(
    (
        "course_references", "course_fast_hits", "course_promotions", "course_demotions",
        "course_group_pages", "course_fast_pages",
    ),
    pl.List(pl.UInt64()),
)  # fmt: skip
"""Columns that a dataset keeps beside those of a result: what happened over time."""

Listed = int | float | str | Iterable[int] | Iterable[float] | Iterable[str]
"""One value, several, or a text of several with commas between them."""


@dataclass(frozen=True)
class Tiering(ReportedRows):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, page size, fast size, policy, promotion, tiers,
            with the columns of :data:`TIER_SCHEMA`. Times are in nanoseconds. The row of ``bound``
            has references and times alone.
        courses: What happened over time, one row per row of ``rows``: lists over windows of about
            the same number of references (their ends, and what is found in fast memory, promoted
            and demoted in each), and over groups of pages, those referenced most often first (how
            many, and how many are in fast memory at the end of each window; null where that was
            not looked at). The lists of ``bound`` are empty.
        facts: Command, version, trace hashes, tiers and policies, for a report.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    rows: pl.DataFrame
    courses: pl.DataFrame
    facts: Facts
    warnings: list[str]

    leading = (
        "trace", "policy", "promote", "fast_frames", "tiers", "fast_share", "promotions",
        "demotions", "mean_ns",
    )  # fmt: skip

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.tier.report import render

        return render(self.rows, self.courses, self.facts, highlight)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.tier.report import specifications

        return specifications(self.rows, self.courses, self.facts, highlight)


def _made(ran: Ran) -> Tiering:
    courses = pl.DataFrame(ran.result["courses"], schema=COURSE_SCHEMA)
    rows = ran.rows.drop(COURSE_SCHEMA, strict=False)  # A dataset keeps both together.
    return Tiering(rows, courses, ran.facts, ran.warnings)


def _courses(rows: pl.DataFrame) -> Mapping[str, Any]:
    """The courses of rows that have them beside their columns, as the engine's result has them."""
    return {"courses": rows.select(list(COURSE_SCHEMA)).to_dicts()}


TIER = Study(
    name="tier",
    command="tier",
    engine=_engine.tier,
    made=_made,
    grid=("page_size", "fast|fast_frames", "policy", "promote", "tiers"),
    beside=lambda: COURSE_SCHEMA,
    result_of=_courses,
)


@in_python(*READING)
def tier(
    traces: Traces,
    *,
    fast: Listed | None = None,
    fast_frames: Listed | None = None,
    slow: str | float | None = None,
    slow_frames: int | None = None,
    tiers: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = "cxl",
    policies: str | Sequence[str] = "lru",
    promote: str | Sequence[str] = "first-touch",
    see: str = "all",
    placement: str | None = None,
    non_exclusive: bool = False,
    first_touch: str = "zero",
    migrate_limit: str | None = None,
    ping_pong: int = 10000,
    storage: str | os.PathLike[str] = "slc-nand",
    trace_seconds: float | str | None = None,
    page_size: Listed = "4KiB",
    seed: int = 0,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> Tiering:
    """Run traces on two tiers of memory, for a grid of cells.

    Each page that a request touches is one access to one line of memory, served by the tier where
    the page is. Every list is a dimension of the grid.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        fast: The fast tier: shares of the footprint (``"10%,25%"``) or sizes (``"1GiB"``); 0 is
            none.
        fast_frames: The fast tier in page frames, from 0. Give either this or ``fast``.
        slow: The slow tier, as a share or a size; no limit if not given.
        slow_frames: The slow tier in page frames. Give either this or ``slow``.
        tiers: Profiles of both tiers, such as ``"cxl"``, ``"optane-dcpmm:migrate_ns=1000"`` or the
            path of a TOML file.
        policies: Who lives in the fast tier: page policies, whose victims are demoted, and
            ``clock-dwf``, ``tpp``, ``memtis``, ``hemem``, ``static``, ``bound``.
        promote: Which references to slow pages promote them under a page policy: ``never``,
            ``first-touch``, ``write``, ``k-touch[:K[:W]]``, ``threshold[:T[:H]]``, ``tinylfu``.
        see: What a page policy sees: ``all``, ``sample:N`` or ``bits:P``.
        placement: Where new pages go: ``fast``, which it is if not given, ``slow``,
            ``interleave:W:V`` or ``make-room``.
        non_exclusive: A promoted page keeps its slow frame as a shadow until it is written.
        first_touch: What a page's first reference costs: ``zero``, or ``read`` from storage.
        migrate_limit: The most promotions: ``A/Pr`` in each P references, or ``XMB/s``.
        ping_pong: References from a demotion to a promotion of the same page that is ping-pong.
        storage: The device below.
        trace_seconds: Seconds that the trace took, for years of life.
        page_size: Bytes, powers of two, such as ``"4KiB,64KiB"``.
        seed: Seed of policies with random choices, from 0.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        reading: How traces that are given as paths are read, and which requests of each trace are
            wanted; see :class:`clockhand.traces.Reading`.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    given = {
        "fast": fast,
        "fast_frames": fast_frames,
        "slow": slow,
        "slow_frames": slow_frames,
        "tiers": tiers,
        "policy": policies,
        "promote": promote,
        "see": see,
        "placement": placement,
        "non_exclusive": non_exclusive,
        "first_touch": first_touch,
        "migrate_limit": migrate_limit,
        "ping_pong": ping_pong,
        "storage": storage,
        "trace_seconds": trace_seconds,
        "page_size": page_size,
        "seed": seed,
    }
    return run_study(TIER, traces, given, jobs=jobs, watch=watch, command=command, reading=reading)
