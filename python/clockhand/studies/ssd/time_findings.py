"""Findings of a timed run, in sentences: fast buffers, waits of slow requests, busy parts."""

from typing import Any

import polars as pl

from clockhand.report.words import number_text, time_text, unique
from clockhand.studies.ssd.waits import CAUSES, Tail, tail
from clockhand.study.facts import printable
from clockhand.study.phrases import all_of
from clockhand.study.policies import name_of
from clockhand.study.records import Record

BASELINE = "lru"
"""What every comparison names besides the next best."""

TENTHS = (
    "less than a twentieth", "a tenth", "two tenths", "three tenths", "four tenths", "half",
    "six tenths", "seven tenths", "eight tenths", "nine tenths", "almost all",
)  # fmt: skip


SAID = {
    "host": "waiting in the host's queue", "front": "waiting for the front end",
    "buffer": "waiting for a place in the buffer", "flash": "waiting for other work of the die",
}  # fmt: skip
"""Longer names of waits for sentences."""


def of_time(rows: pl.DataFrame, where: str, classes: pl.DataFrame | None) -> list[str]:
    """Say how long requests take with each buffer, what the slowest wait for, and what is full.

    Args:
        rows: The rows of whole runs of one trace on one drive.
        where: What they are called.
        classes: Requests by latency, of all cells.
    """
    rows = rows.filter(pl.col("duration_us").is_not_null())
    rows = rows.unique(["buffer", "buffer_pages", "arrivals"], keep="first", maintain_order=True)
    if rows.is_empty():
        return []
    loads = unique(rows["arrivals"])
    sentences: list[str] = []
    for (_, arrivals), same in rows.group_by("buffer_pages", "arrivals", maintain_order=True):
        here = f"{where}, {printable(str(arrivals))}" if len(loads) > 1 else where
        # Under many loads and sizes the figures say more than a sentence for each.
        if len(sentences) < MOST_SENTENCES:
            sentences += _fastest(same, here, classes)
    return sentences + _saturated(rows, where)


MOST_SENTENCES = 8


def key_of(rows: pl.DataFrame) -> str | None:
    """The percentile that buffers are compared by: of writes, or of reads if nothing is written."""
    for column in ("write_p99_us", "read_p99_us"):
        if rows[column].null_count() < rows.height:
            return column
    return None


def _fastest(same: pl.DataFrame, where: str, classes: pl.DataFrame | None) -> list[str]:
    """Compare buffers of one size under the same load, and tell of the fastest."""
    key = key_of(same)
    if key is None:
        return []
    ordered = same.sort(key, nulls_last=True, maintain_order=True).to_dicts()
    best, others = ordered[0], ordered[1:]
    slow = None if classes is None else tail(_classes_of(classes, best, key))
    sentences = [_latencies(best, where, key, slow)]
    if others:
        next_best = others[0]
        compared = [_against(best, next_best, key, ", the next best,")]
        lru = [row for row in others[1:] if name_of(row["buffer"]) == BASELINE]
        compared += [_against(best, row, key, "") for row in lru[:1]]
        kind = key.split("_")[0]
        sentences.append(
            f"Of {len(ordered)} buffers of that size it has the shortest p99 of {kind}s: "
            f"{all_of(compared)}."
        )
    return sentences


def _latencies(row: Record, where: str, key: str, slow: Tail | None) -> str:
    parts = []
    for kind in ("write", "read"):
        p99_us = row[f"{kind}_p99_us"]
        if p99_us is not None:
            text = f"p99 of {kind}s is {time_text(p99_us)}"
            parts.append(text + (_made_of(slow) if key.startswith(kind) else ""))
    part = str(row["bottleneck"])
    share = row[f"{part.split()[0]}_utilisation" + ("" if part == "front" else "_max")]
    sentence = (
        f"{_with(row['buffer'])} on {where}, {'; '.join(parts)}; "
        f"the busiest part is {part}, {100 * share:.0f} % of the time"
    )
    if row["collection_share"]:
        taken = 100 * row["collection_share"]
        sentence += f", and collection takes {taken:.0f} % of all dies' time"
    return f"{sentence}."


def _with(buffer: str) -> str:
    return "Without a buffer" if buffer == "none" else f"With {printable(buffer)}"


def _made_of(slow: Tail | None) -> str:
    """Say what most of the latency of the slowest requests is."""
    if slow is None:
        return ""
    wait = max(slow.shares, key=lambda name: slow.shares[name])
    return f", {TENTHS[round(10 * slow.shares[wait])]} of it {SAID.get(wait, CAUSES[wait])}"


def _classes_of(classes: pl.DataFrame, row: Record, key: str) -> pl.DataFrame:
    known = [
        pl.col(name) == row[name] for name in ("trace", "buffer", "buffer_pages", "ssd", "arrivals")
    ]
    of_cell = classes.filter(*known, pl.col("op") == key.split("_")[0])
    return of_cell.unique("most_us")


def _against(best: Record, other: Record, key: str, what: str) -> str:
    name = f"{printable(other['buffer'])}{what}"
    if not best[key] or other[key] == best[key]:
        return f"{name} takes as long"
    return f"{name} takes {time_text(other[key])} ({other[key] / best[key]:.2f} times as long)"


def _saturated(rows: pl.DataFrame, where: str) -> list[str]:
    """Say which loads are more than the drive takes."""
    full = rows.filter(pl.col("is_saturated"))
    if full.is_empty():
        return []
    parts = [
        f"{all_of(printable(name) for name in unique(same['buffer']))} with arrivals "
        f"{printable(load)}"
        for (load,), same in full.group_by("arrivals", maintain_order=True)
    ]
    return [f"Requests arrive faster than they are served on {where}: {'; '.join(parts)}."]


def of_windows(rows: pl.DataFrame, where: str) -> list[str]:
    """Name the slowest window of requests, for each run of one trace on one drive."""
    sentences = []
    key = key_of(rows)
    if key is None:
        return []
    for (buffer, _), of_run in rows.group_by("buffer", "arrivals", maintain_order=True):
        worst = of_run.sort(key, descending=True, nulls_last=True).row(0, named=True)
        median: Any = of_run[key].median()
        kind = key.split("_")[0]
        sentences.append(
            f"{_with(str(buffer))} on {where}, p99 of {kind}s is "
            f"{time_text(worst[key])} in the slowest of {of_run.height:,} windows, from "
            f"{time_text(worst['window_us'])} on, in which collection moved "
            f"{number_text(worst['relocations'])} pages; half of the windows stay below "
            f"{time_text(median)}."
        )
    return sentences[:MOST_SENTENCES]
