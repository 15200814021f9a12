"""Tables for people: what fits a terminal, and how numbers are written."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clockhand.command.saying import console
from clockhand.report.words import decimals_of
from clockhand.study.facts import printable
from clockhand.study.policies import called

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

UNKNOWN = "–"
"""What is printed for an unknown value."""


NEVER_FOLDED = 20
"""Characters of a table's cell that stay on one line, however narrow the terminal is."""


COLUMN_GAP = 3
"""Characters between two columns of a table."""


_shows_all = False


def show_all_columns(shows_all: bool) -> None:
    """Print every column of tables from now on, however narrow the terminal is; or do not."""
    global _shows_all
    _shows_all = shows_all


Columns = Mapping[str, Sequence[object]]
"""The values of columns of one length, by their names."""


def print_table(title: str, rows: "pl.DataFrame | Columns", into: "Console | None" = None) -> None:
    """Print rows as a table; numbers are right-aligned, and nothing is cut.

    On a narrow terminal columns are left out, with a word, unless all were asked for.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from clockhand.command.keeping import TableKeeper

    if isinstance(rows, Mapping):
        columns = rows
        numeric = {name for name, values in columns.items() if any(map(_is_number, values))}
    else:
        columns = rows.to_dict(as_series=False)
        numeric = {name for name, kind in rows.schema.items() if kind.is_numeric()}
    if POLICY in columns:
        names = called([text for text in columns[POLICY] if isinstance(text, str)])
        columns = {**columns, POLICY: [names.get(str(text), text) for text in columns[POLICY]]}
    if isinstance(into, TableKeeper):
        into.keep(title, columns)
        return
    to = into or console()
    shown = {name: _column(values) for name, values in columns.items()}
    fitting = shown if _shows_all or not to.is_terminal else _fitting(shown, to.width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, texts in fitting.items():
        table.add_column(
            name,
            justify="right" if name in numeric else "left",
            min_width=_least_width(name, texts),
            overflow="fold",
        )
    for row in zip(*fitting.values(), strict=True):
        table.add_row(*(Text(text) for text in row))
    to.print(Text(printable(title)), soft_wrap=True)
    to.print(table, width=max(to.width, _width(fitting)), crop=False)
    left_out = {name: texts for name, texts in shown.items() if name not in fitting}
    if left_out:
        to.print(Text(f"left out to fit: {_named(left_out)}; --wide shows all"), soft_wrap=True)


POLICY = "policy"
"""The column of policies, where one's own are called by their class."""


LEAST_COLUMNS = 2
"""The first columns, which name what a row is of, are never left out."""


def _fitting(shown: Mapping[str, list[str]], room: int) -> dict[str, list[str]]:
    """Return the columns that fit: those that are the same in all rows go first, then the last."""
    fitting = dict(shown)
    dispensable = list(shown)[: LEAST_COLUMNS - 1 : -1]
    for name in sorted(dispensable, key=lambda name: not _is_same(shown[name])):
        if _width_unfolded(fitting) <= room:
            break
        del fitting[name]
    return fitting


def _is_same(texts: Sequence[str]) -> bool:
    return len(texts) > 1 and len(set(texts)) == 1


def _least_width(name: str, texts: Sequence[str]) -> int:
    return min(max(map(len, [*name.split(), *texts])), NEVER_FOLDED)


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    return sum(_least_width(name, texts) + COLUMN_GAP for name, texts in columns.items())


def _width_unfolded(columns: Mapping[str, Sequence[str]]) -> int:
    """Return the width with headings in one line each, which a terminal does not fold evenly."""
    widths = (min(max(map(len, [name, *texts])), NEVER_FOLDED) for name, texts in columns.items())
    return sum(width + COLUMN_GAP for width in widths)


def _named(columns: Mapping[str, Sequence[str]]) -> str:
    """Name columns, with their value if all rows have the same."""
    return ", ".join(
        f"{name} {texts[0]}" if _is_same(texts) else name for name, texts in columns.items()
    )


def share_in_words(share: float | None) -> str | None:
    """Return a share of the footprint as a percentage; above all of it, everything fits."""
    if share is None:
        return None
    return "fits" if share > 1 else f"{round(100 * share, 1)} %"


def share_text(column: str) -> "pl.Expr":
    """Return shares of the footprint as percentages; above all of it, everything fits."""
    import polars as pl

    share = (pl.col(column) * 100).round(1).cast(pl.String).add(" %")
    return pl.when(pl.col(column) > 1).then(pl.lit("fits")).otherwise(share)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _column(values: Sequence[object]) -> list[str]:
    """Return the texts of a column: its numbers have as many decimals each, so that they align."""
    places = decimals_of(values)
    return [_shown(value, places) for value in values]


def _shown(value: object, places: int) -> str:
    match value:
        case None:
            return UNKNOWN
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.{places}f}"
        case _:
            return printable(str(value))
