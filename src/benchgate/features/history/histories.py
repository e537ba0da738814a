"""`benchgate history`: what a history has, the courses of a row, sessions for it, and a session of it as a
side of `compare`.

Takes a place, a name and the width of the screen; gives text. `read_side` takes `SESSION`, or
`SESSION:SYSTEM` for one of its systems, and gives a `ComparisonSide`. Fails with HistoryError, which says
what the history has instead, and with UsageError for a system that a session does not have.

`import_session` takes a session's folder and what the caller trusts; gives a sentence. It takes sessions that
`verify` finds intact, or others, marked as unverified, and no session of one id twice. Fails with
HistoryError or EvidenceError that says why it is not imported; the history is then unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.clocks import clock_of
from benchgate.base.errors import BenchgateError, EvidenceError, NeedsFilesError, UsageError
from benchgate.base.system.machines import IDEAL
from benchgate.base.text import counted, suggestion, visible
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection, MetricKind
from benchgate.evidence import check, metrics_csv, results_csv
from benchgate.evidence.facts import read_plan
from benchgate.evidence.figures_file import ComparisonSide, FigureKey, Samples
from benchgate.evidence.files import MANIFEST, SESSION, digest_of, read_object, read_text
from benchgate.evidence.metrics_csv import MetricValue
from benchgate.evidence.results_csv import split_params
from benchgate.evidence.rows import RunRow
from benchgate.evidence.session_folder import METRICS, RESULTS
from benchgate.features.history import reader, store, writer
from benchgate.features.history.changes import ERROR, MOST_POINTS
from benchgate.features.history.course import Course, course_of
from benchgate.features.history.entry import CourseSeries, Entry, entry_of, require_time
from benchgate.features.history.errors import HistoryError
from benchgate.features.history.page import course_table, history_page
from benchgate.features.history.reader import StoredSession
from benchgate.features.history.store import Place
from benchgate.plan.options import Options
from benchgate.render.tables import columns
from benchgate.session.rejudging import rejudge
from benchgate.session.rejudging.trust import TrustedPrograms

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
    rows = [[visible(str(getattr(summary, name))) for name in heading] for summary in known]
    return "\n".join([f"history {place}", *columns.drawn([heading, *rows])])


def courses(place: Place, wanted: CourseQuery) -> tuple[Course, ...]:
    with store.reading(place) as connection:
        result = reader.series_of(connection, wanted.name, wanted.metric, wanted.lane)
        if not result:
            raise HistoryError(_unknown(connection, place, wanted))
        if len(result) > MOST_COURSES:
            raise HistoryError(
                f"{wanted.name} has {counted(len(result), 'course')} of {wanted.metric}; name a cell such "
                f"as {result[0].series.cell}, or one --lane"
            )
        return tuple(_course(connection, series, wanted) for series in result)


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
        result = reader.series_of(connection, "", wanted.metric, wanted.lane)
        shown = result[:MOST_ON_PAGE]
        return tuple(_course(connection, series, short) for series in shown), len(result) - len(shown)


def _course(connection: Connection, numbered_series: reader.NumberedSeries, wanted: CourseQuery) -> Course:
    points = reader.points_of(connection, numbered_series.number, wanted.last)
    is_exact = numbered_series.series.lane == Lane.INSN
    samples = reader.samples_of(connection, numbered_series.number) if is_exact else {}
    left_out = reader.count_points(connection, numbered_series.number) - len(points)
    return course_of(numbered_series.series, points, samples, wanted.error, left_out)


def _unknown(connection: Connection, place: Place, wanted: CourseQuery) -> str:
    others = reader.series_of(connection, wanted.name)
    if others:
        metrics = ", ".join(sorted({other.series.metric for other in others}))
        lanes = ", ".join(sorted({other.series.lane for other in others}))
        asked = f"{wanted.metric} on lane {wanted.lane}" if wanted.lane else wanted.metric
        return f"{wanted.name} has no {asked} in {place}; it has {metrics} (--metric) on {lanes} (--lane)"
    rows = {row.row for row in reader.known_rows(connection)}
    near = suggestion(wanted.name, rows, "`benchgate history` lists its rows")
    return f"the history {place} has no row or cell {wanted.name!r:.100}: {near}"


def read_side(word: str, db: str) -> ComparisonSide:
    wanted, _, system = word.partition(":")
    with store.reading(store.find_place(db, os.environ)) as connection:
        return side_of(reader.session_of(connection, wanted), system)


def side_of(session: StoredSession, system: str = "") -> ComparisonSide:
    systems = tuple(sorted({series.system for series, _ in session.samples}))
    if system and system not in systems:
        raise UsageError(f"session {session.name} has no system {system}; it has {', '.join(systems)}")
    chosen = (system,) if system else systems
    kept = [sample for sample in session.samples if sample[0].system in chosen]
    result: dict[FigureKey, Samples] = {}
    for series, values in kept:
        key = _key(series, session.name)
        if key in result:  # two clocks, or two placements of one CPU count
            key = replace(key, what=f"{series.workload} ({series.lane} {series.placement})")
        better, step = MetricDirection(series.better), session.steps[series]
        result[key] = Samples(series.lane, series.shown_unit, better, values, step)
    mark = "" if session.verified else ", UNVERIFIED"
    name = visible(f"history:{session.name} ({', '.join(chosen)}{mark})")
    hosts = (series.machine for series, _ in kept if series.machine and series.lane != Lane.INSN)
    host = next(hosts, "")
    models = {series.machine if series.lane == Lane.INSN and series.machine else IDEAL for series, _ in kept}
    return ComparisonSide(name, chosen, result, host, tuple(sorted(models)))


def _key(series: CourseSeries, where: str) -> FigureKey:
    params = split_params(series.params, f"{where}: params")
    return FigureKey(series.workload, params, series.cpus, series.metric, series.system)


def import_session(folder: Path, where: Place, trusted: TrustedPrograms, *, unverified: bool = False) -> str:
    """`unverified`: import it, marked, even if it cannot be verified."""
    folder = folder.resolve()
    entry = _verified(folder, trusted, unverified=unverified)
    require_time(entry, datetime.now(UTC))
    with store.writing(where) as connection:
        done = writer.write(connection, entry)
    runs = max(len(values) for values in entry.samples.values())
    mark = "" if entry.verified else f", UNVERIFIED ({entry.note})"
    return visible(f"{entry.session}: {done} ({len(entry.samples)} figures of up to {runs} runs each{mark})")


def at_end(folder: Path, options: Options, trusted: TrustedPrograms) -> str:
    """Serves `--history`: gives a sentence, also if the session is not imported."""
    try:
        where = store.find_place(str(options.of_features["history"]), os.environ)
        return f"history {where}: {import_session(folder, where, trusted)}"
    except BenchgateError as error:
        return f"history: {error}"


def _verified(folder: Path, trusted: TrustedPrograms, *, unverified: bool) -> Entry:
    found, judged = rejudge.verified(folder, trusted, "history import")
    if found.exit_code == check.INTACT and judged is not None:
        return entry_of(judged.facts, judged.view.rows, digest_of(folder, MANIFEST))
    why = f"verify says {found.text.splitlines()[1] if len(found.messages) > 1 else found.text}"
    if not unverified:
        kind = NeedsFilesError if found.exit_code == check.NEEDS_FILES else HistoryError
        advice = f"next: benchgate verify {folder}, or --unverified, which marks it in every course"
        raise kind(f"{folder} is not imported: {why}; {advice}")
    return _unverified(folder, why)


def _unverified(folder: Path, why: str) -> Entry:
    """Reads what the session wrote when it measured; nothing is checked but its form."""
    facts = read_object(folder, SESSION)
    try:
        manifest = digest_of(folder, MANIFEST)
    except OSError as error:
        raise EvidenceError(
            f"{folder} is not imported: it has no {MANIFEST}, so it could not be told from a copy of itself"
        ) from error
    rows = results_csv.parse(read_text(folder, RESULTS), str(folder / RESULTS))
    values = metrics_csv.parse(read_text(folder, METRICS), str(folder / METRICS))
    cells = [cell for sweep in read_plan(facts, str(folder / SESSION)) for cell, _ in sweep.cells]
    return entry_of(facts, _with_metrics(rows, values, cells), manifest, why)


def _with_metrics(
    rows: Iterable[RunRow], values: Iterable[MetricValue], cells: Iterable[Cell]
) -> tuple[RunRow, ...]:
    """results.csv has no labels, which the plan has, no metrics but the windows, and no steps."""
    found: dict[int, list[tuple[Metric, float]]] = {}
    steps: dict[int, list[tuple[str, float]] | None] = {}
    for value in values:
        before = steps.setdefault(value.run, [])
        if value.step is None or before is None:
            steps[value.run] = None
        else:
            before.append((value.metric, value.step))
        if value.metric not in WINDOWS:
            metric = Metric(value.metric, MetricKind.TIME, value.better, value.unit)
            found.setdefault(value.run, []).append((metric, value.value))
    labels = {_place(cell, cell.clock, cell.variant != ""): cell for cell in cells}
    labelled = []
    for row in rows:
        smt = row.placement is Placement.SMT
        clocks = (str(clock_of(row.lane)), "")
        known = [labels[key] for clock in clocks if (key := _place(row.cell, clock, smt)) in labels]
        cell = replace(row.cell, label=known[0].label, variant=known[0].variant) if known else row.cell
        known_steps = steps.get(row.run)
        metrics = tuple(found.get(row.run, ()))
        kept = None if known_steps is None else tuple(known_steps)
        labelled.append(replace(row, cell=cell, metrics=metrics, steps=kept))
    return tuple(labelled)


def _place(cell: Cell, clock: str, is_variant: bool) -> tuple[object, ...]:
    return cell.system, cell.workload, cell.params, cell.mode, cell.cpus, clock, is_variant
