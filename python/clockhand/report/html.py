"""The page that all reports share: its template, style and script."""

import functools
import json
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert

from clockhand.report.appearance import DARK, LIGHT
from clockhand.report.words import number_text
from clockhand.study.facts import synthetic_mark

KIT = Path(__file__).parent


def script_json(value: Any) -> str:
    """Return JSON that may stand inside a ``<script>`` element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


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
