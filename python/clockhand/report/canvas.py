"""Canvases of charts with their sizes and type, and pictures as files."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clockhand.report.appearance import LIGHT, PAGE, Theme
from clockhand.study.drawing import converter

if TYPE_CHECKING:
    import altair as alt

Spec = dict[str, Any]
"""A figure, or a part of one, in Vega-Lite's own words."""

SCHEMA_VERSION = "6.4.1"
VEGA_LITE = "6.4"
"""The version that both the page and the pictures are drawn with; Altair's, as a test holds."""

# The names by which the script of the page reaches into a figure.
HIGHLIGHT = "highlight"
ROWS = "rows"
FADED_OPACITY = 0.12
PICTURE_WIDTH = 560
PICTURE_HEIGHT = 340
PICTURE_PPI = 192
NUMBERS = {
    "decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""], "percent": "\u00a0%",
}  # fmt: skip
"""The number format of figures: a space before the percent sign, as in the text."""

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"


@dataclass(frozen=True)
class Canvas:
    """The place of a chart: a picture of its own, or a figure of the page."""

    theme: Theme
    on_page: bool


def picture_files(folder: str | Path, figures: Mapping[str, Spec]) -> dict[Path, bytes]:
    """Return each figure, by its key, as the content of an SVG and of a PNG file in a folder."""
    files = {}
    for key, figure in figures.items():
        text = converter().vegalite_to_svg(figure, vl_version=VEGA_LITE)
        files[Path(folder) / f"{key}.svg"] = text.encode()
        files[Path(folder) / f"{key}.png"] = _png(text)
    return files


def picture(figure: Spec, suffix: str) -> bytes:
    """Return a figure as the content of an SVG, a PNG or a PDF file."""
    text: str = converter().vegalite_to_svg(figure, vl_version=VEGA_LITE)
    if suffix == "pdf":
        page: bytes = converter().svg_to_pdf(text)
        return page
    return text.encode() if suffix == "svg" else _png(text)


def compiled(figure: Spec) -> Spec:
    """Return a figure in Vega, which a page draws: a third less to carry and a fifth less to do."""
    made: Spec = converter().vegalite_to_vega(figure, vl_version=VEGA_LITE)
    return made


def still(figure: Spec, records: Sequence[Mapping[str, Any]], width: float) -> str:
    """Return a figure of the page as SVG text, as it looks before the page's script runs.

    Args:
        figure: The figure, which has no data of its own.
        records: The data of its part.
        width: Pixels that it has in a wide window.
    """
    known = [
        {name: value for name, value in record.items() if value is not None} for record in records
    ]
    data = {**figure["data"], "values": known}
    data.pop("name")
    made: str = converter().vegalite_to_svg(
        {**figure, "width": width, "data": data}, vl_version=VEGA_LITE
    )
    return made


def _png(svg: str) -> bytes:
    image: bytes = converter().svg_to_png(svg, ppi=PICTURE_PPI, scale=1)
    return image


def framed(
    layers: Sequence[Spec],
    records: Sequence[dict[str, Any]],
    canvas: Canvas,
    *,
    title: str,
    label: str,
    height: float,
    description: str | None = None,
) -> Spec:
    """Return layers as one figure: of the page, whose records it shares, or a picture with all.

    Args:
        layers: What is drawn, the lowest first.

        records: The values; the page has them once for all figures of a part.

        canvas: Where it is drawn.

        title: What stands above a picture; the page writes its own.

        label: What the values are of.

        height: Pixels of the area of the values.

        description: What a screen reader says; title and label if not given.
    """
    figure: Spec = {
        "$schema": f"https://vega.github.io/schema/vega-lite/v{SCHEMA_VERSION}.json",
        "config": _configuration(canvas.theme),
        "description": description or f"{title} on {label}.",
        "height": height,
        "layer": list(layers),
    }
    if canvas.on_page:
        figure |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
        # Values are numbers already: without this each figure would have its own copy of all.
        figure["data"] = {"name": ROWS, "format": {"parse": None}}
    else:
        figure |= {"width": PICTURE_WIDTH, "data": {"values": list(records)}}
        figure["title"] = {"text": title, "subtitle": label, "anchor": "start"}
        # Fonts of viewers are wider than the one that the picture is measured with.
        figure["padding"] = {"left": 20, "top": 6, "bottom": 6, "right": 20}
    return figure


@contextmanager
def unchecked() -> Iterator[None]:
    """Make charts without Altair's check of each part of them, which takes most of the time.

    :func:`as_chart` checks whole layers.
    """
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        yield


@unchecked()
def as_chart(figure: Spec) -> "alt.LayerChart":
    """Return a figure as a chart of Altair, whose layers are charts as well, so that all that
    Altair does to a chart can be done to it."""
    import altair as alt

    apart = ("$schema", "data", "layer")
    frame = {name: part for name, part in figure.items() if name not in apart}
    chart = alt.LayerChart.from_dict({**frame, "layer": []})
    # Records are no schema: Altair would look at each value of each.
    chart.data = alt.InlineData(values=figure["data"]["values"])
    chart.layer = [_as_layer(layer) for layer in figure["layer"]]
    return chart


def _as_layer(layer: Spec) -> "alt.Chart":
    import altair as alt

    # Without data, Altair takes a layer for a part of a schema, not for a chart.
    chart = alt.Chart.from_dict({"data": {"values": []}, **layer})
    if "data" not in layer:
        chart.data = alt.Undefined
    return chart


def as_spec(figure: "alt.LayerChart", canvas: Canvas, records: Sequence[dict[str, Any]]) -> Spec:
    """Return a chart of Altair without data as a figure, in the colours and the type of the page:
    of the page, whose records it shares, or a picture with all."""
    import altair as alt

    # Without any, Altair would give each layer data of its own, which is empty.
    figure = figure.properties(data=alt.NamedData(name=ROWS))
    data = {"name": ROWS} if canvas.on_page else {"values": list(records)}
    theme = _configuration(canvas.theme)
    return {**figure.to_dict(validate=False), "data": data, "config": theme}


def as_layers(figure: "alt.LayerChart") -> list[Spec]:
    """Return the layers of a chart of Altair whose data the figure around them has."""
    layers = figure.to_dict(validate=False)["layer"]
    return [{name: part for name, part in layer.items() if name != "data"} for layer in layers]


def _configuration(theme: Theme) -> Spec:
    """Return the colours and the type of all figures."""
    return {
        "background": theme.background,
        "font": FONT,
        "locale": {"number": NUMBERS},
        "padding": 6,
        "view": {"stroke": None},
        "axis": {
            "domainColor": theme.muted,
            "gridColor": theme.grid,
            "labelColor": theme.muted,
            "labelFontSize": 11,
            "tickColor": theme.muted,
            "titleColor": theme.ink,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
        "legend": {"labelColor": theme.ink, "labelFontSize": 12, "titleColor": theme.ink},
        "title": {
            "color": theme.ink,
            "fontSize": 15,
            "subtitleColor": theme.muted,
            "subtitleFontSize": 12,
            "offset": 12,
        },
    }


CANVAS = Canvas(PAGE, on_page=True)
PICTURE = Canvas(LIGHT, on_page=False)
