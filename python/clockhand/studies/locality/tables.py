"""The tables of a locality analysis: made of what the engine counts, kept as lists in a row."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clockhand.study.columns import ColumnParts, Kinds, Part, Schema, kinds, types
from clockhand.study.records import Fields, Record

if TYPE_CHECKING:
    import polars as pl

    TABLES: Mapping[str, Schema]
    """The tables of a result, with the names, order and types of their columns."""

KINDS: Mapping[str, Kinds] = {
    name: kinds(f"locality {name}")
    for name in (
        "summary", "ranks", "inversions", "miss-curve", "working-set", "recency", "intervals",
    )
}  # fmt: skip
"""The tables of a result, with the names, order and kinds of their columns."""

TOP_RANKS = (1, 10, 100)
TOP_PERCENTAGES = (1, 10)

OF_CELL: Kinds = {
    name: KINDS["miss-curve"][name]
    for name in (
        "trace", "page_bytes", "device", "references", "read_references", "write_references",
        "footprint_pages", "skipped_requests",
    )
}  # fmt: skip
"""What a row of a dataset says of its cell, beside the tables."""

IDENTITY = ("trace", "page_bytes", "skipped_requests")
"""Columns of every table that are the same in all rows of a cell."""


def __getattr__(name: str) -> Mapping[str, Schema]:
    """Return the types of Polars, which is not imported for what the engine writes."""
    if name == "TABLES":
        return {table: types(kinds) for table, kinds in KINDS.items()}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def column_of(table: str) -> str:
    """Return the name of the attribute, and of the column, that holds a table."""
    return table.replace("-", "_")


def lists() -> "Mapping[str, pl.DataType]":
    """Return the columns of a dataset that hold tables, a list of rows each."""
    import polars as pl

    def kept(kinds: Kinds) -> "pl.DataType":
        fields = {name: kind for name, kind in types(kinds).items() if name not in IDENTITY}
        return pl.List(pl.Struct(fields))

    return {column_of(name): kept(kinds) for name, kinds in KINDS.items()}


def of_dataset() -> Record:
    """Return the columns of a dataset: those of its cells, and those of :func:`lists`."""
    return {**types(OF_CELL), **lists()}


def cell_of(result: Record, page_bytes: int) -> Fields:
    """Return what the engine found in one trace as a row with the columns of :data:`OF_CELL`.

    Args:
        result: What the engine gave.
        page_bytes: Bytes of a page.
    """
    trace = result["trace"]
    return {
        "trace": trace["name"],
        "page_bytes": page_bytes,
        "device": result["device"]["name"],
        **{name: trace[name] for name in list(OF_CELL)[3:-1]},
        "skipped_requests": trace["skipped_records"],
    }


def lists_of(result: Record, page_bytes: int) -> "dict[str, pl.Series]":
    """Return the tables as a row has them, with the columns of :func:`lists`.

    Args:
        result: What the engine gave.
        page_bytes: Bytes of a page.
    """
    parts = parts_of([result], page_bytes, KINDS)
    tables = {name: ColumnParts(kinds, parts[name]).table() for name, kinds in KINDS.items()}
    return {
        column_of(name): table.drop(IDENTITY).to_struct(column_of(name))
        for name, table in tables.items()
    }


def parts_of(
    found: Sequence[Record], page_bytes: int, wanted: Collection[str]
) -> dict[str, list[Part]]:
    """Return the tables of what the engine found in traces, by their names in :data:`KINDS`.

    Args:
        found: What the engine gave of each.
        page_bytes: Bytes of a page.
        wanted: The names of those that are to have rows.
    """
    cells = [cell_of(result, page_bytes) for result in found]
    of_cells = [{name: cell[name] for name in IDENTITY} for cell in cells]
    return {
        name: [
            {**of_cell, **part}
            for of_cell, result in zip(of_cells, found, strict=True)
            if name in wanted
            for part in made(result)
        ]
        for name, made in _MADE.items()
    }


def table_of(cells: "pl.DataFrame", table: str, beside: Sequence[str] = ()) -> "pl.DataFrame":
    """Return one table of all cells, in their order.

    Args:
        cells: Rows with the columns of :func:`of_dataset`.
        table: Its name in :data:`KINDS`.
        beside: Columns of the cells that the table is to have too, behind its own.
    """
    import polars as pl

    kept = column_of(table)
    filled = cells.filter(pl.col(kept).list.len() > 0)
    rows = filled.select(*IDENTITY, *beside, kept).explode(kept).unnest(kept)
    return rows.select(*KINDS[table], *beside)


THINNED = "the miss curve has "
"""Begins what is noted of a thinned curve."""


def notes_of(result: Record) -> list[str]:
    """Say what a sample followed, and how far a thinned miss curve is from the whole one."""
    notes = []
    if (sampling := result["sampling"]) is not None:
        notes.append(
            f"{sampling['pages']:,} pages were followed, a share of {sampling['rate']:.3g} of all, "
            f"with {sampling['references']:,} references; the numbers of pages are estimates with "
            f"a standard error of {sampling['footprint_standard_error']:,.0f} pages"
        )
    if (thinning := result["thinning"]) is not None:
        moved = thinning["most_moved_references"]
        notes.append(
            f"{THINNED}{thinning['points']:,} of {thinning['whole_points']:,} sizes; between them, "
            f"straight lines are off by at most {moved:,.1f} misses or writes, "
            f"{100 * moved / max(1, result['trace']['references']):.2g} % of the references"
        )
    return notes


def _rankings(result: Record) -> list[Fields]:
    rankings: list[Fields] = [] if result["whole"] is None else result["whole"]["rankings"]
    return rankings


def _summary(result: Record) -> list[Part]:
    return [
        {name: [value] for name, value in _shares(ranking).items()} for ranking in _rankings(result)
    ]


def _shares(ranking: Record) -> Fields:
    references, pages = ranking["references"], ranking["pages"]
    re_references = references - pages
    up_to = ranking["counts"].cumsum()

    def share(ranks: int) -> float | None:
        last = min(ranks, pages)
        return (int(up_to[last - 1]) if last else 0) / references if references else None

    ranges = ranking["inverted_ranges"]
    # One by one, in order: a sum of decimals depends on it.
    displaced = sum(ranges["displaced_references"].tolist())
    return {
        "ranking": ranking["ranking"],
        "op": ranking["op"],
        "references": references,
        "pages": pages,
        "re_references": re_references,
        **{f"top_{ranks}_share": share(ranks) for ranks in TOP_RANKS},
        **{
            f"top_{percentage}_percent_share": share(max(1, pages * percentage // 100))
            for percentage in TOP_PERCENTAGES
        },
        "inversion_share": displaced / re_references if re_references else None,
        "inverted_ranks": int((ranges["last_rank"] - ranges["first_rank"] + 1).sum()),
    }


def _ranks(result: Record) -> list[Part]:
    return [
        {
            "ranking": ranking["ranking"],
            "op": ranking["op"],
            "rank": _numbers(1, ranking["pages"] + 1),
            "references": ranking["counts"],
            "re_reference_probability": ranking["probabilities"],
        }
        for ranking in _rankings(result)
    ]


def _inversions(result: Record) -> list[Part]:
    return [
        {
            "ranking": ranking["ranking"],
            "op": ranking["op"],
            **ranking["inverted_ranges"],
            "displaced_share": _divided(
                ranking["inverted_ranges"]["displaced_references"],
                ranking["references"] - ranking["pages"],
            ),
        }
        for ranking in _rankings(result)
    ]


def _curve(result: Record) -> list[Part]:
    trace, counted = result["trace"], result["curve"]
    misses = counted["read_misses"] + counted["write_misses"]
    whole = ("references", "read_references", "write_references", "footprint_pages")
    return [
        {
            "device": result["device"]["name"],
            **{name: trace[name] for name in whole},
            "misses": misses,
            "read_ios": misses,
            "memory_share": _divided(counted["frames"], trace["footprint_pages"]),
            "misses_standard_error": None,
            "write_ios_standard_error": None,
            **counted,
        }
    ]


def _working_set(result: Record) -> list[Part]:
    if result["whole"] is None:
        return []
    return [
        {"op": curve["op"], "window_references": curve["windows"], "mean_pages": curve["pages"]}
        for curve in result["whole"]["working_sets"]
    ]


def _recency(result: Record) -> list[Part]:
    if result["whole"] is None:
        return []
    counts = result["whole"]["inter_reference"]
    return [
        {
            "recency_pages": _numbers(0, len(counts["reads"])),
            "read_references": counts["reads"],
            "write_references": counts["writes"],
        }
    ]


def _divided(column: Any, by: int) -> Any:
    """Return a column over a number, which is multiplied by the reciprocal, as Polars does it."""
    return column * (1 / by if by else math.nan)


def _numbers(first: int, end: int) -> Any:
    """Return whole numbers as a column, up to before ``end``."""
    import numpy as np

    return np.arange(first, end, dtype=np.uint64)


_MADE: Mapping[str, Callable[[Record], list[Part]]] = {
    "summary": _summary,
    "ranks": _ranks,
    "inversions": _inversions,
    "miss-curve": _curve,
    "working-set": _working_set,
    "recency": _recency,
    "intervals": lambda result: [result["intervals"]],
}
"""What makes each table."""
