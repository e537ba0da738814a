"""Imports sessions into a history: those that `verify` finds intact, or others, marked as unverified.

Takes a session's folder and what the caller trusts; gives a sentence. A session of this id is never imported
twice. Fails with HistoryError or EvidenceError that says why it is not imported; the history is then
unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchgate.base.cells import Cell, Placement
from benchgate.base.clocks import clock_of
from benchgate.base.errors import BenchgateError, EvidenceError, HistoryError, NeedsFilesError
from benchgate.base.text import visible
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricKind
from benchgate.evidence import check, metrics_csv, results_csv
from benchgate.evidence.facts import read_plan
from benchgate.evidence.files import MANIFEST, SESSION, digest_of, read_object, read_text
from benchgate.evidence.metrics_csv import MetricValue
from benchgate.evidence.rows import RunRow
from benchgate.evidence.session_folder import METRICS, RESULTS
from benchgate.history import place, store, writer
from benchgate.history.entry import Entry, entry_of, require_time
from benchgate.history.place import Place
from benchgate.session.rejudging import rejudge
from benchgate.session.rejudging.trust import TrustedPrograms


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


def at_end(folder: Path, word: str, trusted: TrustedPrograms) -> str:
    """Serves `--history`: gives a sentence, also if the session is not imported."""
    try:
        where = place.find(word, os.environ)
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
        raise kind(
            f"{folder} is not imported: {why}; next: benchgate verify {folder}, or --unverified, which marks "
            "it in every course"
        )
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
    for one in values:
        before = steps.setdefault(one.run, [])
        if one.step is None or before is None:
            steps[one.run] = None
        else:
            before.append((one.metric, one.step))
        if one.metric not in WINDOWS:
            metric = Metric(one.metric, MetricKind.TIME, one.better, one.unit)
            found.setdefault(one.run, []).append((metric, one.value))
    labels = {_place(cell, cell.clock, cell.variant != ""): cell for cell in cells}
    labelled = []
    for row in rows:
        smt = row.placement is Placement.SMT
        clocks = (str(clock_of(row.lane)), "")
        known = [labels[key] for clock in clocks if (key := _place(row.cell, clock, smt)) in labels]
        named = replace(row, label=known[0].label, variant=known[0].variant) if known else row
        known_steps = steps.get(row.run)
        labelled.append(
            replace(
                named,
                metrics=tuple(found.get(row.run, ())),
                steps=None if known_steps is None else tuple(known_steps),
            )
        )
    return tuple(labelled)


def _place(cell: Cell, clock: str, is_variant: bool) -> tuple[object, ...]:
    return cell.system, cell.workload, cell.params, cell.mode, cell.cpus, clock, is_variant
