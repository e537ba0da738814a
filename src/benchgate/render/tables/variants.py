"""One system with several settings: the cost of each setting, compared with the plain system per arm.

Takes a SessionView; gives text for a terminal or lines of Markdown, and nothing if no system ran with several
settings. `1.13x`: the work takes 1.13 times as long as without that setting, on the same lane, CPU count and
row. No gate uses it. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base import grouped
from benchgate.base.text import visible
from benchgate.render.escape import markdown, markdown_table
from benchgate.render.figures import ArmSeries, series_of
from benchgate.render.tables import columns, units
from benchgate.render.view import SessionView

TITLE = "Settings of one system"
ABOUT = "The time of the work with a setting, divided by the time without it; same lane, CPUs and row."


def text(view: SessionView, room: int) -> list[str]:
    lines: list[str] = []
    for name, rows in _tables(view):
        cells = [[visible(cell) for cell in row] for row in rows]
        drawn = columns.drawn(cells)
        if max(map(columns.width, drawn)) > room:
            drawn = [line for row in cells[1:] for line in _stacked(cells[0], row, room)]
        lines += [*columns.wrapped(f"{TITLE}: {visible(name)}. {ABOUT}", room), *drawn, ""]
    return lines


def lines_of_markdown(view: SessionView) -> list[str]:
    lines: list[str] = []
    for name, rows in _tables(view):
        lines += [f"## {TITLE}: {markdown(name)}", "", ABOUT, "", *markdown_table(rows), ""]
    return lines


def _stacked(heading: Sequence[str], row: Sequence[str], room: int) -> list[str]:
    cells = [f"{name} {cell}" for name, cell in zip(heading[1:], row[1:], strict=True)]
    return columns.wrapped(f"{row[0]}: {'; '.join(cells)}", room)


def _tables(view: SessionView) -> list[tuple[str, list[tuple[str, ...]]]]:
    groups = grouped(series_of(view), key=lambda series: (_plain(series), *series.key[1:]))
    return [_table(group, view.alpha) for group in groups.values() if len(group) > 1]


def _plain(series: ArmSeries) -> str:
    """The system's name without its settings, which follow the first dot."""
    return series.system.partition(".")[0]


def _table(group: Sequence[ArmSeries], alpha: float) -> tuple[str, list[tuple[str, ...]]]:
    """Compares with the plain system or, if that did not run, with the first one."""
    base = next((series for series in group if series.system == _plain(series)), group[0])
    names = list(dict.fromkeys(arm.name for series in (base, *group) for arm in series.arms))
    ordered = [base, *(series for series in group if series is not base)]
    label = base.label
    rows = [(series.system, *(_cell(base, series, name, alpha) for name in names)) for series in ordered]
    return f"{label} on {base.lane}", [("system", *names), *rows]


def _cell(base: ArmSeries, series: ArmSeries, name: str, alpha: float) -> str:
    arm, plain = series.arm(name), base.arm(name)
    if arm is None or arm.work is None or arm.is_broken:
        return "INVALID" if arm is not None and arm.is_broken else "-"
    shown = units.shown(arm.work.median, arm.unit)
    if series is base or plain is None or plain.work is None or plain.is_broken or plain.unit != arm.unit:
        return shown
    return f"{shown}, {units.ratio_of(arm, plain, alpha, 2)}"
