"""What a run of address translation says, in sentences."""

from collections.abc import Sequence

import polars as pl

from clockhand.report.words import byte_text
from clockhand.study.facts import Facts, printable, trace_label
from clockhand.study.phrases import one_of

USUAL_PAGE_BYTES = 4096
"""The page size that other ones are compared with."""

PLACE = ("memory", "tlb", "tlb2")
"""The columns besides trace, policy and storage that a best page size belongs to."""


def storage_text(storage_ratio: float | None, device: str | None) -> str:
    """Return what storage is, as the middle of a sentence."""
    if storage_ratio is None:
        return f"{printable(device or '')} as storage"
    if storage_ratio == 1:
        return "storage as fast as memory"
    return f"storage {storage_ratio:,g} times slower than memory"


def tlb_text(tlb: str, tlb2: str | None) -> str:
    """Return a TLB as people write it."""
    return f"TLB {tlb}" if tlb2 is None else f"TLB {tlb} + {tlb2}"


def findings(rows: pl.DataFrame, facts: Facts) -> list[str]:
    """Return the best page size for each trace, policy and storage, a sentence each."""
    timed = rows.drop_nulls("amat_ns")
    if timed["page_bytes"].n_unique() < 2:
        return []
    sentences = []
    several_policies = timed["policy"].n_unique() > 1
    keys = ["trace", "policy", "storage_ratio", "device"]
    for group in timed.partition_by(keys, maintain_order=True):
        first = group.row(0, named=True)
        where = f"{trace_label(first['trace'], facts)} with "
        where += storage_text(first["storage_ratio"], first["device"])
        if several_policies:
            where += f" under {printable(first['policy'])}"
        sentences.append(_sentence(group, where))
    return sentences


def headline(rows: pl.DataFrame, where: str) -> str:
    """Return the answer in a line: the best page size on an input or several."""
    timed = rows.drop_nulls("amat_ns")
    keys = ["trace", "policy", "storage_ratio", "device"]
    groups = timed.partition_by(keys, maintain_order=True)
    best = {size for group in groups for size in best_pages(group)["page_bytes"]}
    if timed["page_bytes"].n_unique() < 2:
        return f"Page size and address translation on {where}"
    sizes = one_of(map(byte_text, sorted(best)))
    if len(best) == 1:
        return f"Pages of {sizes} are best on {where}"
    if timed.select("trace", "policy").n_unique() > 1:
        return f"The best pages are of {sizes} on {where}"
    return f"Best page on {where}: {', '.join(_by_storage(groups))}"


def _by_storage(groups: Sequence[pl.DataFrame]) -> list[str]:
    """Return the best page sizes of one trace and the storages that they are best on."""
    found: dict[str, list[str]] = {}
    for group in groups:
        sizes = one_of(map(byte_text, sorted(set(best_pages(group)["page_bytes"]))))
        ratio, device = group.select("storage_ratio", "device").row(0)
        storage = "as fast as memory" if ratio == 1 else printable(device or "")
        if ratio not in (None, 1):
            storage = f"{ratio:,g}\u00a0\u00d7 slower"
        found.setdefault(sizes, []).append(storage)
    texts = [f"{sizes} on storage {one_of(storages)}" for sizes, storages in found.items()]
    later = (text.replace(" on storage ", " at ") for text in texts[1:])
    return [text.replace(" slower or", " or") for text in (texts[0], *later)]


def best_pages(group: pl.DataFrame) -> pl.DataFrame:
    """Return the best page size of each memory size and TLB, and what 4 KiB costs against it.

    Args:
        group: Rows of one trace, policy and storage.

    Returns:
        One row per memory size and TLB: ``memory, tlb, tlb2, page_bytes, amat_ns`` and
        ``usual_cost``, the time at 4 KiB over that of the best page, less 1; null without 4 KiB.
    """
    usual = pl.col("amat_ns").filter(pl.col("page_bytes") == USUAL_PAGE_BYTES).first()
    best = group.sort("amat_ns", "page_bytes").group_by(PLACE, maintain_order=True).agg(
        pl.col("page_bytes").first(),
        (usual / pl.col("amat_ns").first() - 1).alias("usual_cost"),
        pl.col("amat_ns").first(),
    )  # fmt: skip
    return best.select(*PLACE, "page_bytes", "amat_ns", "usual_cost")


def _sentence(group: pl.DataFrame, where: str) -> str:
    best = best_pages(group)
    costs = best["usual_cost"].drop_nulls()
    if best.height == 1:
        row = best.row(0, named=True)
        text = (
            f"On {where}, pages of {byte_text(row['page_bytes'])} are best: "
            f"{row['amat_ns']:,.0f} ns per reference"
        )
        if row["page_bytes"] == USUAL_PAGE_BYTES or costs.is_empty():
            return f"{text}."
        return f"{text}; 4\u00a0KiB takes {_percent(costs[0])} longer."
    counts = best.group_by("page_bytes").len().sort(-pl.col("len").cast(pl.Int64), "page_bytes")
    shares = [f"{byte_text(size)} in {count}" for size, count in counts.iter_rows()]
    combinations = f"{best.height} combinations of memory and TLB"
    if len(shares) == 1:
        size = byte_text(counts["page_bytes"][0])
        every = "both" if best.height == 2 else f"all {best.height}"
        text = f"On {where}, pages of {size} are best in {every} combinations of memory and TLB"
    else:
        text = f"On {where}, the best page of {combinations} is {', '.join(shares)}"
    if costs.is_empty():
        return f"{text}."
    least, most = costs.min(), costs.max()
    assert isinstance(least, float)
    assert isinstance(most, float)
    if most == 0:
        return f"{text}."
    longer = _percent(most) if _percent(least) == _percent(most) else (
        f"{_percent(least)} to {_percent(most)}"
    )  # fmt: skip
    return f"{text}; 4\u00a0KiB takes {longer} longer."


def _percent(share: float) -> str:
    percentage = 100 * share
    return f"{percentage:,.0f}\u00a0%" if percentage >= 10 else f"{percentage:.2g}\u00a0%"
