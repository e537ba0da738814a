"""`benchgate history`: what a history has, the courses of a row, and a session as a side of `compare`.

Takes a place, a name and the width of the screen; gives text. `read_side` takes `SESSION`, or
`SESSION:SYSTEM` for one of its systems, and gives a `ComparisonSide`. Fails with HistoryError, which says
what the history has instead, and with UsageError for a system that a session does not have.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from benchgate.base.cells import Lane
from benchgate.base.errors import HistoryError, UsageError
from benchgate.base.system.machines import IDEAL
from benchgate.base.text import counted, suggestion, visible
from benchgate.base.workload.metrics import MetricDirection
from benchgate.evidence.figures_file import ComparisonSide, FigureKey, Samples
from benchgate.evidence.results_csv import split_params
from benchgate.history import place, reader, store
from benchgate.history.changes import ERROR, MOST_POINTS
from benchgate.history.course import Course, course_of
from benchgate.history.entry import CourseSeries
from benchgate.history.place import Place
from benchgate.history.reader import StoredSession
from benchgate.render.page import history_page
from benchgate.render.tables import columns
from benchgate.render.tables import course as course_table
from benchgate.session.rejudging import rejudge

MOST_COURSES = 16
MOST_ON_PAGE = 100
"""The page of all rows has so many courses, and so many sessions of each."""


@dataclass(frozen=True, slots=True)
class CourseQuery:
    """A row or cell, and which of its series."""

    name: str
    metric: str = "work"
    lane: str = ""
    last: int = MOST_POINTS
    error: float = ERROR


def rows_text(place: Place) -> str:
    """What the history has: every row."""
    with store.reading(place) as connection:
        known = reader.known_rows(connection)
    heading = ("row", "lane", "metrics", "sessions", "newest")
    rows = [[visible(str(cell)) for cell in (one.row, one.lane, one.metrics, one.sessions, one.newest)]
            for one in known]  # fmt: skip
    return "\n".join([f"history {place}", *columns.drawn([heading, *rows])])


def courses(place: Place, wanted: CourseQuery) -> tuple[Course, ...]:
    with store.reading(place) as connection:
        found = reader.series_of(connection, wanted.name, wanted.metric, wanted.lane)
        if not found:
            raise HistoryError(_unknown(connection, place, wanted))
        if len(found) > MOST_COURSES:
            raise HistoryError(
                f"{wanted.name} has {counted(len(found), 'course')} of {wanted.metric}; name a cell "
                f"such as {found[0].series.cell}, or one --lane"
            )
        return tuple(_course(connection, one, wanted) for one in found)


def courses_text(place: Place, wanted: CourseQuery, width: int) -> str:
    drawn = [course_table.render(course, width) for course in courses(place, wanted)]
    return "\n\n".join("\n".join(lines) for lines in drawn)


def write_page(place: Place, wanted: CourseQuery, file: Path) -> Path:
    """A query without a name is for all rows, and for only the newest sessions of each course."""
    rejudge.require_outside(file)
    if wanted.name:
        made = history_page.page(wanted.name, courses(place, wanted), str(place))
    else:
        found, left_out = _all_courses(place, wanted)
        made = history_page.page("all rows", found, str(place), left_out)
    try:
        file.write_text(made, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise HistoryError(f"{file} cannot be written: {error.strerror}") from None
    return file


def _all_courses(place: Place, wanted: CourseQuery) -> tuple[tuple[Course, ...], int]:
    """The courses that one page can hold, and how many it leaves out."""
    short = replace(wanted, last=min(wanted.last, MOST_ON_PAGE))
    with store.reading(place) as connection:
        found = reader.series_of(connection, "", wanted.metric, wanted.lane)
        shown = found[:MOST_ON_PAGE]
        return tuple(_course(connection, one, short) for one in shown), len(found) - len(shown)


def _course(connection: Connection, found: reader.NumberedSeries, wanted: CourseQuery) -> Course:
    points = reader.points_of(connection, found.number, wanted.last)
    is_exact = found.series.lane == Lane.INSN
    samples = reader.samples_of(connection, found.number) if is_exact else {}
    left_out = reader.count_points(connection, found.number) - len(points)
    return course_of(found.series, points, samples, wanted.error, left_out)


def _unknown(connection: Connection, place: Place, wanted: CourseQuery) -> str:
    others = reader.series_of(connection, wanted.name)
    if others:
        metrics = ", ".join(sorted({one.series.metric for one in others}))
        lanes = ", ".join(sorted({one.series.lane for one in others}))
        asked = f"{wanted.metric} on lane {wanted.lane}" if wanted.lane else wanted.metric
        return f"{wanted.name} has no {asked} in {place}; it has {metrics} (--metric) on {lanes} (--lane)"
    rows = {one.row for one in reader.known_rows(connection)}
    near = suggestion(wanted.name, rows, "`benchgate history` lists its rows")
    return f"the history {place} has no row or cell {wanted.name!r:.100}: {near}"


def read_side(word: str, db: str) -> ComparisonSide:
    wanted, _, system = word.partition(":")
    with store.reading(place.find(db, os.environ)) as connection:
        return side_of(reader.session_of(connection, wanted), system)


def side_of(session: StoredSession, system: str = "") -> ComparisonSide:
    systems = tuple(sorted({series.system for series, _ in session.samples}))
    if system and system not in systems:
        raise UsageError(f"session {session.name} has no system {system}; it has {', '.join(systems)}")
    chosen = (system,) if system else systems
    kept = [one for one in session.samples if one[0].system in chosen]
    found: dict[FigureKey, Samples] = {}
    for series, values in kept:
        key = _key(series, session.name)
        if key in found:  # two clocks, or two placements of one CPU count
            key = replace(key, what=f"{series.workload} ({series.lane} {series.placement})")
        found[key] = Samples(
            series.lane, series.shown_unit, MetricDirection(series.better), values, session.steps[series]
        )
    mark = "" if session.verified else ", UNVERIFIED"
    name = visible(f"history:{session.name} ({', '.join(chosen)}{mark})")
    host = next((one.machine for one, _ in kept if one.machine and one.lane != Lane.INSN), "")
    models = {one.machine if one.lane == Lane.INSN and one.machine else IDEAL for one, _ in kept}
    return ComparisonSide(name, chosen, found, host, tuple(sorted(models)))


def _key(series: CourseSeries, where: str) -> FigureKey:
    params = split_params(series.params, f"{where}: params")
    return FigureKey(series.workload, params, series.cpus, series.metric, series.system)
