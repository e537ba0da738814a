"""The picture of a calibration: the curves of all chases, and the levels that the machine file states.

Takes a Machine and the curves; gives the text of an SVG file. Does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.machines import Machine
from benchgate.host.memory.curve import Point
from benchgate.host.memory.survey import HUGE, LOCAL, PAGES, SMALL
from benchgate.render.page.pictures import latency
from benchgate.render.page.pictures.latency import Curve, Stair
from benchgate.render.page.pictures.sheet import Tile, drawn

NAMES = {
    HUGE: "all lines in random order, on huge pages",
    SMALL: "all lines in random order, on pages of 4 KiB",
    LOCAL: "page by page, each page's lines in random order",
    PAGES: "one line on each page of 4 KiB",
}


def sheet(machine: Machine, curves: Mapping[str, tuple[Point, ...]], decides: str) -> str:
    lines, pages = (
        [kind for kind in (HUGE, SMALL, LOCAL) if kind in curves],
        [PAGES] if PAGES in curves else [],
    )
    stairs = stairs_of(machine)
    tiles = [_tile(f"{machine.name}: time of a load in a pointer chase", lines, curves, stairs, decides)]
    if pages:
        tiles.append(
            _tile("What the TLB adds: 64 times the pages for as many lines", pages, curves, (), decides)
        )
    return drawn(f"{machine.name}: latency over size", tiles)


def stairs_of(machine: Machine) -> tuple[Stair, ...]:
    caches = [("L1d", machine.l1d), ("L2", machine.l2), *([("L3", machine.l3)] if machine.l3 else [])]
    return (
        *(Stair(name, one.size, one.latency_ns) for name, one in caches),
        Stair("memory", None, machine.memory_local_ns),
    )


def _tile(
    heading: str,
    kinds: list[str],
    curves: Mapping[str, tuple[Point, ...]],
    stairs: tuple[Stair, ...],
    decides: str,
) -> Tile:
    drawn_ones = [
        Curve(number, _name(kind, decides), tuple((one.size, one.ns, one.typical_ns) for one in curves[kind]))
        for number, kind in enumerate(kinds)
    ]
    names = tuple((one.look, one.name) for one in drawn_ones)
    return Tile(heading, latency.draw(heading, drawn_ones, stairs), names, latency.HEIGHT)


def _name(kind: str, decides: str) -> str:
    return NAMES[kind] + ("; the file is made from it" if kind == decides else "")
