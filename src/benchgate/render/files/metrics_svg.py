"""metrics.svg: each metric that a workload declares or a gate limits, over CPUs: the pictures of report.html.

Takes a SessionView; gives an SVG without scripts, links or external resources, or None without such a metric.
It follows the reader's dark or light setting, and is readable without colour. Does not fail.
"""

from __future__ import annotations

from functools import partial

from benchgate.render.page.details import metrics
from benchgate.render.page.page_view import page_view
from benchgate.render.page.pictures import by_cpus, sheet
from benchgate.render.page.pictures.sheet import Tile
from benchgate.render.view import SessionView, headline

NAME = "metrics.svg"


def render(view: SessionView) -> str | None:
    tiles = [
        Tile(of.panel.heading, by_cpus.draw(of.panel, partial(metrics.shown, unit=of.unit)), of.panel.names)
        for of in metrics.panels_of(page_view(view))
    ]
    return sheet.drawn(headline(view), tiles) if tiles else None
