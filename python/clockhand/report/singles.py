"""Every measure at a single size in one table, with bars in its cells: a figure each would be the
same bars several times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clockhand.report.appearance import is_muted
from clockhand.report.bars import bar_edge, best_first, number_decimals
from clockhand.report.compared import Compared
from clockhand.report.overview import HEAD_HEIGHT, ROW_HEIGHT
from clockhand.report.scales import Kind, Measure, ratio_text
from clockhand.report.words import UNKNOWN, percent, same_unit, size_text

LOWER_BOUND = "lower bound"

Measured = tuple[Compared, Measure]
"""A measure, and what is compared by it."""


@dataclass(frozen=True)
class Amount:
    """One number of the table.

    Attributes:
        text: It in words.
        share: The length of its bar, in percent of the longest of the column.
        is_cut: Whether the bar is longer than that.
        is_best: Whether no other of its column is better.
    """

    text: str
    share: float = 0
    is_cut: bool = False
    is_best: bool = False


@dataclass(frozen=True)
class SingleRow:
    """One series; ``is_reference`` for a bound, and for what knows the future."""

    name: str
    color: str
    amounts: Sequence[Amount]
    is_reference: bool = False


@dataclass(frozen=True)
class Singles:
    """The table.

    Attributes:
        key: Its name on the page.
        caption: How it is read.
        word: What a row is.
        columns: The title of each measure.
        rows: The rows, the best by the first measure first.
    """

    key: str
    caption: str
    word: str
    columns: Sequence[str]
    rows: Sequence[SingleRow]

    @property
    def height(self) -> int:
        """About the pixels that it takes on a page."""
        return HEAD_HEIGHT + ROW_HEIGHT * len(self.rows)


def is_single(compared: Compared) -> bool:
    """Tell whether there is one size alone."""
    return len(compared.sizes.sizes) == 1


def singles(measured: Sequence[Measured]) -> Singles:
    """Return the table of measures at one size.

    Args:
        measured: Each measure; the first one ranks.
    """
    compared, first = measured[0]
    ranked = list(compared.records)
    if compared.has_bound(first):
        ranked += [{**bound, "policy": compared.bound} for bound in compared.bounds]
    elsewhere = [record for other, _ in measured for record in other.records]
    order = best_first([*ranked, *elsewhere], first.field, most_first=first.most_is_best)
    columns = [_column(*one, order, is_repeated=_repeats(measured[0], one)) for one in measured]
    colors = {look.policy: look.color for other, _ in measured for look in other.looks}
    rows = [
        SingleRow(
            LOWER_BOUND if name == compared.bound else name,
            colors.get(name, ""),
            [column[place] for column in columns],
            is_reference=name == compared.bound or is_muted(name),
        )
        for place, name in enumerate(order)
    ]
    at = compared.sizes.sizes[0]
    size = percent(at) if compared.sizes.field == "share" else f"{at:,.6g}"
    if compared.sizes.field.endswith("_mib"):
        size = size_text(at * (1 << 20))
    caption = f"{compared.sizes.title}: {size}."
    if len(rows) > 1:
        caption += " Bars begin at 0, and each column has a scale of its own; the best is bold."
    if any(amount.is_cut for row in rows for amount in row.amounts):
        caption += " A bar with ► is longer than is shown."
    titles = [measure.title for _, measure in measured]
    return Singles("all-measures", caption, compared.word, titles, rows)


def _repeats(first: Measured, other: Measured) -> bool:
    """Tell whether the bars of a measure would be those of the first once more: a ratio to one."""
    (compared, measure), (others, ratio) = first, other
    if ratio.kind is not Kind.RATIO or first == other:
        return False
    known = {record["policy"]: record.get(measure.field) for record in compared.records}
    factors = [
        record[ratio.field] / known[record["policy"]]
        for record in others.records
        if record.get(ratio.field) and known.get(record["policy"])
    ]
    return bool(factors) and max(factors) <= (1 + 1e-6) * min(factors)


def _column(
    compared: Compared, measure: Measure, order: Sequence[str], *, is_repeated: bool
) -> list[Amount]:
    """Return the numbers of one measure, in the order of the rows; bars only if they say more."""
    values: dict[str, float] = {}
    errors: dict[str, float] = {}
    for record in compared.records:
        if record.get(measure.field) is not None:
            values.setdefault(record["policy"], record[measure.field])
            high = record.get(f"{measure.field}_high")
            if high is not None:
                errors.setdefault(record["policy"], high - record[measure.field])
    edge = 0.0 if is_repeated or len(order) == 1 else bar_edge(compared, measure)
    can_run = [value for name, value in values.items() if not is_muted(name)]
    best = (max if measure.most_is_best else min)(can_run, default=None)
    # What most have in common is no distinction.
    is_common = 2 * sum(value == best for value in values.values()) > len(values)
    texts = _texts(compared, measure)
    if compared.has_bound(measure):
        bounds = (bound.get(measure.field) for bound in compared.bounds)
        values[compared.bound] = next(value for value in bounds if value is not None)
    return [
        Amount(
            texts(values[name]) + (f" ± {texts(errors[name])}" if name in errors else ""),
            round(100 * min(values[name], edge) / edge, 1) if edge > 0 else 0,
            0 < 1.0001 * edge < values[name],
            values[name] == best and not is_common and not is_muted(name),
        )
        if name in values
        else Amount(UNKNOWN)
        for name in order
    ]


def _texts(compared: Compared, measure: Measure) -> Callable[[float], str]:
    """Return what writes the numbers of a column: all have the same decimals."""
    decimals = number_decimals(compared, measure)
    match measure.kind:
        case Kind.COUNT:
            return lambda value: f"{value:,.0f}"
        case Kind.SHARE:
            return lambda value: f"{100 * value:.{decimals}f}\u00a0%"
        case Kind.RATIO:
            return ratio_text
        case Kind.TIME:
            return same_unit(compared.known(measure.field))
        case _:
            return lambda value: f"{value:,.{decimals}f}"
