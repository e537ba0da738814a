"""Executes attempts, some at once, each in a thread that waits for its guest.

Takes jobs and how many may run at once; gives the index and the RawRun of each job that was carried out, in
the jobs' order and as soon as it is known. The next job is taken when a guest has ended, so a caller that
stops giving jobs ends the series. If a job fails, no other begins; its exception is raised after the results
of those that had begun. An interrupt, or closing the generator, first ends every guest, in the same way as it
ends a single one. One at a time, jobs run in the caller's thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from benchgate.base.runs import RawRun
from benchgate.run.attempt import RunRequest, execute
from benchgate.run.forked import Fork
from benchgate.run.guest import OnPhase

_POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class AttemptJob:
    request: RunRequest
    on_phase: OnPhase


def execute_all(
    jobs: Iterable[AttemptJob], at_once: int, fork: Fork | None = None
) -> Generator[tuple[int, RawRun]]:
    """`fork`: see run/guest.py."""
    if at_once == 1:
        for index, job in enumerate(jobs):
            yield index, execute(job.request, job.on_phase, fork)
        return
    pool = _Pool(iter(jobs), at_once, fork)
    try:
        yield from pool.results()
    except GeneratorExit:
        pool.cancel()
        raise
    except BaseException as error:
        pool.cancel()
        yield from pool.finished()
        raise error from None
    yield from pool.finished()
    if pool.errors:
        raise pool.errors[0]


class _Pool:
    """An interrupt can arrive while the caller starts a thread or waits for one. An executor or a join can
    then miss the interrupt or lose the thread, so this polls plain threads."""

    def __init__(self, jobs: Iterator[AttemptJob], at_once: int, fork: Fork | None) -> None:
        self.errors: list[BaseException] = []
        self._jobs, self._at_once, self._fork = jobs, at_once, fork
        self._outcomes: dict[int, RawRun | BaseException] = {}
        self._cancelled = threading.Event()
        self._claims: list[threading.Lock] = []
        """A job's thread locks its claim. An interrupted caller locks those of jobs that have not begun."""
        self._given = 0

    def results(self) -> Iterator[tuple[int, RawRun]]:
        """Gives results until no job is left or one has failed."""
        more = True
        while more or self._given < len(self._claims):
            if any(isinstance(outcome, BaseException) for outcome in list(self._outcomes.values())):
                return
            while more and self._has_room():
                more = self._begin()
            outcome = self._outcomes.get(self._given)
            if isinstance(outcome, RawRun):
                self._given += 1
                yield self._given - 1, outcome
            else:
                time.sleep(_POLL_S)

    def _has_room(self) -> bool:
        """Whether a job may begin. Results are given in order, so a slow job may hold back only a few."""
        begun = len(self._claims)
        return begun - len(self._outcomes) < self._at_once and begun - self._given < 2 * self._at_once

    def _begin(self) -> bool:
        job = next(self._jobs, None)
        if job is None:
            return False
        index, claim = len(self._claims), threading.Lock()
        self._claims.append(claim)
        threading.Thread(target=self._carry_out, args=(index, job, claim), daemon=True).start()
        return True

    def _carry_out(self, index: int, job: AttemptJob, claim: threading.Lock) -> None:
        if not claim.acquire(blocking=False):
            return
        try:
            on_phase = partial(_on_phase, job, self._cancelled)
            self._outcomes[index] = execute(job.request, on_phase, self._fork)
        except BaseException as error:
            self._outcomes[index] = error

    def cancel(self) -> None:
        """Ends every guest; returns when none is left."""
        self._cancelled.set()
        self._await([index for index, claim in enumerate(self._claims) if not claim.acquire(blocking=False)])

    def finished(self) -> Iterator[tuple[int, RawRun]]:
        """Gives the remaining results when no job runs any more, and keeps an exception that a job raised."""
        if not self._cancelled.is_set():
            self._await(range(len(self._claims)))
        for index in sorted(index for index in self._outcomes if index >= self._given):
            outcome = self._outcomes[index]
            if isinstance(outcome, BaseException):
                self.errors.append(outcome)
            else:
                yield index, outcome

    def _await(self, indices: Iterable[int]) -> None:
        indices = list(indices)
        while any(index not in self._outcomes for index in indices):
            time.sleep(_POLL_S)


def _on_phase(job: AttemptJob, cancelled: threading.Event, phase: str) -> None:
    """Is called at least once a second while a guest runs, so it also forwards an interrupt to the job."""
    if cancelled.is_set():
        raise KeyboardInterrupt
    job.on_phase(phase)
