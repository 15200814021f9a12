"""The tables of a locality analysis: made of what the engine counts, kept as lists in a row."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import polars as pl

from clockhand.study.columns import Schema

SUMMARY_SCHEMA: Schema = {
    "trace": pl.String,
    "page_bytes": pl.UInt64,
    "ranking": pl.String,
    "op": pl.String,
    "references": pl.UInt64,
    "pages": pl.UInt64,
    "re_references": pl.UInt64,
    "top_1_share": pl.Float64,
    "top_10_share": pl.Float64,
    "top_100_share": pl.Float64,
    "top_1_percent_share": pl.Float64,
    "top_10_percent_share": pl.Float64,
    "inversion_share": pl.Float64,
    "inverted_ranks": pl.UInt64,
}
RANKS_SCHEMA: Schema = {
    "trace": pl.String,
    "page_bytes": pl.UInt64,
    "ranking": pl.String,
    "op": pl.String,
    "rank": pl.UInt64,
    "references": pl.UInt64,
    "re_reference_probability": pl.Float64,
}
INVERSIONS_SCHEMA: Schema = {
    "trace": pl.String,
    "page_bytes": pl.UInt64,
    "ranking": pl.String,
    "op": pl.String,
    "first_rank": pl.UInt64,
    "last_rank": pl.UInt64,
    "references": pl.UInt64,
    "displaced_references": pl.Float64,
    "displaced_share": pl.Float64,
}
MISS_CURVE_SCHEMA: Schema = {
    "trace": pl.String,
    "frames": pl.UInt64,
    "page_bytes": pl.UInt64,
    "device": pl.String,
    "references": pl.UInt64,
    "read_references": pl.UInt64,
    "write_references": pl.UInt64,
    "misses": pl.UInt64,
    "read_misses": pl.UInt64,
    "write_misses": pl.UInt64,
    "read_ios": pl.UInt64,
    "write_ios": pl.UInt64,
    "io_time_us": pl.Float64,
    "footprint_pages": pl.UInt64,
    "memory_share": pl.Float64,
    "misses_standard_error": pl.Float64,
    "write_ios_standard_error": pl.Float64,
}
WORKING_SET_SCHEMA: Schema = {
    "trace": pl.String,
    "page_bytes": pl.UInt64,
    "op": pl.String,
    "window_references": pl.UInt64,
    "mean_pages": pl.Float64,
}
RECENCY_SCHEMA: Schema = {
    "trace": pl.String,
    "page_bytes": pl.UInt64,
    "recency_pages": pl.UInt64,
    "read_references": pl.UInt64,
    "write_references": pl.UInt64,
}

TABLES: Mapping[str, Schema] = {
    "summary": SUMMARY_SCHEMA,
    "ranks": RANKS_SCHEMA,
    "inversions": INVERSIONS_SCHEMA,
    "miss-curve": MISS_CURVE_SCHEMA,
    "working-set": WORKING_SET_SCHEMA,
    "recency": RECENCY_SCHEMA,
}
"""The tables of a result, with the names, order and types of their columns."""

TOP_RANKS = (1, 10, 100)
TOP_PERCENTAGES = (1, 10)

OF_CELL: Schema = {
    "trace": pl.String,
    "page_bytes": pl.UInt64,
    "device": pl.String,
    "references": pl.UInt64,
    "read_references": pl.UInt64,
    "write_references": pl.UInt64,
    "footprint_pages": pl.UInt64,
}
"""What a row of a dataset says of its cell, beside the tables."""

IDENTITY = ("trace", "page_bytes")
"""Columns of every table that are the same in all rows of a cell."""


def column_of(table: str) -> str:
    """Return the name of the attribute, and of the column, that holds a table."""
    return table.replace("-", "_")


def _kept(schema: Schema) -> pl.DataType:
    fields = {name: kind for name, kind in schema.items() if name not in IDENTITY}
    return pl.List(pl.Struct(fields))


LISTS: Mapping[str, pl.DataType] = {
    column_of(name): _kept(schema) for name, schema in TABLES.items()
}
"""The columns of a dataset that hold tables, a list of rows each."""


def cell_of(result: Mapping[str, Any], page_bytes: int) -> dict[str, Any]:
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
        **{name: trace[name] for name in list(OF_CELL)[3:]},
    }


def lists_of(result: Mapping[str, Any], page_bytes: int) -> dict[str, pl.Series]:
    """Return the tables as a row has them, with the columns of :data:`LISTS`.

    Args:
        result: What the engine gave.
        page_bytes: Bytes of a page.
    """
    tables = tables_of(result, page_bytes, TABLES)
    return {
        column_of(name): table.drop(IDENTITY).to_struct(column_of(name))
        for name, table in tables.items()
    }


def tables_of(
    result: Mapping[str, Any], page_bytes: int, wanted: Collection[str]
) -> dict[str, pl.DataFrame]:
    """Return the tables of what the engine found in one trace, by their names in :data:`TABLES`.

    Args:
        result: What the engine gave.
        page_bytes: Bytes of a page.
        wanted: The names of those that are to have rows.
    """
    tables = {}
    for name, made in _MADE.items():
        columns = [pl.col(column).cast(kind) for column, kind in TABLES[name].items()]
        parts = made(result, page_bytes) if name in wanted else []
        tables[name] = joined([part.select(columns) for part in parts], TABLES[name])
    return tables


def joined(parts: Sequence[pl.DataFrame], schema: Schema) -> pl.DataFrame:
    """Return the rows of all parts; one part as it is, whose constant columns take no memory."""
    if len(parts) == 1:
        return parts[0]
    return pl.concat([pl.DataFrame(schema=schema), *parts])


def table_of(cells: pl.DataFrame, table: str, beside: Sequence[str] = ()) -> pl.DataFrame:
    """Return one table of all cells, in their order.

    Args:
        cells: Rows with the columns of :data:`OF_CELL` and :data:`LISTS`.
        table: Its name in :data:`TABLES`.
        beside: Columns of the cells that the table is to have too, behind its own.
    """
    kept = column_of(table)
    filled = cells.filter(pl.col(kept).list.len() > 0)
    rows = filled.select(*IDENTITY, *beside, kept).explode(kept).unnest(kept)
    return rows.select(*TABLES[table], *beside)


def sampling_notes(sampling: Mapping[str, Any] | None) -> list[str]:
    """Say what a sample followed, if there was one."""
    if sampling is None:
        return []
    return [
        f"{sampling['pages']:,} pages were followed, a share of {sampling['rate']:.3g} of all, "
        f"with {sampling['references']:,} references; the numbers of pages are estimates with a "
        f"standard error of {sampling['footprint_standard_error']:,.0f} pages"
    ]


def _labelled(result: Mapping[str, Any], page_bytes: int, **columns: Any) -> pl.DataFrame:
    return pl.DataFrame(columns).with_columns(
        trace=pl.lit(result["trace"]["name"]), page_bytes=pl.lit(page_bytes)
    )


def _rankings(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    rankings: list[dict[str, Any]] = [] if result["whole"] is None else result["whole"]["rankings"]
    return rankings


def _summary(result: Mapping[str, Any], page_bytes: int) -> list[pl.DataFrame]:
    return [
        _labelled(result, page_bytes, **{name: [value] for name, value in _shares(ranking).items()})
        for ranking in _rankings(result)
    ]


def _shares(ranking: Mapping[str, Any]) -> dict[str, Any]:
    references, pages = ranking["references"], ranking["pages"]
    re_references = references - pages
    up_to = pl.Series(ranking["counts"], dtype=pl.UInt64).cum_sum()

    def share(ranks: int) -> float | None:
        last = min(ranks, pages)
        return (up_to[last - 1] if last else 0) / references if references else None

    ranges = pl.DataFrame(ranking["inverted_ranges"])
    # One by one, in order: a sum of decimals depends on it.
    displaced = sum(ranges["displaced_references"])
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
        "inverted_ranks": (ranges["last_rank"] - ranges["first_rank"] + 1).sum(),
    }


def _ranks(result: Mapping[str, Any], page_bytes: int) -> list[pl.DataFrame]:
    return [
        _labelled(
            result,
            page_bytes,
            rank=pl.int_range(1, ranking["pages"] + 1, dtype=pl.UInt64, eager=True),
            references=ranking["counts"],
            re_reference_probability=ranking["probabilities"],
        ).with_columns(
            pl.col("re_reference_probability").fill_nan(None),
            ranking=pl.lit(ranking["ranking"]),
            op=pl.lit(ranking["op"]),
        )
        for ranking in _rankings(result)
    ]


def _inversions(result: Mapping[str, Any], page_bytes: int) -> list[pl.DataFrame]:
    return [
        _labelled(result, page_bytes, **ranking["inverted_ranges"]).with_columns(
            ranking=pl.lit(ranking["ranking"]),
            op=pl.lit(ranking["op"]),
            displaced_share=pl.col("displaced_references")
            / (ranking["references"] - ranking["pages"]),
        )
        for ranking in _rankings(result)
    ]


def _curve(result: Mapping[str, Any], page_bytes: int) -> list[pl.DataFrame]:
    trace = result["trace"]
    errors = ("misses_standard_error", "write_ios_standard_error")
    misses = pl.col("read_misses") + pl.col("write_misses")
    whole = ("references", "read_references", "write_references", "footprint_pages")
    # A column for each page of the trace: what has been copied gives its memory back.
    counted = result["curve"]
    columns = {name: pl.Series(counted.pop(name)) for name in list(counted)}
    return [
        _labelled(result, page_bytes, **columns).with_columns(
            *(pl.lit(trace[name]).alias(name) for name in whole),
            *(pl.lit(None, pl.Float64).alias(name) for name in errors if name not in columns),
            device=pl.lit(result["device"]["name"]),
            misses=misses,
            read_ios=misses,
            memory_share=pl.col("frames") / trace["footprint_pages"],
        )
    ]


def _working_set(result: Mapping[str, Any], page_bytes: int) -> list[pl.DataFrame]:
    if result["whole"] is None:
        return []
    return [
        _labelled(
            result, page_bytes, window_references=curve["windows"], mean_pages=curve["pages"]
        ).with_columns(op=pl.lit(curve["op"]))
        for curve in result["whole"]["working_sets"]
    ]


def _recency(result: Mapping[str, Any], page_bytes: int) -> list[pl.DataFrame]:
    if result["whole"] is None:
        return []
    counts = result["whole"]["inter_reference"]
    return [
        _labelled(
            result,
            page_bytes,
            recency_pages=pl.int_range(len(counts["reads"]), dtype=pl.UInt64, eager=True),
            read_references=counts["reads"],
            write_references=counts["writes"],
        )
    ]


_MADE: Mapping[str, Callable[[Mapping[str, Any], int], list[pl.DataFrame]]] = {
    "summary": _summary,
    "ranks": _ranks,
    "inversions": _inversions,
    "miss-curve": _curve,
    "working-set": _working_set,
    "recency": _recency,
}
"""What makes each table."""
