"""Figures for a paper: as wide as a column, without titles, in print's fonts, legible in grey.

A figure of the kit is given other colours, sizes and type; what it shows stays. The fonts are
embedded, so that it looks alike wherever it is printed.
"""

import base64
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clockhand.report.appearance import LIGHT, Theme
from clockhand.report.canvas import PICTURE_HEIGHT, VEGA_LITE, Spec
from clockhand.study.drawing import converter
from clockhand.study.errors import UsageError, option

FONTS = Path(__file__).with_name("fonts")
FAMILIES = {"serif": "Tinos", "sans": "Arimo"}
"""Fonts as wide as Times and Arial; the package has their letters that figures need."""

MM_OF_UNITS = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 25.4 / 72}
LEAST_MM, MOST_MM = 40, 400
PIXELS_PER_MM = 96 / 25.4
ATTEMPTS = 4
"""Times that a figure is drawn until it has its width: labels depend on the room that is left."""

LEAST_PIXELS = 40
"""The least width of an area of values, whatever stands beside it."""

SIZE = r'\b(width|height)="([\d.]+)"'

HEIGHT_OF_WIDTH = 0.5
"""Height of the area of values over its width, unless its content decides."""

NAMES_OF_WIDTH = 0.45
"""What names beside an axis take of the width at most."""

TITLE_OF_WIDTH, TITLE_BESIDE_NAMES = 0.7, 0.5
"""How long a line of the title below an axis is, without and with names beside the other axis."""

LEGEND_MARK_PIXELS = 30
"""Width of an entry of the legend below the figure, without its name."""

LETTER_PIXELS = 5.6
PADDING_PIXELS = 2

INK, MUTED = "#000000", "#495159"
SERIES = ("#0b256e", "#751e07", "#086e58", "#c93a76", "#af790f", "#6396d5")
"""Those of pictures, moved apart in lightness until copies in grey differ; shape and dash stay."""

PAPER = Theme("#ffffff", INK, MUTED, "#dddddd", "#b5b5b5", LIGHT.less, LIGHT.more, SERIES)
HEAT = ("#ffffff", "#f3e3cf", "#d98b45")
"""Colours of heat maps from less to more: ever darker, where those of pages are blue and orange."""


@dataclass(frozen=True)
class Paper:
    """How figures look in a paper: the width of a column, and the kind of its type."""

    width_mm: float = 84.0
    font: str = "serif"

    @property
    def width_pixels(self) -> int:
        """The width of a figure with everything in it."""
        return round(self.width_mm * PIXELS_PER_MM)


def paper_of(text: str) -> Paper:
    """Return the theme of a text such as ``paper:width=84mm,font=serif``.

    Raises:
        UsageError: it is no such theme, or a value is out of range.
    """
    name, _, options = text.partition(":")
    if name != "paper":
        raise UsageError(
            option("theme") + f" {name!r} is unknown", "give paper, or paper:width=84mm,font=serif"
        )
    given: dict[str, Any] = {}
    for setting in filter(None, options.split(",")):
        key, _, value = setting.partition("=")
        if key == "width":
            given["width_mm"] = _width_mm(value)
        elif key == "font" and value in FAMILIES:
            given["font"] = value
        elif key == "font":
            raise UsageError(
                option("theme") + f" font={value!r} is unknown", f"give {' or '.join(FAMILIES)}"
            )
        else:
            raise UsageError(option("theme") + f" paper has no {key!r}", "it has width and font")
    return Paper(**given)


def _width_mm(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(mm|cm|in|pt)", text)
    width_mm = float(match[1]) * MM_OF_UNITS[match[2]] if match else 0
    if not LEAST_MM <= width_mm <= MOST_MM:
        raise UsageError(
            option("theme") + f" width={text!r} is no width from {LEAST_MM} to {MOST_MM} mm",
            "write 84mm, 8.4cm, 3.3in or 240pt",
        )
    return width_mm


def paper_files(folder: Path, figures: Mapping[str, Spec], paper: Paper) -> dict[Path, bytes]:
    """Return each figure, by its key, as the content of a PDF and of an SVG file in a folder."""
    draw = converter()
    draw.register_font_directory(str(FONTS))
    files: dict[Path, bytes] = {}
    for key, figure in figures.items():
        svg = _drawn(for_paper(figure, paper), paper.width_pixels)
        # A pixel without a unit becomes a point of the page.
        points = _as_wide_as(paper.width_mm / MM_OF_UNITS["pt"], "", svg)
        files[folder / f"{key}.pdf"] = draw.svg_to_pdf(points)
        millimetres = _as_wide_as(paper.width_mm, "mm", svg)
        files[folder / f"{key}.svg"] = _with_fonts(millimetres, paper).encode()
    return files


def _drawn(figure: Spec, width: float) -> str:
    """Return a figure as SVG that is about this wide with all that stands beside its values."""
    svg = ""
    for _ in range(ATTEMPTS):
        svg = converter().vegalite_to_svg(figure, vl_version=VEGA_LITE)
        beyond = _size_of(svg)["width"] - width
        if abs(beyond) <= 1:
            break
        figure = {**figure, "width": max(figure["width"] - beyond, LEAST_PIXELS)}
    return svg


def _size_of(svg: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(SIZE, svg.partition(">")[0])}


def for_paper(figure: Spec, paper: Paper) -> Spec:
    """Return a picture as it stands in a paper, which has the title below it."""
    made: Spec = _recoloured(figure)
    title = made.pop("title", {}).get("text", "")
    width = paper.width_pixels
    if made.get("height") == PICTURE_HEIGHT:
        made["height"] = round(width * HEIGHT_OF_WIDTH)
    made |= {
        "width": width,
        "padding": PADDING_PIXELS,
        # Nothing answers to a pointer here.
        "params": [],
    }
    has_names = any(
        layer.get("encoding", {}).get("y", {}).get("type") == "nominal" for layer in made["layer"]
    )
    title_share = TITLE_BESIDE_NAMES if has_names else TITLE_OF_WIDTH
    rooms = {"x": width * title_share, "y": made["height"]}
    made["layer"] = [_still(layer, title, rooms) for layer in made["layer"]]
    config = made["config"]
    config["font"] = FAMILIES[paper.font]
    config["point"] = {"opacity": 1}
    config["axis"] |= {"labelColor": INK, "labelLimit": width * NAMES_OF_WIDTH}
    config["legend"] |= {
        "orient": "bottom",
        "columns": _legend_columns(made["layer"], width),
        "titleFontWeight": "normal",
        "labelFontSize": config["axis"]["labelFontSize"],
        "symbolStrokeWidth": 0,
    }
    return made


def _legend_columns(layers: Sequence[Spec], width: int) -> int:
    """Return how many entries of the legend stand side by side: as many as the longest lets."""
    domains = (
        layer.get("encoding", {}).get("color", {}).get("scale", {}).get("domain") or ()
        for layer in layers
    )
    longest = max((len(str(name)) for domain in domains for name in domain), default=0)
    return max(1, int(width // (LEGEND_MARK_PIXELS + longest * LETTER_PIXELS)))


def _still(layer: Spec, title: str, rooms: Mapping[str, float]) -> Spec:
    """Return a layer without what answers to a pointer; titles and names of axes have room."""
    encoding = {
        channel: _roomy(one, title, rooms[channel]) if channel in rooms else one
        for channel, one in layer.get("encoding", {}).items()
        if channel not in ("tooltip", "opacity") or "condition" not in one
    }
    return {**layer, "encoding": encoding}


def _roomy(channel: Spec, title: str, room: float) -> Spec:
    """Return the channel of an axis with a title in lines that fit, and the names' own limit.

    A picture whose values have no title of their own has it above them.
    """
    made = {**channel}
    if isinstance(made.get("axis"), dict):
        made["axis"] = {name: it for name, it in made["axis"].items() if name != "labelLimit"}
    named = made.get("title", title) or (title if made.get("type") == "quantitative" else None)
    if isinstance(named, str):
        made["title"] = textwrap.wrap(named, max(1, int(room / LETTER_PIXELS)))
    return made


_COLORS = {
    old: new
    for name, value in asdict(LIGHT).items()
    if name != "series"
    for old, new in [(value, asdict(PAPER)[name])]
} | dict(zip(LIGHT.series, PAPER.series, strict=True))


def _recoloured(part: Any) -> Any:
    """Return a part of a figure, a copy, with the colours of paper in place of a picture's."""
    if isinstance(part, dict):
        return {name: _recoloured(value) for name, value in part.items()}
    if isinstance(part, list):
        if part == [LIGHT.less, LIGHT.background, LIGHT.more]:
            return list(HEAT)
        return [_recoloured(value) for value in part]
    return _COLORS.get(part, part) if isinstance(part, str) else part


def _as_wide_as(width: float, unit: str, svg: str) -> str:
    """Return an SVG of this width, its height in proportion."""
    head, end, rest = svg.partition(">")
    sizes = _size_of(svg)
    scaled = {name: width * pixels / sizes["width"] for name, pixels in sizes.items()}
    return re.sub(SIZE, lambda it: f'{it[1]}="{scaled[it[1]]:.2f}{unit}"', head) + end + rest


def _with_fonts(svg: str, paper: Paper) -> str:
    """Return an SVG with the fonts that it needs in it."""
    family = FAMILIES[paper.font]
    faces = "".join(
        f'@font-face{{font-family:"{family}";font-weight:{weight};'
        f"src:url(data:font/ttf;base64,{_encoded(f'{family}-{face}.ttf')})}}"
        for weight, face in (("normal", "Regular"), ("bold", "Bold"))
        if weight == "normal" or 'font-weight="bold"' in svg
    )
    head, end, rest = svg.partition(">")
    return f"{head}{end}<defs><style>{faces}</style></defs>{rest}"


def _encoded(font: str) -> str:
    return base64.b64encode((FONTS / font).read_bytes()).decode()
