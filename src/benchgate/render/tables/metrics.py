"""The table of a row's metrics, one line per metric and arm.

Takes a SessionView and a series; gives text for a terminal or lines of Markdown, and nothing if the workload
declares no metric and no gate limits or compares a window. Does not fail.
"""

from __future__ import annotations

from benchgate.base.gates import Verdict
from benchgate.base.text import visible, with_interval
from benchgate.render.escape import markdown
from benchgate.render.figures import Series
from benchgate.render.metrics import MetricFigures, metrics_of
from benchgate.render.tables import columns, units
from benchgate.render.view import SessionView

COLUMNS = ("metric", "arm", "median", "min .. max", "better", "gate")
_RULE = "|---|---|--:|--:|--:|---|"


def text(view: SessionView, series: Series, room: int) -> list[str]:
    rows = [[visible(cell) for cell in row] for row in _rows(view, series)]
    if not rows:
        return []
    lines = columns.drawn([list(COLUMNS), *rows])
    if max(map(columns.width, lines)) <= room:
        return lines
    return [line for row in rows for line in columns.wrapped("  ".join(row), room)]


def lines_of_markdown(view: SessionView, series: Series) -> list[str]:
    rows = _rows(view, series)
    if not rows:
        return []
    drawn = [f"| {' | '.join(markdown(cell) for cell in row)} |" for row in rows]
    return [f"| {' | '.join(COLUMNS)} |", _RULE, *drawn, ""]


def _rows(view: SessionView, series: Series) -> list[tuple[str, ...]]:
    return [_row(one) for one in metrics_of(view, series)]


def _row(one: MetricFigures) -> tuple[str, ...]:
    return (
        one.metric.name,
        one.arm.name,
        units.shown(one.spread.median, one.unit),
        units.span(one.spread, one.unit),
        _factor(one),
        "; ".join(map(gate, one.verdicts)) or columns.NOTHING,
    )


def _factor(one: MetricFigures) -> str:
    if one.factor is None:
        return columns.NOTHING
    if one.interval is None:
        return f"{one.factor:.2f}x"
    return with_interval(one.factor, one.interval.low, one.interval.high, "x")


def gate(one: Verdict) -> str:
    """`<= 900 ns PASS`, `1.20 [1.18, 1.21] of linux >= 1 PASS`."""
    low, high, figure = one.low, one.high, one.figure
    sign = ">=" if one.bound == "least" else "<="
    threshold = f"{sign} {one.threshold:g}" + (f" {one.unit}" if one.unit not in (None, "x", "") else "")
    if one.base_system is None or figure is None or low is None or high is None:
        return f"{threshold} {one.outcome}"
    return f"{with_interval(figure, low, high, 'x')} of {one.base_system} {threshold} {one.outcome}"
