"""The window that CFLRU should have, predicted from an LRU list."""

import os
from dataclasses import dataclass
from typing import Unpack, cast

import polars as pl

from clockhand import _engine
from clockhand.study.columns import schema
from clockhand.study.errors import UsageError
from clockhand.study.facts import Facts, equivalent_command
from clockhand.study.progress import Watch
from clockhand.study.records import Fields, Record
from clockhand.study.run import reading_warnings, run_facts, trace_facts
from clockhand.traces import Reading, Traces, reading_options, sources


@dataclass(frozen=True)
class WindowPrediction:
    """What windows of CFLRU would save; docs/locality.md defines it.

    Attributes:
        rows: One row per trace and position, from 1 to the frames.
        facts: Command, version, trace hashes and device.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    rows: pl.DataFrame
    facts: Facts
    warnings: list[str]


def predict_window(
    traces: Traces,
    *,
    frames: int | None = None,
    memory: str | None = None,
    page_size: int | str = 4096,
    device: str | os.PathLike[str] = "slc-nand",
    watch: Watch | None = None,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> WindowPrediction:
    """Predict the best window of CFLRU for an LRU list of the given size.

    Args:
        traces: One trace or several, as :class:`clockhand.Trace` or as paths.

        frames: Page frames, at least 1.

        memory: The memory as a share of the footprint or in bytes; give this or ``frames``.

        page_size: Bytes, a power of two, or text such as ``"4KiB"``.

        device: Name with options, or a TOML file; it weighs writes against reads.

        watch: Called now and then with the progress.

        command: The command line for the facts; the equivalent one if not given.

        reading: How traces that are given as paths are read.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    page_bytes = _engine.parse_page_bytes(str(page_size))
    trace_sources = sources(traces, watch=watch, **reading)
    if not trace_sources:
        raise UsageError("no trace is given", "add a file")
    sizes: Fields = {"frames": None if frames is None else str(frames), "memory": memory}
    options: Fields = {"device": os.fspath(device)}
    results = [
        _engine.predict_window(source, **sizes, page_bytes=page_bytes, watch=watch, **options)
        for source in trace_sources
    ]
    if command is None:
        names = [source.name for source in trace_sources]
        settings = {"rows": "window", **sizes, "page_size": page_bytes, **options}
        command = equivalent_command("locality", names, {**settings, **reading_options(reading)})
    facts = run_facts(
        command=command,
        seed=None,
        options={**sizes, **options},
        traces=(trace_facts(result["trace"], page_bytes) for result in results),
        devices=[results[0]["device"]],
        policies=[],
    )
    rows = pl.concat([_rows(result, page_bytes) for result in results])
    warnings = reading_warnings(result["trace"] for result in results)
    return WindowPrediction(rows, cast(Facts, facts), warnings)


def _rows(result: Record, page_bytes: int) -> pl.DataFrame:
    probabilities = pl.Series(result["future_reference_probability"]).fill_nan(None)
    rows = pl.DataFrame(
        {"future_reference_probability": probabilities, "benefit_us": result["benefit_us"]}
    ).with_row_index("position", offset=1)
    rows = rows.with_columns(
        trace=pl.lit(result["trace"]["name"]),
        page_bytes=pl.lit(page_bytes),
        device=pl.lit(result["device"]["name"]),
        frames=pl.lit(result["frames"]),
        predicted_window=pl.lit(result["predicted_window"]),
    )
    return rows.select(pl.col(name).cast(kind) for name, kind in schema("locality window").items())
