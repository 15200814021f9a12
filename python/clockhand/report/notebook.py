"""A result in a notebook: its leading figure, and its rows in short."""

import base64
import html
from collections.abc import Mapping, Sequence

import polars as pl

from clockhand.report.canvas import Spec, picture
from clockhand.report.table import cells
from clockhand.study.drawing import what_is_missing
from clockhand.study.facts import base_names

MOST_ROWS = 20
"""Rows that are shown; all of them are in the table that the result has."""

STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
CELL = "padding:2px 10px 2px 0;text-align:{side};white-space:nowrap"


MOST_SENTENCES = 3


def shown(rows: pl.DataFrame, figures: Mapping[str, Spec], answer: Sequence[str] = ()) -> str:
    """Return sentences, the first figure and rows as HTML that needs no script and no network."""
    told = [f"<p>{html.escape(sentence)}</p>" for sentence in answer[:MOST_SENTENCES]]
    return "\n".join([*told, *_figure(figures), _table(rows)])


def _figure(figures: Mapping[str, Spec]) -> list[str]:
    if not figures:
        return []
    [key, *others] = figures
    missing = what_is_missing()
    if missing is not None:
        return [f"<p>{html.escape(missing)}</p>"]
    image = base64.b64encode(picture(figures[key], "svg")).decode()
    described = html.escape(str(figures[key].get("description", key)), quote=True)
    parts = [
        f'<img src="data:image/svg+xml;base64,{image}" alt="{described}" '
        'style="max-width:100%;background:white">'
    ]
    if others:
        named = ", ".join(f"<code>{html.escape(name)}</code>" for name in others)
        parts.append(
            f"<details><summary>{len(others)} more figures: <code>.chart(name)</code></summary>"
            f"{named}</details>"
        )
    return parts


def _table(rows: pl.DataFrame) -> str:
    """Return the first rows as a table, without columns that have no value."""
    height = rows.height
    rows = rows.select(column for column in rows if column.null_count() < height).head(MOST_ROWS)
    if "trace" in rows.columns:
        short = base_names(rows["trace"].unique())
        rows = rows.with_columns(pl.col("trace").replace_strict(short, return_dtype=pl.String))
    texts = [[html.escape(text) for text in cells(rows[name])[1]] for name in rows.columns]
    sides = ["right" if kind.is_numeric() else "left" for kind in rows.dtypes]

    def line(tag: str, words: list[str]) -> str:
        row = "".join(
            f'<{tag} style="{CELL.format(side=side)}">{word}</{tag}>'
            for side, word in zip(sides, words, strict=True)
        )
        return f"<tr>{row}</tr>"

    head = line("th", [html.escape(name) for name in rows.columns])
    body = "".join(line("td", [column[place] for column in texts]) for place in range(rows.height))
    note = f"<p>The first {rows.height} of {height:,} rows.</p>" if rows.height < height else ""
    return f'<table style="{STYLE}"><thead>{head}</thead><tbody>{body}</tbody></table>{note}'
