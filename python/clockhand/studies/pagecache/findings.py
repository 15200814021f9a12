"""What a run of a page cache says, in sentences."""

from collections.abc import Iterable

import polars as pl

from clockhand.report.words import percent, size_text, time_text
from clockhand.study.facts import Facts, printable, trace_label
from clockhand.study.phrases import all_of
from clockhand.study.policies import reads_the_future

NOTICEABLE = 0.0005
"""Below one part in two thousand a difference would be printed as 0.0 %."""


def findings(rows: pl.DataFrame, facts: Facts | None = None) -> list[str]:
    """Return what stands out in each trace, a sentence each."""
    sentences = []
    for group in rows.partition_by("trace", maintain_order=True):
        where = trace_label(group["trace"][0], facts)
        cells = group.unique(["policy", "frames"], keep="first", maintain_order=True)
        sentences += _of_time(cells, where)
        sentences += _of_loss(cells, where)
        sentences += _of_read_ahead(cells, where)
    return sentences


def _of_time(cells: pl.DataFrame, where: str) -> list[str]:
    """Compare policies that can be built, of the same memory: across sizes the larger wins."""
    sentences = []
    offline = [name for name in cells["policy"].unique() if reads_the_future(name)]
    online = cells.filter(~pl.col("policy").is_in(offline))
    for same in online.partition_by("frames", maintain_order=True):
        if same.height < 2:
            continue
        least, most = _bounds(same["io_time_us"])
        size = f"with {same['frames'][0]:,} frames"
        if most == 0 or (most - least) / most < NOTICEABLE:
            sentences.append(f"All policies take the same I/O time on {where} {size}.")
            continue
        names = same.filter(pl.col("io_time_us") == least)["policy"]
        others = same.filter(pl.col("io_time_us") > least).sort("io_time_us", maintain_order=True)
        baseline = others.filter(pl.col("policy") == "clock")
        other = (others if baseline.is_empty() else baseline).row(0, named=True)
        verb = "takes" if len(names) == 1 else "take"
        sentences.append(
            f"{_listed(names)} {verb} {percent(1 - least / other['io_time_us'])} less I/O time "
            f"than {printable(other['policy'])} on {where} {size}: {time_text(least)}."
        )
    return sentences


def _of_loss(cells: pl.DataFrame, where: str) -> list[str]:
    """Say what a power failure would have cost at worst."""
    peak = cells.sort("dirty_pages_peak", descending=True, maintain_order=True).row(0, named=True)
    if peak["dirty_pages_peak"] == 0:
        return []
    lost = size_text(peak["dirty_pages_peak"] * peak["page_bytes"])
    return [
        f"At worst a power failure on {where} loses {peak['dirty_pages_peak']:,} dirty pages of "
        f"files: {lost}, under {printable(peak['policy'])} with {peak['frames']:,} frames."
    ]


def _of_read_ahead(cells: pl.DataFrame, where: str) -> list[str]:
    read = int(cells["readahead_ios"].sum())
    if read == 0:
        return []
    unused = int(cells["readahead_unused"].sum())
    return [
        f"Of all pages read ahead on {where}, {100 * unused / read:.1f} % left without having been "
        "referenced."
    ]


def _bounds(values: pl.Series) -> tuple[float, float]:
    known: list[float] = values.to_list()
    return min(known), max(known)


def _listed(names: Iterable[str]) -> str:
    return all_of(printable(name) for name in names)
