"""``clockhand locality``: how programs use their pages, for reads and writes apart."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from clockhand.command.options import Jobs, Memory, Traces
from clockhand.command.output import Untabled
from clockhand.command.papers import Outputs, with_outputs
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.command.saying import command_line, say
from clockhand.command.study import run_shown, with_options
from clockhand.command.tables import print_table, share_text
from clockhand.studies.locality.findings import TOP_COLUMNS, write_verdict
from clockhand.studies.locality.result import Locality
from clockhand.studies.locality.run import STUDY, locality_with
from clockhand.studies.locality.tables import KINDS, THINNED
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import trace_label
from clockhand.study.knee import knee
from clockhand.study.records import Fields
from clockhand.study.run import Study
from clockhand.traces import Reading

if TYPE_CHECKING:
    import polars as pl

Rows = Annotated[
    str | None,
    typer.Option(
        help=f"Table to write: {', '.join(KINDS)}; or window, with --frames or --memory: what "
        "windows of CFLRU would save. If not given: intervals with --every, miss-curve with "
        "--sample, else summary."
    ),
]
Frames = Annotated[int | None, typer.Option(help="With --rows window: page frames of LRU.")]

HEADINGS = {
    "top_1_share": "top 1",
    "top_10_share": "top 10",
    "top_100_share": "top 100",
    "top_1_percent_share": "top 1 %",
    "top_10_percent_share": "top 10 %",
}
CURVE_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
"""The miss curve is printed at these shares of the footprint."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="locality", epilog="locality app.trace --report locality.html")(_locality)


@with_reading
@with_outputs("highlight")
@with_options("locality")
def _locality(
    traces: Traces,
    options: Fields,
    rows: Rows = None,
    frames: Frames = None,
    memory: Memory = None,
    jobs: Jobs = None,
    *,
    reading: Reading,
    outputs: Outputs,
) -> None:
    """Show recency and frequency rankings of reads and writes, working sets and miss curves."""
    if rows == "window":
        if outputs.has_figures:
            raise UsageError(
                option("rows") + " window has no figures",
                "leave " + option("report") + " and " + option("plots") + " out",
            )
        outputs.check()
        asked = {"page_size": options["page_size"], "device": options["device"]}
        return _window(traces, {**asked, "frames": frames, "memory": memory}, reading, outputs)
    if frames is not None or memory is not None:
        raise UsageError(
            option("frames") + " and " + option("memory") + " are for the window study",
            "add " + option("rows") + " window",
        )
    has_intervals = options["every"] is not None or options["warm_up"] is not None
    if rows == "intervals" and not has_intervals:
        raise UsageError(
            option("rows") + " intervals needs their length",
            "add " + option("every") + ", such as " + option("every") + " 10000",
        )
    usual = "summary" if options["sample"] is None else "miss-curve"
    name = rows or ("intervals" if has_intervals else usual)
    if name not in KINDS:
        raise UsageError(
            option("rows") + f" {name!r} is unknown", f"give one of {', '.join(KINDS)}, window"
        )
    outputs.check()
    study = STUDY if outputs.has_figures else _study_of(rows, name)
    found: Locality = run_shown(study, traces, options, jobs, reading, outputs)
    for trace in found.facts["traces"]:
        for note in trace["notes"]:
            if note.startswith(THINNED):
                say(f"{trace['name']}: {note}")
    columns = found.columns(name)

    def print_for_people(console: Console) -> None:
        if rows is None and not has_intervals:
            print_tables(found, console)
        else:
            print_table(name, found.table(name), console)

    files = outputs.figures(found) | outputs.files(print_for_people, found.facts)
    untabled = Untabled(columns=lambda: columns)
    outputs.deliver(lambda: found.table(name), print_for_people, files, untabled=untabled)


def _study_of(rows: str | None, name: str) -> Study[Locality]:
    """Return the study with the tables that are shown or written."""
    if name == "intervals":
        return locality_with((name,))
    if rows is None:
        return locality_with(("summary", "miss-curve"))
    return locality_with((name,) if name == "miss-curve" else (name, "summary"))


def _window(traces: list[str], options: Fields, reading: Reading, outputs: Outputs) -> None:
    """Predict the window of CFLRU."""
    from clockhand.studies.locality.window import predict_window  # It needs Polars.

    with shown_progress() as watch:
        found = predict_window(traces, **options, **reading, watch=watch, command=command_line())
    for warning in found.warnings:
        say(warning)
    shown = partial(print_table, "window", found.rows)
    outputs.deliver(found.rows, shown, outputs.files(shown, found.facts))


def print_tables(found: Locality, console: Console) -> None:
    """Print, for each trace and page size, top ranks, a verdict on writes, and the miss curve."""
    import polars as pl

    devices = {device["name"]: device["resolved"] for device in found.facts["devices"]}
    read = {(trace["name"], trace["page_bytes"]): trace for trace in found.facts["traces"]}
    shown = found.miss_curve.select("trace", "page_bytes").unique(maintain_order=True)
    for name, page_bytes in shown.iter_rows():
        trace = read[name, page_bytes]
        of_trace = (pl.col("trace") == name) & (pl.col("page_bytes") == page_bytes)
        summary = found.summary.filter(of_trace).unique(["ranking", "op"], maintain_order=True)
        about = "about " if summary.is_empty() else ""
        title = (
            f"{trace_label(name, found.facts)}: {trace['references']:,} references to "
            f"{about}{trace['footprint_pages']:,} pages, {trace['write_references']:,} writes"
        )
        if summary.is_empty():
            console.print(title, markup=False, soft_wrap=True)
        else:
            print_table(
                f"{title}; percent of references in the top ranks", for_people(summary), console
            )
            verdict = write_verdict(summary)
            console.print(f"{verdict.lead} {verdict.detail}\n", markup=False, soft_wrap=True)
        curve = found.miss_curve.filter(of_trace).unique("frames", maintain_order=True)
        device = devices[curve["device"][0]]
        print_table(f"LRU by memory size; device {device}", curve_for_people(curve), console)
        console.print(knees_sentence(curve), markup=False, soft_wrap=True)


def for_people(summary: "pl.DataFrame") -> "pl.DataFrame":
    """Return the columns of a summary that people compare, shares in percent."""
    import polars as pl

    return summary.select(
        pl.format("{} by {}", "op", "ranking").alias("references"),
        pl.col("references").alias("count"),
        "pages",
        *((pl.col(name) * 100).alias(HEADINGS[name]) for name in TOP_COLUMNS),
        (pl.col("inversion_share") * 100).alias("inverted"),
    )


def curve_for_people(curve: "pl.DataFrame") -> "pl.DataFrame":
    """Return a miss curve at some shares of the footprint, times in seconds."""
    import polars as pl

    pages = curve["footprint_pages"][0]
    wanted = [max(1, int(pages * share)) for share in CURVE_SHARES]
    shown = curve.filter(
        pl.col("frames").is_in(
            [curve["frames"].filter(curve["frames"] <= size).max() for size in wanted]
        )
    )
    columns = shown.select(
        "frames",
        share_text("memory_share").alias("memory"),
        (pl.col("misses") / pl.col("references") * 100).alias("misses %"),
        "read_misses",
        "write_misses",
        pl.col("misses_standard_error").round().cast(pl.UInt64).alias("misses ±"),
        pl.col("write_ios").alias("write I/Os"),
        pl.col("write_ios_standard_error").round().cast(pl.UInt64).alias("write I/Os ±"),
        (pl.col("io_time_us") / 1e6).alias("I/O time s"),
    )
    return columns.select(column for column in columns if column.null_count() < len(columns))


def knees_sentence(curve: "pl.DataFrame") -> str:
    """Say where misses, write-backs and I/O time bend most."""
    texts = []
    for column, text in (
        ("misses", "misses"),
        ("write_ios", "write I/Os"),
        ("io_time_us", "I/O time"),
    ):
        frames = knee(curve["frames"], curve[column])
        if frames is not None:
            share = 100 * frames / curve["footprint_pages"][0]
            texts.append(f"{text} at {frames:,} frames ({share:.1f} %)")
    return f"Knees: {', '.join(texts)}.\n" if texts else "The curves have no knee.\n"
