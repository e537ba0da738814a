"""Makes the runs of a study that are missing, in the order of its plan.

Takes a Study, its folder, a MixRunner and a Progress; writes each result as soon as the run has ended. A run
that gives no result has a reason, and does not end the study. An interrupt loses only the run that it stops.
Fails with UsageError or EvidenceError for the folder, and with what the MixRunner fails with.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchgate.base.text import one_line
from benchgate.mix import study_orders, vectors
from benchgate.mix.measurement import MixMeasurement, Runs, StudyRun, alone
from benchgate.mix.sensitivity import uses_enough
from benchgate.mix.study import Study
from benchgate.mix.study_orders import StudyOrder
from benchgate.mix.vectors import Amount, amount
from benchgate.session.mix_study.folder import RUNS, StudyFolder
from benchgate.session.progress import Progress


@dataclass(frozen=True, slots=True)
class MixJob:
    """One run, with everything that is needed to make it."""

    order: StudyOrder
    study: Study
    limit: Amount | None = None
    """The limit of the first part."""


@dataclass(frozen=True, slots=True)
class VoidMixRun:
    """The host disturbed the run more than the policy allows, so it is made again."""

    reason: str


class MixRunner(Protocol):
    @property
    def ways(self) -> int | None:
        """The ways of the machine's shared cache, 0 if it has none; None: no machine with memory."""

    def run(self, job: MixJob, folder: Path) -> MixMeasurement | VoidMixRun | str:
        """What was measured, or why not; the evidence is in the folder."""


MOST_VOID = 3
"""Attempts of one run; as in a sweep."""


@dataclass(frozen=True, slots=True)
class Bench:
    study: Study
    folder: StudyFolder
    runner: MixRunner
    progress: Progress

    def vectors(self) -> None:
        """Points 1 and 2: every input alone, beside antagonists, then with limits."""
        planned = [*study_orders.alone(self.study), *study_orders.pressed(self.study)]
        limited = [*study_orders.limited(self.study)]
        self.progress.expect(len(planned) + len(limited))
        self.make(planned)
        self._limited(limited)

    def make(self, wanted: Iterable[StudyOrder]) -> None:
        known = self.folder.runs()
        for order in wanted:
            self._one(known, MixJob(order, self.study))

    def _limited(self, wanted: Sequence[StudyOrder]) -> None:
        known = self.folder.runs()
        found = {one.input.name: one for one in vectors.compute(self.study, known)}
        every = [(order, order.limit, found[order.parts[0].input]) for order in wanted if order.limit]
        limited = [row for row in every if uses_enough(self.study, row[2], row[1].resource)]
        self.progress.expect(len(limited) - len(wanted))
        for order, limit, vector in limited:
            lone = [*alone(self.study, known, vector.input.name).values()]
            units = amount(limit, vector, lone, self.runner.ways)
            if isinstance(units, str):
                self._ended(order, StudyRun(None, units), f"no such limit: {units}")
            else:
                self._one(known, MixJob(order, self.study, units))

    def _one(self, known: Runs, job: MixJob) -> None:
        key = job.order.key
        before = known.get(key)
        fraction = None if job.limit is None else job.limit.fraction
        # A run alone that was made again changes the limits that follow from it.
        if before is not None and before.measured is not None and before.fraction == fraction:
            self.progress.expect(-1)
            return
        found, attempt = self._attempt(job)
        for _ in range(MOST_VOID):
            if isinstance(found, VoidMixRun):
                self.progress.note(f"{key}: void, so it is made again: {found.reason}")
                found, attempt = self._attempt(job)
        if isinstance(found, VoidMixRun):
            found = f"the host disturbed {1 + MOST_VOID} attempts, the last one by {found.reason}"
        where = f"{RUNS}/{key}/{attempt.name}"
        if isinstance(found, str):
            reason = one_line(found, 400)
            self._ended(job.order, StudyRun(None, reason, fraction, where), f"INVALID: {reason}")
        else:
            self._ended(job.order, StudyRun(found, "", fraction, where), _figure(found))

    def _attempt(self, job: MixJob) -> tuple[MixMeasurement | VoidMixRun | str, Path]:
        self.progress.phase(self.study.name, job.order.key, "running")
        attempt = self.folder.new_attempt(job.order.key)
        began_s = time.monotonic()
        result = self.runner.run(job, attempt)
        self.folder.took(attempt, time.monotonic() - began_s)
        return result, attempt

    def _ended(self, order: StudyOrder, done: StudyRun, figure: str) -> None:
        self.folder.finish(order.key, done)
        self.progress.ended(self.study.name, order.key, figure)


def _figure(measurement: MixMeasurement) -> str:
    parts = [part for part in measurement.parts if part.runs]
    return ", ".join(f"{part.name} {float(part.score):.4g}" for part in parts) or "no run completed"
