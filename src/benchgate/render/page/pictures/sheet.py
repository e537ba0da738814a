"""A file of pictures below each other, each with its heading and its legend: for Markdown, which shows
images.

Takes tiles; gives the text of an SVG file. A long name or heading continues on the next line and is never
cut. Does not fail.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.base.text import visible
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.look import PICTURES, VARIABLES, colour_class, dash, marker
from benchgate.render.page.pictures.frame import WIDTH

SVG = "http://www.w3.org/2000/svg"
GROUND = ".ground{fill:var(--ground)}"
"""A file is shown on a page that may follow another setting, so it brings its own ground."""
LINE, LETTERS, GAP = 16, 58, 14
"""The height of a line of text, how many characters surely fit into it, and the space between tiles."""


@dataclass(frozen=True, slots=True)
class Tile:
    heading: str
    picture: Html
    """An svg element."""
    names: tuple[tuple[int, str], ...]
    """(look, name) of each line."""
    height: int = 220


def drawn(title: str, tiles: Sequence[Tile]) -> str:
    parts: list[Html] = []
    top = 0.0
    for tile in tiles:
        lines, below = _above(tile)
        inner = tag("svg", tile.picture, y=below, width=WIDTH, height=tile.height, overflow="visible")
        parts.append(tag("g", *lines, inner, transform=f"translate(0 {top:g})"))
        top += below + tile.height + GAP
    style = tag("style", Html(VARIABLES + PICTURES + GROUND))
    ground = tag("rect", class_="ground", width="100%", height="100%")
    every = (tag("title", title), style, ground, *(join([part, Html("\n")]) for part in parts))
    view = f"0 0 {WIDTH} {max(top, LINE):g}"
    return f"{tag('svg', *every, xmlns=SVG, viewBox=view, width=2 * WIDTH, role='img')}\n"


def _above(tile: Tile) -> tuple[list[Html], float]:
    """The heading and the legend, and where they end."""
    htmls: list[Html] = []
    y = 0.0
    for line in _wrapped(tile.heading, LETTERS):
        y += LINE
        htmls.append(tag("text", line, x=4, y=y, class_="strong"))
    for look, name in tile.names:
        sign = tag("path", d=f"M4 {y + 12:g}h28", stroke="currentColor", stroke_dasharray=dash(look))
        htmls.append(tag("g", sign, marker(look, 18, y + 12, 4), class_=colour_class(look)))
        for line in _wrapped(name, LETTERS - 6):
            y += LINE
            htmls.append(tag("text", line, x=40, y=y))
    return htmls, y + LINE / 2


def _wrapped(text: str, letters: int) -> list[str]:
    return textwrap.wrap(visible(text), letters, break_on_hyphens=False) or [""]
