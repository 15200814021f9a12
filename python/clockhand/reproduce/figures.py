"""Figures of papers beside ours: the lines of each panel, for each trace.

``report.toml`` of a paper says which results a figure shows (``of``), which function of this file
draws it (``draw``), and how each of its panels looks: its title, its axes and their columns.
:mod:`clockhand.reproduce.printed` has the paper's own numbers behind them.

Panels of :func:`lines` say which rows they show (``where`` columns have these values), the columns
``by`` which rows have a line each (``policy`` if not given), and the ``series``: names of lines
that are such values, or a table of both; without it a line for each of the first few values.
``x_of`` and ``y_of`` are columns, several of them multiplied, over ``x_over`` and times
``x_factor``. ``at`` says in words where a point is; ``row`` what a figure without traces is of.
``over = VALUE`` divides by the line of that value, ``of = VALUE`` that line by the others.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from clockhand.measure.measured import Measured
from clockhand.report.panel_lines import Lines
from clockhand.report.words import byte_text, number_text, unique
from clockhand.reproduce.measures.cflru import PAPERS_FRAMES, kernels_of, replaced
from clockhand.reproduce.printed import printed
from clockhand.study.records import Fields, Record

MOST_POINTS = 400
MOST_LINES = 3
"""Lines of a panel that names none: more have no look of their own."""

Panel = Record
Records = list[Fields]
Points = dict[tuple[tuple[Any, ...], str], Fields]
"""By the values of a line's columns, and where they are."""

Figure = Iterator[tuple[str, list[Lines]]]
"""Traces with their panels."""


def _lines(panel: Panel, series: Iterable[str], records: Records, *of: Any, **own: str) -> Lines:
    """A panel as the file has it but for what is its ``own``, of a trace and its workload."""
    said = {**panel, **own}
    behind = printed(said, records, *of)
    names = dict.fromkeys(record["series"] for record in behind)
    return Lines(
        said["title"], said.get("caption", ""), said["x"], said["y"], (*names, *series),
        [*behind, *records],
        said.get("logarithmic", False), said.get("doubles_x", False), "bars" in said,
    )  # fmt: skip


def _each_trace(rows: pl.DataFrame) -> Iterator[tuple[str, list[Any], pl.DataFrame]]:
    """Each trace with what it is of, itself and the workload that it stands for, and its rows."""
    for group in rows.partition_by("trace", maintain_order=True):
        named = [name for name in ("trace", "workload") if name in rows.columns]
        yield group["trace"][0], list(group.select(named).row(0)), group


def drawn(figure: Record, *parts: Any) -> Figure:
    """Draw a figure of ``report.toml``; what it says of ``panels`` holds for each of its panels."""
    drawing: Callable[..., Figure] = globals()[figure["draw"]]  # A function of this file.
    return drawing([{**figure.get("panels", {}), **panel} for panel in figure["panel"]], *parts)


def lines(panels: Sequence[Panel], *parts: pl.DataFrame | Measured) -> Figure:
    """Lines of rows, as the panels say: of all parts together, if none names its ``part``."""
    tables = [part.rows if isinstance(part, Measured) else part for part in parts]
    if "trace" not in tables[0].columns:
        tables[0] = tables[0].with_columns(trace=pl.lit(panels[0]["row"]))
    together = tables[0]
    if len(tables) > 1 and not any("part" in panel for panel in panels):
        columns = [it for it in together.columns if any(it in _columns(panel) for panel in panels)]
        together = pl.concat([it.select(columns) for it in tables], how="vertical_relaxed")
    for trace, of, of_trace in _each_trace(together):
        shown = []
        for panel in panels:
            rows = tables[panel["part"]].filter(trace=trace) if "part" in panel else of_trace
            shown.append(_lines(panel, *_records(panel, rows), *of))
        if any(panel.records for panel in shown):
            yield trace, shown


def _records(panel: Panel, rows: pl.DataFrame) -> tuple[list[str], Records]:
    """The names of a panel's lines, and their points."""
    shown = replaced(rows) if panel.get("replaced") else rows
    by = panel.get("by", ["policy"])
    chosen = shown.filter(**panel.get("where", {}))
    chosen = chosen.sort(panel.get("sorted", []), maintain_order=True)
    points: Points = {}
    for row in chosen.select(it for it in chosen.columns if it in _columns(panel)).to_dicts():
        size = byte_text(row.get("page_bytes") or row.get("bytes") or 0)
        at = panel["at"].format(**row, size=size)
        point = {"x": _value("x", panel, row), "y": _value("y", panel, row), "at": at}
        points.setdefault((tuple(row[name] for name in by), at), point)
    values = [value for value, _ in points]
    series = panel.get("series") or [str(it) for it, *_ in unique(values)[:MOST_LINES]]
    named = series if isinstance(series, Mapping) else {name: name for name in series}
    names = {tuple(it) if isinstance(it, list) else (it,): name for name, it in named.items()}
    records = [
        {"series": names[value], **point, "y": y}
        for (value, at), point in points.items()
        if value in names and (y := _shown(panel, points, value, at)) is not SKIPPED
    ]
    return _present(names.values(), records), records


def _columns(panel: Panel) -> set[str]:
    """The columns that a panel's lines are made of."""
    said = (panel.get(f"{axis}_{part}", []) for axis in "xy" for part in ("of", "over"))
    named = {name for it in said for name in ([it] if isinstance(it, str) else it)}
    named |= {"trace", "workload", "page_bytes", "bytes", *panel.get("by", ["policy"])}
    return {*named, *panel.get("where", {}), *re.findall(r"\{(\w+)", panel["at"])}


def _value(axis: str, panel: Panel, row: Record) -> float | None:
    """A point's place on an axis; none where a column of it has nothing."""
    of, over = panel[f"{axis}_of"], panel.get(f"{axis}_over")
    values = [row[name] for name in ([of] if isinstance(of, str) else of)]
    if None in values:
        return None
    value: float = math.prod(values, start=panel.get(f"{axis}_factor", 1))
    return value / row[over] if over else value


SKIPPED = object()
"""Stands for a point that is not drawn."""


def _shown(panel: Panel, points: Points, value: tuple[Any, ...], at: str) -> Any:
    """The height of a point, over that of the line that it is compared with."""
    y = points[value, at]["y"]
    if "over" in panel or "of" in panel:
        other = panel.get("over", panel.get("of"))
        key = (tuple(other) if isinstance(other, list) else (other,), at)
        others = points[key]["y"] if key in points else None
        above, below = (y, others) if "over" in panel else (others, y)
        y = above / below if below and above is not None else None
        if panel.get("skips_zero") and not (above and below):
            return SKIPPED
    # A logarithmic axis has no place for 0.
    return None if panel.get("logarithmic") and y is not None and y <= 0 else y


def _present(series: Iterable[str], records: Records) -> list[str]:
    present = {record["series"] for record in records}
    return [name for name in series if name in present]


def areas(panels: Sequence[Panel], gauges: pl.DataFrame, rows: pl.DataFrame) -> Figure:
    """The desired sizes of CRAW's areas, at page faults."""
    [panel] = panels
    for trace, of, _ in _each_trace(rows):
        of_trace = gauges.filter(trace=trace)
        _, records = _records(panel, of_trace)
        frames = of_trace["frames"].max()
        caption = f"{number_text(frames)} page frames." if frames is not None else "No page leaves."
        yield trace, [_lines(panel, panel["series"], records, *of[:1], caption=caption)]


def windows(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """The probability of a future reference by position in an LRU list."""
    [panel] = panels
    for trace, of, of_trace in _each_trace(rows):
        thinned = of_trace.gather_every(max(1, len(of_trace) // MOST_POINTS))
        known = thinned.filter(pl.col("future_reference_probability").is_not_null())
        names, records = _records(panel, known.with_columns(policy=pl.lit(panel["series"][0])))
        if records:
            window = of_trace["predicted_window"][0]
            title = f"Predicted window: {window:,} of {len(of_trace):,} pages"
            yield trace, [_lines(panel, names, records, *of, title=title)]


def kernel_bars(panels: Sequence[Panel], rows: pl.DataFrame) -> Figure:
    """What the paper's four kernels read and write in its memory, a bar for each of ``bars``.

    A bar says what a page that is read and one that is written add to it. With ``relative`` it is a
    share of plain Linux's.
    """
    for trace, of, of_trace in _each_trace(rows.filter(pl.col("frames") == PAPERS_FRAMES)):
        cells = {(row["policy"], row["read_ahead"]): row for row in of_trace.to_dicts()}
        shown = []
        for panel in panels:
            kernels = kernels_of(panel["ahead"], panel["without"])
            records = []
            for bar, (read, write) in panel["bars"].items():
                counts = {
                    name: read * cells[key]["read_ios"] + write * cells[key]["write_ios"]
                    for name, key in kernels.items()
                }
                whole = counts["plain"] if panel.get("relative") else 1
                records += [
                    {"series": bar, "x": x, "y": count / whole, "at": name}
                    for x, (name, count) in enumerate(counts.items())
                    if whole
                ]
            shown.append(_lines(panel, panel["bars"], records, *of))
        yield trace, shown
