"""Formats figures for people: a time with its unit, a speedup with its interval.

Takes numbers; gives short strings. Does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.cells import Window
from benchgate.base.gates import SMALLEST_LOOK, CapacityBound, Verdict
from benchgate.base.statistics import stats
from benchgate.base.statistics.stats import VISIBLE_STEP, Spread
from benchgate.base.system.machines import unit_on
from benchgate.base.text import counted, with_interval
from benchgate.base.workload.metrics import OF_THREADS, SHARE, time_size
from benchgate.render.figures import ArmFigures, ArmSeries, Speedup


def shown(value: float, unit: str) -> str:
    """`637.7 ms`, `1,639 cycles`, `0.9312`, `56.09%`."""
    if unit == SHARE:
        return f"{_four(100 * value)}%"
    if unit != "ns":
        return f"{_number(value)} {unit}".rstrip()
    size, name = time_size(value)
    return f"{_four(value / size)} {name}"


def span(spread: Spread, unit: str) -> str:
    """`630.2 .. 641.0 ms`, both in the unit of the larger one."""
    if unit == SHARE:
        return f"{_four(100 * spread.low)} .. {shown(spread.high, unit)}"
    if unit != "ns":
        return f"{_number(spread.low)} .. {_number(spread.high)} {unit}".rstrip()
    size, name = time_size(spread.high)
    return f"{_four(spread.low / size)} .. {_four(spread.high / size)} {name}"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def step(arm: ArmFigures) -> str:
    """The step of a figure that the guest prints, if it shows in the interval of a ratio; otherwise the step
    of the instruction clock, such as `5.000 us`, or `-` if it has none."""
    if arm.resolution is None or arm.work is None:
        return "-"
    if arm.printed_step > VISIBLE_STEP * arm.work.median:
        return shown(arm.printed_step, arm.unit)
    return shown(arm.resolution.step, "ns") if arm.resolution.step else "-"


def blur(arm: ArmFigures) -> str:
    """The share by which its steps can have changed the work window: `0.02%`."""
    share = arm.blur(Window.WORK)
    return "-" if share is None else f"{share:.2%}"


def disorder(arm: ArmFigures) -> str:
    """How many memory accesses were out of order, in the worst run, and by how much: `none`, `3, 120 ns`."""
    seen = arm.resolution.order if arm.resolution else None
    if seen is None:
        return "-"
    return f"{seen.count:,}, {seen.worst_ns:,} ns" if seen.count else "none"


def speedup(seen: Speedup | None) -> str:
    """`1.92x [1.90, 1.95]`, or `1.92x (1 run)` if there are too few runs for an interval."""
    if seen is None:
        return "-"
    if not seen.has_interval:
        return f"{seen.ratio:.2f}x ({counted(seen.runs, 'run')})"
    return with_interval(seen.ratio, seen.interval.low, seen.interval.high, "x")


def speedup_of(arm: ArmFigures, seen: Speedup | None) -> str:
    """A verdict at an early look uses fewer runs than the arm has."""
    early = seen is not None and seen.has_interval and seen.runs < len(arm.samples)
    return speedup(seen) + (f" (first {seen.runs} runs)" if seen and early else "")


def gate(seen: Speedup | None, *, is_broken: bool) -> str:
    """The gate of this arm: `> 1.6x PASS`."""
    if is_broken:
        return "INVALID"
    if seen is None or not seen.word:
        return "-"
    if seen.threshold is None:
        return seen.word
    return f"{seen.sign} {seen.threshold:g}x {seen.word}"


def cells_of(series: ArmSeries, arm: ArmFigures, capacity: Mapping[int, CapacityBound]) -> dict[str, str]:
    """The cells of an arm in the tables of all arms, by the names of their columns in summary.md."""
    work, total = arm.speedups.get(Window.WORK), arm.speedups.get(Window.TOTAL)
    host = capacity.get(arm.cpus)
    is_of_lane = host is not None and host.lane is series.lane
    return {
        "arm": arm.name,
        "runs": arm.counted_runs,
        "work, median": shown(arm.work.median, arm.unit) if arm.work else "-",
        "min .. max": span(arm.work, arm.unit) if arm.work else "-",
        "CV": percent(arm.work.cv if arm.work else None),
        "speedup of work": speedup_of(arm, work),
        "gate": gate(work, is_broken=arm.is_broken),
        "host capacity": with_interval(host.ratio, host.low, host.high, "x") if host and is_of_lane else "-",
        "time step": step(arm),
        "step error": blur(arm),
        "out of order": disorder(arm),
        "total, median": shown(arm.total.median, arm.unit) if arm.total else "-",
        "speedup of total": speedup_of(arm, total),
        "CPUs": f"{' '.join(map(str, arm.pins)) or 'not pinned'} ({arm.placement})",
    }


def ratio_of(slow: ArmFigures, fast: ArmFigures, alpha: float, digits: int) -> str:
    """`1.92x [1.90, 1.94]`: how many times the work of one arm takes that of another; with too few runs it
    has no interval."""
    tops, bottoms = ([float(work) for work, _ in arm.samples] for arm in (slow, fast))
    ratio = f"{stats.ratio_of_medians(tops, bottoms):.{digits}f}x"
    if min(len(tops), len(bottoms)) < SMALLEST_LOOK:
        return ratio
    seen = stats.ratio_interval(tops, bottoms, alpha, (slow.printed_step, fast.printed_step))
    return f"{ratio} [{seen.low:.{digits}f}, {seen.high:.{digits}f}]"


def unit_of(verdict: Verdict) -> str:
    """The unit of a verdict's figure and threshold. A verdict without a figure does not name one, and earlier
    versions did not name that of a ratio."""
    is_ratio = verdict.base_cpus is not None or bool(verdict.against)
    metric = OF_THREADS.get(verdict.metric)
    usual = "x" if is_ratio and not verdict.parameter else metric.unit if metric else ""
    return unit_on(verdict.system, verdict.unit or usual)


def limit(verdict: Verdict) -> str:
    """What the gate requires: `> 1.6x`, `<= 900.0 ns`; empty without a threshold."""
    if verdict.threshold is None:
        return ""
    unit = unit_of(verdict)
    threshold = f"{verdict.threshold:g}x" if unit == "x" else shown(verdict.threshold, unit)
    return f"{verdict.sign} {threshold}".strip()


def figure(verdict: Verdict) -> str:
    """The figure that is compared with the threshold, without its interval: `1.92x`, `880.0 ns`."""
    if verdict.figure is None:
        return "-"
    return f"{verdict.figure:.2f}x" if unit_of(verdict) == "x" else shown(verdict.figure, unit_of(verdict))


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() or value >= 1000 else f"{value:.4g}"


def _four(value: float) -> str:
    """Four significant digits, with trailing zeros, so that the ends of a span are easy to compare."""
    return f"{value:#.4g}".rstrip(".") if value < 10_000 else f"{value:,.0f}"
