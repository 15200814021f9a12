"""Locality: how a program uses its pages, separately for reads and writes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Unpack, cast

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.reported import Reported
from clockhand.study.calls import in_python
from clockhand.study.facts import Facts, equivalent_command
from clockhand.study.limits import MAXIMUM_SEED, check_range
from clockhand.study.progress import Watching, watched
from clockhand.study.run import reading_warnings, run_facts, trace_facts
from clockhand.traces import Reading, Traces, reading_options, sources

Schema = Mapping[str, type[pl.DataType]]

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


LEADING = (
    "trace", "ranking", "op", "references", "top_10_percent_share", "inversion_share",
    "frames", "misses", "write_ios", "io_time_us",
)  # fmt: skip
"""The columns that notebooks show, of the summary or, where a sample was followed, of the curve."""


@dataclass(frozen=True)
class Locality(Reported):
    """What :func:`locality` finds, a table for each analysis; docs/locality.md defines them.

    With ``sample``, only ``miss_curve`` has rows.

    Attributes:
        summary: One row per trace and ranking: shares of its references in the top ranks, out of
            all references of the kind, and the share of re-references that rankings invert.
        ranks: References and re-reference probability of each rank.
        inversions: Ranges of ranks in which a better rank does not mean more references.
        miss_curve: What LRU misses and writes back at every memory size; sampled, at a grid of
            sizes and with standard errors.
        working_set: Average number of pages in a window of references.
        recency: Reads and writes by the other pages since the previous reference to their page.
        facts: Command, version, trace hashes and device, for a report.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    summary: pl.DataFrame
    ranks: pl.DataFrame
    inversions: pl.DataFrame
    miss_curve: pl.DataFrame
    working_set: pl.DataFrame
    recency: pl.DataFrame
    facts: Facts
    warnings: list[str]

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by its name in :data:`TABLES`.

        Raises:
            UsageError: there is no such table, or a sample cannot fill it.
        """
        if name not in TABLES:
            raise _engine.UsageError(f"--rows {name!r} is unknown; give one of {', '.join(TABLES)}")
        if name != "miss-curve" and self.facts["options"]["sample"] is not None:
            raise _engine.UsageError(
                f"--rows {name} needs the whole trace; leave out --sample, or give "
                "--rows miss-curve"
            )
        rows: pl.DataFrame = getattr(self, name.replace("-", "_"))
        return rows

    def _leading(self) -> pl.DataFrame:
        rows = self.miss_curve if self.summary.is_empty() else self.summary
        return rows.select(name for name in LEADING if name in rows.columns)

    def _rendered(self, highlight: Sequence[str]) -> str:
        from clockhand.studies.locality.report import render

        return render(self._tables(), self.facts)

    def specifications(self, highlight: Sequence[str] = ()) -> dict[str, Spec]:
        """Return every figure in Vega-Lite, by its key, the leading one first."""
        from clockhand.studies.locality.report import specifications

        return specifications(self._tables(), self.facts)

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {name: getattr(self, name.replace("-", "_")) for name in TABLES}


@in_python(Reading)
def locality(
    traces: Traces,
    *,
    page_size: int | str = 4096,
    device: str | os.PathLike[str] = "slc-nand",
    ties: str = "stable",
    sample: float | int | str | None = None,
    seed: int = 0,
    watch: Watching = None,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> Locality:
    """Show how the programs of traces use their pages.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        page_size: Bytes, a power of two, or text such as ``"4KiB"``.
        device: Name with options, or a TOML file; it prices the miss curve.
        ties: How pages with equally many writes are ranked: ``"stable"`` (who reached the count
            first ranks first), ``"recent"`` (who reached it last) or ``"best"``.
        sample: Follow only some pages, and give only the miss curve: a rate above 0 and up to 1 as
            a float or as text (``"1%"``), or the most pages as a whole number from 32.
        seed: Seed of the choice of pages.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        reading: How traces that are given as paths are read, and which requests of each trace are
            wanted, as :class:`clockhand.traces.Reading` says.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """
    check_range("--seed", seed, 0, MAXIMUM_SEED)
    page_bytes = _engine.parse_page_bytes(str(page_size))
    trace_sources = sources(traces, **reading)
    if not trace_sources:
        raise _engine.UsageError("no trace is given; add a file")
    options: dict[str, Any] = {
        "device": os.fspath(device),
        "ties": ties,
        "sample": None if sample is None else _sample_text(sample),
    }
    with watched(watch) as told:
        results = [
            _engine.locality(source, page_bytes=page_bytes, seed=seed, watch=told, **options)
            for source in trace_sources
        ]
    if command is None:
        names = [source.name for source in trace_sources]
        settings = {"page_size": page_bytes, "seed": seed, **options}
        command = equivalent_command("locality", names, {**settings, **reading_options(reading)})
    return Locality(
        summary=_frame(SUMMARY_SCHEMA, (_summary(result, page_bytes) for result in results)),
        ranks=_frame(RANKS_SCHEMA, (_ranks(result, page_bytes) for result in results)),
        inversions=_frame(
            INVERSIONS_SCHEMA, (_inversions(result, page_bytes) for result in results)
        ),
        miss_curve=_frame(MISS_CURVE_SCHEMA, (_curve(result, page_bytes) for result in results)),
        working_set=_frame(
            WORKING_SET_SCHEMA, (_working_set(result, page_bytes) for result in results)
        ),
        recency=_frame(RECENCY_SCHEMA, (_recency(result, page_bytes) for result in results)),
        facts=_facts(results, command, page_bytes, seed, options),
        warnings=reading_warnings(result["trace"] for result in results),
    )


def _sample_text(sample: float | int | str) -> str:
    """Return a sample as the engine reads it; a float is a rate, whatever its size."""
    return format(Decimal(str(sample)), "f") if isinstance(sample, float) else str(sample)


def _frame(schema: Schema, parts: Iterator[list[pl.DataFrame]]) -> pl.DataFrame:
    """Join the parts of a table, and give it the columns of its schema."""
    columns = [pl.col(name).cast(kind) for name, kind in schema.items()]
    listed = [part.select(columns) for several in parts for part in several]
    return pl.concat([pl.DataFrame(schema=schema), *listed])


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
    up_to = [0, *pl.Series(ranking["counts"], dtype=pl.UInt64).cum_sum()]

    def share(ranks: int) -> float | None:
        return up_to[min(ranks, pages)] / references if references else None

    ranges = ranking["inverted_ranges"]
    displaced = sum(found["displaced_references"] for found in ranges)
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
        "inverted_ranks": sum(found["last_rank"] - found["first_rank"] + 1 for found in ranges),
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
        _labelled(result, page_bytes, **found).with_columns(
            ranking=pl.lit(ranking["ranking"]),
            op=pl.lit(ranking["op"]),
            displaced_share=pl.col("displaced_references")
            / (ranking["references"] - ranking["pages"]),
        )
        for ranking in _rankings(result)
        for found in ranking["inverted_ranges"]
    ]


def _curve(result: Mapping[str, Any], page_bytes: int) -> list[pl.DataFrame]:
    trace = result["trace"]
    errors = ("misses_standard_error", "write_ios_standard_error")
    misses = pl.col("read_misses") + pl.col("write_misses")
    whole = ("references", "read_references", "write_references", "footprint_pages")
    return [
        _labelled(result, page_bytes, **result["curve"]).with_columns(
            *(pl.lit(trace[name]).alias(name) for name in whole),
            *(
                pl.lit(None, pl.Float64).alias(name)
                for name in errors
                if name not in result["curve"]
            ),
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


def _facts(
    results: Sequence[Mapping[str, Any]],
    command: str,
    page_bytes: int,
    seed: int,
    options: Mapping[str, Any],
) -> Facts:
    traces = [trace_facts(result["trace"], page_bytes) for result in results]
    for trace, result in zip(traces, results, strict=True):
        trace["notes"] += _sampling_notes(result["sampling"])
    facts = run_facts(
        command=command,
        seed=seed,
        options=options,
        traces=traces,
        devices=[results[0]["device"]],
        policies=[],
    )
    return cast(Facts, facts)


def _sampling_notes(sampling: Mapping[str, Any] | None) -> list[str]:
    if sampling is None:
        return []
    return [
        f"{sampling['pages']:,} pages were followed, a share of {sampling['rate']:.3g} of all, "
        f"with {sampling['references']:,} references; the numbers of pages are estimates with a "
        f"standard error of {sampling['footprint_standard_error']:,.0f} pages"
    ]
