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
    for hidden in ((), ("min .. max",), ("min .. max", "better")):
        kept = [n for n, name in enumerate(COLUMNS) if name not in hidden]
        lines = columns.drawn([[row[n] for n in kept] for row in (COLUMNS, *rows)])
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
    """`<= 900 ns PASS`, `1.20x [1.18, 1.21] of linux >= 1x PASS`."""
    unit = one.unit or ("" if one.base_cpus is None else "x")
    limit = one.threshold or 0.0
    sign = ">=" if one.bound == "least" else "<="
    threshold = f"{sign} {f'{limit:g}x' if unit == 'x' else units.shown(limit, unit)} {one.outcome}"
    if one.base_system is None:
        return threshold
    if one.figure is None or one.low is None or one.high is None:
        return f"of {one.base_system} {threshold}"
    return f"{with_interval(one.figure, one.low, one.high, 'x')} of {one.base_system} {threshold}"
