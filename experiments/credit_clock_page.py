"""Puts the tables of experiments/results/credit-clock into the pages, between their markers."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

Row = dict[str, Any]
COSTS = {
    (True, "write-costs-2"): "c = 2",
    (True, "unit"): "c = 8",
    (True, "write-costs-13.3"): "c = 13.3",
    (True, "write-costs-32"): "c = 32",
    (False, "unit"): "c = 8, not flushed",
}
MAPPED_COSTS = {"unit": "c = 8", "write-costs-32": "c = 32"}
RIVALS = ("wa-landlord", "craw-a", "weighted-clock", "cflru")
BY_TRACE = ("credit-clock", "for", *RIVALS, "casa", "ccf-lru", "ad-lru", "lirs-wsr", "opt-feasible")
TRACES_PER_TABLE = 7


PAGES = ("experiments/credit-clock.md", "docs/method.md")
"""The pages, from the repository's root."""


def write_tables(root: Path, results: Path) -> None:
    """Rewrite what stands between the markers of the pages, from the tables in ``results``.

    A table that has not been made leaves its place as it is.
    """
    evidence, method = PAGES
    pages: dict[str, dict[str, Callable[[Path], Iterable[str]]]] = {
        evidence: {
            "made-by": made_by,
            "relative-to-clock": costs,
            "against": against,
            "by-trace": by_trace,
            "counts": counts,
            "ablation": ablation,
            "readings": readings,
            "ace": ace,
            "mapped-bits": mapped_bits,
            "write-buffer": write_buffers,
            "public-traces": public_traces,
            "write-buffer-public-traces": write_buffers,
            "bracket": bracket,
        },
        method: {"bracket-widths": widths},
    }
    sources = {"made-by": "write-buffer"}
    for name, tables in pages.items():
        page = root / name
        text = page.read_text(encoding="utf-8")
        for marker, lines in tables.items():
            source = results / f"{sources.get(marker, marker.split()[0])}.csv"
            if source.exists():
                text = between(text, marker, "\n".join(lines(source)))
        page.write_text(text, encoding="utf-8")


def between(text: str, marker: str, content: str) -> str:
    """Return a page with new content between the markers of a name."""
    begin, end = f"<!-- {marker}: begin -->\n", f"<!-- {marker}: end -->"
    before, found, rest = text.partition(begin)
    if not found:
        raise ValueError(f"there is no line {begin.strip()} in the page; add it")
    return f"{before}{begin}\n{content}\n\n{end}{rest.partition(end)[2]}"


def rows_of(path: Path) -> list[Row]:
    """Return a table's rows."""
    return pl.read_csv(path, comment_prefix="#").to_dicts()


def markdown(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    lines = [head, ["---"] * len(head), *body]
    return [f"| {' | '.join(line)} |" for line in lines]


def made_by(path: Path) -> Iterable[str]:
    """Say how the tables were made; they have the hashes of their traces."""
    facts = [line.removeprefix("# ") for line in path.read_text().splitlines() if line[0] == "#"]
    yield from (f"* {fact}" for fact in facts if not fact.startswith("trace: "))


def mean_and_worst(row: Row) -> str:
    """Return the mean, where it lies, and the worst cell."""
    interval = f"{row['from']:.2f}–{row['to']:.2f}"
    return f"{row['geometric_mean']:.3f} ({interval}), {row['worst']:.2f}"


def row_mean(row: Row) -> float:
    """Return the mean of a row."""
    return float(row["geometric_mean"])


def costs(path: Path) -> list[str]:
    """Return a row per policy and a column per cost."""
    cells = {(r["flush_at_end"], r["device"], r["policy"]): r for r in rows_of(path)}
    policies = [policy for policy in dict.fromkeys(key[2] for key in cells) if ":" not in policy]
    best_first = sorted(policies, key=lambda name: cells[True, "unit", name]["geometric_mean"])
    body = [
        [f"`{policy}`", *(mean_and_worst(cells[(*cost, policy)]) for cost in COSTS)]
        for policy in best_first
    ]
    return markdown(["policy", *COSTS.values()], body)


def against(path: Path) -> list[str]:
    """Return a row per rival that is no slower than CLOCK, and a column per cost."""
    cells = {(r["flush_at_end"], r["device"], r["policy"]): r for r in rows_of(path)}

    def told(row: Row) -> str:
        interval = f"{row['from']:.2f}–{row['to']:.2f}"
        is_open = row["from"] <= 1 <= row["to"]
        ahead = f"{row['traces_ahead']}/{row['traces']}{', open' if is_open else ''}"
        return f"{row['geometric_mean']:.3f} ({interval}), {ahead}"

    def mean(name: str) -> float:
        return row_mean(cells[True, "unit", name])

    known = dict.fromkeys(policy for _, _, policy in cells if policy != "min")
    rivals = [name for name in known if mean(name) >= mean("clock")]
    rivals.sort(key=mean, reverse=True)
    body = [[f"`{name}`", *(told(cells[(*cost, name)]) for cost in COSTS)] for name in rivals]
    return markdown(["policy", *COSTS.values()], body)


def readings(path: Path) -> list[str]:
    """Return a row per rival, as it is and as another reading has it."""
    cells = {(row["flush_at_end"], row["policy"]): row for row in rows_of(path)}
    names = sorted({policy for _, policy in cells} - {"clock", "credit-clock"})
    body = [
        [f"`{name}`", *(mean_and_worst(cells[flushed, name]) for flushed in (True, False))]
        for name in ("credit-clock", *names)
    ]
    return markdown(["reading", "c = 8", "c = 8, not flushed"], body)


def ace(path: Path) -> list[str]:
    """Return a row per policy, where a drive writes one page at a time and where more."""
    rows = rows_of(path)
    cells = {(row["pages_at_once"], row["flush_at_end"], row["policy"]): row for row in rows}
    several = max(pages for pages, _, _ in cells)
    names = sorted(
        {name for *_, name in cells}, key=lambda name: row_mean(cells[several, True, name])
    )
    body = [
        [f"`{name}`", *(mean_and_worst(cells[pages, True, name]) for pages in (1, several))]
        for name in names
    ]
    head = ["one page at once", f"{several} pages at once"]
    return markdown(["policy", *head], body)


def by_trace(path: Path) -> Iterable[str]:
    """Return a column per trace, in several tables."""
    rows = {row["policy"]: row for row in rows_of(path) if row["flush_at_end"]}
    traces = [name for name in rows[BY_TRACE[0]] if name not in ("flush_at_end", "policy")]
    for first in range(0, len(traces), TRACES_PER_TABLE):
        some = traces[first : first + TRACES_PER_TABLE]
        body = [[f"`{name}`", *(f"{rows[name][t]:.3f}" for t in some)] for name in BY_TRACE]
        yield from ([""] if first else [])
        yield from markdown(["policy", *some], body)


def counts(path: Path) -> list[str]:
    """Return what explains the times, with the final flush."""
    rows = [row for row in rows_of(path) if row["flush_at_end"]]
    numbers = ("hit_ratio", "write_ios_over_clock", "hand_per_miss", "io_time_over_bound",
               "io_time_over_feasible")  # fmt: skip
    digits = (3, 3, 2, 2, 2)

    def told(row: Row) -> list[str]:
        values = [row[name] for name in numbers]
        return ["–" if v is None else f"{v:.{d}f}" for v, d in zip(values, digits, strict=True)]

    rows.sort(key=lambda row: row["io_time_over_feasible"])
    head = ["policy", "hit ratio", "write I/Os over CLOCK's", "pages looked at per miss",
            "I/O time over `bound`", "over `opt-feasible`"]  # fmt: skip
    return markdown(head, [[f"`{row['policy']}`", *told(row)] for row in rows])


def ablation(path: Path) -> list[str]:
    """Return a row per variant."""
    rows = [row for row in rows_of(path) if row["policy"].startswith("credit-clock")]
    rows = [rows[0], *sorted(rows[1:], key=lambda row: row["policy"])]
    return markdown(
        ["variant", "mean, interval, worst cell"],
        [[f"`{row['policy']}`", mean_and_worst(row)] for row in rows],
    )


def mapped_bits(path: Path) -> list[str]:
    """Return a row per policy and a column per cost."""
    cells = {(row["device"], row["policy"]): row for row in rows_of(path)}
    policies = list(dict.fromkeys(policy for _, policy in cells))
    policies.sort(key=lambda name: cells["unit", name]["geometric_mean"])
    body = [
        [f"`{name}`", *(mean_and_worst(cells[cost, name]) for cost in MAPPED_COSTS)]
        for name in policies
    ]
    return markdown(["policy", *MAPPED_COSTS.values()], body)


def write_buffers(path: Path) -> Iterable[str]:
    """Return a row per buffer, and the pages written by trace."""
    rows = {(row["trace"], row["buffer"]): row for row in rows_of(path)}
    traces = [trace for trace in dict.fromkeys(trace for trace, _ in rows) if trace != "all"]
    columns = ("host_writes", "erases", "flash_reads")

    def told(buffer: str) -> list[str]:
        whole = rows["all", buffer]
        means = [f"{whole[f'{name}_over_lru']:.3f}" for name in columns]
        each = [f"{rows[trace, buffer]['host_writes_over_lru']:.3f}" for trace in traces]
        worst = f"{whole['worst_host_writes_over_lru']:.2f}"
        return [f"`{buffer}`", f"{whole['hit_ratio']:.3f}", *means, worst, *each]

    head = ["buffer", "hit ratio", "pages to flash", "erases", "flash reads", "worst, to flash"]
    buffers = [buffer for trace, buffer in rows if trace == "all"]
    buffers.sort(key=lambda buffer: rows["all", buffer]["host_writes_over_lru"])
    return markdown([*head, *traces], [told(buffer) for buffer in buffers])


def public_traces(path: Path) -> list[str]:
    """Return a row per policy and a column per trace."""
    rows = {row["policy"]: row for row in rows_of(path)}
    traces = [name for name in rows[BY_TRACE[0]] if name not in ("flush_at_end", "policy")]
    chosen = ("credit-clock", "for", *RIVALS, "casa", "ccf-lru", "lirs-wsr", "lru-wsr",
              "opt-feasible")  # fmt: skip
    body = [[f"`{name}`", *(f"{rows[name][trace]:.3f}" for trace in traces)] for name in chosen]
    return markdown(["policy", *traces], body)


def bracket(path: Path) -> list[str]:
    """Return how narrow the bracket is, a row per cost."""

    def told(row: Row) -> list[str]:
        cost = COSTS[row["flush_at_end"], row["device"]].removesuffix(", not flushed")
        gaps = [row[f"{name}_gap_percent"] for name in ("median", "mean", "widest")]
        rise = row["above_the_bound_without_prices_percent"]
        flush = "yes" if row["flush_at_end"] else "no"
        known = [str(row["cells"]), str(row["closed"])]
        return [flush, cost, *known, *(f"{percent:.1f}" for percent in (*gaps, rise))]

    head = ["final flush", "cost", "cells", "closed", "median gap, %", "mean", "widest",
            "`bound` above `bound:effort=0`, %"]  # fmt: skip
    return markdown(head, [told(row) for row in rows_of(path)])


def widths(path: Path) -> list[str]:
    """Return a row per trace and a column per memory size."""
    rows = rows_of(path)

    def told(value: float) -> str:
        if value == 0:
            return "closed"
        return "< 0.1" if value < 0.05 else f"{value:.1f}"

    body = [[row.pop("trace"), *map(told, row.values())] for row in rows]
    return markdown(["trace, memory", *rows[0]], body)
