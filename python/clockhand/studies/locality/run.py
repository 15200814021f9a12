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
    notes_of,
    of_dataset,
    parts_of,
)
from clockhand.study.errors import UsageError
from clockhand.study.progress import Watch
from clockhand.study.records import Fields, Record
from clockhand.study.run import Options, Study, call_of


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
    asked: Fields = {"tables": list(tables), "blocks": blocks, "jobs": jobs, "watch": watch}
    found = [_engine.locality(source, options, **asked) for source in sources]
    rows = [cell_of(result, page_bytes) for result in found]
    if on_rows is not None:
        rows = [row | lists_of(it, page_bytes) for row, it in zip(rows, found, strict=True)]
        on_rows([(cell, row) for cell in cells or () for row in rows])
    return {
        "rows": rows,
        "traces": [{**result["trace"], "study_notes": notes_of(result)} for result in found],
        "devices": [result["device"] for result in found],
        "policies": [],
        "parts": parts_of([] if on_rows else found, page_bytes, tables),
        "blocks": [(it["trace"], it["whole"]["rankings"]) for it in found if blocks],
    }


STUDY = Study(
    "locality",
    Locality,
    own_engine=_analysed,
    contender=None,
    own_schema=of_dataset,
    beside=lists,
)


def locality_with(tables: Collection[str], blocks: int = 0) -> Study[Locality]:
    """Return the study of which only these tables have rows, which takes less time and memory.

    Rankings are counted in so many blocks of equally many references, too.
    """
    return replace(STUDY, own_engine=partial(_analysed, tables=tables, blocks=blocks))


run_locality = call_of(
    STUDY, "run_locality", """Show how the programs of traces use their pages."""
)
