"""How a policy looks, the same in every figure: colour, point shape and dash."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clockhand.study.policies import name_of

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
    "M-1.1,0L.85,1.05V-1.05Z",
    "M1.1,0L-.85,1.05V-1.05Z",
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


MUTED, INK, BLUE, BROWN, GREEN, PINK, AMBER, SKY = range(-2, 6)
ROUND, SQUARE, UP, DIAMOND, PLUS, DOWN, LEFT, RIGHT = (CIRCLE, *SHAPES)
LONG, SHORT, UNEVEN = DASHES[1:]

Identity = tuple[int, str, tuple[int, ...]]
"""Colour, as a place in a theme's series or one of the text's; shape; dash."""

IDENTITIES: Mapping[str, Identity] = {
    "clock": (INK, ROUND, SOLID),
    "fifo": (INK, DOWN, UNEVEN),
    "random": (INK, PLUS, SHORT),
    "none": (INK, DIAMOND, SHORT),
    "no cache": (INK, SQUARE, LONG),
    "ace": (INK, UP, LONG),
    "ace-clock": (INK, LEFT, SOLID),
    "min": (MUTED, UP, SHORT),
    "opt-feasible": (MUTED, DIAMOND, LONG),
    "static": (MUTED, SQUARE, SOLID),
    "block-min": (MUTED, LEFT, SHORT),
    "bound": (MUTED, PLUS, LONG),
    "craw": (BLUE, SQUARE, SOLID),
    "arc": (BLUE, UP, LONG),
    "lirs": (BLUE, DIAMOND, SHORT),
    "s3-fifo": (BLUE, PLUS, UNEVEN),
    "lb-clock": (BLUE, DOWN, LONG),
    "hemem": (BLUE, ROUND, SOLID),
    "lirs-wsr": (BLUE, LEFT, LONG),
    "wa-landlord": (BROWN, UP, SOLID),
    "cflru": (BROWN, DIAMOND, LONG),
    "kernel": (BROWN, SQUARE, SHORT),
    "linux24-cflru": (BROWN, PLUS, UNEVEN),
    "bplru": (BROWN, DOWN, SHORT),
    "clock-dwf": (BROWN, ROUND, LONG),
    "m-clock": (BROWN, RIGHT, UNEVEN),
    "cfdc": (BROWN, LEFT, UNEVEN),
    "credit-clock": (GREEN, DIAMOND, SOLID),
    "linux-lru": (GREEN, UP, SHORT),
    "cbm": (GREEN, SQUARE, LONG),
    "car": (GREEN, PLUS, LONG),
    "2q": (GREEN, DOWN, UNEVEN),
    "memtis": (GREEN, ROUND, SHORT),
    "ad-lru": (GREEN, LEFT, UNEVEN),
    "for": (GREEN, RIGHT, SHORT),
    "lru": (PINK, DOWN, LONG),
    "weighted-clock": (PINK, PLUS, SOLID),
    "pud-lru": (PINK, DIAMOND, UNEVEN),
    "bpac": (PINK, RIGHT, SHORT),
    "lfu": (PINK, UP, SHORT),
    "fab": (AMBER, SQUARE, UNEVEN),
    "tpp": (AMBER, ROUND, UNEVEN),
    "lru-wsr": (SKY, LEFT, SHORT),
    "nru": (AMBER, PLUS, LONG),
    "linux24": (AMBER, DIAMOND, SHORT),
    "cfclock": (PINK, SQUARE, SHORT),
    "sieve": (AMBER, UP, UNEVEN),
    "clc": (AMBER, DOWN, SOLID),
    "countdown": (PINK, ROUND, SOLID),
    "ccf-lru": (AMBER, LEFT, SOLID),
    "craw-a": (SKY, DOWN, SOLID),
    "cflru-dynamic": (SKY, SQUARE, UNEVEN),
    "clock-pro": (SKY, DIAMOND, LONG),
    "linux-mglru": (SKY, UP, SHORT),
    "w-tinylfu": (SKY, PLUS, SHORT),
    "clock-dnv": (SKY, ROUND, SOLID),
    "casa": (PINK, LEFT, UNEVEN),
    # Admissions of file caches, which no page policy or buffer stands beside.
    "always": (BLUE, SQUARE, SOLID),
    "second-touch": (BROWN, UP, LONG),
    "tinylfu": (GREEN, DIAMOND, SHORT),
    "write-around": (AMBER, PLUS, UNEVEN),
    "belady": (MUTED, DOWN, UNEVEN),
}
"""The look of each name of the catalogs, and of the kernel, in every figure of every report.

No two that may stand in one figure have both colour and shape in common. Those that often stand
side by side have colours of their own; lines near each other in lightness differ in their dashes.
"""

RESERVE = (
    "M0,-1.3L.32,-.42H1.25L.5,.13L.78,1.05L0,.5L-.78,1.05L-.5,.13L-1.25,-.42H-.32Z",
    "M-.7,-1.05L0,-.35L.7,-1.05L1.05,-.7L.35,0L1.05,.7L.7,1.05L0,.35L-.7,1.05L-1.05,.7L-.35,0"
    "L-1.05,-.7Z",
)
"""Shapes, a star and a cross, that no name of a catalog has: policies of one's own have them."""


def marks(series: Sequence[str], theme: Theme) -> list[Mark]:
    """Return the look of each policy or buffer, in the order given.

    The first of a name has that name's look, and the others of it its colour. Own ones have
    shapes from a reserve. Policies that know the future are muted, since they cannot be built.

    Args:
        series: Policies or buffers, with their parameters; words may follow behind ``, ``.
        theme: The colours.
    """
    names = {one: name_of(one.partition(", ")[0]) for one in series}
    # A name without parameters has the look of the name, wherever it stands.
    ordered = sorted(names, key=lambda one: one != names[one])
    taken: set[Identity] = set()
    looks: dict[str, Mark] = {}
    for one in ordered:
        color, shape, dash = next(
            (it for it in _looks_of(names[one]) if it not in taken), IDENTITIES["clock"]
        )
        taken.add((color, shape, dash))
        looks[one] = Mark(one, _colors(theme)[color], shape, dash)
    return [looks[one] for one in series]


def is_muted(series: str) -> bool:
    """Tell whether a policy or buffer knows the future, by its name."""
    known = IDENTITIES.get(name_of(series.partition(", ")[0]))
    return known is not None and known[0] == MUTED


def _colors(theme: Theme) -> Mapping[int, str]:
    return {MUTED: theme.muted, INK: theme.ink, **dict(enumerate(theme.series))}


def _looks_of(name: str) -> Iterator[Identity]:
    """Give the looks that a name may have, the most wanted first."""
    if name in IDENTITIES:
        yield IDENTITIES[name]
        color = IDENTITIES[name][0]
        yield from ((color, shape, dash) for dash in DASHES for shape in (*SHAPES, *RESERVE))
    yield from _OWN


_OWN = [
    (color, shape, DASHES[(place + turn) % len(DASHES)])
    for turn in range(len(DASHES))
    for shape in (*RESERVE, *SHAPES)
    for place, color in enumerate((BLUE, BROWN, GREEN, PINK, AMBER, SKY))
]


def lines_of(series: Sequence[str], theme: Theme) -> list[Mark]:
    """Return looks for lines that are not policies, pairwise different up to 18 of them."""
    colors = theme.series
    return [
        Mark(
            one,
            colors[place % len(colors)],
            SHAPES[place % len(SHAPES)],
            DASHES[place // len(colors) % 3],
        )
        for place, one in enumerate(series)
    ]
