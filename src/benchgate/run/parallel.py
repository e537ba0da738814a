"""Executes several attempts at once, each in a thread that waits for its guest.

Takes jobs; gives the index and the RawRun of each job that was carried out. If a job fails, its exception is
raised after the results of the others were given, so that no measurement is lost. An interrupt of the caller
first ends every guest, in the same way as it ends a single one. A single job runs in the caller's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial

from benchgate.base.runs import RawRun
from benchgate.run.attempt import RunRequest, execute
from benchgate.run.guest import OnPhase


@dataclass(frozen=True, slots=True)
class Job:
    request: RunRequest
    on_phase: OnPhase


def execute_all(jobs: Sequence[Job]) -> Iterator[tuple[int, RawRun]]:
    if len(jobs) == 1:
        yield 0, execute(jobs[0].request, jobs[0].on_phase)
        return
    cancelled, errors, futures = threading.Event(), list[BaseException](), list[Future[RawRun]]()
    with ThreadPoolExecutor(len(jobs)) as pool:
        try:
            for job in jobs:
                futures.append(pool.submit(execute, job.request, partial(_on_phase, job, cancelled)))
            wait(futures)
        except BaseException as error:  # leaving the block waits for the threads, which end their guests
            cancelled.set()
            errors.append(error)
    for index, future in enumerate(futures):
        if failure := future.exception():
            errors.append(failure)
        else:
            yield index, future.result()
    if errors:
        raise errors[0]


def _on_phase(job: Job, cancelled: threading.Event, phase: str) -> None:
    """Called at least once a second while a guest runs, so it also forwards an interrupt to the job."""
    if cancelled.is_set():
        raise KeyboardInterrupt
    job.on_phase(phase)
