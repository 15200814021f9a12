"""I/O time by bands of memory: what a mean over all memory sizes hides, and the worst cell."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from clockhand.reproduce.evidence import Evidence
from clockhand.study.policies import BASELINE

BANDS = {"≤ 10 %": (0, 10), "20–40 %": (20, 40), "≥ 60 %": (60, 100)}
"""Percent of the footprint, both ends included: small memory, where most is replaced, and more."""

ALL_TRACES = "all traces"


def band_rows(evidence: Evidence, policies: Sequence[str]) -> pl.DataFrame:
    """Return I/O time over CLOCK's of the same memory, by band, trace and policy.

    Returns:
        The columns memory, trace, policy, cells, mean, worst (the greatest), worst_at (its share of
        the footprint) and best. The trace ``all traces`` weighs each trace the same in its mean,
        and has the worst and the best cell of all. Bands without a memory size have no row.
    """
    rows = [row for policy in policies for row in _of_policy(evidence, policy)]
    schema = {
        "memory": pl.String, "trace": pl.String, "policy": pl.String, "cells": pl.Int64,
        "mean": pl.Float64, "worst": pl.Float64, "worst_at": pl.Float64, "best": pl.Float64,
    }  # fmt: skip
    table = pl.DataFrame(rows, schema=schema)
    places = {name: place for place, name in enumerate((*BANDS, *evidence.traces, ALL_TRACES))}
    place = [
        pl.col(column).replace_strict(places, return_dtype=pl.Int64)
        for column in ("memory", "trace")
    ]
    return table.sort(*place, maintain_order=True)


def in_band(share: pl.Expr, band: str) -> pl.Expr:
    """Say which shares of the footprint belong to a band."""
    # A share is whole frames over pages: a little less than the percentage that was asked for.
    return (100 * share).round().is_between(*BANDS[band])


def _of_policy(evidence: Evidence, policy: str) -> list[dict[str, Any]]:
    ratios = evidence.ratios(policy, BASELINE)
    rows = []
    for band in BANDS:
        of_band = ratios.filter(in_band(pl.col("memory_share"), band))
        if of_band.is_empty():
            continue
        means: list[float] = []
        for trace in evidence.traces:
            of_trace = of_band.filter(pl.col("trace") == trace)
            if of_trace.is_empty():
                continue
            row = _row(band, trace, policy, of_trace)
            rows.append(row)
            means.append(row["mean"])
        if len(means) > 1:
            mean = sum(means) / len(means)
            rows.append({**_row(band, ALL_TRACES, policy, of_band), "mean": mean})
    return rows


def _row(band: str, trace: str, policy: str, ratios: pl.DataFrame) -> dict[str, Any]:
    ordered = ratios.sort("ratio", maintain_order=True)
    worst = ordered.row(-1, named=True)
    return {
        "memory": band,
        "trace": trace,
        "policy": policy,
        "cells": ratios.height,
        "mean": ratios["ratio"].mean(),
        "worst": worst["ratio"],
        "worst_at": worst["memory_share"],
        "best": ordered["ratio"][0],
    }


def band_table(bands: pl.DataFrame, value: str) -> pl.DataFrame:
    """Return one value of :func:`band_rows` with a column per policy, to two decimals as text."""
    shown = bands.with_columns(
        pl.col(value).map_elements("{:.2f}".format, return_dtype=pl.String).alias(value)
    )
    wide = shown.pivot("policy", index=["memory", "trace"], values=value, maintain_order=True)
    return wide.fill_null("–")
