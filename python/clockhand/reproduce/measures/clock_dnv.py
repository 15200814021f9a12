"""Measures of the CLOCK-DNV paper: its buffer against others, on stand-ins for its workloads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.words import byte_text
from clockhand.reproduce.judge import Evidence, Found, NotTestableError, signed

OURS = "clock-dnv"
MODES = {
    "fab": ("fab", "fab:clean_padding=false", "fab:cache_reads=false"),
    "cbm": ("cbm", "cbm:threshold=8", "cbm:threshold=16", "cbm:threshold=32"),
}
"""Other buffers in their modes, which readings choose from; all are shown."""

NOT_PADDED = "clock-dnv:padding=off"

HEEDED = "[:,]commands=safe$"
"""What buffers that heed FLUSH are asked; a table has it in all its rows, or in none."""

GAINS: Mapping[str, Callable[[float, float], float]] = {
    "more": lambda ours, other: ours / other - 1,
    "fewer": lambda ours, other: 1 - ours / other,
    # By what share a drive with our erases lives longer than one with the other's.
    "longer": lambda ours, other: other / ours - 1,
}


Cells = Mapping[tuple[str, str], Mapping[int, float]]
"""A column's values, by buffer size, of each workload and policy."""


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


def gains(
    rows: pl.DataFrame,
    *,
    workload: str,
    against: str,
    column: str,
    gain: str,
    besides: str = "",
    **modes: str,
) -> Found:
    """Measure CLOCK-DNV's gain in a column over another buffer, at each buffer size.

    Args:
        rows: The cells.
        workload: The paper's workload.
        against: The other buffer.
        column: What is compared.
        gain: Its kind.
        besides: A further mode of CLOCK-DNV that the evidence shows.
        modes: The mode of the other buffer that is judged, under its name.
    """
    cells = _cells(rows, column)
    every = [_gains(cells, workload, mode, gain) for mode in MODES[against]]
    evidence = (*_table(every), *_besides(rows, besides, column, gain))
    return Found(_gains(cells, workload, modes[against], gain).values, evidence)


def no_worse(
    rows: pl.DataFrame,
    *,
    against: Sequence[str],
    column: str,
    gain: str,
    workloads: Sequence[str] = (),
    besides: str = "",
    **modes: str,
) -> Found:
    """Check for each workload, buffer size and other buffer, in its mode, that CLOCK-DNV is not
    worse; for all workloads, if none is named."""
    cells = _cells(rows, column)
    every = [
        _gains(cells, name, mode, gain)
        for name in workloads or _workloads(rows)
        for other in against
        for mode in MODES[other]
    ]
    judged = [modes[other] for other in against]
    held = [value >= 0 for each in every if each.other in judged for value in each.values]
    return Found(held, (*_table(every), *_besides(rows, besides, column, gain)))


def no_worse_in_anything(rows: pl.DataFrame, *, columns: Mapping[str, str], **modes: str) -> Found:
    """Ask the same of several columns, each with its kind of gain."""
    held = {
        column: no_worse(rows, against=tuple(MODES), column=column, gain=gain, **modes).values
        for column, gain in columns.items()
    }
    heads = ("measure", "cells in which it is no worse")
    counts = ((column, f"{sum(cells)} of {len(cells)}") for column, cells in held.items())
    return Found([cell for cells in held.values() for cell in cells], (heads, *counts))


def padding(rows: pl.DataFrame, *, column: str, gain: str, by: float = 0.0) -> Found:
    """Ask of each workload and buffer size whether padding changes a count by more than a share."""
    cells = _cells(rows, column)
    every = [_gains(cells, name, NOT_PADDED, gain) for name in _workloads(rows)]
    shares = [share for each in every for share in each.values]
    if not shares:
        nothing = "Nothing is written or erased where it is compared."
        is_there = rows["policy"].is_in([NOT_PADDED]).any()
        raise NotTestableError(nothing if is_there else f"The experiment has no {NOT_PADDED}.")
    words = {"least_share": signed(min(shares)), "greatest_share": signed(max(shares))}
    return Found([share > by for share in shares], _table(every, "no padding"), words)


def no_clean_pages(rows: pl.DataFrame, *, buffers: Sequence[str]) -> Found:
    """Ask of each cell whether CLOCK-DNV writes no clean page to flash."""
    totals = rows.group_by("policy").agg(pl.col("clean_pages_flushed").sum())
    clean = {policy: f"{pages:,}" for policy, pages in totals.rows()}
    held = [pages == 0 for pages in rows.filter(pl.col("policy") == OURS)["clean_pages_flushed"]]
    evidence = (
        ("buffer", "clean pages written, all cells"),
        *((buffer, clean[buffer]) for buffer in buffers),
    )
    return Found(held, evidence, {"clean": clean[OURS]})


def _workload() -> pl.Expr:
    """The paper's workload of a row; a trace that stands for none is its own."""
    return pl.coalesce("workload", pl.col("^trace$")).alias("workload")


def _workloads(rows: pl.DataFrame) -> list[str]:
    return rows.select(_workload())["workload"].unique(maintain_order=True).to_list()


def _cells(rows: pl.DataFrame, column: str) -> Cells:
    """What each workload's buffers have in a column, per run of the trace; by buffer size."""
    policy = pl.col("policy").str.replace(HEEDED, "")
    cells: dict[tuple[str, str], dict[int, float]] = {}
    for *names, pages, value in rows.select(
        _workload(), policy, "buffer_pages", per_run(column)
    ).iter_rows():
        cells.setdefault((names[0], names[1]), {})[pages] = value
    return cells


def _gains(cells: Cells, workload: str, other: str, gain: str, ours: str = OURS) -> Gains:
    mine, others = (cells.get((workload, policy), {}) for policy in (ours, other))
    pairs = {pages: (mine[pages], others[pages]) for pages in mine if pages in others}
    by_pages = {pages: GAINS[gain](*pair) for pages, pair in pairs.items() if min(pair) > 0}
    return Gains(workload, other, by_pages)


def _besides(rows: pl.DataFrame, mode: str, column: str, gain: str) -> Evidence:
    """More rows of the table: CLOCK-DNV in another mode against CBM; none without a mode."""
    if not mode:
        return ()
    cells = _cells(rows, column)
    every = [_gains(cells, name, "cbm", gain, mode) for name in _workloads(rows)]
    return _table(every, f"cbm, with {mode}")[1:]


def _table(every: Sequence[Gains], called: str = "") -> Evidence:
    """Gains by workload and other buffer, a column per buffer size."""
    sizes = sorted({pages for each in every for pages in each.by_pages})
    rows = []
    for each in every:
        cells = (signed(each.by_pages[at]) if at in each.by_pages else "–" for at in sizes)
        rows.append((each.workload, called or each.other, *cells))
    return (("workload", "against", *(byte_text(at * 4096) for at in sizes)), *rows)
