"""Real programs under the policies: the user-space pager, and the simulator beside it."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from clockhand.studies.programs.findings import device_reads, unpaged
from clockhand.studies.programs.options import OPTIONS
from clockhand.studies.programs.pager import paging, started_pager, swap_notes
from clockhand.studies.programs.plan import Prepared
from clockhand.studies.programs.replay import replayed
from clockhand.studies.programs.result import PagedRun
from clockhand.studies.programs.rows import disagreements, failures, other_bits, process_rows
from clockhand.studies.programs.samples import Live, Samples, opened
from clockhand.studies.programs.watched_program import run_program
from clockhand.study.calls import in_python
from clockhand.study.errors import UsageError, option
from clockhand.study.files import check_places
from clockhand.study.progress import Watch
from clockhand.study.records import Record

Progress = Callable[[], AbstractContextManager[Watch | None]]
"""Opens something that shows progress."""


@in_python(*OPTIONS, renamed={"swap_in_ram": "swap=None"})
def run(
    command: Sequence[str],
    *,
    policy: str,
    record: str | os.PathLike[str] | None = None,
    simulate: bool = True,
    live: Live | None = None,
    progress: Progress | None = None,
    made_by: str | None = None,
    **options: object,
) -> PagedRun:
    """Run a program whose memory a policy pages, and replay its references in the simulator.

    Its standard streams are ours; what would interrupt us is left to it.

    Args:
        command: The program and its arguments.

        policy: A bit-driven policy with parameters, such as ``"craw:c=8"``.

        record: A Parquet file for the log of references, a stream per process.

        simulate: Whether the simulator replays the log, with the bits of the run, which must give
            the same counts, and with exact bits, which real memory does not have.

        live: Opens what is called four times a second with the processes' statistics.

        progress: Opens what is called now and then with the progress of the simulation.

        made_by: The command line for the facts; the equivalent one if not given.

        options: Memory, swap and so on, and how programs are paged.

    Raises:
        UsageError: something is unknown, out of range or contradictory, or cannot be paged.
        ClockhandError: this machine refuses, or no process was paged.
        OSError: there is no place for the log.
    """
    place = None if record is None else _record_place(record)
    prepared = Prepared.of(command, [policy], options)
    program, settings = prepared.program, prepared.settings
    with _log(place, is_wanted=simulate) as log:
        pager = started_pager(policy, prepared.planned, settings, record=log)
        with opened(live) as watch:
            samples = Samples(pager, watch)
            ended = run_program(program.command, look=samples.look, **paging(pager, program))
            statistics = pager.finish()
        samples.take(ended.seconds, statistics)
        rows = process_rows(statistics, policy, program)
        notes = swap_notes(pager) + other_bits(rows, settings.bits)
        traces: list[Record] = []
        if simulate and log is not None:
            with nullcontext() if progress is None else progress() as watch_replay:
                rows, traces, left_out = replayed(
                    rows, log, settings, place is not None, watch_replay
                )
            notes += left_out
    return PagedRun(
        rows=rows,
        samples=samples.counts(),
        gauges=samples.gauges(),
        facts=prepared.facts(
            ended,
            command=made_by or prepared.equivalent(policy=policy, record=place),
            notes=notes,
            traces=traces,
        ),
        warnings=failures(rows) + device_reads(rows) + unpaged(rows),
        disagreements=disagreements(rows),
        exit_code=ended.exit_code,
        interrupted=ended.interrupted,
    )


def _record_place(record: str | os.PathLike[str]) -> Path:
    path = Path(record)
    if path.suffix != ".parquet":
        raise UsageError(
            option("record") + f" {record}: the log is written as Parquet",
            "end its name in .parquet",
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
