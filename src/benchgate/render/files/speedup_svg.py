"""speedup.svg: efficiency, the speedup divided by the CPUs, one panel a workload: the pictures of
report.html.

Takes a SessionView; gives an SVG without scripts, links or external resources. It follows the reader's dark
or light setting, and is readable without colour. Does not fail.
"""

from __future__ import annotations

from benchgate.render.page.details import curves
from benchgate.render.page.page_view import page_view
from benchgate.render.page.pictures import by_cpus, sheet
from benchgate.render.page.pictures.sheet import Tile
from benchgate.render.view import SessionView, headline

NAME = "speedup.svg"


def render(view: SessionView) -> str:
    tiles = [
        Tile(f"{of.heading}: efficiency over CPUs", by_cpus.draw(of, curves.percent), of.names)
        for of in curves.panels_of(page_view(view))
    ]
    return sheet.drawn(headline(view), tiles)
