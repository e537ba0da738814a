"""The course of a series for a terminal: a picture of all points, the changes, and the newest sessions.

Takes a `Course` and the width of the screen; gives lines of text. Plain characters only, so that a log or a
pipe shows the same. Does not fail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchgate.base.statistics.stats import Spread
from benchgate.base.text import UNAVAILABLE, counted, visible
from benchgate.features.history.course import Change, Course, CoursePoint
from benchgate.render.tables import columns, units

HEIGHT = 9
LEAST_WIDTH = 56
MOST_LISTED = 20
_COMMIT = 10
HEADING = ("session", "commit", "runs", "median", "interval", "")
_LEAVE_OUT = (0, 1, 3, 0, 2, 0)
"""A narrow terminal leaves out the number of runs first, then the interval."""
POINT, UNVERIFIED, BORDER = "*", "?", "|"


def render(course: Course, width: int, listed: int = MOST_LISTED) -> list[str]:
    width = max(width, LEAST_WIDTH)
    return [
        *heading(course, width),
        "",
        *_picture(course, width),
        "",
        *(line for said in sentences(course) for line in columns.wrapped(said, width)),
        "",
        *_newest(course, width, listed),
    ]


def heading(course: Course, width: int) -> list[str]:
    of = course.series
    where = f", {of.machine}" if of.machine else ""
    params = f" ({of.params})" if of.params else ""
    said = f"{of.cell} {of.metric}{params}: {counted(len(course.points), 'session')}, lane {of.lane}{where}"
    older = [f"{counted(course.left_out, 'older session')} not shown"] if course.left_out else []
    return [line for text in (said, *older) for line in columns.wrapped(visible(text), width)]


# ---- what changed


def sentences(course: Course) -> list[str]:
    result = [change_said(course, change) for change in course.changes]
    unverified = sum(not point.verified for point in course.points)
    if unverified:
        result.append(
            f"{counted(unverified, 'session')} UNVERIFIED (shown as {UNVERIFIED}): not part of any level"
        )
    return [*(result or ["no change of level found"]), f"method: {course.method}"]


def change_said(course: Course, change: Change) -> str:
    """`2026-11-20 12:00, 0123abcdef (before: 0456...): 600.0 ms -> 640.1 ms, 1.067x: worse`."""
    first = course.points[change.at]
    before = [point for point in course.points[: change.at] if point.verified][-1]
    unit = course.series.shown_unit
    ratio = "" if change.ratio is None else f", {change.ratio:.4g}x"
    return visible(
        f"{_day(first)} {_commit(first)} (the one before: {_day(before)} {_commit(before)}): "
        f"{units.shown(change.before, unit)} -> {units.shown(change.after, unit)}{ratio}: "
        f"{'worse' if change.is_worse else 'better'}"
    )


def change_in_short(course: Course, change: Change) -> str:
    """`2026-11-20 worse 1.067x`."""
    ratio = "" if change.ratio is None else f" {change.ratio:.4g}x"
    return f"{course.points[change.at].started[:10]} {'worse' if change.is_worse else 'better'}{ratio}"


def _day(point: CoursePoint) -> str:
    return point.started[:16].replace("T", " ")


def _commit(point: CoursePoint) -> str:
    if point.commit in ("", UNAVAILABLE):
        return columns.NOTHING
    return point.commit[:_COMMIT] + ("+" if point.is_dirty else "")


# ---- the picture


def _picture(course: Course, width: int) -> list[str]:
    """Every point, or if there are more points than columns the range of those that share a column."""
    unit = course.series.shown_unit
    medians = [point.median for point in course.points]
    low, high = min(medians), max(medians)
    labels = [units.shown(value, unit) for value in (high, low)]
    margin = max(map(columns.width, labels))
    room = width - margin - 3
    grid = [[" "] * min(room, len(medians)) for _ in range(HEIGHT)]
    wide = len(grid[0])

    def column(n: int) -> int:
        return n * wide // len(medians)

    def line(value: float) -> int:
        return round((high - value) / (high - low) * (HEIGHT - 1)) if high > low else HEIGHT // 2

    for change in course.changes:
        for row in grid:
            row[column(change.at)] = BORDER
    for n, point in enumerate(course.points):
        grid[line(point.median)][column(n)] = POINT if point.verified else UNVERIFIED
    ends = {0: labels[0], HEIGHT - 1: labels[1] if high > low else ""}
    if high == low:
        ends = {HEIGHT // 2: labels[0]}
    lines = [f"{_right(ends.get(n, ''), margin)} |{''.join(row)}".rstrip() for n, row in enumerate(grid)]
    first, last = (_day(course.points[n])[:10] for n in (0, -1))
    gap = max(wide - len(first) - len(last), 1)
    axis = f"{first}{' ' * gap}{last}" if wide > len(first) + len(last) else last
    return [*lines, f"{' ' * margin} +{'-' * wide}", f"{' ' * (margin + 2)}{axis}"]


def _right(text: str, size: int) -> str:
    return " " * (size - columns.width(text)) + text


# ---- the newest sessions


def _newest(course: Course, width: int, listed: int) -> list[str]:
    shown = course.points[-listed:]
    starts = {change.at: change for change in course.changes}
    offset = len(course.points) - len(shown)
    rows: list[Sequence[str]] = [HEADING]
    unit = course.series.shown_unit
    for n, point in enumerate(shown, start=offset):
        rows.append([visible(cell) for cell in (*_cells(point, unit), _mark(point, starts.get(n)))])
    if all(not row[-1] for row in rows):
        rows = [row[:-1] for row in rows]
    return columns.drawn(columns.fitted(rows, _LEAVE_OUT[: len(rows[0])], width))


def _cells(point: CoursePoint, unit: str) -> tuple[str, str, str, str, str]:
    return _day(point), _commit(point), *figures(point, unit)


def figures(point: CoursePoint, unit: str) -> tuple[str, str, str]:
    """Its runs, median and interval."""
    interval = columns.NOTHING
    if point.low is not None and point.high is not None:
        interval = units.span(Spread(point.median, point.low, point.high, None), unit)
    return str(point.runs), units.shown(point.median, unit), interval


def _mark(point: CoursePoint, change: Change | None) -> str:
    if not point.verified:
        return "UNVERIFIED"
    if change is None:
        return ""
    ratio = "" if change.ratio is None or not math.isfinite(change.ratio) else f" {change.ratio:.3g}x"
    return f"<- {'worse' if change.is_worse else 'better'}{ratio}"
