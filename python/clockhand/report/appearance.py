"""How a policy looks, the same in every figure: colour, point shape and dash."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

# The hue families of Okabe and Ito (2008), moved apart in lightness until every pair stays distinct
# for readers with any kind of colour blindness, and darkened (lightened) until each has a contrast
# of 3:1 with its background. Shape and dash say the same again.
SERIES_LIGHT = ("#1548d4", "#8a2408", "#08705a", "#d46392", "#996a0d", "#588fd2")
SERIES_DARK = ("#6f86c4", "#e67010", "#00a158", "#e089a4", "#e5d100", "#09d9fd")

# SVG paths in the square from -1 to 1, as Vega takes them; the page's legend draws the same ones.
SHAPES = (
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.1L1.05,.85H-1.05Z",
    "M0,-1.25L1.1,0L0,1.25L-1.1,0Z",
    "M-.4,-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "M0,1.1L1.05,-.85H-1.05Z",
)
CIRCLE = "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z"

SOLID = (1, 0)
DASHES = (SOLID, (7, 3), (2, 2), (9, 3, 2, 3))
BOUND_DASH = (3, 3)


@dataclass(frozen=True)
class Theme:
    """The colours of a page or a picture.

    ``faint`` is for bars that are not emphasised; ``less`` and ``more`` are the ends of heat maps,
    blue and orange, on which the ink can be read.
    """

    background: str
    ink: str
    muted: str
    grid: str
    faint: str
    less: str
    more: str
    series: tuple[str, ...]


LIGHT = Theme(
    "#ffffff", "#1b1f24", "#5a636e", "#e3e6ea", "#bfc5cc", "#7fb2e8", "#f2a65e", SERIES_LIGHT
)
DARK = Theme(
    "#15181d", "#e8eaed", "#9aa4b0", "#2b3138", "#4b545f", "#1f5c99", "#8f4d10", SERIES_DARK
)
# On the page the colours are CSS variables, so that dark mode and print re-theme a drawn figure.
PAGE = Theme(
    "var(--background)",
    "var(--ink)",
    "var(--muted)",
    "var(--grid)",
    "var(--faint)",
    "var(--less)",
    "var(--more)",
    tuple(f"var(--series-{index})" for index in range(len(SERIES_LIGHT))),
)


@dataclass(frozen=True)
class Mark:
    """The look of one policy; ``dash`` is in pixels, ``shape`` an SVG path."""

    policy: str
    color: str
    shape: str
    dash: tuple[int, ...]


def marks(
    policies: Sequence[str], baselines: Container[str], offline: Container[str], theme: Theme
) -> list[Mark]:
    """Return the look of each policy, in the order given.

    A baseline is drawn in the colour of the text, solid, with circles; a policy that reads the
    future in the muted colour, as nothing that could be built. The others walk through colours,
    shapes and dashes at different speeds, so that 30 of them differ pairwise.
    """
    result = []
    index = 0
    for policy in policies:
        if policy in baselines:
            result.append(Mark(policy, theme.ink, CIRCLE, SOLID))
            continue
        color = theme.muted if policy in offline else theme.series[index % len(theme.series)]
        shape = SHAPES[index % len(SHAPES)]
        result.append(Mark(policy, color, shape, DASHES[index % len(DASHES)]))
        index += 1
    return result
