"""speedup.svg: speedup over CPU count, with intervals, the ideal line and the host's capacity.

Takes a SessionView; gives an SVG without scripts, links or external resources. It is readable on light and
dark backgrounds, and without colour, because each series has its own marker. Does not fail.
"""

from __future__ import annotations

import math

from benchgate.base.cells import Window
from benchgate.base.text import visible
from benchgate.render.escape import xml
from benchgate.render.figures import ArmFigures, Series, Speedup, series_of
from benchgate.render.svg import COLOURS, STYLE, marker
from benchgate.render.view import SessionView, headline

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 56, 24, 44, 46
LONGEST_NAME = 48

NAME = "speedup.svg"


class _Scale:
    """Both axes are logarithmic (base 2), so that the ideal speedup is a straight line."""

    def __init__(self, most: float) -> None:
        self.top = max(math.ceil(math.log2(max(most, 2))), 1)

    def x(self, cpus: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log2(cpus) / self.top

    def y(self, ratio: float) -> float:
        low = -0.5
        part = (max(math.log2(ratio), low) - low) / (self.top - low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(part, 1.0)


def render(view: SessionView) -> str:
    every = [one for one in series_of(view) if _points(one)]
    most = max((arm.cpus for one in every for arm in one.arms), default=2)
    scale = _Scale(float(most))
    body = [*_axes(scale), *_host(view, scale)]
    for place, series in enumerate(every):
        body += _series(series, place, scale)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{xml(visible(headline(view)))}</title>",
            f"<style>{STYLE}</style>",
            *body,
            "</svg>\n",
        ]
    )


def _points(series: Series) -> list[tuple[ArmFigures, Speedup]]:
    found = [(arm, arm.speedups.get(Window.WORK)) for arm in series.arms]
    return [(arm, seen) for arm, seen in found if seen is not None]


def _axes(scale: _Scale) -> list[str]:
    lines = [f'<text x="{LEFT}" y="16">speedup of the work window over CPU count; dashed: ideal</text>']
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for step in range(scale.top + 1):
        value = 2**step
        x, y = scale.x(value), scale.y(value)
        lines.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}M{x:.1f} {TOP}V{bottom}"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value}x</text>')
        lines.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{value}</text>')
    lines.append(f'<path class="axis" fill="none" d="M{LEFT} {TOP}V{bottom}H{right}"/>')
    most = 2**scale.top
    ends = f"M{scale.x(1):.1f} {scale.y(1):.1f}L{scale.x(most):.1f} {scale.y(most):.1f}"
    lines.append(f'<path class="ideal" d="{ends}"/>')
    return lines


def _host(view: SessionView, scale: _Scale) -> list[str]:
    lines = []
    for cpus, bound in sorted(view.capacity.items()):
        if 1 < cpus <= 2**scale.top:
            x, y = scale.x(cpus), scale.y(bound.ratio)
            lines.append(
                f'<path class="host" d="M{x - 12:.1f} {y:.1f}h24">'
                f"<title>host capacity {bound.ratio:.2f}x</title></path>"
            )
    return lines


def _series(series: Series, place: int, scale: _Scale) -> list[str]:
    colour = COLOURS[place % len(COLOURS)]
    points = _points(series)
    base = points[0][1].base_cpus
    track = [f"M{scale.x(base):.1f} {scale.y(1):.1f}"]
    lines: list[str] = []
    for arm, seen in points:
        x, y = scale.x(arm.cpus), scale.y(seen.ratio)
        track.append(f"L{x:.1f} {y:.1f}")
        if seen.has_interval:
            low, high = scale.y(seen.interval.low), scale.y(seen.interval.high)
            lines.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}" stroke-width="2"/>')
        lines.append(marker(place, x, y, colour, f"{arm.name} {seen.ratio:.3f}x {seen.word}".strip()))
    lines.insert(0, f'<path d="{"".join(track)}" stroke="{colour}" fill="none"/>')
    name = visible(f"{series.name} ({series.lane})")[:LONGEST_NAME]
    y = TOP + 4 + 16 * place
    lines.append(marker(place, LEFT + 14, y, colour, ""))
    lines.append(f'<text x="{LEFT + 26}" y="{y + 4}">{xml(name)}</text>')
    return lines
