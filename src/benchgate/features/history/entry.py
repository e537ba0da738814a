"""What the history keeps of one session: its counted runs by series.

Takes the object of session.json and the rows of its runs; gives an `Entry`. Fails with HistoryError for a
session that has no verified run, or whose figures only inform, and with EvidenceError for a session.json that
is not as benchgate writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError
from benchgate.base.system.machines import machine_in, unit_on
from benchgate.base.text import UNAVAILABLE, one_line
from benchgate.evidence.facts import machine_digests, machine_of, read_policy
from benchgate.evidence.figures_file import larger_step
from benchgate.evidence.files import SESSION
from benchgate.evidence.results_csv import joined_params
from benchgate.evidence.rows import RunRow
from benchgate.evidence.session_folder import SESSION_NAME
from benchgate.features.history.errors import HistoryError

FIRST = datetime(2025, 1, 1, tzinfo=UTC)
"""No session is older than benchgate."""
FUTURE = timedelta(hours=1)
"""The clocks of two machines may differ by so much."""
_STARTED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True, slots=True)
class CourseSeries:
    """What a course is of. Figures of two series are never drawn as one course."""

    row: str
    """The cell's row, without a clock's name: the lane says it."""
    cell: str
    system: str
    workload: str
    params: str
    """The parameters as results.csv writes them."""
    mode: str
    cpus: int
    lane: str
    placement: str
    machine: str
    """The simulated machine with its digest on the instruction clock, where figures do not depend on the
    host; empty: ideal."""
    metric: str
    better: str
    unit: str

    @property
    def shown_unit(self) -> str:
        return unit_on(self.system, self.unit)


@dataclass(frozen=True, slots=True)
class Entry:
    session: str
    manifest: str
    """The digest of its manifest, and so of its files."""
    started: str
    commit: str
    changes: str
    """The digest of uncommitted changes; empty if there were none."""
    version: str
    verified: bool
    note: str
    """Why it is not verified."""
    samples: Mapping[CourseSeries, Mapping[int, float]]
    """The value of each run, by series."""
    guests: Mapping[CourseSeries, str]
    """The digest of what was booted; empty if it changed within the session."""
    steps: Mapping[CourseSeries, float | None] = field(default_factory=dict)
    """A sample may be off by so much, because the guest prints it in steps. None: not known; missing: not at
    all."""


def entry_of(facts: Mapping[str, Any], rows: Iterable[RunRow], manifest: str, note: str = "") -> Entry:
    """`note`: why the session is not verified; empty if it is."""
    name, started = str(facts.get("id")), str(facts.get("started"))
    if not SESSION_NAME.fullmatch(name) or not _STARTED.fullmatch(started):
        raise EvidenceError(f"{SESSION}: id {name!r:.60} or started {started!r:.40} is not benchgate's")
    if informs := _informs(facts, name):
        raise HistoryError(
            f"session {name} only informs ({informs}), so its figures are no part of a history"
        )
    samples: dict[CourseSeries, dict[int, float]] = {}
    guests: dict[CourseSeries, str] = {}
    steps: dict[CourseSeries, float | None] = {}
    host, models = machine_of(facts), machine_digests(facts, SESSION)
    for row in rows:
        machine = _model(row.cell.system, models) if row.lane is Lane.INSN else host
        for series, value in _values(row, machine):
            samples.setdefault(series, {})[row.run] = value
            same = guests.setdefault(series, row.guest_digest) == row.guest_digest
            guests[series] = row.guest_digest if same else ""
            steps[series] = larger_step(steps.get(series, 0.0), _step(row, series.metric))
    if not samples:
        raise HistoryError(f"session {name} has no verified run, so there is nothing to keep")
    return Entry(
        session=name,
        manifest=manifest,
        started=started,
        commit=one_line(str(facts.get("commit", ""))),
        changes=one_line(str(facts.get("diff_digest", ""))),
        version=_version(facts),
        verified=not note,
        note=one_line(note),
        samples=samples,
        guests=guests,
        steps=steps,
    )


def require_time(entry: Entry, now: datetime) -> None:
    """HistoryError if the session cannot have begun then: a course is drawn in this order, and `latest` is
    the newest."""
    try:
        started = datetime.strptime(entry.started, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise HistoryError(f"session {entry.session} began at {entry.started}, which is no time") from None
    if not entry.session.startswith(f"{started:%Y%m%dT%H%M%SZ}-"):
        raise HistoryError(f"session {entry.session} has another time in its name than {entry.started}")
    if not FIRST <= started <= now + FUTURE:
        raise HistoryError(
            f"session {entry.session} began at {entry.started}, but it is {now:%Y-%m-%dT%H:%M:%SZ} now: it "
            "is not imported, because it would stay the newest or the oldest; next: correct the clock of the "
            "machine that is wrong, and measure again if it was the one that measured"
        )


def _step(row: RunRow, metric: str) -> float | None:
    return None if row.steps is None else dict(row.steps).get(metric, 0.0)


def _model(system: str, digests: Mapping[str, str]) -> str:
    name = machine_in(system)
    return f"{name} {digests.get(name, UNAVAILABLE)}" if name else ""


def _informs(facts: Mapping[str, Any], name: str) -> str:
    """Sessions of tests, and of the first versions, have no policy."""
    return read_policy(facts, name).informs if "policy" in facts else ""


def _version(facts: Mapping[str, Any]) -> str:
    versions = facts.get("versions")
    return one_line(str(versions.get("pytest-benchgate", ""))) if isinstance(versions, Mapping) else ""


def _values(row: RunRow, machine: str) -> Iterator[tuple[CourseSeries, float]]:
    cell = replace(row.cell, clock="")
    for metric, unit, value in row.figures if row.counts else ():
        series = CourseSeries(
            row=cell.row,
            cell=cell.id,
            system=cell.system,
            workload=cell.workload,
            params=joined_params(cell.params),
            mode=str(cell.mode),
            cpus=cell.cpus,
            lane=str(row.lane),
            placement=str(row.placement),
            machine=machine,
            metric=metric.name,
            better=str(metric.better),
            unit=unit,
        )
        yield series, value
