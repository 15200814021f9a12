"""``clockhand simulate``: traces against policies, memory sizes and a device."""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clockhand.command.options import Jobs, Scratch, Traces
from clockhand.command.output import Format, Untabled, encoded, format_for
from clockhand.command.own_policies import with_libraries
from clockhand.command.papers import Outputs, with_outputs
from clockhand.command.reading import with_reading
from clockhand.command.study import compared, print_intervals, run_shown, with_options
from clockhand.command.tables import Columns, print_table, share_in_words
from clockhand.studies.pages.comparison import (
    SETTING_COLUMNS,
    bracket_sentence,
    times_over_bound,
)
from clockhand.studies.pages.result import Simulation
from clockhand.studies.pages.run import STUDY
from clockhand.study.columns import kinds, rows_as_columns
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import trace_label
from clockhand.study.records import Fields, Record
from clockhand.study.sampling import estimate_note
from clockhand.traces import Reading

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

Gauges = Annotated[
    Path | None,
    typer.Option(help="Write the values by which policies adapt to this Parquet or CSV file."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="simulate",
        epilog="simulate app.trace --policy clock,cflru,craw --memory 5%,20% --report out.html",
    )(_simulate)


@with_libraries
@with_reading
@with_outputs()
@with_options("pages")
def _simulate(
    traces: Traces,
    options: Fields,
    gauges: Gauges = None,
    scratch: Scratch = None,
    jobs: Jobs = None,
    *,
    reading: Reading,
    outputs: Outputs,
) -> None:
    """Replay traces against policies and price every step with a device."""
    if gauges is None and options["gauge_every"] is not None:
        raise UsageError(
            option("gauge-every") + " needs a file to write to",
            "add " + option("gauges") + " FILE.parquet",
        )
    if gauges is not None and gauges in (outputs.out, outputs.report):
        raise UsageError(
            option("gauges") + f" names {gauges}, as another option does", "give another name"
        )
    outputs.check(gauges)
    marked = outputs.marked(compared(STUDY, options))
    if gauges is not None and options["gauge_every"] is None:
        options["gauge_every"] = 1
    reading = {**reading, "scratch": scratch}
    simulation = run_shown(STUDY, traces, options, jobs, reading, outputs)
    files = outputs.figures(simulation, marked)
    if gauges is not None:
        files[gauges] = encoded_gauges(simulation.gauges, gauges)
    records = simulation.records
    print_for_people = (
        partial(print_tables, simulation)
        if options["every"] is None
        else partial(print_intervals, simulation)
    )
    files |= outputs.files(print_for_people, simulation.facts)
    untabled = Untabled(records, lambda: rows_as_columns(kinds("pages"), records))
    outputs.deliver(lambda: simulation.rows, print_for_people, files, untabled=untabled)


def encoded_gauges(gauges: "pl.DataFrame", path: Path) -> bytes:
    """Return gauges as written to a file, in the format of its name; Parquet if it has none."""
    format = format_for(None, path)
    return encoded(gauges, Format.PARQUET if format is Format.TABLE else format, lambda _: None)


def print_tables(run: Simulation, console: "Console") -> None:
    """Print the rows of a result."""
    print_rows(run.records, run.facts, console)


def print_rows(rows: Sequence[Record], facts: Record, console: "Console") -> None:
    """Print one table per trace and setting with the columns that people compare."""
    traces = {(trace["name"], trace["page_bytes"]): trace for trace in facts["traces"]}
    settings = [name for name in SETTING_COLUMNS if rows and name in rows[0]]
    varying = [name for name in settings if len({row[name] for row in rows}) > 1]
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for row in rows:
        groups.setdefault((row["trace"], *(row[name] for name in settings)), []).append(row)
    for (name, *values), group in groups.items():
        trace = traces[name, group[0]["page_bytes"]]
        parts = [f"device {group[0]['device_resolved']}"]
        parts += [
            f"{column} {value}"
            for column, value in zip(settings, values, strict=True)
            if column in varying and column != "device"
        ]
        estimate = estimate_note(group)
        parts += [estimate] if estimate else []
        title = (
            f"{trace_label(name, facts)}: {trace['references']:,} references to "
            f"{trace['footprint_pages']:,} pages, {trace['write_references']:,} writes; "
            f"{', '.join(parts)}"
        )
        print_table(title, for_people(group), console)
        bracket = bracket_sentence(group)
        if bracket is not None:
            from rich.text import Text

            console.print(Text(bracket))
        for heading, summary in summaries_for_people(group).items():
            print_table(f"{heading}, by frames and share of the footprint", summary, console)


def for_people(rows: Sequence[Record]) -> Columns:
    """Return the columns of rows of one trace that people compare, with I/O time in seconds.

    ``± s`` is the standard error where the I/O time is an estimate from samples; rows of datasets
    have none. The column ``vs clock`` is the I/O time over that of CLOCK with the same memory, if
    CLOCK was run, and ``vs bound`` that over the lower bound. Columns without a value are left out.
    """
    clock: dict[int, float] = {}
    for row in rows:
        if row["policy_resolved"] == "clock:insert_ref=0":
            clock.setdefault(row["frames"], row["io_time_us"])
    shown = {
        "frames": [row["frames"] for row in rows],
        "memory": [share_in_words(row["memory_share"]) for row in rows],
        "policy": [row["policy"] for row in rows],
        "hits %": [_percent(row["hit_ratio"]) for row in rows],
        "read I/Os": [row["read_ios"] for row in rows],
        "write I/Os": [row["write_ios"] for row in rows],
        "I/O time s": [_scaled(row["io_time_us"], 1e-6) for row in rows],
        "± s": [_scaled(row.get("io_time_us_standard_error"), 1e-6) for row in rows],
        "vs clock": [_ratio(row["io_time_us"], clock.get(row["frames"])) for row in rows],
        "vs bound": times_over_bound(rows),
        "energy J": [_scaled(row["energy_uj"], 1e-6) for row in rows],
    }
    return {
        name: values for name, values in shown.items() if any(value is not None for value in values)
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 3)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _ratio(value: float | None, over: float | None) -> float | None:
    """A quotient; neither of nothing nor of two that are nothing is one."""
    if value is None or over is None:
        return None
    if over == 0:
        return math.nan if value == 0 else math.inf
    return value / over


SUMMARY_SIZES = 12
"""Memory sizes that fit side by side on a terminal."""


def summaries_for_people(rows: Sequence[Record]) -> dict[str, Columns]:
    """Return tables by title, each with a line per policy and a column per memory size.

    They hold the I/O times of rows of one trace and, where the bound was computed, how many times
    its I/O time each policy takes. There are none where they would say nothing more than the rows,
    or not fit on a terminal.
    """
    cells: dict[tuple[object, object], tuple[Record, float | None]] = {}
    for row, over_bound in zip(rows, times_over_bound(rows), strict=True):
        cells.setdefault((row["policy"], row["frames"]), (row, over_bound))
    policies = list(dict.fromkeys(policy for policy, _ in cells))
    if len(policies) == 1 or not 2 <= len({frames for _, frames in cells}) <= SUMMARY_SIZES:
        return {}
    times = [(row, _scaled(row["io_time_us"], 1e-6)) for row, _ in cells.values()]
    summaries = {"I/O time s": _by_size(times)}
    if any(over_bound is not None for _, over_bound in cells.values()):
        summaries["I/O time over the lower bound"] = _by_size(list(cells.values()))
    return summaries


def _by_size(cells: Sequence[tuple[Record, float | None]]) -> Columns:
    """Lay out values with a line per policy and a column per memory size."""
    known: dict[str, dict[str, float]] = {}
    for row, value in cells:
        share = share_in_words(row["memory_share"])
        if value is not None and share is not None:
            size = f"{row['frames']}\n{share}"
            known.setdefault(size, {})[row["policy"]] = value
    policies = list(dict.fromkeys(policy for values in known.values() for policy in values))
    by_size = {size: [values.get(policy) for policy in policies] for size, values in known.items()}
    return {"policy": policies, **by_size}
