"""The claims of the SCM paper's section 5 on mobile programs, Figures 10 to 13."""

from collections.abc import Iterator

import polars as pl

from clockhand.report.words import byte_text, number_text, percent
from clockhand.reproduce.claims import (
    CASES_RULE,
    NEARLY_ALL,
    TOLERANCE,
    Claim,
    Table,
    judged_cases,
)

KNEE_ENTRIES = 20
THRESHOLD_BYTES = 1024
STAND_INS = (
    "The traces are stand-ins (traces/mobile): programs of a desktop in the places of five "
    "Android applications."
)


def judge_mobile(rows: pl.DataFrame, tlb_rows: pl.DataFrame) -> Iterator[Claim]:
    """Return the claims of Figures 10 to 13 in the paper's order.

    Args:
        rows: Rows of :func:`clockhand.translate` with the column ``workload``, the paper's program
            that the trace stands for: page sizes and ratios, one TLB and one memory size.
        tlb_rows: The same for sizes of TLB, with one page size and ratio.
    """
    rows, tlb_rows = _labelled(rows), _labelled(tlb_rows)
    yield from _knees(tlb_rows)
    yield _grows(rows)
    yield _slows_down(rows)
    yield _faults_fall(rows)
    yield _large_is_best(rows)
    yield _no_difference(rows)


def knee(points: list[tuple[float, float]]) -> float:
    """Return where a rising curve bends most: the point highest above the line between its ends.

    Args:
        points: Its points in order; of equal ones the first is taken.
    """
    (first_x, first_y), (last_x, last_y) = points[0], points[-1]
    slope = (last_y - first_y) / (last_x - first_x)
    return max(points, key=lambda point: point[1] - first_y - slope * (point[0] - first_x))[0]


def _labelled(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the column ``program``: the stand-in, and what it stands for."""
    return rows.with_columns(pl.format("{} for {}", "trace", "workload").alias("program"))


def _programs(rows: pl.DataFrame, by: str) -> Iterator[tuple[str, pl.DataFrame]]:
    for group in rows.sort(by).partition_by("program", maintain_order=True):
        yield group["program"][0], group


def _counted(held: list[bool], what: str) -> str:
    return f"{sum(held)} of {len(held)} {what}"


def _over_pages(rows: pl.DataFrame, column: str) -> Table:
    """Shares in percent: a row per page size, a column per program."""
    wide = rows.sort("page_bytes").pivot("program", index="page_bytes", values=column)
    return (("page", *wide.columns[1:]),
            *((byte_text(size), *(percent(value) for value in values))
              for size, *values in wide.iter_rows()))  # fmt: skip


def _at_first_ratio(rows: pl.DataFrame) -> pl.DataFrame:
    """Hits and faults are the same whatever storage is like."""
    return rows.filter(pl.col("storage_ratio") == rows["storage_ratio"].min())


KNEE_QUOTE = (
    "the TLB performance is improved sharply when the number of TLB entries is less than 20 and "
    "the slope of the curve becomes gradual after that point"
)


def _knees(rows: pl.DataFrame) -> Iterator[Claim]:
    curves = {
        program: list(group.select("tlb_entries", "tlb_hit_ratio").iter_rows())
        for program, group in _programs(rows, "tlb_entries")
    }
    sizes: list[int] = rows["tlb_entries"].unique().sort().to_list()
    place, paper = "Figure 10, section 5", "below 20 entries"
    pages = f"pages of {byte_text(rows['page_bytes'][0])}"
    wide = rows.sort("tlb_entries").pivot("program", index="tlb_entries", values="tlb_hit_ratio")
    evidence = (
        ("entries", *wide.columns[1:]),
        *((str(size), *(percent(value) for value in values)) for size, *values in wide.iter_rows()),
    )
    knees = {program: knee(curve) for program, curve in curves.items()}
    held = [entries < KNEE_ENTRIES for entries in knees.values()]
    bends = ", ".join(f"{program} at {entries:g}" for program, entries in knees.items())
    yield Claim(
        "mobile-knee", place, KNEE_QUOTE,
        "Programs whose curve of TLB hit rates bends most below 20 entries: at the point highest "
        f"above the line from {sizes[0]} to {sizes[-1]} entries. {CASES_RULE}",
        judged_cases(held), _counted(held, "programs"), paper=paper,
        reading=f"the curve bends below 20 entries; {pages}",
        why=f"Bends: {bends} entries. {STAND_INS}", evidence=evidence,
    )  # fmt: skip
    held = [_gained(curve) >= NEARLY_ALL for curve in curves.values()]
    yield Claim(
        "mobile-gradual", place, KNEE_QUOTE,
        f"Programs for which nine tenths of what {sizes[-1]} entries add to the hit rate of "
        f"{sizes[0]} are there with 20. {CASES_RULE}",
        judged_cases(held), _counted(held, "programs"), paper=paper,
        reading=f"little is gained beyond 20 entries; {pages}", why=STAND_INS, evidence=evidence,
    )  # fmt: skip


def _gained(curve: list[tuple[float, float]]) -> float:
    """The share of a curve's rise that is there at 20 entries; all of none."""
    at = max((point for point in curve if point[0] <= KNEE_ENTRIES), default=curve[0])
    rise = curve[-1][1] - curve[0][1]
    return (at[1] - curve[0][1]) / rise if rise > 0 else 1.0


def _grows(rows: pl.DataFrame) -> Claim:
    at_first = _at_first_ratio(rows)
    held = [group["tlb_hit_ratio"].is_sorted() for _, group in _programs(at_first, "page_bytes")]
    return Claim(
        "mobile-tlb-grows", "Figure 11, section 5",
        "the TLB hit rate improves according as the page size increases",
        f"Programs whose TLB hit rate never falls as pages grow. {CASES_RULE}",
        judged_cases(held), _counted(held, "programs"),
        why=f"As many entries translate more memory, and no page leaves. {STAND_INS}",
        evidence=_over_pages(at_first, "tlb_hit_ratio"),
    )  # fmt: skip


def _slows_down(rows: pl.DataFrame) -> Claim:
    at_first = _at_first_ratio(rows)
    held = []
    for _, group in _programs(at_first, "page_bytes"):
        rates = group["tlb_hit_ratio"].to_list()
        held.append(rates[-1] - rates[-2] < (rates[1] - rates[0]) / 2)
    return Claim(
        "mobile-tlb", "Figure 11, section 5",
        "the improvement of the TLB hit rate slows down when the page size is larger than a "
        "certain threshold",
        "Programs for which the last doubling of the page adds less than half of what the first "
        f"does. {CASES_RULE}",
        judged_cases(held), _counted(held, "programs"), why=STAND_INS,
        evidence=_over_pages(at_first, "tlb_hit_ratio"),
    )  # fmt: skip


def _faults_fall(rows: pl.DataFrame) -> Claim:
    at_first = _at_first_ratio(rows)
    held = [
        group["page_fault_ratio"].is_sorted(descending=True)
        for _, group in _programs(at_first, "page_bytes")
    ]
    return Claim(
        "mobile-faults", "Figure 12, section 5",
        "the page fault rate decreases as the page size increases for all applications we "
        "considered",
        "Nothing leaves memory, so that each page faults once: reproduced by construction.",
        judged_cases(held), _counted(held, "programs"),
        why="Larger pages are fewer pages.",
        evidence=_over_pages(at_first, "page_fault_ratio"), by_construction=True,
    )  # fmt: skip


def _times(rows: pl.DataFrame) -> Table:
    """Access times: a row per program and ratio, a column per page size."""
    wide = rows.sort("page_bytes").pivot(
        "page_bytes", index=["program", "storage_ratio"], values="amat_ns"
    )
    sizes = (byte_text(int(name)) for name in wide.columns[2:])
    body = (
        (f"{program}, ratio {ratio:g}", *(number_text(round(value, 1)) for value in values))
        for program, ratio, *values in wide.sort("storage_ratio", maintain_order=True).iter_rows()
    )
    return (("access time (ns)", *sizes), *body)


def _by_ratio(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    yield from rows.sort("page_bytes").partition_by("program", "storage_ratio")


def _lengths(rows: pl.DataFrame) -> str:
    lengths: list[int] = rows["references"].sort().to_list()
    return (
        f"Ours have {lengths[0] / 1e6:.1f} to {lengths[-1] / 1e6:.1f} million references, the "
        "paper's 13.7 to 21.0: in a shorter trace the first fault of each page counts for more."
    )


def _large_is_best(rows: pl.DataFrame) -> Claim:
    held = [
        group["amat_ns"][-1] <= (1 + TOLERANCE) * min(group["amat_ns"]) for group in _by_ratio(rows)
    ]
    largest = byte_text(rows["page_bytes"].sort()[-1])
    return Claim(
        "mobile-large-is-best", "Figure 13, section 5",
        "the best results in mobile environments are obtained when the page size becomes large",
        f"Programs and ratios for which pages of {largest} are within a tenth of the fastest. "
        f"{CASES_RULE}",
        judged_cases(held), _counted(held, "programs and ratios"),
        why="A page is moved once, with all that the program never touches of it: on slow storage "
        f"that counts. {_lengths(rows)} {STAND_INS}",
        evidence=_times(rows),
    )  # fmt: skip


def _no_difference(rows: pl.DataFrame) -> Claim:
    held = []
    for group in _by_ratio(rows):
        times = group.filter(pl.col("page_bytes") > THRESHOLD_BYTES)["amat_ns"]
        held.append(max(times) <= (1 + TOLERANCE) * min(times))
    return Claim(
        "mobile-access-time", "Figure 13, section 5",
        "there are no significant differences in memory performances when the page size is larger "
        "than 1 kilobytes",
        "Programs and ratios for which all pages above 1 KiB are within a tenth of each other. "
        f"{CASES_RULE}",
        judged_cases(held), _counted(held, "programs and ratios"),
        why=f"{_lengths(rows)} {STAND_INS}",
        evidence=_times(rows),
    )  # fmt: skip
