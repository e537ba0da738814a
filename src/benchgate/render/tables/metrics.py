"""The table of a row's metrics, one line per metric and arm.

Takes a SessionView and a series; gives text for a terminal or lines of Markdown, and nothing if the workload
declares no metric and no gate limits or compares a window. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate import hooks
from benchgate.base.gates import Verdict
from benchgate.base.text import visible, with_interval
from benchgate.render.escape import markdown
from benchgate.render.figures import ArmSeries
from benchgate.render.metrics import MetricFigures, metrics_of
from benchgate.render.tables import columns, units
from benchgate.render.view import SessionView

COLUMNS = (
    ("metric", "---", 0),
    ("arm", "---", 0),
    ("median", "--:", 0),
    ("merged", "--:", 0),
    ("min .. max", "--:", 3),
    ("better", "--:", 2),
    ("gate", "---", 0),
)
"""The heading, Markdown's rule below it, and the order in which columns are left out on a terminal: largest
first, 0 never."""
CLAIMED = ", claimed"
"""Stands behind a number that only the guest says, on a clock that measures others itself."""
NAMES = tuple(name for name, _, _ in COLUMNS)
MERGED = (
    "median is that of the runs' own figures, which the gates use; merged is the percentile of all counted "
    "runs together, from their merged histograms"
)


def text(view: SessionView, series: ArmSeries, room: int) -> list[str]:
    """The gates are on lines of their own if they do not fit beside the figures."""
    rows = [tuple(map(visible, row)) for row in rows_of(metrics_of(view, series))]
    if not rows:
        return []
    order = [number for _, _, number in COLUMNS]
    lines = columns.drawn(columns.fitted([NAMES, *rows], order, room))
    if max(map(columns.width, lines)) <= room:
        return lines
    lines = columns.drawn(columns.fitted([NAMES[:-1], *(row[:-1] for row in rows)], order, room))
    gates = [columns.wrapped(f"  {row[-1]}", room) if row[-1] != columns.NOTHING else [] for row in rows]
    below = [line for figures, gate in zip(lines[2:], gates, strict=True) for line in (figures, *gate)]
    return [part for line in (*lines[:2], *below) for part in _cut(line, room)]


def _cut(line: str, room: int) -> list[str]:
    return [line] if columns.width(line) <= room else columns.wrapped(line, room)


def lines_of_markdown(view: SessionView, series: ArmSeries) -> list[str]:
    rows = rows_of(metrics_of(view, series))
    if not rows:
        return []
    kept = columns.used(NAMES, rows)
    heading = [[column[part] for column in COLUMNS] for part in (0, 1)]
    drawn = [[str(row[n]) for n in kept] for row in heading]
    drawn += [[markdown(row[n]) for n in kept] for row in rows]
    return [*(f"| {' | '.join(row)} |" for row in drawn), ""]


def rows_of(figures: Iterable[MetricFigures]) -> list[tuple[str, ...]]:
    """The cells of the table, under NAMES."""
    return list(map(_row, figures))


def _row(figures: MetricFigures) -> tuple[str, ...]:
    return (
        figures.metric.name,
        figures.arm.name,
        units.shown(figures.spread.median, figures.unit) + (CLAIMED if figures.is_claimed else ""),
        columns.NOTHING if figures.merged is None else units.shown(figures.merged, figures.unit),
        units.span(figures.spread, figures.unit),
        _factor(figures),
        "; ".join(map(gate, figures.verdicts)) or columns.NOTHING,
    )


def _factor(figures: MetricFigures) -> str:
    if figures.factor is None:
        return columns.NOTHING
    if figures.interval is None:
        return f"{figures.factor:.2f}x"
    return with_interval(figures.factor, figures.interval.low, figures.interval.high, "x")


def gate(verdict: Verdict) -> str:
    """`<= 900 ns PASS`, `1.20x [1.18, 1.21] of linux >= 1x PASS`, `1.01x [1.00, 1.02] of the FILE`."""
    threshold = f"{units.limit(verdict)} {verdict.outcome}"
    other = verdict.base_system or (f"the {hooks.kept_name(verdict.gate)}" if verdict.against else "")
    if not other:
        return threshold
    if verdict.figure is None or verdict.low is None or verdict.high is None:
        return f"of {other} {threshold}"
    return f"{with_interval(verdict.figure, verdict.low, verdict.high, 'x')} of {other} {threshold}"
