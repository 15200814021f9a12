"""The claims of the SCM paper's section 4 on page sizes, Figures 6 to 9."""

from collections.abc import Callable, Iterator

import polars as pl

from clockhand.report.words import byte_text
from clockhand.reproduce.claims import (
    CASES_RULE,
    Claim,
    Table,
    Verdict,
    judged_cases,
)

KIB = 1024
SAME = 1.0
"""The ratio of storage that is as fast as memory."""

BEST_FOR_FAULTS = (
    # Figure 7: workload, the page size in KiB with the lowest fault rate.
    ("gqview", 8),
    ("kghostview", 8),
    ("xmms", 8),
    ("gedit", 1),
    ("freecell", 4),
)
FAULT_QUOTE = (
    "The page size of 8 kilobytes exhibits the best results for gqview, kghostview, and xmms. On "
    "the contrary, the page size that exhibits the best result is 1 kilobytes for gedit and 4 "
    "kilobytes for freecell, respectively."
)


def judge_paging(rows: pl.DataFrame) -> Iterator[Claim]:
    """Return the claims of Figures 6 to 9 in the paper's order.

    Args:
        rows: Rows of :func:`clockhand.translate` with the column ``workload``, the paper's program
            that the trace stands for; one TLB, and storage by ratios.
    """
    yield _translation_shrinks(rows)
    yield _translation_flattens(rows)
    yield from _best_for_faults(rows)
    yield _best_differs(
        rows,
        "page_fault_ratio",
        "faults-differ",
        "Figure 7, section 4.2",
        "the best page size is not identical for different applications",
    )
    yield _best_differs(
        rows,
        "amat_ns",
        "access-times-differ",
        "Figure 8, section 4.3",
        "the best page size is not the same for different applications",
    )
    yield _faults_are_not_time(rows)
    yield _as_fast_as_memory(rows)
    yield _smallest_is_best(rows, 10.0, "Figure 9(b)")
    yield _smallest_is_best(rows, 100.0, "Figure 9(c)")
    yield _usual_page(rows)


def best_pages(rows: pl.DataFrame, value: str, ratio: float) -> pl.DataFrame:
    """Return the page size with the least ``value`` for each workload and memory size.

    Returns:
        The columns workload, memory, page_bytes; of equals the smallest page.
    """
    at_ratio = rows.filter(pl.col("storage_ratio") == ratio).sort(value, "page_bytes")
    best = at_ratio.group_by("workload", "memory", maintain_order=True).agg(
        pl.col("page_bytes").first()
    )
    order = rows.select("workload", "memory").unique(maintain_order=True)
    return order.join(best, on=["workload", "memory"], how="left", maintain_order="left")


def _cells(rows: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """The rows of each workload and memory size at ratio 1, by page size."""
    at_one = rows.filter(pl.col("storage_ratio") == SAME).sort("page_bytes")
    for group in at_one.partition_by("workload", "memory", maintain_order=True):
        yield group["workload"][0], group["memory"][0], group


def _counted(held: list[bool]) -> str:
    return f"it holds in {sum(held)} of {len(held)} combinations of program and memory"


def _translation_shrinks(rows: pl.DataFrame) -> Claim:
    held = [group["t_addr_ns"].is_sorted(descending=True) for _, _, group in _cells(rows)]
    return Claim(
        "translation-shrinks", "Figure 6, section 4.1",
        "the latency of memory address translation decreases according as the page size grows",
        f"Programs and memories for which T_ADDR never rises with the page size. {CASES_RULE}",
        judged_cases(held), _counted(held),
        why="As many entries translate more memory; pages that leave sooner take theirs with them.",
    )  # fmt: skip


def _translation_flattens(rows: pl.DataFrame) -> Claim:
    held = []
    for _, _, group in _cells(rows):
        times = group["t_addr_ns"].to_list()
        held.append(times[-2] - times[-1] < (times[0] - times[1]) / 2)
    return Claim(
        "translation-flattens", "Figure 6, section 4.1",
        "the page size does not need to be increased any longer after a certain large size",
        "Programs and memories for which the last doubling of the page saves less than half of "
        f"what the first does. {CASES_RULE}",
        judged_cases(held), _counted(held),
        why="Where the working set fits into the TLB's reach, larger pages have nothing to save.",
    )  # fmt: skip


def _sizes(best: pl.DataFrame) -> Table:
    """The best page sizes, a row per memory size."""
    rows = best.select("memory", "page_bytes").iter_rows()
    return (("memory", "best page"), *((memory, byte_text(size)) for memory, size in rows))


def _best_for_faults(rows: pl.DataFrame) -> Iterator[Claim]:
    everywhere = best_pages(rows, "page_fault_ratio", SAME)
    for workload, kib in BEST_FOR_FAULTS:
        best = everywhere.filter(pl.col("workload") == workload)
        held = [size == kib * KIB for size in best["page_bytes"]]
        yield Claim(
            f"faults-{workload}", "Figure 7, section 4.2", FAULT_QUOTE,
            f"Memory sizes with which {workload} has the fewest faults at {kib} KiB. {CASES_RULE}",
            judged_cases(held), f"at {sum(held)} of {len(held)} memory sizes",
            paper=f"{kib} KiB for {workload}",
            why="The best page grows with memory: where there is enough of it, a large page is one "
            "fault instead of many. The paper does not print its memory.",
            evidence=_sizes(best),
        )  # fmt: skip


def _best_differs(rows: pl.DataFrame, value: str, key: str, place: str, quote: str) -> Claim:
    by_memory = best_pages(rows, value, SAME).partition_by("memory", maintain_order=True)
    different = {group["memory"][0]: group["page_bytes"].n_unique() for group in by_memory}
    held = [count > 1 for count in different.values()]
    return Claim(
        key, place, quote,
        "Storage as fast as memory. Memory sizes with which the programs differ in their best "
        f"page. {CASES_RULE}",
        judged_cases(held), f"at {sum(held)} of {len(held)} memory sizes",
        evidence=(
            ("memory", "different best pages"),
            *((memory, str(count)) for memory, count in different.items()),
        ),
    )  # fmt: skip


def _faults_are_not_time(rows: pl.DataFrame) -> Claim:
    by_faults = best_pages(rows, "page_fault_ratio", SAME)["page_bytes"].to_list()
    by_time = best_pages(rows, "amat_ns", SAME)["page_bytes"].to_list()
    held = [faults != time for faults, time in zip(by_faults, by_time, strict=True)]
    return Claim(
        "faults-are-not-time", "Figures 7 and 8, section 4.3",
        "the storage access frequency is not the primary factor of performance in case of SCM "
        "storage media",
        "Storage as fast as memory. Programs and memories for which the page with the fewest "
        f"faults is not the fastest. {CASES_RULE}",
        judged_cases(held), _counted(held), why="A fault costs what its page is long.",
    )  # fmt: skip


def _best_is(
    rows: pl.DataFrame, ratio: float, is_as_said: Callable[[int], bool]
) -> tuple[list[bool], Table]:
    """Where the fastest page is as the paper says, and how often each is the fastest."""
    best = best_pages(rows, "amat_ns", ratio)
    counts = best.group_by("page_bytes").len().sort("page_bytes").iter_rows()
    table = (
        ("fastest page", "programs and memories"),
        *((byte_text(size), str(count)) for size, count in counts),
    )
    return [is_as_said(size) for size in best["page_bytes"]], table


def _as_fast_as_memory(rows: pl.DataFrame) -> Claim:
    held, table = _best_is(rows, SAME, lambda size: size in (4 * KIB, 8 * KIB))
    return Claim(
        "as-fast-as-memory", "Figure 9(a), section 4.4",
        "the memory access time is improved with the page size of 4KB or 8KB",
        f"Programs and memories for which 4 or 8 KiB is fastest. {CASES_RULE}",
        judged_cases(held), _counted(held), paper="4 or 8 KB",
        why="Our captures passed a second-level cache of 2 MiB, which the paper does not say of "
        "its own: few references are left for each page that is moved, and small pages win.",
        evidence=table,
    )  # fmt: skip


def _smallest_is_best(rows: pl.DataFrame, ratio: float, place: str) -> Claim:
    held, table = _best_is(rows, ratio, lambda size: size == 512)
    return Claim(
        f"smallest-at-{ratio:g}", f"{place}, section 4.4",
        "The best memory access time can be obtained if we set the page size to 512B for all "
        "cases.",
        f"Programs and memories for which 512 bytes are fastest. {CASES_RULE}",
        judged_cases(held), _counted(held), paper="512 B",
        why="Moving pages is nearly all of the time, and small pages move least.",
        evidence=table,
    )  # fmt: skip


def _usual_page(rows: pl.DataFrame) -> Claim:
    held = []
    for ratio in rows["storage_ratio"].unique().sort():
        held += [size != 4 * KIB for size in best_pages(rows, "amat_ns", ratio)["page_bytes"]]
    return Claim(
        "usual-page", "Section 4.4",
        "the common page size of 4KB will not be a good choice for all cases",
        "Reproduced if there is a program, memory and storage for which 4 KiB is not fastest, else "
        "contradicted.",
        Verdict.REPRODUCED if any(held) else Verdict.CONTRADICTED,
        f"another page is fastest in {sum(held)} of {len(held)} cases",
    )  # fmt: skip
