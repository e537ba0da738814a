"""Efficiency: the speedup of the work divided by the CPUs, one panel a workload with its systems in it.

Takes a SessionView; gives the chapter, or None without any speedup. `panels_of` serves speedup.svg, too. Does
not fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchgate.base.cells import Lane, Window
from benchgate.render.figures import ArmFigures, ArmSeries, Speedup, series_of
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.look import legend, looks_of
from benchgate.render.page.pictures import by_cpus
from benchgate.render.page.pictures.by_cpus import Panel, PlotLine, PlotPoint
from benchgate.render.page.pictures.frame import short
from benchgate.render.page.tables import figure, listed
from benchgate.render.view import SessionView

TITLE = "Efficiency over CPUs"
ORDER = 20
FIXED_TIME = "time_ns"
"""The parameter of a workload that runs for that long."""
ABOUT = (
    "Efficiency is the speedup of the work window divided by the ratio of CPUs; 100% is the ideal, dashed. "
    "Every small dot is a run, the marker is the verdict's or the medians' ratio, a bar is its interval. A "
    "thick grey line is the host's own capacity; a pale broad line in a system's colour is the simplest "
    "scaling law that describes it, if one does. Variants and broken arms are not drawn."
)


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """One panel: its heading, the data of its picture, and the names of its lines."""

    heading: str
    panel: Panel
    names: tuple[tuple[int, str], ...]


def body(view: SessionView) -> Html | None:
    drawn = panels_of(view)
    if not drawn:
        return None
    names = dict.fromkeys(name for one in drawn for name in one.names)
    pictures = (figure(by_cpus.draw(one.panel, percent), one.heading) for one in drawn)
    laws = listed([one.said for one in view.fits]) if view.fits else None
    return join([tag("p", ABOUT), legend(list(names)), tag("div", *pictures, class_="panels"), laws])


def percent(value: float) -> str:
    return f"{short(100 * value)}%"


def panels_of(view: SessionView) -> tuple[CurvePanel, ...]:
    looks = looks_of(view)
    groups: dict[str, list[ArmSeries]] = {}
    for series in series_of(view):
        if _points(series):
            groups.setdefault(f"{series.label}, {series.mode} mode", []).append(series)
    return tuple(_drawn(view, heading, group, looks) for heading, group in groups.items())


def _drawn(
    view: SessionView, heading: str, group: Sequence[ArmSeries], looks: Mapping[str, int]
) -> CurvePanel:
    lines = tuple(PlotLine(looks[one.place], one.place, _points(one), _fitted(view, one)) for one in group)
    counts = {point.cpus for line in lines for point in line.points}
    lanes = {one.lane for one in group}
    host = tuple(
        (cpus, bound.ratio / cpus)
        for cpus, bound in sorted(view.capacity.items())
        if cpus in counts and cpus > 1 and bound.lane in lanes and bound.lane is not Lane.INSN
    )
    told = "; ".join(f"{line.name}: {', '.join(point.title for point in line.points)}" for line in lines)
    lowest = min(value for line in lines for point in line.points for value in _values(point))
    title = f"Efficiency of {heading}. {told}"
    panel = Panel(title, lines, ideal=1.0, host=host, least=min(lowest, 0.9), most=1.0)
    return CurvePanel(heading, panel, tuple((line.look, line.name) for line in lines))


STEPS = 24


def _fitted(view: SessionView, series: ArmSeries) -> tuple[tuple[float, float], ...]:
    """The curve of the simplest law that describes the row; empty if none does."""
    key = (series.system, series.label, series.lane)
    laws = [one for one in view.fits if (one.system, one.label, one.lane) == key and one.is_shaped]
    if not laws:
        return ()
    law, most = laws[0], max(laws[0].cpus)
    counts = [most ** (step / STEPS) for step in range(STEPS + 1)]
    return tuple((cpus, law.speedup(cpus) / cpus) for cpus in counts)


def _values(point: PlotPoint) -> tuple[float, ...]:
    return (point.value, *point.runs, point.low or point.value)


def _points(series: ArmSeries) -> tuple[PlotPoint, ...]:
    """The base arm first; none without a speedup, and none of a workload that runs for a fixed time, whose
    work takes as long on every CPU count: its metrics say how it scales."""
    if dict(series.params).get(FIXED_TIME):
        return ()
    seen = [(arm, arm.speedups.get(Window.WORK)) for arm in series.arms if not arm.is_variant]
    found = [(arm, speedup) for arm, speedup in seen if speedup is not None]
    if not found:
        return ()
    cpus = found[0][1].base_cpus
    base = next((arm for arm in series.arms if arm.cpus == cpus and not arm.is_variant), None)
    if base is None or base.work is None:
        return ()
    middle = base.work.median
    first = PlotPoint(cpus, 1.0, tuple(middle / work for work, _ in base.samples), title=f"{base.name} 100%")
    return (first, *(_point(arm, speedup, middle) for arm, speedup in found if arm.cpus != cpus))


def _point(arm: ArmFigures, seen: Speedup, middle: float) -> PlotPoint:
    share = seen.base_cpus / arm.cpus
    low, high = (seen.interval.low * share, seen.interval.high * share) if seen.has_interval else (None, None)
    value = seen.ratio * share
    title = f"{arm.name} {percent(value)} ({seen.ratio:.2f}x) {seen.word}".strip()
    runs = tuple(middle / work * share for work, _ in arm.samples)
    return PlotPoint(arm.cpus, value, runs, low, high, title=title)
