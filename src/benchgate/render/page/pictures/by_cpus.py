"""A panel over CPU counts: a line for each system, every run a dot, intervals as bars.

Takes lines of points; gives an SVG. Systems stand beside each other at each CPU count, so that equal figures
do not cover each other. Used for efficiency and for metrics. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class, marker, outline
from benchgate.render.page.pictures.frame import Frame, are_apart, path, picture, ticks

MOST_SHIFT = 16.0
SHARE = 0.8
"""The most of a column that the systems beside each other take."""


@dataclass(frozen=True, slots=True)
class PlotPoint:
    cpus: int
    value: float
    runs: tuple[float, ...] = ()
    """Each run's own figure."""
    low: float | None = None
    high: float | None = None
    """The interval of `value`; None without one."""
    level: float | None = None
    """Another figure of this arm, as a short line: the percentile of all runs together."""
    title: str = ""


@dataclass(frozen=True, slots=True)
class PlotLine:
    look: int
    name: str
    points: tuple[PlotPoint, ...]
    fitted: tuple[tuple[float, float], ...] = ()
    """A curve through (CPUs, value), from a model."""


@dataclass(frozen=True, slots=True)
class PlotLimit:
    """A gate's threshold at one CPU count."""

    cpus: int
    value: float
    title: str


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    """Screen readers read it with the figures."""
    lines: tuple[PlotLine, ...]
    ideal: float | None = None
    host: tuple[tuple[int, float], ...] = ()
    """What the host reached, by CPU count."""
    limits: tuple[PlotLimit, ...] = ()
    least: float = 0.0
    """The axis begins here or below."""
    most: float = 0.0
    """The axis ends here or above."""
    below: str = "CPUs"
    """What the columns are."""
    heading: str = ""

    @property
    def compares(self) -> bool:
        """Whether there is anything to compare: two CPU counts, or two systems."""
        return len(self.lines) > 1 or len({point.cpus for line in self.lines for point in line.points}) > 1

    @property
    def names(self) -> tuple[tuple[int, str], ...]:
        """(look, name) of each line, for a legend."""
        return tuple((line.look, line.name) for line in self.lines)


def draw(panel: Panel, shown: Callable[[float], str]) -> Html:
    frame = _frame(panel)
    under = [*frame.drawn(shown, panel.below)]
    if panel.ideal is not None:
        y = frame.y(panel.ideal)
        ends = path([(frame.x(frame.columns[0]) - frame.pitch / 2, y), (352, y)])
        under.append(tag("path", tag("title", "ideal"), class_="ideal", d=ends))
    half = frame.pitch * SHARE / 2
    for cpus, value in panel.host:
        x, y = frame.x(cpus), frame.y(value)
        what = tag("title", f"host capacity {shown(value)}")
        under.append(tag("path", what, class_="host", d=f"M{x - half:.1f} {y:.1f}h{2 * half:.1f}"))
    under += [_limit(limit, frame) for limit in panel.limits]
    shifts = _shifts(len(panel.lines), frame.pitch)
    lines = (_line(line, frame, shift) for line, shift in zip(panel.lines, shifts, strict=True))
    return picture(panel.title, frame.height, *under, *lines)


def _frame(panel: Panel) -> Frame:
    points = [point for line in panel.lines for point in line.points]
    low, high = reach(panel)
    columns = {point.cpus for point in points} | {limit.cpus for limit in panel.limits}
    return Frame(tuple(sorted(columns)), ticks(low, high))


def reach(panel: Panel) -> tuple[float, float]:
    """The least and the largest value of all that is drawn, and the ends that the axis has at least."""
    points = [point for line in panel.lines for point in line.points]
    every = (end for point in points for end in (point.value, point.low, point.high, point.level))
    ends = [end for end in every if end is not None]
    values = [*ends, *(run for point in points for run in point.runs), *(value for _, value in panel.host)]
    values += [limit.value for limit in panel.limits]
    return min([*values, panel.least]), max([*values, panel.most])


def top(line: PlotLine) -> float:
    """The largest value of a line."""
    return max((max(point.value, *point.runs, point.level or 0.0) for point in line.points), default=0.0)


def on_one_axis(panels: Sequence[Panel], all_of_them: Sequence[Panel]) -> list[Panel]:
    """These panels with the axis that all of them need, so that their heights can be compared; each with its
    own if one would be flat on the axis of another."""
    ends = [reach(panel) for panel in all_of_them]
    if are_apart([high for _, high in ends]):
        return list(panels)
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    return [replace(panel, least=least, most=most) for panel in panels]


def _limit(limit: PlotLimit, frame: Frame) -> Html:
    """A line across the column, with a tick at each end."""
    x, y, half = frame.x(limit.cpus), frame.y(limit.value), frame.pitch * 0.46
    ends = f"M{x - half:.1f} {y - 3:.1f}v6M{x - half:.1f} {y:.1f}h{2 * half:.1f}M{x + half:.1f} {y - 3:.1f}v6"
    return tag("path", tag("title", limit.title), class_="limit", d=ends)


def _shifts(count: int, pitch: float) -> list[float]:
    step = min(pitch * SHARE / count, MOST_SHIFT)
    return [step * (n - (count - 1) / 2) for n in range(count)]


def _line(line: PlotLine, frame: Frame, shift: float) -> Html:
    track = [(frame.x(point.cpus) + shift, frame.y(point.value)) for point in line.points]
    parts = [outline(path(track), line.look, 1.5)] if len(track) > 1 else []
    if line.fitted:
        curve = [(frame.x(cpus) + shift, frame.y(value)) for cpus, value in line.fitted]
        what = tag("title", f"fitted, {line.name}")
        parts.append(
            tag("path", what, d=path(curve), fill="none", stroke="currentColor", stroke_width=3, opacity=0.35)
        )
    for point, (x, y) in zip(line.points, track, strict=True):
        parts += _point(line.look, point, frame, x, y)
    return tag("g", *parts, class_=colour_class(line.look))


def _point(look: int, point: PlotPoint, frame: Frame, x: float, y: float) -> list[Html]:
    parts = [
        tag("circle", cx=x, cy=frame.y(run), r=1.6, fill="currentColor", opacity=0.55) for run in point.runs
    ]
    if point.low is not None and point.high is not None:
        low, high = frame.y(point.low), frame.y(point.high)
        ends = f"M{x - 4:.1f} {low:.1f}h8M{x:.1f} {low:.1f}V{high:.1f}M{x - 4:.1f} {high:.1f}h8"
        parts.append(tag("path", d=ends, stroke="currentColor", stroke_width=1.5))
    if point.level is not None:
        at = frame.y(point.level)
        parts.append(tag("path", d=f"M{x - 7:.1f} {at:.1f}h14", stroke="currentColor", stroke_width=2.5))
    parts.append(marker(look, x, y, 4, title=point.title))
    return parts
