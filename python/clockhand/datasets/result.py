"""What a sweep gives: rows and facts, and the report of the study that they are of."""

from dataclasses import dataclass

import polars as pl

from clockhand.datasets.layout import OWN_VIEW, Layout
from clockhand.report.reported import Reported
from clockhand.study.intervals import cells_of
from clockhand.study.options import key_of
from clockhand.study.records import Record
from clockhand.study.run import Ran


@dataclass(frozen=True)
class Sweep:
    """What a sweep gave.

    Attributes:
        rows: One row per cell of the experiment, in the order trace, setting, then as the study
            orders its rows, named as the experiment names them; the columns are those of the
            dataset.

        facts: How they were made, for a report.

        computed: How many cells were computed now; the others had been kept.

        warnings: What the readers passed over or assumed, one sentence each.

        layout: The study, and how its cells are kept.
    """

    rows: pl.DataFrame
    facts: Record
    computed: int
    warnings: list[str]
    layout: Layout

    def reported(self, asked: Record | None = None) -> Reported:
        """Return the rows as the study's own result, with its report.

        ``asked`` is the question, what is expected and the analyses, for the head of the report.
        """
        facts = self.facts if asked is None else {**self.facts, "experiment": asked}
        return reported(self.rows, facts, self.layout)


def reported(rows: pl.DataFrame, facts: Record, layout: Layout) -> Reported:
    """Return rows of a dataset as a result of the study, with the study's own report.

    Settings that differ and that the rows do not show become part of the traces' names.
    """
    rows, facts = _with_settings_named(rows, facts, layout)
    study = layout.study
    return study.made(Ran(rows.clone, facts, [], study.result_of(cells_of(rows))))


def _with_settings_named(
    rows: pl.DataFrame, facts: Record, layout: Layout
) -> tuple[pl.DataFrame, Record]:
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
    known = {(trace["name"], trace["page_bytes"]): trace for trace in facts["traces"]}
    last = {trace["name"]: trace for trace in facts["traces"]}
    sizes = rows["page_bytes"] if "page_bytes" in rows.columns else [None] * rows.height
    read = dict(zip(zip(rows["trace"], names, strict=True), sizes, strict=True))
    traces = [
        {**known.get((before, page_bytes), last[before]), "name": name}
        for (before, name), page_bytes in read.items()
    ]
    if "predicted_windows" in facts:
        windows = [
            {**window, "trace": name}
            for before, name in read
            for window in facts["predicted_windows"]
            if window["trace"] == before
        ]
        facts = {**facts, "predicted_windows": windows}
    named = rows.with_columns(pl.Series("trace", names, dtype=pl.String))
    return named, {**facts, "traces": traces}
