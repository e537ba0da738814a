"""One session of the history as a side of `benchgate compare`.

Takes `SESSION`, or `SESSION:SYSTEM` for one of its systems, and the place of the history; gives a `Side`.
Fails with HistoryError if the history has no such session, and with UsageError for a system that it does not
have.
"""

from __future__ import annotations

import os
from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.errors import UsageError
from benchgate.base.machines import IDEAL
from benchgate.base.metrics import Better
from benchgate.base.text import visible
from benchgate.evidence.figures_file import Key, Samples, Side
from benchgate.evidence.results_csv import split_params
from benchgate.history import place, reader, store
from benchgate.history.entry import Series
from benchgate.history.reader import StoredSession


def read(word: str, db: str) -> Side:
    wanted, _, system = word.partition(":")
    with store.reading(place.find(db, os.environ)) as connection:
        return side_of(reader.session_of(connection, wanted), system)


def side_of(session: StoredSession, system: str = "") -> Side:
    systems = tuple(sorted({series.system for series, _ in session.samples}))
    if system and system not in systems:
        raise UsageError(f"session {session.name} has no system {system}; it has {', '.join(systems)}")
    chosen = (system,) if system else systems
    kept = [one for one in session.samples if one[0].system in chosen]
    found: dict[Key, Samples] = {}
    for series, values in kept:
        key = _key(series, session.name)
        if key in found:  # two clocks, or two placements of one CPU count
            key = replace(key, what=f"{series.workload} ({series.lane} {series.placement})")
        found[key] = Samples(series.lane, series.unit, Better(series.better), values, session.steps[series])
    mark = "" if session.verified else ", UNVERIFIED"
    name = visible(f"history:{session.name} ({', '.join(chosen)}{mark})")
    host = next((one.machine for one, _ in kept if one.machine and one.lane != Lane.INSN), "")
    models = {one.machine if one.lane == Lane.INSN and one.machine else IDEAL for one, _ in kept}
    return Side(name, chosen, found, host, tuple(sorted(models)))


def _key(series: Series, where: str) -> Key:
    params = split_params(series.params, f"{where}: params")
    return Key(series.workload, params, series.cpus, series.metric, series.system)
