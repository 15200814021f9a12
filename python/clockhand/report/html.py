"""The page that all reports share: its template, style and script."""

import functools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert

from clockhand.report.appearance import DARK, LIGHT, Mark
from clockhand.report.canvas import ROWS
from clockhand.report.words import number_text
from clockhand.study.facts import synthetic_mark

KIT = Path(__file__).parent


def script_json(value: Any) -> str:
    """Return JSON that is safe inside a ``<script>`` element, whatever texts it contains."""
    return escaped_json(
        json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    )


def escaped_json(text: str) -> str:
    """Return the same JSON, made safe inside a ``<script>`` element."""
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@dataclass(frozen=True)
class Figure:
    """One figure of a page.

    Attributes:
        identity: Its name on the page, which no other figure has.
        title: What stands above it.
        caption: What it shows, in a sentence.
        specification: The chart; none where there is nothing to draw.
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
    series: Sequence[tuple[str, str, tuple[int, ...]]] = ()

    @property
    def is_drawn(self) -> bool:
        """Whether there is a chart."""
        return self.specification is not None


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
    """

    slug: str
    title: str
    text: str
    rows: Sequence[tuple[str, Sequence[Figure]]]
    records: Sequence[dict[str, Any]]
    looks: Sequence[Mark] = ()

    @property
    def figures(self) -> list[Figure]:
        """All figures, row by row."""
        return [figure for _, figures in self.rows for figure in figures]


def payload(parts: Iterable[Part]) -> str:
    """Return the data and charts of all parts as the script of the page reads them."""
    return script_json(
        [
            {
                ROWS: part.records,
                "figures": [
                    {"identity": figure.identity, "specification": figure.specification}
                    for figure in part.figures
                    if figure.is_drawn
                ],
            }
            for part in parts
        ]
    )


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
    environment.filters["synthetic_mark"] = synthetic_mark
    everywhere: dict[str, Any] = {
        "light": LIGHT,
        "dark": DARK,
        "style": _resource("page.css"),
        "script": _resource("page.js"),
        "library": _library(),
    }
    return environment.get_template(page.name, globals=everywhere)


def _resource(name: str) -> str:
    return (KIT / name).read_text(encoding="utf-8")


@functools.cache
def _library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which a report holds once."""
    bundle: str = vl_convert.javascript_bundle(
        snippet="window.vegaEmbed = vegaEmbed;", vl_version=alt.SCHEMA_VERSION.rsplit(".", 1)[0]
    )
    if "</script" in bundle.lower():
        raise RuntimeError("the Vega bundle closes its own script element: pin vl-convert-python")
    return bundle
