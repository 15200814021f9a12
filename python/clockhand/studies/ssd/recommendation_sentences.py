"""The sentences of a recommendation: the choice, what else would do, and how long it lives."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.words import percent, size_text, time_text
from clockhand.studies.ssd.findings import of_collection, of_length, years_text
from clockhand.studies.ssd.result import SsdRun
from clockhand.studies.ssd.sizes import Row, Size
from clockhand.studies.ssd.time_findings import BASELINE
from clockhand.study.facts import printable, trace_label
from clockhand.study.phrases import all_of


@dataclass(frozen=True)
class Sentences:
    """The sentences about a chosen buffer of a chosen size."""

    run: SsdRun
    sizes: Sequence[Size]
    size: Size
    row: Row

    def _where(self) -> str:
        return trace_label(self.row["trace"], self.run.facts)

    def _bytes(self, size: Size) -> str:
        return size_text(size.pages * self.row["page_bytes"])

    def choice(self) -> str:
        writes = self.row["host_writes"]
        compared = []
        best, next_best, lru = self.size.best, self.size.next_best, self.size.lru
        if self.row is not best:
            compared.append(f"{_against(writes, best)}, which writes the fewest of that size")
        elif next_best is not None:
            compared.append(f"{_against(writes, next_best)}, the next best of that size,")
        if lru is not None and lru not in (self.row, best, next_best):
            compared.append(_against(writes, lru))
        against = f", {all_of(compared).removesuffix(',')}" if compared else ""
        return (
            f"Take {printable(self.row['buffer'])} on drive {printable(self.row['ssd'])} for "
            f"{self._where()}: with {self._bytes(self.size)} it writes {writes:,} pages to "
            f"flash{against}."
        )

    def neighbours(self, is_knee: bool) -> list[str]:
        place = self.sizes.index(self.size)
        parts = []
        for other in (self.sizes[place - 1 : place] if place else []), self.sizes[place + 1 :][:1]:
            for size in other:
                best = size.best
                parts.append(
                    f"{self._bytes(size)} ({printable(best['buffer'])}) "
                    f"{_changed(self.row['host_writes'], best['host_writes'])}"
                )
        if not parts:
            return []
        lead = "That is the knee: " if is_knee else "The sizes next to it: "
        return [f"{lead}{'; '.join(parts)}."]

    def erases(self) -> list[str]:
        fewest = self.size.least("erases")
        if not self.row["collection_started"] or fewest is None:
            return []
        text = f"It erases {self.row['erases']:,} blocks"
        if fewest["erases"] == self.row["erases"]:
            return [f"{text}, the fewest of that size."]
        name = printable(fewest["buffer"])
        return [f"{text}; {name} erases the fewest of that size, {fewest['erases']:,}."]

    def latency(self) -> list[str]:
        shortest = self.size.least("write_p99_us")
        if self.row["write_p99_us"] is None or shortest is None:
            return []
        text = f"Its p99 of writes is {time_text(self.row['write_p99_us'])}"
        if shortest["write_p99_us"] == self.row["write_p99_us"]:
            return [f"{text}, the shortest of that size."]
        name, least = printable(shortest["buffer"]), time_text(shortest["write_p99_us"])
        return [f"{text}; {name} has the shortest of that size, {least}."]

    def life(self, years: float | None) -> list[str]:
        known = [row for size in self.sizes for row in size.rows if row["life_years"] is not None]
        if years is None:
            lived = self.row["life_years"]
            return [] if lived is None else [f"Its flash lives {years_text(lived)}."]
        if not known:
            return [f"How many years anything lives is not known: {_why_no_years(self.row)}."]
        wanted = years_text(years)
        if (self.row["life_years"] or 0) < years:
            longest = max(known, key=lambda row: row["life_years"])
            return [
                f"No buffer here lives {wanted}: the longest life is "
                f"{years_text(longest['life_years'])}, with {printable(longest['buffer'])}; so the "
                "knee is recommended."
            ]
        lru = next(
            (size for size in self.sizes
             if size.lru is not None and (size.lru["life_years"] or 0) >= years), None,
        )  # fmt: skip
        needs = f"needs {self._bytes(lru)}" if lru else "does so with none of these sizes"
        return [
            f"It is the smallest that lives {wanted}: {years_text(self.row['life_years'])}; "
            f"{BASELINE} {needs}."
        ]

    def memory(self) -> list[str]:
        """Tell of NVM, which not everyone has."""
        if not self.row["nvm_pages"]:
            return []
        nvm = size_text(self.row["nvm_pages"] * self.row["page_bytes"])
        without = [row for row in self.size.rows if not row["nvm_pages"]]
        if not without:
            return [f"{nvm} of it are NVM."]
        best = without[0]
        return [
            f"{nvm} of it are NVM; without NVM the best of that size is "
            f"{printable(best['buffer'])}, which writes {best['host_writes']:,} pages."
        ]

    def warnings(self) -> list[str]:
        cells = self.run.rows.filter(
            pl.col("buffer") == self.row["buffer"], pl.col("buffer_pages") == self.size.pages
        ).head(1)
        return [*of_collection(cells, self._where()), *of_length(cells, self._where())]


def _against(writes: int, other: Row) -> str:
    name, of_other = printable(other["buffer"]), other["host_writes"]
    if of_other == writes:
        return f"as many as {name}"
    if of_other < writes:
        return (
            f"{percent(writes / of_other - 1)} more than {name}"
            if of_other
            else (f"{writes:,} more than {name}")
        )
    return f"{percent(1 - writes / of_other)} fewer than {name}"


def _changed(writes: int, other: int) -> str:
    if other == writes:
        return "writes as many"
    if other < writes:
        return f"writes {percent(1 - other / writes)} fewer"
    return f"writes {percent(other / writes - 1)} more" if writes else f"writes {other:,}"


def _why_no_years(row: Row) -> str:
    if not row["collection_started"]:
        return "no block was erased"
    if row["life_repetitions"] is None:
        return "the drive's endurance is not known; give --endurance"
    if not row["is_steady"]:
        return "the run did not become steady; give --repeat until-steady"
    return "the trace has no times of its own"
