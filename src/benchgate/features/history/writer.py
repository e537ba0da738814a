"""Writes one session into the history, in one transaction, and never doubly.

Takes an open transaction of `store.writing` and an `Entry`; gives what it did. Fails with HistoryError if the
history has another session of this id.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, CursorResult, delete, insert, or_, select

from benchgate.base.statistics.stats import median, median_interval
from benchgate.features.history.entry import CourseSeries, Entry
from benchgate.features.history.errors import HistoryError
from benchgate.features.history.store import POINTS, RUNS, SERIES, SESSIONS

ERROR = 0.05
"""An interval of a median misses it with at most this probability on each side. 5 runs reach 0.031."""
_AT_ONCE = 500
"""SQLite takes only so many values in one statement."""


class ImportOutcome(StrEnum):
    NEW = "imported"
    KNOWN = "already in the history"
    VERIFIED = "verified now: it replaces the unverified import"


def write(connection: Connection, entry: Entry) -> ImportOutcome:
    same = or_(SESSIONS.c.name == entry.session, SESSIONS.c.manifest == entry.manifest)
    found = connection.execute(select(SESSIONS).where(same)).all()
    if not found:
        _add(connection, entry)
        return ImportOutcome.NEW
    known = found[0]
    if len(found) > 1 or (known.name, known.manifest) != (entry.session, entry.manifest):
        raise HistoryError(
            f"session {entry.session} has other files than the one that is in the history as {known.name} "
            f"(manifest {known.manifest[:12]}, now {entry.manifest[:12]}): one of them was changed or sealed "
            "again; next: benchgate verify DIR"
        )
    if known.verified or not entry.verified:
        return ImportOutcome.KNOWN
    for table in (RUNS, POINTS):
        connection.execute(delete(table).where(table.c.session == known.id))
    connection.execute(delete(SESSIONS).where(SESSIONS.c.id == known.id))
    _add(connection, entry)
    return ImportOutcome.VERIFIED


def _add(connection: Connection, entry: Entry) -> None:
    names = ("manifest", "started", "commit", "changes", "version", "verified", "note")
    facts = {name: getattr(entry, name) for name in names}
    made = connection.execute(insert(SESSIONS).values(name=entry.session, **facts))
    session = _number(made)
    numbers = _numbers(connection, entry.samples)
    points, runs = [], []
    for series, values in entry.samples.items():
        place = {"series": numbers[series], "session": session}
        rest = {"started": entry.started, "guest": entry.guests[series]}
        points.append({**place, **rest, **figures(values, entry.steps.get(series, 0.0))})
        runs += [{**place, "run": run, "value": value} for run, value in values.items()]
    connection.execute(insert(POINTS), points)
    connection.execute(insert(RUNS), runs)


def figures(values: Mapping[int, float], step: float | None) -> dict[str, float | int | None]:
    """The median of the runs and its interval, wider by the step in which they are printed; no interval of
    too few runs, or if the step is not known."""
    samples = tuple(values.values())
    interval, off = median_interval(samples, (len(samples),), ERROR), math.inf if step is None else step
    ends = {"low": interval.low - off, "high": interval.high + off}
    finite = {name: end if math.isfinite(end) else None for name, end in ends.items()}
    return {"runs": len(samples), "median": median(samples), **finite, "step": step}


def _numbers(connection: Connection, wanted: Iterable[CourseSeries]) -> dict[CourseSeries, int]:
    """The ids of these series; those that are new get one."""
    keys = {_key(series): series for series in wanted}
    result: dict[CourseSeries, int] = {}
    names = list(keys)
    for part in (names[n : n + _AT_ONCE] for n in range(0, len(names), _AT_ONCE)):
        rows = connection.execute(select(SERIES.c.key, SERIES.c.id).where(SERIES.c.key.in_(part)))
        result |= {keys[key]: int(number) for key, number in rows}
    for key, series in keys.items():
        if series not in result:
            result[series] = _number(connection.execute(insert(SERIES).values(key=key, **asdict(series))))
    return result


def _key(series: CourseSeries) -> str:
    return hashlib.sha256(json.dumps(asdict(series), sort_keys=True).encode()).hexdigest()


def _number(made: CursorResult[Any]) -> int:
    """The id of the row that was inserted."""
    key = made.inserted_primary_key
    if not key:
        raise HistoryError("the database gave no id for a new row; the session was not imported")
    return int(key[0])
