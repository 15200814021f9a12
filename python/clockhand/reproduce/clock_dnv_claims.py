"""The CLOCK-DNV paper's claims, each with the rule by which rows judge it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.reproduce.claims import Claim, Verdict, graded

OURS = "clock-dnv"
PROMOTE = "clock-dnv:nvm_write_hit=promote"
FAB_MODES = ("fab", "fab:clean_padding=false", "fab:cache_reads=false")
CBM_MODES = ("cbm", "cbm:threshold=8", "cbm:threshold=16", "cbm:threshold=32")
MODES = {"fab": FAB_MODES, "cbm": CBM_MODES}
WORKLOADS = ("Financial", "CAMWEBDEV", "Filebench")
STAND_IN = (
    "Every mode of FAB and every threshold of CBM counts, as the paper does not say which it ran. "
    "Measured on stand-ins, not on the paper's traces; sizes at which one of the two writes "
    "nothing to flash, because all dirty pages fit, are left out."
)

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
    def greatest(self) -> float:
        """The greatest gain over the sizes; 0 if there is no size to compare at."""
        return max(self.by_pages.values(), default=0.0)

    @property
    def least(self) -> float:
        """The least gain over the sizes; 0 if there is no size to compare at."""
        return min(self.by_pages.values(), default=0.0)

    def text(self) -> str:
        """Return the gains in words, size by size."""
        sizes = ", ".join(
            f"{signed(gain)} at {pages * 4096 >> 20} MiB" for pages, gain in self.by_pages.items()
        )
        return f"{self.other}: {sizes}"


def signed(share: float) -> str:
    """Return a share as a percentage with its sign."""
    return f"{100 * share:+.1f} %"


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
            dict(of_workload.filter(pl.col("policy") == name).select("buffer_pages", column).rows())
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
        claimed: Mapping[tuple[str, str], float],
        column: str,
        gain: Gain,
    ) -> Claim:
        """Judge "by up to": pairs of workload and other buffer, each with the paper's share."""
        found = {
            (workload, other): [self._gains(workload, mode, column, gain) for mode in MODES[other]]
            for workload, other in claimed
        }
        modes = [gains for of_pair in found.values() for gains in of_pair]
        reached = [
            gains.greatest >= share for pair, share in claimed.items() for gains in found[pair]
        ]
        return Claim(
            key,
            place,
            quote,
            "Reproduced if the greatest difference over the buffer sizes reaches the paper's "
            f"against each buffer it names; partly if one is above 0; else not. {STAND_IN}",
            graded(all(reached), any(gains.greatest > 0 for gains in modes)),
            "; ".join(_up_to_text(found[pair], *pair, share) for pair, share in claimed.items()),
            "; ".join(gains.text() for gains in modes) + ".",
        )

    def _everywhere(
        self,
        key: str,
        place: str,
        quote: str,
        column: str,
        gain: Gain,
        others: Sequence[str],
        share_needed: float,
        workloads: Sequence[str] = WORKLOADS,
    ) -> Claim:
        """Judge "in all cases" or "in most": the share of cells in which CLOCK-DNV is no worse."""
        gains = [
            self._gains(name, mode, column, gain)
            for name in workloads
            for other in others
            for mode in MODES[other]
        ]
        cells = [value >= 0 for each in gains for value in each.by_pages.values()]
        share = sum(cells) / max(1, len(cells))
        needed = "all" if share_needed == 1 else f"more than {100 * share_needed:.0f} %"
        verdict = graded(share == 1 if share_needed == 1 else share > share_needed, share > 0)
        return Claim(
            key,
            place,
            quote,
            f"Reproduced if CLOCK-DNV is no worse than {' and '.join(others)} in {needed} of the "
            "cells (workload, buffer size, other buffer and its mode); partly if in some; else "
            f"not. {STAND_IN}",
            verdict,
            f"no worse in {sum(cells)} of {len(cells)} cells",
            "; ".join(f"{each.workload}, {each.text()}" for each in gains) + ".",
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
                0.5,
            ),
            self._up_to(
                "hit-ratio-financial",
                f"{figure}a",
                "CLOCK-DNV outperforms FAB by up to 2 times in Financial workload",
                {("Financial", "fab"): 1.0},
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
                1,
                ("CAMWEBDEV",),
            ),
            self._up_to(
                "hit-ratio-filebench",
                f"{figure}c",
                "CLOCK-DNV outperforms FAB by up to 23% and CBM by up to 15%.",
                {("Filebench", "fab"): 0.23, ("Filebench", "cbm"): 0.15},
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
                1,
            ),
            self._no_clean_pages(figure),
            self._up_to(
                "write-requests-financial",
                figure,
                "For Financial workload, CLOCK-DNV issues less number of flush requests by up to "
                "48% and 42% compared with FAB and CBM, respectively.",
                {("Financial", "fab"): 0.48, ("Financial", "cbm"): 0.42},
                column,
                fewer,
            ),
            self._up_to(
                "write-requests-filebench",
                figure,
                "In the case of Filebench workload, CLOCK-DNV outperforms FAB and CBM by up to 21% "
                "and 13%, respectively.",
                {("Filebench", "fab"): 0.21, ("Filebench", "cbm"): 0.13},
                column,
                fewer,
            ),
            self._up_to(
                "write-requests-camwebdev-body",
                figure,
                "CBM dramatically increases the number of flush requests issued to the underlying "
                "flash memory by up to 56%, compared with CLOCK-DNV.",
                {("CAMWEBDEV", "cbm"): 0.56},
                column,
                longer,
            ),
            self._up_to(
                "write-requests-camwebdev-abstract",
                "abstract",
                "CLOCK-DNV efficiently reduces the number of write requests issued to the "
                "underlying flash memory by up to 56% compared with the state-of-the-art "
                "algorithm, CBM",
                {("CAMWEBDEV", "cbm"): 0.56},
                column,
                fewer,
            ),
        ]

    def _no_clean_pages(self, figure: str) -> Claim:
        totals = self._rows.group_by("policy").agg(pl.col("clean_pages_flushed").sum())
        clean = dict(totals.rows())
        return Claim(
            "no-clean-pages",
            figure,
            "CLOCK-DNV completely eliminates clean page eviction because it pads only dirty pages",
            f"Reproduced if it writes no clean page in any cell, else not. {STAND_IN}",
            graded(clean[OURS] == 0, False),
            f"CLOCK-DNV wrote {clean[OURS]:,} clean pages in all cells",
            f"FAB wrote {clean['fab']:,}, CBM {clean['cbm']:,}, BPLRU {clean['bplru']:,}.",
        )

    def _nvm_writes(self) -> list[Claim]:
        figure = "section IV.E, Figure 7"
        column = "nvm_writes"
        promote = [
            self._gains(workload, "cbm", column, fewer, PROMOTE).text() for workload in WORKLOADS
        ]
        texts = "; ".join(
            f"{workload}, {text}" for workload, text in zip(WORKLOADS, promote, strict=True)
        )
        lowest = self._everywhere(
            "nvm-writes-in-all-cases",
            figure,
            "CLOCK-DNV shows the lowest number of write requests in all cases.",
            column,
            fewer,
            ("cbm",),
            1,
        )
        camwebdev = self._up_to(
            "nvm-writes-camwebdev",
            figure,
            "CLOCK-DNV reduces the number of write requests by up to 55% in the case of CAMWEBDEV",
            {("CAMWEBDEV", "cbm"): 0.55},
            column,
            fewer,
        )
        return [
            Claim(**{**vars(claim), "why": f"{claim.why} With {PROMOTE}: {texts}."})
            for claim in (lowest, camwebdev)
        ]

    def _lifetimes(self) -> list[Claim]:
        figure = "section IV.E, Figure 8"
        ranges = {"Financial": (0.37, 0.48), "CAMWEBDEV": (0.02, 0.28), "Filebench": (0.11, 0.20)}
        claims = [self._lifetime_range(figure, name, *pair) for name, pair in ranges.items()]
        best = self._up_to(
            "lifetime-against-cbm",
            f"{figure}b",
            "CLOCK-DNV extends the lifetime of the flash storage by up to 56%, compared with CBM",
            {("CAMWEBDEV", "cbm"): 0.56},
            "erases",
            longer,
        )
        return [*claims, best]

    def _lifetime_range(self, figure: str, workload: str, low: float, high: float) -> Claim:
        modes = [self._gains(workload, mode, "erases", longer) for mode in FAB_MODES]
        erases = self._gains(workload, "fab", "erases", fewer)
        reached = [gain >= low for gains in modes for gain in gains.by_pages.values()]
        return Claim(
            f"lifetime-{workload.lower()}",
            figure,
            "CLOCK-DNV clearly extends the lifetime of the flash storage, compared with FAB "
            f"algorithm: from {100 * low:.0f}% to {100 * high:.0f}% for {workload}",
            "Lifetime is the inverse of erases. Reproduced if the extension reaches the lower end "
            f"of the paper's range at every buffer size; partly if at some; else not. {STAND_IN}",
            graded(bool(reached) and all(reached), any(reached)),
            f"{workload} stand-in, fab: lifetime {signed(modes[0].least)} to "
            f"{signed(modes[0].greatest)} (erases {signed(-erases.least)} to "
            f"{signed(-erases.greatest)}); {_least_favourable(modes)}",
            "Lifetime: " + "; ".join(gains.text() for gains in modes) + ".",
        )

    def _conclusion(self) -> Claim:
        parts = [
            self._everywhere("", "", "", column, gain, ("fab", "cbm"), 1)
            for column, gain in (("hit_ratio", more), ("host_writes", fewer), ("erases", fewer))
        ]
        everywhere = all(part.verdict is Verdict.REPRODUCED for part in parts)
        names = ("hit ratio", "pages to flash", "erases")
        found = "; ".join(f"{name}: {part.found}" for name, part in zip(names, parts, strict=True))
        return Claim(
            "conclusion",
            "section V",
            "CLOCK-DNV outperforms previous write buffer algorithms, FAB and CBM, in all cases, "
            "while extending the endurance of both NVM and flash storage.",
            "Reproduced if CLOCK-DNV is no worse than FAB and CBM in hit ratio, pages written to "
            f"flash and erases in all cells; partly if in some; else not. {STAND_IN}",
            graded(everywhere, any(part.verdict is not Verdict.NOT for part in parts)),
            found,
            "",
        )


def _up_to_text(modes: Sequence[Gains], workload: str, other: str, share: float) -> str:
    return (
        f"{workload} stand-in, {other}: up to {signed(modes[0].greatest)} "
        f"(paper {signed(share)}), {_least_favourable(modes)}"
    )


def _least_favourable(modes: Sequence[Gains]) -> str:
    least = min(modes, key=lambda gains: gains.greatest)
    return f"least favourable {least.other}: up to {signed(least.greatest)}"
