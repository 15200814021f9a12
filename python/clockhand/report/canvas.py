"""Where charts are drawn, their sizes and their type, and how a picture becomes a file."""

import io
from dataclasses import dataclass

import altair as alt

from clockhand.report.appearance import LIGHT, PAGE, Theme

# The names by which the script of the page reaches into a figure.
HIGHLIGHT = "highlight"
ROWS = "rows"
FADED_OPACITY = 0.12
# A value axis that spans more than this factor is unreadable on a linear scale.
LOGARITHMIC_SPAN = 50
PICTURE_WIDTH = 560
PICTURE_HEIGHT = 340
PICTURE_PPI = 192
FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"


@dataclass(frozen=True)
class Canvas:
    """Where a chart is drawn: as a picture of its own, or as a figure of the page."""

    theme: Theme
    on_page: bool


PICTURE = Canvas(LIGHT, on_page=False)


def picture(figure: alt.LayerChart, suffix: str) -> bytes:
    """Return a chart as the content of an SVG or a PNG file."""
    if suffix == "svg":
        text = io.StringIO()
        figure.save(text, format="svg")
        return text.getvalue().encode()
    image = io.BytesIO()
    figure.save(image, format="png", ppi=PICTURE_PPI)
    return image.getvalue()


def themed(figure: alt.LayerChart, theme: Theme) -> alt.LayerChart:
    """Return a chart in the colours and the type of the page."""
    themed: alt.LayerChart = (
        figure.configure(background=theme.background, font=FONT, padding=6)
        .configure_view(stroke=None)
        .configure_axis(
            domainColor=theme.muted,
            gridColor=theme.grid,
            labelColor=theme.muted,
            labelFontSize=11,
            tickColor=theme.muted,
            titleColor=theme.ink,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_legend(labelColor=theme.ink, labelFontSize=12, titleColor=theme.ink)
        .configure_title(
            color=theme.ink, fontSize=15, subtitleColor=theme.muted, subtitleFontSize=12, offset=12
        )
    )
    return themed


CANVAS = Canvas(PAGE, on_page=True)
