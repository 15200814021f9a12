"""``clockhand translate``: page sizes, TLBs and memory on fast storage."""

from functools import partial
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from clockhand.command.options import (
    Frames,
    Jobs,
    Memory,
    Out,
    OutputFormat,
    Plots,
    Report,
    Traces,
)
from clockhand.command.output import check_outputs, command_line, deliver, print_table, say
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.studies.translate.findings import findings
from clockhand.studies.translate.run import PAGE_SIZES, RATIOS, Translation, translate
from clockhand.study.facts import printable, trace_label
from clockhand.traces import Reading

DEFAULT_PAGE_SIZES = ",".join(PAGE_SIZES)

PageSizes = Annotated[
    str, typer.Option("--page-size", help="Page sizes, powers of two, such as 512,4KiB.")
]
Tlb = Annotated[
    str,
    typer.Option(
        help="ENTRIES[/WAYS][:lru|fifo|random|plru], several with commas, such as 64,64/4:plru."
    ),
]
Tlb2 = Annotated[
    str | None,
    typer.Option(help="A second level, ENTRIES[/WAYS], several with commas; none for 0."),
]
Ratio = Annotated[
    str | None,
    typer.Option(
        help=f"How many times slower than memory storage is; {','.join(RATIOS)} if neither this "
        "nor --device is given."
    ),
]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device",
        help="Storage as a device, NAME[:option=value,...] or FILE.toml; several with commas, all, "
        "or a pattern. See: clockhand devices.",
    ),
]
Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        help="Policy of memory, NAME[:parameter=value,...]; several with commas, all, or a pattern "
        "such as 'clock*'. See: clockhand policies.",
    ),
]
WalkLevels = Annotated[
    int, typer.Option(help="Levels of the page table, from 1 to 8; x86-64 has 4.")
]
WalkCache = Annotated[int, typer.Option(help="Upper entries of page tables that are cached.")]
Huge = Annotated[
    str | None,
    typer.Option(
        help="SIZE[:SHARE]: a region of this size becomes one huge page when this share of its "
        "pages is in memory; all of them if not given."
    ),
]
Prefetch = Annotated[
    int, typer.Option(help="How many pages behind one that faults come with it, up to 128.")
]
NoSwap = Annotated[
    bool,
    typer.Option(
        "--no-swap",
        help="Evict nothing: when memory is full, kill the stream that was not referenced for "
        "longest.",
    ),
]
Split = Annotated[
    bool,
    typer.Option("--split", help="A request references every page it touches, not only the first."),
]
FlushOnSwitch = Annotated[
    bool, typer.Option("--flush-on-switch", help="Another stream finds TLBs and walk cache empty.")
]
TimeTlb = Annotated[str, typer.Option("--t-tlb", help="Nanoseconds of a look-up in the TLB.")]
TimeTlb2 = Annotated[
    str, typer.Option("--t-tlb2", help="Nanoseconds of a look-up in its second level.")
]
TimeMemory = Annotated[
    str, typer.Option("--t-mem", help="Nanoseconds of a memory access of 64 bytes.")
]
FixedNs = Annotated[
    str, typer.Option("--fixed-ns", help="Nanoseconds of a page fault besides moving the page.")
]
ChargeWriteBack = Annotated[
    bool, typer.Option("--charge-write-back", help="Pages that are written back cost time, too.")
]
Seed = Annotated[int, typer.Option(help="Seed of policies and TLBs with random choices, from 0.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="translate")(_translate)


@with_reading
def _translate(
    traces: Traces,
    page_size: PageSizes = DEFAULT_PAGE_SIZES,
    tlb: Tlb = "64",
    tlb2: Tlb2 = None,
    frames: Frames = None,
    memory: Memory = None,
    ratio: Ratio = None,
    device: Devices = None,
    policy: Policies = ["clock"],  # noqa: B006 - Typer copies it.
    walk_levels: WalkLevels = 1,
    walk_cache: WalkCache = 0,
    huge: Huge = None,
    prefetch: Prefetch = 0,
    no_swap: NoSwap = False,
    split: Split = False,
    flush_on_switch: FlushOnSwitch = False,
    t_tlb: TimeTlb = "1",
    t_tlb2: TimeTlb2 = "7",
    t_mem: TimeMemory = "50",
    fixed_ns: FixedNs = "0",
    charge_write_back: ChargeWriteBack = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    format: OutputFormat = None,
    out: Out = None,
    report: Report = None,
    plots: Plots = None,
    *,
    reading: Reading,
) -> None:
    """Translate addresses and page memory: TLB hits, faults, access times, the best page size."""
    check_outputs(out, report, plots)
    with shown_progress() as watch:
        run = translate(
            traces,
            page_size=page_size,
            tlb=tlb,
            tlb2=tlb2,
            frames=frames,
            memory=memory,
            ratio=ratio,
            device=device or None,
            policies=policy,
            walk_levels=walk_levels,
            walk_cache=walk_cache,
            huge=huge,
            prefetch=prefetch,
            no_swap=no_swap,
            split=split,
            flush_on_switch=flush_on_switch,
            t_tlb=t_tlb,
            t_tlb2=t_tlb2,
            t_mem=t_mem,
            fixed_ns=fixed_ns,
            charge_write_back=charge_write_back,
            seed=seed,
            jobs=jobs,
            **reading,
            watch=watch,
            command=command_line(),
        )
    for warning in run.warnings:
        say(warning)
    files = run.report_files(report, plots)
    deliver(run.rows, format, out, partial(_print_tables, run), files, plots)


def _print_tables(run: Translation, console: Console) -> None:
    """Print one table per trace and policy, and the best page sizes."""
    several_policies = run.rows["policy"].n_unique() > 1
    for rows in run.rows.partition_by("trace", "policy", maintain_order=True):
        first = rows.row(0, named=True)
        title = f"{trace_label(first['trace'], run.facts)}: {first['references']:,} references"
        if several_policies:
            title += f" under {printable(first['policy'])}"
        print_table(f"{title}; times are ns per reference", for_people(rows), console)
    for sentence in findings(run.rows, run.facts):
        console.print(Text(sentence), soft_wrap=True)


def for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what people compare of rows of one trace and policy: a row per page size, memory, TLB.

    ``address`` is T_ADDR; the access time, both parts together, has a column for each storage: a
    device, or how many times slower than memory it is.
    """
    storage = (
        pl.when(pl.col("storage_ratio").is_null())
        .then(pl.col("device"))
        .otherwise(pl.format("{} times", _plain(pl.col("storage_ratio"))))
    )
    names = rows.select(storage.alias("storage"))["storage"].unique(maintain_order=True).to_list()
    keys = ["page_bytes", "memory", "frames", "tlb", "tlb2"]
    labelled = rows.with_columns(storage.alias("storage"))
    cells = labelled.unique(keys, keep="first", maintain_order=True).select(
        *keys,
        (100 * pl.col("tlb_hit_ratio")).alias("TLB hits %"),
        (100 * pl.col("page_fault_ratio")).alias("faults %"),
        pl.col("t_addr_ns").alias("address"),
        *(pl.col(name) for name in ("promotions", "prefetched", "kills")),
    )
    for name in names:
        times = labelled.filter(pl.col("storage") == name).unique(
            keys, keep="first", maintain_order=True
        )
        column = times.select(*keys, pl.col("amat_ns").alias(name))
        cells = cells.join(column, on=keys, how="left", nulls_equal=True, maintain_order="left")
    shown = cells.rename({"page_bytes": "page", "tlb": "TLB", "tlb2": "TLB 2"})
    dropped = [name for name in ("promotions", "prefetched", "kills") if shown[name].sum() == 0]
    kept = shown.drop(dropped)
    return kept.select(column for column in kept if column.null_count() < len(column))


def _plain(number: pl.Expr) -> pl.Expr:
    """Return a number as text, without the decimals that a whole one does not have."""
    return number.cast(pl.String).str.replace(r"\.0$", "")
