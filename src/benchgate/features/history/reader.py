"""Reads a history: the series that it has, the course of a row, and the figures of one session.

Takes an open transaction of `store.reading`; gives frozen data. What the database holds is untrusted: a value
that benchgate never wrote is a HistoryError.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, Row, Select, func, or_, select

from benchgate.base.workload.metrics import MetricDirection
from benchgate.features.history.changes import MOST_POINTS
from benchgate.features.history.course import CoursePoint
from benchgate.features.history.entry import CourseSeries
from benchgate.features.history.errors import HistoryError
from benchgate.features.history.store import POINTS, RUNS, SERIES, SESSIONS

MOST_SERIES = 10_000
MOST_RUNS = 1_000_000
_FIELDS = tuple(field.name for field in fields(CourseSeries))


@dataclass(frozen=True, slots=True)
class NumberedSeries:
    number: int
    series: CourseSeries


@dataclass(frozen=True, slots=True)
class RowSummary:
    row: str
    lane: str
    metrics: int
    sessions: int
    newest: str


def series_of(
    connection: Connection, name: str, metric: str = "", lane: str = ""
) -> tuple[NumberedSeries, ...]:
    """The series of a row (all its CPU counts) or of a cell; without a name, of all rows."""
    wanted = select(SERIES)
    if name:
        wanted = wanted.where(or_(SERIES.c.row == name, SERIES.c.cell == name))
    for column, word in ((SERIES.c.metric, metric), (SERIES.c.lane, lane)):
        wanted = wanted.where(column == word) if word else wanted
    order = (SERIES.c.row, SERIES.c.lane, SERIES.c.machine, SERIES.c.params, SERIES.c.cpus, SERIES.c.id)
    rows = connection.execute(wanted.order_by(*order).limit(MOST_SERIES))
    return tuple(NumberedSeries(row.id, _series(row)) for row in rows)


def known_rows(connection: Connection) -> tuple[RowSummary, ...]:
    """Every row with its number of sessions, by name."""
    wanted = (
        select(
            SERIES.c.row,
            SERIES.c.lane,
            func.count(SERIES.c.metric.distinct()),
            func.count(POINTS.c.session.distinct()),
            func.max(POINTS.c.started),
        )
        .join(POINTS, POINTS.c.series == SERIES.c.id)
        .group_by(SERIES.c.row, SERIES.c.lane)
        .order_by(SERIES.c.row, SERIES.c.lane)
        .limit(MOST_SERIES)
    )
    return tuple(RowSummary(*map(_plain, row)) for row in connection.execute(wanted))


def _plain(value: Any) -> Any:
    return value if type(value) is int else str(value)


# ---- a course


def points_query(number: int, most: int = MOST_POINTS) -> Select[Any]:
    """The newest points of a series, newest first: one stretch of the table's primary key."""
    return (
        select(POINTS, SESSIONS.c.name, SESSIONS.c.commit, SESSIONS.c.changes, SESSIONS.c.verified)
        .join(SESSIONS, SESSIONS.c.id == POINTS.c.session)
        .where(POINTS.c.series == number)
        .order_by(POINTS.c.series.desc(), POINTS.c.started.desc(), POINTS.c.session.desc())
        .limit(most)
    )


def points_of(connection: Connection, number: int, most: int = MOST_POINTS) -> tuple[CoursePoint, ...]:
    """Oldest first."""
    rows = connection.execute(points_query(number, most)).all()
    return tuple(_point(row) for row in reversed(rows))


def count_points(connection: Connection, number: int) -> int:
    counted = select(func.count()).select_from(POINTS).where(POINTS.c.series == number)
    return int(connection.execute(counted).scalar_one())


def runs_query(number: int) -> Select[Any]:
    """Every run of a series, session by session: one stretch of the table's primary key."""
    wanted = select(RUNS.c.session, RUNS.c.value).where(RUNS.c.series == number)
    return wanted.order_by(RUNS.c.series, RUNS.c.session, RUNS.c.run).limit(MOST_RUNS)


def samples_of(connection: Connection, number: int) -> Mapping[str, Sequence[float]]:
    """The samples of each session of a series."""
    names = select(SESSIONS.c.id, SESSIONS.c.name).join(POINTS, POINTS.c.session == SESSIONS.c.id)
    known = {row.id: row.name for row in connection.execute(names.where(POINTS.c.series == number))}
    result: dict[str, list[float]] = {name: [] for name in known.values()}
    for session, value in connection.execute(runs_query(number)):
        result[known[session]].append(_figure(value))
    return result


def _point(row: Row[Any]) -> CoursePoint:
    low, high = (None if end is None else _figure(end) for end in (row.low, row.high))
    return CoursePoint(
        session=str(row.name),
        started=str(row.started),
        commit=str(row.commit),
        is_dirty=bool(row.changes),
        verified=row.verified is True,
        runs=_count(row.runs),
        median=_figure(row.median),
        low=low,
        high=high,
        guest=str(row.guest),
    )


def _series(row: Row[Any]) -> CourseSeries:
    values: dict[str, Any] = {name: getattr(row, name) for name in _FIELDS}
    if type(values["cpus"]) is not int or values["better"] not in tuple(MetricDirection):
        raise HistoryError(f"the history's series {values['cell']!r:.80} is not as benchgate writes it")
    plain: dict[str, Any] = {name: str(value) for name, value in values.items()}
    return CourseSeries(**plain | {"cpus": values["cpus"]})


def _figure(value: object) -> float:
    """SQLite keeps any type in any column."""
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise HistoryError(f"the history holds {value!r:.40} where a figure must be; import into a new one")
    return float(value)  # type: ignore[arg-type]


def _count(value: object) -> int:
    if type(value) is not int or value < 1:
        raise HistoryError(f"the history holds {value!r:.40} where a count must be; import into a new one")
    return value


# ---- one session


@dataclass(frozen=True, slots=True)
class StoredSession:
    name: str
    verified: bool
    samples: tuple[tuple[CourseSeries, tuple[float, ...]], ...]
    steps: Mapping[CourseSeries, float | None]
    """Each sample of a series may be off by so much. None: not known."""


def session_of(connection: Connection, word: str) -> StoredSession:
    """`latest`, `latest~N`, the beginning of a session's id, or `commit=` and the beginning of a commit."""
    row = connection.execute(_session_query(word).limit(1)).first()
    if row is None:
        raise HistoryError(f"the history has no session {word!r:.80}; `benchgate history` lists what it has")
    wanted = (
        select(SERIES, RUNS.c.value, POINTS.c.step)
        .join(POINTS, POINTS.c.series == SERIES.c.id)
        .join(RUNS, (RUNS.c.series == POINTS.c.series) & (RUNS.c.session == POINTS.c.session))
        .where(POINTS.c.session == row.id)
        .order_by(SERIES.c.id, RUNS.c.run)
        .limit(MOST_RUNS)
    )
    found: dict[CourseSeries, list[float]] = {}
    steps: dict[CourseSeries, float | None] = {}
    for run in connection.execute(wanted):
        series = _series(run)
        found.setdefault(series, []).append(_figure(run.value))
        steps[series] = None if run.step is None else _step(run.step)
    samples = tuple((series, tuple(values)) for series, values in found.items())
    return StoredSession(str(row.name), row.verified is True, samples, steps)


def _step(value: object) -> float:
    step = _figure(value)
    if step < 0:
        raise HistoryError(f"the history holds a step of {step:g}; import into a new one")
    return step


def _session_query(word: str) -> Select[Any]:
    newest = select(SESSIONS).order_by(SESSIONS.c.started.desc(), SESSIONS.c.name.desc())
    name, _, back = word.partition("~")
    if name == "latest" and (not back or (back.isascii() and back.isdecimal() and len(back) < 7)):
        return newest.offset(int(back or 0))
    column, start = (SESSIONS.c.commit, word[7:]) if word.startswith("commit=") else (SESSIONS.c.name, word)
    if len(start) < 4:
        raise HistoryError(f"{word!r:.80} names no session: give at least 4 characters of its id or commit")
    return newest.where(column.startswith(start, autoescape=True))
