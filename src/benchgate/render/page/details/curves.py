"""Efficiency: the speedup of the work divided by the CPUs, one panel a workload with its systems in it.

Takes a PageView; gives the part, or None without any speedup. All panels of a session have one axis, and
those of negative controls another. `panels_of` serves speedup.svg, too. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchgate.base import grouped
from benchgate.base.cells import Lane, Window
from benchgate.render.figures import ArmFigures, ArmSeries, Speedup
from benchgate.render.page.html import Html, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures import by_cpus
from benchgate.render.page.pictures.by_cpus import Panel, PlotLimit, PlotLine, PlotPoint
from benchgate.render.page.pictures.frame import short
from benchgate.render.page.tables import figure

TITLE = "Efficiency over CPUs"
ORDER = 50
IS_WHY = True
FIXED_TIME = "time_ns"
"""The parameter of a workload that runs for that long."""
ABOUT = (
    "Efficiency is the speedup of the work window divided by the ratio of CPUs; 100% is the ideal, dashed. "
    "Every small dot is a run, the marker is the verdict's or the medians' ratio, a bar is its interval. A "
    "line with ticks at its ends is a gate's threshold at that CPU count. A thick grey line is the host's "
    "own capacity; a pale broad line in a system's colour is the simplest scaling law that describes it, if "
    "one does. All panels of a session have one axis, those of negative controls another. Variants and "
    "broken arms are not drawn."
)


def about(page: PageView) -> str:
    return ABOUT if any(_points(series) for series in _by_their_work(page, page.every)) else ""


def body(page: PageView) -> Html | None:
    drawn = panels_of(page)
    if not drawn:
        return None
    pictures = (figure(by_cpus.draw(panel, percent), panel.heading) for panel in drawn)
    return tag("div", *pictures, class_="panels")


def percent(value: float) -> str:
    return f"{short(100 * value)}%"


def panels_of(page: PageView) -> tuple[Panel, ...]:
    """One for each workload and mode of this part of the page."""
    every = _families(page, _by_their_work(page, page.every))
    families = _families(page, _by_their_work(page, page.series)).items()
    return tuple(panel for family, of in families for panel in by_cpus.on_one_axis(of, every[family]))


def _by_their_work(page: PageView, every: Sequence[ArmSeries]) -> list[ArmSeries]:
    """Without those of which another metric says how they scale, because each CPU has work of its own."""
    rows = {series.key: row for row in page.rows for series in row.series}
    scaled = {of.key for of in every if any(rows[of.key].scaled(of, arm.cpus) for arm in of.arms)}
    return [series for series in every if series.key not in scaled or any(_limited([series]))]


def _families(page: PageView, series: Sequence[ArmSeries]) -> dict[bool, list[Panel]]:
    """The panels of negative controls, and the others."""
    groups = grouped(filter(_points, series), key=lambda row: f"{row.label}, {row.mode} mode")
    result: dict[bool, list[Panel]] = {}
    for heading, group in groups.items():
        is_control = any(seen.sign.startswith("<") for _, seen in _limited(group))
        result.setdefault(is_control, []).append(_drawn(page, heading, group))
    return result


def _limited(group: Sequence[ArmSeries]) -> Iterator[tuple[ArmFigures, Speedup]]:
    for series in group:
        for arm in series.arms:
            seen = arm.speedups.get(Window.WORK)
            if seen is not None and seen.threshold is not None:
                yield arm, seen


def _limits(group: Sequence[ArmSeries]) -> tuple[PlotLimit, ...]:
    result = {
        (arm.cpus, seen.threshold * seen.base_cpus / arm.cpus): f"{arm.name} {seen.sign} {seen.threshold:g}x"
        for arm, seen in _limited(group)
        if seen.threshold is not None
    }
    return tuple(PlotLimit(*place, f"threshold: {title}") for place, title in result.items())


def _drawn(page: PageView, heading: str, group: Sequence[ArmSeries]) -> Panel:
    looks, view = page.looks, page.view
    lines = tuple(
        PlotLine(looks[series.place], series.place, _points(series), _fitted(page, series))
        for series in group
    )
    counts = {point.cpus for line in lines for point in line.points}
    lanes = {series.lane for series in group} - {Lane.INSN}
    known = [(cpus, of.ratio) for cpus, of in sorted(view.capacity.items()) if of.lane in lanes]
    host = tuple((cpus, ratio / cpus) for cpus, ratio in known if cpus in counts and cpus > 1)
    told = "; ".join(f"{line.name}: {', '.join(point.title for point in line.points)}" for line in lines)
    lowest = min(value for line in lines for point in line.points for value in _values(point))
    title = f"Efficiency of {heading}. {told}"
    limits, least = _limits(group), min(lowest, 0.9)
    return Panel(title, lines, 1.0, host, limits, least, most=1.0, heading=heading)


STEPS = 24


def _fitted(page: PageView, series: ArmSeries) -> tuple[tuple[float, float], ...]:
    """The curve of the simplest law that describes the row; empty if none does."""
    key = (series.system, series.label, series.lane)
    every = [fit.scaling for fit in page.view.fits if (fit.system, fit.label, fit.lane) == key]
    fits = [fit for fit in every if fit.is_shaped]
    if not fits:
        return ()
    law, most = fits[0].law, max(fits[0].counts)
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
    result = [(arm, speedup) for arm, speedup in seen if speedup is not None]
    if not result:
        return ()
    cpus = result[0][1].base_cpus
    base = next((arm for arm in series.arms if arm.cpus == cpus and not arm.is_variant), None)
    if base is None or base.work is None:
        return ()
    middle = base.work.median
    first = PlotPoint(cpus, 1.0, tuple(middle / work for work, _ in base.samples), title=f"{base.name} 100%")
    return (first, *(_point(arm, speedup, middle) for arm, speedup in result if arm.cpus != cpus))


def _point(arm: ArmFigures, seen: Speedup, middle: float) -> PlotPoint:
    share = seen.base_cpus / arm.cpus
    low, high = (seen.interval.low * share, seen.interval.high * share) if seen.has_interval else (None, None)
    value = seen.ratio * share
    title = f"{arm.name} {percent(value)} ({seen.ratio:.2f}x)"
    runs = tuple(middle / work * share for work, _ in arm.samples)
    return PlotPoint(arm.cpus, value, runs, low, high, title=title)
