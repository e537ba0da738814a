"""How pages look: the style of a page, and for each system a colour, a marker and a dash, the same in all
panels.

Takes the number of a look; gives numbers, marks and legends. The first 12 looks differ in
colour; without colour, marker and dash differ in the first 35. The style is constant: dark and light by the
reader's setting, phone, screen and print. Pictures use the classes of `PICTURES`, which a picture in a file
of its own carries with it. Does not fail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from benchgate.render.page.html import Html, tag

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
        (size * math.sin(n * math.pi / 5), -size * math.cos(n * math.pi / 5))
        for n, size in enumerate((1.4, 0.6) * 5)
    ),
}
MARKERS = ("circle", *_CORNERS)


def colour_class(look: int) -> str:
    """The class that sets `color`; pictures draw with `currentColor`."""
    return f"s{look % len(LIGHT)}"


def dash(look: int) -> str | None:
    return DASHES[look % len(DASHES)]


def outline(line: str, look: int, width: float, *inside: Html) -> Html:
    """The line of a look along a path."""
    paint = {"fill": "none", "stroke": "currentColor", "stroke_dasharray": dash(look)}
    return tag("path", *inside, d=line, stroke_width=width, **paint)


def entry(shape: Html, kind: str, name: str) -> Html:
    """An entry of a legend: the shape in its colour, and what it means."""
    svg = tag("svg", shape, viewBox="0 0 16 16", width=16, height=16, class_=kind, aria_hidden="true")
    return tag("li", svg, tag("span", name))


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
    lines = (tag("li", sample(look), tag("span", name, data_place_name=look)) for look, name in entries)
    return tag("ul", *lines, class_="legend")


# ---- the style of a page


def _colours(given: tuple[str, ...]) -> str:
    return "".join(f"--s{number}:{colour};" for number, colour in enumerate(given))


_LIGHT = (
    "--ground:#fff;--panel:#f5f6f8;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;--link:#0b62c4;"
    "--pass:#0a6b3f;--fail:#b3152b;--maybe:#7a5200;--none:#57606a;--edge:#8c959f80;"
    "--pass-ground:#d5efdf;--fail-ground:#fbd9dd;--maybe-ground:#f7e6bd;" + _colours(LIGHT)
)
_DARK = (
    "--ground:#0f1318;--panel:#181e26;--ink:#e6e9ee;--soft:#9aa5b1;--rule:#333c47;--link:#6cb2ff;"
    "--pass:#4fd69c;--fail:#ff7f8a;--maybe:#e8bd53;--none:#9aa5b1;--edge:#c3cbd480;"
    "--pass-ground:#123a29;--fail-ground:#4a1a20;--maybe-ground:#40310e;" + _colours(DARK)
)
VARIABLES = f":root{{color-scheme:light dark;{_LIGHT}}}@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}"

PICTURES = (
    "".join(f".s{number}{{color:var(--s{number})}}" for number in range(len(LIGHT)))
    + "svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .strong{fill:var(--ink);font-weight:600}"
    ".axis{stroke:var(--soft);fill:none}.grid{stroke:var(--rule);fill:none}"
    ".ideal{stroke:var(--soft);stroke-dasharray:6 4;fill:none}"
    ".host{stroke:var(--soft);stroke-width:4;opacity:.55}"
    "svg .tiny{font-size:8px}svg .halted{fill:var(--rule);fill-opacity:.5}"
    ".bad{color:var(--fail)}.void{color:var(--maybe)}.soft{color:var(--soft)}"
    ".limit{stroke:var(--fail);stroke-width:1.5;stroke-dasharray:3 2;fill:none}"
    ".queue{fill:var(--soft);fill-opacity:.45}"
    ".wake{stroke:var(--ink);stroke-width:.7;opacity:.45;fill:none}.tip{fill:var(--ink);opacity:.7}.waits{fill:currentColor;fill-opacity:.15;stroke:currentColor}"
)

PAGE = (Path(__file__).parent / "page.css").read_text(encoding="ascii")

WHOLE = f"{VARIABLES}{PICTURES}\n{PAGE}"
