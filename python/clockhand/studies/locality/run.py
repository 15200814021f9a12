"""Locality: how a program uses its pages, separately for reads and writes."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from clockhand import _engine
from clockhand.studies.locality.result import Locality
from clockhand.studies.locality.tables import (
    KINDS,
    cell_of,
    lists,
    lists_of,
    of_dataset,
    parts_of,
    sampling_notes,
    thinning_notes,
)
from clockhand.study.calls import asks
from clockhand.study.columns import Part
from clockhand.study.errors import UsageError
from clockhand.study.progress import Watch
from clockhand.study.records import Fields, Record
from clockhand.study.run import Options, Study, called
from clockhand.traces import Traces


def _analysed(
    sources: Sequence[_engine.TraceSource],
    options: Options,
    *,
    jobs: int | None,
    watch: Watch | None = None,
    cells: Sequence[Record] | None = None,
    on_rows: Callable[[list[tuple[Record, Fields]]], None] | None = None,
    tables: Collection[str] = tuple(KINDS),
    blocks: int = 0,
) -> Fields:
    """Analyse traces one by one, as the engine's functions of other studies do: a cell for each.

    A dataset keeps the tables in its cells; otherwise they stand beside the rows.
    """
    if not sources:
        raise UsageError("no trace is given", "add a file")
    page_bytes = _engine.parse_page_bytes(options["page_size"])
    rows, traces, devices, counted = [], [], [], []
    parts: dict[str, list[Part]] = {name: [] for name in KINDS}
    for source in sources:
        result = _engine.locality(
            source,
            options,
            curve="miss-curve" in tables,
            inter_reference="recency" in tables,
            rankings=bool({"summary", "ranks", "inversions"}.intersection(tables)),
            working_sets="working-set" in tables,
            blocks=blocks,
            jobs=jobs,
            watch=watch,
        )
        if blocks:
            counted.append((result["trace"], result["whole"]["rankings"]))
        rows.append(cell_of(result, page_bytes))
        if on_rows is None:
            for name, found in parts_of(result, page_bytes, tables).items():
                parts[name] += found
        else:
            rows[-1] |= lists_of(result, page_bytes)
        notes = sampling_notes(result["sampling"])
        notes += thinning_notes(result["thinning"], result["trace"])
        traces.append({**result["trace"], "study_notes": notes})
        devices.append(result["device"])
    if on_rows is not None and cells:
        on_rows([(cells[0], row) for row in rows])
    facts = {"traces": traces, "devices": devices, "policies": []}
    return {"rows": rows, **facts, "parts": parts, "blocks": counted}


LOCALITY = Study(
    name="locality",
    command="locality",
    own_engine=_analysed,
    made=Locality,
    contender=None,
    own_schema=of_dataset,
    beside=lists,
)


def locality_with(tables: Collection[str], blocks: int = 0) -> Study[Locality]:
    """Return the study of which only these tables have rows, which takes less time and memory.

    Rankings are counted in so many blocks of equally many references, too.
    """
    return replace(LOCALITY, own_engine=partial(_analysed, tables=tables, blocks=blocks))


@asks("locality")
def run_locality(traces: Traces, **options: object) -> Locality:
    """Show how the programs of traces use their pages."""
    return called(LOCALITY, traces, options)
