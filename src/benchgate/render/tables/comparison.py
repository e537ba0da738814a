"""The table of `benchgate compare`: one line for each figure that both sides have.

Takes the two sides and the error of an interval; gives lines of text. Does not fail: a ratio that has no
meaning is left out, and the line says why.
"""

from __future__ import annotations

from benchgate.base.metrics import Better
from benchgate.base.stats import bootstrap, median
from benchgate.base.text import visible, with_interval
from benchgate.evidence.figures_file import Key, Samples, Side
from benchgate.render.tables import columns, units

COLUMNS = ("figure", "A", "B", "A / B", "better")
LEAST = 5
"""Samples of each side for an interval."""


def table(a: Side, b: Side, alpha: float) -> list[str]:
    keys = [key for key in a.samples if key in b.samples]
    rows = [(_named(key, a, b), *_row(a.samples[key], b.samples[key], alpha)) for key in keys]
    return columns.drawn([COLUMNS, *[[visible(cell) for cell in row] for row in rows]])


def _named(key: Key, a: Side, b: Side) -> str:
    """With the parameters in which the figures of the table differ."""
    known = [dict(one.params) for one in (*a.samples, *b.samples) if one.what == key.what]
    changing = [f".{name}-{value}" for name, value in key.params if len({one.get(name) for one in known}) > 1]
    cpus = "" if all(one.cpus == 1 for one in (*a.samples, *b.samples)) else f" smp{key.cpus}"
    system = f"-{key.system}" if key.system else ""
    alone = len({one.metric for one in (*a.samples, *b.samples)}) == 1
    return f"{key.what}{''.join(changing)}{system}{cpus}" + ("" if alone else f" {key.metric}")


def _row(a: Samples, b: Samples, alpha: float) -> tuple[str, str, str, str]:
    figures = units.shown(median_of(a), a.unit), units.shown(median_of(b), b.unit)
    if a.unit != b.unit or (a.lane and b.lane and a.lane != b.lane):
        return (
            *figures,
            f"clocks {a.lane} and {b.lane}" if a.lane != b.lane else "other unit",
            columns.NOTHING,
        )
    if min(*a.values, *b.values) <= 0:
        return (*figures, columns.NOTHING, columns.NOTHING)
    ratio = median(a.values) / median(b.values)
    low = high = ratio
    if min(len(a.values), len(b.values)) < LEAST:
        return (*figures, f"{ratio:.2f}", _better(a, low, high) if ratio != 1 else columns.NOTHING)
    interval = bootstrap(a.values, b.values).interval(alpha)
    return (
        *figures,
        with_interval(ratio, interval.low, interval.high),
        _better(a, interval.low, interval.high),
    )


def median_of(one: Samples) -> float:
    ordered = sorted(one.values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _better(of: Samples, low: float, high: float) -> str:
    """The side with the better figure, if the whole interval is on one side of 1."""
    if low <= 1 <= high:
        return columns.NOTHING
    return "A" if (high < 1) == (of.better is Better.LESS) else "B"
