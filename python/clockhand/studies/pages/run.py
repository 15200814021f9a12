"""Simulation: traces are replayed against policies, and every step is priced by a device."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Required, Unpack, cast

import polars as pl

from clockhand import _engine
from clockhand.study.columns import schema
from clockhand.study.facts import Facts, equivalent_command
from clockhand.study.limits import (
    MAXIMUM_COUNT,
    MAXIMUM_JOBS,
    MAXIMUM_RESERVE,
    MAXIMUM_SEED,
    check_range,
)
from clockhand.study.reported import Reported
from clockhand.study.run import reading_warnings, run_facts, trace_facts
from clockhand.study.selections import expanded
from clockhand.study.windows import predicted_windows
from clockhand.traces import Reading, Traces, Watch, reading_options, sources

SCHEMA = schema("pages")
"""Names, order and types of the columns of a result; the first eighteen are the contract."""

GAUGE_SCHEMA: Mapping[str, type[pl.DataType]] = {
    "trace": pl.String,
    "policy": pl.String,
    "policy_resolved": pl.String,
    "frames": pl.UInt64,
    "page_bytes": pl.UInt64,
    "fault": pl.UInt64,
    "hand_movements": pl.UInt64,
    "gauge": pl.String,
    "value": pl.Float64,
}
"""Names, order and types of the columns of gauges: a row per sample of one value."""

DEFAULT_BOUND_EFFORT = 2
"""Approximate seconds that the bracket of the optimum may take for a memory size."""

GAUGES_FILE = "gauges.parquet"
"""Where the command of the facts writes gauges, which the library gives as a table."""


@dataclass(frozen=True)
class Simulation(Reported):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, memory size, policy, with the columns of
            :data:`SCHEMA`.
        facts: Command, version, trace hashes, device and policies, for a report.
        warnings: What the readers passed over or assumed, one sentence each.
        gauges: The values inside the policies that were sampled, with the columns of
            :data:`GAUGE_SCHEMA`; no rows if none were asked for.
    """

    rows: pl.DataFrame
    facts: Facts
    warnings: list[str]
    gauges: pl.DataFrame

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.report import render

        return render(self.rows, self.facts, highlight)

    def _pictures(self, folder: Path, highlight: Sequence[str]) -> dict[Path, bytes]:
        from clockhand.report import pictures

        return pictures(self.rows, folder, self.facts, highlight)


class Options(Reading, total=False):
    """What :func:`run_simulation` takes besides traces, and means by it."""

    policies: Required[str | Sequence[str]]
    frames: int | str | Iterable[int] | None
    memory: str | Iterable[str] | None
    reserve: int
    page_size: int | str
    device: str | os.PathLike[str]
    bits: str
    write_miss: str
    flush_at_end: bool
    bound_effort: float | str | None
    hand_ns: int | None
    gauge_every: int | None
    seed: int
    jobs: int | None
    watch: Watch | None
    command: str | None


def simulate(traces: Traces, **options: Unpack[Options]) -> pl.DataFrame:
    """Replay traces against policies; takes the options of :func:`run_simulation`.

    Returns:
        One row per cell, in the order trace, memory size, policy, with the columns of
        :data:`SCHEMA`. All I/Os and evictions are counted in pages, times in microseconds.
    """
    return run_simulation(traces, **options).rows


def run_simulation(
    traces: Traces,
    *,
    policies: str | Sequence[str],
    frames: int | str | Iterable[int] | None = None,
    memory: str | Iterable[str] | None = None,
    reserve: int = 0,
    page_size: int | str = 4096,
    device: str | os.PathLike[str] = "slc-nand",
    bits: str = "exact",
    write_miss: str = "fetch",
    flush_at_end: bool = False,
    bound_effort: float | str | None = None,
    hand_ns: int | None = None,
    gauge_every: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    watch: Watch | None = None,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> Simulation:
    """Replay traces against policies and keep the facts for a report.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        policies: Names with parameters, such as ``"craw:c=8,ghosts=literal"``; lists with commas,
            ``"all"`` and patterns such as ``"clock*"`` too.
        frames: Memory sizes in page frames, at least 1.
        memory: Memory sizes as shares of the footprint (``"5%"``, ``"1%..100%"``) or in bytes
            (``"64MiB"``). Give either this or ``frames``.
        reserve: Of the frames of each memory size, how many are kept free for write-backs that are
            under way, as a pager does: policies, and ``bound``, have the rest, of which there must
            be one. The rows' ``frames`` include them.
        page_size: Bytes, a power of two, or text such as ``"4KiB"``.
        device: Name with options, such as ``"scm:ratio=100"``, or a TOML file.
        bits: ``"exact"``, or ``"mapped"`` for what real memory shows of reads and writes.
        write_miss: ``"fetch"``, or ``"blind"`` if a write fault reads nothing.
        flush_at_end: Whether dirty pages are written when the trace ends.
        bound_effort: Seconds that ``bound`` and ``opt-feasible`` may take about for a memory size,
            from 0 to 3600; 2 if not given. They stand for a number of steps, so that the result
            does not depend on the machine.
        hand_ns: Software overhead: nanoseconds that each hand movement adds to the I/O time. If
            given, also 0, hand movements are counted, which takes longer: the frames that a policy
            examines while it looks for a victim.
        gauge_every: After how many faults the values by which policies adapt are sampled, from the
            first fault on.
        seed: Seed of policies with random choices, from 0; kept in the facts.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress.
        command: The command line for the facts; the equivalent one if not given.
        reading: How traces that are given as paths are read, and which requests of each trace are
            wanted, as :class:`clockhand.traces.Reading` says.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    check_range("--seed", seed, 0, MAXIMUM_SEED)
    check_range("--reserve", reserve, 0, MAXIMUM_RESERVE)
    if jobs is not None:
        check_range("--jobs", jobs, 1, MAXIMUM_JOBS)
    if hand_ns is not None:
        check_range("--hand-ns", hand_ns, 0, MAXIMUM_COUNT)
    if gauge_every is not None:
        check_range("--gauge-every", gauge_every, 1, MAXIMUM_COUNT)
    policies = expanded("--policy", policies, [entry["name"] for entry in _engine.policies()])
    frames_text = _joined(frames)
    memory_text = _joined(memory)
    options: dict[str, Any] = {
        "reserve": reserve,
        "device": os.fspath(device),
        "bits": bits,
        "write_miss": write_miss,
        "flush_at_end": flush_at_end,
        "hand_ns": hand_ns,
        "gauge_every": gauge_every,
    }
    page_bytes = _engine.parse_page_bytes(str(page_size))
    trace_sources = sources(traces, **reading)
    result = _engine.simulate(
        trace_sources,
        policies,
        frames=frames_text,
        memory=memory_text,
        page_bytes=page_bytes,
        seed=seed,
        jobs=jobs,
        watch=watch,
        **options,
        bound_effort=str(DEFAULT_BOUND_EFFORT if bound_effort is None else bound_effort),
    )
    if command is None:
        sizes = {"policy": policies, "frames": frames_text, "memory": memory_text}
        settings = {"page_size": page_bytes, "seed": seed, **options}
        if bound_effort is not None:
            settings["bound_effort"] = str(bound_effort)
        if gauge_every is not None:
            settings["gauges"] = GAUGES_FILE
        names = [source.name for source in trace_sources]
        command = equivalent_command(
            "simulate", names, {**sizes, **settings, **reading_options(reading)}
        )
    rows = pl.DataFrame(result["rows"], schema=SCHEMA)
    facts = _facts(result, rows, command, page_bytes, seed, {**options, "jobs": jobs})
    windows = predicted_windows(trace_sources, rows, page_bytes, os.fspath(device))
    if windows:
        facts["predicted_windows"] = windows
    warnings = reading_warnings(result["traces"])
    return Simulation(rows, facts, warnings, _gauges(result["gauges"], rows))


def _joined(value: int | str | Iterable[int] | Iterable[str] | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return ",".join(str(item) for item in value)
    return str(value)


def _gauges(columns: Mapping[str, Any], rows: pl.DataFrame) -> pl.DataFrame:
    """Join samples, whose column ``row`` counts result rows from 0, with what their rows are."""
    samples = pl.DataFrame(columns, schema_overrides={"row": pl.UInt32})
    about = rows.with_row_index("row").select("row", *list(GAUGE_SCHEMA)[:5])
    joined = samples.join(about, on="row", how="left", maintain_order="left")
    return joined.select(pl.col(name).cast(kind) for name, kind in GAUGE_SCHEMA.items())


def _facts(
    result: Mapping[str, Any],
    rows: pl.DataFrame,
    command: str,
    page_bytes: int,
    seed: int,
    options: Mapping[str, Any],
) -> Facts:
    resolved = dict(rows.select("policy", "policy_resolved").unique(keep="first").iter_rows())
    facts = run_facts(
        command=command,
        seed=seed,
        options=options,
        traces=(trace_facts(trace, page_bytes) for trace in result["traces"]),
        devices=[result["device"]],
        policies=[
            {**policy, "resolved": resolved[policy["name"]]} for policy in result["policies"]
        ],
    )
    return cast(Facts, facts)
