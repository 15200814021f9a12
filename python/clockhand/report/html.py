"""The page that all reports share: its template, style and script."""

import base64
import functools
import gzip
import hashlib
import importlib.metadata
import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from clockhand.report.appearance import DARK, LIGHT, Mark
from clockhand.report.canvas import HIGHLIGHT, ROWS, VEGA_LITE, compiled, still
from clockhand.report.overview import Overview
from clockhand.report.scales import ratio_text
from clockhand.report.singles import Singles
from clockhand.report.spread import RANGE_HEIGHT, RANGE_WIDTH
from clockhand.report.table import Table
from clockhand.report.words import LARGEST_TITLE, number_text, reads_text, unique
from clockhand.study.drawing import converter
from clockhand.study.facts import printable, synthetic_mark
from clockhand.study.files import cache_folder, publish
from clockhand.study.ownership import is_own, take_from_others
from clockhand.study.records import Record

KIT = Path(__file__).parent
SCRIPTS = ("saving.js", "figures.js", "tables.js", "page.js")
"""The parts of the page's script, which is one function."""

AXIS_HEIGHT = 66
"""Pixels that a figure takes below and above the area of its values."""

CAPTION_HEIGHT = 100
"""Pixels of its title and caption, and of the gap below it."""

SCREEN = 900
"""Pixels of a screen, about."""

PAGE_WIDTH = 1200
"""Pixels of a figure across the page in a wide window."""

PANEL_GAP = 22
"""Pixels between figures that stand side by side."""

MOST_SCREENS = 5
"""Screens of a long page before what is about single inputs is folded."""

MOST_SENTENCES = 3
"""Sentences that stand above the first figure; the others are folded."""

MOST_ROWS_OPEN = 12
"""Rows of a second ranking that stand open above the figures; a longer one is folded."""

MOST_COLUMNS_ON_PAPER = 40
"""Columns of a table of all rows that can be printed and read."""

MOST_NOTES = 10
"""Notes on a trace that stand open; a capture of files has one for each process."""


def escaped_json(text: str) -> str:
    """Return the same JSON, made safe inside a ``<script>`` element."""
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


SeriesLook = tuple[str, str, tuple[int, ...]]
"""The look of a line of one figure: name, colour and dash; pieces of bars have no dash."""


@dataclass(frozen=True)
class Figure:
    """One figure of a page.

    Attributes:
        identity: Its name on the page, which no other figure has.

        title: What stands above it.

        caption: What it shows, in a sentence.

        specification: The figure; none where there is nothing to draw.

        number: Its place among the figures that are counted.

        missing: Why there is nothing to draw.

        series: The looks of its lines, for a legend: name, colour and dash.
    """

    identity: str
    title: str
    caption: str
    specification: dict[str, Any] | None
    number: int | None = None
    missing: str | None = None
    series: Sequence[SeriesLook] = ()

    @property
    def is_drawn(self) -> bool:
        """True with a chart."""
        return self.specification is not None

    @property
    def height(self) -> int:
        """The pixels that the page keeps free for it, so that nothing moves when it is drawn."""
        height = (self.specification or {}).get("height")
        return AXIS_HEIGHT + int(height) if isinstance(height, int | float) else 0


@dataclass(frozen=True)
class Part:
    """One heading of a page, and its figures, which share records.

    Attributes:
        slug: Its name on the page.

        title: The heading.

        text: What stands below it.

        rows: Labels with the figures that stand beside each other; one row has no label.

        records: The data of all charts.

        looks: How what the figures compare looks, where a legend stands above them.

        focus: Which of them some figure emphasises at first; all if none is named.

        word: What one of them is, such as a policy.

        overviews: Rankings with heat maps, which stand above the figures.

        singles: The table of all measures at one size, in place of figures of them.

        bound_dash: The dash of the lower bound, where the legend has one.

        is_of_input: Whether it is all of an input, and no more about one.
        finding: What it shows, in sentences, where several stand on a page.
    """

    slug: str
    title: str
    text: str
    rows: Sequence[tuple[str, Sequence[Figure]]]
    records: Sequence[dict[str, Any]]
    looks: Sequence[Mark] = ()
    focus: Sequence[str] = ()
    word: str = "series"
    overviews: Sequence[Overview] = ()
    singles: Singles | None = None
    bound_dash: Sequence[int] = ()
    is_of_input: bool = True
    finding: str = ""

    @property
    def plural(self) -> str:
        """What several of them are."""
        return f"{self.word[:-1]}ies" if self.word.endswith("y") else f"{self.word}s"

    @property
    def emphasised(self) -> list[Mark]:
        """The looks of what is emphasised at first."""
        return [look for look in self.looks if not self.focus or look.policy in self.focus]

    @property
    def others(self) -> list[Mark]:
        """The looks of what is grey at first."""
        return [look for look in self.looks if self.focus and look.policy not in self.focus]

    @property
    def figures(self) -> list[Figure]:
        """All figures, row by row."""
        return [figure for _, figures in self.rows for figure in figures]

    @property
    def height(self) -> int:
        """About the pixels that it takes where figures stand in two columns, below the first."""
        figures = [CAPTION_HEIGHT + figure.height for figure in self.figures if figure.is_drawn]
        beside = sum(figures[1:]) // 2
        tables: list[Overview | Singles] = [*self.overviews]
        if self.singles is not None:
            tables.append(self.singles)
        return sum(figures[:1]) + beside + sum(table.height for table in tables)


def open_parts(parts: Sequence[Part], leading: Sequence[Overview] = ()) -> int:
    """Return how many parts stand open: all of a short page, else what the first screens hold.

    Args:
        parts: The parts, in the order of the page.
        leading: What stands above them.
    """
    room = MOST_SCREENS * SCREEN - sum(overview.height for overview in leading)
    heights = list(itertools.accumulate(part.height for part in parts))
    return len(parts) if len(parts) == 1 else sum(height <= room for height in heights)


def stills(parts: Sequence[Part], abreast: int = 1) -> dict[str, str]:
    """Return the first figures as SVG text, by their names: a reader sees them before any script
    runs, and also where none may.

    Nothing is returned where a ranking stands first, which is drawn without a script.

    Args:
        parts: The parts, in the order of the page.
        abreast: How many figures of a row stand side by side.
    """
    part = next((part for part in parts if any(figure.is_drawn for figure in part.figures)), None)
    if part is None or part.overviews:
        return {}
    width = (PAGE_WIDTH - PANEL_GAP * (abreast - 1)) // abreast
    first = [figure for figure in part.rows[0][1][:abreast] if figure.specification is not None]
    return {
        figure.identity: still(figure.specification, part.records, width)
        for figure in first
        if figure.specification is not None
    }


def focus_of(figures: Iterable[Figure], focus: Sequence[str]) -> list[str]:
    """Return what some figure emphasises at first, besides what a part does."""
    params = [
        param
        for figure in figures
        for param in (figure.specification or {}).get("params", ())
        if param["name"] == HIGHLIGHT
    ]
    return unique([*focus, *(name for param in params for name in param["value"])])


def payload(parts: Iterable[Part], tables: Mapping[str, Table] | None = None) -> str:
    """Return what the script of the page reads: gzipped JSON, as text.

    Full stops divide the parts, each unpacked when one of its figures is drawn, and behind them the
    rows of tables.

    Args:
        parts: The parts, in the order of the page.

        tables: Tables by the name of their heading; only rows that the page itself lacks are in it.
    """
    drawn: list[dict[str, Any]] = [
        {
            ROWS: _columns(part.records),
            "figures": [
                {"identity": figure.identity, "specification": compiled(figure.specification)}
                for figure in part.figures
                if figure.specification is not None
            ],
        }
        for part in parts
    ]
    more = {
        name: list(zip(*table.more_rows, strict=True))
        for name, table in (tables or {}).items()
        if table.more_rows
    }
    return ".".join(_packed(value) for value in (*drawn, more))


def _packed(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _columns(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return records column by column, which is packed far better than row by row.

    Missing values are null; numbers have as many digits as a figure can show.
    """
    return {
        name: [_rounded(record.get(name)) for record in records]
        for name in unique(name for record in records for name in record)
    }


def _rounded(value: Any) -> Any:
    return float(f"{value:.7g}") if isinstance(value, float) else value


def template(page: Path) -> jinja2.Template:
    """Return a page's template; what every page needs (style, script, colours) is bound to it.

    Args:
        page: The template's file; what it extends stands beside it or in the kit.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([page.parent, KIT]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number_text
    environment.filters["ratio"] = ratio_text
    environment.filters["reads"] = reads_text
    environment.filters["synthetic_mark"] = synthetic_mark
    everywhere: dict[str, Any] = {
        "light": LIGHT,
        "dark": DARK,
        "style": _resource("page.css"),
        "script": f'"use strict";\n(() => {{\n{"".join(map(_resource, SCRIPTS))}}})();',
        "library": _library,
        "largest_title": LARGEST_TITLE,
        "most_notes": MOST_NOTES,
        "most_columns_on_paper": MOST_COLUMNS_ON_PAPER,
        "most_rows_open": MOST_ROWS_OPEN,
        "open_parts": open_parts,
        "stills": stills,
        "most_sentences": MOST_SENTENCES,
        "range_width": RANGE_WIDTH,
        "range_height": RANGE_HEIGHT,
    }
    return environment.get_template(page.name, globals=everywhere)


def study_page(
    *,
    overline: str,
    title: str,
    sentences: Sequence[str],
    parts: Sequence[Part],
    leading: Sequence[Overview],
    facts: Record | None,
    table: Table,
) -> str:
    """Return the page that the reports of most studies are, as HTML text.

    Args:
        overline: What it is about, above the title.
        title: What stands out.
        sentences: What the rows say.
        parts: A part for each input.
        leading: What stands above the parts.
        facts: How the rows were made.
        table: The rows.
    """
    return template(KIT / "study.html.j2").render(
        overline=overline,
        title=title,
        sentences=sentences,
        parts=parts,
        leading=leading,
        facts=printable(facts),
        table=table,
        payload=payload(parts, {"rows-heading": table}),
    )


def _resource(name: str) -> str:
    return (KIT / name).read_text(encoding="utf-8")


SNIPPET = """import { parse, View } from "/npm/vega@{version}/+esm.js";
window.vega = { parse, View };"""
"""The parts of Vega that a page needs, by the converter's names for its libraries."""


@functools.cache
def _library() -> str:
    """Return Vega as one script, which a report holds once; figures are compiled for it before.

    Putting it together takes longer than all else of a report, so that it is kept in the user's
    cache folder, named after what it is made of.
    """
    made_of = f"{importlib.metadata.version('vl-convert-python')} {VEGA_LITE} {SNIPPET}"
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    kept = cache_folder() / f"vega-{digest}.js"
    with suppress(OSError, UnicodeDecodeError), open(kept, encoding="utf-8") as file:
        # A file that others could write might run their script in a reader's browser.
        text = file.read() if is_own(os.fstat(file.fileno())) else ""
        if text.endswith(_mark(text)):
            return text
    snippet = SNIPPET.replace("{version}", converter().get_vega_version())
    bundle: str = converter().javascript_bundle(snippet=snippet, vl_version=VEGA_LITE)
    if "</script" in bundle.lower():
        raise RuntimeError("the Vega bundle closes its own script element: pin vl-convert-python")
    bundle += _mark(bundle)
    with suppress(OSError):  # A report needs no cache.
        kept.parent.mkdir(parents=True, exist_ok=True)
        publish({kept: bundle.encode()})
        take_from_others(kept)
    return bundle


def _mark(bundle: str) -> str:
    """Return the last line of a kept bundle: the digest of what stands before it."""
    content = bundle.rpartition("\n// SHA-256 ")[0] or bundle
    return f"\n// SHA-256 {hashlib.sha256(content.encode()).hexdigest()}"
