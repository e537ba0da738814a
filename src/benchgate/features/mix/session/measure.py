"""Makes the runs of a study that are missing, in the order of its plan.

Takes a Study, its folder, a MixRunner and a Progress; writes each result as soon as the run has ended. A run
that gives no result has a reason, and does not end the study. An interrupt loses only the runs that it stops.
Fails with UsageError or EvidenceError for the folder, and with what the MixRunner fails with.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from benchgate.base.text import one_line
from benchgate.features.mix import study_orders, vectors
from benchgate.features.mix.measurement import MixMeasurement, StudyRun, alone
from benchgate.features.mix.sensitivity import uses_enough
from benchgate.features.mix.session.folder import RUNS, StudyFolder
from benchgate.features.mix.study import Study
from benchgate.features.mix.study_orders import StudyOrder
from benchgate.features.mix.vectors import Amount, amount
from benchgate.session.progress import Progress


@dataclass(frozen=True, slots=True)
class MixJob:
    """One run, with everything that is needed to make it."""

    order: StudyOrder
    study: Study
    limit: Amount | None = None
    """The limit of the first part."""

    @property
    def fraction(self) -> Fraction | None:
        return None if self.limit is None else self.limit.fraction


@dataclass(frozen=True, slots=True)
class VoidMixRun:
    """The host disturbed the run more than the policy allows, so it is made again."""

    reason: str


MixAnswer = MixMeasurement | VoidMixRun | str
"""What was measured, or why there is nothing."""


@dataclass(frozen=True, slots=True)
class MixAttemptJob:
    job: MixJob
    folder: Path
    """The place of its evidence."""


class MixRunner(Protocol):
    @property
    def ways(self) -> int | None:
        """The ways of the machine's shared cache, 0 if it has none; None: no machine with memory."""

    def run_all(self, attempts: Iterable[MixAttemptJob]) -> Generator[tuple[MixAttemptJob, MixAnswer]]:
        """Each attempt with its answer. Some may run at once; one that was interrupted has none."""


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
        self._make([MixJob(order, self.study) for order in wanted])

    def _limited(self, wanted: Sequence[StudyOrder]) -> None:
        known = self.folder.runs()
        found = {one.input.name: one for one in vectors.compute(self.study, known)}
        every = [(order, order.limit, found[order.parts[0].input]) for order in wanted if order.limit]
        limited = [row for row in every if uses_enough(self.study, row[2], row[1].resource)]
        self.progress.expect(len(limited) - len(wanted))
        jobs = []
        for order, limit, vector in limited:
            lone = [*alone(self.study, known, vector.input.name).values()]
            units = amount(limit, vector, lone, self.runner.ways)
            if isinstance(units, str):
                self._ended(order, StudyRun(None, units), f"no such limit: {units}")
            else:
                jobs.append(MixJob(order, self.study, units))
        self._make(jobs)

    def _make(self, jobs: Sequence[MixJob]) -> None:
        known = self.folder.runs()
        missing = [job for job in jobs if not _is_made(known.get(job.order.key), job)]
        self.progress.expect(len(missing) - len(jobs))
        for left in reversed(range(1 + MOST_VOID)):
            if missing:
                missing = [*self._void_ones(missing, left)]

    def _void_ones(self, jobs: Sequence[MixJob], left: int) -> Iterator[MixJob]:
        """Attempts each once; gives those that are to be made again, if attempts are `left`."""
        began_s = time.monotonic()
        with closing(self.runner.run_all(map(self._begun, jobs))) as answers:
            for attempt, found in answers:
                now_s = time.monotonic()
                # Several may run at once, so what counts is the time since the answer before.
                self.folder.took(attempt.folder, now_s - began_s)
                began_s = now_s
                if isinstance(found, VoidMixRun) and left:
                    key = attempt.job.order.key
                    self.progress.note(f"{key}: void, so it is made again: {found.reason}")
                    yield attempt.job
                else:
                    self._answered(attempt, found)

    def _begun(self, job: MixJob) -> MixAttemptJob:
        self.progress.phase(self.study.name, job.order.key, "running")
        return MixAttemptJob(job, self.folder.new_attempt(job.order.key))

    def _answered(self, attempt: MixAttemptJob, found: MixAnswer) -> None:
        order, fraction = attempt.job.order, attempt.job.fraction
        where = f"{RUNS}/{order.key}/{attempt.folder.name}"
        if isinstance(found, VoidMixRun):
            found = f"the host disturbed {1 + MOST_VOID} attempts, the last one by {found.reason}"
        if isinstance(found, str):
            reason = one_line(found, 400)
            self._ended(order, StudyRun(None, reason, fraction, where), f"INVALID: {reason}")
        else:
            self._ended(order, StudyRun(found, "", fraction, where), _figure(found))

    def _ended(self, order: StudyOrder, done: StudyRun, figure: str) -> None:
        self.folder.finish(order.key, done)
        self.progress.ended(self.study.name, order.key, figure)


def _is_made(before: StudyRun | None, job: MixJob) -> bool:
    """A run alone that was made again changes the limits that follow from it."""
    return before is not None and before.measured is not None and before.fraction == job.fraction


def _figure(measurement: MixMeasurement) -> str:
    parts = [part for part in measurement.parts if part.runs]
    return ", ".join(f"{part.name} {float(part.score):.4g}" for part in parts) or "no run completed"
