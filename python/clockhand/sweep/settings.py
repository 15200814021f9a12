"""Settings that differ within a sweep, in the names of traces."""

from typing import Any

import polars as pl

from clockhand.sweep.experiment import OWN_VIEW
from clockhand.sweep.layout import Layout
from clockhand.sweep.table import key_of


def with_settings_named(rows: pl.DataFrame, facts: Any, layout: Layout) -> tuple[pl.DataFrame, Any]:
    """Name each trace with the options that differ in a sweep and that its study's rows leave out.

    So each combination stands in a part of its own, in tables and reports.

    Args:
        rows: Rows of a dataset.
        facts: How they were made; ``traces`` has every trace of the rows.
        layout: The study.
    """
    if layout.depends_on_footprint:
        return rows, facts
    settings = layout.setting(rows).with_columns(rows["view"])
    varying = [column for column in settings if column.n_unique() > 1]
    if not varying:
        return rows, facts
    renamed = pl.DataFrame(varying).rename(key_of)
    labels = [
        ", ".join(
            f"{name} {value}"
            for name, value in row.items()
            if value is not None and (name, value) != ("view", OWN_VIEW)
        )
        for row in renamed.iter_rows(named=True)
    ]
    names = [
        f"{name} ({label})" if label else name
        for name, label in zip(rows["trace"], labels, strict=True)
    ]
    known = {trace["name"]: trace for trace in facts["traces"]}
    pairs = dict.fromkeys(zip(rows["trace"], names, strict=True))
    traces = [{**known[before], "name": name} for before, name in pairs]
    if "predicted_windows" in facts:
        windows = [
            {**window, "trace": name}
            for before, name in pairs
            for window in facts["predicted_windows"]
            if window["trace"] == before
        ]
        facts = {**facts, "predicted_windows": windows}
    named = rows.with_columns(pl.Series("trace", names, dtype=pl.String))
    return named, {**facts, "traces": traces}
