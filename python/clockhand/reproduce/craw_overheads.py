"""Software overheads of CRAW: movements of its hands, and permission faults in the place of bits.

Section V.C of the paper says that the first are small, section VI.B that CRAW runs well with the
second. Both are priced by what the pager takes for them on real memory.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.claims import CASES_RULE, Claim, Table, judged_cases
from clockhand.studies.pages.run import run_simulation
from clockhand.study.policies import BASELINE

HAND_NS = 50
"""About 100 instructions, a frame examined; docs/sweeps.md says where it is from."""

FAULT_NS = 8000
"""What the pager takes to set a bit again, the median of its bench."""

MEMORY = "5%,10%,20%,40%,60%,80%"
POLICIES = (BASELINE, "craw")
SMALL_OVERHEAD = 0.01
"""The share of the I/O time up to which movements of the hand are called quite small."""

AFFORDABLE = 0.1
"""The share of the I/O time up to which permission faults are called efficient."""


def overhead_rows(
    traces: Mapping[str, str], *, page_size: int, device: str, jobs: int | None
) -> pl.DataFrame:
    """Return what the policies' software costs beside their I/O, with bits from faults.

    Args:
        traces: Each trace and what its rows are called.
        page_size: Bytes of a page.
        device: What prices the I/O.
        jobs: Threads; all cores if ``None``.

    Returns:
        The columns trace, memory_share, policy, device_time_us, hand_movements, hand_time_us,
        permission_faults and fault_time_us.
    """
    priced = [
        run_simulation(
            trace,
            policies=list(POLICIES),
            memory=MEMORY,
            page_size=page_size,
            device=device,
            bits="mapped",
            hand_ns=HAND_NS,
            fault_ns=FAULT_NS,
            jobs=jobs,
            watch=False,
        ).rows.with_columns(pl.lit(name).alias("trace"))
        for trace, name in traces.items()
    ]
    hand, fault = (
        (pl.col(count) * ns / 1e3).alias(name)
        for count, ns, name in (
            ("hand_movements", HAND_NS, "hand_time_us"),
            ("permission_faults", FAULT_NS, "fault_time_us"),
        )
    )
    rows = pl.concat(priced).with_columns(hand, fault)
    device_time = pl.col("io_time_us") - pl.col("hand_time_us") - pl.col("fault_time_us")
    return rows.select(
        "trace", "memory_share", "policy", device_time.alias("device_time_us"), "hand_movements",
        "hand_time_us", "permission_faults", "fault_time_us",
    )  # fmt: skip


def overhead_claims(rows: pl.DataFrame) -> Iterator[Claim]:
    """Judge sections V.C and VI.B by :func:`overhead_rows`."""
    of_craw = rows.filter(pl.col("policy") == "craw").with_columns(
        (pl.col("hand_time_us") / pl.col("device_time_us")).alias("hands"),
        (pl.col("fault_time_us") / pl.col("device_time_us")).alias("faults"),
    )
    yield _claim(
        of_craw,
        "hands",
        SMALL_OVERHEAD,
        "software-overhead-small",
        "section V.C",
        "Compared with the page fault handling process that accompanies slow storage accesses, the "
        "additional software overhead of CRAW is quite small.",
        f"movements of CRAW's hands, at {HAND_NS} ns each",
    )
    reduction = " and ".join(
        f"{percent(_reduction(rows, columns))} {words}"
        for columns, words in (
            (["device_time_us"], "without"),
            (["device_time_us", "hand_time_us", "fault_time_us"], "with these times"),
        )
    )
    yield _claim(
        of_craw,
        "faults",
        AFFORDABLE,
        "efficient-without-bits",
        "section VI.B",
        "CRAW can be efficiently implemented in this environment as a software module by setting "
        "the read and the write bits through the simple modification of kernel",
        f"permission faults, at {FAULT_NS / 1000:g} µs each",
        why=f"CRAW's mean reduction of CLOCK's time, which has such faults too: {reduction}.",
    )


def _claim(
    cells: pl.DataFrame,
    column: str,
    most: float,
    key: str,
    place: str,
    quote: str,
    what: str,
    why: str = "",
) -> Claim:
    held = (cells[column] <= most).to_list()
    worst = cells.sort(column, maintain_order=True).row(-1, named=True)
    median = float(str(cells[column].median()))
    return Claim(
        key,
        place,
        quote,
        f"Cells (trace, memory size) in which {what}, add at most {percent(most)} to the I/O time, "
        f"with bits as faults show them. {CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} cells; median {percent(median)}, the worst cell "
        f"{percent(worst[column])}, on {worst['trace']} with {percent(worst['memory_share'])} of "
        "memory",
        why=why,
        evidence=_by_trace(cells, column),
    )


def _by_trace(cells: pl.DataFrame, column: str) -> Table:
    traces: Sequence[str] = cells["trace"].unique(maintain_order=True).to_list()
    share = (100 * pl.col("memory_share")).round().cast(pl.Int64)
    with_percent = cells.with_columns(share.alias("percent"))
    sizes = with_percent["percent"].unique().sort().to_list()
    values = {
        (row["trace"], row["percent"]): row[column] for row in with_percent.iter_rows(named=True)
    }
    return (
        ("trace", *(f"{size}\u00a0% of memory" for size in sizes)),
        *(
            (
                trace,
                *(
                    percent(values[trace, size]) if (trace, size) in values else "–"
                    for size in sizes
                ),
            )
            for trace in traces
        ),
    )


def _reduction(rows: pl.DataFrame, columns: Sequence[str]) -> float:
    """The mean over cells by how much less time CRAW takes than CLOCK, of these kinds of time."""
    times = rows.with_columns(pl.sum_horizontal(columns).alias("time"))
    both = times.pivot("policy", index=["trace", "memory_share"], values="time")
    return float(str((1 - both["craw"] / both[BASELINE]).mean()))
