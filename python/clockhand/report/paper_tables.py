"""Tables for a paper: LaTeX with booktabs and siunitx, and Markdown."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clockhand.report.words import UNKNOWN, decimals_of
from clockhand.study.calls import in_python
from clockhand.study.errors import UsageError
from clockhand.study.facts import printable, provenance
from clockhand.study.records import Record

if TYPE_CHECKING:
    import polars as pl

PREAMBLE = r"\usepackage{booktabs,siunitx}"
"""The packages that a document with these tables needs."""

UNITS = {
    "%": r"\percent",
    "s": r"\second",
    "ms": r"\milli\second",
    "µs": r"\micro\second",
    "ns": r"\nano\second",
    "J": r"\joule",
}
"""The units at the end of headings, in siunitx's words."""

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    # A bracket at the beginning of a line would be an option of the line before.
    "[": "{[}",
    "]": "{]}",
    "\n": " ",
    "\u00a0": "~",
    "…": r"\dots{}",
    "±": r"$\pm$",
    "\u00d7": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "∞": r"$\infty$",
    "µ": r"$\mu$",
    "►": r"$\triangleright$",
}
"""Characters that mean something else to LaTeX, or that its usual fonts lack."""

MARKDOWN = "\\`*_[]<>|#~$"
"""Characters that mean something to Markdown, on one page or the other."""


@dataclass(frozen=True)
class PaperTable:
    """A table with its values as they are, not as they are printed.

    Attributes:
        title: What stands above it.
        slug: The name of its file without the ending, and of its label.
        content: The values: whole numbers, numbers, texts, answers, or nothing.
    """

    title: str
    slug: str
    content: "pl.DataFrame"

    def decimals(self) -> dict[str, int]:
        """Return the decimals of each column that holds numbers."""
        return {
            name: decimals_of(self.content[name].to_list())
            for name, kind in self.content.schema.items()
            if kind.is_numeric()
        }


def latex(table: PaperTable, origin: Sequence[str] = ()) -> str:
    """Return a table for LaTeX, with comments that say how it was made.

    Numbers are as they are for siunitx, which aligns and groups them.
    """
    decimals, names = table.decimals(), table.content.columns
    kinds = [
        _alignment(table.content[name].to_list(), decimals[name]) if name in decimals else "l"
        for name in names
    ]
    heads = [_heading(name, name in decimals) for name in names]
    lines = [
        [
            _number(value, decimals[name]) if name in decimals else latex_text(_text(value))
            for name, value in zip(names, row, strict=True)
        ]
        for row in table.content.iter_rows()
    ]
    return "\n".join(
        [
            *(f"% {printable(line)}" for line in (*origin, f"preamble: {PREAMBLE}")),
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_text(table.title)}}}",
            rf"\label{{tab:{table.slug}}}",
            rf"\begin{{tabular}}{{{' '.join(kinds)}}}",
            r"\toprule",
            " & ".join(heads) + r" \\",
            r"\midrule",
            *(" & ".join(line) + r" \\" for line in lines),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def latex_text(text: str) -> str:
    """Return any text as LaTeX prints it."""
    escaped = "".join(LATEX.get(character, character) for character in printable_line(text))
    # Two hyphens would become a dash. A dash of ours is one.
    return re.sub("-(?=-)", "-{}", escaped).replace("–", "--")


def printable_line(text: str) -> str:
    """Return a text on one line."""
    return printable(" ".join(text.split("\n")))


def _heading(name: str, is_numeric: bool) -> str:
    """Return a heading, its unit as one; braces keep siunitx from reading it as a number."""
    words, _, last = printable_line(name).rpartition(" ")
    # Behind a number it is a size, of memory for one.
    unit = UNITS.get(last) if re.search(r"[^\W\d]\w*$", words) else None
    text = latex_text(name) if unit is None else rf"{latex_text(words)} (\unit{{{unit}}})"
    return f"{{{text}}}" if is_numeric else text


def _alignment(values: Sequence[Any], decimals: int) -> str:
    """Return siunitx's column for numbers: as many digits as the longest has."""
    known = [value for value in values if _is_finite(value)]
    whole = max((len(f"{abs(value):.0f}") for value in known), default=1)
    sign = "-" if any(value < 0 for value in known) else ""
    after = f".{decimals}" if any(isinstance(value, float) for value in known) else ""
    return f"S[table-format={sign}{whole}{after}]"


def _number(value: Any, decimals: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "{--}"
    if isinstance(value, float) and math.isinf(value):
        return r"{$\infty$}" if value > 0 else r"{$-\infty$}"
    return f"{value:.{decimals}f}" if isinstance(value, float) else str(value)


def markdown(table: PaperTable, origin: Sequence[str] = ()) -> str:
    """Return a table for Markdown, with a comment that says how it was made."""
    decimals, names = table.decimals(), table.content.columns
    sides = ["---:" if name in decimals else "---" for name in names]
    lines = [
        [
            _grouped(value, decimals[name]) if name in decimals else markdown_text(_text(value))
            for name, value in zip(names, row, strict=True)
        ]
        for row in table.content.iter_rows()
    ]
    comment = [printable(line).replace("-->", "-- >") for line in origin]
    return "\n".join(
        [
            *(["<!--", *comment, "-->", ""] if comment else []),
            f"**{markdown_text(table.title)}**",
            "",
            *(f"| {' | '.join(cells)} |" for cells in (map(markdown_text, names), sides, *lines)),
            "",
        ]
    )


def markdown_text(text: str) -> str:
    """Return any text as Markdown shows it."""
    return "".join(
        f"\\{character}" if character in MARKDOWN else character
        for character in printable_line(text)
    )


def _grouped(value: Any, decimals: int) -> str:
    if not _is_finite(value):
        return UNKNOWN if value is None or math.isnan(value) else "∞" if value > 0 else "-∞"
    return f"{value:,.{decimals}f}" if isinstance(value, float) else f"{value:,}"


def _is_finite(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return UNKNOWN if value is None else str(value)


def csv(table: PaperTable, origin: Sequence[str]) -> str:
    """Return a table as CSV after comments that say how it was made.

    Read it with ``polars.read_csv(path, comment_prefix="#")``.
    """
    return "".join(f"# {printable(line)}\n" for line in origin) + table.content.write_csv()


FORMS: Mapping[str, tuple[str, Callable[[PaperTable, Sequence[str]], str]]] = {
    "latex": ("tex", latex),
    "markdown": ("md", markdown),
    "csv": ("csv", csv),
}
"""How tables are written: the ending of files, and what writes them."""


def table_files(
    folder: Path, tables: Iterable[PaperTable], facts: Record, form: str = "csv"
) -> dict[Path, bytes]:
    """Return a file per table in ``folder``, which says how it was made."""
    ending, write = FORMS[form]
    return {
        folder / f"{table.slug}.{ending}": write(table, provenance(table.title, facts)).encode()
        for table in tables
    }


@in_python()
def paper_table(rows: "pl.DataFrame", form: str, *, title: str, slug: str = "table") -> str:
    """Return any rows as a table for a paper.

    Args:
        rows: A table of polars, such as ``result.rows`` with the columns that are wanted.
        form: ``"latex"`` (with booktabs and siunitx) or ``"markdown"``.
        title: What stands above it.
        slug: The name of its label in LaTeX.

    Raises:
        UsageError: there is no such form.
    """
    forms = [name for name in FORMS if name != "csv"]
    if form not in forms:
        raise UsageError(f"the form {form!r} is unknown", f"give {' or '.join(forms)}")
    return FORMS[form][1](PaperTable(title, slug, rows), [])
