"""Simulation: traces are replayed against policies, and every step is priced by a device."""

from clockhand.studies.pages.result import Simulation, without_gauges
from clockhand.study.records import Record
from clockhand.study.run import Study, call_of


def _gauges_file(given: Record) -> Record:
    """The command writes gauges to a file; the library gives them as a table."""
    return {} if given.get("gauge_every") is None else {"gauges": "gauges.parquet"}


STUDY = Study(
    "pages",
    Simulation,
    predicts_windows=True,
    result_of=without_gauges,
    written=_gauges_file,
)

run_simulation = call_of(
    STUDY,
    "run_simulation",
    """Replay traces against policies and keep the facts for a report.""",
)
