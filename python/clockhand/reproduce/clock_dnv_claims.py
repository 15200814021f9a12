"""The CLOCK-DNV paper's claims, each with the rule by which rows judge it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from clockhand.reproduce.claims import (
    CASES_RULE,
    MOST_RULE,
    NUMBER_RULE,
    RANGE_RULE,
    Claim,
    Table,
    Verdict,
    judged_cases,
    judged_most,
    judged_number,
    judged_range,
)

OURS = "clock-dnv"
PROMOTE = "clock-dnv:nvm_write_hit=promote"
FAB_MODES = ("fab", "fab:clean_padding=false", "fab:cache_reads=false")
CBM_MODES = ("cbm", "cbm:threshold=8", "cbm:threshold=16", "cbm:threshold=32")
MODES = {"fab": FAB_MODES, "cbm": CBM_MODES}
WORKLOADS = ("Financial", "CAMWEBDEV", "Filebench")
READING = (
    "FAB and CBM as section IV.D words them: they write clean pages along; the other modes are in "
    "the table, not in the verdict"
)
STAND_IN = (
    "Measured on stand-ins, not on the paper's traces, per run of a trace that is repeated until "
    "the drive's write amplification is steady; sizes at which one of the two writes "
    "nothing to flash, because all dirty pages fit, are left out."
)
MEASURES = ("hit_ratio", "host_writes", "erases")

Gain = Callable[[float, float], float]


def more(ours: float, other: float) -> float:
    """Return by what share ours is more than the other's."""
    return ours / other - 1


def fewer(ours: float, other: float) -> float:
    """Return by what share ours is less than the other's."""
    return 1 - ours / other


def longer(ours: float, other: float) -> float:
    """Return by what share a drive with our erases lives longer than one with the other's."""
    return other / ours - 1


@dataclass(frozen=True)
class Gains:
    """CLOCK-DNV against another buffer on one workload: a gain for each buffer size."""

    workload: str
    other: str
    by_pages: Mapping[int, float]

    @property
    def values(self) -> list[float]:
        """The gains, size by size; none if there is no size to compare at."""
        return list(self.by_pages.values())


def per_run(column: str) -> pl.Expr:
    """Return a count per run of the trace, which a cell may repeat; shares stay as they are."""
    if column in ("hit_ratio", "waf"):
        return pl.col(column)
    return (pl.col(column) / pl.col("repetitions")).alias(column)


def signed(share: float) -> str:
    """Return a share as a percentage with its sign; what rounds to nothing has a plus."""
    return f"{round(100 * share, 1) + 0.0:+.1f} %"


def judge(rows: pl.DataFrame) -> list[Claim]:
    """Judge all claims by rows of the stand-ins.

    Args:
        rows: Result rows with the columns ``workload`` and ``policy``, the buffer without its size.
    """
    return _Judge(rows).claims()


class _Judge:
    """Rows of the stand-ins, compared buffer with buffer."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self._rows = rows

    def claims(self) -> list[Claim]:
        return [
            *self._hit_ratios(),
            *self._write_requests(),
            *self._nvm_writes(),
            *self._lifetimes(),
            self._conclusion(),
        ]

    def _gains(self, workload: str, other: str, column: str, gain: Gain, ours: str = OURS) -> Gains:
        of_workload = self._rows.filter(pl.col("workload") == workload)
        values = [
            dict(
                of_workload.filter(pl.col("policy") == name)
                .select("buffer_pages", per_run(column))
                .rows()
            )
            for name in (ours, other)
        ]
        mine, others = values
        pairs = {pages: (mine[pages], others[pages]) for pages in mine}
        by_pages = {pages: gain(*pair) for pages, pair in pairs.items() if min(pair) > 0}
        return Gains(workload, other, by_pages)

    def _up_to(
        self,
        key: str,
        place: str,
        quote: str,
        claimed: tuple[str, str, float],
        column: str,
        gain: Gain,
    ) -> Claim:
        """Judge "by up to": a workload, the other buffer, and the paper's share."""
        workload, other, share = claimed
        modes = [self._gains(workload, mode, column, gain) for mode in MODES[other]]
        judged = modes[0].values
        greatest = max(judged, default=0.0)
        return Claim(
            key,
            place,
            quote,
            f"The greatest difference over the buffer sizes. {NUMBER_RULE} {STAND_IN}",
            judged_number(greatest, share) if judged else Verdict.UNTESTABLE,
            f"{workload} stand-in, {other}: up to {signed(greatest)}" if judged else "–",
            paper=f"up to {signed(share)}",
            reading=READING,
            evidence=_table(modes),
        )

    def _up_to_each(
        self,
        key: str,
        place: str,
        quote: str,
        workload: str,
        shares: Mapping[str, float],
        column: str,
        gain: Gain,
    ) -> list[Claim]:
        """Judge a sentence with a number for each of the other buffers, number by number."""
        return [
            self._up_to(f"{key}-{other}", place, quote, (workload, other, share), column, gain)
            for other, share in shares.items()
        ]

    def _everywhere(
        self,
        key: str,
        place: str,
        quote: str,
        column: str,
        gain: Gain,
        others: Sequence[str],
        workloads: Sequence[str] = WORKLOADS,
        is_most: bool = False,
    ) -> Claim:
        """Judge "in all cases" or "in most": the cells in which CLOCK-DNV is no worse."""
        gains = [
            self._gains(name, mode, column, gain)
            for name in workloads
            for other in others
            for mode in MODES[other]
        ]
        held = [value >= 0 for each in gains if each.other in others for value in each.values]
        judge_cells, rule = (judged_most, MOST_RULE) if is_most else (judged_cases, CASES_RULE)
        return Claim(
            key,
            place,
            quote,
            f"Cells (workload, buffer size, other buffer) in which CLOCK-DNV is no worse than "
            f"{' and '.join(others)}. {rule} {STAND_IN}",
            judge_cells(held),
            f"no worse in {sum(held)} of {len(held)} cells",
            reading=READING,
            evidence=_table(gains),
        )

    def _hit_ratios(self) -> list[Claim]:
        figure = "section IV.C, Figure 5"
        return [
            self._everywhere(
                "hit-ratio-in-most-cases",
                figure,
                "CLOCK-DNV maintains higher cache hit ratios than other algorithms in most cases.",
                "hit_ratio",
                more,
                ("fab", "cbm"),
                is_most=True,
            ),
            self._up_to(
                "hit-ratio-financial",
                f"{figure}a",
                "CLOCK-DNV outperforms FAB by up to 2 times in Financial workload",
                ("Financial", "fab", 1.0),
                "hit_ratio",
                more,
            ),
            self._everywhere(
                "hit-ratio-camwebdev",
                f"{figure}b",
                "CBM reveals considerably lower hit ratios than CLOCK-DNV in the case of "
                "write-intensive workload",
                "hit_ratio",
                more,
                ("cbm",),
                ("CAMWEBDEV",),
            ),
            *self._up_to_each(
                "hit-ratio-filebench",
                f"{figure}c",
                "CLOCK-DNV outperforms FAB by up to 23% and CBM by up to 15%.",
                "Filebench",
                {"fab": 0.23, "cbm": 0.15},
                "hit_ratio",
                more,
            ),
        ]

    def _write_requests(self) -> list[Claim]:
        figure = "section IV.D, Figure 6"
        column = "host_writes"
        return [
            self._everywhere(
                "write-requests-in-all-cases",
                figure,
                "CLOCK-DNV efficiently reduces the number of flush requests issued to flash "
                "memory in all cases.",
                column,
                fewer,
                ("fab", "cbm"),
            ),
            self._no_clean_pages(figure),
            *self._up_to_each(
                "write-requests-financial",
                figure,
                "For Financial workload, CLOCK-DNV issues less number of flush requests by up to "
                "48% and 42% compared with FAB and CBM, respectively.",
                "Financial",
                {"fab": 0.48, "cbm": 0.42},
                column,
                fewer,
            ),
            *self._up_to_each(
                "write-requests-filebench",
                figure,
                "In the case of Filebench workload, CLOCK-DNV outperforms FAB and CBM by up to 21% "
                "and 13%, respectively.",
                "Filebench",
                {"fab": 0.21, "cbm": 0.13},
                column,
                fewer,
            ),
            self._up_to(
                "write-requests-camwebdev-body",
                figure,
                "CBM dramatically increases the number of flush requests issued to the underlying "
                "flash memory by up to 56%, compared with CLOCK-DNV.",
                ("CAMWEBDEV", "cbm", 0.56),
                column,
                longer,
            ),
            self._up_to(
                "write-requests-camwebdev-abstract",
                "abstract",
                "CLOCK-DNV efficiently reduces the number of write requests issued to the "
                "underlying flash memory by up to 56% compared with the state-of-the-art "
                "algorithm, CBM",
                ("CAMWEBDEV", "cbm", 0.56),
                column,
                fewer,
            ),
        ]

    def _no_clean_pages(self, figure: str) -> Claim:
        totals = self._rows.group_by("policy").agg(pl.col("clean_pages_flushed").sum())
        clean = dict(totals.rows())
        of_cells = self._rows.filter(pl.col("policy") == OURS)["clean_pages_flushed"]
        buffers = (OURS, "fab", "cbm", "bplru")
        return Claim(
            "no-clean-pages",
            figure,
            "CLOCK-DNV completely eliminates clean page eviction because it pads only dirty pages",
            f"Cells in which it writes no clean page. {CASES_RULE} {STAND_IN}",
            judged_cases([pages == 0 for pages in of_cells]),
            f"CLOCK-DNV wrote {clean[OURS]:,} clean pages in all cells",
            evidence=(
                ("buffer", "clean pages written, all cells"),
                *((buffer, f"{clean[buffer]:,}") for buffer in buffers),
            ),
            by_construction=True,
        )

    def _nvm_writes(self) -> list[Claim]:
        figure = "section IV.E, Figure 7"
        column = "nvm_writes"
        promoted = [self._gains(name, "cbm", column, fewer, PROMOTE) for name in WORKLOADS]
        lowest = self._everywhere(
            "nvm-writes-in-all-cases",
            figure,
            "CLOCK-DNV shows the lowest number of write requests in all cases.",
            column,
            fewer,
            ("cbm",),
        )
        camwebdev = self._up_to(
            "nvm-writes-camwebdev",
            figure,
            "CLOCK-DNV reduces the number of write requests by up to 55% in the case of CAMWEBDEV",
            ("CAMWEBDEV", "cbm", 0.55),
            column,
            fewer,
        )
        # What the table shows besides: the mode in which a write hit in NVM moves the page to DRAM.
        besides = _table(promoted, f"cbm, with {PROMOTE}")[1:]
        return [
            replace(claim, evidence=(*claim.evidence, *besides)) for claim in (lowest, camwebdev)
        ]

    def _lifetimes(self) -> list[Claim]:
        figure = "section IV.E, Figure 8"
        ranges = {"Financial": (0.37, 0.48), "CAMWEBDEV": (0.02, 0.28), "Filebench": (0.11, 0.20)}
        claims = [self._lifetime_range(figure, name, *pair) for name, pair in ranges.items()]
        best = self._up_to(
            "lifetime-against-cbm",
            f"{figure}b",
            "CLOCK-DNV extends the lifetime of the flash storage by up to 56%, compared with CBM",
            ("CAMWEBDEV", "cbm", 0.56),
            "erases",
            longer,
        )
        return [*claims, best]

    def _lifetime_range(self, figure: str, workload: str, low: float, high: float) -> Claim:
        modes = [self._gains(workload, mode, "erases", longer) for mode in FAB_MODES]
        judged = modes[0].values
        cut = "" if workload == "Financial" else "… "
        return Claim(
            f"lifetime-{workload.lower()}",
            figure,
            "CLOCK-DNV clearly extends the lifetime of the flash storage, compared with FAB "
            f"algorithm: {cut}from {100 * low:.0f}% to {100 * high:.0f}% for {workload}",
            f"Lifetime is the inverse of erases; its range over the buffer sizes. {RANGE_RULE} "
            f"{STAND_IN}",
            judged_range(judged, low, high),
            f"{workload} stand-in, fab: {signed(min(judged))} to {signed(max(judged))}"
            if judged
            else "–",
            paper=f"{signed(low)} to {signed(high)}",
            reading=READING,
            evidence=_table(modes),
        )

    def _conclusion(self) -> Claim:
        gains = {"hit_ratio": more, "host_writes": fewer, "erases": fewer}
        held = {
            column: [
                value >= 0
                for workload in WORKLOADS
                for other in MODES
                for value in self._gains(workload, other, column, gains[column]).values
            ]
            for column in MEASURES
        }
        cells = [value for of_column in held.values() for value in of_column]
        return Claim(
            "conclusion",
            "section V",
            "CLOCK-DNV outperforms previous write buffer algorithms, FAB and CBM, in all cases, "
            "while extending the endurance of both NVM and flash storage.",
            "Cells (workload, buffer size, other buffer, and hit ratio, pages to flash or erases) "
            f"in which CLOCK-DNV is no worse than FAB and CBM. {CASES_RULE} {STAND_IN}",
            judged_cases(cells),
            f"no worse in {sum(cells)} of {len(cells)} cells",
            reading=READING,
            evidence=(
                ("measure", "cells in which it is no worse"),
                *(
                    (column, f"{sum(of_column)} of {len(of_column)}")
                    for column, of_column in held.items()
                ),
            ),
        )


def _table(gains: Sequence[Gains], called: str = "") -> Table:
    """Gains by workload and other buffer, a column per buffer size."""
    sizes = sorted({pages for each in gains for pages in each.by_pages})
    return (
        ("workload", "against", *(f"{pages * 4096 >> 20} MiB" for pages in sizes)),
        *(
            (
                each.workload,
                called or each.other,
                *(
                    signed(each.by_pages[pages]) if pages in each.by_pages else "–"
                    for pages in sizes
                ),
            )
            for each in gains
        ),
    )
