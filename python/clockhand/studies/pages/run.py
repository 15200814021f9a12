"""Simulation: traces are replayed against policies, and every step is priced by a device."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Required, Unpack

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import ReportedRows
from clockhand.study.calls import in_python
from clockhand.study.columns import Schema, schema
from clockhand.study.facts import Facts
from clockhand.study.progress import Watching
from clockhand.study.run import Options as EngineOptions
from clockhand.study.run import Ran, Records, Study, run_study
from clockhand.study.sampling import estimate_note, sample_text
from clockhand.traces import READING, Reading, Traces

if TYPE_CHECKING:
    import polars as pl

    SCHEMA: Schema
    """Names, order and types of the columns of a result; the first eighteen are the contract."""

    GAUGE_SCHEMA: Schema
    """Names, order and types of the columns of gauges: a row per sample of one value."""

GAUGE_TYPES = {
    "trace": "String",
    "policy": "String",
    "policy_resolved": "String",
    "frames": "UInt64",
    "page_bytes": "UInt64",
    "fault": "UInt64",
    "hand_movements": "UInt64",
    "gauge": "String",
    "value": "Float64",
}
"""The columns of gauges, and their types in Polars."""


def __getattr__(name: str) -> Schema:
    """Return a schema; what is printed by a command needs none, nor the import of its types."""
    if name == "SCHEMA":
        return schema("pages")
    if name == "GAUGE_SCHEMA":
        import polars as pl

        return {column: getattr(pl, kind) for column, kind in GAUGE_TYPES.items()}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


GAUGES_FILE = "gauges.parquet"
"""Where the command of the facts writes gauges, which the library gives as a table."""


class Simulation(ReportedRows):
    """A result with the facts that belong to it.

    Attributes:
        rows: One row per cell, in the order trace, memory size, policy, with the columns of
            :data:`SCHEMA`.
        facts: Command, version, trace hashes, device and policies, for a report.
        warnings: What the readers passed over or assumed, one sentence each.
        gauges: The values inside the policies that were sampled, with the columns of
            :data:`GAUGE_SCHEMA`; no rows if none were asked for.
    """

    compared_by = "policy"
    leading = (
        "trace", "policy", "frames", "memory_share", "hit_ratio", "read_ios", "write_ios",
        "io_time_us",
    )  # fmt: skip

    def __init__(self, ran: Ran) -> None:
        self._ran = ran
        self.facts: Facts = ran.facts
        self.warnings = ran.warnings

    def __repr__(self) -> str:
        return f"Simulation of {len(self.records)} cells: see rows, facts, gauges and write_report"

    @cached_property
    def rows(self) -> "pl.DataFrame":  # type: ignore[override]
        return self._ran.rows

    @property
    def records(self) -> Records:
        """The rows as mappings from columns to values."""
        return self._ran.records

    @cached_property
    def gauges(self) -> "pl.DataFrame":
        return _gauges(self._ran.result["gauges"], self.rows)

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.report import render

        return render(self.rows, self.facts, highlight)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.pages.charts import specifications

        return specifications(self.rows, self.facts, highlight)


def _simulated(
    sources: list[_engine.TraceSource], options: EngineOptions, **running: Any
) -> dict[str, Any]:
    """Run the engine, and note on traces that their rows are estimates."""
    result = _engine.simulate(sources, options, **running)
    if options["sample"] is None:
        return result
    notes = [
        estimate_note([row for row in result["rows"] if row["trace"] == trace["name"]])
        for trace in result["traces"]
    ]
    traces = [
        {**trace, "study_notes": [note] if note else []}
        for trace, note in zip(result["traces"], notes, strict=True)
    ]
    return {**result, "traces": traces}


def _ungauged(_: "pl.DataFrame") -> Mapping[str, Any]:
    return {"gauges": {name: [] for name in ("row", *list(GAUGE_TYPES)[5:])}}


PAGES = Study(
    name="pages",
    command="simulate",
    engine=_simulated,
    made=Simulation,
    grid=("frames|memory", "policy"),
    predicts_windows=True,
    result_of=_ungauged,
)


class Options(Reading, total=False):
    """What :func:`run_simulation` takes besides traces, and means by it."""

    policies: Required[str | Sequence[str]]
    frames: int | str | Iterable[int] | None
    memory: str | float | Iterable[str | float] | None
    reserve: int
    page_size: int | str
    device: str | os.PathLike[str]
    bits: str
    write_miss: str
    flush_at_end: bool
    bound_effort: float | str | None
    hand_ns: int | None
    fault_ns: int | None
    gauge_every: int | None
    sample: float | int | str | None
    seed: int
    jobs: int | None
    watch: Watching
    command: str | None


@in_python(*READING)
def run_simulation(
    traces: Traces,
    *,
    policies: str | Sequence[str],
    frames: int | str | Iterable[int] | None = None,
    memory: str | float | Iterable[str | float] | None = None,
    reserve: int = 0,
    page_size: int | str = 4096,
    device: str | os.PathLike[str] = "slc-nand",
    bits: str = "exact",
    write_miss: str = "fetch",
    flush_at_end: bool = False,
    bound_effort: float | str | None = None,
    hand_ns: int | None = None,
    fault_ns: int | None = None,
    gauge_every: int | None = None,
    sample: float | int | str | None = None,
    seed: int = 0,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> Simulation:
    """Replay traces against policies and keep the facts for a report.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        policies: Names with parameters, such as ``"craw:c=8,ghosts=literal"``; lists with commas,
            ``"all"`` and patterns such as ``"clock*"`` too.
        frames: Memory sizes in page frames, at least 1.
        memory: Memory sizes as shares of the footprint (``0.05``, ``"5%"``, ``"1%..100%"``) or in
            bytes (``"64MiB"``). Give either this or ``frames``.
        reserve: Of the frames of each memory size, how many are kept free for write-backs that are
            under way, as a pager does: policies, and ``bound``, have the rest, of which there must
            be one. The rows' ``frames`` include them.
        page_size: Bytes, a power of two, or text such as ``"4KiB"``.
        device: Name with options, such as ``"scm:ratio=100"``, or a TOML file.
        bits: ``"exact"``, or ``"mapped"`` or ``"sensed"`` for what real memory shows of references.
        write_miss: ``"fetch"``, or ``"blind"`` if a write fault reads nothing.
        flush_at_end: Whether dirty pages are written when the trace ends.
        bound_effort: Seconds that ``bound`` and ``opt-feasible`` may take about for a memory size,
            from 0 to 3600; 2 if not given. They stand for a number of steps, so that the result
            does not depend on the machine.
        hand_ns: Software overhead: nanoseconds that each hand movement adds to the I/O time. If
            given, also 0, hand movements are counted, which takes longer: the frames that a policy
            examines while it looks for a victim.
        fault_ns: With ``bits="mapped"``: nanoseconds that each permission fault, by which an access
            to a page in memory is seen, adds to the I/O time.
        gauge_every: After how many faults the values by which policies adapt are sampled, from the
            first fault on.
        sample: Estimate from samples of the pages, with standard errors in the columns that end in
            ``_standard_error``: a rate above 0 and up to 1 as a float or as text (``"1%"``), the
            number of pages to follow as a whole number from 32, or ``"auto:1%"`` for the least
            sample of each cell with which the standard error of its I/O time is below 1 % of it.
        seed: Seed of policies with random choices and of samples, from 0; kept in the facts.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        reading: How traces that are given as paths are read, and which requests of each trace are
            wanted, as :class:`clockhand.traces.Reading` says.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    given = {
        "policy": policies,
        "frames": frames,
        "memory": memory,
        "reserve": reserve,
        "page_size": page_size,
        "device": device,
        "bits": bits,
        "write_miss": write_miss,
        "flush_at_end": flush_at_end,
        "bound_effort": bound_effort,
        "hand_ns": hand_ns,
        "fault_ns": fault_ns,
        "gauge_every": gauge_every,
        "sample": sample_text(sample),
        "seed": seed,
    }
    return run_study(
        PAGES, traces, given, jobs=jobs, watch=watch, command=command, reading=reading,
        beside={} if gauge_every is None else {"gauges": GAUGES_FILE},
    )  # fmt: skip


@in_python(Options, like=run_simulation)
def simulate(traces: Traces, **options: Unpack[Options]) -> "pl.DataFrame":
    """Replay traces against policies, as :func:`run_simulation` does; only the rows.

    Returns:
        One row per cell, in the order trace, memory size, policy, with the columns of
        :data:`SCHEMA`. All I/Os and evictions are counted in pages, times in microseconds.
    """
    return run_simulation(traces, **options).rows


def _gauges(columns: Mapping[str, Any], rows: "pl.DataFrame") -> "pl.DataFrame":
    """Join samples, whose column ``row`` counts result rows from 0, with what their rows are."""
    import polars as pl

    samples = pl.DataFrame(columns, schema_overrides={"row": pl.UInt32})
    about = rows.with_row_index("row").select("row", *list(GAUGE_TYPES)[:5])
    joined = samples.join(about, on="row", how="left", maintain_order="left")
    return joined.select(pl.col(name).cast(getattr(pl, kind)) for name, kind in GAUGE_TYPES.items())
