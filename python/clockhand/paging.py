"""Real programs under the policies: the user-space pager, and the simulator beside it."""

import datetime
import os
import platform
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack, cast

import polars as pl

from clockhand import _engine
from clockhand.capture.programs import Program
from clockhand.facts import PagedRunFacts, equivalent_command
from clockhand.files import check_places
from clockhand.paging_samples import Live, Samples, Statistics, opened
from clockhand.reported import Reported
from clockhand.simulation import MAXIMUM_SEED, check_range, run_simulation
from clockhand.sizes import bytes_text, parsed_bytes
from clockhand.traces import Trace, Watch
from clockhand.watched_program import Ended, run_program

PAGE_BYTES = 4096

Progress = Callable[[], AbstractContextManager[Watch | None]]
"""Opens something that shows progress."""

COUNTED = (
    "references",
    "read_references",
    "write_references",
    "misses",
    "read_misses",
    "write_misses",
    "minor_faults",
    "write_protect_faults",
    "read_ios",
    "write_ios",
    "clean_evictions",
    "dirty_evictions",
    "write_backs",
    "pages_read",
    "pages_zero_filled",
    "pages_rescued",
    "pages_written",
    "pages_not_written",
    "pages_copied_for_forks",
    "write_operations",
    "write_errors",
    "bytes_read",
    "bytes_written",
    "resident_pages",
    "footprint_pages",
    "discarded_pages",
    "pages_read_ahead",
    "pages_read_in_vain",
    "swap_bytes",
)
TIMED = (
    "read_wait_us",
    "write_wait_us",
    "service_us",
    "fault_us_p50",
    "fault_us_p90",
    "fault_us_p99",
)
SIMULATED = ("misses", "clean_evictions", "dirty_evictions", "read_ios", "write_ios")
BITS = ("mapped", "exact")

RUN_SCHEMA: Mapping[str, type[pl.DataType]] = {
    "stream": pl.UInt64,
    "process": pl.Int64,
    "name": pl.String,
    "policy": pl.String,
    "frames": pl.UInt64,
    "page_bytes": pl.UInt64,
    "reserve": pl.UInt64,
    "read_ahead": pl.UInt64,
    "seconds": pl.Float64,
    **dict.fromkeys(COUNTED, pl.UInt64),
    **dict.fromkeys(TIMED, pl.Float64),
    **{f"{bits}_{name}": pl.UInt64 for bits in BITS for name in SIMULATED},
    "policy_resolved": pl.String,
    "forked": pl.Boolean,
    "failure": pl.String,
}
"""Names, order and types of the columns of a run: a row per process, in the order in which they
came. Counts that the simulator also has bear its names; ``mapped_`` and ``exact_`` precede what the
simulator counts on the log of the run."""

MOST_SIMULATED = 32
"""So many processes, those with the most references, are simulated: each is a pass over the log."""

LARGEST_RESERVE = 64
FRAMES_PER_RESERVED = 16

# The fields of an ELF header of 64 bits that lead to its program headers (elf.h).
ELF_PROGRAM_HEADERS = slice(32, 40)
ELF_PROGRAM_HEADER_BYTES = slice(54, 56)
ELF_PROGRAM_HEADER_COUNT = slice(56, 58)
ELF_INTERPRETER = 3


class PagingOptions(TypedDict, total=False):
    """How programs are paged, whatever the policy.

    Attributes:
        memory: Bytes of each process, such as ``"16MiB"``. Give either this or ``frames``.
        frames: The same in pages of 4 KiB.
        swap: The file that pages go to; they are kept in RAM, compressed, if it is None.
        swap_limit: The most bytes of it, such as ``"4GiB"``; no limit if not given.
        reserve: Frames of each process that are kept for write-backs under way; a sixteenth of
            the frames, at most 64, if not given.
        read_ahead: Frames of each process that are kept for pages which are read before they are
            asked for, around one that is; none if not given.
        address_space: The most that a process can have paged.
        device: Whose ratio of write to read cost policies take as their ``c``.
        seed: Seed of policies with random choices, from 0.
    """

    memory: str | None
    frames: int | None
    swap: str | os.PathLike[str] | None
    swap_limit: str | None
    reserve: int | None
    read_ahead: int
    address_space: str
    device: str | os.PathLike[str]
    seed: int


@dataclass(frozen=True)
class Paging:
    """Checked :class:`PagingOptions`."""

    frames: int
    swap: Path | None
    swap_limit_bytes: int | None
    reserve: int
    read_ahead: int
    address_space_bytes: int
    device: str
    seed: int

    @classmethod
    def parse(cls, options: PagingOptions) -> Self:
        """Check options.

        Raises:
            UsageError: something is out of range or contradictory.
        """
        frames = _frames(options.get("memory"), options.get("frames"))
        reserve = options.get("reserve")
        if reserve is None:
            reserve = min(LARGEST_RESERVE, frames // FRAMES_PER_RESERVED)
        check_range("--reserve", reserve, 0, frames - 1)
        read_ahead = options.get("read_ahead", 0)
        check_range("--read-ahead", read_ahead, 0, frames - reserve - 1)
        seed = options.get("seed", 0)
        check_range("--seed", seed, 0, MAXIMUM_SEED)
        swap, limit = options.get("swap"), options.get("swap_limit")
        return cls(
            frames=frames,
            swap=None if swap is None else Path(swap),
            swap_limit_bytes=None if limit is None else parsed_bytes("--swap-limit", limit),
            reserve=reserve,
            read_ahead=read_ahead,
            address_space_bytes=parsed_bytes(
                "--address-space", options.get("address_space", "8GiB")
            ),
            device=os.fspath(options.get("device", "slc-nand")),
            seed=seed,
        )

    @property
    def memory_bytes(self) -> int:
        """Bytes of each process."""
        return self.frames * PAGE_BYTES

    def facts(self) -> dict[str, Any]:
        """Return the options for a report."""
        limit = self.swap_limit_bytes
        return {
            "memory of each process": f"{bytes_text(self.memory_bytes)}, {self.frames:,} frames",
            "reserve": f"{self.reserve:,} frames",
            "read ahead": f"up to {self.read_ahead:,} pages" if self.read_ahead else None,
            "swap": "RAM, compressed" if self.swap is None else str(self.swap),
            "swap limit": None if limit is None else bytes_text(limit),
            "address space": bytes_text(self.address_space_bytes),
        }


@dataclass(frozen=True)
class Planned:
    """Policies that can drive real memory, with their defaults, and the device they are told.

    Attributes:
        policies: Facts of each policy, with ``name`` and ``resolved``.
        device: Facts of the device.
    """

    policies: list[dict[str, Any]]
    device: dict[str, Any]

    @classmethod
    def of(cls, policies: Sequence[str], paging: Paging) -> Self:
        """Resolve policies.

        Raises:
            UsageError: one is unknown, or cannot drive real memory.
        """
        plan = _engine.plan_cells(
            list(policies),
            frames=str(paging.frames),
            memory=None,
            reserve=paging.reserve + paging.read_ahead,
            page_bytes=PAGE_BYTES,
            device=paging.device,
            footprint_pages=paging.address_space_bytes // PAGE_BYTES,
            seed=paging.seed,
        )
        kinds = {entry["name"]: entry["kind"] for entry in _engine.policies()}
        for policy in policies:
            kind = kinds[policy.partition(":")[0]]
            if kind != "bit-driven":
                raise _engine.UsageError(f"--policy {policy}: {_why_not(kind)}; choose another")
        resolved = {cell["policy"]: cell["policy_resolved"] for cell in plan["cells"]}
        facts = [{**policy, "resolved": resolved[policy["name"]]} for policy in plan["policies"]]
        return cls(facts, plan["device"])


def _why_not(kind: str) -> str:
    if kind == "access-driven":
        return "it must be told of every hit, and real memory shows only faults and bits"
    return "it must know the future, so that no program can run under it"


def _frames(memory: str | None, frames: int | None) -> int:
    """Return the frames of each process, at least one."""
    if (memory is None) == (frames is None):
        raise _engine.UsageError(
            "the memory size is given by --frames or by --memory; give one of them"
        )
    if memory is None:
        assert frames is not None
        check_range("--frames", frames, 1, 2**32 - 2)
        return frames
    if "%" in memory:
        raise _engine.UsageError(
            f"--memory {memory}: nobody knows a program's footprint before it has run; "
            "give a size such as 16MiB"
        )
    return max(1, parsed_bytes("--memory", memory) // PAGE_BYTES)


@dataclass(frozen=True)
class PagedRun(Reported):
    """What a program did under a policy.

    Attributes:
        rows: One row per process, with the columns of :data:`RUN_SCHEMA`.
        samples: Counts while it ran, as :data:`clockhand.paging_samples.SAMPLE_SCHEMA` says.
        gauges: The values by which the policy adapts, while it ran.
        facts: How the run was made, for a report.
        warnings: What went wrong without ending the run, one sentence each.
        disagreements: Where pager and simulator count differently, one sentence each; none,
            unless something is broken.
        exit_code: The program's, as a shell gives it.
        interrupted: Whether the program was told to end.
    """

    rows: pl.DataFrame
    samples: pl.DataFrame
    gauges: pl.DataFrame
    facts: PagedRunFacts
    warnings: list[str]
    disagreements: list[str]
    exit_code: int
    interrupted: bool

    def _rendered(self) -> str:
        from clockhand.report.run import render  # Altair takes a while to import.

        return render(self.rows, self.samples, self.gauges, self.facts)

    def _pictures(self, folder: Path) -> dict[Path, bytes]:
        from clockhand.report.run import pictures

        return pictures(self.rows, self.samples, self.gauges, folder)


def run(
    command: Sequence[str],
    *,
    policy: str,
    record: str | os.PathLike[str] | None = None,
    simulate: bool = True,
    live: Live | None = None,
    progress: Progress | None = None,
    made_by: str | None = None,
    **options: Unpack[PagingOptions],
) -> PagedRun:
    """Run a program whose memory a policy pages, and replay its references in the simulator.

    Its standard streams are ours; what would interrupt us is left to it.

    Args:
        command: The program and its arguments.
        policy: A bit-driven policy with parameters, such as ``"craw:c=8"``.
        record: A Parquet file for the log of references, a stream per process.
        simulate: Whether the simulator replays the log, with the bits as real memory shows them,
            which must give the same counts, and with exact bits, which real memory does not have.
        live: Opens what is called four times a second with the processes' statistics.
        progress: Opens what is called now and then with the progress of the simulation.
        made_by: The command line for the facts; the equivalent one if not given.
        options: Memory, swap and so on, as :class:`PagingOptions` says.

    Raises:
        UsageError: something is unknown, out of range or contradictory, or cannot be paged.
        ClockhandError: this machine refuses, or no process was paged.
        OSError: there is no place for the log.
    """
    paging = Paging.parse(options)
    planned = Planned.of([policy], paging)
    program = pageable(command)
    if record is not None:
        record = _record_place(record)
    check_machine()
    with _log(record, is_wanted=simulate) as log:
        pager = started_pager(policy, planned, paging, record=log)
        with opened(live) as watch:
            samples = Samples(pager, watch)
            ended = run_program(program.command, environment=preloading(pager), look=samples.look)
            statistics = pager.finish()
        samples.take(ended.seconds, statistics)
        rows = paged_rows(statistics, policy, program)
        notes = swap_notes(pager)
        traces: list[Any] = []
        if simulate and log is not None:
            with nullcontext() if progress is None else progress() as watch_replay:
                rows, traces, left_out = _simulated(
                    rows, log, paging, record is not None, watch_replay
                )
            notes += left_out
    return PagedRun(
        rows=rows,
        samples=samples.counts(),
        gauges=samples.gauges(),
        facts=run_facts(
            program,
            ended,
            paging,
            planned,
            command=made_by or equivalent(program, paging, policy=policy, record=record),
            notes=notes,
            traces=traces,
        ),
        warnings=failures(rows),
        disagreements=disagreements(rows),
        exit_code=ended.exit_code,
        interrupted=ended.interrupted,
    )


def check_machine() -> None:
    """Find out whether programs can be paged here.

    Raises:
        ClockhandError: they cannot; it says what to do.
    """
    obstacle = _engine.pager_obstacle()
    if obstacle is not None:
        raise _engine.ClockhandError(obstacle)


def pageable(command: Sequence[str]) -> Program:
    """Find a program and see whether a library can be preloaded into it.

    Raises:
        UsageError: there is none, it has rights of its own, or it is linked statically.
    """
    program = Program.find(command)
    if program.machine != platform.machine():
        raise _engine.UsageError(
            f"{program.path}: it is for {program.machine}, and this machine is a "
            f"{platform.machine()}; only programs of this machine can be paged"
        )
    if program.is_privileged and os.geteuid() != 0:
        raise _engine.UsageError(
            f"{program.path}: it runs with the rights of its owner or group, so that no library "
            "is preloaded into it; run a copy without these rights"
        )
    if not _has_interpreter(program.executable):
        raise _engine.UsageError(
            f"{program.executable}: it is linked statically, so that no library can be preloaded "
            "into it; link it with the C library as a shared one"
        )
    return program


def _has_interpreter(executable: Path) -> bool:
    """Tell whether a dynamic linker loads an ELF program of 64 bits, little-endian."""
    with open(executable, "rb") as file:
        header = file.read(64)
        place, size, count = (
            int.from_bytes(header[field], "little")
            for field in (ELF_PROGRAM_HEADERS, ELF_PROGRAM_HEADER_BYTES, ELF_PROGRAM_HEADER_COUNT)
        )
        file.seek(place)
        entries = file.read(size * count)
    kinds = (entries[start : start + 4] for start in range(0, len(entries), max(size, 1)))
    return any(int.from_bytes(kind, "little") == ELF_INTERPRETER for kind in kinds)


def started_pager(
    policy: str, planned: Planned, paging: Paging, *, record: Path | None
) -> _engine.Pager:
    """Start a pager for one program.

    Raises:
        UsageError: the engine does not take the policy or the sizes.
        ClockhandError: the swap file or the log cannot be made.
    """
    return _engine.Pager(
        policy,
        frames=paging.frames,
        reserve=paging.reserve,
        read_ahead=paging.read_ahead,
        swap=None if paging.swap is None else os.fspath(paging.swap),
        swap_limit_bytes=paging.swap_limit_bytes,
        memory_bytes=paging.address_space_bytes,
        write_read_ratio=planned.device["write_read_ratio"],
        record=None if record is None else os.fspath(record),
        seed=paging.seed,
    )


def preloading(pager: _engine.Pager) -> dict[str, str]:
    """Return the variables by which a program is paged; what the user preloads stays."""
    variables = dict(pager.environment())
    own = os.environ.get("LD_PRELOAD")
    if own:
        variables["LD_PRELOAD"] += f":{own}"
    return variables


def swap_notes(pager: _engine.Pager) -> list[str]:
    """Return what the times of a run rest on, a sentence each."""
    if pager.is_direct():
        return []
    return [
        "The swap file went through the page cache, because its file system has no direct I/O: "
        "its times are those of memory, not of a drive."
    ]


def _record_place(record: str | os.PathLike[str]) -> Path:
    path = Path(record)
    if path.suffix != ".parquet":
        raise _engine.UsageError(
            f"--record {record}: the log is written as Parquet; end its name in .parquet"
        )
    check_places([path])
    return path


@contextmanager
def _log(record: Path | None, *, is_wanted: bool) -> Iterator[Path | None]:
    """Give the file for the log: the user's, one for the time of the simulation, or none."""
    if record is not None or not is_wanted:
        yield record
        return
    with tempfile.TemporaryDirectory(prefix="clockhand-run-") as folder:
        yield Path(folder) / "log.parquet"


def paged_rows(statistics: Sequence[Statistics], policy: str, program: Program) -> pl.DataFrame:
    """Return the final statistics with the columns of :data:`RUN_SCHEMA`.

    Raises:
        ClockhandError: there are none.
    """
    if not statistics:
        raise _engine.ClockhandError(
            f"{program.path}: it ran, but none of its processes was paged; only programs that are "
            "linked with glibc and run without rights of their own take the library"
        )
    unknown = dict.fromkeys(RUN_SCHEMA)
    rows = [
        {**unknown, **row_of(process), "stream": stream, "policy": policy}
        for stream, process in enumerate(statistics)
    ]
    return pl.DataFrame(rows, schema=RUN_SCHEMA)


def row_of(process: Statistics) -> dict[str, Any]:
    """Return one process's statistics as a row, with the simulator's read and write I/Os.

    To the simulator every miss reads a page and every dirty eviction and write-back writes one;
    the pager reads nothing on first touch or where the page was still to be written, and writes
    nothing that the program has freed, or that was still to be written when it ended.
    """
    row = {name: process[name] for name in process if name in RUN_SCHEMA}
    row["page_bytes"] = PAGE_BYTES
    row["read_ios"] = sum(
        process[name] for name in ("pages_read", "pages_zero_filled", "pages_rescued")
    )
    row["write_ios"] = process["dirty_evictions"] + process["write_backs"]
    return row


def failures(rows: pl.DataFrame) -> list[str]:
    """Return what ended the paging of a process before its end, and writes that failed."""
    sentences = []
    for row in rows.iter_rows(named=True):
        who = f"{row['name']} (process {row['process']})"
        if row["failure"] is not None:
            sentences.append(f"{who}: {row['failure']}")
        elif row["write_errors"]:
            sentences.append(
                f"{who}: {row['write_errors']:,} writes to swap failed; their pages stayed in "
                "memory and were written later"
            )
    return sentences


def _simulated(
    rows: pl.DataFrame, log: Path, paging: Paging, is_kept: bool, watch: Watch | None
) -> tuple[pl.DataFrame, list[Any], list[str]]:
    """Add what the simulator counts on the log; facts about the log; and what was left out."""
    chosen = rows.filter(pl.col("references") > 0).top_k(MOST_SIMULATED, by="references")
    counts: list[dict[str, Any]] = []
    traces: list[Any] = []
    for row in chosen.sort("stream").iter_rows(named=True):
        counted: dict[str, Any] = {"stream": row["stream"]}
        for bits in BITS:
            simulation = run_simulation(
                Trace(log, format="parquet", streams=[row["stream"]]),
                policies=row["policy_resolved"],
                frames=row["frames"],
                reserve=row["reserve"] + row["read_ahead"],
                page_size=PAGE_BYTES,
                device=paging.device,
                bits=bits,
                seed=paging.seed,
                watch=watch,
            )
            (result,) = simulation.rows.to_dicts()
            counted |= {f"{bits}_{name}": result[name] for name in SIMULATED}
        place = f"{log.name}, stream {row['stream']}" if is_kept else "log"
        name = f"{place}: {row['name']} (process {row['process']})"
        traces.append({**simulation.facts["traces"][0], "name": name})
        counts.append(counted)
    left_out = rows.filter(pl.col("references") > 0).height - chosen.height
    notes = []
    if left_out:
        notes.append(
            f"The simulator replayed the {MOST_SIMULATED} processes with the most references; "
            f"{left_out:,} others were left out."
        )
    if not counts:
        return rows, traces, notes
    simulated = pl.DataFrame(counts, schema_overrides={"stream": pl.UInt64})
    names = [name for name in simulated.columns if name != "stream"]
    joined = rows.drop(names).join(simulated, on="stream", how="left", maintain_order="left")
    return (
        joined.select(pl.col(name).cast(kind) for name, kind in RUN_SCHEMA.items()),
        traces,
        notes,
    )


def disagreements(rows: pl.DataFrame) -> list[str]:
    """Return where the simulator counts other than the pager; a process that failed may differ.

    The end of a program may cut its last fault short: a page has left for it, another may have been
    read, and the log does not have it. So much more the pager may count.
    """
    sentences = []
    for row in rows.filter(pl.col("failure").is_null()).iter_rows(named=True):
        differing = []
        for name in SIMULATED:
            simulated = row[f"mapped_{name}"]
            cut_short = 0 if name == "misses" else 1
            if simulated is not None and not 0 <= row[name] - simulated <= cut_short:
                words = name.replace("_ios", " I/Os").replace("_", " ")
                differing.append(f"{words} {row[name]:,} against {simulated:,}")
        if differing:
            sentences.append(
                f"{row['name']} (process {row['process']}): pager and simulator disagree, "
                f"{', '.join(differing)}; this is a defect of Clockhand: keep the log with "
                "--record and report it"
            )
    return sentences


def equivalent(program: Program, paging: Paging, **options: object) -> str:
    """Return the command line that does what a call of the library does."""
    settings = {
        "frames": paging.frames,
        "reserve": paging.reserve,
        "read_ahead": paging.read_ahead,
        "swap": paging.swap,
        "swap_limit": paging.swap_limit_bytes,
        "swap_in_ram": paging.swap is None,
        "address_space": paging.address_space_bytes,
        "device": paging.device,
        "seed": paging.seed,
    }
    words = equivalent_command("run", [], {**options, **settings})
    return f"{words} -- {shlex.join(program.command)}"


def run_facts(
    program: Program,
    ended: Ended,
    paging: Paging,
    planned: Planned,
    *,
    command: str,
    notes: Sequence[str],
    traces: Sequence[Any] = (),
) -> PagedRunFacts:
    """Return how a run was made."""
    return cast(
        PagedRunFacts,
        {
            "command": command,
            "version": _engine.__version__,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "seed": paging.seed,
            "options": {**paging.facts(), "kernel": platform.release()},
            "program": shlex.join(program.command),
            "exit_code": ended.exit_code,
            "seconds": ended.seconds,
            "notes": list(notes),
            "traces": list(traces),
            "devices": [planned.device],
            "policies": planned.policies,
        },
    )
