"""Executes several attempts at once, each in a thread that waits for its guest.

Takes jobs; gives the index and the RawRun of each job that was carried out. If a job fails, its exception is
raised after the results of the others were given, so that no measurement is lost. An interrupt of the caller
first ends every guest, in the same way as it ends a single one. A single job runs in the caller's thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from benchgate.base.runs import RawRun
from benchgate.run.attempt import RunRequest, execute
from benchgate.run.guest import OnPhase

_POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Job:
    request: RunRequest
    on_phase: OnPhase


def execute_all(jobs: Sequence[Job]) -> Iterator[tuple[int, RawRun]]:
    if len(jobs) == 1:
        yield 0, execute(jobs[0].request, jobs[0].on_phase)
        return
    batch = _Batch(jobs)
    errors = batch.run()
    for index in sorted(batch.outcomes):
        outcome = batch.outcomes[index]
        if isinstance(outcome, BaseException):
            errors.append(outcome)
        else:
            yield index, outcome
    if errors:
        raise errors[0]


class _Batch:
    """Jobs that run at the same time. An interrupt can arrive while the caller starts a thread or waits for
    one. An executor or a join can then miss the interrupt or lose the thread, so this polls plain threads."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.outcomes: dict[int, RawRun | BaseException] = {}
        self._jobs = jobs
        self._cancelled = threading.Event()
        self._claims = [threading.Lock() for _ in jobs]
        """The job's thread takes its claim; an interrupted caller takes those of jobs that have not begun."""

    def run(self) -> list[BaseException]:
        """Returns when no job is running. Gives the exception that interrupted the caller, if any."""
        everything = range(len(self._jobs))
        try:
            for index in everything:
                threading.Thread(target=self._carry_out, args=(index,), daemon=True).start()
            self._await(everything)
        except BaseException as error:
            self._cancelled.set()
            self._await([index for index in everything if not self._claims[index].acquire(blocking=False)])
            return [error]
        return []

    def _await(self, indices: Sequence[int]) -> None:
        while any(index not in self.outcomes for index in indices):
            time.sleep(_POLL_S)

    def _carry_out(self, index: int) -> None:
        if not self._claims[index].acquire(blocking=False):
            return
        try:
            job = self._jobs[index]
            self.outcomes[index] = execute(job.request, partial(_on_phase, job, self._cancelled))
        except BaseException as error:
            self.outcomes[index] = error


def _on_phase(job: Job, cancelled: threading.Event, phase: str) -> None:
    """Called at least once a second while a guest runs, so it also forwards an interrupt to the job."""
    if cancelled.is_set():
        raise KeyboardInterrupt
    job.on_phase(phase)
