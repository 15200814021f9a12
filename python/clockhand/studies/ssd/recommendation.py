"""Which write buffer, and how large: the frontier of sizes, its knee, what lives long enough."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from clockhand import _engine
from clockhand._engine import UsageError
from clockhand.report.canvas import Spec
from clockhand.report.reported import Reported
from clockhand.report.words import percent, size_text, time_text
from clockhand.studies.ssd.findings import of_collection, of_length, years_text
from clockhand.studies.ssd.run import SsdRun, run_ssd
from clockhand.studies.ssd.time_findings import BASELINE
from clockhand.study.calls import READING, RUN, arguments, in_python
from clockhand.study.facts import printable, trace_label
from clockhand.study.knee import knee
from clockhand.study.options import options_of
from clockhand.study.phrases import all_of
from clockhand.study.policies import name_of, settings_of
from clockhand.study.selections import expanded
from clockhand.traces import Trace

DEFAULT_SIZES = ("1%", "2%", "5%", "10%", "20%")
"""Of the trace's footprint, for buffers that are given without a size."""

OF_DRIVES = (
    "precondition", "map", "repeat", "endurance", "timed", "arrivals", "clamp_times", "seed",
)  # fmt: skip
"""Options of ``ssd`` that a recommendation takes too."""

SIZES_SCHEMA = {
    "trace": pl.String,
    "ssd": pl.String,
    "buffer_pages": pl.UInt64,
    "buffer_bytes": pl.UInt64,
    "best": pl.String,
    "host_writes": pl.UInt64,
    "next_best": pl.String,
    "next_best_host_writes": pl.UInt64,
    "lru_host_writes": pl.UInt64,
    "fewest_erases": pl.String,
    "erases": pl.UInt64,
    "shortest_write_p99": pl.String,
    "write_p99_us": pl.Float64,
    "longest_life": pl.String,
    "life_years": pl.Float64,
    "is_on_frontier": pl.Boolean,
    "is_knee": pl.Boolean,
    "recommended": pl.String,
    "answer": pl.String,
}
"""Names, order and types of the columns of :attr:`BufferRecommendation.sizes`."""

Row = Mapping[str, Any]


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

        return specifications(self.run, highlight, self.sizes)

    def __str__(self) -> str:
        """Return what the command says first."""
        return "\n".join(self.sentences)

    def _answer(self) -> Sequence[str]:
        return self.sentences

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.ssd.report import render

        return render(self.run, highlight, self.sizes, self.sentences)

    def _leading(self) -> pl.DataFrame:
        return self.sizes.select(
            "buffer_bytes", "best", "host_writes", "next_best", "next_best_host_writes",
            "lru_host_writes", "is_knee",
        )  # fmt: skip


@in_python(*arguments("ssd", OF_DRIVES), *RUN, *READING)
def recommend_buffer(
    trace: Trace | str | os.PathLike[str],
    *,
    ssd: str | os.PathLike[str] = "dnv-textbook",
    buffers: str | Sequence[str] = "all",
    years: float | None = None,
    **options: Any,
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
        raise UsageError(f"--years {years} is no time to live; give a number above 0")
    if len(options_of("ssd")["arrivals"].checked(options.get("arrivals"))) > 1:
        raise UsageError("a recommendation is for one kind of arrivals; give --arrivals once")
    run: SsdRun = run_ssd(trace, buffers=candidates(buffers), ssds=ssd, drain=True, **options)
    if run.rows["ssd"].n_unique() > 1 or run.rows["trace"].n_unique() > 1:
        raise UsageError("a recommendation is for one trace and one drive; give one of each")
    return _answer(run, years)


def candidates(buffers: str | Sequence[str]) -> list[str]:
    """Return each buffer with each of its sizes, and ``lru`` at every size.

    Raises:
        UsageError: a pattern matches nothing, or no buffer is given.
    """
    names = [entry["name"] for entry in _engine.write_buffers()]
    given = [text for text in expanded("--buffer", buffers, names) if text != "none"]
    if not given:
        raise UsageError("no write buffer is given; add --buffer NAME:total=SIZE, or leave it out")
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


@dataclass(frozen=True)
class _Size:
    """The rows of every buffer of one size, the fewest pages to flash first."""

    pages: int
    rows: Sequence[Row]

    @property
    def best(self) -> Row:
        return self.rows[0]

    @property
    def next_best(self) -> Row | None:
        """The best one that writes more, or else any other one."""
        more = [row for row in self.rows if row["host_writes"] > self.best["host_writes"]]
        return next(iter([*more, *self.rows[1:]]), None)

    @property
    def lru(self) -> Row | None:
        return next((row for row in self.rows if name_of(row["buffer"]) == BASELINE), None)

    def least(self, column: str, *, most: bool = False) -> Row | None:
        """The row with the least of a column, or the most; of equals the best one."""
        known = [row for row in self.rows if row[column] is not None]
        sign = -1 if most else 1
        return min(known, key=lambda row: sign * row[column], default=None)


def _sizes(rows: pl.DataFrame) -> list[_Size]:
    ordered = rows.sort("host_writes", "erases", "write_p99_us", maintain_order=True)
    by_size: dict[int, list[Row]] = {}
    for row in ordered.iter_rows(named=True):
        by_size.setdefault(row["buffer_pages"], []).append(row)
    return [_Size(pages, by_size[pages]) for pages in sorted(by_size)]


def _frontier(sizes: Sequence[_Size]) -> list[_Size]:
    """The sizes that write fewer pages than every smaller one."""
    frontier: list[_Size] = []
    for size in sizes:
        if not frontier or size.best["host_writes"] < frontier[-1].best["host_writes"]:
            frontier.append(size)
    return frontier


def _answer(run: SsdRun, years: float | None) -> BufferRecommendation:
    sizes = _sizes(run.rows)
    frontier = _frontier(sizes)
    bend = knee([size.pages for size in frontier], [size.best["host_writes"] for size in frontier])
    bent = next((size for size in frontier if size.pages == bend), frontier[-1])
    lives = None if years is None else _smallest_that_lives(sizes, years)
    chosen, row = lives or (bent, bent.best)
    found = _Sentences(run, sizes, chosen, row)
    sentences = (
        found.choice(),
        *found.neighbours(bend == chosen.pages),
        *found.erases(),
        *found.latency(),
        *found.life(years),
        *found.memory(),
        *found.warnings(),
    )
    table = _table(sizes, frontier, bend, row, sentences)
    return BufferRecommendation(row["buffer"], sentences, table, run)


def _smallest_that_lives(sizes: Sequence[_Size], years: float) -> tuple[_Size, Row] | None:
    """The smallest size at which a buffer lives so long, and the best of those that do."""
    for size in sizes:
        alive = [row for row in size.rows if (row["life_years"] or 0) >= years]
        if alive:
            return size, alive[0]
    return None


@dataclass(frozen=True)
class _Sentences:
    """The sentences about a chosen buffer of a chosen size."""

    run: SsdRun
    sizes: Sequence[_Size]
    size: _Size
    row: Row

    def _where(self) -> str:
        return trace_label(self.row["trace"], self.run.facts)

    def _bytes(self, size: _Size) -> str:
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
            f"Take {printable(self.row['buffer'])} on {self._where()} before "
            f"{printable(self.row['ssd'])}: with {self._bytes(self.size)} it writes {writes:,} "
            f"pages to flash{against}."
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


def _table(
    sizes: Sequence[_Size],
    frontier: Sequence[_Size],
    bend: int | None,
    chosen: Row,
    sentences: Sequence[str],
) -> pl.DataFrame:
    records = []
    for place, size in enumerate(sizes):
        best, next_best, lru = size.best, size.next_best, size.lru
        erases, p99 = size.least("erases"), size.least("write_p99_us")
        life = size.least("life_years", most=True)
        records.append(
            {
                "trace": best["trace"],
                "ssd": best["ssd"],
                "buffer_pages": size.pages,
                "buffer_bytes": size.pages * best["page_bytes"],
                "best": best["buffer"],
                "host_writes": best["host_writes"],
                "next_best": next_best and next_best["buffer"],
                "next_best_host_writes": next_best and next_best["host_writes"],
                "lru_host_writes": lru and lru["host_writes"],
                "fewest_erases": erases and erases["buffer"],
                "erases": erases and erases["erases"],
                "shortest_write_p99": p99 and p99["buffer"],
                "write_p99_us": p99 and p99["write_p99_us"],
                "longest_life": life and life["buffer"],
                "life_years": life and life["life_years"],
                "is_on_frontier": size in frontier,
                "is_knee": size.pages == bend,
                "recommended": chosen["buffer"] if chosen in size.rows else None,
                "answer": " ".join(sentences) if place == 0 else None,
            }
        )
    return pl.DataFrame(records, schema=SIZES_SCHEMA)
