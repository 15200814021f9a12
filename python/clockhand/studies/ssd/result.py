"""What a run of write buffers gives: rows, wear, and details of timed runs."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import polars as pl

from clockhand.studies.result import StudyResult
from clockhand.studies.ssd.tables import CELL, DETAILS, WEAR, SsdTables
from clockhand.study.records import Record
from clockhand.study.run import Columns


class SsdRun(StudyResult):
    """The result of :func:`run_ssd`, with the attributes of :class:`~.result.StudyResult`.

    Rows are in the order trace, drive, buffer, arrivals. Counts are of pages, but for batches and
    erases (blocks).

    Attributes:
        wear: How many blocks of each cell's drive were erased how often.

        classes: Of timed runs, reads and writes by latency: how many took at most ``most_us`` and
            longer than the class before, and what they waited for together.

        moments: Of timed runs, stretches of the same length: the reads and writes completed in
            each, what they waited for together, and what was decided.

        parts: Of timed runs, the share of time in which front end, channels and dies were busy.
    """

    compared_by = "buffer"
    leading = (
        "trace", "buffer", "buffer_pages", "ssd", "host_writes", "flash_programs", "erases", "waf",
    )  # fmt: skip

    @cached_property
    def wear(self) -> pl.DataFrame:
        return _of_cells(self._ran.result["wear"], self.cells, WEAR)

    @cached_property
    def classes(self) -> pl.DataFrame:
        return self._detail("classes")

    @cached_property
    def moments(self) -> pl.DataFrame:
        return self._detail("moments")

    @cached_property
    def parts(self) -> pl.DataFrame:
        return self._detail("parts")

    def _detail(self, name: str) -> pl.DataFrame:
        return _of_cells(self._ran.result[name], self.cells, DETAILS[name], ("arrivals",))

    def _answer(self) -> list[str]:
        from clockhand.studies.ssd.findings import findings

        (run,), _ = self._shown()
        return findings(run.rows, run.facts, run.classes)

    def _shown(self) -> tuple[tuple[SsdTables], pl.DataFrame | None]:
        """The rows that figures show, with what stands beside them, and the intervals that have
        figures of their own: windows of timed runs are drawn with the rest of time."""
        rows, intervals = self.cells, self.intervals
        if intervals is not None and intervals["window_us"].null_count() == 0:
            rows, intervals = pl.concat([rows, intervals]), None
        return (self.tables(rows),), intervals

    def tables(self, rows: pl.DataFrame) -> SsdTables:
        """Return rows with what stands beside those of cells."""
        beside = (self.wear, self.classes, self.moments, self.parts)
        return SsdTables(rows, *beside, self.facts)


def _of_cells(
    columns: Record, rows: pl.DataFrame, own: Columns, more: Sequence[str] = ()
) -> pl.DataFrame:
    """Join what stands beside rows, whose column ``row`` counts them from 0, with their cells."""
    table = pl.DataFrame(columns, schema={"row": pl.UInt32, **own}, strict=False)
    about = rows.with_row_index("row").select("row", *CELL, *more)
    joined = table.join(about, on="row", how="left", maintain_order="left")
    return joined.select(*CELL, *more, *own)


def _lists(columns: Columns) -> pl.Struct:
    """Return the type of a table that a dataset keeps beside the row of its cell."""
    return pl.Struct({name: pl.List(kind) for name, kind in columns.items()})


def beside() -> Mapping[str, pl.DataType]:
    """Return the columns of lists that a dataset keeps beside those of a row."""
    wear = {"wear_erases": pl.List(pl.UInt32()), "wear_blocks": pl.List(pl.UInt32())}
    return wear | {name: _lists(columns) for name, columns in DETAILS.items()}


def result_of(rows: pl.DataFrame) -> Record:
    """The engine's tables beside the rows, rebuilt from rows that hold them in columns."""
    rows = rows.with_row_index("row")
    wear = rows.select(
        "row", pl.col("wear_erases").alias("erases"), pl.col("wear_blocks").alias("blocks")
    )
    details = {
        name: rows.select("row", pl.col(name).struct.unnest()).filter(pl.col(column).list.len() > 0)
        for name, (column, *_) in DETAILS.items()
    }
    tables = {"wear": wear, **details}
    return {
        name: table.explode(table.columns[1:]).to_dict(as_series=False)
        for name, table in tables.items()
    }
