"""The table of `benchgate compare`: one line for each figure that both sides have.

Takes the two sides and the error of an interval; gives lines of text. Does not fail: a ratio that has no
meaning is left out, and the line says why.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchgate.base.statistics.stats import VISIBLE_STEP, Interval, median, ratio_interval
from benchgate.base.text import visible, with_interval
from benchgate.base.workload.metrics import MetricDirection
from benchgate.evidence.figures_file import ComparisonSide, FigureKey, Samples
from benchgate.render.tables import columns, units

COLUMNS = ("figure", "A", "B", "A / B", "better")
LEAST = 5
"""An interval needs so many samples of each side."""


def table(a: ComparisonSide, b: ComparisonSide, alpha: float) -> list[str]:
    keys = [key for key in a.samples if key in b.samples]
    rows = [(_named(key, a, b), *_row(a.samples[key], b.samples[key], alpha)) for key in keys]
    return columns.drawn([COLUMNS, *[[visible(cell) for cell in row] for row in rows]])


def steps(a: ComparisonSide, b: ComparisonSide) -> Iterator[str]:
    """What the steps in which figures are printed do to the table."""
    keys = [key for key in a.samples if key in b.samples]
    for name, side in zip("AB", (a, b), strict=True):
        if any(side.samples[key].step is None for key in keys):
            yield (
                f"An earlier benchgate wrote figures of {name}, and did not keep in which steps a guest "
                "prints them: they have no interval. Next: measure again."
            )
        coarse = [f"{_named(key, a, b)} {said}" for key in keys if (said := printed_step(side.samples[key]))]
        if coarse:
            yield f"{name} is printed in steps, and the intervals are wider for it: {', '.join(coarse)}"


def printed_step(of: Samples) -> str:
    """`10.00 ms`; empty if the step does not show in an interval, or is not known."""
    return units.shown(of.step, of.unit) if of.step and of.step > VISIBLE_STEP * min(of.values) else ""


def _named(key: FigureKey, a: ComparisonSide, b: ComparisonSide) -> str:
    """The name has the parameters in which the figures of the table differ."""
    known = [dict(sample.params) for sample in (*a.samples, *b.samples) if sample.what == key.what]
    changing = [f".{name}-{value}" for name, value in key.params if len({one.get(name) for one in known}) > 1]
    cpus = "" if all(sample.cpus == 1 for sample in (*a.samples, *b.samples)) else f" smp{key.cpus}"
    system = f"-{key.system}" if key.system else ""
    alone = len({sample.metric for sample in (*a.samples, *b.samples)}) == 1
    return f"{key.what}{''.join(changing)}{system}{cpus}" + ("" if alone else f" {key.metric}")


def _row(a: Samples, b: Samples, alpha: float) -> tuple[str, str, str, str]:
    figures = units.shown(median(a.values), a.unit), units.shown(median(b.values), b.unit)
    if a.unit != b.unit or (a.lane and b.lane and a.lane != b.lane):
        why = f"clocks {a.lane} and {b.lane}" if a.lane != b.lane else "other unit"
        return (*figures, why, columns.NOTHING)
    if min(*a.values, *b.values) <= 0:
        return (*figures, columns.NOTHING, columns.NOTHING)
    ratio = median(a.values) / median(b.values)
    if a.step is None or b.step is None:
        return (*figures, f"{ratio:.2f}", columns.NOTHING)
    steps = a.step, b.step
    if min(len(a.values), len(b.values)) < LEAST:
        ends = ratio_interval((median(a.values),), (median(b.values),), alpha, steps)
        return (*figures, f"{ratio:.2f}", _better(a, ends) if ratio != 1 else columns.NOTHING)
    interval = ratio_interval(a.values, b.values, alpha, steps)
    return (*figures, with_interval(ratio, interval.low, interval.high), _better(a, interval))


def _better(of: Samples, interval: Interval) -> str:
    """The side with the better figure, if the whole interval is on one side of 1."""
    if interval.low <= 1 <= interval.high:
        return columns.NOTHING
    return "A" if (interval.high < 1) == (of.better is MetricDirection.LESS) else "B"
