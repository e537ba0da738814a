"""metrics.svg: each metric that a workload declares or a gate limits, over CPU count.

Takes a SessionView; gives an SVG without scripts, links or external resources, or None without such a metric.
Each metric of a workload has a panel, with a line per system and lane from the medians, bars from the
smallest to the largest run, and for a percentile a dash at that of all runs together. It is readable on light
and dark backgrounds, and without colour. Does not fail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.base.metrics import Metric
from benchgate.base.text import visible
from benchgate.render.escape import xml
from benchgate.render.figures import Series, series_of
from benchgate.render.metrics import MetricFigures, metrics_of
from benchgate.render.svg import COLOURS, STYLE, marker
from benchgate.render.tables import units
from benchgate.render.view import SessionView, headline

NAME = "metrics.svg"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 260, 84, 24, 56, 30
LINE = 16
MOST_LINES, LONGEST_NAME = 6, 64
STEPS = 4
ROUND = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class Panel:
    label: str
    metric: Metric
    unit: str
    lines: tuple[tuple[Series, tuple[MetricFigures, ...]], ...]


def panels_of(view: SessionView) -> tuple[Panel, ...]:
    found: dict[tuple[str, Metric, str], list[tuple[Series, tuple[MetricFigures, ...]]]] = {}
    for series in series_of(view):
        figures = [one for one in metrics_of(view, series) if not one.arm.is_variant]
        for metric, unit in dict.fromkeys((one.metric, one.unit) for one in figures):
            mine = tuple(one for one in figures if one.metric == metric)
            found.setdefault((series.label, metric, unit), []).append((series, mine))
    return tuple(Panel(*key, tuple(lines[:MOST_LINES])) for key, lines in found.items())


def render(view: SessionView) -> str | None:
    panels = panels_of(view)
    if not panels:
        return None
    looks = tuple(dict.fromkeys(series.place for series in series_of(view)))
    heights = [HEIGHT + LINE * len(one.lines) for one in panels]
    tops = [sum(heights[:n]) for n in range(len(panels))]
    body = [
        line
        for one, top in zip(panels, tops, strict=True)
        for line in (f'<g transform="translate(0 {top})">', *_drawn(one, looks), "</g>")
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {sum(heights)}" role="img">',
            f"<title>{xml(visible(headline(view)))}</title>",
            f"<style>{STYLE}</style>",
            *body,
            "</svg>\n",
        ]
    )


class _Scale:
    """CPU counts are logarithmic (base 2); the metric is linear from 0, so that a factor looks like one."""

    def __init__(self, panel: Panel) -> None:
        every = [one for _, figures in panel.lines for one in figures]
        counts = [one.arm.cpus for one in every]
        self.counts = sorted(set(counts))
        self.first = math.log2(min(counts))
        self.last = max(math.log2(max(counts)), self.first + 1)
        self.most = _round_up(max(max(one.spread.high, one.merged or 0.0) for one in every))
        self.top = TOP + LINE * len(panel.lines)
        self.bottom = HEIGHT + LINE * len(panel.lines) - BOTTOM - 10

    def x(self, cpus: int) -> float:
        part = (math.log2(cpus) - self.first) / (self.last - self.first)
        return LEFT + 20 + (WIDTH - LEFT - RIGHT - 40) * part

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * max(value, 0.0) / self.most


def _round_up(value: float) -> float:
    """The next value that `STEPS` divides into short numbers."""
    if value <= 0:
        return 1.0
    size = 10 ** math.floor(math.log10(value))
    return float(next(step * size for step in ROUND if step * size >= value))


def _drawn(panel: Panel, looks: Sequence[str]) -> list[str]:
    """`looks`: every system and lane of the session. Its number gives it the same colour in each panel."""
    scale = _Scale(panel)
    unit = f", {panel.unit}" if panel.unit not in ("", "ns") else ""
    is_merged = any(one.merged is not None for _, figures in panel.lines for one in figures)
    dash = "; dash: all runs merged" if is_merged else ""
    title = f"{panel.label}: {panel.metric.name}{unit} ({panel.metric.better} is better{dash})"
    lines = [f'<text x="{LEFT}" y="20">{xml(visible(title)[: LONGEST_NAME + 48])}</text>']
    right = WIDTH - RIGHT
    for step in range(STEPS + 1):
        value = scale.most * step / STEPS
        y = scale.y(value)
        lines.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        text = xml(visible(_short(value, panel.unit)))
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for cpus in scale.counts:
        x = scale.x(cpus)
        lines.append(f'<text x="{x:.1f}" y="{scale.bottom + 18}" text-anchor="middle">{cpus}</text>')
    lines.append(f'<path class="axis" fill="none" d="M{LEFT} {scale.top}V{scale.bottom}H{right}"/>')
    for place, (series, figures) in enumerate(panel.lines):
        lines += _line(figures, looks.index(series.place), scale)
        lines += _key(series, looks.index(series.place), 36 + LINE * place)
    return lines


def _short(value: float, unit: str) -> str:
    """A value of the axis. Only a time has its unit here, because it changes with the size."""
    return units.shown(value, "ns" if unit == "ns" else "") if value else "0"


def _line(figures: tuple[MetricFigures, ...], look: int, scale: _Scale) -> list[str]:
    colour = COLOURS[look % len(COLOURS)]
    points = [(scale.x(one.arm.cpus), scale.y(one.spread.median), one) for one in figures]
    track = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in points)
    lines = [f'<path d="M{track}" stroke="{colour}" fill="none"/>'] if len(points) > 1 else []
    for x, y, one in points:
        low, high = scale.y(one.spread.low), scale.y(one.spread.high)
        lines.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}" stroke-width="2"/>')
        if one.merged is not None:
            at = scale.y(one.merged)
            lines.append(f'<path d="M{x - 8:.1f} {at:.1f}H{x + 8:.1f}" stroke="{colour}" stroke-width="2"/>')
        words = " ".join(str(verdict.outcome) for verdict in one.verdicts)
        title = f"{one.arm.name} {units.shown(one.spread.median, one.unit)} {words}".strip()
        lines.append(marker(look, x, y, colour, title))
    return lines


def _key(series: Series, look: int, y: int) -> list[str]:
    name = visible(series.place)[:LONGEST_NAME]
    sign = marker(look, LEFT + 4, y - 4, COLOURS[look % len(COLOURS)], "")
    return [sign, f'<text x="{LEFT + 16}" y="{y}">{xml(name)}</text>']
