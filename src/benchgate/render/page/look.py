"""How systems look in every picture: a colour, a marker and a dash each, the same in all panels of a page.

Takes a SessionView or the number of a look; gives numbers, marks and legends. The first 12 looks differ in
colour; without colour, marker and dash differ in the first 35. Does not fail.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from benchgate.render.figures import series_of
from benchgate.render.page.html import Html, tag
from benchgate.render.view import SessionView

LIGHT = (
    *("#0b62c4", "#b34700", "#0a7d4f", "#a3208c", "#7a5c00", "#c21f3a"),
    *("#4b3fbf", "#00778a", "#5d6d00", "#7d3c16", "#5f6670", "#d0246e"),
)
DARK = (
    *("#6cb2ff", "#ff9f55", "#4fd69c", "#ef85dc", "#e0bd4a", "#ff7f8a"),
    *("#a9a0ff", "#45d0e5", "#c3d44a", "#e69a74", "#b9c0ca", "#ff86b8"),
)
DASHES = (None, "7 3", "2 3", "9 3 2 3", "4 2")
_CORNERS = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    "diamond": ((0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)),
    "down": ((0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)),
    "hexagon": tuple((1.15 * math.cos(n * math.pi / 3), 1.15 * math.sin(n * math.pi / 3)) for n in range(6)),
    "star": tuple(
        (
            (1.4 if n % 2 == 0 else 0.6) * math.sin(n * math.pi / 5),
            -(1.4 if n % 2 == 0 else 0.6) * math.cos(n * math.pi / 5),
        )
        for n in range(10)
    ),
}
MARKERS = ("circle", *_CORNERS)


def looks_of(view: SessionView) -> Mapping[str, int]:
    """The number of the look of each system and lane (`Series.place`), in the order in which they ran."""
    places = dict.fromkeys(series.place for series in series_of(view))
    return {place: number for number, place in enumerate(places)}


def colour_class(look: int) -> str:
    """The class that sets `color`; pictures draw with `currentColor`."""
    return f"s{look % len(LIGHT)}"


def dash(look: int) -> str | None:
    return DASHES[look % len(DASHES)]


def marker(  # noqa: PLR0913 - keyword arguments
    look: int, x: float, y: float, size: float = 4, *, hollow: bool = False, title: str = ""
) -> Html:
    """The mark of a look. `hollow` sets apart what is no sample."""
    kind = MARKERS[look % len(MARKERS)]
    paint = {"fill": "none", "stroke": "currentColor"} if hollow else {"fill": "currentColor"}
    inner = tag("title", title) if title else None
    if kind == "circle":
        return tag("circle", inner, cx=x, cy=y, r=size, **paint)
    corners = " ".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in _CORNERS[kind])
    return tag("polygon", inner, points=corners, **paint)


def sample(look: int) -> Html:
    """The small picture of a legend: a piece of the line with its marker."""
    line = tag("path", d="M1 8H31", stroke="currentColor", stroke_width=1.5, stroke_dasharray=dash(look))
    parts = (line, marker(look, 16, 8, 5))
    return tag(
        "svg", *parts, viewBox="0 0 32 16", width=32, height=16, class_=colour_class(look), aria_hidden="true"
    )


def legend(entries: Sequence[tuple[int, str]]) -> Html:
    """The list of names, which stands beside the picture; long names break and are never cut."""
    return tag("ul", *(tag("li", sample(look), tag("span", name)) for look, name in entries), class_="legend")
